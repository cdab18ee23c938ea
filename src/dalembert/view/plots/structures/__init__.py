"""Figures of structures."""
