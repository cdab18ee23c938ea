"""Pre global estimation re-scaling (PreGER): set-ups brought to one excitation, then identified at once.

The future of all sensors of set-up j, projected on the past of the references, is O^(j) Z_j: observability times
states, which depend on the excitation. Projections of the references and of the moved sensors share Z_j,

    H_ref^(j) = O_ref Z_j,    H_mov^(j) = O_mov^(j) Z_j

The singular value decomposition (H_ref^(1) H_ref^(2) ...) = U S (V_1ᵀ V_2ᵀ ...) gives O_ref = U and Z_j = S V_jᵀ in one
basis of states, so that O_mov^(j) S = H_mov^(j) V_j (V_jᵀ V_j)⁻¹ is independent of the excitation (Mevel, Basseville,
Benveniste and Goursat 2002; Döhler, Andersen and Mevel 2010).

Poles come from O_ref, which all set-ups determine: on 15 set-ups of a frame of 0.2 % damping their scatter is that of
the bound of Cramér and Rao. With the moved sensors, each known from one set-up only, it is 1.6 times as large, and with
covariances in place of projections damping ratios are up to ten times too large. O_mov gives the shapes. Poles of all
sensors are the other method that confirms a mode, and give those that the references lack: two of them do not separate
three modes that are close.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Finding
from dalembert.identify.auto.mode_classes import find_shares
from dalembert.identify.auto.preparation import Setting
from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.records.data import Data
from dalembert.identify.setups.merged_modes import MergedModes
from dalembert.identify.setups.one_quantity import Conversion
from dalembert.identify.setups.poser import average_columns, describe_node, find_nodes
from dalembert.identify.setups.setup_classes import ColumnModes, find_common_sines, judge_setups
from dalembert.identify.spectral.machine_harmonics import describe_machine_harmonics, find_machine_harmonics
from dalembert.identify.subspace.hankel_factor import HankelFactor, compress_hankel, order_too_high, triangularize
from dalembert.identify.subspace.projections import Projection
from dalembert.identify.subspace.stabilization import Stabilization, Tolerances, find_poles, make_diagram
from dalembert.linear.modes import Modes

POLES = ("references", "all")  # sensors whose projections give poles


def identify_at_once(
    parts: Sequence[Data], references: tuple[str, ...], moved: Sequence[tuple[str, ...]], most: int | None,
    rows: int | None, scale: TimeScale, conversion: Conversion, findings: Sequence[Finding],
) -> MergedModes:  # fmt: skip
    """Modes of all set-ups as one; parts : the data of each, references first."""
    count, names = len(references), (*references, *sum(moved, ()))
    i, order = choose_size(parts, count, most, rows, scale)
    scales = _scale(parts, count)
    inside = [[names.index(name) for name in setup.outputs] for setup in parts]
    hankels = [_project(setup, scales[places], count, i) for setup, places in zip(parts, inside)]
    samples = sum(setup.samples for setup in parts)
    # without noise the references have fewer states than rows: more would be rounding
    order = min(order, _merge(hankels, scales, count, order, samples).room)
    units = {name: unit for setup in parts for name, unit in setup.units.items()}
    provenance = {"method": "preger", "set-ups": [dict(setup.provenance) for setup in parts], "rows": i}
    merged = Data((), (), parts[0].dt, (), names, units, None, provenance)
    projections = [_merge(hankels, scales, count, order, samples, poles) for poles in POLES]
    diagrams = [
        make_diagram(each, list(range(2, order + 1, 2)), merged, "preger", Tolerances()) for each in projections
    ]
    modes, origins = join_columns(diagrams, scales)
    model = ColumnModes(
        2 * len(modes), merged.dt, *_deviate(parts, hankels, scales, inside, i, diagrams, modes, origins)
    )
    by_all = np.array([source == 1 for source, _ in origins], dtype=bool)
    shares = [find_shares(model, modes, each) for each in projections]
    halves = []
    for k in (0, 1):
        places = [*range(count), *(names.index(name) for name in sum(moved[k::2], ()))]
        modes_seen = Modes(modes.eigenvalues, modes.shapes[places], [names[n] for n in places])
        half = [_merge(hankels[k::2], scales[places], count, order, samples // 2, poles) for poles in POLES]
        halves.append(np.where(by_all, *(find_shares(model, modes_seen, each) for each in reversed(half))))
    evidence = {
        "orders": np.where(by_all, *reversed(shares)), "methods": np.where(by_all, *shares),
        "set-ups": np.minimum(*halves),
    }  # fmt: skip
    machines = find_common_sines([
        find_machine_harmonics(setup, Modes(modes.eigenvalues, modes.shapes[places], setup.outputs))
        for setup, places in zip(parts, inside)
    ])  # fmt: skip
    judgements = judge_setups(model, modes, evidence, machines, scale, max(setup.duration for setup in parts))
    modes = conversion.apply(modes)
    at_node = np.flatnonzero(find_nodes(modes.shapes, modes.shapes[:count]))
    doubts = [*findings, *(describe_node(float(modes.frequencies_hz[k])) for k in at_node)]
    doubts += _find_shifts(model, modes, sum(setup.duration for setup in parts), len(parts))
    return MergedModes(
        modes=modes, method="preger", references=references, setups=tuple(moved),
        frequency_deviations_hz=model.frequency_deviations_hz, damping_deviations=model.damping_deviations,
        setup_frequencies_hz=None, setup_damping_ratios=None, reference_mac=None, stabilization=diagrams[0],
        machines=machines, judgements=judgements, time_scale=scale, unit=conversion.unit, units=units,
        notes=(scale.describe(), f"projections on the references over {i} block rows, {order} directions of the states",
               *conversion.note()),
        findings=(*doubts, *describe_machine_harmonics(machines)), provenance=provenance,
    )  # fmt: skip


def choose_size(
    parts: Sequence[Data], count: int, most: int | None, rows: int | None, scale: TimeScale, order: int = 40
) -> tuple[int, int]:
    """Block rows and largest order, as given or for this number of references.

    order : largest order of the diagrams by default: frames of 7, 10 and 15 modes between 2 and 34 Hz show all of them;
    32 is too small for 15 modes, and at 60 the poles of all sensors scatter.
    """
    wanted = most or order
    usual = min(Setting((), setup.outputs, "mean", False, None, scale.rows).choose_rows(setup) for setup in parts)
    i = rows or max(usual, -(-wanted // count) + 1)
    for setup in parts:
        setup.require(20 * i, f"a set-up with {i} block rows of past and of future", each=True)
    if most is not None and most > (i - 1) * count:
        raise order_too_high(i, count, (i - 1) * count, most)
    return i, min(wanted, (i - 1) * count)


def _scale(parts: Sequence[Data], count: int) -> FloatArray:
    """Sizes of all sensors at one level of excitation, references first."""
    sizes = [np.sqrt(sum(np.einsum("ij,ij->j", y, y) for y in setup.y) / setup.samples) for setup in parts]
    base = sizes[0][:count]
    levels = [float(np.exp(np.mean(np.log(size[:count] / base)))) for size in sizes]
    return np.concatenate([base, *(size[count:] / level for size, level in zip(sizes, levels))])


def _project(part: Data, scales: FloatArray, count: int, rows: int, resolution: float = 2e-6) -> FloatArray:
    """(rows, ny, rows·references) future of all channels, projected on the past of the references.

    Channels over their scales; the part at the references, which are first, has unit size.
    """
    hankel = compress_hankel(part, rows)
    factor = hankel.factor
    past = factor[hankel.places("y", 0, rows).reshape(rows, -1)[:, :count].ravel()]
    both = np.vstack([past, factor[hankel.places("y", rows, 2 * rows)]])
    L = triangularize(np.hstack([both, resolution * np.eye(len(both), len(past))]))
    blocks = L[len(past) :, : len(past)].reshape(rows, part.ny, -1) * (hankel.scales / scales)[:, None]
    return np.asarray(blocks / np.linalg.norm(blocks[:, :count]))


def merge_hankels(
    hankels: Sequence[FloatArray], count: int, order: int, excited: float = 1e-6
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U (rows·count, order), S (order,) and O_mov S (rows, moved sensors, order) in one basis of states.

    hankels : (rows, ny, columns) of each set-up, references first
    excited : smallest share of a direction of the states in a set-up: below this, the set-up does not excite the
    direction, and the motion of its moved sensors would be divided by rounding. Frames give the same shapes from 1e-4
    to 1e-8; at 1e-3 a set-up that excites a mode weakly has part of its motion only (MAC 0.996 for 0.9998).
    """
    rows = len(hankels[0])
    beside = np.concatenate([hankel[:, :count].reshape(rows * count, -1) for hankel in hankels], axis=1)
    U, S, Vt = np.linalg.svd(beside, full_matrices=False)
    pieces, last = [], 0
    for hankel in hankels:
        directions = Vt[:order, last : last + hankel.shape[2]]
        last += hankel.shape[2]
        shares, turn = np.linalg.eigh(directions @ directions.T)
        inverse = (turn / np.maximum(shares, excited)) @ turn.T
        pieces.append(hankel[:, count:] @ directions.T @ inverse)
    return U[:, :order], S[:order], np.concatenate(pieces, axis=1)


def _merge(
    hankels: Sequence[FloatArray], scales: FloatArray, count: int, order: int, samples: int = 0,
    poles: str = "references",
) -> Projection:  # fmt: skip
    """Γ of the references, or of "all" sensors, and its first rows; scales : of all sensors, or of the references."""
    U, S, moved = merge_hankels(hankels, count, order)
    rows = len(hankels[0])
    stacked = np.concatenate([(U * S).reshape(rows, count, -1), moved[:, : len(scales) - count]], axis=1)
    first: FloatArray | None = stacked[0] / np.sqrt(np.maximum(S, 1e-300))
    if poles == "all":
        U, S, _ = np.linalg.svd(stacked.reshape(rows * len(scales), -1), full_matrices=False)
        count, first = len(scales), None
    hankel = HankelFactor(
        standard=np.zeros((0, 0)), rows=rows, columns=samples, nu=0, ny=count, scales=scales, how="products",
        weakest=1.0,
    )  # fmt: skip
    meaning = "singular values of the projections of all set-ups, brought to one excitation"
    return Projection("preger", hankel, U, S, U * S, U * S, meaning, first)


def _find_shifts(model: ColumnModes, modes: Modes, duration: float, setups: int, shifted: float = 3.0) -> list[Finding]:
    """The finding on frequencies that differ between set-ups by more than chance; duration : of all [s].

    shifted : standard deviation of a frequency over the least possible one, √(ζ f/2πT), median of the modes, above
    which frequencies differ between set-ups: 0.9 to 1.4 where they do not. Shapes of a frame of 0.2 % damping have a
    MAC of 0.98 and more with the true ones below this, and of 0.89 at 9.
    """
    deviations, f = model.frequency_deviations_hz, modes.frequencies_hz
    if deviations is None or not len(modes):
        return []
    least = np.sqrt(np.maximum(modes.damping_ratios, 1e-6) * f / (2.0 * np.pi * duration))
    if np.median(deviations / least) < shifted:
        return []
    percent = 100.0 * float(np.median(deviations / f)) * np.sqrt(setups)
    problem = (
        f"natural frequencies differ between the set-ups by some {percent:.2g} %, more than by chance: temperature, or "
        "the mass of the moved sensors. Shapes merged at once are then mixed; PoSER joins them mode by mode."
    )
    return [Finding("shifted-modes", problem, evidence={"percent": percent})]


def join_columns(
    diagrams: Sequence[Stabilization], scales: FloatArray, near: float = 0.01, mac: float = 0.5
) -> tuple[Modes, list[tuple[int, int]]]:
    """Modes of the stable columns of the references, and of those of all sensors that are none of these; the diagram
    and column of each.

    near, mac : two columns are one mode within this relative difference of frequency and above this MAC: modes that
        are as close and different have nearly orthogonal shapes at many sensors
    """
    listed = [average_columns(diagram) for diagram in diagrams]
    origins = [(source, k) for source, modes in enumerate(listed) for k in range(len(modes))]
    eigenvalues = np.concatenate([modes.eigenvalues for modes in listed])
    shapes = np.concatenate([modes.shapes for modes in listed], axis=1)
    f, scaled = np.abs(eigenvalues), shapes / scales[:, None]
    scaled = scaled / np.maximum(np.linalg.norm(scaled, axis=0), 1e-300)
    same = (np.abs(f[:, None] - f) < near * f) & (np.abs(scaled.conj().T @ scaled) ** 2 > mac)
    chosen = list(range(len(listed[0])))
    for k in len(listed[0]) + np.argsort(-diagrams[1].counts, kind="stable"):  # longest columns first
        if not same[k, chosen].any():
            chosen.append(int(k))
    chosen.sort(key=lambda k: f[k])
    return Modes(eigenvalues[chosen], shapes[:, chosen], listed[0].coordinates), [origins[k] for k in chosen]


def _deviate(
    parts: Sequence[Data], hankels: list[FloatArray], scales: FloatArray, inside: Sequence[list[int]], rows: int,
    diagrams: Sequence[Stabilization], modes: Modes, origins: Sequence[tuple[int, int]], part_count: int = 10,
) -> tuple[FloatArray | None, FloatArray | None]:  # fmt: skip
    """Standard deviations of frequencies [Hz] and damping ratios, by leaving out each of ten parts or more (jackknife);
    none where these are too short.

    part_count : parts of the data that are left out in turn, at least: the standard deviation of ten values is known to
    24 %.
    """
    pieces = -(-part_count // len(parts))
    count = len(set(inside[0]).intersection(*inside[1:]))
    if pieces > 1:
        hankels = []
        for setup, places in zip(parts, inside):
            for k in range(pieces):
                y = tuple(np.array_split(long, pieces)[k] for long in setup.y)
                try:
                    hankels.append(
                        _project(setup.replace(u=tuple(each[:, :0] for each in y), y=y), scales[places], count, rows)
                    )
                except DataError:
                    return None, None
    orders = sorted(set(diagrams[0].orders.tolist()))
    estimates = np.zeros((len(hankels), len(modes), 2))
    for g in range(len(hankels)):
        others = [each for k, each in enumerate(hankels) if k != g]
        for source in {source for source, _ in origins}:
            used = [each[:, :count] for each in others] if source == 0 else others
            sizes = np.ones(count + sum(each.shape[1] - count for each in used))
            poles = find_poles(
                _merge(used, sizes, count, orders[-1], poles=POLES[source]), orders, parts[0].dt, Tolerances()
            )
            for k, s in enumerate(modes.eigenvalues):
                if origins[k][0] == source:
                    near = [
                        places[np.argmin(np.abs(places - s))]
                        for order in diagrams[source].orders[diagrams[source].clusters == origins[k][1] + 1]
                        if len(places := poles.s[poles.order == order])
                    ]
                    estimates[g, k] = np.median(np.abs(near)) / (2.0 * np.pi), np.median(-np.real(near) / np.abs(near))
    spread = estimates.std(axis=0) * np.sqrt(len(hankels) - 1)
    return spread[:, 0], spread[:, 1]
