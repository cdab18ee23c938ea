"""Formats of record files: one file each."""
