"""Structures: continuous beams, finite-element frames and solids, and their reduction."""

__all__: list[str] = []
