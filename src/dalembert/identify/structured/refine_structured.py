"""Maximum-likelihood estimate of unknown numbers in a second-order model from records.

y = outputs of the model + white noise, independent from output to output, of unknown variance. Scaled
Levenberg-Marquardt with exact sensitivities (:mod:`dalembert.identify.structured.likelihood`).
What the data cannot tell: eigenvectors of the information, scaled to ones on its diagonal, of eigenvalue zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.core import progress as progress_
from dalembert.core.arguments import names_or_numbered
from dalembert.core.arrays import FloatArray, Frozen
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.tables import aligned
from dalembert.core.text import listed
from dalembert.identify.likelihood.uncertainty import modal_slopes
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.data import Data, IdentificationWarning, read_data
from dalembert.identify.structured.likelihood import Place, StructuredAscent
from dalembert.identify.structured.model import BuiltModel, StructuredModel, sampled
from dalembert.identify.structured.short_windows import Windows, stages
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.numerics import ties
from dalembert.record import Record

CLOSE, LOOSE = 1e-6, 1e-2  # squared length of the last step, in standard deviations: at the end, and on the way
SINGULAR = 1e-11  # eigenvalue of the scaled information that counts as zero
MOST_NAMED = 8  # unknowns of a direction that a message lists
PART = 1e-3  # share of an unknown in a direction from which on it belongs to it


class StructuredFit(Frozen):
    """Unknown numbers found from records; frozen.

    Attributes
    ----------
    parameters : mapping of a name to its value
    deviations : mapping of a name to its standard deviation; infinite where the data cannot tell it
    covariance : (k, k)
        In the order of ``parameters``, of what the data can tell.
    hidden : texts
        Combinations of unknowns that the data cannot tell.
    system : SecondOrder or StateSpace
        At the found values.
    identified : Identified
        The same, sampled, with standard deviations of its modes.
    cost : (before, after)
        N/2 Σ ln of the residual variances.
    """

    parameters: Mapping[str, float]
    deviations: Mapping[str, float]
    covariance: FloatArray
    hidden: tuple[str, ...]
    system: SecondOrder | StateSpace
    identified: Identified
    cost: tuple[float, float]
    iterations: int
    converged: bool

    def __init__(self, **fields: Any) -> None:
        self._freeze(**fields)

    def table(self) -> str:
        """Value and standard deviation of each unknown."""
        rows = []
        for name, value in self.parameters.items():
            spread = self.deviations[name]
            known = np.isfinite(spread)
            share = f"{100.0 * spread / abs(value):.2g}" if known and value else "-"
            rows.append((f"{value:.6g}", f"{spread:.2g}" if known else "not told", share, name))
        lines = [aligned(("value", "±", "± %", "unknown"), rows)]
        return "\n".join([*lines, *(f"  - {text}" for text in self.hidden)])

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return f"StructuredFit: {len(self.parameters)} unknowns, {self.iterations} iterations, {end}\n{self.table()}"


def refine_structured(
    build: StructuredModel | Callable[[FloatArray], SecondOrder | StateSpace],
    theta0: Mapping[str, float] | ArrayLike | None,
    record: Record | Sequence[Record] | Data,
    *,
    names: Sequence[str] | None = None,
    hold: str = "zero",
    start: str = "estimate",
    iterations: int = 100,
    progress: progress_.Setting = None,
) -> StructuredFit:
    """Unknown masses, stiffnesses, dampers of a model from records, with standard deviations.

    Parameters
    ----------
    build : StructuredModel, or a function θ (k,) -> SecondOrder or continuous StateSpace
        Derivatives are exact for a StructuredModel; of a function its matrices are differenced.
    theta0 : values by name, or (k,)
        Where to begin; ``None``: the values in the StructuredModel.
    record : Record, several of the same system, or Data
        With the inputs and outputs of the system, by name.
    names : of the unknowns of a function
    hold : "zero" or "first"
        Inputs constant over each step, or linear.
    start : "estimate" or "zero"
        State at the first sample of each record.
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.

    Returns
    -------
    StructuredFit
        Warns (:class:`IdentificationWarning`) of unknowns that the data cannot tell.

    Examples
    --------
    >>> from dalembert.identify import StructuredModel, Unknown
    >>> known = SecondOrder([[2.0]], [[0.0]], B=[1.0], coordinates=["x"], inputs=["force"])
    >>> model = StructuredModel(known, [Unknown("k", 70.0, K=[[1.0]]), Unknown("c", 0.5, C=[[1.0]])])
    >>> force = np.random.default_rng(1).standard_normal(500)
    >>> time = 0.05 * np.arange(500)
    >>> truth = model.system({"k": 80.0, "c": 0.3})
    >>> run = truth.response(Record.from_channels(time, {"force": force}), hold="zero")
    >>> test = Record.from_channels(time, {"force": force, "x": run["x"]})
    >>> {name: round(value, 6) for name, value in refine_structured(model, None, test).parameters.items()}
    {'k': 80.0, 'c': 0.3}
    """
    for label, value, known in (("hold", hold, ("zero", "first")), ("start", start, ("estimate", "zero"))):
        if value not in known:
            raise DataError(f"{label} must be {' or '.join(map(repr, known))}, not {value!r}.")
    model, theta = _model(build, theta0, names)
    first = model.system(theta)
    data = record if isinstance(record, Data) else read_data(record, first.inputs, first.outputs)
    if data.inputs != first.inputs or data.outputs != first.outputs:
        raise DataError(
            f"the data have channels {data.inputs + data.outputs}, the model {first.inputs + first.outputs}."
        )
    ascent = StructuredAscent(data.u, data.y, estimate=start == "estimate")
    with progress_.Progress(progress, "fitting the structure") as bar:
        places, converged = _ascend(model, ascent, theta, data.dt, hold, iterations, bar)
    return _result(model, places, converged, data, hold)


def _model(build: Any, theta0: Any, names: Sequence[str] | None) -> tuple[StructuredModel | BuiltModel, FloatArray]:
    if isinstance(build, StructuredModel):
        return build, build.vector(theta0)
    if not callable(build):
        raise DataError(f"build must be a StructuredModel or a function, got {type(build).__name__}.")
    if theta0 is None:
        raise DataError("a function needs theta0, the values to begin from.")
    if isinstance(theta0, Mapping):
        labels: tuple[str, ...] = tuple(theta0)
        theta = np.array([float(value) for value in theta0.values()])
    else:
        theta = np.array(theta0, dtype=np.float64).reshape(-1)
        labels = names_or_numbered("unknown", names, "theta", len(theta), "build")
    if not theta.size or not np.isfinite(theta).all():
        raise DataError("theta0 must hold at least one number, all finite.")
    return BuiltModel(build, theta, labels), theta


def _ascend(
    model: StructuredModel | BuiltModel, ascent: StructuredAscent, theta: FloatArray, dt: float, hold: str, most: int,
    bar: progress_.Progress,
) -> tuple[list[Place], bool]:  # fmt: skip
    """Places from the start to the summit, and whether it is one: over windows that grow, then over all data."""

    def whole(at: FloatArray) -> Place:
        system = sampled(model.continuous(at), dt, hold)
        return ascent.look(system, at, np.zeros((len(ascent.y), len(system.phi))), settle=True)

    first = whole(theta)
    near, states = theta, first.starts.shape[1]
    lengths = stages(max(map(len, ascent.y)), states, ascent.y[0].shape[1])
    for i, length in enumerate(lengths):
        bar.update(i / (len(lengths) + 2))
        windows = Windows.spread(ascent.u, ascent.y, length, len(theta) + 1)

        def brief(at: FloatArray, windows: Windows = windows) -> Place:
            return windows.look(sampled(model.continuous(at), dt, hold), at)

        near = _climb(brief, near, windows.samples, 10, LOOSE)[0][-1].theta
    begin = whole(near)
    near = near if begin.value < first.value else theta
    if not np.isfinite(min(begin.value, first.value)):
        raise ConvergenceError("the model at theta0 grows beyond the number range over the record; begin elsewhere.")
    places, converged = _climb(whole, near, ascent.samples, most, CLOSE)
    return [first, *places], converged


def _climb(
    look: Callable[[FloatArray], Place], theta: FloatArray, samples: int, most: int, close: float
) -> tuple[list[Place], bool]:
    """Levenberg-Marquardt from θ."""
    here = look(theta)
    places, damping = [here], 1e-3
    if not np.isfinite(here.value):
        return places, False
    for _ in range(most):
        while True:
            step, length = _step(here, damping)
            if length < close:
                return places, True
            if damping > 1e10:
                return places, False
            try:
                there = look(here.theta + step)
            except DataError:  # a singular mass matrix on the way
                there = None
            if there is not None and there.value < here.value:
                break
            if there is not None and 0.5 * length < 1e-11 * samples and np.isfinite(there.value):
                return places, True
            damping *= 10.0
        here, damping = there, max(0.1 * damping, 1e-12)
        places.append(here)
    return places, _step(here, 0.0)[1] < close


def _scaled(place: Place) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Eigenvalues and vectors of the information scaled to ones on its diagonal, and the scales."""
    scale = np.sqrt(np.maximum(np.diag(place.information), 0.0))
    back = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    values, vectors = scipy.linalg.eigh(place.information * back[:, None] * back)
    return values, vectors, back


def _step(place: Place, damping: float) -> tuple[FloatArray, float]:
    """Damped step within what the data can tell, and its squared length in standard deviations."""
    values, vectors, back = _scaled(place)
    keep = values > SINGULAR
    along = vectors[:, keep].T @ (back * place.gradient) / (values[keep] + damping)
    step = back * (vectors[:, keep] @ along)
    return step, float(along @ (values[keep] * along))


def _result(
    model: StructuredModel | BuiltModel, places: list[Place], converged: bool, data: Data, hold: str
) -> StructuredFit:
    end, k = places[-1], len(model.names)
    used = k / data.ny + (end.starts.size / data.ny if end.follow.any() else 0.0)
    correction = data.samples / max(data.samples - used, 1.0)
    values, vectors, back = _scaled(end)
    keep = values > SINGULAR
    half = back[:, None] * vectors[:, keep] / np.sqrt(values[keep])
    covariance = correction * half @ half.T
    hidden, lost = _hidden(end, vectors[:, ~keep], back, model.names)
    spread = np.where(lost, np.inf, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
    for text in hidden:
        warnings.warn(text, IdentificationWarning, stacklevel=3)
    if not converged:
        warnings.warn("the structured fit did not converge; allow more iterations or begin elsewhere.",
                      IdentificationWarning, stacklevel=3)  # fmt: skip
    system = model.system(end.theta)
    identified = _identified(model, end, covariance, correction * end.noise, data, hold, system, hidden)
    return StructuredFit(
        parameters=dict(zip(model.names, map(float, end.theta), strict=True)),
        deviations=dict(zip(model.names, map(float, spread), strict=True)), covariance=covariance, hidden=hidden,
        system=system, identified=identified, cost=(places[0].value, end.value), iterations=len(places) - 2,
        converged=converged,
    )  # fmt: skip


def _hidden(
    place: Place, null: FloatArray, back: FloatArray, names: Sequence[str]
) -> tuple[tuple[str, ...], np.ndarray[Any, np.dtype[np.bool_]]]:
    """What the data cannot tell, in words, and which unknowns take part."""
    dead = back == 0.0
    lost, texts = dead.copy(), []
    if dead.any():
        which = ", ".join(repr(name) for name, gone in zip(names, dead, strict=True) if gone)
        texts.append(f"the data cannot tell {which}: the outputs do not depend on it. Hold it at a known value.")
    moving = null[:, np.abs(null[~dead]).max(axis=0, initial=0.0) > 0.5 / np.sqrt(len(names))] if null.size else null
    if moving.size and not dead.all():
        size = np.where(place.theta != 0.0, place.theta, 1.0)
        # rows without fill: each direction with as few unknowns as can be
        basis = _reduced((back[:, None] * moving / size[:, None]).T)
        for row in basis:
            member = np.abs(row) > PART * np.abs(row).max()
            lost |= member
            ratio = row[member] / row[member][ties.first_largest(row[member])]
            members = [repr(name) for name, is_in in zip(names, member, strict=True) if is_in]
            shown = listed(members, {}, most=MOST_NAMED)
            more = " ..." if len(ratio) > MOST_NAMED else ""
            parts = " : ".join(f"{value:.3g}" for value in ratio[:MOST_NAMED]) + more
            texts.append(
                f"the data cannot tell {shown} apart: relative changes in the ratio {parts} leave the outputs as they "
                "are. Hold one of them at a known value, or measure more."
            )
    return tuple(texts), lost


def _reduced(rows: FloatArray) -> FloatArray:
    """Reduced row echelon form, by the largest pivot."""
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    done: list[int] = []
    for _ in range(len(rows)):
        left = [i for i in range(len(rows)) if i not in done]
        i, j = np.unravel_index(int(ties.first_largest(rows[left].ravel())), (len(left), rows.shape[1]))
        pivot = left[int(i)]
        rows[pivot] = rows[pivot] / rows[pivot, j]
        others = np.arange(len(rows)) != pivot
        rows[others] -= np.outer(rows[others, j], rows[pivot])
        done.append(pivot)
    return np.where(np.abs(rows) < 1e-6, 0.0, rows)


def _identified(
    model: StructuredModel | BuiltModel, end: Place, covariance: FloatArray, noise: FloatArray, data: Data, hold: str,
    system: SecondOrder | StateSpace, hidden: tuple[str, ...],
) -> Identified:  # fmt: skip
    """The sampled system with the deviations of its modes: ds = wᴴ (∂A) v."""
    inner = system.state_space() if isinstance(system, SecondOrder) else system
    discrete = inner.to_discrete(data.dt, "zoh" if hold == "zero" else "foh")
    fit = Identified(
        discrete, method="structured fit", gain=np.zeros((discrete.nx, discrete.ny)), innovation=np.diag(noise),
        notes=hidden, provenance={**data.provenance, "deviations": "Fisher information"},
    )  # fmt: skip
    modes = fit.underdamped().eigenvalues
    at = model.continuous(end.theta)
    values, V = np.linalg.eig(at.A)
    if not len(modes) or np.linalg.cond(V) > 1e10:
        return fit
    W = np.linalg.inv(V)
    nearest = [int(np.argmin(np.abs(values - s))) for s in modes]
    ds = np.einsum("im,kmn,ni->ik", W[nearest], at.dA, V[:, nearest], optimize=True)
    slopes = modal_slopes(modes) @ np.stack([ds.real, ds.imag], axis=1).reshape(2 * len(modes), -1)
    spread = slopes @ covariance @ slopes.T
    root = np.sqrt(np.maximum(np.diag(spread), 0.0))
    return fit.replace(covariance=spread, frequency_deviations=root[0::2], damping_deviations=root[1::2])
