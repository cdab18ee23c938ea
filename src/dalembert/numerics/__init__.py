"""Numerical methods without mechanics: arrays in, arrays out."""
