"""The extended Udwadia-Kalaba law on the three-storey rig with its pendulum (spec 000, item 75 and AT-8).

The lumped machine in the source's own coordinates x₁, x₂, x₃, θ (item 78) is the judge of the law made from the
mechanism, which knows bodies and joints only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.control import control_forces, udwadia_kalaba
from dalembert.core.errors import ConvergenceError
from dalembert.equations import State
from dalembert.studies.three_storey import euk, rig
from tests.helpers.findings import raises, warns

PENDULUM = rig.Pendulum()
STOREY = 0.5  # N s/m, a guess of the spec
NAMES = ["floor1.x", "floor2.x", "floor3.x", "hinge.angle"]
UNACTUATED = {"torque": (0, 1, 2), "push": (0, 1, 3)}


def source_terms(x: np.ndarray, v: np.ndarray, force: float) -> tuple[np.ndarray, np.ndarray]:
    """M and Q of item 78 with the dampers of eq 5.237; θ = φ + 3π/2."""
    theta, rate = x[3] + 1.5 * np.pi, v[3]
    own, Ip = PENDULUM.mass * PENDULUM.arm, PENDULUM.about_hinge
    M = np.diag([*rig.MASSES[:2], rig.MASSES[2] + PENDULUM.mass, Ip])
    M[2, 3] = M[3, 2] = -own * np.sin(theta)
    k1, k2, k3 = rig.stiffnesses()
    K = np.array([[k1 + k2, -k2, 0.0], [-k2, k2 + k3, -k3], [0.0, -k3, k3]])
    s = STOREY * np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    Q = np.append(-K @ x[:3] - s @ v[:3], -own * 9.81 * np.cos(theta) - PENDULUM.damping * rate)
    Q[0] += force
    Q[2] += own * np.cos(theta) * rate**2
    return M, Q


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(rig.mechanism(pendulum=PENDULUM, dampers=(STOREY,) * 3))


def at(eqs: da.EquationsOfMotion, x: np.ndarray, v: np.ndarray) -> State:
    return da.assemble(eqs, dict(zip(NAMES, x, strict=True)), velocity=dict(zip(NAMES, v, strict=True)))


@pytest.mark.spec("000-75", "000-T8")
def test_the_state_of_the_spec_gives_its_forces_and_accelerations() -> None:
    """AT-8's unit vector, to half a unit of the last digit printed."""
    x, v = np.array([1e-3, 2e-3, -1e-3, 4.9 - 1.5 * np.pi]), np.array([0.01, -0.02, 0.03, 0.5])
    M, Q = source_terms(x, v, 0.1)
    assert np.abs(Q - [-0.45085, -4.192855, 3.548098, -0.013745]).max() < 5e-7
    assert np.abs(np.linalg.solve(M, Q) - [-0.351951, -5.150928, 2.526412, -22.006163]).max() < 5e-7
    for case, force, change in (
        ("torque", [0, 0, 0, 0.7505], [0, 0, -2.526412, 549.420545]),
        ("push", [0, 0, -3.614291, 0], [0, 0, -2.526412, 12.166810]),
    ):
        Q_c, a_c = control_forces(M, Q, [[0.0, 0.0, 1.0, 0.0]], [0.0], UNACTUATED[case])
        assert np.abs(Q_c - force).max() < 5e-7
        assert np.abs(a_c - change).max() < 5e-7


@pytest.mark.spec("000-75", "000-T8", "000-78")
@pytest.mark.parametrize("case", ["torque", "push"])
def test_the_law_made_from_the_mechanism_is_that_of_the_source(eqs: da.EquationsOfMotion, case: str) -> None:
    """Random states up to 1.2 rad from hanging; to rounding of the joint solve (1e-9 of the largest force)."""
    law = udwadia_kalaba(eqs, {"top": "floor3.x"}, actuated=case)
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, v = rng.uniform(-1, 1, 4) * [0.01, 0.01, 0.01, 1.2], rng.uniform(-1, 1, 4) * [0.1, 0.1, 0.1, 3.0]
        force = rng.uniform(-1, 1)
        M, Q = source_terms(x, v, force)
        Q_c, _ = control_forces(M, Q, [[0.0, 0.0, 1.0, 0.0]], [0.0], UNACTUATED[case])
        found = law.inputs_at(at(eqs, x, v), {"force": force})
        assert found[0] == pytest.approx(Q_c[{"push": 2, "torque": 3}[case]], rel=1e-9, abs=1e-9)
        assert np.abs(Q_c[list(UNACTUATED[case])]).max() < 1e-12 * max(np.abs(Q_c).max(), 1.0)


@pytest.mark.spec("000-75", "000-T8")
def test_closed_forms_of_both_placements(eqs: da.EquationsOfMotion) -> None:
    """Torque = -(Ip/(m₄L₄ sin θ)) Q₃ + m₄ g L₄ cos θ + s₄ θ'; force = -Q₃ + m₄L₄ sin θ (m₄ g L₄ cos θ + s₄ θ')/Ip."""
    x, v = np.array([1e-3, -2e-3, 3e-3, 0.4]), np.array([0.02, 0.01, -0.03, -1.1])
    _, Q = source_terms(x, v, 0.0)
    theta, own, Ip = x[3] + 1.5 * np.pi, PENDULUM.mass * PENDULUM.arm, PENDULUM.about_hinge
    weight = own * 9.81 * np.cos(theta) + PENDULUM.damping * v[3]
    torque = -Ip / (own * np.sin(theta)) * Q[2] + weight
    push = -Q[2] + own * np.sin(theta) * weight / Ip
    for case, wanted in (("torque", torque), ("push", push)):
        law = udwadia_kalaba(eqs, {"top": "floor3.x"}, actuated=case)
        assert law.inputs_at(at(eqs, x, v))[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.spec("000-75")
def test_a_horizontal_pendulum_has_no_grip_on_the_floor(eqs: da.EquationsOfMotion) -> None:
    """Case P is singular at φ = ±π/2: the condition number grows like 1/cos φ, the torque with it."""
    law = udwadia_kalaba(eqs, {"top": "floor3.x"}, actuated="torque")
    angles = np.array([0.0, 1.0, 1.5, 1.5707])
    torques = [law.inputs_at(at(eqs, np.array([0, 0, 1e-3, phi]), np.zeros(4)))[0] for phi in angles]
    margin = np.abs(np.array(torques) - PENDULUM.mass * PENDULUM.arm * 9.81 * np.sin(angles)) * np.cos(angles)
    assert margin == pytest.approx(np.full(4, margin[0]), rel=1e-6)


@pytest.mark.spec("000-75", "000-T8")
@pytest.mark.parametrize(
    ("dt", "method", "end"),
    [(None, da.RK4(step=1e-4), 0.745), (None, None, 0.745), (2e-3, da.RK4(step=5e-4), 0.754)],
    ids=["fixed step", "error control", "sampled"],
)
def test_case_p_ends_where_the_pendulum_is_horizontal(dt: float | None, method: Any, end: float) -> None:
    """AT-8, on at 0.5009 s: x3 drifts 7e-7 m by 0.7 s; there -0.742 rad, -8.63 rad/s, 0.207 N m; blow-up at 0.745 s.

    To half a unit of the last digit printed. A law that is held for 2 ms loses its hold some 10 ms later.
    """
    law = euk.law("torque", dt=dt)
    with raises(ConvergenceError, "singular-law", "torque", "'top floor'", "hinge.angle=-1.") as found:
        da.simulate(
            euk.machine(), 1.5, start=euk.start(), inputs={"force": euk.force}, controller=law, method=method,
            every=1e-3 if dt is None else dt, switch_on=0.5009,
        )  # fmt: skip
    assert any(f"hinge.angle={angle}" in str(found.value) for angle in (-1.5, -1.6))
    reported = float(str(found.value).split("at t = ")[1].split(" s")[0])
    assert abs(reported - end) < 1e-3
    run = found.value.record
    assert run.time[-1] == pytest.approx(reported, abs=2.5e-3) and np.isfinite(run.data).all()
    if dt is None:
        at = int(np.argmin(np.abs(run.time - 0.7)))
        assert np.ptp(run.between(0.501, 0.7)["floor3.x"]) == pytest.approx(7e-7, abs=5e-8)
        assert run["hinge.angle"][at] == pytest.approx(-0.742, abs=5e-4)
        assert run["hinge.rate"][at] == pytest.approx(-8.63, abs=5e-3)
        assert abs(run["torque"][at]) == pytest.approx(0.207, abs=5e-4)
    with warns(UserWarning, "out-of-range"):
        report = law.examine(run.between(0.502, None))
    assert report.peaks[0] > 10.0 and report.singularity_margin[0] == pytest.approx(0.15, abs=0.01)  # N m; 0.2 at 0.7 s


@pytest.mark.spec("000-75", "000-T8")
def test_case_f_pushes_straight_along_its_constraint(eqs: da.EquationsOfMotion) -> None:
    law = udwadia_kalaba(eqs, {"top": "floor3.x"}, actuated="push")
    run = da.simulate(eqs, 1.0, start=at(eqs, np.array([1e-3, 0, 0, 1.0]), np.zeros(4)), controller=law, every=0.02)
    report = law.examine(run)
    assert report.singularity_margin == pytest.approx(np.ones(51), abs=1e-6)
    assert report.singular_at is None and "everywhere" in report.verdict()


@pytest.mark.spec("000-77", "000-T9", "000-76")
def test_on_an_estimate_the_law_is_that_of_the_source_at_the_estimate() -> None:
    """Four seconds of AT-9: the force driven is that of item 75 at ẑ, with ω² x₃ + 2 ω x₃′ to hold against noise; of
    the acceptance what does not need 50 s: x₃′ > 95 %, x₃ > 85 %, estimates better than 1e-3 after a second."""
    found = euk.hold_on_estimate(4.0)
    _, _, x3, _, _, v3 = found.reductions
    assert v3 > 95.0 and x3 > 85.0
    assert found.errors[:3].max() < 1e-3
    on = found.run.between(found.on + euk.STEP, None)
    x, v = (on[[f"estimate.{name}" for name in names]] for names in (euk.COORDINATES, euk.RATES))
    w = euk.STABILISED
    for k in range(0, len(on), 20):
        M, Q = source_terms(x[k], v[k], on["force"][k])
        b = -2 * w * v[k, 2] - w**2 * x[k, 2]
        Q_c, _ = control_forces(M, Q, [[0.0, 0.0, 1.0, 0.0]], [b], UNACTUATED["push"])
        assert on["push"][k] == pytest.approx(Q_c[2], rel=1e-7, abs=1e-9)
    assert not found.run.between(None, found.on - euk.STEP)["push"].any()
