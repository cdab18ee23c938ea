"""The recursive modular method: models from leaves to root, in variables of any order (Orsino 2016)."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.symbolic.modular.algebra.complement import least_squares_complement as least_squares_complement
    from dalembert.symbolic.modular.algebra.complement import linear_complement as linear_complement
    from dalembert.symbolic.modular.algebra.complement import null_space as null_space
    from dalembert.symbolic.modular.algebra.complement import orthogonal_complement as orthogonal_complement
    from dalembert.symbolic.modular.algebra.entries import name_entries as name_entries
    from dalembert.symbolic.modular.algebra.entries import solve_short_rows as solve_short_rows
    from dalembert.symbolic.modular.algebra.labelled import LabelledMatrix as LabelledMatrix
    from dalembert.symbolic.modular.algebra.labelled import coefficients as coefficients
    from dalembert.symbolic.modular.algebra.labelled import evaluate as evaluate
    from dalembert.symbolic.modular.algebra.labelled import identity as identity
    from dalembert.symbolic.modular.algebra.labelled import label_sum as label_sum
    from dalembert.symbolic.modular.algebra.labelled import labelled_jacobian as labelled_jacobian
    from dalembert.symbolic.modular.algebra.labelled import zeros as zeros
    from dalembert.symbolic.modular.algebra.rotations import angular_velocity as angular_velocity
    from dalembert.symbolic.modular.algebra.rotations import count_freedoms as count_freedoms
    from dalembert.symbolic.modular.algebra.rotations import homogeneous_matrix as homogeneous_matrix
    from dalembert.symbolic.modular.algebra.rotations import quaternion_rotation as quaternion_rotation
    from dalembert.symbolic.modular.algebra.rotations import rotation_matrix as rotation_matrix
    from dalembert.symbolic.modular.algebra.rotations import skew as skew
    from dalembert.symbolic.modular.algebra.rotations import unskew as unskew
    from dalembert.symbolic.modular.analysis.linear import LinearModel as LinearModel
    from dalembert.symbolic.modular.analysis.linear import linearize_parts as linearize_parts
    from dalembert.symbolic.modular.analysis.speed import SpeedModel as SpeedModel
    from dalembert.symbolic.modular.analysis.speed import speed_model as speed_model
    from dalembert.symbolic.modular.leaves import attach_body as attach_body
    from dalembert.symbolic.modular.leaves import dc_motor as dc_motor
    from dalembert.symbolic.modular.leaves import particle as particle
    from dalembert.symbolic.modular.leaves import planar_body as planar_body
    from dalembert.symbolic.modular.leaves import rigid_body as rigid_body
    from dalembert.symbolic.modular.leaves import rolling_sphere as rolling_sphere
    from dalembert.symbolic.modular.leaves import rolling_wheel as rolling_wheel
    from dalembert.symbolic.modular.leaves import thin_bar as thin_bar
    from dalembert.symbolic.modular.model import ModularModel as ModularModel
    from dalembert.symbolic.modular.model import modular_model as modular_model
    from dalembert.symbolic.modular.motion import variation_norm as variation_norm
    from dalembert.symbolic.modular.parts import TIME as TIME
    from dalembert.symbolic.modular.parts import Assembly as Assembly
    from dalembert.symbolic.modular.parts import Leaf as Leaf

__all__ = attach(__name__)
