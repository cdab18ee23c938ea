"""Numerical methods that know no mechanics: arrays in, arrays out."""
