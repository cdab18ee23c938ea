"""Structures: continuous beams, finite-element frames and solids, and their reduction."""

from dalembert.structures.assumed import AssumedModes, Attached, Trial, assumed_modes
from dalembert.structures.bars import Bar, LineModes, Shaft, String
from dalembert.structures.beam_modes import BeamModes
from dalembert.structures.beams import Beam
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
from dalembert.structures.critical_loads import Buckling, buckling
from dalembert.structures.damping import ModalDamping, Rayleigh
from dalembert.structures.elastic_laws import OrthotropicMaterial, elasticity
from dalembert.structures.ends import End
from dalembert.structures.fidelity import Fidelity, correlate
from dalembert.structures.frame import Frame
from dalembert.structures.frame_structure import frame_structure as _frame_structure  # noqa: F401  # registers itself
from dalembert.structures.masters import choose_masters
from dalembert.structures.materials import Material, material
from dalembert.structures.mesh_files import read_mesh
from dalembert.structures.meshes import Mesh, box_mesh, mesh_from_skfem
from dalembert.structures.prestress import geometric_stiffness, prestressed
from dalembert.structures.receptances import couple_receptances
from dalembert.structures.reduction import Interior, Reduction
from dalembert.structures.sections import Section
from dalembert.structures.shape_requirements import ShapeReport, shape_report
from dalembert.structures.solid_group import SolidStresses
from dalembert.structures.solid_structure import solid_structure as _solid_structure  # noqa: F401  # registers itself
from dalembert.structures.solids import Solid
from dalembert.structures.statics import StaticSolution, static
from dalembert.structures.structure import Structure, structure
from dalembert.structures.synthesis import craig_bampton, macneal, rubin, truncate_modal
from dalembert.structures.timoshenko import SupportedBranches, supported_branches, supported_ratios
from dalembert.structures.turning import centrifugal_load, rotor, spinning

__all__ = [
    "Material",
    "Section",
    "material",
    "Beam",
    "BeamModes",
    "End",
    "Bar",
    "Shaft",
    "String",
    "LineModes",
    "supported_branches",
    "supported_ratios",
    "SupportedBranches",
    "assumed_modes",
    "AssumedModes",
    "Attached",
    "Trial",
    "Frame",
    "Structure",
    "structure",
    "static",
    "StaticSolution",
    "prestressed",
    "geometric_stiffness",
    "buckling",
    "Buckling",
    "spinning",
    "centrifugal_load",
    "rotor",
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
    "Mesh",
    "box_mesh",
    "mesh_from_skfem",
    "read_mesh",
    "Solid",
    "SolidStresses",
    "ShapeReport",
    "shape_report",
    "OrthotropicMaterial",
    "elasticity",
]
