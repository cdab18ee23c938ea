"""Measured mode shapes in the coordinates of a model."""
