"""Figures of every result."""
