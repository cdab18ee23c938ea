"""Flexibility of a machine at a place, with its joints held.

With the rows A of loops and of as many independent joint coordinates as the machine has rigid freedoms, Z spans the
deformations that they allow. A wrench F at the place with Jacobian J moves it by

    (δx, δϑ) = C F ,      C = J Z (Zᵀ K Z)⁻¹ Zᵀ Jᵀ ,      K = -∂(f + Aᵀ λ)/∂ξ at rest .
"""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import AssemblyError, ConvergenceError
from dalembert.core.findings import Advice, Call
from dalembert.equations import EquationsOfMotion, State
from dalembert.expressions import Array
from dalembert.solve.constrained.matrices import complement
from dalembert.solve.position.assemble import require_state
from dalembert.solve.position.static_shape import choose_held
from dalembert.solve.rest.rest_equations import Rest
from dalembert.tree.kinematics import jacobian
from dalembert.tree.places import Place, dimension


def compliance(eqs: EquationsOfMotion, state: State, place: Place) -> Array:
    """Displacement and small rotation of a place by a force and a moment there, world axes, (6, 6); planar (3, 3).

    The joints are held, at the rotors of elastic gears; flexible bodies and gears deform, by their stiffness and by the
    weights that turn with them.
    state : at rest, such as that of `da.equilibrium(eqs, hold=..., efforts=...)`.
    place : as for `forward_kinematics`.

    Examples
    --------
    A rod that its hinge holds: l³ / 3 E I at its tip, and a little shear.

    >>> import dalembert as da
    >>> frame = da.structures.Frame("rod")
    >>> frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
    >>> square = da.structures.Section.rectangle(0.01, 0.01)
    >>> frame.add_beam("rod", "root", "tip", section=square, material="steel", elements=4)
    >>> data = da.structures.flexible_body(frame, basis="clamped", fixed="root", modes=2, static="tip")
    >>> m = da.Mechanism("arm", gravity=(0, 0, 0))
    >>> rod = m.add_flexible_body("rod", data)
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0, 0), rod.at("root"), axis=(0, 1, 0))
    >>> eqs = da.equations(m, coordinates="joint")
    >>> C = da.tree.compliance(eqs, eqs.state(), "rod.tip")
    >>> round(float(C[2, 2]) * 3 * da.structures.material("steel").E * 0.01**4 / 12 / 0.5**3, 2)
    1.0
    """
    dimension(eqs, place)
    require_state(eqs, state)
    held = [eqs.motor_sides.get(name, name) for name in choose_held(eqs, state.q, [], state.t)]
    values = eqs.kernel("measures")(state.q, np.zeros(eqs.nv), eqs.p, state.t)[0]
    rest = Rest(eqs, np.zeros(eqs.nu), {name: float(values[eqs.measures.index[name]]) for name in held}, state.t)
    rest.measure_size(state.q)
    at = rest.settle(state.q, np.array(state.z))
    if at is None:
        raise AssemblyError("joint-open", f"the joints of {eqs.name!r} do not close in this state.")
    Z = complement(at.forces.A.toarray())
    K = Z.T @ at.forces.stiffness().toarray() @ Z
    if K.size and np.linalg.eigvalsh(0.5 * (K + K.T))[0] <= 0.0:
        problem = f"{eqs.name!r} has no positive stiffness in this state: with its joints held it would move away."
        advice = Advice("Begin at rest: {}.", Call("da.equilibrium"))
        raise ConvergenceError("no-solution", problem, advice)
    J = jacobian(eqs, state, place) @ Z
    return np.asarray(J @ np.linalg.solve(K, J.T))
