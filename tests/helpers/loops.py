"""Laws and observers made by hand, and a plain loop over samples to compare closed loops with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

import dalembert as da
from dalembert.equations import Channels, State
from dalembert.loop.interfaces import Law, ObserverStep

SX = ca.SX


def channels(names: Sequence[str], units: str = "") -> Channels:
    return Channels(names, [units] * len(names))


def gain_law(K: Any, reads: Sequence[str], drives: Sequence[str], dt: float | None = None, **options: Any) -> Law:
    """u = -K (what is read)."""
    K = np.atleast_2d(K)
    x, m, r, p, t = SX.sym("x", len(reads)), SX.sym("m", 0), SX.sym("r", 0), SX.sym("p", 0), SX.sym("t")
    return Law(
        options.pop("name", "gain"), tuple(reads), tuple(drives), ca.Function("law", [x, m, r, p, t], [-K @ x, m]), dt,
        **options,
    )  # fmt: skip


def integral_law(dt: float, kp: float = 1.0, ki: float = 0.2) -> Law:
    """u = kp (r - y) + ki ∫ (r - y), by Euler's rule."""
    y, m, r, p, t = SX.sym("y"), SX.sym("m"), SX.sym("r"), SX.sym("p", 2), SX.sym("t")
    error = r - y
    function = ca.Function("pi", [y, m, r, p, t], [p[0] * error + p[1] * m, m + dt * error])
    return Law(
        "pi", ("y",), ("u",), function, dt, state=Channels(["integral"], ["m s"]), start=(0.0,),
        references=Channels(["y"], ["m"]), parameters=(kp, ki),
    )  # fmt: skip


def predictor_law(A: Any, B: Any, C: Any, D: Any, L: Any, K: Any, dt: float, start: Any, names: Any) -> Law:
    """The discrete LQG law of spec 000, item 73: u = -K z, z₊ = A z + B u + L (y - C z - D u); z is its memory."""
    n = len(A)
    y, z, r, p, t = SX.sym("y", len(C)), SX.sym("z", n), SX.sym("r", 0), SX.sym("p", 0), SX.sym("t")
    u = -K @ z
    after = A @ z + B @ u + L @ (y - C @ z - D @ u)
    return Law(
        "lqg", tuple(names[1]), tuple(names[0]), ca.Function("lqg", [y, z, r, p, t], [u, after]), dt,
        state=channels([f"z{i + 1}" for i in range(n)]), start=tuple(start), direct=False,
    )  # fmt: skip


def luenberger(A: Any, B: Any, C: Any, D: Any, M: Any, dt: float, start: Any, names: Any) -> ObserverStep:
    """x̂ = A x̂₋ + B u₋, then x̂ + M (y - C x̂ - D u); rows that are not measured are left out."""
    n, nu, ny = len(A), np.shape(B)[1], len(C)
    m, u0, u1, y = SX.sym("m", n), SX.sym("u0", nu), SX.sym("u1", nu), SX.sym("y", ny)
    measured, p, t, step = SX.sym("measured", ny), SX.sym("p", 0), SX.sym("t"), SX.sym("step")
    predicted = ca.if_else(step > 0, A @ m + B @ u0, m)
    x = predicted + M @ (measured * (y - C @ predicted - D @ u1))
    inputs, outputs, states = names
    return ObserverStep(
        "luenberger", tuple(outputs), tuple(inputs), channels(states),
        ca.Function("observer_step", [m, u0, u1, y, measured, p, t, step], [x, x]), dt, channels(states), tuple(start),
    )  # fmt: skip


def cart_pendulum() -> da.EquationsOfMotion:
    """A cart on a rail with a rod that stands up at angle 0."""
    m = da.Mechanism("cart-pendulum", planar=True)
    cart = m.add_body("cart", mass=1.0, inertia=0.1)
    rod = m.add_body("rod", mass=m.parameter("load", 0.2), inertia=0.01, position=(0, 0.5))
    m.add_prismatic("rail", m.ground, cart, at=(0, 0), axis=(1, 0))
    m.add_revolute("hinge", cart.at(0, 0), rod.at(0, -0.5))
    m.add_force("push", cart.at(0, 0), (1, 0), input="force")
    m.add_force("wind", rod.at(0, 0.1), (1, 0), input="gust")
    m.add_sensor("encoder", da.angle("hinge"))
    m.add_sensor("slide", da.displacement("rail"))
    m.add_sensor("shake", da.acceleration(cart.at(0, 0)))
    return da.equations(m)


CART_READS = ("rail.displacement", "hinge.angle", "rail.speed", "hinge.rate")
CART_GAINS = np.array([[-2.0, 36.9, -3.35, 8.77]])  # LQR with weights (4, 1, 1, 1) and 1, rounded


def step_by_step(
    eqs: da.EquationsOfMotion, start: State, dt: float, count: int, control: Callable[[int, Any], dict[str, Any]],
    method: Any,
) -> list[State]:  # fmt: skip
    """A loop in plain Python: one open-loop run per sample."""
    states = [start]
    for k in range(count):
        now = states[-1]
        run = da.simulate(eqs, now.t + dt, start=now, inputs=control(k, now), method=method, every=[now.t + dt])
        q = [run[name][-1] for name in eqs.coordinates.names]
        v = [run[name][-1] for name in eqs.speeds.names]
        states.append(eqs.state(q, v, None, now.t + dt))
    return states
