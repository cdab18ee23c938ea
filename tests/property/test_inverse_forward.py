"""Inverse dynamics undoes forward dynamics, on machines drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dalembert as da
from dalembert.equations import State
from dalembert.solve.position.prescribed_motion import acceleration_name
from tests.helpers.random_mechanisms import Plan, build, plans


def actuated(plan: Plan) -> da.EquationsOfMotion:
    """An input on every joint coordinate."""
    m = build(plan)
    for joint in list(m.joints):
        for coordinate, _, _ in joint.coordinates:
            name = f"{joint.name}.{coordinate}"
            m.add_actuator(f"motor {name}", name, input=f"u {name}")
    return da.equations(m)


def moving(eqs: da.EquationsOfMotion, random: np.random.Generator) -> State:
    """The drawing's pose with random speeds that fit the joints."""
    s = da.assemble(eqs)
    v = random.uniform(-1, 1, size=eqs.nv)
    A = eqs.kernel("rows")(s.q, v, s.z, np.zeros(eqs.nu), eqs.p, 0.0)[0].reshape(-1, eqs.nv)
    v = v - np.linalg.pinv(A, rcond=1e-9) @ (A @ v)
    return eqs.state(s.q, v, s.z)


def as_record(eqs: da.EquationsOfMotion, s: State, a: Any) -> da.Record:
    names = [*eqs.coordinates.names, *eqs.speeds.names]
    names += [acceleration_name(n, eqs.speeds.index) for n in eqs.speeds.names]
    return da.Record([0.0], [np.concatenate((s.q, s.v, a))], names)


@pytest.mark.spec("002-G4", "002-G3")
@given(plan=plans(), seed=st.integers(0, 10**6))
def test_inverse_of_forward_is_the_identity(plan: Plan, seed: int) -> None:
    eqs = actuated(plan)
    assume(eqs.nu > 0)
    random = np.random.default_rng(seed)
    s = moving(eqs, random)
    u = random.uniform(-5, 5, size=eqs.nu)
    there = da.forward_dynamics(eqs, s, inputs=dict(zip(eqs.inputs.names, u, strict=True)), method="kkt")
    A = eqs.kernel("rows")(s.q, s.v, s.z, u, eqs.p, 0.0)[0].reshape(-1, eqs.nv)
    (M,) = eqs.kernel("inertia")(s.q, eqs.p, 0.0)
    kkt = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    assume(np.linalg.cond(kkt) < 1e8)  # the domain of the statement: no redundant rows, no singular pose
    back = da.inverse_dynamics(eqs, as_record(eqs, s, there.acceleration))
    found = np.array([back[name][0] for name in eqs.inputs.names])
    size = 1 + float(np.abs(there.lam).max(initial=0.0)) + 5
    # the same motion from the found inputs; rounding (1e-16) times the condition number bound (1e8), times the forces
    again = da.forward_dynamics(eqs, s, inputs=dict(zip(eqs.inputs.names, found, strict=True)), method="kkt")
    scale = 1 + float(np.abs(there.acceleration).max())
    assert again.acceleration == pytest.approx(there.acceleration, abs=1e-8 * scale * size)
    assert back["residual.force"][0] < 1e-8 * size
    if back.statistics["determination"] == "determined":
        assert found == pytest.approx(u, abs=1e-8 * size)
    assert np.linalg.norm(found) <= np.linalg.norm(u) * (1 + 1e-8) + 1e-8 * size


@pytest.mark.spec("002-G4")
@given(plan=plans(planar=True, most=3), seed=st.integers(0, 10**6))
def test_the_found_reactions_are_those_of_forward_dynamics(plan: Plan, seed: int) -> None:
    eqs = da.equations(build(plan))
    s = moving(eqs, np.random.default_rng(seed))
    there = da.forward_dynamics(eqs, s, method="kkt")
    assume(there.rank.redundant == 0)
    assume(all(there.unique.values()))
    back = da.inverse_dynamics(eqs, as_record(eqs, s, there.acceleration))
    size = 1 + float(np.abs(there.lam).max(initial=0.0))
    for name in eqs.reaction_channels.names:
        assert back[name][0] == pytest.approx(there[name], abs=1e-7 * size)
