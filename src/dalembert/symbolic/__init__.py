"""Equations in symbols."""
