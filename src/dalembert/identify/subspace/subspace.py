"""Subspace identification with inputs: MOESP, N4SID and CVA (Van Overschee and De Moor 1996).

Every method compresses the block-Hankel data once (``compress.py``), takes the extended observability matrix Γ from a
projection of the future on the past (``projections.py``), then

    C, A    the first rows of Γ and its shift (for n4sid the same as two state sequences one sample apart)
    K, S    from the innovations of the future (``innovation_form.py``)
    B, D    least squares on the outputs (``input_matrices.py``)

Channels are scaled to unit root mean square first, so the result does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.model.identified import Identified
from dalembert.identify.records.checks import IdentificationWarning
from dalembert.identify.records.data import Data, Detrend, collect_data
from dalembert.identify.subspace.hankel_factor import HankelFactor, compress_hankel
from dalembert.identify.subspace.innovation_form import driven_part, freedom, innovation_form
from dalembert.identify.subspace.misfit import find_doubt
from dalembert.identify.subspace.order import asked_order, choose_order
from dalembert.identify.subspace.projections import Projection, project, shift_invariance
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record

Names = str | Iterable[str]
METHODS = ("moesp", "n4sid", "cva")
# Fewer numbers per unknown are called few.
FEW = 5.0


def moesp(
    record: Record | Sequence[Record] | Data, inputs: Names = (), outputs: Names | None = None, *,
    order: int | None = None, rows: int | None = None, feedthrough: bool = True,
    delays: Mapping[str, int] | None = None, detrend: Detrend = "none",
) -> Identified:  # fmt: skip
    """State-space model by MOESP with past inputs and outputs as instruments (Verhaegen 1994).

    Parameters
    ----------
    record : Record, or several (repeated tests; no column of data spans two)
    inputs, outputs : channel names
        All channels that are no inputs when ``outputs`` is left out.
    order : int, optional
        Number of states; chosen from the data when left out, and the notes say why.
    rows : int, optional
        Block rows i of past and future: i·ny must exceed the order. More rows look further back (slow modes at high
        sample rates want more), at i² cost.
    feedthrough : bool
        Whether D is estimated; an accelerometer beside a force has one, displacement sensors have none.
    delays : mapping of an input to whole samples by which it acts late, optional
    detrend : "none", "mean" or "linear"
        Taken off each record first.

    Returns
    -------
    Identified, with the gain of the innovation form where the data are noisy.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> true = StateSpace([[0.9, 0.3], [-0.3, 0.9]], [1.0, 0.0], [1.0, 0.5], dt=0.1, inputs="force", outputs="sway")
    >>> force = Record(0.1 * np.arange(500), rng.normal(size=(500, 1)), ["force"], ["N"])
    >>> sway = true.response(force)
    >>> test = Record.from_channels(force.time, {"force": force["force"], "sway": sway["sway"]})
    >>> found = moesp(test, "force", "sway", order=2)
    >>> bool(np.allclose(found.system.poles().values, [0.9 - 0.3j, 0.9 + 0.3j]))
    True
    """
    return report(identify_by("moesp", record, inputs, outputs, order, rows, feedthrough, delays, detrend), record)


def n4sid(
    record: Record | Sequence[Record] | Data, inputs: Names = (), outputs: Names | None = None, *,
    order: int | None = None, rows: int | None = None, feedthrough: bool = True,
    delays: Mapping[str, int] | None = None, detrend: Detrend = "none",
) -> Identified:  # fmt: skip
    """State-space model by N4SID: oblique projection, two state sequences, least squares.

    The robust algorithm of Van Overschee and De Moor (1996): all that the future inputs explain is left out of the
    projection and of both state sequences, so periodic and coloured inputs do no harm. Done so, A and C are those of
    :func:`moesp` to rounding. B and D come from least squares on the outputs and not from the state sequences, whose
    truncated past biases them. Parameters as for :func:`moesp`.
    """
    return report(identify_by("n4sid", record, inputs, outputs, order, rows, feedthrough, delays, detrend), record)


def cva(
    record: Record | Sequence[Record] | Data, inputs: Names = (), outputs: Names | None = None, *,
    order: int | None = None, rows: int | None = None, feedthrough: bool = True,
    delays: Mapping[str, int] | None = None, detrend: Detrend = "none",
) -> Identified:  # fmt: skip
    """State-space model by canonical variate analysis (Larimore 1990): the future weighted by its own spread.

    The weighting suits outputs of very different noise. Parameters as for :func:`moesp`.
    """
    return report(identify_by("cva", record, inputs, outputs, order, rows, feedthrough, delays, detrend), record)


def report(found: Identified, record: Record | Sequence[Record] | Data) -> Identified:
    """Warn of the findings on a model, on behalf of the caller of its method; not of those of data read before."""
    known = record.findings if isinstance(record, Data) else ()
    IdentificationWarning.report((one for one in found.findings if one not in known), 2)
    return found


def identify_by(
    method: str, record: Record | Sequence[Record] | Data, inputs: Names, outputs: Names | None, order: int | None,
    rows: int | None, feedthrough: bool, delays: Mapping[str, int] | None, detrend: Detrend, *, examined: bool = True,
) -> Identified:  # fmt: skip
    """A model by one of METHODS, with its findings; ``examined`` : whether its order and residuals are examined."""
    whole = collect_data(record, inputs, outputs, detrend=detrend, offset_takes_states=True, drift_matters=True)
    whole.require_inputs(method)
    data = delayed(whole, delays or {})
    findings = data.check_order(order) if examined and order is not None else []
    projection, order, notes = projected(data, method, order, rows)
    findings += check_room(projection, order)
    hankel = projection.hankel
    gamma = projection.observability(order)
    A, C = shift_invariance(gamma)
    B, D, K, S, found, left = driven_part(data, hankel, A, gamma, projection.fresh, feedthrough)
    notes += [*found, f"singular_values: {projection.meaning}."]
    notes += growth(A)
    system = unscaled(data, hankel, A, B, C, D)
    if examined:
        findings += find_doubt(data, system, model_of(hankel.rows, feedthrough), unexplained=left)
    offsets = {} if whole.means is None else dict(zip(whole.inputs + whole.outputs, _level(whole), strict=True))
    sy = hankel.scales[data.nu :]
    return Identified(
        system, method=method, gain=None if K is None else K / sy, innovation=S * np.outer(sy, sy),
        singular_values=projection.values, delays=delays, offsets=offsets, notes=notes,
        findings=(*whole.findings, *findings),
        provenance={**whole.provenance, "method": method, "rows": hankel.rows, "columns": hankel.columns,
                    "compression": hankel.how},
    )  # fmt: skip


def model_of(rows: int | None = None, feedthrough: bool = True) -> Callable[[Data, int], StateSpace]:
    """Data and order -> the model by MOESP."""

    def made(data: Data, order: int) -> StateSpace:
        enough = rows if rows is not None and (rows - 1) * data.ny >= order else None
        return identify_by("moesp", data, (), None, order, enough, feedthrough, None, "none", examined=False).system

    return made


def projected(data: Data, method: str, order: int | None, rows: int | None) -> tuple[Projection, int, list[str]]:
    """The compressed and projected data, the order asked for or chosen, and notes on both."""
    hankel = compress_hankel(data, block_rows(data, order, rows))
    projection = project(hankel, method)
    notes = [hankel.note()]
    if order is None:
        choice = choose_order(projection)
        order = choice.order
        notes.append(choice.explanation)
    else:
        notes.append(asked_order(projection, order))
    notes += few_data(data, order)
    return projection, order, notes


def realize(projection: Projection, order: int) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray, str]:
    """A, C, K, S of the scaled outputs, and a note on the gain."""
    hankel, gamma = projection.hankel, projection.observability(order)
    A, C = shift_invariance(gamma)
    K, S, note = innovation_form(A, gamma, projection.fresh, freedom(hankel))
    return A, C, K, S, note


def unscaled(
    data: Data, hankel: HankelFactor, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray
) -> StateSpace:
    """The system in the units of the channels."""
    su, sy = hankel.scales[: data.nu], hankel.scales[data.nu :]
    return StateSpace(
        A, B / su, sy[:, None] * C, sy[:, None] * D / su, data.dt, inputs=data.inputs, outputs=data.outputs,
        units={name: unit for name, unit in data.units.items() if unit and name in data.inputs + data.outputs},
    )  # fmt: skip


def delayed(data: Data, delays: Mapping[str, int]) -> Data:
    """Data whose inputs are those that act: each late by its delay, the first samples dropped."""
    if not isinstance(delays, Mapping):
        raise DataError(f"delays are given by input, {{name: samples}}, not as {delays!r}.")
    for name, count in delays.items():
        if name not in data.inputs:
            raise DataError(unknown_name("input", name, data.inputs, "delays"))
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
            raise DataError(f"the delay of {name!r} must be a whole number of samples from 0 on, not {count!r}.")
    most = int(max(delays.values(), default=0))
    if most == 0:
        return data
    data.require(most + 2, f"a delay of {most} samples", each=True)
    late = [int(delays.get(name, 0)) for name in data.inputs]
    u = tuple(
        np.column_stack([part[most - d : len(part) - d, j] for j, d in enumerate(late)]) for part in data.u
    )  # fmt: skip
    return data.replace(u=u, y=tuple(part[most:] for part in data.y))


def block_rows(data: Data, order: int | None, rows: int | None) -> int:
    """i as given, or enough for twice the order and for some memory, within what the samples allow."""
    q = data.nu + data.ny
    # J >= 2iq columns, J = samples - (2i - 1) segments; half of that for a factor that is not all noise
    most = int((data.samples + data.segments) / (2.0 * (q + data.segments)))
    most = min(most, min(data.lengths) // 2)
    if rows is not None:
        if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 2:
            raise DataError(f"rows must be a whole number from 2 on, not {rows!r}.")
        if order is not None and (rows - 1) * data.ny < order:
            raise DataError(
                f"{rows} block rows of {data.ny} outputs hold models up to order {(rows - 1) * data.ny}, not {order}. "
                f"Use rows={order // data.ny + 2} or more."
            )
        return int(rows)
    wanted = 30 if order is None else max(30, -(-2 * order // data.ny) + 1)
    least = 2 if order is None else -(-order // data.ny) + 1
    return max(least, min(wanted, most // 2 if most // 2 >= least else most))


def check_room(projection: Projection, order: int) -> list[Finding]:
    """Refuse an order above the rank that Γ can have; a finding on one above the rank that it has."""
    hankel = projection.hankel
    room = min((hankel.rows - 1) * hankel.ny, len(projection.values))
    if order > room:
        raise DataError(
            "order-too-high",
            f"{hankel.rows} block rows of {hankel.ny} outputs hold models up to order {room}, not {order}.",
            Advice("Use more {}.", Argument("rows")),
            evidence={"rows": hankel.rows, "largest_order": room},
        )
    seen = int(np.count_nonzero(projection.values > 1e-12 * projection.values[0]))
    if order <= seen:
        return []
    problem = f"the data hold only {seen} states; of order {order} the others are rounding errors."
    return [Finding("order-too-high", problem, {}, {"rank": seen}, (Advice("Use {}.", Argument("order", seen)),))]


def few_data(data: Data, order: int) -> list[str]:
    """A note where the samples hardly outnumber what is sought."""
    unknowns = order * (data.nu + data.ny) + data.nu * data.ny
    if data.samples * data.ny >= FEW * unknowns:
        return []
    return [
        f"few data: {unknowns} unknowns of order {order} from {data.samples} samples of {data.ny} outputs; damping is "
        "poorly known."
    ]


def growth(A: FloatArray) -> list[str]:
    """A note on an unstable A; no warning, for machines under feedback are identified so too."""
    radius = float(np.abs(np.linalg.eigvals(A)).max())
    if radius <= 1.0 + 1e-9:
        return []
    return [f"the model is unstable: largest |z| = {radius:.6f}. More rows or another order may help."]


def _level(data: Data) -> Any:
    """Mean of the levels taken off the records, (q,)."""
    assert data.means is not None
    return np.mean(np.array(data.means), axis=0).tolist()
