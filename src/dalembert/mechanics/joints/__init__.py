"""Constraint rows, coordinates and reactions of joints."""
