"""Structures: continuous beams, finite-element frames and solids, and their reduction."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.structures.analysis.buckling import Buckling as Buckling
    from dalembert.structures.analysis.buckling import find_buckling as find_buckling
    from dalembert.structures.analysis.prestress import geometric_stiffness as geometric_stiffness
    from dalembert.structures.analysis.prestress import prestress as prestress
    from dalembert.structures.analysis.spinning import centrifugal_load as centrifugal_load
    from dalembert.structures.analysis.spinning import spin as spin
    from dalembert.structures.analysis.spinning import spin_rotor as spin_rotor
    from dalembert.structures.analysis.statics import StaticSolution as StaticSolution
    from dalembert.structures.analysis.statics import solve_static as solve_static
    from dalembert.structures.assembly.damping import ModalDamping as ModalDamping
    from dalembert.structures.assembly.damping import Rayleigh as Rayleigh
    from dalembert.structures.assembly.element_group import ElementGroup as ElementGroup
    from dalembert.structures.assembly.materials import Material as Material
    from dalembert.structures.assembly.materials import material as material
    from dalembert.structures.assembly.sections import Section as Section
    from dalembert.structures.assembly.structure import Structure as Structure
    from dalembert.structures.assembly.structure import assemble_structure as assemble_structure
    from dalembert.structures.continuous.assumed_modes import AssumedModes as AssumedModes
    from dalembert.structures.continuous.assumed_modes import Trial as Trial
    from dalembert.structures.continuous.assumed_modes import assumed_modes as assumed_modes
    from dalembert.structures.continuous.bars import Bar as Bar
    from dalembert.structures.continuous.bars import LineModes as LineModes
    from dalembert.structures.continuous.bars import Shaft as Shaft
    from dalembert.structures.continuous.bars import String as String
    from dalembert.structures.continuous.beam_modes import BeamModes as BeamModes
    from dalembert.structures.continuous.beams import Beam as Beam
    from dalembert.structures.continuous.end_conditions import End as End
    from dalembert.structures.continuous.timoshenko import SupportedBranches as SupportedBranches
    from dalembert.structures.continuous.timoshenko import supported_branches as supported_branches
    from dalembert.structures.continuous.timoshenko import supported_ratios as supported_ratios
    from dalembert.structures.coupling.coupling import Coupled as Coupled
    from dalembert.structures.coupling.coupling import couple as couple
    from dalembert.structures.coupling.receptance_coupling import couple_receptances as couple_receptances
    from dalembert.structures.flexible_body.deformation import recover_deformation as recover_deformation
    from dalembert.structures.flexible_body.flexible_body import flexible_body as flexible_body
    from dalembert.structures.flexible_body.gauges import BeamGauge as BeamGauge
    from dalembert.structures.flexible_body.gauges import SurfaceGauge as SurfaceGauge
    from dalembert.structures.flexible_body.pieces import flexible_pieces as flexible_pieces
    from dalembert.structures.frame.element import FRAME_ELEMENTS as FRAME_ELEMENTS
    from dalembert.structures.frame.element import FrameElement as FrameElement
    from dalembert.structures.frame.element import RigidSlices as RigidSlices
    from dalembert.structures.frame.frame import Frame as Frame
    from dalembert.structures.ranking.forced_fidelity import ForcedFidelity as ForcedFidelity
    from dalembert.structures.ranking.forced_fidelity import forced_fidelity as forced_fidelity
    from dalembert.structures.ranking.method import RANKINGS as RANKINGS
    from dalembert.structures.ranking.method import RankingMethod as RankingMethod
    from dalembert.structures.ranking.methods.by_frequency import ByFrequency as ByFrequency
    from dalembert.structures.ranking.methods.effective_interface_mass import (
        EffectiveInterfaceMass as EffectiveInterfaceMass,
    )
    from dalembert.structures.ranking.methods.energy_based_ranking import EnergyBasedRanking as EnergyBasedRanking
    from dalembert.structures.ranking.methods.interior_mode_ranking import InteriorModeRanking as InteriorModeRanking
    from dalembert.structures.ranking.methods.moment_matching import MomentMatching as MomentMatching
    from dalembert.structures.ranking.methods.optimal_modal_reduction import (
        OptimalModalReduction as OptimalModalReduction,
    )
    from dalembert.structures.ranking.rank_modes import rank_modes as rank_modes
    from dalembert.structures.ranking.ranking import Ranking as Ranking
    from dalembert.structures.reduction.fidelity import Fidelity as Fidelity
    from dalembert.structures.reduction.fidelity import correlate as correlate
    from dalembert.structures.reduction.master_coordinates import choose_masters as choose_masters
    from dalembert.structures.reduction.methods.craig_bampton import craig_bampton as craig_bampton
    from dalembert.structures.reduction.methods.guyan import condense_dynamic as condense_dynamic
    from dalembert.structures.reduction.methods.guyan import guyan as guyan
    from dalembert.structures.reduction.methods.irs import irs as irs
    from dalembert.structures.reduction.methods.macneal import macneal as macneal
    from dalembert.structures.reduction.methods.modal_truncation import truncate_modal as truncate_modal
    from dalembert.structures.reduction.methods.rubin import rubin as rubin
    from dalembert.structures.reduction.methods.serep import serep as serep
    from dalembert.structures.reduction.methods.static_condensation import condense_static as condense_static
    from dalembert.structures.reduction.methods.static_condensation import (
        condense_substructures as condense_substructures,
    )
    from dalembert.structures.reduction.methods.static_condensation import find_substructures as find_substructures
    from dalembert.structures.reduction.reduction import Interior as Interior
    from dalembert.structures.reduction.reduction import Reduction as Reduction
    from dalembert.structures.solid.elastic_laws import OrthotropicMaterial as OrthotropicMaterial
    from dalembert.structures.solid.elastic_laws import elasticity as elasticity
    from dalembert.structures.solid.element import SOLID_ELEMENTS as SOLID_ELEMENTS
    from dalembert.structures.solid.element import Locking as Locking
    from dalembert.structures.solid.element import SolidElement as SolidElement
    from dalembert.structures.solid.element import make_hexahedron as make_hexahedron
    from dalembert.structures.solid.element import make_quadrilateral as make_quadrilateral
    from dalembert.structures.solid.element import make_tetrahedron as make_tetrahedron
    from dalembert.structures.solid.element import make_triangle as make_triangle
    from dalembert.structures.solid.mesh_files import read_mesh as read_mesh
    from dalembert.structures.solid.meshes import Mesh as Mesh
    from dalembert.structures.solid.meshes import box_mesh as box_mesh
    from dalembert.structures.solid.meshes import mesh_from_skfem as mesh_from_skfem
    from dalembert.structures.solid.shape_requirements import ShapeReport as ShapeReport
    from dalembert.structures.solid.shape_requirements import shape_report as shape_report
    from dalembert.structures.solid.solid import Solid as Solid
    from dalembert.structures.solid.stresses import SolidStresses as SolidStresses

__all__ = attach(
    __name__, assemble="assemble_structure", buckling="find_buckling", prestressed="prestress", rotor="spin_rotor",
    spinning="spin", static="solve_static",
)  # fmt: skip
