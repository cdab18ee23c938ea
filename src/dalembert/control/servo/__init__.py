"""Servo-constraints and user laws."""
