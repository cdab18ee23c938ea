"""Formats of modal data, one file each."""
