"""The workspace of a place: its reachable positions within the limits of the joints.

Joint coordinates are drawn evenly within their limits; loops are closed by assemblies. A cloud of places with their
manipulability, counted in cells of a grid, estimates reach, volume and dexterity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.progress import Progress, Setting
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.tree.kinematics import forward_kinematics
from dalembert.tree.linear_rows import close_linear_rows, leading_speeds, rows_are_linear
from dalembert.tree.places import Place, dimension
from dalembert.tree.reach.inverse_kinematics import random_pose
from dalembert.tree.reach.manipulability import driving_coordinates, manipulability
from dalembert.tree.reach.ranges import (
    Ranges,
    close_loops,
    initial_state,
    read_ranges,
)


@dataclass(frozen=True, eq=False)
class WorkspaceGrid:
    """Counts of a cloud in cells.  edges : of the cells along each axis [m].  counts : places in each cell.
    measure : their largest manipulability, zero in empty cells."""

    edges: tuple[Array, ...]
    counts: Array
    measure: Array

    @property
    def filled(self) -> float:
        """Share of the cells of the box that contain a place."""
        return float((self.counts > 0).mean())

    @property
    def volume(self) -> float:
        """Volume of the filled cells [m³], in the plane their area [m²]: an estimate of the reachable space."""
        cell = np.prod([edge[1] - edge[0] for edge in self.edges])
        return float((self.counts > 0).sum() * cell)


@dataclass(frozen=True, eq=False)
class Workspace:
    """Places that a point of a machine can have.

    points : (n, dim) [m], world axes.  q : (n, nq) their poses.  measure : (n,) manipulability of the position.
    base : (dim,) the place that distances count from.  tried : drawn poses, with those that closed no loop.
    """

    name: str
    place: str
    points: Array
    q: Array
    measure: Array
    base: Array
    tried: int

    @property
    def reach(self) -> tuple[float, float]:
        """Smallest and largest distance from the base [m]."""
        distance = np.linalg.norm(self.points - self.base, axis=1)
        return float(distance.min()), float(distance.max())

    @property
    def box(self) -> Array:
        """(2, dim) lowest and highest coordinates [m]."""
        return np.array([self.points.min(axis=0), self.points.max(axis=0)])

    def grid(self, cell: float | None = None) -> WorkspaceGrid:
        """The cloud counted in cells of this size [m]; None: about eight places per cell on average."""
        low, high = self.box
        dim = self.points.shape[1]
        wide = _widths(low, high)
        size = (
            (float(np.prod(wide)) * 8 / len(self.points)) ** (1 / dim)
            if cell is None
            else positive_number("cell", cell)
        )
        counts = np.maximum(np.ceil(wide / size).astype(int), 1)
        _check_size("cell", float(np.prod(counts.astype(float))), f"cells of {size:g} m")
        edges = tuple(a + size * np.arange(n + 1) for a, n in zip(low, counts, strict=True))
        place = tuple(np.minimum(((self.points - low) / size).astype(int), counts - 1).T)
        found, most = np.zeros(counts, dtype=int), np.zeros(counts)
        np.add.at(found, place, 1)
        np.maximum.at(most, place, self.measure)
        return WorkspaceGrid(edges, found, most)

    def __repr__(self) -> str:
        low, high = self.reach
        return (
            f"Workspace of {self.place!r} on {self.name!r}: {len(self.points)} places, {low:.4g} to {high:.4g} m from "
            f"the base, manipulability {self.measure.min():.3g} to {self.measure.max():.3g}"
        )


def workspace(
    eqs: EquationsOfMotion,
    place: Place,
    *,
    samples: int = 4096,
    seed: int = 0,
    limits: Any = True,
    base: Any = None,
    joints: Sequence[str] | None = None,
    progress: Setting = None,
) -> Workspace:
    """Reachable positions of a place within the limits of the joints.

    Parameters
    ----------
    place : as for `da.tree.forward_kinematics`.
    samples : poses, drawn with `seed`; 4096 find edges to a few per cent of the reach.
    limits : as for `da.tree.inverse_kinematics`; an angle without limits takes all values.
    base : place that distances count from; None: the origin of the world.
    joints : coordinates to draw of a machine with loops, as for `da.tree.manipulability`; start : its first pose, which
        decides which of several closed poses is found.
    progress : of the poses of a machine with loops, each of which is an assembly; as for `da.simulate`.

    Returns
    -------
    Workspace with points, reach, box and counts in a grid; `da.plot` draws it.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> upper, fore = (m.add_body(name, mass=1.0, inertia=da.rod(1.0), points={"tip": (0.5, 0)}) for name in "ab")
    >>> shoulder = m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    >>> elbow = m.add_revolute("elbow", upper.at(0.5, 0), fore.at(-0.5, 0))
    >>> cloud = da.tree.workspace(da.equations(m, coordinates="joint"), "b.tip")
    >>> [round(x, 2) for x in cloud.reach]
    [0.0, 2.0]
    """
    require_equations(eqs)
    dim = dimension(eqs, place)
    count = whole_number("samples", samples, 1)
    _check_size("samples", count, "samples")
    begin = initial_state(eqs, None)
    q, tried = _draw(eqs, read_ranges(eqs, limits), begin, count, whole_number("seed", seed), joints, progress)
    states = (q, np.zeros((len(q), eqs.nv)))
    points = forward_kinematics(eqs, states, place)[:, :dim, dim]
    measure = manipulability(eqs, states, place, joints=joints).measure
    origin = np.zeros(dim) if base is None else np.array(base, dtype=float).reshape(-1)
    if origin.shape != (dim,):
        raise ModelError("wrong-shape", f"base must be {dim} numbers, got {origin.size}.", where={"argument": "base"})
    return Workspace(eqs.name, place if isinstance(place, str) else repr(place), points, q, measure, origin, tried)


def _widths(low: Array, high: Array, flat: float = 1e-9) -> Array:
    """Widths of a box [m]; a flat cloud gets one of `flat` over 1 + the farthest coordinate: cells have a volume."""
    return np.maximum(high - low, flat * (1.0 + float(max(np.abs(low).max(), np.abs(high).max()))))


def _check_size(argument: str, count: float, what: str, most: float = 2e6) -> None:
    """Refuse more than 50 MB of points or cells."""
    problem = f"{count:.3g} {what} are more than {most:g}."
    ModelError.when(count > most, "too-large", problem, where={"argument": argument})


def _draw(
    eqs: EquationsOfMotion,
    ranges: Ranges,
    begin: State,
    count: int,
    seed: int,
    joints: Sequence[str] | None,
    progress: Setting,
    closing: int = 4,
) -> tuple[Array, int]:
    # closing: drawn poses per sample of a machine with loops before the sample is given up.
    random = np.random.default_rng(seed)
    limited = {
        k for k, a, b in zip(ranges.coordinates, ranges.low, ranges.high, strict=True) if np.isfinite([a, b]).all()
    }
    inner = {k for block in eqs.quaternions for k in range(block.part.start, block.part.stop)}
    for k, (name, unit) in enumerate(zip(eqs.coordinates.names, eqs.coordinates.units, strict=True)):
        free = k not in limited and k not in inner and name not in (*eqs.unrecorded, *eqs.elastic)
        if free and unit != "rad" and not eqs.rows:
            raise ModelError(
                "no-limits", f"{name!r} has no limits, so that its workspace has no end.",
                Advice("Give {}.", Argument("limits", {name: (-1.0, 1.0)})), where={"coordinate": name},
            )  # fmt: skip
    if not eqs.holonomic_rows:
        return np.array([random_pose(eqs, ranges, begin.q, random) for _ in range(count)]), count
    names = [name for name in driving_coordinates(eqs, begin, joints) if name in eqs.coordinates.index]
    found: list[Array] = []
    tried, linear = 0, rows_are_linear(eqs)
    with Progress(progress, "workspace") as bar:
        while len(found) < count and tried < closing * count:
            drawn = np.array([random_pose(eqs, ranges, begin.q, random) for _ in range(count if linear else 1)])
            tried += len(drawn)
            if linear:
                closed = close_linear_rows(eqs, drawn, leading_speeds(eqs), begin.t)
            else:
                wanted = {name: float(drawn[0, eqs.coordinates.index[name]]) for name in names}
                one = close_loops(eqs, begin, wanted)
                closed = np.zeros((0, eqs.nq)) if one is None else one[None]
            c = eqs.kernel("measures").many(closed, np.zeros(eqs.nv), eqs.p, begin.t)[0][:, list(ranges.measures)]
            found += list(closed[((c >= ranges.low) & (c <= ranges.high)).all(axis=1)])
            bar.update(min(len(found) / count, 1.0))
    found = found[:count]
    if not found:
        raise ModelError(
            "no-solution", f"no drawn pose of {eqs.name!r} closes its loops within the limits.",
            Advice("Begin at a pose that does: {}.", Argument("start", Call("da.assemble"))),
        )  # fmt: skip
    return np.array(found), tried
