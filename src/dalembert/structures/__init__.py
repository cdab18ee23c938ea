"""Structures: continuous beams, finite-element frames and solids, and their reduction."""

from dalembert.structures.condensation import (
    condense_dynamic,
    condense_static,
    condense_substructures,
    guyan,
    irs,
    serep,
    substructures,
)
from dalembert.structures.coupling import Coupled, couple
from dalembert.structures.damping import ModalDamping, Rayleigh
from dalembert.structures.fidelity import Fidelity, correlate
from dalembert.structures.frame import Frame
from dalembert.structures.frame_structure import frame_structure as _frame_structure  # noqa: F401  # registers itself
from dalembert.structures.masters import choose_masters
from dalembert.structures.materials import Material, material
from dalembert.structures.receptances import couple_receptances
from dalembert.structures.reduction import Interior, Reduction
from dalembert.structures.sections import Section
from dalembert.structures.structure import Structure, structure
from dalembert.structures.synthesis import craig_bampton, macneal, rubin, truncate_modal

__all__ = [
    "Material",
    "Section",
    "material",
    "Frame",
    "Structure",
    "structure",
    "Rayleigh",
    "ModalDamping",
    "Reduction",
    "Interior",
    "Fidelity",
    "Coupled",
    "condense_static",
    "condense_substructures",
    "condense_dynamic",
    "substructures",
    "choose_masters",
    "guyan",
    "irs",
    "serep",
    "craig_bampton",
    "rubin",
    "macneal",
    "truncate_modal",
    "couple",
    "couple_receptances",
    "correlate",
]
