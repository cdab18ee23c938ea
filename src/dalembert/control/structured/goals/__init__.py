"""Kinds of goals, one subject per file."""
