"""Closed form of the equations of a tree with flexible links, at one state (Scaglioni 2016).

    Mtt θ̈ + Mtq η̈ + Ct = τ + Jtᵀ F ,     Mtqᵀ θ̈ + Mqq η̈ + De η̇ + Ke η + Cq = Jqᵀ F

with Jtᵀ = BBtᵀ PP⁻¹ Pt and Jqᵀ = Btqᵀ + BBqᵀ PP⁻¹ Pt of a wrench F at the tip.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.core.arguments import one_of
from dalembert.core.arrays import FloatArray, frozen
from dalembert.core.declare import instance
from dalembert.core.errors import DataError
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.mechanics.tree.algorithms.closed_form import EXPONENTIAL, ROTATIONS
from dalembert.model import BodyFrame, Point
from dalembert.tree.evaluation import evaluate, require_tree
from dalembert.tree.payload import Payload


@frozen
class ClosedForm:
    """Named matrices of the closed form, in world axes; N bodies (6 rows each, in the plane 3), M modes.

    bodies : one block of rows each.  joints, modes : names of the n speeds of joints and of the M elastic ones.
    PP, PP_inverse, IIvv, M1 : (6N, 6N).  BBt : (6N, n).  BBq, IIvq : (6N, M).  MMe : (M, M).  VVp, CCv : (6N,).
    CCf, Cq : (M,).  Ct : (n,).  Mtt : (n, n), with geared rotors.  Mtq : (n, M).  Mqq, Ke, De : (M, M).
    Pt : (6N, 6), Btq : (6, M), of a wrench (moment, force) at the tip.  Rows of twists and wrenches: ω, v and n, f.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    modes: tuple[str, ...]
    PP: FloatArray
    PP_inverse: FloatArray
    IIvv: FloatArray
    IIvq: FloatArray
    MMe: FloatArray
    BBt: FloatArray
    BBq: FloatArray
    VVp: FloatArray
    CCv: FloatArray
    CCf: FloatArray
    M1: FloatArray
    Mtt: FloatArray
    Mtq: FloatArray
    Mqq: FloatArray
    Ct: FloatArray
    Cq: FloatArray
    Ke: FloatArray
    De: FloatArray
    Pt: FloatArray
    Btq: FloatArray

    @cached_property
    def _H(self) -> Array:
        return np.linalg.inv(np.block([[self.Mtt, self.Mtq], [self.Mtq.T, self.Mqq]]))

    @property
    def Htt(self) -> Array:
        """Blocks of M⁻¹."""
        return self._H[: len(self.joints), : len(self.joints)]

    @property
    def Htq(self) -> Array:
        return self._H[: len(self.joints), len(self.joints) :]

    @property
    def Hqq(self) -> Array:
        return self._H[len(self.joints) :, len(self.joints) :]

    @property
    def tip_efforts(self) -> tuple[Array, Array]:
        """Jtᵀ (n, 6) and Jqᵀ (M, 6): efforts on joints and modes by a wrench (moment, force) at the tip."""
        carried = self.PP_inverse @ self.Pt
        return self.BBt.T @ carried, self.Btq.T + self.BBq.T @ carried

    def joint_wrenches(self, joint_accelerations: Array, modal_accelerations: Array) -> Array:
        """FF (N, 6): moment and force by which its joint holds every body, at the origin of the body's frame."""
        VV = self.PP_inverse.T @ (self.BBt @ joint_accelerations + self.BBq @ modal_accelerations + self.VVp)
        F = self.PP_inverse @ (self.IIvv @ VV + self.IIvq @ modal_accelerations - self.CCv)
        return np.asarray(F.reshape(len(self.bodies), -1))


def closed_form(
    eqs: EquationsOfMotion, state: State, *, rotations: str = EXPONENTIAL, tip: str | Point | BodyFrame | None = None,
    payload: Payload | None = None,
) -> ClosedForm:  # fmt: skip
    """Matrices of the closed form of a tree at a state; no mode may move the node that carries its body.

    rotations : of nodes: "exponential", or "linear" in their rotation vectors, for comparison with the literature.
    tip : place of a wrench, as for `forward_kinematics`; the last body by default.  payload : held by a body.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm")
    >>> rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at(-0.5, 0, 0), axis=(0, 1, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> form = da.tree.closed_form(eqs, eqs.state())
    >>> form.PP.shape, form.Mtt.round(6), form.Ct.round(6)
    ((6, 6), array([[0.666667]]), array([-9.81]))
    """
    one_of("rotations", rotations, ROTATIONS)
    tree = require_tree(eqs)
    if not isinstance(state, State):
        raise DataError("wrong-type", f"the closed form is that of one State, got {type(state).__name__}.")
    place = tree.bodies[-1] if tip is None else instance(str, Point, BodyFrame)("tip", tip)
    matrices = evaluate(eqs, state, "closed_form", rotations, place, payload=payload)
    columns = {"VVp", "CCv", "CCf", "Ct", "Cq"}
    fields = [name for name in ClosedForm.__annotations__ if name not in ("bodies", "joints", "modes")]
    parts = {name: x[:, 0] if name in columns else x for name, x in zip(fields, matrices, strict=True)}
    bodies = (*tree.bodies, *(["payload"] if payload is not None else []))
    n, M = parts["Mtq"].shape  # speeds of joints stand before those of modes
    names = eqs.speeds.names
    return ClosedForm(bodies=bodies, joints=names[:n], modes=names[n : n + M], **parts)
