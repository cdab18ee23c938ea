"""Continuous laws and observers, written into the equations of their machine."""
