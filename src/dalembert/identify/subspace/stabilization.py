"""Order of a model: the stabilization diagram, and the choice of an order from singular values and stable poles.

Γ of order n is the first n columns of that of the largest order; one QR of its upper rows serves all orders:
A_n = R[:n, :n]⁻¹ (Qᵀ Γ_lower)[:n, :n].

A pole is compared with the nearest one of the order before: frequency, then damping, then shape (MAC) within
tolerances. Stable poles (damping judged six times less strictly) are clustered by average linkage of |Δs|/|s| + 1 -
MAC, cut at ten times the median distance of a pole from its predecessor (between 0.2 and 5 %). A cluster with members
in at least half of the upper half of the orders is a mode, with one pole per order and a spread over the orders.

The order is the median of three criteria:

gap          the largest ratio of neighbouring singular values
information  J Σ_{k>n} -ln(1 - ρ_k²) - ln(J) (p - n)(q - n) least over n, ρ_k the canonical correlations of past (q
             numbers) and future (p numbers): their dependence that is left out, against that by chance (Fujikoshi
             1985, with the penalty of Schwarz)
stability    poles that are stable while the order grows; each pair needs two states

Where the gap falls to rounding the data are noise-free and it decides alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import ComplexArray, FloatArray, frozen
from dalembert.core.declare import checked, instance, not_negative
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.tables import align_columns
from dalembert.core.text import count_noun
from dalembert.identify.model.collinearity import modal_phase_collinearity
from dalembert.identify.model.identified import is_oscillation
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.subspace.hankel_factor import choose_rows, compress_hankel, order_too_high
from dalembert.identify.subspace.projections import INPUT_METHODS, OUTPUT_METHODS, Projection, project
from dalembert.linear.modes import Modes
from dalembert.numerics import ties
from dalembert.record import Record

LABELS = ("new", "stable in frequency", "stable in frequency and damping", "stable")
STABLE = 3


Difference = Annotated[float, not_negative, "largest difference of the same pole at the next order"]


@checked
@dataclass(frozen=True)
class Tolerances:
    """Largest difference of the same pole at the next order: relative in frequency and damping, 1 - MAC in shape."""

    frequency: Difference = 0.01
    damping: Difference = 0.05
    shape: Difference = 0.02
    largest_damping: Annotated[float, not_negative, "damping ratio beyond which a pole is no vibration"] = 0.3


@dataclass(frozen=True, eq=False)
class Poles:
    """Poles of all orders, one entry each: order, s [rad/s], shape (ny,), label (index of LABELS)."""

    order: NDArray[np.intp]
    s: ComplexArray
    shapes: ComplexArray
    label: NDArray[np.intp]
    before: FloatArray  # distance from the predecessor
    mac: FloatArray  # with the predecessor
    kept: NDArray[np.bool_]  # whether it may belong to a cluster


@frozen
class Stabilization:
    """Poles of every order with their labels, and the modes among them.

    Attributes
    ----------
    orders : (P,) int, frequencies_hz : (P,), damping_ratios : (P,), labels : (P,) int, mpc : (P,)
        One entry per pole; ``labels`` index ``label_names``.
    shapes : (P, ny) complex, mac : (P,)
        Shape of every pole at the outputs, largest component 1; MAC with the nearest pole of the order before, 0 where
        there is none.
    clusters : (P,) int
        Number of the mode from 1, 0 for none.
    modes : Modes
        The pole nearest the middle of each group, ascending.
    frequency_means, frequency_spreads [Hz], damping_means, damping_spreads, counts : (k,)
        Over the orders: the effect of the choice of order. No standard deviation of the estimate.
    """

    orders: NDArray[np.intp]
    frequencies_hz: FloatArray
    damping_ratios: FloatArray
    labels: NDArray[np.intp]
    mpc: FloatArray
    shapes: ComplexArray
    mac: FloatArray
    clusters: NDArray[np.intp]
    modes: Modes
    frequency_means: FloatArray
    frequency_spreads: FloatArray
    damping_means: FloatArray
    damping_spreads: FloatArray
    counts: NDArray[np.intp]
    singular_values: FloatArray
    method: str
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]
    label_names = LABELS

    def table(self) -> str:
        """One line per mode."""
        mpc = modal_phase_collinearity(self.modes.shapes)
        rows = [
            (str(k + 1), f"{self.frequency_means[k]:.6g}", f"{self.frequency_spreads[k]:.2g}",
             f"{self.damping_means[k]:.5g}", f"{self.damping_spreads[k]:.2g}", f"{mpc[k]:.3f}", str(self.counts[k]))
            for k in range(len(self.modes))
        ]  # fmt: skip
        return align_columns(("mode", "frequency [Hz]", "spread", "damping ratio", "spread", "MPC", "orders"), rows)

    def __repr__(self) -> str:
        low, high = (int(self.orders.min()), int(self.orders.max())) if len(self.orders) else (0, 0)
        head = f"Stabilization by {self.method}: orders {low} to {high}, {len(self.orders)} poles"
        return "\n".join([f"{head}, {count_noun(len(self.modes), 'mode')}", self.table(),
                          *(f"  - {note}" for note in self.notes)])  # fmt: skip


def stabilization(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, orders: Iterable[int] | None = None, method: str | None = None,
    rows: int | None = None, tolerances: Tolerances | None = None,
) -> Stabilization:  # fmt: skip
    """Poles of models of growing order, their stability over the orders, and the modes.

    Parameters
    ----------
    record : Record, or several
    inputs, outputs : channel names; no inputs for output-only data
    orders : increasing numbers of states, optional
        2, 4, ... up to 60 or the largest that the rows hold.
    method : "moesp", "n4sid", "cva", or "ssi_data", "ssi_cov" without inputs; optional
    rows : block rows of past and future, optional
    tolerances : Tolerances, optional

    Returns
    -------
    Stabilization
    """
    largest_order = 60  # of a diagram by default
    wanted = None if orders is None else _orders(orders)
    limits = instance(Tolerances)("tolerances", Tolerances() if tolerances is None else tolerances)
    most = None if rows is not None or wanted is None else wanted[-1]
    projection, data = project_record(record, inputs, outputs, method, rows, most)
    i = projection.hankel.rows
    room = min((i - 1) * data.ny, len(projection.values))
    usual = range(2, min(largest_order, projection.room) + 1, 2) if wanted is None else wanted
    if wanted is not None and wanted[-1] > room:
        raise order_too_high(i, data.ny, room, wanted[-1])
    return make_diagram(projection, list(usual), data, projection.method, limits)


def _orders(orders: Iterable[int]) -> list[int]:
    listed = list(orders) if isinstance(orders, Iterable) else []
    if not listed:
        raise DataError(
            "empty",
            f"orders must be positive whole numbers, got {orders!r}.",
            Advice("Give such as {}.", Argument("orders", range(2, 41, 2))),
        )
    return sorted({whole_number("each of the orders", n, 1) for n in listed})


def project_record(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str], outputs: str | Iterable[str] | None,
    method: str | None = None, rows: int | None = None, order: int | None = None,
) -> tuple[Projection, Data]:  # fmt: skip
    """Data read, compressed and projected by the method, or by a usual one for their channels."""
    data = read_data(record, inputs, outputs, offset_takes_states=True, drift_matters=True)
    chosen = method or ("moesp" if data.nu else "ssi_data")
    methods = INPUT_METHODS if data.nu else OUTPUT_METHODS
    if chosen not in methods:
        kind = "with" if data.nu else "without"
        raise DataError(
            "unknown-choice",
            f"method must be one of {', '.join(methods)} for data {kind} inputs, not {chosen!r}.",
            where={"argument": "method"},
        )
    return project(compress_hankel(data, choose_rows(data, order, rows)), chosen), data


def make_diagram(
    projection: Projection, orders: list[int], data: Data, method: str, limits: Tolerances
) -> Stabilization:
    poles = find_poles(projection, orders, data.dt, limits)
    wave = is_oscillation(poles.s, data.dt)
    poles = Poles(*(getattr(poles, name)[wave] for name in ("order", "s", "shapes", "label", "before", "mac", "kept")))
    return draw_diagram(
        poles, orders, limits, method, data.outputs, projection.hankel.scales[data.nu :], projection.values,
        projection.hankel.note(), data.provenance,
    )[0]  # fmt: skip


def draw_diagram(
    poles: Poles, orders: list[int], limits: Tolerances, method: str, outputs: tuple[str, ...], scales: FloatArray,
    singular_values: FloatArray, note: str, provenance: Mapping[str, Any],
) -> tuple[Stabilization, list[int]]:  # fmt: skip
    """The diagram of poles that oscillate, and the places of the poles of its modes; scales (ny,) : units of shapes."""
    groups = cluster_poles(poles, orders, limits)
    shapes = poles.shapes * scales
    f, zeta = np.abs(poles.s) / (2 * np.pi), -poles.s.real / np.abs(poles.s)
    cluster = np.zeros(len(f), dtype=np.intp)
    middle: list[int] = []
    figures: list[tuple[float, ...]] = []
    for group in sorted(groups, key=lambda members: float(np.median(f[members]))):
        cluster[group] = len(middle) + 1
        middle.append(_find_middle(poles.s, group))
        figures.append((f[group].mean(), f[group].std(), zeta[group].mean(), zeta[group].std(), len(group)))
    table = np.array(figures).reshape(-1, 5)
    if len(shapes):
        largest = shapes[np.arange(len(shapes)), ties.first_largest(shapes.T)]
        shapes = shapes / np.where(largest == 0.0, 1.0, largest)[:, None]
    columns = shapes[middle].T if middle else np.zeros((len(outputs), 0), dtype=np.complex128)
    modes = Modes(poles.s[middle], columns, outputs)
    diagram = Stabilization(
        orders=poles.order, frequencies_hz=f, damping_ratios=zeta, labels=poles.label,
        mpc=modal_phase_collinearity(shapes.T), shapes=shapes, mac=poles.mac, clusters=cluster, modes=modes,
        frequency_means=table[:, 0], frequency_spreads=table[:, 1], damping_means=table[:, 2],
        damping_spreads=table[:, 3], counts=table[:, 4].astype(np.intp), singular_values=singular_values.copy(),
        method=method, provenance=provenance, notes=(
            note,
            f"stable: within {100 * limits.frequency:g} % in frequency, {100 * limits.damping:g} % in damping and "
            f"1 - MAC below {limits.shape:g} of the order before; damping above {limits.largest_damping:g} left out.",
        ),
    )  # fmt: skip
    return diagram, middle


def find_poles(projection: Projection, orders: list[int], dt: float, limits: Tolerances) -> Poles:
    """Poles with Im z >= 0 of every order and how each compares with the order before."""
    gamma = projection.observability(orders[-1])
    first = gamma[0] if projection.sensors is None else projection.sensors
    n = orders[-1]
    Q, R = np.linalg.qr(gamma[:-1].reshape(-1, n))
    below = Q.T @ gamma[1:].reshape(-1, n)
    models = []
    states = projection.rank if projection.noise_free else n  # further ones of noise-free data are rounding
    for order in orders:
        m = min(order, states)
        values, psi = np.linalg.eig(scipy.linalg.solve_triangular(R[:m, :m], below[:m, :m]))
        listed = (values.imag >= 0.0) & (values != 0.0)
        s = np.log(values[listed].astype(np.complex128)) / dt
        models.append((order, s, (first[:, :m] @ psi[:, listed]).T))
    return compare_orders(models, limits)


def compare_orders(models: Sequence[tuple[int, ComplexArray, ComplexArray]], limits: Tolerances) -> Poles:
    """Poles of models of growing order (order, s (k,), shapes (k, ny)), compared with those of the order before."""
    columns: list[list[Any]] = [[] for _ in range(7)]
    last_s, last_shapes = np.zeros(0, dtype=np.complex128), models[0][2][:0]
    for order, s, shapes in models:
        size = np.linalg.norm(shapes, axis=1)
        shapes = shapes / np.where(size > 0.0, size, 1.0)[:, None]
        compared = _compare(s, shapes, last_s, last_shapes, limits)
        for column, column_values in zip(columns, (np.full(len(s), order), s, shapes, *compared), strict=True):
            column.append(column_values)
        last_s, last_shapes = s, shapes
    return Poles(*(np.concatenate(column) for column in columns))


def _compare(
    s: ComplexArray, shapes: ComplexArray, last: ComplexArray, last_shapes: ComplexArray, limits: Tolerances,
    loose: float = 6.0,
) -> tuple[NDArray[np.intp], FloatArray, FloatArray, NDArray[np.bool_]]:  # fmt: skip
    """Labels (k,), distances (k,) from the nearest pole of the order before, MAC with it (k,), and which may belong to
    a cluster (k,).

    loose : damping is the least certain of the three and jumps between orders where two poles share a mode: its
    tolerance for clusters is this many times that of the label.
    """
    if not len(last) or not len(s):
        none = np.zeros(len(s))
        return none.astype(np.intp), np.full(len(s), np.inf), none, none.astype(bool)
    mac = np.abs(shapes.conj() @ last_shapes.T) ** 2
    size = np.maximum(np.abs(s)[:, None], np.abs(last)[None, :])
    apart = np.abs(s[:, None] - last[None, :]) / np.where(size > 0.0, size, 1.0) + 1.0 - mac
    near, places = np.argmin(apart, axis=1), np.arange(len(s))
    f, g = np.abs(s), np.abs(last[near])
    zeta, eta = -s.real / np.maximum(f, 1e-300), -last[near].real / np.maximum(g, 1e-300)
    in_f = np.abs(f - g) <= limits.frequency * g
    jump = np.abs(zeta - eta) / np.maximum(np.abs(eta), 1e-4)
    alike = np.minimum(mac[places, near], 1.0)
    same = 1.0 - alike <= limits.shape
    in_z = in_f & (jump <= limits.damping)
    label = in_f.astype(np.intp) + in_z + (in_z & same)
    return label, apart[places, near], alike, in_f & same & (jump <= loose * limits.damping)


def cluster_poles(poles: Poles, orders: list[int], limits: Tolerances) -> list[NDArray[np.intp]]:
    """Clusters of stable poles, one mode each: arrays of indices."""
    # Imported here: loading them takes longer than most identifications.
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    zeta = -poles.s.real / np.maximum(np.abs(poles.s), 1e-300)
    real = poles.s.imag == 0.0
    good = np.flatnonzero(poles.kept & (zeta > 0.0) & ((zeta <= limits.largest_damping) | real))
    if len(good) < 2:
        return []
    cut = float(np.clip(10.0 * np.median(poles.before[good]), 2e-3, 0.05))
    s, shapes = poles.s[good], poles.shapes[good]
    size = np.maximum(np.abs(s)[:, None], np.abs(s)[None, :])
    apart = np.abs(s[:, None] - s[None, :]) / size + np.maximum(0.0, 1.0 - np.abs(shapes.conj() @ shapes.T) ** 2)
    np.fill_diagonal(apart, 0.0)
    links = linkage(squareform(apart, checks=False), "average")
    number = fcluster(links, cut, "distance")
    clusters = []
    for k in np.unique(number):
        members = good[number == k]
        centre = poles.s[_find_middle(poles.s, members)]
        # one pole per order: the nearest to the middle
        nearest = members[np.argsort(np.abs(poles.s[members] - centre), kind="stable")]
        _, first = np.unique(poles.order[nearest], return_index=True)
        members = np.sort(nearest[first])
        # a small model may merge two modes into one pole, stable over some orders and absent in larger ones
        upper = orders[len(orders) // 2 :]
        if len(members) >= 2 and np.isin(poles.order[members], upper).sum() >= max(1.0, len(upper) / 2.0):
            clusters.append(members)
    return clusters


def _find_middle(s: ComplexArray, members: NDArray[np.intp]) -> int:
    """Place of the member nearest the median: the lower one of two, between which rounding would choose."""
    group = s[members]
    real, imag = (np.sort(coordinate)[(len(group) - 1) // 2] for coordinate in (group.real, group.imag))
    centre = real + 1j * imag
    return int(members[np.argmin(np.abs(group - centre))])


def count_stable_states(projection: Projection, most: int, every_order: int = 30) -> int:
    """Number of states for the stable poles of all orders up to ``most``; time in samples.

    every_order : largest order up to which every one is tried; above, every second: modes come in pairs of states
    """
    limits = Tolerances()
    orders = list(range(1, most + 1)) if most <= every_order else list(range(2, most + 1, 2))
    poles = find_poles(projection, orders, 1.0, limits)
    return sum(1 if poles.s[members[0]].imag == 0.0 else 2 for members in cluster_poles(poles, orders, limits))


# ---- choice of an order


@frozen
class OrderChoice:
    """The order chosen, those of the three criteria, and the reason.

    Attributes
    ----------
    order : int
    gap, information, stability : int
        Orders of the criteria.
    criterion : (k,)
        Information criterion of orders 0, 1, ...
    singular_values : (k,)
    explanation : str
    """

    order: int
    gap: int
    information: int
    stability: int
    criterion: FloatArray
    singular_values: FloatArray
    explanation: str

    def __repr__(self) -> str:
        return f"OrderChoice: {self.order}\n{self.explanation}"


def choose_order(
    projection: Projection, most: int | None = None, noise_free: float = 1e4, rounding: float = 1e-8
) -> OrderChoice:
    """Order of a model from the singular values of its projection, at most ``most``.

    noise_free, rounding : ratio of neighbours, and size after it relative to the largest, of noise-free data.
    """
    hankel = projection.hankel
    values = projection.values
    room = min(projection.room, hankel.columns // 10)
    limit = max(1, min(room, most or room))
    shown = _values_with_gap(projection)
    gap, ratio = _gap(shown, limit)
    criterion = _criterion(projection, limit)
    information = max(1, int(np.argmin(criterion)))
    if ratio >= noise_free and shown[gap] <= rounding * shown[0]:
        order = stability = gap
        text = (
            f"order {gap}: the singular values fall by {ratio:.1e} to rounding after the first {gap}, so the data are "
            "noise-free and the gap decides."
        )
    else:
        stability = count_stable_states(projection, min(limit, 2 * max(information, gap) + 10))
        order = int(np.clip(sorted((gap, information, stability))[1], 1, limit))
        text = (
            f"order {order}: the largest gap of the singular values (ratio {ratio:.2g}) asks for {gap}, the "
            f"information criterion for {information}, the poles that are stable while the order grows for "
            f"{stability}; the median was taken."
        )
    return OrderChoice(order=order, gap=gap, information=information, stability=stability, criterion=criterion,
                       singular_values=values.copy(), explanation=text)  # fmt: skip


def note_order(projection: Projection, order: int, mentioned: float = 3.0) -> str:
    """Note on an order that was given, with that of the singular values where it is another.

    mentioned : ratio that is mentioned to a user who gave another order; noise alone has below 2.
    """
    limit = min(projection.room, projection.hankel.columns // 10)
    text = f"order {order} as given"
    if limit < 1:
        return text
    gap, ratio = _gap(_values_with_gap(projection), limit)
    if gap == order or ratio < mentioned:
        return text
    return f"{text}; the singular values fall most ({ratio:.3g} times) after {gap}"


def suggest_order(
    record: Record | Sequence[Record] | Data, inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] | None = None, *, most: int | None = None,
) -> OrderChoice:  # fmt: skip
    """Number of states that fits the data, and the reason.

    Parameters
    ----------
    record : Record, or several
    inputs, outputs : channel names; no inputs for output-only data
    most : largest order to consider, optional

    Examples
    --------
    >>> k = np.arange(200)
    >>> decay = Record.from_channels(0.1 * k, {"sway": 0.99**k * np.cos(0.3 * k)})
    >>> suggest_order(decay).order
    2
    """
    most = None if most is None else whole_number("most", most, 1)
    return choose_order(project_record(record, inputs, outputs)[0], most)


def _values_with_gap(projection: Projection) -> FloatArray:
    """Singular values whose gap shows the order."""
    if projection.method != "cva":
        return projection.values
    # canonical correlations of clear data are all near 1: the gap is in the explained part
    return np.asarray(np.linalg.svd(projection.explained, compute_uv=False))


def _gap(values: FloatArray, limit: int) -> tuple[int, float]:
    """Order before the largest ratio of neighbours, and that ratio; values below rounding count as rounding."""
    floor = 1e-13 * values[0]
    s = np.maximum(values[: limit + 1], floor)
    ratios = s[:-1] / s[1:]
    best = int(np.argmax(ratios))
    return best + 1, float(ratios[best])


def _criterion(projection: Projection, limit: int) -> FloatArray:
    hankel = projection.hankel
    rho = np.minimum(projection.correlations(), 1.0 - 1e-15)
    p, q = hankel.rows * hankel.ny, hankel.rows * (hankel.nu + hankel.ny)
    lost = hankel.columns * np.append(np.cumsum(-np.log1p(-(rho**2))[::-1])[::-1], 0.0)
    n = np.arange(min(limit, len(rho)) + 1)
    result: FloatArray = lost[n] - np.log(hankel.columns) * (p - n) * (q - n)
    return result
