"""Transformations of linear systems: sampling, reduction, connection, change of states."""
