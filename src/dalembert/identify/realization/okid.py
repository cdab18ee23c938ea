"""OKID: Markov parameters through those of an observer (Juang, Phan, Horta and Longman 1993).

An observer x̂⁺ = A x̂ + B u - G (y - ŷ) makes the response short, Ā = A + G C, Āᵖ ≈ 0, so that

    y(k) + Σ_{j=1}^p Ȳ²_j y(k-j) = D u(k) + Σ_{j=1}^p Ȳ¹_j u(k-j),    Ȳ¹_j = C Ā^{j-1} (B + G D),  Ȳ²_j = C Ā^{j-1} G

is found by least squares. The parameters of the machine and of the gain follow one after the other:

    Y_0 = D    Y_k  = Ȳ¹_k - Σ_{j=1}^{min(k,p)} Ȳ²_j Y_{k-j}          Y_k  = C A^{k-1} B
               Yᵒ_k = Ȳ²_k - Σ_{j=1}^{min(k-1,p)} Ȳ²_j Yᵒ_{k-j}       Yᵒ_k = C A^{k-1} G

(Ȳ¹_k, Ȳ²_k are zero for k > p). G = -K, K the gain of the innovation form. The order p is chosen from the data:
Akaike's N ln det Σ(p) + 2 (number of unknowns) falls as long as a longer observer explains more than noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import matrix, name_or_number, one_of, whole_number
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.declare import checked, count
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.tables import align_columns
from dalembert.identify.realization.arx_regression import Triangle, factor_regressors
from dalembert.identify.records.checks import require_samples
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.record import Record

Start = Literal["unknown", "rest"]

Pulses = Annotated[int, count(1, 10_000_000), "samples of the pulse response: 80 MB for each pair of channels"]


@frozen(init=False)
class ObserverMarkov:
    """Observer Markov parameters, and those of the machine and of the gain that follow; frozen.

    D : (ny, nu); forward : (p, ny, nu), Ȳ¹; backward : (p, ny, ny), Ȳ²; residual : (ny, ny), covariance of the
    residual; samples : how many it was found from; rank, unknowns : of the least squares; criterion : (P,)
    Akaike's for p = 1 ... P, less its smallest value, or None where p was given.
    """

    D: FloatArray
    forward: FloatArray
    backward: FloatArray
    residual: FloatArray
    levels: FloatArray
    dt: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    samples: int
    rank: int
    unknowns: int
    criterion: FloatArray | None
    units: Mapping[str, str]
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def __init__(
        self, D: ArrayLike, forward: ArrayLike, backward: ArrayLike, *, residual: ArrayLike | None = None,
        levels: ArrayLike | None = None, dt: float, inputs: Iterable[str] | None = None,
        outputs: Iterable[str] | None = None, samples: int = 0, rank: int | None = None, unknowns: int | None = None,
        criterion: ArrayLike | None = None, units: Mapping[str, str] | None = None, notes: Iterable[str] = (),
        provenance: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        ahead, back = np.array(forward, dtype=np.float64), np.array(backward, dtype=np.float64)
        if ahead.ndim != 3 or back.shape != (*ahead.shape[:2], ahead.shape[1]) or not len(ahead):
            raise DataError(
                "wrong-shape",
                f"forward has shape {ahead.shape} and backward {back.shape}; expected (p, ny, nu) and (p, ny, ny).",
            )
        p, ny, nu = ahead.shape
        names_in = name_or_number("input", inputs, "u", nu, "this ObserverMarkov")
        names_out = name_or_number("output", outputs, "y", ny, "this ObserverMarkov")
        size = nu + (nu + ny) * p if unknowns is None else unknowns
        assign(
            self, D=matrix("D", D, ny, nu, "outputs by inputs"), forward=ahead, backward=back,
            residual=np.zeros((ny, ny)) if residual is None else np.array(residual, dtype=np.float64),
            levels=np.ones(ny) if levels is None else np.array(levels, dtype=np.float64), dt=float(dt),
            inputs=names_in, outputs=names_out, samples=samples, rank=size if rank is None else rank, unknowns=size,
            criterion=None if criterion is None else np.array(criterion, dtype=np.float64),
            units=dict(units or {}), notes=tuple(notes), provenance=provenance or {},
        )  # fmt: skip

    @property
    def order(self) -> int:
        """p, the number of past samples that the observer uses."""
        return len(self.forward)

    @property
    def observer(self) -> FloatArray:
        """Ȳ_k = [Ȳ¹_k, -Ȳ²_k] for k = 1 ... p, (p, ny, nu + ny)."""
        return np.concatenate([self.forward, -self.backward], axis=2)

    @checked
    def system(self, count: Pulses) -> FloatArray:
        """Y_0 ... Y_{count-1}, (count, ny, nu): the pulse response of the machine."""
        return self.system_and_gain(count)[:, :, : len(self.inputs)]

    @checked
    def gain(self, count: Pulses) -> FloatArray:
        """Yᵒ_1 ... Yᵒ_count, (count, ny, ny)."""
        return self.system_and_gain(count + 1)[1:, :, len(self.inputs) :]

    @checked
    def system_and_gain(self, count: Pulses) -> FloatArray:
        """Γ_k = [Y_k, Yᵒ_k] for k = 0 ... count - 1, (count, ny, nu + ny); Yᵒ_0 = 0."""
        return system_markov(self.D, self.forward, self.backward, count)

    @property
    def relative_residual(self) -> FloatArray:
        """Root mean square of the residual, relative to that of each output, (ny,)."""
        return np.sqrt(np.maximum(np.diag(self.residual), 0.0)) / np.where(self.levels > 0.0, self.levels, 1.0)

    def table(self) -> str:
        """Residual of every output, and the notes."""
        rows = [
            [name, f"{100 * residual:.3g}"] for name, residual in zip(self.outputs, self.relative_residual, strict=True)
        ]
        return "\n".join([align_columns(["output", "residual [%]"], rows), *(f"  - {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"ObserverMarkov: order {self.order}, {self.samples} samples, dt = {self.dt:g} s\n{self.table()}"


def system_markov(D: FloatArray, forward: FloatArray, backward: FloatArray, count: int) -> FloatArray:
    """[Y_k, Yᵒ_k], (count, ny, nu + ny), k = 0 ... count - 1.

    D : (ny, nu); forward : (p, ny, nu); backward : (p, ny, ny).
    """
    p, ny, nu = forward.shape
    result = np.zeros((count + p, ny, nu + ny))  # p zeros in front stand for k < 0
    result[p, :, :nu] = D
    result[p + 1 : 2 * p + 1, :, :nu] = forward[: count - 1]
    result[p + 1 : 2 * p + 1, :, nu:] = backward[: count - 1]
    # newest first in ``backward``, oldest first in the past: reverse once
    weights = backward[::-1].transpose(1, 0, 2).reshape(ny, p * ny)
    for k in range(p + 1, count + p):
        result[k] -= weights @ result[k - p : k].reshape(p * ny, nu + ny)
    return result[p:]


def okid(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, observer_order: int | None = None, order: int | None = None,
    start: Start = "unknown", feedthrough: bool = True, unscaled: bool = False,
) -> ObserverMarkov:  # fmt: skip
    """Observer, system and gain Markov parameters from records (OKID).

    Memory does not grow with the number of samples; data without noise (rank deficient) get the solution of minimum
    norm.

    Parameters
    ----------
    record, inputs, outputs
        See :func:`read_data`; repeated tests stay apart.
    observer_order : int, optional
        p; p times the number of outputs is the highest order that can be found. Chosen by Akaike's criterion when left
        out; the notes give the reason.
    order : int, optional
        Order of the model that is wanted: a lower bound for the automatic p.
    start : "unknown" or "rest"
        Whether the machine was at rest before the first sample of every record. If unknown, the first p samples of
        each serve as past only.
    feedthrough : bool
        Whether an input acts on an output within the same sample (accelerations do).
    unscaled : bool
        Take the minimum norm over the channels in their own units instead of over channels of unit size.

    Returns
    -------
    ObserverMarkov
    """
    data = read_data(record, inputs, outputs)
    observer, findings = find_observer(data, observer_order, order, start, feedthrough, unscaled=unscaled)
    IdentificationWarning.report(findings)
    return observer


def find_observer(
    data: Data, observer_order: int | None, order: int | None, start: Start, feedthrough: bool = True, *,
    unscaled: bool = False, known: dict[int, Triangle] | None = None,
) -> tuple[ObserverMarkov, list[Finding]]:  # fmt: skip
    """OKID of data that were read, and findings to warn of; arguments as for :func:`okid`.

    known : factors by their order, which contain shorter observers too; those made here are added
    """
    known = {} if known is None else known
    data.require_inputs("OKID")
    one_of("start", start, ("unknown", "rest"))
    least = 1 if order is None else -(-whole_number("order", order, 1) // data.ny)

    def factorize(p: int) -> Triangle:
        from_rest = start == "rest"
        triangle = factor_regressors(data.u, data.y, p, rest=from_rest, feedthrough=feedthrough, equal_scale=unscaled)
        return known.setdefault(p, triangle)

    if observer_order is None:
        factor, p, criterion, reason = _choose_length(data, least, factorize)
    else:
        p = _check_length(data, observer_order, least)
        longer = [order for order in known if order >= p]
        factor = known[min(longer)] if longer else factorize(p)
        criterion, reason = None, f"observer of order {p} as given"
    coefficients, rank, condition = factor.solve(p)
    notes = [reason]
    if rank < factor.columns(p):
        notes.append(
            f"the regressors have rank {rank} of {factor.columns(p)}: data without noise, or inputs of few "
            "frequencies; the parameters are those of minimum norm"
        )
    findings = _lost_inputs(data, factor.order) if start == "unknown" else []
    level = np.sqrt(sum(np.einsum("ij,ij->j", y, y) for y in data.y) / data.samples)
    freedom = max(factor.rows - rank, 1)
    observer = ObserverMarkov(
        *_split(coefficients, data.nu, data.ny, p, feedthrough), residual=factor.residual(p) / freedom, levels=level,
        dt=data.dt, inputs=data.inputs, outputs=data.outputs, samples=factor.rows, rank=rank,
        unknowns=factor.columns(p), criterion=criterion, units=data.units, notes=notes,
        provenance={**data.provenance, "least squares": factor.way, "condition number": condition, "start": start},
    )  # fmt: skip
    return observer, findings


def _split(
    coefficients: FloatArray, nu: int, ny: int, p: int, feedthrough: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """D (ny, nu), Ȳ¹ (p, ny, nu), Ȳ² (p, ny, ny) of the coefficients [D, Ȳ¹_1, -Ȳ²_1, ...]."""
    D = coefficients[:, :nu] if feedthrough else np.zeros((ny, nu))
    lags = coefficients[:, nu if feedthrough else 0 :].reshape(ny, p, nu + ny).transpose(1, 0, 2)
    return D, lags[:, :, :nu], -lags[:, :, nu:]


def _check_length(data: Data, p: int, least: int) -> int:
    whole_number("observer_order", p, 1)
    if p < least:
        raise DataError(
            "order-too-high",
            f"an observer of order {p} with {data.ny} outputs finds at most order {p * data.ny}.",
            Advice("Use {} or more.", Argument("observer_order", least)),
        )
    data.require(p + data.nu + (data.nu + data.ny) * p, f"an observer of order {p}")
    return int(p)


def _longest(data: Data, samples_per_unknown: int = 4, unknowns: int = 2000) -> int:
    """The longest observer that the samples and the computing time allow.

    samples_per_unknown : samples per unknown: the variance of the residual is then known to √(2/(3 unknowns)).
    unknowns : unknowns per output: a factor of 2000 columns takes seconds.
    """
    c = data.nu + data.ny
    by_samples = (data.samples // samples_per_unknown - data.nu) // c
    return max(1, min(by_samples, unknowns // c, min(data.lengths) // 2))


def _choose_length(
    data: Data, least: int, factorize: Callable[[int], Triangle], first: int = 20, lengthening: int = 2,
    close: float = 0.8,
) -> tuple[Triangle, int, FloatArray, str]:  # fmt: skip
    """Lengthen the observer until the criterion has its minimum well inside the orders that were tried.

    first : the first trial: two periods at ten samples per period.
    lengthening : the realization leaves out the noise that a longer observer lets in, but not the bias of a short one:
    twice the order of the criterion came within 15 % of the Cramer-Rao bound of damping (three-storey frame), once the
    order gave twice the bound.
    close : best order over the longest tried, from which on the criterion is still falling: four times as many are
    tried.
    """
    most = _longest(data)
    require_samples(
        most, least,
        f"the requested order needs an observer of {least} steps, but {data.samples} samples of "
        f"{data.nu + data.ny} channels allow {most}.",
        Advice("Measure longer, use a lower order, or give {}.", Argument("observer_order")),
    )  # fmt: skip
    longest = min(most, max(first, 2 * least))
    while True:
        factor = factorize(longest)
        best, values, exact = choose_order(factor, least)
        if exact or longest == most or lengthening * best <= longest:
            break
        longest = min(max(lengthening * best, 4 * longest if best > close * longest else 0), most)
    if exact:
        reason = f"observer of order {best}: the shortest that leaves nothing but rounding, so the data have no noise"
        return factor, best, values, reason
    p = min(lengthening * best, longest)
    if p == lengthening * best:
        reason = f"observer of order {p}: {lengthening} x {best}, the order of Akaike's criterion"
        return factor, p, values, f"{reason}, so that damping is not biased"
    asked = f"{best} or more" if best == longest else f"{lengthening} x {best}"
    reason = (
        f"observer of order {p}, the longest that samples and computing time allow; Akaike's criterion takes {asked}"
    )
    return factor, p, values, f"{reason}, so damping may be biased"


def choose_order(factor: Triangle, least: int = 1, exact_share: float = 1e-9) -> tuple[int, FloatArray, bool]:
    """Order of the lowest Akaike criterion, the criterion for 1 ... P less its minimum, whether the data are exact.

    exact_share : residuals below this part of the outputs are rounding, so the data have no noise: least squares leave
    ε times the condition of the regressors, up to 1e6; converters of 24 bits leave 6e-8.
    """
    ny, N = factor.ny, factor.rows
    sizes = np.sqrt(np.maximum(np.einsum("ij,ij->j", factor.R[:, -ny:], factor.R[:, -ny:]), np.finfo(float).tiny))
    values, residuals = np.empty(factor.order), np.empty(factor.order)
    for p in range(1, factor.order + 1):
        S = factor.residual(p) / np.outer(sizes, sizes)
        residuals[p - 1] = np.sqrt(np.diag(S).max())
        spread = np.maximum(np.linalg.eigvalsh(S), np.finfo(float).eps ** 2)
        values[p - 1] = N * np.log(spread).sum() + 2.0 * ny * factor.columns(p)
    values -= values.min()
    exact = np.flatnonzero(residuals[least - 1 :] < exact_share)
    if exact.size:
        return int(exact[0]) + least, values, True
    return int(np.argmin(values[least - 1 :])) + least, values, False


def _lost_inputs(data: Data, p: int, lost_energy: float = 0.5) -> list[Finding]:
    """Inputs with most of their energy in the first p samples: the response to an impact there has no input.

    lost_energy : more than half of the energy of an input in samples that are past only.
    """
    energy = sum(np.einsum("ij,ij->j", u, u) for u in data.u)
    early = sum(np.einsum("ij,ij->j", u[:p], u[:p]) for u in data.u)
    return [
        Finding(
            "lost-input",
            f"{100 * share:.0f} % of the energy of input {name!r} lies within the first {p} samples, which serve as "
            "past only.",
            {"channel": name},
            {"share": float(share), "samples": p},
            (Advice("If the machine was at rest before the record, use {}.", Argument("start", "rest")),),
        )
        for name, share in zip(data.inputs, early / energy, strict=True)
        if share > lost_energy
    ]
