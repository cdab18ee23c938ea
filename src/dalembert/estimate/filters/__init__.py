"""Kalman filters, one file each."""
