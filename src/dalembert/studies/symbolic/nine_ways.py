"""Eight systems by nine formalisms: the same accelerations, and those of the same machine as a Mechanism.

Every system is given in minimal coordinates where it has any, and in redundant ones with constraint rows. At random
states each formalism gives the accelerations of all bodies, solved in its own way; all must agree to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import matplotlib as mpl
import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.equations import HOLONOMIC
from dalembert.studies.runner import Outcome
from dalembert.symbolic import Derivation, System
from dalembert.symbolic.motion import in_rates
from dalembert.view.plots.figures import INK, STYLE, new_figure
from dalembert.view.reports.pages import Picture, Piece, Table, Text

G = 9.81
STATES = 5
State = tuple[dict[str, float], dict[str, float]]
"""Coordinates and rates."""
STEPS = {"derive and compare": 12.0}
FORMALISMS: dict[str, Callable[[System], Derivation]] = {
    "newton-euler": da.symbolic.newton_euler, "lagrange": da.symbolic.lagrange,
    "lagrange-multipliers": da.symbolic.lagrange_multipliers, "hamilton": da.symbolic.hamilton,
    "gibbs-appell": da.symbolic.gibbs_appell, "kane": da.symbolic.kane, "maggi": da.symbolic.maggi,
    "boltzmann-hamel": da.symbolic.boltzmann_hamel, "udwadia-kalaba": da.symbolic.udwadia_kalaba,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One system: in minimal and in redundant coordinates, and as a machine.

    minimal : None where rows at velocity level leave no minimal coordinates.
    embedding : redundant coordinates as expressions of the minimal ones.
    centre, spread : coordinates around which states are drawn, and how far.
    """

    title: str
    redundant: System
    mechanism: da.Mechanism
    minimal: System | None = None
    embedding: Mapping[str, Any] = field(default_factory=dict)
    centre: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.3

    @property
    def base(self) -> System:
        """The system whose coordinates states are drawn in."""
        return self.redundant if self.minimal is None else self.minimal

    def variants(self) -> dict[str, System]:
        """By the kind of coordinates."""
        both = {"minimal": self.minimal, "redundant": self.redundant}
        return {name: system for name, system in both.items() if system is not None}

    def takes(self, formalism: str, system: System) -> bool:
        """Whether a formalism has this form of the system in its domain."""
        holonomic = all(row.level == HOLONOMIC for row in system.constraints)
        if formalism == "lagrange":
            return not system.constraints
        if formalism == "lagrange-multipliers":
            return bool(system.constraints)
        return holonomic or formalism != "hamilton"


# -- the systems -------------------------------------------------------------------------------------------------------


def double_pendulum() -> Case:
    l1, l2, m1, m2 = 0.8, 0.6, 1.2, 0.7
    minimal = System("double pendulum", gravity=(0, -G))
    a, b = minimal.coordinates("a b", "rad")
    elbow = (l1 * da.cos(a), l1 * da.sin(a))
    middle = (elbow[0] + l2 / 2 * da.cos(b), elbow[1] + l2 / 2 * da.sin(b))
    minimal.add_body("one", m1, m1 * l1**2 / 12, (l1 / 2 * da.cos(a), l1 / 2 * da.sin(a)), angle=a)
    minimal.add_body("two", m2, m2 * l2**2 / 12, middle, angle=b)
    s = System("double pendulum", gravity=(0, -G))
    x1, y1, x2, y2 = s.coordinates("x1 y1 x2 y2", "m")
    a1, a2 = s.coordinates("a1 a2", "rad")
    s.add_body("one", m1, m1 * l1**2 / 12, (x1, y1), angle=a1)
    s.add_body("two", m2, m2 * l2**2 / 12, (x2, y2), angle=a2)
    half, other = (l1 / 2 * da.cos(a1), l1 / 2 * da.sin(a1)), (l2 / 2 * da.cos(a2), l2 / 2 * da.sin(a2))
    s.constrain((x1 - half[0], y1 - half[1]), "A")
    s.constrain((x1 + half[0] - x2 + other[0], y1 + half[1] - y2 + other[1]), "B")
    m = da.Mechanism("double pendulum", planar=True)
    one, two = m.add_body("one", mass=m1, inertia=da.rod(l1)), m.add_body("two", mass=m2, inertia=da.rod(l2))
    m.add_revolute("A", m.ground.at(0, 0), one.at(-l1 / 2, 0))
    m.add_revolute("B", one.at(l1 / 2, 0), two.at(-l2 / 2, 0))
    places = {"x1": l1 / 2 * da.cos(a), "y1": l1 / 2 * da.sin(a), "a1": a, "x2": middle[0], "y2": middle[1], "a2": b}
    return Case("double pendulum", s, m, minimal, places)


def bead_on_a_wire() -> Case:
    mass, bend = 0.4, 1.7  # y = bend x²
    minimal = System("bead on a wire", gravity=(0, -G))
    x = minimal.coordinate("x", "m")
    minimal.add_particle("bead", mass, (x, bend * x**2))
    s = System("bead on a wire", gravity=(0, -G))
    x_, y_ = s.coordinates("x y", "m")
    s.add_particle("bead", mass, (x_, y_))
    s.constrain(y_ - bend * x_**2, "wire")
    m = da.Mechanism("bead on a wire", planar=True)
    m.add_body("bead", mass=mass, inertia=1e-3)
    m.add_constraint("wire", lambda s: s["bead.y"] - bend * s["bead.x"] ** 2)
    return Case("bead on a wire", s, m, minimal, {"x": x, "y": bend * x**2}, {"x": 0.3})


def rolling_disc() -> Case:
    mass, r = 2.0, 0.25
    s = System("rolling disc", gravity=(0, 0, -G))
    x, y = s.coordinates("x y", "m")
    heading, lean, spin = s.coordinates("heading lean spin", "rad")
    frame = s.rotation("zx", (heading, lean))
    turned = s.rotation("y", (spin,), base=frame)
    A, C = mass * r**2 / 4, mass * r**2 / 2
    s.add_body("disc", mass, (A, C, A), (x, y, r * da.cos(lean)), rotation=turned)
    omega = turned.matrix @ turned.omega
    velocity = s.rate(ca.vertcat(x, y, r * da.cos(lean)))
    slip = velocity + ca.cross(omega, -r * frame.matrix[:, 2])
    s.constrain(slip[:2], "floor")
    s.speed("u1", s.rate(lean), "rad/s")
    s.speed("u2", s.rate(spin) + s.rate(heading) * da.sin(lean), "rad/s")
    s.speed("u3", s.rate(heading) * da.cos(lean), "rad/s")
    m = da.Mechanism("rolling disc")
    disc = m.add_body("disc", mass=mass, inertia=(A, C, A), position=(0, 0, r))
    m.add_rolling_wheel("floor", m.ground, disc, radius=r)
    return Case("rolling disc", s, m)


def knife_edge() -> Case:
    mass, inertia, ahead = 2.0, 0.3, 0.4
    s = System("knife edge", gravity=(1.5, -2.0))
    x, y = s.coordinates("x y", "m")
    angle = s.coordinate("angle", "rad")
    c, n = da.cos(angle), da.sin(angle)
    s.add_body("sleigh", mass, inertia, (x + ahead * c, y + ahead * n), angle=angle)
    s.constrain(s.rate(y) * c - s.rate(x) * n, "blade")
    s.speed("forward", s.rate(x) * c + s.rate(y) * n, "m/s")
    s.speed("turn", s.rate(angle), "rad/s")
    m = da.Mechanism("knife edge", planar=True, gravity=(1.5, -2.0))
    m.add_body("sleigh", mass=mass, inertia=inertia)

    def slip(state: Any) -> Any:
        turned = state["sleigh.angle"]
        across = state["sleigh.vy"] * da.cos(turned) - state["sleigh.vx"] * da.sin(turned)
        return across - ahead * state["sleigh.rate"]

    m.add_constraint("blade", slip, level="velocity")
    return Case("knife edge", s, m)


def spherical_pendulum() -> Case:
    mass, length = 1.3, 0.9
    minimal = System("spherical pendulum", gravity=(0, 0, -G))
    theta, phi = minimal.coordinates("theta phi", "rad")
    place = (length * da.sin(theta) * da.cos(phi), length * da.sin(theta) * da.sin(phi), -length * da.cos(theta))
    minimal.add_particle("bob", mass, place)
    s = System("spherical pendulum", gravity=(0, 0, -G))
    x, y, z = s.coordinates("x y z", "m")
    s.add_particle("bob", mass, (x, y, z))
    s.constrain(x**2 + y**2 + z**2 - length**2, "rod")
    m = da.Mechanism("spherical pendulum")
    bob = m.add_body("bob", mass=mass, inertia=(1e-3, 1e-3, 1e-3), position=(0, 0, -length))
    m.add_massless_rod("rod", m.ground.at(0, 0, 0), bob.at(0, 0, 0), length=length)
    return Case("spherical pendulum", s, m, minimal, dict(zip("xyz", place, strict=True)), {"theta": 0.8})


def slider_crank() -> Case:
    r, long, heavy, rod, piston = 0.05, 0.16, (1.5, 0.01), (0.5, 0.5 * 0.16**2 / 12), 0.4
    minimal, s = (System("slider-crank", gravity=(0, -G)) for _ in range(2))
    a = minimal.coordinate("a", "rad")
    slope = -da.math.asin(r / long * da.sin(a))
    stroke = r * da.cos(a) + long * da.cos(slope)
    a1, b1 = s.coordinates("a b", "rad")
    x1 = s.coordinate("x", "m")
    s.constrain((r * da.cos(a1) + long * da.cos(b1) - x1, r * da.sin(a1) + long * da.sin(b1)), "pin")
    for system, angle, other, place in ((minimal, a, slope, stroke), (s, a1, b1, x1)):
        middle = (r * da.cos(angle) + long / 2 * da.cos(other), r * da.sin(angle) + long / 2 * da.sin(other))
        system.add_body("crank", *heavy, (0, 0), angle=angle)
        system.add_body("rod", *rod, middle, angle=other)
        system.add_particle("piston", piston, (place, 0))
    m = da.Mechanism("slider-crank", planar=True)
    crank, link = (m.add_body(name, mass=data[0], inertia=data[1]) for name, data in (("crank", heavy), ("rod", rod)))
    slider = m.add_body("piston", mass=piston, inertia=1e-3)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(0, 0))
    m.add_revolute("B", crank.at(r, 0), link.at(-long / 2, 0))
    m.add_revolute("C", link.at(long / 2, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0))
    return Case("slider-crank", s, m, minimal, {"a": a, "b": slope, "x": stroke}, {"a": 0.7})


def spinning_top() -> Case:
    mass, height, A, C = 1.5, 0.4, 0.02, 0.03
    minimal = System("spinning top", gravity=(0, 0, -G))
    psi, theta, phi = minimal.coordinates("psi theta phi", "rad")
    turned = minimal.rotation("zxz", (psi, theta, phi))
    centre = height * turned.matrix[:, 2]
    minimal.add_body("top", mass, (A, A, C), centre, rotation=turned)
    for k, name in enumerate(("wx", "wy", "wz")):
        minimal.speed(name, turned.omega[k], "rad/s")
    s = System("spinning top", gravity=(0, 0, -G))
    x, y, z = s.coordinates("x y z", "m")
    angles = s.coordinates("psi theta phi", "rad")
    own = s.rotation("zxz", angles)
    s.add_body("top", mass, (A, A, C), (x, y, z), rotation=own)
    s.constrain(ca.vertcat(x, y, z) - height * own.matrix[:, 2], "pivot")
    m = da.Mechanism("spinning top")
    top = m.add_body("top", mass=mass, inertia=(A, A, C), position=(0, 0, height))
    m.add_spherical("pivot", m.ground.at(0, 0, 0), top.at(0, 0, -height))
    places = dict(zip("xyz", ca.vertsplit(centre), strict=True)) | {"psi": psi, "theta": theta, "phi": phi}
    return Case("spinning top", s, m, minimal, places, {"theta": 0.9})


def cart_with_pendulum() -> Case:
    cart, rod, length = 3.0, 0.8, 1.1
    minimal = System("cart with pendulum", gravity=(0, -G))
    x = minimal.coordinate("x", "m")
    angle = minimal.coordinate("angle", "rad")
    middle = (x + length / 2 * da.cos(angle), length / 2 * da.sin(angle))
    minimal.add_particle("cart", cart, (x, 0))
    minimal.add_body("rod", rod, rod * length**2 / 12, middle, angle=angle)
    s = System("cart with pendulum", gravity=(0, -G))
    x_, u, w = s.coordinates("x u w", "m")
    turned = s.coordinate("angle", "rad")
    s.add_particle("cart", cart, (x_, 0))
    s.add_body("rod", rod, rod * length**2 / 12, (u, w), angle=turned)
    s.constrain((u - x_ - length / 2 * da.cos(turned), w - length / 2 * da.sin(turned)), "pin")
    m = da.Mechanism("cart with pendulum", planar=True)
    wagon = m.add_body("cart", mass=cart, inertia=1e-2)
    link = m.add_body("rod", mass=rod, inertia=da.rod(length))
    m.add_prismatic("rail", m.ground.at(0, 0), wagon.at(0, 0))
    m.add_revolute("pin", wagon.at(0, 0), link.at(-length / 2, 0))
    return Case("cart with pendulum", s, m, minimal, {"x": x, "angle": angle, "u": middle[0], "w": middle[1]})


CASES: dict[str, Callable[[], Case]] = {
    "double-pendulum": double_pendulum, "bead-on-a-wire": bead_on_a_wire, "rolling-disc": rolling_disc,
    "knife-edge": knife_edge, "spherical-pendulum": spherical_pendulum, "slider-crank": slider_crank,
    "spinning-top": spinning_top, "cart-with-pendulum": cart_with_pendulum,
}  # fmt: skip


# -- states and accelerations ------------------------------------------------------------------------------------------


class Kinematics:
    """Places, velocities and accelerations of the bodies of a system, as numbers."""

    def __init__(self, system: System) -> None:
        motion = in_rates(system)
        q, v, a = system.q, motion.v, motion.vdot
        self.names = system.coordinate_names
        poses, moving, change = [], [], []
        for body in motion.bodies:
            own = system.bodies[body.name]
            turning = own.rotation is not None
            poses.append(ca.vertcat(own.position, ca.vec(own.rotation if turning else ca.SX.eye(3))))
            moving.append(ca.vertcat(body.velocity, body.omega))
            change.append(ca.vertcat(body.J @ a + body.gamma, body.J_omega @ a + body.gamma_omega))
        self.bodies = {body.name: system.bodies[body.name].rotation is not None for body in motion.bodies}
        self.function = ca.Function("bodies", [q, v, a], [ca.horzcat(*one) for one in (poses, moving, change)])

    def at(self, q: Mapping[str, float], v: Mapping[str, float], a: FloatArray) -> list[FloatArray]:
        """Columns of the bodies: place and rotation, velocity and ω, their derivatives."""
        columns = [[values[name] for name in self.names] for values in (q, v)]
        return [np.array(one) for one in self.function(*columns, a)]


def states(
    case: Case, count: int = STATES, seed: int = 0
) -> list[dict[str, tuple[dict[str, float], dict[str, float]]]]:
    """Random states, as coordinates and rates of every form of the system; rates fulfil the rows."""
    random = np.random.default_rng(seed)
    base = case.base
    found = []
    motion = in_rates(base)
    rows = ca.Function("rows", [base.q, motion.v], [motion.A, motion.rates_of_rows])
    embedding = None
    if case.minimal is not None:
        values = ca.vertcat(*(ca.SX(case.embedding[name]) for name in case.redundant.coordinate_names))
        embedding = ca.Function("embedding", [base.q, motion.v], [values, ca.jtimes(values, base.q, motion.v)])
    for _ in range(count):
        q = np.array([case.centre.get(name, 0.0) for name in base.coordinate_names])
        q = q + case.spread * random.normal(size=len(q))
        v = random.normal(size=len(q))
        if base.constraints:
            A, rate = (np.array(one) for one in rows(q, v))
            v = v - np.linalg.pinv(A) @ rate[:, 0]
        one = {"minimal" if case.minimal is not None else "redundant": _name_values(base, q, v)}
        if embedding is not None:
            one["redundant"] = _name_values(case.redundant, *(np.array(part)[:, 0] for part in embedding(q, v)))
        found.append(one)
    return found


def _name_values(system: System, q: FloatArray, v: FloatArray) -> State:
    names = system.coordinate_names
    return dict(zip(names, q.tolist(), strict=True)), dict(zip(names, v.tolist(), strict=True))


def machine_accelerations(case: Case, poses: FloatArray, moving: FloatArray, bodies: Mapping[str, bool]) -> FloatArray:
    """Accelerations of the bodies by the equations of the same machine; of a particle only those of its place."""
    eqs = da.equations(case.mechanism)
    q, v = np.array(eqs.state().q), np.zeros(eqs.nv)
    parts = ("vx", "vy", "", "", "", "rate") if case.mechanism.planar else ("vx", "vy", "vz", "wx", "wy", "wz")
    for k, (name, turning) in enumerate(bodies.items()):
        R = poses[3:, k].reshape(3, 3, order="F")
        place = dict(zip("xyz", poses[:3, k], strict=True))
        if case.mechanism.planar:
            place = {"x": place["x"], "y": place["y"], "angle": math.atan2(R[1, 0], R[0, 0])}
        elif turning:
            place |= dict(zip(("e0", "e1", "e2", "e3"), _euler_parameters(R), strict=True))
        for own, value in place.items():
            q[eqs.coordinates.index[f"{name}.{own}"]] = value
        for own, value in zip(parts, moving[:, k], strict=True):
            if own:
                v[eqs.speeds.index[f"{name}.{own}"]] = value
    found = da.forward_dynamics(eqs, eqs.state(q, v)).acceleration
    result = np.zeros((6, len(bodies)))
    for k, name in enumerate(bodies):
        for j, own in enumerate(parts):
            if own:
                result[j, k] = found[eqs.speeds.index[f"{name}.{own}"]]
    return result


def _euler_parameters(R: FloatArray) -> FloatArray:
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])


@dataclass(frozen=True)
class Compared:
    """One formalism on one form of a system."""

    operations: int
    seconds: float
    largest_difference: float


def compare(case: Case, count: int = STATES, seed: int = 0) -> tuple[dict[str, dict[str, Compared]], float]:
    """Every formalism in its domain: its operations, seconds and largest difference of accelerations to the first.

    Differences are shares of the largest acceleration of the state. The second result is the difference to the machine.
    """
    drawn = states(case, count, seed)
    kinematics = {name: Kinematics(system) for name, system in case.variants().items()}
    reference: list[FloatArray] = []
    machine = 0.0
    result: dict[str, dict[str, Compared]] = {}
    for formalism, derive in FORMALISMS.items():
        for name, system in case.variants().items():
            if not case.takes(formalism, system):
                continue
            begin = time.perf_counter()
            derived = derive(system)
            seconds = time.perf_counter() - begin
            worst = 0.0
            for k, state in enumerate(drawn):
                q, v = state[name]
                solved = derived.solve(q, v)
                poses, moving, change = kinematics[name].at(q, v, solved.acceleration)
                if len(reference) == k:
                    reference.append(change)
                    exact = machine_accelerations(case, poses, moving, kinematics[name].bodies)
                    for j, turning in enumerate(kinematics[name].bodies.values()):
                        rows = slice(0, 6 if turning else 3)
                        gap = np.abs(exact[rows, j] - change[rows, j]).max()
                        machine = max(machine, float(gap / np.abs(change).max()))
                worst = max(worst, float(np.abs(change - reference[k]).max() / np.abs(reference[k]).max()))
            compared = Compared(derived.operations["all"], seconds, worst)
            result.setdefault(formalism, {})[name] = compared
    return result, machine


def study() -> Outcome:
    """All systems by all formalisms."""
    step("derive and compare")
    results: dict[str, Any] = {"systems": {}, "states": STATES}
    for name, make in CASES.items():
        found, machine = compare(make())
        results["systems"][name] = {
            "formalisms": {formalism: _summary(kinds) for formalism, kinds in found.items()},
            "machine_difference": machine,
        }
    every = [one for system in results["systems"].values() for one in system["formalisms"].values()]
    results["largest_difference"] = max(one["largest_difference"] for one in every)
    results["machine_difference"] = max(system["machine_difference"] for system in results["systems"].values())
    m = double_pendulum().mechanism
    return Outcome(
        "Eight systems by nine formalisms", results, _pieces(results), {"seeds": "states of every system: seed 0"},
        model=(m, da.equations(m)),
        moving=[Text("Nothing moves in this study: accelerations are compared at random states.")],
    )  # fmt: skip


def _summary(kinds: Mapping[str, Compared]) -> dict[str, Any]:
    """One formalism on one system: the least operations of its forms, all their seconds, the largest difference."""
    return {
        "operations": min(one.operations for one in kinds.values()),
        "seconds": sum(one.seconds for one in kinds.values()),
        "largest_difference": max(one.largest_difference for one in kinds.values()),
        "coordinates": {kind: vars(one) for kind, one in kinds.items()},
    }


def _pieces(results: dict[str, Any]) -> list[Piece]:
    systems = results["systems"]
    first = Text(
        f"Nine formalisms on eight systems, each in its domain, at {results['states']} random states: their "
        f"accelerations differ by at most {results['largest_difference']:.1e} of the largest, and from those of the "
        f"same machine as a mechanism by {results['machine_difference']:.1e}."
    )
    rows = []
    for name, system in systems.items():
        for formalism, kinds in system["formalisms"].items():
            for kind, one in kinds["coordinates"].items():
                rows.append((name, formalism, kind, f"{one['operations']}", f"{1e3 * one['seconds']:.0f}",
                             f"{one['largest_difference']:.1e}"))  # fmt: skip
    head = ("system", "formalism", "coordinates", "operations", "derivation [ms]", "largest difference")
    counts = np.array([[system["formalisms"].get(formalism, {}).get("operations", np.nan) for formalism in FORMALISMS]
                       for system in systems.values()])  # fmt: skip
    with mpl.rc_context(STYLE):
        figure = new_figure(8.5, 4.6)
        ax = figure.subplots()
        ax.imshow(np.log10(counts), cmap="Blues", aspect="auto", vmin=0.0, vmax=5.0)
        for (i, j), count in np.ndenumerate(counts):
            ax.text(j, i, "" if np.isnan(count) else f"{count:.0f}", ha="center", va="center", color=INK)
        ax.set_xticks(range(len(FORMALISMS)), list(FORMALISMS), rotation=25, ha="right")
        ax.set_yticks(range(len(systems)), list(systems))
        ax.grid(False)
    about = "Operations to evaluate M, f, A and b; empty where a formalism does not take the system."
    return [first, Picture("operations", figure, about), Table(head, tuple(rows), "All formalisms")]
