"""Formats of flexible-body files: one file each."""
