"""Responses in time and frequency."""
