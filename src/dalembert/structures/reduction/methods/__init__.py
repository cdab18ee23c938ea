"""Reductions, one file per method."""
