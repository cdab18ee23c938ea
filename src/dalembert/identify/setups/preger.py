"""Pre global estimation re-scaling (PreGER): set-ups brought to one excitation, then identified at once.

Λ_i = E[y(k + i) y_ref(k)ᵀ] = C Aⁱ⁻¹ G of set-up j depends on its excitation through G_j only. Block-Hankel matrices of
the references and of the moved sensors,

    H_ref^(j) = O_ref Z_j,    H_mov^(j) = O_mov^(j) Z_j,    Z_j = (G_j, A G_j, A² G_j, ...)

share Z_j. The singular value decomposition (H_ref^(1) H_ref^(2) ...) = U S (V_1ᵀ V_2ᵀ ...) gives O_ref = U and Z_j = S
V_jᵀ in one basis of states, so that O_mov^(j) S = H_mov^(j) V_j (V_jᵀ V_j)⁻¹ is independent of the excitation. All of
them stacked are one observability matrix, with which SSI continues (Mevel, Basseville, Benveniste and Goursat 2002;
Döhler, Andersen and Mevel 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.findings import Finding
from dalembert.identify.setups.merged_modes import MergedModes
from dalembert.identify.setups.poser import average_columns, describe_node, find_nodes
from dalembert.identify.realization.next_era import correlate
from dalembert.identify.records.data import Data
from dalembert.identify.spectral.machine_harmonics import (
    MachineHarmonic,
    describe_machine_harmonics,
    find_machine_harmonics,
)
from dalembert.identify.subspace.hankel_factor import DEFAULT_ROWS, HankelFactor, order_too_high
from dalembert.identify.subspace.projections import Projection
from dalembert.identify.subspace.stabilization import Tolerances, make_diagram


@dataclass(frozen=True)
class MergeThresholds:
    """Orders and directions of merged covariances."""

    # Largest order of the diagram by default, per reference and in all. More states than the covariances of few
    # references show split modes in two: with one reference on a frame of three modes, 600 s, all of 3 records are
    # right up to order 16, one of 3 has false modes at 24, all at 40.
    order_per_reference: int = 16
    order: int = 40
    # Smallest share of a direction of the states in a set-up: below this, the set-up does not excite the direction, and
    # the motion of its moved sensors would be divided by noise.
    excited: float = 1e-3


THRESHOLDS = MergeThresholds()


def identify_at_once(
    parts: Sequence[Data], references: tuple[str, ...], moved: Sequence[tuple[str, ...]], most: int | None,
    rows: int | None, findings: Sequence[Finding],
) -> MergedModes:  # fmt: skip
    """Modes of all set-ups as one; parts : the data of each, references first."""
    count = len(references)
    wanted = most or min(THRESHOLDS.order, THRESHOLDS.order_per_reference * count)
    i = rows or max(DEFAULT_ROWS, -(-wanted // count) + 1)
    for part in parts:
        part.require(20 * i, f"a set-up with covariances over {2 * i} samples", each=True)
    if most is not None and most > (i - 1) * count:
        raise order_too_high(i, count, (i - 1) * count, most)
    order = min(wanted, (i - 1) * count)
    scales, pieces = _scale(parts, count)
    hankels = [_hankel(part, own, count, i) for part, own in zip(parts, pieces)]
    merged = merge_hankels(hankels, count, order)
    vectors, values, _ = np.linalg.svd(merged.reshape(len(merged) * merged.shape[1], -1), full_matrices=False)
    names = (*references, *sum(moved, ()))
    units = {name: unit for part in parts for name, unit in part.units.items()}
    provenance = {"method": "preger", "set-ups": [dict(part.provenance) for part in parts], "rows": i}
    columns = min(sum(part.lengths) for part in parts)
    hankel = HankelFactor(
        standard=np.zeros((0, 0)), rows=i, columns=columns, nu=0, ny=len(names), scales=scales, how="products",
        weakest=1.0,
    )  # fmt: skip
    meaning = "singular values of the covariances of all set-ups, brought to one excitation"
    projection = Projection("preger", hankel, vectors, values, merged[0], merged[0], meaning)
    whole = Data((), (), parts[0].dt, (), names, units, None, provenance)
    drawn = make_diagram(projection, list(range(2, order + 1, 2)), whole, "preger", Tolerances())
    modes = average_columns(drawn)
    machines: dict[int, MachineHarmonic] = {}
    for part in reversed(parts):
        inside = [names.index(name) for name in part.outputs]
        own = type(modes)(modes.eigenvalues, modes.shapes[inside], part.outputs)
        machines |= find_machine_harmonics(part, own)
    at_node = np.flatnonzero(find_nodes(modes.shapes, modes.shapes[:count]))
    doubts = [*findings, *(describe_node(float(modes.frequencies_hz[k])) for k in at_node)]
    return MergedModes(
        modes=modes, method="preger", references=references, setups=tuple(moved), frequency_deviations_hz=None,
        damping_deviations=None, setup_frequencies_hz=None, setup_damping_ratios=None, reference_mac=None,
        stabilization=drawn, machines=machines, units=units,
        notes=(f"covariances with the references over {2 * i - 1} lags, {order} directions of the states",),
        findings=(*doubts, *describe_machine_harmonics(machines)), provenance=provenance,
    )  # fmt: skip


def _scale(parts: Sequence[Data], count: int) -> tuple[FloatArray, list[FloatArray]]:
    """Sizes of all sensors at one level of excitation (references first), and those of each set-up's own channels."""
    sizes = [np.sqrt(sum(np.einsum("ij,ij->j", y, y) for y in part.y) / part.samples) for part in parts]
    base = sizes[0][:count]
    levels = [float(np.exp(np.mean(np.log(size[:count] / base)))) for size in sizes]
    scales = [np.append(base * level, size[count:]) for size, level in zip(sizes, levels)]
    moved = [size[count:] / level for size, level in zip(sizes, levels)]
    return np.concatenate([base, *moved]), scales


def _hankel(part: Data, scales: FloatArray, count: int, rows: int) -> FloatArray:
    """(rows, ny, rows·references) block-Hankel covariances of all channels with the references, references first."""
    found = correlate([y / scales for y in part.y], list(range(count)), 2 * rows - 1)
    lags = 1 + np.arange(rows)[:, None] + np.arange(rows)[None, :]
    return np.ascontiguousarray(found[lags].transpose(0, 2, 1, 3)).reshape(rows, part.ny, rows * count)


def merge_hankels(hankels: Sequence[FloatArray], count: int, order: int) -> FloatArray:
    """(rows, sensors, order): O S of references and moved sensors in one basis of states.

    hankels : (rows, ny, rows·count) of each set-up, references first
    """
    rows = len(hankels[0])
    hankels = [one / np.linalg.norm(one[:, :count]) for one in hankels]
    beside = np.concatenate([one[:, :count].reshape(rows * count, -1) for one in hankels], axis=1)
    U, S, Vt = np.linalg.svd(beside, full_matrices=False)
    pieces = [(U[:, :order] * S[:order]).reshape(rows, count, order)]
    width = hankels[0].shape[2]
    for j, one in enumerate(hankels):
        own = Vt[:order, j * width : (j + 1) * width]
        shares, turn = np.linalg.eigh(own @ own.T)
        inverse = (turn / np.maximum(shares, THRESHOLDS.excited)) @ turn.T
        pieces.append(one[:, count:] @ own.T @ inverse)
    return np.concatenate(pieces, axis=1)
