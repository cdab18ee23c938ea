"""Figures of linear systems."""
