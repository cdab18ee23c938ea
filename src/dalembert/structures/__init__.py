"""Structures: continuous beams, finite-element frames and solids, and their reduction."""

from dalembert.structures.materials import Material, material
from dalembert.structures.sections import Section

__all__ = ["Material", "Section", "material"]
