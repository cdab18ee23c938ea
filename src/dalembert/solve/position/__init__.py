"""Positions and speeds on the joints: assembly, mobility, prescribed quantities."""
