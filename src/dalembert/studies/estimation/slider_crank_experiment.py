"""The slider-crank of the study `slider_crank_observer`: its motion, sensors and observers, and all of its runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

import dalembert as da
from dalembert.core.progress import step
from dalembert.estimate import (
    Estimate,
    ExtendedKalman,
    KinematicModel,
    Process,
    SigmaPointKalman,
    SphericalSimplex,
    Switching,
    Window,
    lanczos_derivative,
    measure,
    model_kinematics,
    process,
    smooth,
)
from dalembert.expressions import Array
from dalembert.studies.runner import rms

if TYPE_CHECKING:
    pass

CRANK, ROD = 0.3, 0.6
"""Lengths [m]; not given in the source. Crossing times do not depend on them."""
DT, UNTIL, SETTLE = 1e-3, 30.0, 1.0
ENCODER, ACCELEROMETER = 0.003, 0.03
"""Standard deviations of the noise [rad, m/s²]; "amplitude" in the source."""
SOURCE_WINDOW, WIDE = 0.08, 0.2
"""Where crank and rod are nearer to being in line than this, the accelerometer is not used [rad]."""
JERK = 1.0
"""Standard deviation of the walk of θ̈ per step inside that window [rad/s²]; not given in the source."""
SEEDS = (0, 1, 2)
DIFFERENCE, SMALL_JERK = 1e-4, 0.2
W0 = 0.25
STATES: tuple[str, str, str] = ("A.angle", "A.rate", "A.acceleration")


@dataclass(frozen=True)
class Figures:
    """Root-mean-square errors of θ, θ̇, θ̈ and the largest error of θ̈, over the seeds."""

    rms: Array
    peak: float
    seconds: float


def machine() -> da.Mechanism:
    """Crank A, rod B to C, slider on the y axis; angles from the x axis. Masses do not matter here."""
    m = da.Mechanism("slider-crank", planar=True)
    rise = np.arccos(-CRANK / ROD)
    crank = m.add_body("crank", mass=1.0, inertia=da.rod(CRANK), position=(CRANK / 2, 0))
    place = (CRANK + ROD / 2 * np.cos(rise), ROD / 2 * np.sin(rise))
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(ROD), position=place, angle=rise)
    slider = m.add_body("slider", mass=1.0, inertia=0.0, position=(0, ROD * np.sin(rise)))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-CRANK / 2, 0))
    m.add_revolute("B", crank.at(CRANK / 2, 0), rod.at(-ROD / 2, 0))
    m.add_revolute("C", rod.at(ROD / 2, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0), axis=(0, 1))
    m.add_sensor("slider acceleration", da.joint_acceleration("guide"))
    m.add_sensor("encoder", da.angle("A"))
    return m


@cache
def equations() -> da.EquationsOfMotion:
    return da.equations(machine())


def crank_angle(t: Any) -> Any:
    """θ of the speed 12.56 + 1.256 cos(4πt) rad/s."""
    return 12.56 * t + 1.256 / (4 * np.pi) * da.sin(4 * np.pi * t)


def truth(until: float = UNTIL) -> da.Record:
    return da.kinematics(equations(), until, motion={"A": crank_angle}, every=DT)


def read_sensors(run: da.Record, seed: int) -> da.Record:
    both = run.select("slider acceleration", "encoder")
    return measure(both, {"slider acceleration": ACCELEROMETER, "encoder": ENCODER}, seed=seed)


def observer(window: float | None = SOURCE_WINDOW, **options: Any) -> KinematicModel:
    """The model of the source: scheme 3 under Euler's method; ``window`` None: no switching."""
    return model_kinematics(
        equations(), independent="A.angle", inputs="slider acceleration", outputs="encoder",
        start={"A.rate": 12.56}, workspace={"A.angle": (-np.pi, np.pi)},
        switching=None if window is None else Switching(window, distance=Window("B.angle")),
        **{"scheme": "both", "method": "euler", **options},
    )  # fmt: skip


def noise_of(model: KinematicModel, jerk: float = JERK) -> dict[str, Any]:
    return {
        "Q": model.noise(walk=jerk**2), "R": ENCODER**2, "P0": [1e-4, 1.0, 100.0],
        "input_noise": {"slider acceleration": ACCELEROMETER**2},
    }  # fmt: skip


def filters(model: KinematicModel, jerk: float = JERK) -> dict[str, Any]:
    """EKF and spherical-simplex sigma points, with the same noise."""
    noise = noise_of(model, jerk)
    return {
        "EKF": ExtendedKalman(model, **noise),
        "SS-UKF": SigmaPointKalman(model, points=SphericalSimplex(W0), **noise),
    }


def crossings(run: da.Record) -> Array:
    """Times at which crank and rod are in line: θ = π/2 + kπ."""
    angle = run["A.angle"]
    targets = np.arange(np.pi / 2, angle[-1], np.pi)
    return np.interp(targets, angle, run.time)


def figures(estimates: list[Estimate], run: da.Record) -> Figures:
    found = [one.compare(run, settle=SETTLE, channels=list(STATES)) for one in estimates]
    rms = np.sqrt(np.mean([[c.rms[name] ** 2 for name in STATES] for c in found], axis=0))
    return Figures(rms, max(c.largest[STATES[2]] for c in found), float(np.mean([e.seconds for e in estimates])))


def window_means(estimate: Estimate, run: da.Record) -> Array:
    """Mean error of the angle in every window of 5 s [rad]."""
    error = estimate["A.angle"] - run["A.angle"]
    count = round(5.0 / DT)
    return np.array([error[k : k + count].mean() for k in range(0, len(error) - count + 1, count)])


def breakdown(data: da.Record) -> dict[str, tuple[str, da.Record]]:
    """Runs without switching: the error at which each filter stops, and its estimates until then."""
    found = {}
    for name, one in filters(observer(None)).items():
        try:
            one.run(data)
        except da.errors.ConvergenceError as error:
            partial = error.record
            found[name] = (str(error), partial.record if isinstance(partial, Estimate) else partial)
    return found


@dataclass(frozen=True)
class Differenced:
    """The same model with slopes by central differences, also across branches."""

    model: KinematicModel
    step: float


@process.register
def _(model: Differenced, **options: Any) -> Process:
    p = process(model.model, **options)
    x, u, none = ca.MX.sym("x", p.nx), ca.MX.sym("u"), ca.MX.sym("p", 0)
    t, dt, after = ca.MX.sym("t"), ca.MX.sym("dt"), ca.MX.sym("after", p.nx)
    step, retract = p.functions["step"], p.functions["retract"]
    sides = [[step(retract(x, s * e, none, t), u, none, t, dt) for s in (1, -1)] for e in model.step * np.eye(p.ne)]
    slopes = ca.horzcat(*((a - b) / (2 * model.step) for a, b in sides), ca.DM.zeros(p.nx, p.nx - p.ne))
    one = step(x, u, none, t, dt)
    names = ["x", "u", "p", "t", "dt"]
    by = [slopes, ca.jacobian(one, u), ca.DM(p.nx, 0), ca.DM.zeros(p.nx), ca.jacobian(one, dt)]
    jacobian = ca.Function(
        "jac_step", [x, u, none, t, dt, after], [ca.densify(value) for value in by],
        [*names, "out_after"], [f"jac_after_{name}" for name in names],
    )  # fmt: skip
    own = {"custom_jacobian": jacobian, "jac_penalty": 0.0, "never_inline": True}
    differenced = ca.Function("step", [x, u, none, t, dt], [one], names, ["after"], own)
    return replace(p, functions={**p.functions, "step": differenced})


# ---- all runs


@dataclass(frozen=True)
class ObserverResults:
    """Results of all runs, for the report."""

    run: da.Record
    data: da.Record
    crossings: Array
    estimates: dict[float, dict[str, Estimate]]  # by window, of the first seed
    errors: dict[float, dict[str, Figures]]
    smoothed: Figures
    means: dict[str, Array]
    lanczos: Array
    rates: da.Record
    seconds: da.Record
    broken: dict[str, tuple[str, da.Record]]
    schemes: dict[str, Array]
    sweep: dict[str, list[tuple[float, float, float]]]
    slopes: dict[str, list[Array]]  # RMS errors by kind of the EKF's slopes and by seed
    check: str


def investigate() -> ObserverResults:
    step("motion and sensors")
    run = truth()
    records = [read_sensors(run, seed) for seed in SEEDS]
    data = records[0]
    step("both windows")
    errors: dict[float, dict[str, Figures]] = {}
    estimates: dict[float, dict[str, Estimate]] = {}
    for window in (SOURCE_WINDOW, WIDE):
        every = {name: [one.run(r) for r in records] for name, one in filters(observer(window)).items()}
        errors[window] = {name: figures(some, run) for name, some in every.items()}
        estimates[window] = {name: some[0] for name, some in every.items()}
    means = {name: window_means(one, run) for name, one in estimates[SOURCE_WINDOW].items()}
    step("smoother and Lanczos")
    rates, seconds = (lanczos_derivative(data, "encoder", order=k) for k in (1, 2))
    short = data.between(None, 10.0)
    smoothed = figures([smooth(estimates[WIDE]["EKF"])], run)
    rough = _lanczos_errors(rates, seconds, run)
    step("without switching")
    broken = breakdown(data)
    step("schemes")
    schemes = _schemes(data, run)
    step("widths of the window")
    sweep = _sweep(short, run)
    step("slopes")
    return ObserverResults(
        run, data, crossings(run), estimates, errors, smoothed, means, rough, rates, seconds, broken, schemes, sweep,
        _slopes(records, run), observer().check().table(),
    )  # fmt: skip


def _slopes(records: list[da.Record], run: da.Record) -> dict[str, list[Array]]:
    """Errors of sigma points, and of the EKF with exact slopes and with differences."""
    model = observer(WIDE)
    every = filters(model, SMALL_JERK)
    every["EKF, differences"] = ExtendedKalman(Differenced(model, DIFFERENCE), **noise_of(model, SMALL_JERK))
    return {name: [figures([one.run(r)], run).rms for r in records] for name, one in every.items()}


def _lanczos_errors(rates: da.Record, seconds: da.Record, run: da.Record) -> Array:
    found = []
    for record, name in ((rates, "A.rate"), (seconds, "A.acceleration")):
        late = record.time >= SETTLE
        first = round(float(record.time[0]) / DT)
        found.append(rms((record["encoder"] - run[name][first : first + len(record)])[late]))
    return np.array(found)


def _schemes(data: da.Record, run: da.Record) -> dict[str, Array]:
    """RMS errors of the EKF by scheme, and with the accelerometer of the same instant."""
    short = data.between(None, 10.0)
    found = {}
    for label, options in (
        ("1, constraint", {"scheme": 1}),
        ("2, Newmark, γ = 0.5", {"scheme": 2, "gamma": 0.5}),
        ("2, Newmark, γ = 0.6", {"scheme": 2, "gamma": 0.6}),
        ("3, both (as in the source)", {"scheme": 3}),
        ("3, both, Runge-Kutta 4, input held", {"scheme": 3, "method": "rk4"}),
        ("1, input of the same instant, Heun", {"scheme": 1, "use_current": True, "method": "heun"}),
    ):
        model = observer(WIDE, **options)
        found[label] = figures([filters(model)["EKF"].run(short)], run).rms
    return found


def _sweep(data: da.Record, run: da.Record) -> dict[str, list[tuple[float, float, float]]]:
    """(window, speed RMS, acceleration RMS) by filter."""
    found: dict[str, list[tuple[float, float, float]]] = {"EKF": [], "SS-UKF": []}
    for window in (0.02, 0.04, 0.08, 0.2, 0.5):
        for name, one in filters(observer(window)).items():
            rms = figures([one.run(data)], run).rms
            found[name].append((window, float(rms[1]), float(rms[2])))
    return found
