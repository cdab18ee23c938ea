"""Full messages of the errors and warnings that users meet most; all other tests compare codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert import identify
from dalembert.core.errors import DalembertError, DalembertWarning
from dalembert.files.models import parse_model
from tests.helpers.robot_arms import two_links
from tests.helpers.storey_frame import FLOORS, played, pulse, sampled_frame, white

FRAME = sampled_frame()


def record(samples: int = 512) -> da.Record:
    return played(FRAME, white(samples, seed=3), noise=0.01, seed=3)


def changed(**columns: Any) -> da.Record:
    """The record with some channels replaced."""
    test = record()
    channels = {name: columns.get(name, test[name]) for name in test.names}
    return da.Record.from_channels(test.time, channels)


def with_gap() -> Any:
    a1 = record()["a1"].copy()
    a1[[100, 101]] = np.nan
    return a1


def late() -> da.Record:
    """Channel a1 two samples late."""
    test = record(2048)
    data = test.data.copy()
    data[2:, 1] = data[:-2, 1]
    return da.Record(test.time[2:], data[2:], test.names)


def arm() -> da.Mechanism:
    m = da.Mechanism("arm", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    return m


def checked(add: Callable[[da.Mechanism], Any]) -> None:
    m = arm()
    add(m)
    m.validate()


CART = da.StateSpace([[0, 1], [0, 0]], [0, 1], [1, 0], states=["position", "speed"], inputs="push", outputs="seen")
PENDULUM = da.estimate.UserModel(
    lambda x, u: [x[1], -9.81 * da.sin(x[0])], lambda x: [x[0]], states=["angle", "speed"], outputs=["encoder"]
)


def identified(torque: float | None, size: float = 1.0) -> None:
    """The arm on a motor, with a record of a sine and its torque times a factor."""
    m = arm()
    m.add_actuator("motor", "hinge", input="torque")
    eqs = da.equations(m, coordinates="joint")
    t = np.arange(0.0, 4.0, 0.02)
    q, v, a = (size * x for x in (np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)))
    channels = {"hinge.angle": q, "hinge.rate": v, "hinge.acceleration": a}
    if torque is not None:
        channels["torque"] = torque * da.tree.inverse_dynamics(eqs, (q[:, None], v[:, None]), a[:, None])[:, 0]
    da.identify.robot(eqs, da.Record.from_channels(t, channels), friction=())


def cart_filter() -> Any:
    return da.estimate.Kalman(CART, Q=1e-4, R=1e-4, P0=1.0, dt=0.1)


def driven(motion: Callable[[Any], Any]) -> da.Mechanism:
    m = arm()
    m.add_driver("turn", "hinge", motion)
    return m


def jointed(kind: str, **options: Any) -> None:
    m = arm()
    m.add_joint(kind, "A", m.ground, m["rod"], **options)


HINGE = 'planar = true\n[bodies.rod]\nmass = 1\ninertia = 1\n[joints.A]\ntype = "revolute"\na = "ground"\nb = "rod"\n'


def portal() -> da.structures.Frame:
    f = da.structures.Frame("portal", planar=True)
    f.add_points(["A", "B"], [[0, 0], [0, 3]])
    f.add_beam("column", "A", "B", section=da.structures.Section.rectangle(0.1, 0.1), material="steel")
    f.add_force("push", "B", (1000, 0))
    f.add_support("A", "fixed")
    return f


def mistyped_bar() -> Any:
    f = portal()
    f.add_bar("brace", "A", "C", section=da.structures.Section.circle(0.02), material="steal")
    return da.structures.assemble_structure(f)


MESSAGES: dict[str, tuple[str, Callable[[], Any], str]] = {
    "a target out of reach": (
        "out-of-reach",
        lambda: da.tree.inverse_kinematics(two_links(lower=0.5, upper=2.0), {"hand.tip": (1.99, 0.0)}),
        "'hand.tip' of 'two links' stays 0.0522 m from its target; 'elbow.angle' is at its lower limit. Check the "
        "limits, or leave them out with limits=False. Take the nearest pose with nearest=True. Begin elsewhere with "
        "start=.",
    ),
    "a frame instead of its structure": (
        "wrong-type",
        lambda: da.structures.solve_static(portal(), "push"),  # type: ignore[arg-type]
        "solve_static needs a Structure, got Frame. Use da.structures.assemble_structure(...).",
    ),
    "two mistakes in a frame": (
        "several-problems",
        mistyped_bar,
        "2 problems in frame 'portal':\n"
        "  - bar 'brace': no point named 'C' in frame 'portal'. Known: A, B.\n"
        "  - bar 'brace': no material named 'steal' in the library. Did you mean 'steel'? Known: ABS, acrylic, "
        "aluminium, brass, bronze, cast iron, concrete, copper, glass, magnesium, nylon, spruce, stainless steel, "
        "steel, titanium, tungsten. Or make one with da.structures.Material(...).",
    ),
    "a method of integration by its name": (
        "wrong-type",
        lambda: da.simulate(da.equations(arm()), 1.0, method="RK4"),  # type: ignore[arg-type]
        "method must be a method of integration, got 'RK4'. Take method=da.DormandPrince(...), "
        "method=da.GeneralizedAlpha(...), method=da.RK4(...), method=da.Rosenbrock(...) or method=da.Sundials(...).",
    ),
    "the stem of several channels": (
        "stem-of-names",
        lambda: da.Record([0.0], [[1.0, 2.0]], ["hinge.angle", "hinge.rate"], name="arm")["hinge"],
        "'hinge' is neither a channel nor a vector of record 'arm', but the stem of hinge.angle, hinge.rate. Take one "
        "of them, or all with Record.select(...).",
    ),
    "a step of no length": (
        "not-positive",
        lambda: da.RK4(step=0.0),
        "step must be a positive number, got 0.0.",
    ),
    "a kind of joint that does not exist": (
        "unknown-name",
        lambda: jointed("revolut"),
        "no joint kind named 'revolut'. Did you mean 'revolute'? Known: cylindrical, fixed, free, massless rod, pin in "
        "slot, planar, point on curve, point on line, point on plane, prismatic, revolute, rolling discs, "
        "rolling sphere, rolling wheel, screw, spherical, universal.",
    ),
    "a joint without a place": (
        "missing-argument",
        lambda: jointed("revolute"),
        "revolute joint 'A' joins bodies, and its place is not given. Give points or the place in the drawing: "
        "body.at(...) or at=.",
    ),
    "an axis of a planar hinge": (
        "ineffective-argument",
        lambda: jointed("revolute", at=(0, 0), axis=(0, 0, 1)),
        "revolute joint 'A': in the plane every angle is about z. Leave out axis=.",
    ),
    "the same in a file": (
        "ineffective-argument",
        lambda: parse_model(HINGE + "axis = [1, 0]\n", name="arm.toml"),
        "arm.toml:5: revolute joint 'A': in the plane every angle is about z. Leave out axis.",
    ),
    "a rod of no length": (
        "not-positive",
        lambda: jointed("massless rod", length=0),
        "length of massless rod joint 'A' must be a positive number, got 0. For the length 0 use a revolute or "
        "spherical joint.",
    ),
    "a misspelt key of a file": (
        "unknown-argument",
        lambda: parse_model(HINGE.replace("revolute", "prismatic") + "axs = [1, 0]\n", name="arm.toml"),
        "arm.toml:9: no key named 'axs' in joints.A. Did you mean 'axis'? Known: a, at, axis, axis_b, b, limits, type.",
    ),
    "several problems at once": (
        "several-problems",
        lambda: checked(lambda m: (m.add_body("rod", mass=-1.0), m.add_driver("turn", "hing", 0.0))),
        "4 problems in mechanism 'arm':\n"
        "  - name 'rod' is used 2 times in mechanism 'arm' (body and body); names must differ.\n"
        "  - body 'rod': mass is negative (-1 kg).\n"
        "  - driver 'turn': no joint or coordinate named 'hing' in mechanism 'arm'. Did you mean 'hinge'? Known: "
        "hinge, hinge.angle, rod.angle, rod.x, rod.y.\n"
        "  - body 'rod' is connected to nothing.",
    ),
    "a motion with a branch": (
        "branch-on-symbol",
        lambda: da.equations(driven(lambda t: 1.0 if t > 0 else 0.0)),
        "motion of driver 'turn' branches on a symbol. It is called once with symbolic arguments. Use da.where(...) "
        "instead of `if`, `min` or `max`.",
    ),
    "a torque on a joint": (
        "wrong-type",
        lambda: arm().add_torque("motor", "hinge", 1.0),  # type: ignore[arg-type]
        "torque 'motor': expected a body, got 'hinge'. For a joint use m.add_actuator(joint='hinge').",
    ),
    "a stop without its stiffness": (
        "missing-argument",
        lambda: arm().add_stop("end", "hinge", upper=1.0),  # type: ignore[call-arg]
        "stop 'end' needs stiffness: beyond a limit: N/m, or N m/rad of an angle.",
    ),
    "an actuator of an unknown joint": (
        "unknown-name",
        lambda: checked(lambda m: m.add_actuator("motor", joint="hing", input="torque")),
        "actuator 'motor': no joint or coordinate named 'hing' in mechanism 'arm'. Did you mean 'hinge'? "
        "Known: hinge, hinge.angle, rod.angle, rod.x, rod.y.",
    ),
    "a displacement of a hinge": (
        "unit-mismatch",
        lambda: checked(lambda m: m.add_sensor("place", da.displacement("hinge"))),
        "sensor 'place': 'hinge.angle' is an angle [rad]. Use da.angle(...) or da.rate(...), or name another "
        "coordinate.",
    ),
    "a sensor that is no measure": (
        "wrong-type",
        lambda: arm().add_sensor("encoder", "hinge"),
        "sensor 'encoder': expected a measure, got 'hinge'. Measures are made by da.angle(...) or da.position(...).",
    ),
    "fewer rows than the order needs": (
        "order-too-high",
        lambda: identify.moesp(record(), "force", FLOORS, order=6, rows=2),
        "2 block rows of 3 outputs hold models up to order 3, not 6. Use rows=4 or more.",
    ),
    "an observer that is too short": (
        "order-too-high",
        lambda: identify.okid(record(), "force", observer_order=1, order=6),
        "an observer of order 1 with 3 outputs finds at most order 3. Use observer_order=2 or more.",
    ),
    "an array without sample time": (
        "missing-argument",
        lambda: identify.era(FRAME.markov(40), order=6),
        "an array of Markov parameters has no sample time. Give dt= in seconds.",
    ),
    "an impact at the beginning": (
        "lost-input",
        lambda: identify.okid(played(FRAME, pulse(400)), "force", observer_order=2),
        "100 % of the energy of input 'force' lies within the first 2 samples, which serve as past only. If the "
        "machine was at rest before the record, use start='rest'.",
    ),
    "no clear order": (
        "unclear-order",
        lambda: identify.era(np.random.default_rng(0).standard_normal((60, 1, 1)), dt=1.0),
        "the singular values show no clear gap (largest 1.2, after 13): order 13 is uncertain. Give order=. Look at "
        "da.identify.stabilization(...).",
    ),
    "a choice that does not exist": (
        "unknown-choice",
        lambda: identify.refine(FRAME, record(), noise="pink"),
        "noise must be 'output' or 'innovations', not 'pink'.",
    ),
    "no standard deviations": (
        "missing-argument",
        lambda: identify.intervals(identify.Identified(FRAME, method="given")),
        "this model has no standard deviations. Use da.identify.refine(...) or da.identify.deviations(...) first.",
    ),
    "no input": (
        "missing-argument",
        lambda: identify.moesp(record(), (), FLOORS),
        "moesp needs at least one input channel. Name it with inputs=. For records of outputs only use "
        "da.identify.ssi_data(...) or da.identify.next_era(...).",
    ),
    "a dead sensor": (
        "constant-channel",
        lambda: identify.moesp(changed(a2=4.2), "force", order=6),
        "channel 'a2' is constant (4.2) and shows no motion (a dead or unplugged sensor?). Leave it out.",
    ),
    "missing samples": (
        "not-finite",
        lambda: identify.moesp(changed(a1=with_gap()), "force", order=6),
        "channel 'a1' of the record has 2 samples that are not finite (gaps), the first at t = 3.125 s. Fill short "
        "gaps with da.identify.repair(...). Cut long ones out with da.identify.trim(...).",
    ),
    "records of two rates": (
        "sample-time-mismatch",
        lambda: identify.moesp([record(), da.Record(2.0 * record().time, record().data, record().names)], "force"),
        "record 2 is sampled every 0.0625 s, record 1 every 0.03125 s. Bring them to one rate first: "
        "Record.resample(every=0.0625) or da.identify.decimate(...).",
    ),
    "an offset": (
        "offset",
        lambda: identify.read_data(changed(a1=9.81 + 0.01 * record()["a1"] / record()["a1"].std()), "force"),
        "output 'a1' has a mean of 9.81 and a standard deviation of 0.01: the offset hides the motion. Use "
        "detrend='mean'.",
    ),
    "a channel given twice": (
        "dependent-channels",
        lambda: identify.read_data(changed(a2=2.0 * record()["a1"]), "force"),
        "outputs a1, a2 are linearly dependent: they add no information, or there are more outputs than the order of "
        "the system allows.",
    ),
    "no force": (
        "no-force",
        lambda: identify.physical(identify.Identified(da.StateSpace(FRAME.A, C=FRAME.C, dt=FRAME.dt), method="given")),
        "a model without inputs (ambient or free-decay data) determines shapes but not masses: no M, C, K. Measure a "
        "force. Or update a model of known mass with da.identify.update(...).",
    ),
    "a record of another rate than the model": (
        "sample-time-mismatch",
        lambda: identify.Identified(FRAME, method="given").simulate(
            da.Record(2.0 * record().time, record().data, record().names)
        ),
        "the record is sampled every 0.0625 s, the model every 0.03125 s. Use Record.resample(every=0.03125) or "
        "StateSpace.resample(dt=0.0625).",
    ),
    "a channel that is late": (
        "not-synchronous",
        lambda: identify.moesp(late(), "force", order=6),
        "channels are not synchronous: output a1 seems to be about 2 samples late against the inputs (with this shift "
        "a model of the same order leaves 8 % or less of its residual). Damping may be far off. Where waves truly take "
        "that time, raise the order. Compare the clocks with da.identify.delay(...) or da.identify.synchronise(...). "
        "Then use da.identify.shift(delays={'a1': 0.0625}).",
    ),
    "a filter without Q": (
        "missing-argument",
        lambda: da.estimate.Kalman(CART, R=1e-4, dt=0.1),
        "Q is missing: the variance a step adds to every state. For an exact model use Q=0.",
    ),
    "a record that lacks an input of a filter": (
        "missing-channel",
        lambda: cart_filter().run(da.Record.from_channels([0.0, 0.1], {"seen": 0.0})),
        "the record lacks the input 'push' of the filter: no channel named 'push' in the record. Known: seen. "
        "Name the known inputs in inputs=.",
    ),
    "a record with another sample time": (
        "sample-time-mismatch",
        lambda: cart_filter().run(da.Record.from_channels([0.0, 0.2, 0.4], {"push": 0.0, "seen": 0.0})),
        "the record is sampled every 0.2 s, the filter is made for 0.1 s. Make the filter with dt=0.2 and Q for that "
        "(a sampled model is resampled first). Or use record.resample(every=0.1).",
    ),
    "a nonlinear model for the Kalman filter": (
        "not-linear",
        lambda: da.estimate.Kalman(PENDULUM, Q=1e-6, R=1e-4, dt=0.01),
        "'model' is not linear. Use da.estimate.ExtendedKalman(...) or da.estimate.SigmaPointKalman(...), or linearise "
        "the model.",
    ),
    "a mechanism where equations are needed": (
        "wrong-type",
        lambda: da.assemble(arm()),  # type: ignore[arg-type]
        "expected equations of motion, got Mechanism Mechanism('arm', planar, 1 bodies, 1 joints, 0 forces, 0 sensors)"
        ". Make equations of the mechanism: da.equations(...).",
    ),
    "a coordinate by a wrong name": (
        "unknown-name",
        lambda: da.assemble(da.equations(arm()), {"hing.angle": 0.3}),
        "position: no coordinate named 'hing.angle' in equations 'arm'. Did you mean 'hinge.angle'? Known: hinge.angle,"
        " rod.angle, rod.x, rod.y.",
    ),
    "a start that does not close a joint": (
        "joint-open",
        lambda: da.simulate(da.equations(arm()), 1.0, start=da.equations(arm()).state([1.0, 0.0, 0.0])),
        "the start does not close 'hinge' (gap 5.00e-01). Make it with da.assemble(...).",
    ),
    "a controller that is none": (
        "wrong-type",
        lambda: da.simulate(da.equations(arm()), 1.0, controller=3.0),
        "a controller must be a Law, have a method law() that returns one, or be a list of such; got float.",
    ),
    "a robot without a record of its torque": (
        "missing-channel",
        lambda: identified(torque=None),
        "the record has no channel 'torque', the effort of a joint. Known: hinge.acceleration, hinge.angle, hinge.rate."
        " Name the channels, and joints without one are left out: inputs=.",
    ),
    "a torque of the wrong sign": (
        "wrong-sign",
        lambda: identified(torque=-1.0),
        "the torque 'torque' is opposed to that of the drawing (correlation -1.00): its sign, or that of joint 'hinge',"
        " seems wrong. Change the sign of the channel, or of the axis of the joint.",
    ),
    "a joint that rests while a robot is identified": (
        "no-motion",
        lambda: identified(torque=1.0, size=0.0),
        "joints that do not move: hinge. Their friction stays as drawn; so do parameters of the bodies beyond that "
        "only their motion shows. Move all joints, such as by da.identify.excitation(...).",
    ),
    "a record without a picture": (
        "no-scene",
        lambda: da.animate(da.Record([0.0, 1.0], [[0.0], [1.0]], ["force"])),
        "this record has no scene to draw: it was measured, or read from CSV, or its equations have none. Give the "
        "mechanism that it is a run of: structure=. Files of netCDF and Parquet keep the scene of a run.",
    ),
}


@pytest.mark.parametrize(("code", "provoke", "message"), MESSAGES.values(), ids=MESSAGES)
def test_messages_are_complete_sentences_with_advice(code: str, provoke: Callable[[], Any], message: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            provoke()
        except DalembertError as error:
            found = [error]
        else:
            found = [one.message for one in caught if isinstance(one.message, DalembertWarning)]
    assert [str(one) for one in found if one.code == code] == [message]
