"""Matrices with labels, elimination in symbols, complements and rotations."""
