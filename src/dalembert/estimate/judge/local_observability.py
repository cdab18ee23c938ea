"""Local observability: whether sensors determine the state along a motion, with advice in words.

A state is observable along a motion if every small change of it changes an output: if O of `motion_sensitivity` has
full column rank. The quality is the reduction of the initial covariance P₀ by noisy readings (`observed_directions`). A
state that is determined in one window of the motion is determined in all of it, so the best window decides; windows
that are worse, as next to a dead point, are reported too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np

from dalembert.core.arguments import positive_number
from dalembert.core.arrays import frozen
from dalembert.core.declare import checked, count, positive
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion, State
from dalembert.estimate.algebra.noise import covariance, root
from dalembert.estimate.engine.tangent import is_present, projector
from dalembert.estimate.judge.motion_sensitivity import (
    MotionSamples,
    add_candidates,
    input_names,
    motion_from,
    motion_of_record,
    slopes,
    spread,
    state_of_record,
    windows,
)
from dalembert.estimate.judge.observed_directions import (
    View,
    class_one,
    describe,
    describe_decay,
    dies_out,
    format_share,
    is_weak,
    join_first,
    join_names,
    rank_sensors,
    typical_magnitudes,
    typical_noise,
)
from dalembert.estimate.models.process import Names, Process, Variances, find_places, has_channels, process
from dalembert.expressions import Array
from dalembert.record import Record
from dalembert.solve.position.assemble import assemble

SAMPLES, WINDOW = 100, 100
STEPS = 4  # of a machine per sample: its slopes leave out what its joints are closed by, an error of fifth order
ORIENTATION = "orientation of "


@frozen
class LocalObservability:
    """Local observability of a model along a motion; made by `local_observability`.

    Attributes
    ----------
    states, outputs : names.
    freedoms : number of directions; fewer than states where these are of a projection onto the joints.
    rank : number of directions that the outputs show.
    singular_values : (freedoms,) effect of each direction on the readings over their noise, largest first, in the
        best window: its standard deviation falls from 1 to 1/√(1 + s²).
    floor : the singular value below which all is rounding.
    time, strength : starts of the windows [s], and the smallest singular value in each.
    span : length of a window [s].
    unseen : directions that no output shows, each a mapping of states to amounts that change together.
    weak : directions that are observed only weakly, the worst first, each with its remaining standard deviation.
    fades : of every direction in `unseen`, then in `weak`, the share left at the end of the window by itself.
    hidden : of every state, the share that lies in unseen directions: 0 seen, 1 not at all.
    left : of every state, the share left of its initial standard deviation: 0 known, 1 as before.
    weakest : the direction that is seen worst.
    deviations : standard deviation of each state at the start, from the window (and P0, if given); with R, where that
        is finite.
    sensors : what would show the directions seen badly, best first: (names, the largest share of a deviation left).
    gramian, empirical : (ne, ne) of the best window, in the units of the states; by slopes, and by motions.
    """

    states: tuple[str, ...]
    outputs: tuple[str, ...]
    freedoms: int
    rank: int
    singular_values: Array
    floor: float
    time: Array
    strength: Array
    span: float
    unseen: tuple[Mapping[str, float], ...]
    weak: tuple[tuple[Mapping[str, float], float], ...]
    fades: tuple[float, ...]
    hidden: Mapping[str, float]
    left: Mapping[str, float]
    weakest: Mapping[str, float]
    deviations: Mapping[str, float] | None
    sensors: tuple[tuple[tuple[str, ...], float], ...]
    gramian: Array
    empirical: Array | None
    name: str
    assumed: str

    @property
    def is_observable(self) -> bool:
        """Whether the outputs show every direction; `weak` and `left` report the accuracy."""
        return self.rank == self.freedoms

    @property
    def verdict(self) -> str:
        """The result in words, and what to do."""
        sensors, n, well = ", ".join(self.outputs), self.freedoms, self.rank - len(self.weak)
        if not self.is_observable:
            text = f"{n - self.rank} of {n} directions of {self.name!r} cannot be seen from {sensors}: "
            plain = all(len(direction) == 1 for direction in self.unseen)
            each = [
                describe(direction) + describe_decay(fade)
                for direction, fade in zip(self.unseen, self.fades, strict=False)
            ]
            text += join_first(each, 6 if plain else 3) + "."
            if self.weak:
                text += f" {len(self.weak)} more only weakly: {self._weakly()}."
        elif self.weak:
            text = f"{well} of {n} directions of {self.name!r} are seen well from {sensors}"
            text += f", {len(self.weak)} only weakly: {self._weakly()}."
        else:
            text = f"All {n} states of {self.name!r} can be seen from {sensors}."
            text += self._describe_least(1.0 / np.sqrt(1.0 + self.singular_values[-1] ** 2))
        return text + self._describe_elsewhere() + self._advice()

    def _describe_least(self, share: float, reported: float = 0.2) -> str:
        """The weakest direction, where a share of its standard deviation remains that is worth a word."""
        return f" The least: {describe(self.weakest)}{self._falls(share)}." if share > reported else ""

    def _weakly(self) -> str:
        fades = self.fades[len(self.unseen) :]
        return join_first([
            describe(direction) + self._falls(share) + describe_decay(fade)
            for (direction, share), fade in zip(self.weak, fades, strict=True)
        ])  # fmt: skip

    def _falls(self, left: float) -> str:
        return f" (its standard deviation falls from 1 to {format_share(left)} in {self.span:.3g} s)"

    def _describe_elsewhere(self, share: float = 1e-2) -> str:
        poor = self.strength < max(self.floor, share * self.strength.max())
        if not self.is_observable or not poor.any() or poor.all():
            return ""
        return (
            f" Not everywhere: {poor.sum()} of {len(poor)} windows show a hundred times less, the worst from "
            f"t = {self.time[int(np.argmin(self.strength))]:.4g} s on."
        )

    def _advice(self) -> str:
        if self.is_observable and not self.weak:
            return ""
        if dies_out(max(self.fades)):
            return f" No sensor is needed: hidden directions decay by themselves within {self.span:.3g} s."
        if not self.sensors:
            return " No other quantity of the model would show more along this motion; another motion may."
        names, share = self.sensors[0]
        if is_weak(share):
            return f" {join_names(names)} would show some of it, not all, along this motion."
        also = [more[0] for more, _ in self.sensors[1:] if len(more) == 1]
        others = f" (or {', '.join(also)})" if also else ""
        return f" Measure {join_names(names)}{others} as well."

    def table(self) -> str:
        head = ["state", "unseen share", "deviation left", *(["deviation"] if self.deviations else [])]
        rows = []
        for name in self.states:
            hidden = f"{self.hidden[name]:.2f}"
            row = [name, "-" if hidden == "0.00" else hidden, f"{self.left[name]:.3g}"]
            rows.append([*row, *([f"{self.deviations[name]:.3g}"] if self.deviations else [])])
        values = " ".join(f"{value:.2e}" for value in self.singular_values)
        return f"{align_columns(head, rows)}\nsingular values (signal over noise): {values}\n{self.assumed}".rstrip()

    def __repr__(self) -> str:
        return f"{self.verdict}\n{self.table()}"


Interval = Annotated[float, positive, "between samples [s]"]
Samples = Annotated[int, count(1, 10_000_000), "steps from a state"]
Width = Annotated[int, count(2), "samples of one window"]


@checked
def local_observability(
    model: object,
    along: Record | State | Any = None,
    *,
    outputs: str | Iterable[str] | None = None,
    R: Variances = None,
    P0: Variances = None,
    dt: Interval | None = None,
    samples: Samples = SAMPLES,
    window: Width = WINDOW,
    candidates: str | Iterable[str] | None = None,
    empirical: bool = False,
    amplitude: object = 1e-3,
    **options: Any,
) -> LocalObservability:
    """Whether the outputs determine all states of a model along a motion, how accurately, and useful sensors.

    Parameters
    ----------
    model : equations of motion, a linear model, or another model that a filter takes.
    along : a run (or an estimate) with all states, or a state from which `samples` steps of `dt` are made with inputs
        at zero; the model's own start when left out.
    outputs : sensors, coordinates or rates that are measured; all sensors when left out.
    R : variances of the outputs, in any form that filters take: gives deviations. When left out, a reading is taken to
        have an error of 1 % of its range.
    P0 : initial variances, in any form that filters take; typical magnitudes by unit when left out.
    window : samples of one window.
    candidates : quantities that could be measured in addition; sensors, coordinates, rates, internal states and
        orientations of bodies when left out. They are as good as outputs of the same unit.
    empirical : also the gramian of motions that start an `amplitude` (a number or a mapping of states) to both sides.
    options : of the process: coordinates, unknown, closing, ... (`da.estimate.process`).

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("cart", planar=True)
    >>> cart = m.add_body("cart", mass=1.0, inertia=0.1)
    >>> slide = m.add_prismatic("S", m.ground.at(0, 0), cart.at(0, 0))
    >>> found = da.estimate.local_observability(da.equations(m), outputs="S.speed", dt=0.01)
    >>> print(found.verdict)
    1 of 2 directions of 'cart' cannot be seen from S.speed: S.displacement. Measure S.displacement (or cart.x) as well.
    """
    extended, read = add_candidates(_process(model, along, outputs, dt, options), candidates)
    motion = _motion(extended, along, dt, samples)
    if len(motion.t) < 2:
        raise DataError("too-few-samples", "observability along a motion needs at least two samples.")
    starts, stacked, flow = windows(*slopes(extended, motion), window)
    if not np.isfinite(stacked).all():
        problem = f"an output of {extended.name!r} has no derivative somewhere along this motion."
        raise ModelError("not-finite", problem, Advice("Leave it out."))
    names, ny = extended.errors.names, len(read)
    sizes = _amplitudes(amplitude, names)
    roots = _start_roots(P0, extended, flow, stacked, motion.x[starts], motion.t[starts])
    scales = typical_noise(extended.outputs.units, stacked, roots)
    weights = _weights(R, read, scales[:ny])
    views = [View.of(names, _rows(weights @ samples_[:, :ny]), start, grown)
             for samples_, start, grown in zip(stacked, roots, flow, strict=True)]  # fmt: skip
    strength = np.array([view.values[-1] for view in views])
    best = max(range(len(views)), key=lambda k: (views[k].rank, views[k].well, strength[k]))
    view = views[best]
    moved = None
    if empirical:
        samples_ = MotionSamples(
            *(a[starts[best] : starts[best] + stacked.shape[1]] for a in (motion.t, motion.x, motion.u))
        )
        flat = _rows(weights @ spread(extended, samples_, sizes)[:, :ny])
        moved = flat.T @ flat
    further = _further(extended, ny, stacked[best], flow[best], _likely(R, extended, ny, scales), roots[best])
    if candidates is not None:
        further = {name: block for name, block in further.items() if name in extended.outputs.names}
    seldom = (*input_names(extended), *(name for name in further if name.startswith(ORIENTATION)))
    lefts = view.left[view.well : view.rank][::-1]
    return LocalObservability(
        states=names, outputs=read, freedoms=len(view.values), rank=view.rank, singular_values=view.values,
        floor=view.floor, time=motion.t[starts], strength=strength, span=float(motion.dt[:stacked.shape[1] - 1].sum()),
        unseen=tuple(view.direction(v) for v in view.unseen_directions()),
        weak=tuple((view.direction(v), float(share)) for v, share in zip(view.weak(), lefts, strict=True)),
        fades=tuple(view.fade(v) for v in (*view.unseen_directions(), *view.weak())),
        hidden=_by_name(names, view.shares), left=_by_name(names, view.kept),
        weakest=view.direction(view.directions[-1]), deviations=_deviations(view, R, P0),
        sensors=rank_sensors(view, further, seldom), gramian=view.gramian, empirical=moved,
        name=extended.name, assumed=_describe_assumptions(R, P0),
    )  # fmt: skip


# ---- scales


def _start_roots(P0: Variances, model: Process, flow: Array, stacked: Array, x: Array, t: Array) -> Array:
    """L (windows, ne, d) with L Lᵀ = P₀, of typical magnitudes where that is not given; d errors pass the joints."""
    if P0 is None:
        sizes = typical_magnitudes(model.errors.units, flow, model.outputs.units, stacked)
        L = np.diag(sizes)
    else:
        L = root(covariance("P0", P0, model.errors.names, "state"))
        sizes = np.sqrt((L**2).sum(axis=1))
        if not (np.diag(L) > 0).all():
            give = Advice("Give every state a variance, or leave {} out.", Argument("P0"))
            raise DataError("not-positive-definite", "P0 must be positive definite here.", give)
    T = np.eye(model.ne)[None] if model.flat else projector(model).many(x, model.p, t[:, None])[0]
    T = T.reshape(-1, model.ne, model.ne)
    if not is_present(np.abs(T - np.eye(model.ne)).max()):
        return np.repeat(L[None], len(flow), axis=0)
    U, values, _ = np.linalg.svd(T @ L / sizes[:, None])
    rank = int(np.count_nonzero(is_present(values[0], values[0, 0])))
    return np.asarray(sizes[:, None] * U[:, :, :rank] * values[:, None, :rank])


def _weights(R: Variances, names: tuple[str, ...], typical: Array) -> Array:
    """(ny, ny): outputs in units of their noise."""
    if R is not None:
        try:
            return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance("R", R, names, "output"))))
        except np.linalg.LinAlgError:
            raise DataError("not-positive-definite", "R must be positive definite: every output has noise.") from None
    return np.diag(np.where(typical > 0, 1.0 / np.where(typical > 0, typical, 1.0), 0.0))


def _likely(R: Variances, model: Process, ny: int, typical: Array) -> Array:
    """Deviations of everything that can be measured: those of outputs of the same unit where R is given."""
    if R is None:
        return typical
    sigma = np.sqrt(np.diag(covariance("R", R, model.outputs.names[:ny], "output")))
    units = model.outputs.units
    alike = {unit: np.exp(np.mean(np.log(sigma[[k for k in range(ny) if units[k] == unit]]))) for unit in units[:ny]}
    return np.array([float(alike.get(unit, usual)) for unit, usual in zip(units, typical, strict=True)])


def _further(model: Process, first: int, stack: Array, flow: Array, noise: Array, start: Array) -> dict[str, Array]:
    """Rows of everything else that could be measured, in units of its noise; turns of bodies as one."""
    names, units = model.outputs.names, model.outputs.units
    candidates = {names[k]: stack[:, k] / noise[k] for k in range(first, len(names)) if noise[k] > 0}
    for body, axes in _free_rotations(model).items():
        rows = flow[:, axes]
        angles = [noise[k] for k in range(first) if units[k] == "rad"]
        size = angles[0] if angles else class_one(np.sqrt(((rows @ start) ** 2).sum(axis=2).mean()))
        candidates[f"{ORIENTATION}{body}"] = _rows(rows / size)
    return candidates


def _free_rotations(model: Process) -> dict[str, list[int]]:
    """Bodies whose turns about all three of their axes are errors of the process, and where those are."""
    index = model.errors.index
    bodies = [name.removesuffix(".rx") for name in model.errors.names if name.endswith(".rx")]
    places = {body: [f"{body}.r{axis}" for axis in "xyz"] for body in bodies}
    return {body: [index[name] for name in names] for body, names in places.items() if all(n in index for n in names)}


def _deviations(view: View, R: Variances, P0: Variances) -> dict[str, float] | None:
    if R is None or (P0 is None and view.rank < len(view.values)):
        return None
    if P0 is not None:
        return _by_name(view.names, np.sqrt(np.diag(view.covariance)))
    L = view.root @ view.directions.T / view.values
    return _by_name(view.names, np.sqrt((L**2).sum(axis=1)))


def _describe_assumptions(R: Variances, P0: Variances) -> str:
    parts = [] if R is not None else [f"errors of readings of {class_one(100.0):g} % of their range (R not given)"]
    parts += [] if P0 is not None else ["initial errors of typical magnitudes (P0 not given)"]
    return f"assumed: {', '.join(parts)}" if parts else ""


def _rows(blocks: Array) -> Array:
    return blocks.reshape(-1, blocks.shape[-1])


def _by_name(names: tuple[str, ...], values: Array) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


# ---- arguments


def _process(model: object, along: object, outputs: Names, dt: float | None, options: dict[str, Any]) -> Process:
    if isinstance(model, Process):
        if outputs is not None or options:
            raise has_channels()
        return model
    if isinstance(model, EquationsOfMotion):
        options = {"steps": STEPS, **options}
        if isinstance(along, Record):
            options.setdefault("at", assemble(model, start=state_of_record(model, along)))
        elif isinstance(along, State):
            options.setdefault("at", along)
    return process(model, outputs=outputs, dt=dt, **options)


def _motion(model: Process, along: object, dt: float | None, samples: int) -> MotionSamples:
    if isinstance(along, Record):
        if model.matrices is not None:  # the slopes are the same everywhere
            return MotionSamples(
                np.array(along.time), np.zeros((len(along), model.nx)), np.zeros((len(along), model.nu))
            )
        return motion_of_record(model, along)
    dt = dt if dt is not None else model.dt
    if dt is None:
        give = Advice("Give {}, the interval between samples [s].", Argument("dt"))
        raise DataError("missing-argument", "without a record the interval between samples is needed.", give)
    if along is not None and not isinstance(along, State):
        raise DataError("wrong-type", f"along must be a record or a state, got {type(along).__name__}.")
    return motion_from(model, model.start, along.t if along is not None else 0.0, float(dt), samples)


def _amplitudes(given: object, names: tuple[str, ...]) -> Array:
    if isinstance(given, Mapping):
        find_places(list(given), names, "state")
        return np.array([positive_number(f"amplitude of {name}", given.get(name, 1e-3)) for name in names])
    return np.full(len(names), positive_number("amplitude", given))
