"""From Markov parameters to a named model: window, order, realization by ERA or ERA/DC, observer gain.

From Y_k alone the model of noise-free data is exact for every observer order p. The combined form, which realizes
Γ_k = [Y_k, Yᵒ_k] at once, is biased for p > n/ny: the gain sequence of minimum norm is not that of an order-n system
(29 % error in the damping matrix of a three-storey frame). So Y_k is realized by default, and the gain found after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.identify.model.identified import Identified
from dalembert.identify.realization.hankel import SVD, choose_window, decompose, find_order, hankel, unstable_model
from dalembert.identify.realization.markov_parameters import (
    MarkovParameters,
    MarkovSource,
    Names,
    equalize_channels,
    markov_of_observer,
    read_markov,
)
from dalembert.identify.realization.observer_gain import find_stable_gain
from dalembert.identify.realization.okid import ObserverMarkov
from dalembert.linear.state_space import StateSpace


@dataclass(frozen=True)
class Realization:
    """A (n, n), B (n, nw), C (ny, n) and the singular values they come from."""

    A: FloatArray
    B: FloatArray
    C: FloatArray
    singular_values: FloatArray


Lags = tuple[int, int, int]
Method = Callable[[FloatArray, int, int, int, SVD | None, Lags | None], Realization]


@dataclass(frozen=True)
class HankelWindow:
    """Order, block rows and columns as given (None: chosen), and (γ, δ, τ) of ERA/DC or None."""

    order: int | None
    rows: int | None
    columns: int | None
    lags: tuple[int, int, int | None] | None

    def __post_init__(self) -> None:
        for name in ("order", "rows", "columns"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)


def realize(
    markov: MarkovSource, window: HankelWindow, name: str, method: Method,
    channels: tuple[float | None, Names, Names] = (None, None, None), *, combined: bool = False,
) -> Identified:  # fmt: skip
    """A model with findings to warn of. channels : sample time, names of inputs and outputs where not in ``markov``."""
    observer = markov if isinstance(markov, ObserverMarkov) else None
    if combined and observer is None:
        raise DataError(
            "wrong-type",
            "a combined realization needs the Markov parameters of an observer.",
            Advice("Use the result of {}.", Call("da.identify.okid")),
            where={"argument": "combined"},
        )
    parameters: MarkovParameters | None = None
    if observer is None:
        parameters = read_markov(markov, *channels)
        ny, nw, count, p = *parameters.values.shape[1:], len(parameters.values) - 1, 0
    else:
        ny, nu = observer.D.shape
        nw, count, p = nu + ny if combined else nu, None, observer.order
        name = f"OKID and {name}"
    a, b, lags = choose_window(count, ny, nw, window.order, window.rows, window.columns, window.lags, p)
    if parameters is None:
        assert observer is not None
        need = a + b + (lags[0] + lags[1]) * lags[2] + 2 if lags else a + b + 1
        parameters = markov_of_observer(observer, need, combined)
    values, row_sizes, column_sizes = equalize_channels(parameters.values[1:])
    n, why, svd, findings = _find_order(values, a, b, window.order, observer)
    realized = method(values, a, b, n, svd, lags)
    realized = Realization(
        realized.A, realized.B * column_sizes, realized.C * row_sizes[:, None], realized.singular_values
    )
    findings += unstable_model(realized.A)
    size = f"Hankel matrix of {a} x {b} blocks" + (
        f", correlations with gamma = {lags[0]}, delta = {lags[1]}, tau = {lags[2]}" if lags else ""
    )
    notes = [*parameters.notes, why, f"singular values of the {size}"]
    return _name_model(realized, parameters, observer, name, notes, findings, combined)


def _find_order(
    values: FloatArray, a: int, b: int, order: int | None, observer: ObserverMarkov | None, exact_share: float = 1e-9
) -> tuple[int, str, SVD | None, list[Finding]]:
    """Order, why, the SVD of H(0) where it was made, and findings."""
    if order is not None:
        return order, f"order {order} as given", None, []
    svd = decompose(hankel(values, a, b))  # correlations square them, which widens gaps between modes too
    most = len(svd[1]) // 2 or 1
    if observer is not None and observer.relative_residual.max() > exact_share:
        # the observer itself is a system of order p ny: with noise that gap is not one of the machine
        most = min(most, max(observer.order * len(observer.outputs) // 2, 1))
    n, why, findings = find_order(svd[1], most)
    return n, why, svd, findings


def _name_model(
    made: Realization, markov: MarkovParameters, observer: ObserverMarkov | None, method: str, notes: list[str],
    findings: list[Finding], combined: bool,
) -> Identified:  # fmt: skip
    nu, n = len(markov.inputs), len(made.A)
    units = {name: unit for name, unit in markov.units.items() if name in markov.inputs + markov.outputs}
    system = StateSpace(
        made.A, made.B[:, :nu], made.C, markov.values[0][:, :nu], dt=markov.dt, inputs=markov.inputs,
        outputs=markov.outputs, units=units,
    )  # fmt: skip
    gain = innovation = None
    if observer is not None:
        if combined and observer.order * len(markov.outputs) > n:
            problem = (
                f"combined realization with an observer longer than necessary (p = {observer.order}, order {n}, "
                f"{len(markov.outputs)} outputs): damping may be biased."
            )
            evidence, advice = {"observer_order": observer.order, "order": n}, Argument("combined", False)
            findings.append(Finding("biased-estimate", problem, {}, evidence, (Advice("Use {}.", advice),)))
            notes.append(problem)
        gain, innovation, note = find_stable_gain(system, observer, -made.B[:, nu:] if combined else None)
        notes.append(note)
    return Identified(
        system, method=method + (", combined" if combined else ""), gain=gain, innovation=innovation,
        singular_values=made.singular_values, notes=notes, findings=findings, provenance=markov.provenance,
    )  # fmt: skip
