"""Observers that know a machine by its joints alone."""
