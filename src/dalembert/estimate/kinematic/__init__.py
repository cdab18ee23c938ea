"""Observers that use only the joints of a machine."""
