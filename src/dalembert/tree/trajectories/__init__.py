"""Motions through way-points as records, and their timing within limits."""
