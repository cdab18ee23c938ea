"""Point on a curve: d - R_a J_a c(s) = 0, with the curve's parameter s as an extra coordinate without mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.core.errors import ModelError
from dalembert.expressions import Expr, call_user
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations
from dalembert.mechanics.user_view import as_column
from dalembert.model.joints import Joint

if TYPE_CHECKING:
    from dalembert.mechanics.absolute.producer import Absolute


def residual(host: Absolute, joint: Joint) -> tuple[Expr, Expr, Expr]:
    s = host.q[host.coordinates.index[f"{joint.name}.parameter"]]
    what = f"curve of joint {joint.name!r}"
    curve = as_column(call_user(joint.options["curve"], what, s), what, host.p_symbols)
    if curve.shape[0] != host.space.dim:
        problem = f"{what} must return {host.space.dim} values, got {curve.shape[0]}."
        raise ModelError("wrong-shape", problem, where={"joint": joint.name})
    a, b = host.attach(joint.a), host.attach(joint.b)
    axes = a.pose.R @ host.frame_axes(joint.a)
    return b.position - a.position - axes @ curve, axes, b.position


JOINT_EQUATIONS.register("point on curve", JointEquations(residual=residual, balls=(1,)))
