"""The top floor of the three-storey rig, kept at rest by servo-constraints (Pappalardo 2011, ch. 5).

Virtual constraint: the top floor does not move. Case P, a torque on the pendulum keeps it until the pendulum is
horizontal, where the law is singular; case F, a force on the floor itself keeps it for good. Case F also runs on the
estimate of an extended Kalman filter from three accelerations and the pendulum's angle.
Dampers of the storeys are not given there: 0.5 N s/m is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import dalembert as da
from dalembert.control import Realizability, ServoConstraints, udwadia_kalaba
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import within
from dalembert.equations import State
from dalembert.studies.three_storey.control import SPAN, force, reduction
from dalembert.studies.three_storey.rig import Pendulum, mechanism

DAMPERS = (0.5, 0.5, 0.5)
COORDINATES = ("floor1.x", "floor2.x", "floor3.x", "hinge.angle")
RATES = ("floor1.vx", "floor2.vx", "floor3.vx", "hinge.rate")
MEASURED = (*COORDINATES[:3], *RATES[:3])
PRINTED_EKF = (75.90, 78.16, 93.45, 71.95, 66.04, 99.94)
"""Reductions of x1, x2, x3, x1', x2', x3' in Pappalardo 2011 [%]."""
RECOMPUTED_EKF = (71.1, 68.0, 90.5, 70.3, 60.5, 98.8)
"""By an independent program, with the same stabilisation as here."""
STEP = 2e-3
"""Of the filter and of the sampled law [s]."""
NOISE = 1e-3
"""Of every sensor, and of every rate of change at each step: as an intensity it would move a floor by centimetres."""
STABILISED = 5.0
"""ω of how deviations of the constraint die out where noise drives it [rad/s]."""
SETTLED = 1.0
SEED = 7


@dataclass(frozen=True)
class Held:
    """A run with the top floor kept at rest from ``on`` on, and its errors."""

    run: da.Record
    on: float
    report: Realizability

    @property
    def residual(self) -> float:
        """Largest |A q̈ - b| while on: of the acceleration of the top floor as simulated, b being zero [m/s²]."""
        return float(np.abs(self.run.between(self.on + 1e-9, None)["a3.x"]).max())


@dataclass(frozen=True)
class Estimated:
    """The loop on the estimate: the run, the reductions, errors of the estimate after a second."""

    run: da.Record
    on: float
    reductions: FloatArray
    errors: FloatArray
    """Largest errors of x1, x2, x3 [m] and of the angle [rad] after the first second."""


@lru_cache(maxsize=1)
def machine() -> da.EquationsOfMotion:
    """The lumped machine with its pendulum and dampers."""
    return da.equations(mechanism(pendulum=Pendulum(), dampers=DAMPERS))


def start(offset: FloatArray | None = None) -> State:
    """1 mm at every floor, the pendulum hanging, small speeds; ``offset`` (8,) of positions and speeds is added."""
    more = np.zeros(8) if offset is None else offset
    place = np.array([1e-3, 1e-3, 1e-3, 0.0]) + more[:4]
    speed = np.full(4, 1e-4) + more[4:]
    names = dict(zip(COORDINATES, place, strict=True)), dict(zip(COORDINATES, speed, strict=True))
    return da.assemble(machine(), names[0], velocity=names[1])


def law(actuated: str, *, frequency: float = 0.0, dt: float | None = None) -> ServoConstraints:
    """The top floor is held at rest by one actuator: ``"torque"`` (case P) or ``"push"`` (case F)."""
    return udwadia_kalaba(machine(), {"top floor": "floor3.x"}, actuated=actuated, frequency=frequency, dt=dt)


def hold_floor(actuated: str) -> Held:
    """Case P for 0.7 s or case F for 50 s, switched on at the first rest of the top floor after half of it."""
    span, every = (0.7, 1e-3) if actuated == "torque" else (50.0, 0.02)
    made = law(actuated)
    run = da.simulate(
        machine(), span, start=start(), inputs={"force": force}, controller=made, every=every,
        method=da.RK4(step=5e-4 if actuated == "torque" else 2e-3), switch_on=(0.5 * span, _rest()),
    )  # fmt: skip
    on = float(run.statistics["events"][0]["time"])
    return Held(run, on, made.examine(run.between(on + 1e-9, span)))


def _rest() -> da.Event:
    return da.Event("top floor at rest", lambda s: s["floor3.vx"], action="note")


def hold_on_estimate(span: float = SPAN, *, continuous: bool = False) -> Estimated:
    """Case F on the estimate of an extended Kalman filter, switched on after half of the time.

    continuous : by the filter of Pappalardo 2011, whose sensors are continuous (R_cw = W₀², R_cv = V₀² as
        intensities), instead of one sample after the other.
    """
    eqs = machine()
    offset = np.array([1e-3, 1e-3, 1e-3, 1.0, 1e-4, 1e-4, 1e-4, 1e-4])
    P0 = np.array([1e-6, 1e-6, 1e-6, 1.0, 1e-8, 1e-8, 1e-8, 1e-8])
    model = da.estimate.process(
        eqs, outputs=["a1.x", "a2.x", "a3.x", "phi"], coordinates=COORDINATES, at=start(offset), method="heun"
    )  # 2e-7 m off per step at 8.8 Hz, a tenth of the process noise: the reductions are those of rk4 to 0.02 %
    ekf: da.estimate.ExtendedKalman | da.estimate.ExtendedKalmanBucy
    if continuous:
        ekf = da.estimate.ExtendedKalmanBucy(model, Q=NOISE**2, R=NOISE**2, P0=P0, dt=STEP)
    else:
        ekf = da.estimate.ExtendedKalman(model, Q=NOISE**2 * STEP, R=NOISE**2, P0=P0, dt=STEP)
    shaken = dict.fromkeys((*COORDINATES, *RATES), NOISE * STEP)
    noise = da.Noise(process=shaken, sensors=dict.fromkeys(("a1.x", "a2.x", "a3.x", "phi"), NOISE), seed=SEED)
    run = da.simulate(
        eqs, span, start=start(), inputs={"force": force}, controller=law("push", frequency=STABILISED, dt=STEP),
        observer=ekf, noise=noise, switch_on=(0.5 * span, _rest()), every=0.02, method=da.RK4(step=STEP),
        progress=within(),
    )  # fmt: skip
    on = float(run.statistics["events"][0]["time"])
    late = run.between(SETTLED, None)
    errors = [np.abs(late[f"estimate.{name}"] - late[name]).max() for name in COORDINATES]
    return Estimated(run, on, reduction(run, MEASURED, span), np.array(errors))
