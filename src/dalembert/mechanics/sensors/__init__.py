"""Outputs of sensors."""
