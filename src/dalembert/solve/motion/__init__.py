"""Kinematics, forward and inverse dynamics."""
