"""Markov parameters with names: read from an array, a result or an observer; their block Hankel matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import name_or_number, real_number, whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.identify.realization.hankel import hankel, too_few_parameters
from dalembert.identify.realization.okid import ObserverMarkov
from dalembert.identify.records.checks import require_finite
from dalembert.identify.spectral.markov import Markov

MarkovSource = ObserverMarkov | Markov | ArrayLike
Names = str | Iterable[str] | None


@dataclass(frozen=True)
class MarkovParameters:
    """Y_0, Y_1, ... (count, ny, nw) with the sample time [s], the names and units of the channels."""

    values: FloatArray
    dt: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


def markov_of_observer(observer: ObserverMarkov, count: int, combined: bool) -> MarkovParameters:
    """The first ``count`` parameters of an observer's model; with those of its gain where ``combined``."""
    values = observer.system_and_gain(count) if combined else observer.system(count)
    return MarkovParameters(
        values, observer.dt, observer.inputs, observer.outputs, observer.units, observer.notes, observer.provenance
    )


def read_markov(markov: MarkovSource, dt: float | None, inputs: Names, outputs: Names) -> MarkovParameters:
    """Markov parameters with names from an array, or from a result with ``values`` (count, ny, nw)."""
    try:
        values = np.asarray(getattr(markov, "values", markov), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            "not-a-number", f"Markov parameters must be numbers, got {type(markov).__name__}: {error}"
        ) from error
    if values.ndim == 1:
        values = values.reshape(-1, 1, 1)
    if values.ndim != 3 or len(values) < 4:
        raise DataError(
            "wrong-shape",
            f"Markov parameters have shape {values.shape}; expected (count, outputs, inputs), Y_0 first, at least four "
            "of them.",
        )
    require_finite(values, "some Markov parameters are not finite.")
    step = getattr(markov, "dt", None) if dt is None else dt
    if step is None:
        raise DataError(
            "missing-argument",
            "an array of Markov parameters has no sample time.",
            Advice("Give {} in seconds.", Argument("dt")),
            where={"argument": "dt"},
        )
    names_in = getattr(markov, "inputs", None) if inputs is None else inputs
    names_out = getattr(markov, "outputs", None) if outputs is None else outputs
    where = "these Markov parameters"
    return MarkovParameters(
        values, real_number("dt", step), name_or_number("input", names_in, "u", values.shape[2], where),
        name_or_number("output", names_out, "y", values.shape[1], where),
        dict(getattr(markov, "units", {}) or {}), tuple(getattr(markov, "notes", ())),
        dict(getattr(markov, "provenance", {}) or {}),
    )  # fmt: skip


def equalize_channels(values: FloatArray, unlike: float = 30.0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Markov parameters, and the sizes of outputs and inputs that were divided out; 1 where they are alike.

    Channels in units of very different size (metres beside accelerations) would hide each other's modes.

    unlike : channels whose Markov parameters differ more in size are scaled: a mode of the small one, 1/30 of the large
    one and measured with 1 % noise, would sink below the noise floor of the Hankel matrix.
    """
    rows, columns = np.sqrt(np.einsum("kij,kij->i", values, values)), np.sqrt(np.einsum("kij,kij->j", values, values))
    sizes = [np.where(size > 0.0, size, 1.0) for size in (rows, columns)]
    row_sizes, column_sizes = [size if size.max() > unlike * size.min() else np.ones(len(size)) for size in sizes]
    return values / row_sizes[:, None] / column_sizes, row_sizes, column_sizes


def hankel_matrix(markov: MarkovSource, rows: int, columns: int, shift: int = 0) -> FloatArray:
    """Block Hankel matrix H(shift) of Markov parameters: block (i, j) is Y_{shift+1+i+j}.

    Of a system it is the product of its observability matrix, A^shift and its controllability matrix
    (:func:`dalembert.linear.observability_matrix`, :func:`dalembert.linear.controllability_matrix`).

    Parameters
    ----------
    markov : as of :func:`era`, Y_0 first
    rows, columns : number of block rows and block columns
    shift : samples by which the first block is later than Y_1

    Returns
    -------
    (rows ny, columns nu)

    Examples
    --------
    >>> hankel_matrix([9.0, 1.0, 2.0, 3.0, 4.0], 2, 3).tolist()
    [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    """
    a, b, k = whole_number("rows", rows, 1), whole_number("columns", columns, 1), whole_number("shift", shift)
    need = a + b + k
    if isinstance(markov, ObserverMarkov):
        values = markov.system(need)
    else:
        values = read_markov(markov, getattr(markov, "dt", 1.0), None, None).values
    if len(values) < need:
        raise too_few_parameters(a, b, need - 1, len(values) - 1, "rows", "columns", "shift")
    return hankel(values[1:], a, b, k)
