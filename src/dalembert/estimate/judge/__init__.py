"""Observability, tuning, smoothing and simulated sensors."""
