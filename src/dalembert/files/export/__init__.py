"""Observers and controllers as C."""
