"""Reduction and coupling of second-order systems."""
