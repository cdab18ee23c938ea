"""Uncertain machines: robust stability, worst gain, covers of families."""
