"""The steps that all subspace methods share (Van Overschee and De Moor 1996).

Every method compresses the block-Hankel data once (``hankel_factor.py``) and takes the extended observability matrix Γ
from a projection of the future on the past (``projections.py``); then

    C, A    the first rows of Γ and its shift (for n4sid the same as two state sequences one sample apart)
    K, S    from the innovations of the future (``innovation_form.py``)
    B, D    least squares on the outputs (``input_matrices.py``)

Channels are scaled to unit root mean square first, so the result does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import instance
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.identify.model.identified import Identified, SubspaceSource
from dalembert.identify.records.checks import find_name
from dalembert.identify.records.data import Data, Detrend, read_data
from dalembert.identify.subspace.hankel_factor import choose_rows, compress_hankel, order_too_high
from dalembert.identify.subspace.innovation_form import correct_freedom, find_gain, find_inputs_and_noise
from dalembert.identify.subspace.projections import Projection, project, shift_invariance
from dalembert.identify.subspace.residuals import examine_residuals
from dalembert.identify.subspace.stabilization import choose_order, note_order
from dalembert.linear.state_space import StateSpace
from dalembert.record import Record

Names = str | Iterable[str]


def identify_subspace(
    method: str, record: Record | Sequence[Record] | Data, inputs: Names, outputs: Names | None, order: int | None,
    rows: int | None = None, feedthrough: bool = True, delays: Mapping[str, int] | None = None,
    detrend: Detrend = "none", *, examined: bool = True,
) -> Identified:  # fmt: skip
    """A model by one of INPUT_METHODS, with its findings; ``examined`` : with those on its order and residuals."""
    data = read_data.quiet(record, inputs, outputs, detrend=detrend, offset_takes_states=True, drift_matters=True)
    data.require_inputs(method)
    data = delay_inputs(data, delays or {})
    findings = data.check_order(order) if examined and order is not None else []
    projection, order, notes = project_data(data, method, order, rows)
    model, unexplained = find_model(data, projection, order, feedthrough, notes, findings, delays)
    if not examined:
        return model
    more = examine_residuals(
        data, model.system, moesp_finder(projection.hankel.rows, feedthrough), unexplained=unexplained
    )
    return model.replace(findings=(*model.findings, *more))


def find_model(
    data: Data, projection: Projection, order: int, feedthrough: bool = True, notes: Iterable[str] = (),
    findings: Iterable[Finding] = (), delays: Mapping[str, int] | None = None,
) -> tuple[Identified, float | None]:  # fmt: skip
    """A model of some order of projected data, and the share of the worst output that simulation leaves, if known."""
    if order < 1:
        raise DataError("no-motion", "the outputs follow the inputs at once: there is no motion to model.")
    findings = [*findings, *check_rank(projection, order)]
    if not data.nu:
        A, C, K, S, note = realize(projection, order)
        matrices = A, np.zeros((order, 0)), C, np.zeros((data.ny, 0)), K, S
        return make_model(data, projection, matrices, [*notes, note], findings), None
    gamma = projection.observability(order)
    A, C = shift_invariance(gamma)
    B, D, K, S, remarks, unexplained = find_inputs_and_noise(
        data, projection.hankel, A, gamma, projection.innovations, feedthrough
    )
    return make_model(data, projection, (A, B, C, D, K, S), [*notes, *remarks], findings, delays), unexplained


def moesp_finder(rows: int | None = None, feedthrough: bool = True) -> Callable[[Data, int], StateSpace]:
    """Data and order -> the model by MOESP."""

    def find(data: Data, order: int) -> StateSpace:
        enough = rows if rows is not None and (rows - 1) * data.ny >= order else None
        model = identify_subspace("moesp", data, (), None, order, enough, feedthrough, examined=False)
        return model.system

    return find


def project_data(data: Data, method: str, order: int | None, rows: int | None) -> tuple[Projection, int, list[str]]:
    """The compressed and projected data, the given or chosen order, and notes on both."""
    hankel = compress_hankel(data, choose_rows(data, order, rows))
    projection = project(hankel, method)
    notes = [hankel.note()]
    if order is None:
        choice = choose_order(projection)
        order = choice.order
        notes.append(choice.explanation)
    else:
        notes.append(note_order(projection, order))
    notes += note_few_data(data, order)
    return projection, order, notes


def realize(projection: Projection, order: int) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray, str]:
    """A, C, K, S of the scaled outputs, and a note on the gain."""
    hankel, gamma = projection.hankel, projection.observability(order)
    A, C = shift_invariance(gamma)
    K, S, note = find_gain(A, gamma, projection.innovations, correct_freedom(hankel))
    return A, C, K, S, note


def make_model(
    data: Data, projection: Projection,
    matrices: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray | None, FloatArray],
    notes: Iterable[str], findings: Iterable[Finding], delays: Mapping[str, int] | None = None,
) -> Identified:  # fmt: skip
    """The model in the units of the channels; matrices : A, B, C, D, K, S of the scaled channels."""
    A, B, C, D, K, S = matrices
    hankel = projection.hankel
    su, sy = hankel.scales[: data.nu], hankel.scales[data.nu :]
    system = StateSpace(
        A, B / su, sy[:, None] * C, sy[:, None] * D / su, data.dt, inputs=data.inputs, outputs=data.outputs,
        units={name: unit for name, unit in data.units.items() if unit and name in data.inputs + data.outputs},
    )  # fmt: skip
    return Identified(
        system, method=projection.method, gain=None if K is None else K / sy, innovation=S * np.outer(sy, sy),
        singular_values=projection.values, delays=delays, offsets=data.mean_levels(),
        notes=[*notes, f"singular_values: {projection.meaning}.", *note_instability(A)],
        findings=(*data.findings, *findings), subspace=SubspaceSource(projection.method, hankel.rows),
        provenance={**data.provenance, "method": projection.method, "rows": hankel.rows, "columns": hankel.columns,
                    "compression": hankel.how, "input levels": [float(size) for size in su]},
    )  # fmt: skip


def delay_inputs(data: Data, delays: Mapping[str, int]) -> Data:
    """Data with each input delayed, the first samples dropped."""
    instance(Mapping)("delays", delays)
    for name, count in delays.items():
        find_name("input", name, data.inputs, "delays", channel=name)
        whole_number(f"the delay of {name!r} in samples", count)
    most = int(max(delays.values(), default=0))
    if most == 0:
        return data
    data.require(most + 2, f"a delay of {most} samples", each=True)
    late = [int(delays.get(name, 0)) for name in data.inputs]
    u = tuple(np.column_stack([signal[most - d : len(signal) - d, j] for j, d in enumerate(late)]) for signal in data.u)
    return data.replace(u=u, y=tuple(signal[most:] for signal in data.y))


def check_rank(projection: Projection, order: int, rank_limit: float = 1e-12) -> list[Finding]:
    """Refuse an order above the rank that Γ can have; a finding on one above the rank that it has.

    rank_limit : singular values relative to the largest that are rounding: n ε, and n = 1800 rows (30 of 60 channels)
    give 4e-13.
    """
    hankel = projection.hankel
    room = min((hankel.rows - 1) * hankel.ny, len(projection.values))
    if order > room:
        raise order_too_high(hankel.rows, hankel.ny, room, order)
    rank = int(np.count_nonzero(projection.values > rank_limit * projection.values[0]))
    if order <= rank:
        return []
    problem = f"the data hold only {rank} states; of order {order} the others are rounding errors."
    return [Finding("order-too-high", problem, {}, {"rank": rank}, (Advice("Use {}.", Argument("order", rank)),))]


def note_few_data(data: Data, order: int, few: float = 5.0) -> list[str]:
    """A note where the samples hardly outnumber the unknowns."""
    unknowns = order * (data.nu + data.ny) + data.nu * data.ny
    if data.samples * data.ny >= few * unknowns:
        return []
    return [
        f"few data: {unknowns} unknowns of order {order} from {data.samples} samples of {data.ny} outputs; damping is "
        "poorly known."
    ]


def note_instability(A: FloatArray, growth: float = 1e-9) -> list[str]:
    """A note on an unstable A; no finding, because a machine under feedback may be unstable.

    growth : |z| - 1 of an undamped mode: rounding of a realization.
    """
    radius = float(np.abs(np.linalg.eigvals(A)).max())
    if radius <= 1.0 + growth:
        return []
    return [f"the model is unstable: largest |z| = {radius:.6f}. More rows or another order may help."]
