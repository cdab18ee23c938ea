"""Margins, reachable modes, and how much control reduces a motion."""
