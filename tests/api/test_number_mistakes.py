"""Numbers that no call can use: NaN is refused by name, and a count or time without end at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.linear import StateSpace
from tests.helpers.chains import chain

NAN = float("nan")
CART = StateSpace([[0.0, 1.0], [0.0, 0.0]], [0.0, 1.0], states=["position", "speed"], inputs="push")
SAMPLED = StateSpace([[0.9]], [1.0], [1.0], dt=0.1)
CHAIN = chain(4)
RUN = da.Record([0.0, 1.0, 2.0], np.zeros((3, 1)), ["x"])


@cache
def pendulum() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_sensor("encoder", da.angle("hinge"))
    return da.equations(m)


@cache
def kalman() -> Any:
    return da.estimate.Kalman(SAMPLED, Q=1.0, R=1.0)


@cache
def kalman_bucy() -> Any:
    return da.estimate.ExtendedKalmanBucy(pendulum(), Q=1e-2, R=1e-4, P0=0.1)


def circle() -> Any:
    system = da.symbolic.System("circle")
    x, y = system.coordinates("x y")
    system.add_kinetic(0.5 * (system.rate(x) ** 2 + system.rate(y) ** 2))
    system.constrain(x**2 + y**2 - 1.0)
    return system


def feedback() -> Any:
    return da.control.lqr(CART, Q=1.0, R=1.0)


@cache
def arm() -> da.EquationsOfMotion:
    m = da.Mechanism("arm", planar=True)
    body = m.add_body("arm", mass=2.0, inertia=da.rod(1.0))
    m.add_revolute("shoulder", m.ground.at(0, 0), body.at(-0.5, 0))
    return da.equations(m, coordinates="joint")


def string_under(load: float) -> Any:
    c = da.symbolic.Continuum("string")
    return da.symbolic.field_equation(c, kinetic=0.5 * c.rate**2, potential=0.5 * c.slope**2, load=load)


def free_point() -> Any:
    system = da.symbolic.System("point")
    x = system.coordinate("x", "m")
    system.add_kinetic(0.5 * system.rate(x) ** 2)
    return system


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp())


def body_file() -> Path:
    beam = da.structures.Beam(length=1.0, EI=80.0, rhoA=2.0, left="clamped", right="free")
    file = folder() / "rod.npz"
    da.write_flexible_body(da.structures.flexible_body(beam, name="rod", modes=2), file)
    return file


def modal_file() -> Path:
    file = folder() / "modes.json"
    da.write_modes(CHAIN.modes(), file)
    return file


def record_file() -> Path:
    file = folder() / "run.csv"
    da.write_record(RUN, file)
    return file


NOT_NUMBERS: dict[str, Callable[[float], Any]] = {
    "input_noise without inputs": lambda x: da.estimate.JointInputKalman(
        SAMPLED, unknown="u1", Q=1.0, R=1.0, P0=1.0, input_noise=x
    ),
    "dt of a filter": lambda x: da.estimate.Kalman(da.estimate.process(SAMPLED), Q=1.0, R=1.0, dt=x),
    "t of steady_covariance": lambda x: kalman().steady_covariance(np.zeros(1), np.zeros(1), x, 0.1),
    "dt of steady_covariance": lambda x: kalman().steady_covariance(np.zeros(1), np.zeros(1), 0.0, x),
    "t of linearize": lambda x: kalman().linearize(np.zeros(1), np.zeros(1), x, 0.1),
    "dt of linearize": lambda x: kalman().linearize(np.zeros(1), np.zeros(1), 0.0, x),
    "t of a stepper": lambda x: kalman().stepper(t=x),
    "t of a continuous filter": lambda x: kalman_bucy().steady_covariance(kalman_bucy().start, np.zeros(0), x, None),
    "dt of its initial state": lambda x: kalman_bucy().initial_filter_state(None, None, x),
    "limit of an event": lambda x: da.Event("top", lambda s: s["hinge.rate"], limit=x),
    "start of a stretch": lambda x: RUN.between(x, None),
    "stop of a stretch": lambda x: RUN.between(None, x),
    "restarts": lambda x: da.assemble(pendulum(), restarts=x),
    "switched_on of a feedback": lambda x: feedback().law(switched_on=x),
    "degrees of a band": da.estimate.chi_square_band,
    "count of a band": lambda x: da.estimate.chi_square_band(2, x),
    "tolerance of a rank": lambda x: da.mobility(pendulum(), tolerance=1e-9 * x),
    "prominence of a peak": lambda x: CHAIN.frequency_response([1.0, 2.0, 3.0]).peaks("p1.x", "p1.x", prominence=x),
    "damping of a penalty": lambda x: da.symbolic.penalty(circle(), damping=x),
    "frequency of a penalty": lambda x: da.symbolic.penalty(circle(), frequency=x),
    "centre of a window": lambda x: da.estimate.Window("B.angle", centre=x),
    "period of a window": lambda x: da.estimate.Window("B.angle", period=x),
    "dt of a Riccati equation": lambda x: da.linear.dare(1.0, 1.0, 1.0, 1.0, dt=x),
    "margin of kept modes": lambda x: da.structures.craig_bampton(CHAIN, "p1.x", modes=1, margin=x),
    "angle of a rotation": lambda x: da.rotation(axis=(0, 0, 1), angle=x),
    "part of a rotation vector": lambda x: da.rotation(vector=(0.0, x, 0.0)),
    "pitch of a rotation": lambda x: da.rotation(tait_bryan=(0.0, x, 0.0)),
    "seed of a grid": lambda x: da.sweeps.Grid({"x": [1.0, 2.0]}, seed=x),
    "seed of points": lambda x: da.sweeps.Points({"x": [1.0, 2.0]}, seed=x),
    "load of a continuum": lambda x: string_under(x),
    "gauge of a symmetry": lambda x: da.symbolic.noether(free_point(), {"x": 1.0}, gauge=x),
    "calls of a kernel": lambda x: da.tree.kernel(arm(), "inverse_dynamics", calls=x),
    "length of a manipulability": lambda x: da.tree.manipulability(arm(), da.assemble(arm()), "arm", length=x),
    "size of a body's file": lambda x: da.read_flexible_body(body_file(), max_bytes=10**9 * x),
    "size of a modal file": lambda x: da.read_modes(modal_file(), max_bytes=10**9 * x),
    "size of a record's file": lambda x: da.read_record(record_file(), max_bytes=10**9 * x),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_nan_is_refused_where_a_number_is_needed(name: str) -> None:
    NOT_NUMBERS[name](0.1 if "dt of" in name else 1)
    with pytest.raises(DalembertError):
        NOT_NUMBERS[name](NAN)


WRONG = {"nan": NAN, "-1": -1, "2**70": 2**70, "text": "one", "list": [], "10**400": 10**400}
LARGE = ("2**70", "10**400")  # legal where no time or memory follows them
CLAMPED = da.structures.Beam(length=1.0, EI=80.0, rhoA=2.0, left="clamped", right="free")
BAR = da.structures.Bar(length=1.0, EA=1.0, rhoA=1.0)
NUMBERS: dict[str, tuple[float, Callable[[Any], Any], tuple[str, ...]]] = {
    "degree of stability": (1, lambda x: da.control.lqr(SAMPLED, Q=1.0, R=1.0, degree=x), ()),
    "seed of a workspace": (1, lambda x: da.tree.workspace(arm(), "arm", samples=2, seed=x), LARGE),
    "seed of base parameters": (1, lambda x: da.tree.base_parameters(arm(), seed=x), LARGE),
    "seed of a search": (1, lambda x: da.tree.inverse_kinematics(arm(), {"arm": [0.5, 0, 0]}, seed=x), LARGE),
    "samples of a motion": (
        9,
        lambda x: da.estimate.local_observability(
            pendulum(), outputs="encoder", along=da.assemble(pendulum()), dt=0.01, samples=x
        ),
        (),
    ),
    "states of sigma points": (2, lambda x: da.estimate.Scaled().points(x), ()),
    "draws of a noise": (3, lambda x: da.Noise(process={"x": 1.0}, seed=1).draws("x", x), ()),
    "modes of a beam": (2, CLAMPED.modes, ()),
    "frequencies of a bar": (2, BAR.frequencies, ()),
    "coordinates of a beam": (2, CLAMPED.system, ()),
    "damping of a beam": (0.1, lambda x: CLAMPED.system(2, damping=x), ("2**70",)),
    "pulses of a model": (3, SAMPLED.markov, ()),
    "Poisson's ratio": (0.3, lambda x: da.structures.Section.circle(0.1, poisson=x), ()),
    "size of a file": (10**9, lambda x: da.read_modes(modal_file(), max_bytes=x), LARGE),
    "time of a record": (1, RUN.at, ()),
    "step of a record": (1, lambda x: RUN.resample(every=x), ("2**70",)),
    "number of a mode": (1, lambda x: CHAIN.modes().select(x), ("list",)),
    "derivatives of a field": (1, lambda x: da.symbolic.Continuum("string").field(x), ()),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_any_nonsense_in_place_of_a_number_is_refused(name: str) -> None:
    valid, call, legal = NUMBERS[name]
    call(valid)
    for key, wrong in WRONG.items():
        if key not in legal:
            with pytest.raises(DalembertError):
                call(wrong)


@cache
def measured() -> tuple[da.Record, Any]:
    """A record of an oscillator under noise, and its model."""
    force, time = np.random.default_rng(1).standard_normal(600), 0.05 * np.arange(600)
    truth = da.SecondOrder([[1.0]], [[40.0]], C=[[0.4]], B=[1.0], coordinates="x", inputs="force")
    run = truth.response(da.Record.from_channels(time, {"force": force}), hold="zero")
    record = da.Record.from_channels(time, {"force": force, "x": run["x"] + 1e-3 * np.cos(70.0 * time**2)})
    return record, da.identify.okid_era(record, inputs="force", outputs="x", order=2)


def structured() -> Any:
    known = da.SecondOrder([[1.0]], [[0.0]], C=[[0.4]], B=[1.0], coordinates="x", inputs="force")
    return da.identify.StructuredModel(known, [da.identify.Unknown("k", 41.0, K=[[1.0]])])


IDENTIFIED: dict[str, tuple[float, Callable[[da.Record, Any, Any], Any]]] = {
    "order of auto": (2, lambda r, fit, x: da.identify.auto(r, "force", "x", order=x, refined=False)),
    "dt of a bound": (0.05, lambda r, fit, x: da.identify.cramer_rao(fit, np.array(r["force"]), [1e-6], dt=x)),
    "dt of a delay": (0.05, lambda r, fit, x: da.identify.delay(r["x"], r["x"], x)),
    "tolerance of pulses": (1e-9, lambda r, fit, x: da.identify.markov(r, 20, "force", "x", tolerance=x)),
    "iterations of a refinement": (2, lambda r, fit, x: da.identify.refine(fit, r, iterations=x)),
    "iterations of a structure": (
        9, lambda r, fit, x: da.identify.refine_structured(structured(), None, r, iterations=x)
    ),
    "window of a repair": (15, lambda r, fit, x: da.identify.repair(r, window=x)),
    "threshold of a short repair": (6, lambda r, fit, x: da.identify.repair(r.between(0.0, 0.3), threshold=x)),
    "largest order": (6, lambda r, fit, x: da.identify.suggest_order(r, "force", "x", most=x)),
    "seed of an excitation": (1, lambda r, fit, x: da.identify.excitation(arm(), 2.0, starts=1, iterations=1, seed=x)),
}  # fmt: skip


@pytest.mark.parametrize("name", IDENTIFIED)
@pytest.mark.filterwarnings("ignore::dalembert.identify.IdentificationWarning")
def test_nan_is_refused_in_arguments_of_identification(name: str) -> None:
    valid, call = IDENTIFIED[name]
    record, model = measured()
    call(record, model, valid)
    with pytest.raises(DalembertError):
        call(record, model, NAN)


ENDLESS: dict[str, Callable[[], Any]] = {
    "horizon of a continuous loop": lambda: da.control.lqr(CART, Q=1.0, R=1.0, horizon=1e300),
    "horizon as a large count": lambda: da.control.lqr(CART, Q=1.0, R=1.0, horizon=2**70),
    "horizon of a sampled loop": lambda: da.control.lqr(SAMPLED, Q=1.0, R=1.0, horizon=1e300),
    "horizon in samples": lambda: da.control.plan_motion(SAMPLED, [1.0], horizon=0.1 * 2**70),
    "steps of a plan": lambda: da.control.plan_motion(CART, [1.0, 0.0], horizon=1.0, steps=2**70),
    "starts of an excitation": lambda: da.identify.excitation(arm(), 5.0, starts=2**70),
    "steps of a filter": lambda: da.estimate.ExtendedKalman(pendulum(), Q=1.0, R=1.0, dt=0.01, steps=2**70),
    "newton_steps of a filter": lambda: da.estimate.machine_process(pendulum(), newton_steps=2**70),
    "restarts of an assembly": lambda: da.assemble(pendulum(), restarts=2**70),
    "iterations of a reduction": lambda: da.structures.irs(CHAIN, ["p1.x"], iterations=2**70),
    "blocks of powers": lambda: da.linear.controllability_matrix(SAMPLED, 2**70),
    "numbers beyond floats": lambda: da.control.lqr(CART, Q=1.0, R=1.0, horizon=10**400),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_never_end_is_refused_at_once(name: str) -> None:
    with pytest.raises(DalembertError) as caught:
        ENDLESS[name]()
    assert caught.value.code in ("out-of-range", "too-large")


def test_derivatives_without_end_are_refused() -> None:
    system = da.symbolic.System("bead")
    x = system.coordinate("x", "m")
    system.rate(x, times=3)
    with pytest.raises(DalembertError):
        system.rate(x, times=2**70)
    with pytest.raises(DalembertError):
        da.symbolic.nielsen(system, order=2**70)


def test_a_long_horizon_gives_the_gain_of_the_infinite_one() -> None:
    """Just inside the limit: 1e14 times the shortest time of the loop."""
    infinite = da.control.lqr(CART, Q=1.0, R=1.0)
    np.testing.assert_allclose(da.control.lqr(CART, Q=1.0, R=1.0, horizon=1e9).K, infinite.K, rtol=1e-9)


def hand_written(**wrong: Any) -> Any:
    q = pendulum().coordinates
    return da.EquationsOfMotion(**{"name": "m", "functions": {}, "coordinates": q, "speeds": q, **wrong})


def levelled(**options: Any) -> Any:
    return da.tree.inverse_kinematics(arm(), {"arm": [0.5, 0.0, 0.0]}, **options)


def strip(**options: Any) -> Any:
    frame = da.structures.Frame("strip", planar=True)
    frame.add_points(["root", "tip"], [[0, 0], [0.5, 0]])
    frame.add_beam("strip", "root", "tip", section=da.structures.Section.rectangle(0.004, 0.03), material="steel")
    return da.structures.flexible_body(frame, **{"fixed": "root", "modes": 1, **options})


def block(**sets: Any) -> Any:
    made = da.structures.box_mesh((1.0, 1.0, 1.0), (1, 1, 1))
    return made.replace(**sets)


def softer(**options: Any) -> Any:
    build = lambda k: da.SecondOrder([[1.0]], [[k]], coordinates="x")  # noqa: E731
    return da.identify.update(build, build(2.0).modes(), {"k": 1.5}, progress=False, **options)


# in place of names, a mapping, a path, an object of ours
NO_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "equations of a gain": lambda x: da.tree.manipulability(x, None, "arm"),
    "joints of a manipulability": lambda x: da.tree.manipulability(arm(), arm().state(), "arm", joints=x),
    "place of a closed form": lambda x: da.tree.closed_form(arm(), arm().state(), tip=x),
    "place of a compliance": lambda x: da.tree.compliance(arm(), arm().state(), x),
    "weights of a search": lambda x: levelled(weights=x),
    "rates of a path": lambda x: da.tree.quintic(arm(), {"shoulder": [0.0, 1.0]}, 1.0, rates=x),
    "equations of efforts": lambda x: da.tree.inverse_dynamics(x, None),
    "coordinates of efforts": lambda x: da.equilibrium(pendulum(), efforts=x),
    "start of a motion": lambda x: da.kinematics(pendulum(), 1.0, start=x),
    "independent speeds": lambda x: da.mobility(pendulum(), independent=x),
    "inputs of a servo": lambda x: da.control.computed_torque(
        pendulum(), {"hinge.angle": 0.0}, frequency=9.0, actuated=x
    ),
    "drives of a law": lambda x: da.control.custom_law("law", lambda s: s["hinge.angle"], x, dt=0.1),
    "units of a law": lambda x: da.control.custom_law("law", lambda s: s["hinge.angle"], "u", dt=0.1, units=x),
    "input of a PID": lambda x: da.control.pid(1.0, drives=x),
    "inputs of a cascade": lambda x: da.control.cascade(
        arm(), {"shoulder.angle": 0.0}, drives=x, position=1.0, velocity=1.0
    ),
    "ranges of parameters": lambda x: da.linear.fit_uncertain(lambda p: CART, x),
    "points of a body": lambda x: da.Mechanism("m").add_body("b", mass=1.0, points=x),
    "mechanism of a URDF file": lambda x: da.write_urdf(x, folder() / "arm.urdf"),
    "path of a record": lambda x: da.read_record(x),
    "path of a body": lambda x: da.read_flexible_body(x),
    "parts of a file": lambda x: da.read_flexible_body(body_file(), without=x),
    "path of a module": lambda x: da.export_python(pendulum(), x),
    "path of a page": lambda x: da.animate(pendulum().state(), x),
    "channels of a page": lambda x: da.animate(pendulum().state(), channels=x),
    "names of a record": lambda x: da.Record([0.0], [[0.0]], x),
    "units of a record": lambda x: da.Record([0.0], [[0.0]], ["x"], units=x),
    "scene of a record": lambda x: da.Record([0.0], [[0.0]], ["x"], scene=x),
    "channels of a derivative": lambda x: da.estimate.lanczos_derivative(RUN, x),
    "inputs of a filter": lambda x: da.estimate.Kalman(SAMPLED, Q=1.0, R=1.0, inputs=x),
    "outputs of a filter": lambda x: da.estimate.ExtendedKalman(pendulum(), Q=1.0, R=1.0, dt=0.1, outputs=x),
    "candidates for sensors": lambda x: da.estimate.local_observability(
        pendulum(), outputs="encoder", along=da.assemble(pendulum()), dt=0.01, samples=9, candidates=x
    ),
    "states of a model": lambda x: da.estimate.UserModel(lambda x, u: x, lambda x: x, states=x, outputs=["y"]),
    "channels of equations": lambda x: hand_written(coordinates=x),
    "functions of equations": lambda x: hand_written(functions=x),
    "held nodes": lambda x: strip(fixed=x),
    "static shapes": lambda x: strip(static=x),
    "loads that stiffen": lambda x: strip(stiffening=x),
    "node of a frame": lambda x: strip(reference=x),
    "damping of a body": lambda x: strip(damping=["a", x]),
    "section of a beam": lambda x: da.structures.Beam(length=1.0, section=x, material="steel"),
    "loads of a beam": lambda x: CLAMPED.system(1, distributed=x),
    "sets of a mesh": lambda x: block(point_sets=x),
    "directions of a support": lambda x: da.structures.Solid("b", block(), "steel").add_support([0], x),
    "axes of a material": lambda x: da.structures.OrthotropicMaterial("m", 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, axes=x),
    "system of a derivation": lambda x: da.symbolic.lagrange(x),
    "planar model": lambda x: da.symbolic.to_system(x),
    "names of symbols": lambda x: da.symbolic.to_sympy(1.0, symbols=x),
    "parts of an assembly": lambda x: da.symbolic.modular.Assembly("pair", x),
    "known inputs beside unknown ones": lambda x: da.estimate.JointInputKalman(
        SAMPLED, unknown="u1", Q=1.0, R=1.0, P0=1.0, inputs=x
    ),
    "data of a deformation": lambda x: da.structures.recover_deformation(block(), x, [0.0]),
    "accelerations of efforts": lambda x: da.tree.inverse_dynamics(arm(), arm().state(), x),
    "bounds of an update": lambda x: softer(bounds=x),
    "deviations of an update": lambda x: softer(deviations=x),
    "unknowns of a model": lambda x: da.identify.StructuredModel(CHAIN, x),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_a_number_or_any_object_in_place_of_names_is_refused(name: str) -> None:
    for wrong in (3.0, object()):
        with pytest.raises(DalembertError):
            NO_NUMBERS[name](wrong)


def test_whole_numbers_beyond_floats_are_numbers_too_large() -> None:
    """2**70 is a legal number of bits and a legal deviation; 10**400 is neither."""
    assert da.estimate.Accelerometer(1e-2, bits=2**70).resolution == 0.0
    assert da.estimate.Encoder(16, noise=2**70).deviation == float(2**70)
    for wrong in (lambda: da.estimate.Accelerometer(1e-2, bits=10**400), lambda: da.Noise(sensors={"y": 10**400})):
        with pytest.raises(DalembertError):
            wrong()
