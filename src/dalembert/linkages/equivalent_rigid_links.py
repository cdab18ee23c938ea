"""Equations of a linkage of slender links about its equivalent rigid links, in (u, q).

u are small displacements of nodes in the world's axes, q the coordinates of the rigid linkage. They are ordinary
`EquationsOfMotion`: linearized about an equilibrium they read

    [M, M S; Sᵀ M, Sᵀ M S] [ü; q̈] + [C, 0; Sᵀ C, 0] [u̇; q̇] + [K, 0; 0, -∂(Sᵀ (M g + f))/∂q] [u; δq] = [1; Sᵀ] δf .
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.rules import rule
from dalembert.equations import Channels, EquationsOfMotion, Placement, State
from dalembert.equations.functions import ARGUMENTS
from dalembert.linear.second_order import SecondOrder
from dalembert.linkages.drawing import draw_links, node_channels
from dalembert.linkages.elastic_coordinates import choose_zeroed, number_displacements, read_zeroed
from dalembert.linkages.links import SlenderLink, elastic_link, link_of, rigid_link
from dalembert.linkages.motion import Linkage, LinkagePose, solved_rows
from dalembert.linkages.node_mechanism import refuse_unsupported, split_into_nodes
from dalembert.mechanics import equations as equations
from dalembert.model import Mechanism
from dalembert.solve.constrained.matrices import independent_columns
from dalembert.solve.motion.minimum_coordinates import minimum_coordinates
from dalembert.solve.position.assemble import assemble
from dalembert.structures.frame.frame import Frame

SX = ca.SX
Basis = Callable[[LinkagePose, Any, Any], Any]  # from a pose, G of the free displacements and q to Y


@dataclass(frozen=True, eq=False)
class EquivalentRigidLinks:
    """A planar linkage whose links bend a little about rigid links that move as the mechanism does.

    Parameters
    ----------
    mechanism : planar, of revolute, prismatic and fixed joints, open or closed. Bodies in `beams` have the mass of
        their frame; others stay rigid.
    beams : body -> planar frame of beams and masses, in the coordinates of ``body.at``. Joints, forces and sensors on
        it act at its points. Its Rayleigh damping acts on elastic displacements.
    coordinates : names of the independent rigid coordinates (joint or body coordinates); chosen when left out.
    zeroed : as many displacements, ``"AB.1.rz"``, that stay zero; those of the joints of `coordinates` when left out.
    at : coordinates or state of the pose that decides how loops are closed; the drawing when left out.
    nodes : force or sensor that names a whole body -> point of its frame; the first joint of the body when left out.
    gauges : name -> (body, distance along its beams [m]): curvature there is an output [1/m]; with the height of a
        surface above the neutral axis [m] as third, the strain there. Filters estimate gauges that nobody reads, too.
    gyroscopic : whether convective inertia 2 M_G acts.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True, gravity=0)
    >>> arm = m.add_body("arm", mass=1, inertia=0.1, center=(0, 0))
    >>> hinge = m.add_revolute("A", m.ground.at(0, 0), arm.at(0, 0))
    >>> frame = da.structures.Frame("arm", planar=True)
    >>> frame.add_points(["root", "tip"], [[0, 0], [1, 0]])
    >>> strip = {"section": da.structures.Section.rectangle(0.004, 0.02), "material": "steel"}
    >>> frame.add_beam("strip", "root", "tip", **strip, elements=4)
    >>> eqs = da.equations(da.linkages.EquivalentRigidLinks(m, beams={"arm": frame}))
    >>> da.linearize(eqs, at=eqs.state()).modes().frequencies_hz[:3].round(2).tolist()
    [0.0, 14.66, 47.74]
    """

    mechanism: Mechanism
    beams: Mapping[str, Frame]
    _: KW_ONLY
    coordinates: Iterable[str] | None = None
    zeroed: Iterable[str] | None = None
    at: Mapping[str, float] | State | None = None
    nodes: Mapping[str, str] = field(default_factory=dict)
    gauges: Mapping[str, tuple[str, float] | tuple[str, float, float]] = field(default_factory=dict)
    gyroscopic: bool = True

    def __post_init__(self) -> None:
        m = self.mechanism
        if not isinstance(m, Mechanism):
            raise ModelError("wrong-type", f"mechanism must be a Mechanism, got {type(m).__name__}.")
        refuse_unsupported(m)
        for given in ("beams", "gauges", "nodes"):
            instance(Mapping)(given, getattr(self, given))
        names = {body.name for body in m.bodies}
        for name in self.beams:
            require_name("body", name, names, f"mechanism {m.name!r}", error=ModelError, argument="beams")
        self.linkage, self.gauge_rows  # noqa: B018 (what is wrong is refused here)

    @cached_property
    def links(self) -> tuple[SlenderLink, ...]:
        """Links in the order of `beams`, then the rigid ones."""
        bodies = {body.name: body for body in self.mechanism.bodies}
        bent = [elastic_link(bodies[name], frame) for name, frame in self.beams.items()]
        return (*bent, *(rigid_link(body) for name, body in bodies.items() if name not in self.beams))

    @cached_property
    def gauge_rows(self) -> dict[str, tuple[SlenderLink, FloatArray]]:
        """The link of every gauge, and its reading by displacements of the nodes in the axes of the link."""
        rows = {}
        for name, (body, *place) in self.gauges.items():
            link = link_of(self.links, body, f"gauge {name!r} of {self.mechanism.name!r}")
            rows[name] = link, link.gauge_row(float(place[0]), name, *map(float, place[1:]))
        return rows

    @cached_property
    def rigid(self) -> EquationsOfMotion:
        """The rigid linkage in its independent coordinates, on the branch of the pose."""
        m = self.mechanism
        joint = equations(m, coordinates="joint")
        chosen = None if self.coordinates is None else take_names("coordinate", self.coordinates)
        named = None if chosen is None else tuple(joint.full_name(name) for name in chosen)
        natural = tuple(joint.coordinates.names[: joint.nv])
        if not joint.rows and joint.nq == joint.nv and self.at is None and named in (None, natural):
            pose = assemble(joint)
            return replace(joint, placement=Placement(tuple(pose.q.tolist()), tuple(pose.z.tolist())))
        at = self.at
        if isinstance(at, Mapping):
            at = assemble(joint, dict(at))
        elif isinstance(at, State):
            at = joint.state(q=[at[name] for name in joint.coordinates.names])
        return minimum_coordinates(joint, coordinates=named, at=at)

    def rigid_state(self, at: Mapping[str, float] | State | None = None) -> FloatArray:
        """Coordinates of the rigid linkage at a pose; the drawing when left out."""
        rigid = self.rigid
        x = rigid.state().q.copy()
        if at is None:
            return x
        if isinstance(at, State):
            DataError.when(len(at.q) < rigid.nq, "wrong-owner", "the state belongs to another machine.")
            return np.array(at.q[len(at.q) - rigid.nq :])
        names = [rigid.full_name(name) for name in at]
        for name in names:
            require_name("rigid coordinate", name, rigid.coordinates.names[: rigid.nv], f"linkage {rigid.name!r}")
        x[[rigid.coordinates.index[name] for name in names]] = list(at.values())
        value = rigid.kernel("measures")(x, np.zeros(rigid.nv), rigid.p, 0.0)[0]
        problem = f"linkage {rigid.name!r} cannot be assembled at {dict(at)} from the pose drawn."
        DataError.when(not np.all(np.isfinite(value)), "no-solution", problem, where={"argument": "at"})
        return x

    @cached_property
    def linkage(self) -> Linkage:
        """Numbers of the linkage: links, displacements, zeroed ones."""
        m = self.mechanism
        rigid, elastic = self.rigid, number_displacements(m, self.links)
        nodes = equations(split_into_nodes(m, self.links, self.nodes))
        draft = Linkage(m.name, self.links, rigid, nodes, elastic, (), (), (), m.gravity, self.gyroscopic)
        P, A, S = _numbers(draft)
        _, dependent = independent_columns(A) if A.size else ([], [])
        free = [k for k in range(len(elastic.names)) if k not in dependent]
        S_w: FloatArray = np.linalg.lstsq(P, S, rcond=None)[0].astype(np.float64)
        names = rigid.coordinates.names[: rigid.nv]
        if self.zeroed is None:
            zeroed = choose_zeroed(m, self.links, elastic, names, S_w, free)
        else:
            zeroed = read_zeroed(elastic, take_names("displacement", self.zeroed), rigid.nv, f"linkage {m.name!r}")
            _refuse_singular(S_w[zeroed], [elastic.names[k] for k in zeroed], m.name)
        return Linkage(
            m.name, self.links, rigid, nodes, elastic, tuple(zeroed), tuple(dependent),
            tuple(k for k in free if k not in zeroed), m.gravity, self.gyroscopic,
        )  # fmt: skip

    def matrices(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """M and K of (u, q) at `rigid_state`: no elastic force acts on q."""
        M, K, _ = self.linkage.matrices(x)
        whole = np.zeros_like(M)
        whole[: len(K), : len(K)] = K
        return 0.5 * (M + M.T), 0.5 * (whole + whole.T)

    def system(self, at: Mapping[str, float] | State | FloatArray | None = None) -> SecondOrder:
        """The linkage at rest at a pose in (u, q), without damping, weight and springs: what rankings are made of."""
        M, K = self.matrices(at if isinstance(at, np.ndarray) else self.rigid_state(at))
        L = self.linkage
        return SecondOrder(M, K, coordinates=(*L.names, *L.rigid.coordinates.names[: L.nq]))

    def conditions(self, at: State | None = None) -> dict[str, float]:
        """Condition of S_0, and the largest entry of K S over that of K, at a pose: both sets of coordinates need them.

        ``"S_0"`` grows without bound where a rigid motion leaves the zeroed displacements at rest.
        """
        L = self.linkage
        x = L.rigid.state().q if at is None else at.q[-L.rigid.nq :]
        P, _, S = _numbers(L, x)
        values = np.linalg.svd(np.linalg.lstsq(P, S, rcond=None)[0][list(L.zeroed)], compute_uv=False)
        K = _numbers(L, x, stiffness=True)[0]
        largest = float(np.abs(K).max(initial=0.0)) or 1.0
        return {
            "S_0": float(values[0] / max(values[-1], 1e-300)),
            "KS": float(np.abs(K @ S).max(initial=0.0)) / largest,
        }

    def findings(self, at: State | None = None) -> list[Finding]:
        """What is wrong with the two sets of coordinates at a pose; empty where they are sound."""
        numbers = self.conditions(at)
        judged = (
            NEAR_SINGULAR.judge(numbers, name=self.mechanism.name),
            STRAINED.judge(numbers, name=self.mechanism.name),
        )
        return [finding for finding in judged if finding is not None]


def condition_of_zeroed(numbers: Mapping[str, float]) -> float:
    return numbers["S_0"]


def strain_of_rigid_motions(numbers: Mapping[str, float]) -> float:
    return numbers["KS"]


NEAR_SINGULAR = rule(
    "ill-conditioned", condition_of_zeroed, above=1e4, edge=(9e3, 1.1e4),
    problem="a rigid motion of {name!r} hardly moves the displacements that stay zero (condition {value:.3g}).",
    advice=[Advice("Name others with {}.", Argument("zeroed"))],
)  # fmt: skip
STRAINED = rule(
    "ill-conditioned", strain_of_rigid_motions, above=1e-10, edge=(9e-11, 1.1e-10),
    problem="rigid motions of {name!r} strain its links ({value:.1e} of their stiffness): a frame is held somewhere.",
)  # fmt: skip


def _numbers(L: Linkage, x: Any = None, *, stiffness: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(P or K of nodes, rows of joints in w, S) at a pose, the drawing's when left out."""
    sym = SX.sym("x", L.rigid.nq)
    p, t = ca.DM(L.rigid.p), 0.0
    pose = LinkagePose(L, sym, SX.zeros(L.rigid.nv), p, t)
    P = L.elastic.expand(pose.angles)
    A = solved_rows(L.nodes, L.elastic, pose.r, P, p, t)
    first = pose.to_world(pose.to_world(pose.matrix("K")).T) if stiffness else P
    values = ca.Function("pose", [sym], [ca.densify(item) for item in (first, A, pose.S)])
    at = L.rigid.state().q if x is None else x
    nodal, rows, motions = (np.array(value, dtype=np.float64) for value in values(at))
    return nodal, rows, motions


def _refuse_singular(S_0: FloatArray, names: list[str], machine: str, singular: float = 1e-9) -> None:
    """singular : smallest singular value of S_0 over its largest, where nothing is left but rounding of the pose."""
    values = np.linalg.svd(S_0, compute_uv=False)
    if values[-1] <= singular * values[0]:
        raise ModelError(
            "singular-matrix",
            f"displacements {', '.join(names)} of {machine!r} cannot stay zero: some rigid motion moves none of them "
            f"(S_0 has the singular values {values[0]:.3g} to {values[-1]:.3g}).",
            Advice("Leave {} out, or name the rotations of the driven nodes.", Argument("zeroed")),
            where={"argument": "zeroed"}, evidence={"singular values": values.tolist()},
        )  # fmt: skip


@equations.register
def equations_of_links(erls: EquivalentRigidLinks, **options: object) -> EquationsOfMotion:
    """Equations in (u, q)."""
    for name in options:
        raise ModelError("unknown-argument", f"equations of equivalent rigid links have no option {name!r}.")
    names = erls.linkage.names
    owners = [erls.linkage.elastic.owners[k] for k in erls.linkage.free]
    units = [erls.linkage.elastic.units[k] for k in erls.linkage.free]
    return build_equations(erls, Channels(names, units, owners), None)


def build_equations(
    erls: EquivalentRigidLinks, elastic: Channels, basis: Basis | None, *, rates: bool = False
) -> EquationsOfMotion:
    """Equations in (y, q) with u = Y(q) y; without a basis y is u.  rates : whether rates of Y act."""
    L, rigid, nodes = erls.linkage, erls.linkage.rigid, erls.linkage.nodes
    n, nq = len(elastic), L.nq
    sym = SX.sym
    y, x, v = sym("y", n), sym("x", rigid.nq), sym("v", n + nq)
    z, u = sym("z", nodes.nz), sym("u", nodes.nu)
    p, t, lam, a = sym("p", len(rigid.parameters)), sym("t"), sym("lam", 0), sym("a", n + nq)
    pose = LinkagePose(L, x, v[n:], p, t)
    G = pose.displacements(p, t)[:, list(L.free)]
    if basis is not None:
        G = G @ basis(pose, G, x[:nq])
    T = ca.horzcat(G, pose.S)
    T_link = pose.to_links(T)
    G_link = T_link[:, :n]
    M, K, C = (pose.matrix(name) for name in "MKC")
    displaced, moved, drift = G_link @ y, G_link @ v[:n], pose.drift
    N, still = rigid.functions["kinematics"](x, p, t)
    if rates:
        first = ca.jtimes(G, x, N @ v[n:] + still)
        moved += pose.to_links(first @ y)
        drift += 2.0 * (first @ v[:n]) + ca.jtimes(first, x, N @ v[n:] + still) @ y
    weight = pose.to_links(pose.gravity() - drift)
    push = M @ weight - C @ moved
    if L.gyroscopic:
        push -= 2.0 * (pose.convective() @ moved)
    q_nodes, v_nodes = pose.r + G @ y, T @ v
    node_arguments = {"q": q_nodes, "v": v_nodes, "z": z, "u": u, "p": p, "t": t, "lam": SX.zeros(len(nodes.rows)),
                      "a": T @ a + drift}  # fmt: skip

    def of_nodes(name: str) -> Any:
        return nodes.functions[name](*(node_arguments[key] for key in ARGUMENTS[name].split()))

    applied = of_nodes("forces")
    elastic_force = G_link.T @ (K @ displaced)
    mass = T_link.T @ (M @ T_link)
    force = T_link.T @ push + T.T @ applied - ca.vertcat(elastic_force, SX.zeros(nq))
    stiff = ca.diagcat(G_link.T @ K @ G_link, SX(nq, nq))
    damping = ca.diagcat(G_link.T @ C @ G_link, SX(nq, nq))
    efforts = T.T @ applied
    for argument in (0, 1):  # loads that depend on neither pose nor speed are neither stiff nor damped
        if nodes.functions["forces"].jac_sparsity(0, argument).nnz():
            slope = ca.jacobian(efforts, v if argument else ca.vertcat(y, x[:nq]))
            stiff, damping = (stiff, damping - slope) if argument else (stiff - slope, damping)
    speeds = T_link @ v
    local_weight = M @ pose.to_links(pose.gravity())
    potential = 0.5 * ca.dot(displaced, K @ displaced) - ca.dot(local_weight, displaced) + pose.weight_potential()
    value, rate, S, bias = rigid.functions["measures"](x, v[n:], p, t)
    identity = ca.horzcat(SX.eye(n), SX(n, nq))
    nodal = _motion_of_nodes(displaced, G_link, ca.vertcat(y, x), v, ca.vertcat(v[:n], N @ v[n:] + still), N)
    outputs = [of_nodes("outputs")]
    first = dict(
        zip((link.name for link in L.links), np.cumsum([0, *(3 * len(x.points) for x in L.links)]), strict=False)
    )
    for link, row in erls.gauge_rows.values():
        begin = int(first[link.name])
        outputs.append(ca.DM(row).T @ displaced[begin : begin + len(row)])
    made: dict[str, list[Any]] = {
        "kinematics": [ca.diagcat(SX.eye(n), N), ca.vertcat(SX.zeros(n), still)],
        "inertia": [mass], "forces": [force], "internal": [of_nodes("internal")],
        "outputs": [ca.vertcat(*outputs)],
        "energy": [0.5 * ca.dot(speeds, M @ speeds), potential + of_nodes("energy")[1]],
        "measures": [ca.vertcat(y, value, displaced), ca.vertcat(v[:n], rate, nodal[0]),
                     ca.vertcat(identity, ca.horzcat(SX(S.shape[0], n), S), nodal[1]),
                     ca.vertcat(SX.zeros(n), bias, nodal[2])],
        "tangent": [ca.sparsify(stiff), ca.sparsify(damping)],
    }  # fmt: skip
    symbols = {"q": ca.vertcat(y, x), "v": v, "z": z, "u": u, "p": p, "t": t, "lam": lam, "a": a}
    functions = {
        name: ca.Function(
            name,
            [symbols[key] for key in ARGUMENTS[name].split()],
            [item if name in ("tangent", "kinematics") else ca.densify(SX(item)) for item in parts],
            {"cse": True},
        )
        for name, parts in made.items()
    }
    return _name_equations(erls, elastic, functions)


def _motion_of_nodes(displaced: Any, G_link: Any, coordinates: Any, v: Any, rates: Any, N: Any) -> tuple[Any, Any, Any]:
    """Rates of displacements in the axes of the links, their slopes by speeds, and accelerations without those."""
    n = G_link.shape[1]
    slopes = ca.horzcat(G_link, ca.jacobian(displaced, coordinates[n:]) @ N)
    moved = G_link @ v[:n] + ca.jacobian(displaced, coordinates[n:]) @ rates[n:]
    return moved, slopes, ca.jtimes(moved, coordinates, rates)


def _name_equations(
    erls: EquivalentRigidLinks, elastic: Channels, functions: dict[str, ca.Function]
) -> EquationsOfMotion:
    L, rigid, nodes = erls.linkage, erls.linkage.rigid, erls.linkage.nodes
    n = len(elastic)
    taken = {*nodes.outputs.names} & {*erls.gauges}
    DataError.when(bool(taken), "taken-name", f"gauge and sensor {', '.join(taken)} have one name.")
    rates = Channels([f"{name}.rate" for name in elastic.names], [f"{unit or 1}/s" for unit in elastic.units])
    pose = rigid.state().q

    def join(*groups: Channels) -> Channels:
        parts = [[item for group in groups for item in getattr(group, key)] for key in ("names", "units", "owners")]
        return Channels(*parts)

    nodal = node_channels(L.links)
    nodal_rates = Channels([f"{name}.rate" for name in nodal.names], [f"{unit}/s" for unit in nodal.units])
    measures = join(elastic, rigid.measures, nodal)
    scene = draw_links(erls.mechanism, L.links, nodes.inputs.names, (*nodes.outputs.names, *erls.gauges))
    shown = [name for body in scene.bodies for name in (*body.channels(planar=True), *body.elastic)]
    gauge_units = ["1/m" if len(place) == 2 else "" for place in erls.gauges.values()]
    gauges = Channels(list(erls.gauges), gauge_units, [place[0] for place in erls.gauges.values()])
    return EquationsOfMotion(
        name=L.name, functions=functions, coordinates=join(elastic, rigid.coordinates),
        speeds=join(rates, rigid.speeds), internal=nodes.internal, inputs=nodes.inputs, parameters=rigid.parameters,
        parameter_values=rigid.parameter_values, outputs=join(nodes.outputs, gauges),
        measures=measures, measure_rates=join(rates, rigid.measure_rates, nodal_rates),
        recorded_measures=(*range(n), *(n + k for k in rigid.recorded_measures)),
        drawn_measures=tuple(measures.index[name] for name in shown), scene=scene,
        placement=Placement((*(0.0,) * n, *map(float, pose)), tuple(map(float, nodes.state().z))),
        shorthands=rigid.shorthands, resting_inputs=nodes.resting_inputs, unrecorded=rigid.unrecorded,
        elastic=elastic.names,
    )  # fmt: skip
