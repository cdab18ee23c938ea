"""Structures: continuous beams, finite-element frames and solids, and their reduction."""

from dalembert.structures.damping import ModalDamping, Rayleigh
from dalembert.structures.frame import Frame
from dalembert.structures.frame_structure import frame_structure as _frame_structure  # noqa: F401  # registers itself
from dalembert.structures.materials import Material, material
from dalembert.structures.sections import Section
from dalembert.structures.structure import Structure, structure

__all__ = [
    "Material",
    "Section",
    "material",
    "Frame",
    "Structure",
    "structure",
    "Rayleigh",
    "ModalDamping",
]
