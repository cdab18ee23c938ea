"""Can these sensors see the machine move? Observability along a motion, in words (spec 004, C15).

A state is observable along a motion if no small change of it leaves all outputs as they are: if O of
`estimate.observing` has full column rank. To be free of units, every column of O is brought to length one (and every
output, or outputs are weighted by their noise): the smallest singular value then says how far the states can be told
apart. A state that is known in any window of the motion is known in all of it, so the best window decides; where the
others are worse, as next to a dead point, is told too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import Channels, EquationsOfMotion, State
from dalembert.errors import DataError, ModelError
from dalembert.estimate.noise import covariance
from dalembert.estimate.observing import (
    Motion,
    input_names,
    motion_from,
    motion_of_record,
    slopes,
    spread,
    state_of_record,
    windows,
)
from dalembert.estimate.process import Process, chosen, process
from dalembert.expressions import Array
from dalembert.expressions.quantities import is_real
from dalembert.linear.checks import Frozen
from dalembert.linear.tables import aligned
from dalembert.record import Record
from dalembert.solve.assemble import assemble

UNSEEN = 1e-8  # singular value of columns of length one that rounding of the slopes may leave of nothing
WEAK = 1e-4
ROUNDING = 1e-10
NOTHING = 1e-15
CLEARLY = 1e-5  # of a sensor's own singular values on what was hidden
SAMPLES, WINDOW = 100, 100
STEPS = 4  # of a machine per sample: its slopes leave out what its joints are closed by, an error of fifth order
SHOWN = 0.05  # share of a direction that is worth a word
MOST = 5  # sensors that are named


class Observability(Frozen):
    """What was found; made by `observability`.

    Attributes
    ----------
    states, outputs : names.
    rank : how many directions can be seen, of ``len(states)``.
    singular_values : (ne,) of O with columns of length one, largest first, in the best window.
    time, strength : starts of the windows [s], and the smallest singular value in each.
    unseen : directions that nothing shows, each a mapping of states to amounts that go together.
    hidden : of every state, the share that lies in unseen directions: 0 seen, 1 not at all.
    weakest : the direction that is seen worst, likewise.
    deviations : standard deviation of each state from the window alone; given with R where all can be seen.
    sensors : what would show the unseen directions, best first: (names, smallest singular value with them).
    gramian, empirical : (ne, ne) of the best window, in the units of the states; by slopes, and by motions.
    """

    states: tuple[str, ...]
    outputs: tuple[str, ...]
    rank: int
    singular_values: Array
    time: Array
    strength: Array
    unseen: tuple[Mapping[str, float], ...]
    hidden: Mapping[str, float]
    weakest: Mapping[str, float]
    deviations: Mapping[str, float] | None
    sensors: tuple[tuple[tuple[str, ...], float], ...]
    gramian: Array
    empirical: Array | None
    name: str

    @property
    def is_observable(self) -> bool:
        return self.rank == len(self.states)

    @property
    def verdict(self) -> str:
        """What it means, and what to do."""
        seen, n = ", ".join(self.outputs), len(self.states)
        if self.is_observable:
            text = f"All {n} states of {self.name!r} can be seen from {seen}."
            if self.singular_values[-1] < WEAK:
                text += f" One direction hardly (to {self.singular_values[-1]:.1e}): {_said(self.weakest)}."
            poor = self.strength < max(UNSEEN, 1e-2 * self.strength.max())
            if poor.any() and not poor.all():
                text += (
                    f" Not everywhere: {poor.sum()} of {len(poor)} windows show a hundred times less, the worst from "
                    f"t = {self.time[int(np.argmin(self.strength))]:.4g} s on."
                )
            return text + self._advice()
        count = n - self.rank
        text = f"{count} of {n} directions of {self.name!r} cannot be seen from {seen}: "
        text += "; ".join(_said(direction) for direction in self.unseen) + "."
        return text + self._advice()

    def _advice(self) -> str:
        if not self.sensors:
            return "" if self.is_observable else " No other quantity of the model would show them along this motion."
        alone = [names[0] for names, _ in self.sensors if len(names) == 1]
        if alone:
            also = f" (or {', '.join(alone[1:])})" if alone[1:] else ""
            return f" Measure {alone[0]}{also} as well."
        return f" Measure {' and '.join(self.sensors[0][0])} as well."

    def table(self) -> str:
        head = ["state", "unseen share", *(["deviation"] if self.deviations else [])]
        rows = []
        for name in self.states:
            share = self.hidden[name]
            row = [name, f"{share:.2f}" if share > SHOWN / 10 else "-"]
            rows.append([*row, *([f"{self.deviations[name]:.3g}"] if self.deviations else [])])
        values = " ".join(f"{value:.2e}" for value in self.singular_values)
        return f"{aligned(head, rows)}\nsingular values: {values}"

    def __repr__(self) -> str:
        return f"{self.verdict}\n{self.table()}"


def observability(
    model: Any,
    along: Record | State | Any = None,
    *,
    outputs: str | Iterable[str] | None = None,
    R: Any = None,
    dt: float | None = None,
    samples: int = SAMPLES,
    window: int = WINDOW,
    candidates: str | Iterable[str] | None = None,
    empirical: bool = False,
    amplitude: Any = 1e-3,
    **options: Any,
) -> Observability:
    """Whether the outputs show all states of a model along a motion, and what to measure if not.

    Parameters
    ----------
    model : equations of motion, a linear model, or whatever a filter takes.
    along : a run (or an estimate) with all states, or a state from which `samples` steps of `dt` are made with inputs
        at zero; the model's own start when left out.
    outputs : sensors, coordinates or rates that are measured; all sensors when left out.
    R : variances of the outputs, in any form that filters take: gives deviations.
    window : samples that are looked at together.
    candidates : what may be measured in addition; sensors, coordinates, rates and internal states when left out.
    empirical : also the gramian of motions that start an `amplitude` (a number or a mapping of states) to both sides.
    options : of the process: coordinates, unknown, closing, ... (`da.estimate.process`).

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("cart", planar=True)
    >>> cart = m.add_body("cart", mass=1.0, inertia=0.1)
    >>> slide = m.add_prismatic("S", m.ground.at(0, 0), cart.at(0, 0))
    >>> found = da.estimate.observability(da.equations(m), outputs="S.speed", dt=0.01)
    >>> print(found.verdict)
    1 of 2 directions of 'cart' cannot be seen from S.speed: S.displacement. Measure S.displacement (or cart.x) as well.
    """
    whole, read = _extended(_process(model, along, outputs, dt, options), candidates)
    motion = _motion(whole, along, dt, samples)
    if len(motion.t) < 2:
        raise DataError("observability along a motion needs at least two samples.")
    if not isinstance(window, int) or window < 2:
        raise DataError(f"window must be a whole number of samples from 2 up, got {window!r}.")
    starts, stacked, flow = windows(*slopes(whole, motion), window)
    if not np.isfinite(stacked).all():
        raise ModelError(f"an output of {whole.name!r} has no slope somewhere along this motion; leave it out.")
    names, ny = whole.errors.names, len(read)
    weights = _weights(R, read, stacked[:, :, :ny])
    views = [View(part, ny, weights, grown) for part, grown in zip(stacked, flow, strict=True)]
    strength = np.array([view.values[-1] for view in views])
    best = max(range(len(views)), key=lambda k: (views[k].rank, strength[k]))
    view = views[best]
    deviations = None
    if R is not None and view.rank == len(names):
        deviations = dict(zip(names, np.sqrt(np.diag(np.linalg.inv(view.gramian))).tolist(), strict=True))
    moved = None
    if empirical:
        part = Motion(*(a[starts[best] : starts[best] + stacked.shape[1]] for a in (motion.t, motion.x, motion.u)))
        change = spread(whole, part, _amplitudes(amplitude, names))[:, :ny]
        flat = (weights @ change).reshape(-1, len(names))
        moved = flat.T @ flat
    result = Observability()
    result._freeze(
        states=names, outputs=read, rank=view.rank, singular_values=view.values, time=motion.t[starts],
        strength=strength, unseen=tuple(view.direction(v, names) for v in view.unseen.T),
        hidden=dict(zip(names, view.shares.tolist(), strict=True)),
        weakest=view.direction(view.weakest, names), deviations=deviations,
        sensors=view.sensors(whole.outputs.names, input_names(whole)), gramian=view.gramian, empirical=moved,
        name=whole.name,
    )  # fmt: skip
    return result


# ---- one window


class View:
    """What one window shows: O with columns of length one, its singular values, the directions it does not show."""

    def __init__(self, stack: Array, ny: int, weights: Array, flow: Array) -> None:
        self.all, self.ny = stack, ny
        rows = stack / np.maximum(
            np.sqrt((stack * stack).sum(axis=(0, 2), keepdims=True)), 1e-300
        )  # outputs of equal say
        seen = (weights @ stack[:, :ny]).reshape(-1, stack.shape[2])
        self.gramian = seen.T @ seen
        lengths = np.sqrt(np.diag(self.gramian))
        # a column of nothing but rounding, against what could be seen of that state at all, is none
        share = np.sqrt((rows[:, :ny] ** 2).sum(axis=(0, 1)) / np.maximum((rows**2).sum(axis=(0, 1)), 1e-300))
        self.lengths = np.where(share > ROUNDING, lengths, 0.0)
        self.scale = np.where(self.lengths > 0, self.lengths, 1.0)
        columns = np.where(self.lengths > 0, seen / self.scale, 0.0)
        _, values, Vt = np.linalg.svd(np.vstack((columns, np.zeros((len(lengths), len(lengths))))), full_matrices=False)
        self.values, self.weakest = np.where(values > NOTHING * values[0], values, 0.0), Vt[-1]
        # rounding of the slopes grows with whatever the motion makes grow
        growth = max(1.0, float(np.linalg.norm(self.scale[:, None] * flow / self.scale, axis=(1, 2)).max()))
        self.rank = int(np.count_nonzero(values > UNSEEN * growth * max(values[0], 1e-300)))
        self.shares = np.sqrt((Vt[self.rank :] ** 2).sum(axis=0))
        self.unseen = _simple(Vt[self.rank :].T, self.lengths == 0)

    def direction(self, v: Array, names: tuple[str, ...]) -> dict[str, float]:
        """States and the amounts by which they change together; one of the largest."""
        largest = int(np.argmax(np.abs(v)))
        amounts = (v / self.scale) / (v[largest] / self.scale[largest])
        return {names[k]: float(amounts[k]) for k in np.argsort(-np.abs(v)) if abs(v[k]) > SHOWN * abs(v[largest])}

    def sensors(self, names: tuple[str, ...], last: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Further outputs that show what is not seen (or seen worst), best first; together where one is not enough.

        last : names to come after all others: of unknown forces, which are seldom measured.
        """
        hidden = self.unseen if self.unseen.shape[1] else self.weakest[:, None]
        if not self.unseen.shape[1] and self.values[-1] > WEAK:
            return ()
        hidden = np.linalg.qr(hidden)[0]
        further = self.all[:, self.ny :] / self.scale
        further = further / np.maximum(np.sqrt((further**2).sum(axis=(0, 2), keepdims=True)), 1e-300)
        blocks = [further[:, k] @ hidden for k in range(further.shape[1])]
        alone = [(k, float(np.linalg.svd(B)[1][-1])) for k, B in enumerate(blocks) if len(B) >= hidden.shape[1]]
        enough = [(k, value) for k, value in alone if value > CLEARLY]
        if enough:  # within a factor of three the order is that of the list
            enough.sort(
                key=lambda pair: (names[self.ny + pair[0]] in last, -round(float(np.log(pair[1]) / np.log(3.0))))
            )
            return tuple(((names[self.ny + k],), value) for k, value in enough[:MOST])
        together: list[int] = []
        rest = hidden
        while rest.shape[1]:
            gains = [np.linalg.svd(further[:, k] @ rest, full_matrices=False) for k in range(further.shape[1])]
            counts = [int(np.count_nonzero(value > CLEARLY)) for _, value, _ in gains]
            if not counts or max(counts) == 0:
                return ()
            k = counts.index(max(counts))
            together.append(k)
            Vt = np.linalg.svd(further[:, k] @ rest, full_matrices=True)[2]
            rest = rest @ Vt[counts[k] :].T
        value = float(np.linalg.svd(np.vstack([blocks[k] for k in together]))[1][-1])
        return ((tuple(names[self.ny + k] for k in together), value),)


def _simple(basis: Array, first: Array) -> Array:
    """The same space with few entries per direction: reduced, columns that nothing shows as the first pivots."""
    basis = basis.copy()
    done: list[int] = []
    for k in range(basis.shape[1]):
        size = np.abs(basis[:, k:]).max(axis=1) * np.where(first, 1e3, 1.0)
        size[done] = 0.0
        row = int(np.argmax(size))
        column = k + int(np.argmax(np.abs(basis[row, k:])))
        basis[:, [k, column]] = basis[:, [column, k]]
        basis[:, k] /= basis[row, k]
        others = [j for j in range(basis.shape[1]) if j != k]
        basis[:, others] -= np.outer(basis[:, k], basis[row, others])
        done.append(row)
    return np.asarray(basis / np.maximum(np.linalg.norm(basis, axis=0), 1e-300))


def _said(direction: Mapping[str, float]) -> str:
    names = list(direction)
    if len(names) == 1:
        return names[0]
    most = ", ".join(f"{name} by {direction[name]:.3g}" for name in names[1:6])
    return f"{names[0]} by 1 together with {most}{', ...' if len(names) > 6 else ''}"


# ---- what was given


def _process(model: Any, along: Any, outputs: Any, dt: float | None, options: dict[str, Any]) -> Process:
    if isinstance(model, Process):
        if outputs is not None or options:
            raise ModelError("a Process has its outputs and options already; leave them out.")
        return model
    if isinstance(model, EquationsOfMotion):
        options = {"steps": STEPS, **options}
        if isinstance(along, Record):
            options.setdefault("at", assemble(model, start=state_of_record(model, along)))
        elif isinstance(along, State):
            options.setdefault("at", along)
    return process(model, outputs=outputs, dt=dt, **options)


def _extended(model: Process, candidates: Any) -> tuple[Process, tuple[str, ...]]:
    """The process with everything else it could be asked for as further outputs."""
    known = model.reported if "report" in model.functions else model.carried
    skip = {*model.outputs.names, *_euler_parameters(model)}
    names = [name for name in _ordered(model, known.names) if name not in skip]
    if candidates is not None:
        wanted = [candidates] if isinstance(candidates, str) else list(candidates)
        chosen(wanted, known.names, "candidate")
        names = [name for name in wanted if name not in model.outputs.names]
    places = [known.index[name] for name in names]
    x, u = ca.SX.sym("x", model.nx), ca.SX.sym("u", model.nu)
    p, t = ca.SX.sym("p", len(model.parameters)), ca.SX.sym("t")
    if not model.functions["outputs"].is_a("SXFunction"):
        x, u, p, t = (ca.MX.sym(s.name(), s.shape[0]) for s in (x[0], u, p, t))
    more = model.functions["report"](x, u, p, t) if "report" in model.functions else x
    y = ca.vertcat(model.functions["outputs"](x, u, p, t), *[more[k] for k in places])
    functions = {**model.functions, "outputs": ca.Function("outputs", [x, u, p, t], [y])}
    units = [*model.outputs.units, *[known.units[k] for k in places]]
    channels = Channels([*model.outputs.names, *names], units)
    whole = replace(model, outputs=channels, functions=functions, wrapped=(False,) * len(channels))
    return whole, model.outputs.names


def _euler_parameters(model: Process) -> set[str]:
    if not isinstance(model.source, EquationsOfMotion):
        return set()
    return {model.source.coordinates.names[first + k] for first in model.source.rotations for k in range(4)}


def _ordered(model: Process, names: tuple[str, ...]) -> list[str]:
    """Sensors that are there already first, then coordinates of joints, of bodies, internal states; rates last."""
    eqs = model.source
    if not isinstance(eqs, EquationsOfMotion):
        return list(names)
    joints = [eqs.measures.names[k] for k in eqs.recorded_measures]
    groups = (eqs.outputs.names, joints, eqs.measures.names, eqs.coordinates.names, eqs.internal.names,
              eqs.measure_rates.names, eqs.speeds.names)  # fmt: skip
    place = {name: k for k, group in reversed(list(enumerate(groups))) for name in group}
    return sorted(names, key=lambda name: place.get(name, len(groups)))


def _motion(model: Process, along: Any, dt: float | None, samples: int) -> Motion:
    if isinstance(along, Record):
        if model.matrices is not None:  # the slopes are the same everywhere
            return Motion(np.array(along.time), np.zeros((len(along), model.nx)), np.zeros((len(along), model.nu)))
        return motion_of_record(model, along)
    dt = dt if dt is not None else model.dt
    if dt is None:
        raise DataError("without a record to go along, give dt=, the interval between samples [s].")
    if along is not None and not isinstance(along, State):
        raise DataError(f"along must be a Record or a State, got {type(along).__name__}.")
    return motion_from(model, model.start, along.t if along is not None else 0.0, float(dt), int(samples))


def _weights(R: Any, names: tuple[str, ...], stacked: Array) -> Array:
    """(ny, ny): outputs in units of their noise; of equal say where that is not known."""
    if R is not None:
        try:
            return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance("R", R, names, "output"))))
        except np.linalg.LinAlgError:
            raise DataError("R must be positive definite here: every output has some noise.") from None
    sizes = np.sqrt((stacked * stacked).sum(axis=(0, 1, 3)))
    return np.diag(1.0 / np.where(sizes > 0, sizes, 1.0))


def _amplitudes(given: Any, names: tuple[str, ...]) -> Array:
    if isinstance(given, Mapping):
        chosen(list(given), names, "state")
        return np.array([float(given.get(name, 1e-3)) for name in names])
    if not is_real(given) or not float(given) > 0:
        raise DataError(f"amplitude must be a positive number or a mapping of states to them, got {given!r}.")
    return np.full(len(names), float(given))
