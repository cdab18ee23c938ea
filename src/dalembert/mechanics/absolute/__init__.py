"""Equations of a Mechanism in absolute coordinates."""
