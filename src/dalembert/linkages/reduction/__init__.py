"""Reduction of linkages onto masters and interior modes that turn with their links."""
