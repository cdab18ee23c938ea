"""Formats of machines, one file each: TOML and JSON, URDF, MJCF."""
