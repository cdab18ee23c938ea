"""The Carvallo-Whipple benchmark bicycle (Meijaard, Papadopoulos, Ruina, Schwab, Proc. R. Soc. A 463, 2007, 1955-1982).

Four bodies, three hinges and two knife-edge wheels rolling without slip, linearized about straight upright running.
The published eigenvalues have 15 digits; 1e-9 leaves the five that an eigenproblem of condition 1e3 may cost.
Axes here: x forward, y left, z up (the paper: z down), so products of inertia I_xz change their sign.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

DIGITS = 1e-9
WHEELBASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10
REAR, FRONT = 0.3, 0.35


def bicycle() -> da.EquationsOfMotion:
    def inertia(xx: float, xz: float, yy: float, zz: float) -> list[list[float]]:
        return [[xx, 0.0, -xz], [0.0, yy, 0.0], [-xz, 0.0, zz]]

    m = da.Mechanism("bicycle")
    frame = m.add_body("frame", mass=85.0, inertia=inertia(9.2, 2.4, 11.0, 2.8), position=(0.3, 0, 0.9))
    fork = m.add_body("fork", mass=4.0, inertia=inertia(0.05892, -0.00756, 0.06, 0.00708), position=(0.9, 0, 0.7))
    rear = m.add_body("rear wheel", mass=2.0, inertia=(0.0603, 0.12, 0.0603), position=(0, 0, REAR))
    front = m.add_body("front wheel", mass=3.0, inertia=(0.1405, 0.28, 0.1405), position=(WHEELBASE, 0, FRONT))
    m.add_revolute("steer", frame, fork, at=(WHEELBASE + TRAIL, 0, 0), axis=(-np.sin(TILT), 0, np.cos(TILT)))
    m.add_revolute("rear", frame, rear, at=(0, 0, REAR), axis=(0, 1, 0))
    m.add_revolute("front", fork, front, at=(WHEELBASE, 0, FRONT), axis=(0, 1, 0))
    m.add_rolling_wheel("rear contact", m.ground, rear, radius=REAR)
    m.add_rolling_wheel("front contact", m.ground, front, radius=FRONT)
    return da.equations(m)


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return bicycle()


def lateral(eqs: da.EquationsOfMotion, speed: float) -> da.StateSpace:
    steady = da.equilibrium(eqs, rates={"rear": speed / REAR})
    assert steady["frame.vx"] == pytest.approx(speed, rel=1e-12)
    lin = da.linearize(eqs, steady, coordinates=["frame.rx", "steer"])
    assert isinstance(lin, da.StateSpace)
    return lin


def test_eigenvalues_at_five_metres_per_second(eqs: da.EquationsOfMotion) -> None:
    values = np.linalg.eigvals(lateral(eqs, 5.0).A)
    weave = -0.775341882195845 + 4.46486771378823j
    for published in (-14.0783896927982, weave, weave.conjugate(), -0.32286642900409):
        assert np.abs(values - published).min() < DIGITS
    assert np.abs(values).min() < DIGITS  # the forward speed keeps what it has


def test_lean_and_steer_alone_make_the_states(eqs: da.EquationsOfMotion) -> None:
    lin = lateral(eqs, 5.0)
    assert lin.states == ("frame.rx", "steer.angle", "steer.rate", "rear.rate", "frame.wx")
    forward = lin.states.index("rear.rate")
    others = [k for k in range(lin.nx) if k != forward]
    assert np.abs(lin.A[np.ix_(others, [forward])]).max() < DIGITS
    assert np.abs(lin.A[forward]).max() < DIGITS


def test_published_matrices_of_the_lean_and_steer_equations(eqs: da.EquationsOfMotion) -> None:
    """M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = 0 in (lean, steer); the paper's lean is positive to the right as here.

    Steering to the right is positive there, to the left here: the axis points up.
    """
    M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
    C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]])
    K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    sign = np.diag([1.0, -1.0])
    for v in (0.5, 3.0, 7.0):
        lin = lateral(eqs, v)
        place = [lin.states.index(n) for n in ("frame.rx", "steer.angle")]
        rate = [lin.states.index(n) for n in ("frame.wx", "steer.rate")]
        stiffness = -sign @ M @ sign @ lin.A[np.ix_(rate, place)]
        damping = -sign @ M @ sign @ lin.A[np.ix_(rate, rate)]
        np.testing.assert_allclose(sign @ stiffness @ sign, 9.81 * K0 + v**2 * K2, rtol=0, atol=1e-7)
        np.testing.assert_allclose(sign @ damping @ sign, v * C1, rtol=0, atol=1e-7)


def test_weave_and_capsize_speeds(eqs: da.EquationsOfMotion) -> None:
    """Self-stable between 4.29238253634111 and 6.02426201538837 m/s: looked at 1e-6 m/s on both sides."""

    def growth(speed: float) -> float:
        values = np.linalg.eigvals(lateral(eqs, speed).A)
        return float(np.delete(values, int(np.argmin(np.abs(values)))).real.max())

    for limit, side in ((4.29238253634111, 1), (6.02426201538837, -1)):
        assert growth(limit + side * 1e-6) < 0 < growth(limit - side * 1e-6)
