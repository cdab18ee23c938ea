"""The links of a machine in joint coordinates, and functions of them that are built at their first use.

Equations in joint coordinates have a `LinkTree` (``eqs.tree``): the symbols of the equations (q, v, a, p, t, and
efforts tau on the speeds), the links in an order in which parents come first, their inertias and the gravity. A file
of `mechanics.tree.algorithms` adds a function of them by one declaration:

    @tree_function("coriolis_matrix", "q v p t", matrix=True)
    def build_coriolis(tree: LinkTree) -> list[Expr]:
        return [ ... expressions of tree.q, tree.v, tree.p, tree.t ... ]

``eqs.tree.function("coriolis_matrix")`` is then the CasADi function (built once, common expressions shared);
`dalembert.tree.evaluation.evaluate` calls it natively for a state or a batch. Further arguments that are no numbers
(the name of a place on a body) follow the tree: ``build(tree, place)``, ``eqs.tree.function("jacobian", "tool.tip")``.
Only bodies, joints and gravity count: springs, dampers, motors and rows of cut joints are not part of a tree; the
elasticity and the damping of a flexible body are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice
from dalembert.core.registry import Registry
from dalembert.expressions import Expr, Quantity
from dalembert.mechanics.absolute.build_equations import share
from dalembert.mechanics.joints.motion import RelativeMotion, weld
from dalembert.mechanics.poses import Space
from dalembert.mechanics.tree.fixed_links import merge_fixed_links
from dalembert.mechanics.tree.link_inertia import BodyInertia, FloatingInertia, LinkInertia
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import parallel
from dalembert.model.bodies import BodyFrame, Point

SX = ca.SX
Builder = Callable[..., "list[Expr] | ca.Function"]  # expressions of the symbols, or the whole function
WRENCH = "wrench"
PAYLOAD = "payload"
ORIGIN = "origin"  # name of the place at coordinates of zero on every body


@dataclass(frozen=True)
class TreeFunction:
    """A function of a tree.

    arguments : names of the symbols of a `LinkTree`, in order.  build : its results.
    matrix : its results are matrices, also where they have one column.
    instead : advice for trees with flexible bodies, for which it does not exist; None where it does.
    """

    arguments: str
    build: Builder
    matrix: bool = False
    instead: Advice | None = None


TREE_FUNCTIONS: Registry[TreeFunction] = Registry("function of a tree", package="dalembert.mechanics.tree.algorithms")


def tree_function(
    name: str, arguments: str, *, matrix: bool = False, instead: Advice | None = None
) -> Callable[[Builder], Builder]:
    """Register a builder of expressions as a function of a tree."""

    def register(build: Builder) -> Builder:
        TREE_FUNCTIONS.register(name, TreeFunction(arguments, build, matrix, instead), module=build.__module__)
        return build

    return register


@dataclass(frozen=True)
class ElasticGear:
    """Rotors behind an elastic gear, which turn with the speed of a joint and with that of the deflection.

    joint, speed : numbers of both.  stretch : the deflection.  inertia, stiffness, damping : at the joint.
    """

    joint: int
    speed: int
    stretch: Expr
    inertia: Expr
    stiffness: Expr
    damping: Expr

    @property
    def block(self) -> tuple[list[int], list[int], Expr]:
        """Its part of the mass matrix: rows, columns, values."""
        both = [self.joint, self.speed]
        return both, both, self.inertia * SX.ones(2, 2)

    def kinetic_energy(self, v: Expr) -> Expr:
        return 0.5 * self.inertia * (v[self.joint] + v[self.speed]) ** 2


@dataclass(frozen=True)
class LinkFrame:
    """A frame on a link (None: the ground).  place, axes : of the frame in those of the link."""

    link: Link | None
    place: Expr
    axes: Expr


@dataclass(frozen=True, eq=False)
class LinkTree:
    """Links, inertias and symbols of a machine in joint coordinates.

    q, v, a, tau, p, t : symbols; tau are efforts on the speeds.  N : q̇ = N v.  parameters : names of p.
    links, inertias : parents first; a node of a flexible body that modes move is a link "body.node" without mass.
    carriers : joint -> its link on the body that it carries.
    points : body -> names of places on it, from its centre of mass (of a flexible body from its frame) in body axes.
    gravity : world axes.  others : speeds that move no body (unknowns of joints), with their inertia.
    rotors : additional inertia of speeds of links, from motors geared to their joints.
    flexible : names of flexible bodies.  gears : elastic ones.
    """

    space: Space
    symbols: Mapping[str, Expr]
    N: Expr
    gravity: Expr
    links: Sequence[Link]
    inertias: Sequence[BodyInertia]
    parameters: Sequence[str]
    carriers: Mapping[str, str]
    points: Mapping[str, Mapping[str, Expr]]
    others: Sequence[tuple[int, Expr]]
    rotors: Mapping[int, Expr]
    flexible: Sequence[str]
    gears: Sequence[ElasticGear] = ()

    # -- symbols ------------------------------------------------------------------------------------------------------
    @property
    def q(self) -> Expr:
        return self.symbols["q"]

    @property
    def v(self) -> Expr:
        return self.symbols["v"]

    @property
    def a(self) -> Expr:
        return self.symbols["a"]

    @property
    def tau(self) -> Expr:
        return self.symbols["tau"]

    @property
    def p(self) -> Expr:
        return self.symbols["p"]

    @property
    def t(self) -> Expr:
        return self.symbols["t"]

    @property
    def nv(self) -> int:
        return int(self.v.shape[0])

    # -- names --------------------------------------------------------------------------------------------------------
    @cached_property
    def index(self) -> dict[str, int]:
        """Number of the link of every body."""
        return {link.name: k for k, link in enumerate(self.links) if link.name in self.points}

    @cached_property
    def _named(self) -> dict[str, Link]:
        return {link.name: link for link in self.links}

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(self.index)

    def link(self, body: str) -> Link:
        if body not in self.index:
            raise ModelError("unknown-name", unknown_name("body", body, self.index), where={"body": body})
        return self.links[self.index[body]]

    def frame(self, place: str | Point | BodyFrame) -> LinkFrame:
        """A frame on a body.

        place : "tool", the centre of mass; "tool.tip", a named point; "tool.origin", the place of zero coordinates, all
        with the axes of the body; a joint of the tree, its frame on the body that it carries; or a point or a frame of
        a body. Of a flexible body: its floating frame, or a node, whose axes turn with it.
        """
        if isinstance(place, str):
            if place in self.carriers:
                return LinkFrame(self._named[self.carriers[place]], SX(self.space.dim, 1), SX.eye(self.space.dim))
            body, _, point = place.rpartition(".")
            if not point or not body or place in self.points:
                body, point = place, ""
            if body not in self.points:
                raise ModelError("unknown-name", unknown_name("body", body, self.points), where={"body": body})
            if point and point not in self.points[body]:
                problem = unknown_name("point", point, self.points[body], f"body {body!r}")
                raise ModelError("unknown-name", problem, where={"body": body, "point": point})
            local, axes = self.points[body][point] if point else SX(self.space.dim, 1), SX.eye(self.space.dim)
        else:
            body, local = place.body.name, self._vector(place.coordinates)
            point = place.body.node_at(place.coordinates) if place.body.flexible is not None else ""
            axes = self._axes(place) if isinstance(place, BodyFrame) else SX.eye(self.space.dim)
        if body not in self.index:
            return LinkFrame(None, local, axes)
        if body in self.flexible and f"{body}.{point}" in self._named:
            return LinkFrame(self._named[f"{body}.{point}"], SX(self.space.dim, 1), axes)
        link = self.links[self.index[body]]
        return LinkFrame(link, ca.sparsify(link.centre + link.far.T @ local), ca.sparsify(link.far.T @ axes))

    def _vector(self, values: Sequence[Any]) -> Expr:
        known = {name: self.p[k] for k, name in enumerate(self.parameters)}
        return ca.vertcat(*(x.evaluate(known) if isinstance(x, Quantity) else float(x) for x in values))

    def _axes(self, frame: BodyFrame) -> Expr:
        if not self.space.planar:
            return SX(ca.DM([list(row) for row in frame.axes]))
        c, s = (f(self._vector([frame.angle])) for f in (ca.cos, ca.sin))
        return SX(ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c)))

    # -- expressions ---------------------------------------------------------------------------------------------------
    def rate(self, matrix: Expr) -> Expr:
        """Derivative in time of an expression of q, along q̇ = N v."""
        if matrix.is_constant():
            return SX(*matrix.shape)
        entries = ca.vertcat(*matrix.nonzeros())
        return ca.sparsify(SX(matrix.sparsity(), ca.densify(ca.jtimes(entries, self.q, self.N @ self.v))))

    def spread(self, efforts: Mapping[int, Expr]) -> Expr:
        """A column of all speeds from values by their numbers; zero where there is none."""
        return ca.vertcat(*(efforts.get(k, SX(0)) for k in range(self.nv)))

    @cached_property
    def moving(self) -> tuple[list[Link], list[BodyInertia]]:
        """Links and inertias with the bodies on fixed joints as parts of others: the same motion and efforts."""
        return merge_fixed_links(self.links, self.inertias)

    # -- functions ----------------------------------------------------------------------------------------------------
    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}

    def symbol(self, name: str, places: int = 0) -> Expr:
        """An argument of functions; "wrench" has forces and moments at a number of places, one after the other."""
        if name != WRENCH:
            return self.symbols[name]
        key = (WRENCH, places)
        if key not in self._made:
            self._made[key] = SX.sym(WRENCH, self.space.nv * places)
        return self._made[key]

    def load(self, place: Any) -> LinkTree:
        """The same tree with a payload fixed to a place, as one more link.

        Its functions have a further argument, `payload`: the mass, the centre of mass from the place, and the inertia
        about the centre of mass (xx, yy, zz, xy, xz, yz; in the plane one number), in the axes of the frame there.
        """
        key = (PAYLOAD, place)
        if key not in self._made:
            space, frame = self.space, self.frame(place)
            if frame.link is None:
                raise ModelError("not-supported", "a payload on the ground moves nothing.", where={"body": "ground"})
            given = SX.sym(PAYLOAD, 4 if space.planar else 10)
            mass, c, inertia = given[0], given[1 : 1 + space.dim], given[1 + space.dim :]
            if not space.planar:
                inertia = ca.reshape(inertia[[0, 3, 4, 3, 1, 5, 4, 5, 2]], 3, 3)
            none = SX(0, 1)
            link = Link(
                space, PAYLOAD, frame.link, (), none, weld(space, none, none, none), frame.axes, frame.place,
                SX.eye(space.dim), -c,
            )  # fmt: skip
            own = LinkInertia(mass, mass * c, inertia, inertia, inertia + mass * parallel(space, c, c))
            self._made[key] = replace(
                self, symbols={**self.symbols, PAYLOAD: given}, links=[*self.links, link],
                inertias=[*self.inertias, own],
            )  # fmt: skip
        return self._made[key]  # type: ignore[no-any-return]

    def function(self, name: str, *choices: Any) -> ca.Function:
        """The named function, of numbers; built at its first use. Of a loaded tree `payload` is its last argument."""
        key = (name, *choices)
        if key not in self._made:
            own = TREE_FUNCTIONS[name]
            if (self.flexible or self.gears) and own.instead is not None:
                shown = ", ".join(map(repr, self.flexible)) or f"{len(self.gears)} gears"
                problem = f"{name!r} of a tree needs rigid bodies and gears; flexible: {shown}."
                raise ModelError("not-supported", problem, own.instead, where={"bodies": list(self.flexible)})
            inputs = [self.symbol(part, len(choices)) for part in own.arguments.split()]
            inputs += [self.symbols[PAYLOAD]] if PAYLOAD in self.symbols else []
            found = own.build(self, *choices)
            self._made[key] = found if isinstance(found, ca.Function) else share(name, inputs, [SX(x) for x in found])
        return self._made[key]

    # -- storage ------------------------------------------------------------------------------------------------------
    def __reduce__(self) -> tuple[Any, ...]:
        """Expressions as one function, since CasADi stores functions alone."""
        numbers = {id(link): k for k, link in enumerate(self.links)}
        plain = [
            (link.name, numbers.get(id(link.parent)), tuple(link.columns), *_elastic(own))
            for link, own in zip(self.links, self.inertias, strict=True)
        ]
        names = {body: tuple(own) for body, own in self.points.items()}
        expressions = [self.N, self.gravity, *(x for own in self.points.values() for x in own.values())]
        expressions += [*(x for _, x in self.others), *self.rotors.values()]
        expressions += [getattr(gear, key) for gear in self.gears for key in _GEAR]
        for link, inertia in zip(self.links, self.inertias, strict=True):
            expressions += [getattr(link, key) for key in _LINK] + _values(link.motion) + _values(inertia)
        inputs = [self.q, self.v, self.p, self.t]
        stored = ca.Function("links", inputs, [SX(x) for x in expressions])
        speeds = ([k for k, _ in self.others], list(self.rotors), [(gear.joint, gear.speed) for gear in self.gears])
        rest = (tuple(self.parameters), dict(self.carriers), *speeds, tuple(self.flexible))
        return _restore, (self.space, stored, plain, names, *rest)


_LINK = ("E", "offset", "far", "place", "near_angle", "far_angle")


_GEAR = ("stretch", "inertia", "stiffness", "damping")
_FLEXIBLE = ("eta", "rate", "stiffness", "damping", "gravity")


def _values(one: Any) -> list[Expr]:
    names = _FLEXIBLE if isinstance(one, FloatingInertia) else [field.name for field in fields(one)]
    return [getattr(one, name) for name in names]


def _elastic(one: BodyInertia) -> tuple[Any, ...]:
    """Data and elastic speeds of a flexible body."""
    return (one.data, tuple(one.columns)) if isinstance(one, FloatingInertia) else ()


def make_symbols(q: Expr, v: Expr, a: Expr, p: Expr, t: Expr) -> dict[str, Expr]:
    """Symbols of the functions of a tree."""
    return {"q": q, "v": v, "a": a, "tau": SX.sym("tau", v.shape[0]), "p": p, "t": t}


def _restore(
    space: Space, stored: ca.Function, plain: list[Any], names: dict[str, tuple[str, ...]],
    parameters: tuple[str, ...], carriers: dict[str, str], others: list[int], geared: list[int],
    elastic_gears: list[tuple[int, int]], flexible: tuple[str, ...],
) -> LinkTree:  # fmt: skip
    q, v, p, t = (SX.sym(stored.name_in(k), stored.size1_in(k)) for k in range(4))
    found = iter(stored.call([q, v, p, t]))
    N, gravity = next(found), next(found)
    points = {body: {name: next(found) for name in own} for body, own in names.items()}
    rest = [(column, next(found)) for column in others]
    rotors = {column: next(found) for column in geared}
    gears = [ElasticGear(*speeds, *(next(found) for _ in _GEAR)) for speeds in elastic_gears]
    links: list[Link] = []
    inertias: list[BodyInertia] = []
    for name, parent, columns, *elastic in plain:
        own = {key: next(found) for key in _LINK}
        motion = RelativeMotion(*(next(found) for _ in fields(RelativeMotion)))
        above = None if parent is None else links[parent]
        links.append(Link(space, name, above, columns, v[list(columns)], motion, **own))
        if elastic:
            inertias.append(FloatingInertia(space, *elastic, *(next(found) for _ in _FLEXIBLE)))
        else:
            inertias.append(LinkInertia(*(next(found) for _ in fields(LinkInertia))))
    symbols = make_symbols(q, v, SX.sym("a", v.shape[0]), p, t)
    return LinkTree(
        space, symbols, N, gravity, links, inertias, parameters, carriers, points, rest, rotors, flexible, gears
    )
