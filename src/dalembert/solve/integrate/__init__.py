"""Runs in time: methods, events, friction, records."""
