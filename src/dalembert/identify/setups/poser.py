"""Post separate estimation re-scaling (PoSER): set-ups identified one by one, their mode shapes scaled and joined.

φ^(j) = (r_j, m_j), references and moved sensors of set-up j. The common reference part ψ is the principal direction of
all r_j, each of unit length; α_j = r_jᴴψ / r_jᴴr_j is the least-squares scale of set-up j, and the merged shape is
(mean of α_j r_j, α_1 m_1, α_2 m_2, ...). Frequencies and damping ratios are means, weighted by 1/σ² where the set-ups
have standard deviations (Reynders, Magalhães, De Roeck and Cunha 2009).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.findings import Finding
from dalembert.identify.auto.mode_classes import find_shares
from dalembert.identify.auto.preparation import Setting
from dalembert.identify.auto.time_scale import TimeScale
from dalembert.identify.model.identified import take_identified
from dalembert.identify.records.data import Data
from dalembert.identify.setups.merged_modes import MergedModes
from dalembert.identify.setups.one_quantity import Conversion
from dalembert.identify.setups.setup_classes import ColumnModes, find_common_sines, judge_setups
from dalembert.identify.spectral.machine_harmonics import (
    MachineHarmonic,
    describe_machine_harmonics,
    find_machine_harmonics,
)
from dalembert.identify.subspace.projections import project
from dalembert.identify.subspace.stabilization import Stabilization, Tolerances, make_diagram
from dalembert.linear.modes import Modes
from dalembert.numerics import ties


@dataclass(frozen=True, eq=False)
class SetupModes:
    """Modes of one set-up: shapes at its sensors, frequencies [Hz], damping ratios, deviations where known, harmonics
    of machines, units of the sensors."""

    modes: Modes
    hertz: FloatArray
    damping: FloatArray
    frequency_deviations_hz: FloatArray | None
    damping_deviations: FloatArray | None
    machines: Mapping[int, MachineHarmonic]
    units: Mapping[str, str]
    provenance: Mapping[str, Any]
    evidence: Mapping[str, FloatArray] = field(default_factory=dict)
    drawn: Stabilization | None = None
    dt: float = 0.0
    duration: float = np.inf


def identify_setup(
    data: Data, most: int | None, rows: int | None, scale: TimeScale, largest_order: int = 60
) -> SetupModes:
    """Modes of one set-up: the stable columns of its stabilization diagram by SSI-data, with the evidence on them."""
    setting = Setting((), data.outputs, "mean", False, rows, scale.rows)
    projection = setting.project(data)
    room = min(projection.room, most or largest_order)
    drawn = make_diagram(projection, list(range(2, room + 1, 2)), data, "ssi_data", Tolerances())
    modes = average_columns(drawn)
    model = ColumnModes(2 * len(modes), data.dt)
    second_projection = project(projection.hankel, setting.other_method)
    evidence = {
        "orders": find_shares(model, modes, projection),
        "methods": find_shares(model, modes, second_projection),
    }
    return SetupModes(
        modes, modes.frequencies_hz, modes.damping_ratios, None, None, find_machine_harmonics(data, modes), data.units,
        data.provenance, evidence, drawn, data.dt, data.duration,
    )  # fmt: skip


def average_columns(drawn: Stabilization) -> Modes:
    """One mode for each stable column of a diagram: median frequency and damping ratio, since some orders split a mode,
    and principal direction of its shapes. A single pole of a column would be chosen by rounding where two are as near
    to the middle."""
    shapes = np.zeros((drawn.shapes.shape[1], len(drawn.counts)), dtype=np.complex128)
    hertz, zeta = np.zeros(len(drawn.counts)), np.zeros(len(drawn.counts))
    for k in range(len(drawn.counts)):
        hertz[k], zeta[k], shapes[:, k] = _average_poles(drawn, drawn.clusters == k + 1)
    return Modes(_eigenvalues(hertz, zeta), shapes, drawn.modes.coordinates)


def _average_poles(drawn: Stabilization, own: Any) -> tuple[float, float, ComplexArray]:
    """Frequency [Hz], damping ratio and shape of some poles of a diagram."""
    shape = np.linalg.eigh(drawn.shapes[own].T @ drawn.shapes[own].conj())[1][:, -1]
    shape = shape / shape[ties.first_largest(shape[:, None])[0]]
    return float(np.median(drawn.frequencies_hz[own])), float(np.median(drawn.damping_ratios[own])), shape


def _eigenvalues(hertz: FloatArray, zeta: FloatArray) -> ComplexArray:
    """Of oscillations with these natural frequencies and damping ratios [1/s]."""
    return np.asarray(2.0 * np.pi * hertz * (-zeta + 1j * np.sqrt(np.maximum(1.0 - zeta**2, 0.0))))


def modes_of_model(given: Any) -> SetupModes:
    """Modes of a model, the sound ones where it was judged."""
    model = take_identified(given)
    modes = model.underdamped_modes()
    places = np.asarray(given.places()) if given is not model and hasattr(given, "places") else np.arange(len(modes))
    sd_f, sd_z = (
        None if sd is None else sd[places] for sd in (model.frequency_deviations_hz, model.damping_deviations)
    )
    chosen = modes.select(places + 1)
    units = dict(model.system.units)
    return SetupModes(chosen, chosen.frequencies_hz, chosen.damping_ratios, sd_f, sd_z, {}, units, model.provenance)


def join_setups(
    found: Sequence[SetupModes], references: tuple[str, ...], moved: Sequence[tuple[str, ...]], scale: TimeScale | None,
    conversion: Conversion, findings: Sequence[Finding],
) -> MergedModes:  # fmt: skip
    """The merged modes of all set-ups: those that every one of them has."""
    found = [replace(setup, modes=conversion.apply(setup.modes)) for setup in found]
    chains, lost = _pair(found, references, conversion)
    doubts = [*findings, *lost]
    columns, macs = [], []
    for chain in chains:
        shape, mac, nodes = _join_shapes(found, chain, references, moved)
        columns.append(shape)
        macs.append(mac)
        doubts += nodes
    machines = find_common_sines([
        {number: setup.machines[chain[j]] for number, chain in enumerate(chains) if chain[j] in setup.machines}
        for j, setup in enumerate(found)
    ])  # fmt: skip
    hertz = np.array([[setup.hertz[k] for setup, k in zip(found, chain)] for chain in chains]).reshape(-1, len(found)).T
    damping = (
        np.array([[setup.damping[k] for setup, k in zip(found, chain)] for chain in chains]).reshape(hertz.T.shape).T
    )
    sd_f, sd_z = (_deviations(found, chains, name) for name in ("frequency_deviations_hz", "damping_deviations"))
    f, f_deviations = _average(hertz, sd_f)
    zeta, z_deviations = _average(damping, sd_z)
    shapes = np.array(columns).reshape(len(chains), -1).T if chains else np.zeros((len(references + sum(moved, ())), 0))
    how = "unweighted" if sd_f is None else "weighted by their deviations"
    modes = Modes(_eigenvalues(f, zeta), shapes, (*references, *sum(moved, ())))
    model = ColumnModes(2 * len(modes), found[0].dt, f_deviations, z_deviations)
    shares = [{name: values[chain[j]] for name, values in setup.evidence.items()}
              for chain in chains for j, setup in enumerate(found)]  # fmt: skip
    evidence = {
        name: np.array([share[name] for share in shares]).reshape(len(chains), -1).mean(axis=1)
        for name in found[0].evidence if all(name in setup.evidence for setup in found)
    }  # fmt: skip
    return MergedModes(
        modes=modes, method="poser",
        judgements=judge_setups(model, modes, evidence, machines, scale, max(setup.duration for setup in found)),
        time_scale=scale, unit=conversion.unit, references=references, setups=tuple(moved),
        frequency_deviations_hz=f_deviations, damping_deviations=z_deviations,
        setup_frequencies_hz=hertz, setup_damping_ratios=damping, reference_mac=np.array(macs), stabilization=None,
        machines=machines, units={name: unit for setup in found for name, unit in setup.units.items()},
        notes=(*([] if scale is None else [scale.describe()]), f"means of {len(found)} set-ups, {how}",
               *conversion.note()),
        findings=(*doubts, *describe_machine_harmonics(machines)),
        provenance={"method": "poser", "set-ups": [dict(setup.provenance) for setup in found]},
    )  # fmt: skip


def _pair(
    found: list[SetupModes], references: Sequence[str], conversion: Conversion, frequency: float = 0.03,
    least_mac: float = 0.8,
) -> tuple[list[list[int]], list[Finding]]:  # fmt: skip
    """Modes that all set-ups have, as the numbers of one mode in each; findings on modes missing in some set-ups.

    A mode of half of the set-ups at least is added to those whose diagram has its poles without a stable column.

    frequency : relative difference of frequencies: temperature and the mass of moved sensors change those of a
    structure by 1 or 2 % within a day.
    least_mac : least MAC at the references, where there are two at least.
    """
    chains: list[dict[int, int]] = []  # number of the mode by set-up
    for j, rival in enumerate(found):
        heads = [next(iter(chain.items())) for chain in chains]
        hertz = np.array([found[i].hertz[k] for i, k in heads])
        mac = np.array([_mac_at(found[i], rival, references)[k] for i, k in heads]).reshape(
            len(heads), len(rival.hertz)
        )
        apart = np.abs(hertz[:, None] - rival.hertz[None, :]) / hertz[:, None]
        cost = apart / frequency + 1.0 - mac
        cost[(apart > frequency) | (mac < least_mac)] = np.inf
        used: set[int] = set()
        for flat in np.argsort(cost, axis=None, kind="stable"):
            c, k = divmod(int(flat), len(rival.hertz))
            if np.isfinite(cost[c, k]) and j not in chains[c] and k not in used:
                chains[c][j] = k
                used.add(k)
        chains += [{j: k} for k in range(len(rival.hertz)) if k not in used]
    findings, full_chains = [], []
    means = [float(np.mean([found[j].hertz[k] for j, k in chain.items()])) for chain in chains]
    for f, chain in ((means[c], chains[c]) for c in np.argsort(means, kind="stable")):
        absent = [j for j in range(len(found)) if j not in chain]
        if 2 * len(absent) <= len(found):
            for j in absent:
                added = _add_mode(found[j], f, next((found[i], k) for i, k in chain.items()), references, conversion)
                if added is not None:
                    found[j], chain[j] = added, len(added.hertz) - 1
        missing = [j + 1 for j in absent if j not in chain]
        if not missing:
            full_chains.append([chain[j] for j in range(len(found))])
        elif 2 * len(missing) <= len(found):
            words = ", ".join(map(str, missing))
            problem = (
                f"the mode at {f:.5g} Hz has no partner in set-up {words}, with a frequency within "
                f"{100 * frequency:g} % and a MAC of {least_mac:g} at the references: it is left out."
            )
            findings.append(Finding("unpaired-mode", problem, {}, {"hertz": f, "setups": missing}))
    return full_chains, findings


def _add_mode(
    one: SetupModes, f: float, like: tuple[SetupModes, int], references: Sequence[str], conversion: Conversion,
    least_orders: float = 0.5, least_mac: float = 0.8, near: float = 0.01,
) -> SetupModes | None:  # fmt: skip
    """A set-up with one more mode, from poles of its diagram near f [Hz] that belong to no column; None without such.

    like : another set-up and the number of its mode
    least_orders, near : share of the upper half of the orders in which a set-up must have a pole of a mode that half of
    the others have as a stable column, within this difference of frequency: two poles may take turns at neighbouring
    orders.
    """
    if one.drawn is None:
        return None
    drawn = one.drawn
    apart = np.abs(drawn.frequencies_hz - f) / f
    candidates = np.flatnonzero((drawn.clusters == 0) & (apart < near) & (drawn.damping_ratios > 0.0))
    candidates = candidates[np.argsort(apart[candidates], kind="stable")]
    candidates = candidates[np.unique(drawn.orders[candidates], return_index=True)[1]]  # the nearest of each order
    orders = np.unique(drawn.orders)
    upper = orders[len(orders) // 2 :]
    share = float(np.isin(upper, drawn.orders[candidates]).mean())
    if share < least_orders:
        return None
    hertz, zeta, shape = _average_poles(drawn, candidates)
    pole = _eigenvalues(np.array([hertz]), np.array([zeta]))
    extra = conversion.apply(Modes(pole, shape[:, None], one.modes.coordinates))
    extended = replace(
        one, modes=Modes(np.append(one.modes.eigenvalues, extra.eigenvalues),
                         np.hstack([one.modes.shapes, extra.shapes]), one.modes.coordinates),
        hertz=np.append(one.hertz, hertz), damping=np.append(one.damping, zeta),
        evidence={name: np.append(values, share) for name, values in one.evidence.items()},
    )  # fmt: skip
    return extended if _mac_at(like[0], extended, references)[like[1], -1] >= least_mac else None


def _mac_at(first: SetupModes, second: SetupModes, references: Sequence[str]) -> FloatArray:
    """MAC at the references; 1 where they are at a node of either mode, which they cannot distinguish."""
    parts = [_part(modes, references) for modes in (first, second)]
    a, b = (shapes / np.maximum(np.linalg.norm(shapes, axis=0), 1e-300) for shapes in parts)
    mac: FloatArray = np.abs(a.conj().T @ b) ** 2
    mac[_at_node(first, references)] = 1.0
    mac[:, _at_node(second, references)] = 1.0
    return mac


def _part(one: SetupModes, names: Sequence[str]) -> ComplexArray:
    """Rows of the shapes at some sensors."""
    rows = [one.modes.coordinates.index(name) for name in names]
    return np.asarray(one.modes.shapes[rows], dtype=np.complex128)


def _at_node(one: SetupModes, references: Sequence[str]) -> Any:
    return find_nodes(one.modes.shapes, _part(one, references))


def find_nodes(shapes: Any, at_references: Any, node: float = 0.1) -> Any:
    """(k,) whether the references hardly move in a mode, against all sensors.

    node : references at a node: their root mean square, relative to that of all sensors of the set-up. Shapes are known
    to some per cent, so that below this the error of a scale is a third or more.
    """
    sizes = [np.sqrt(np.mean(np.abs(block) ** 2, axis=0)) for block in (at_references, shapes)]
    return sizes[0] < node * sizes[1]


def describe_node(f: float, setups: Sequence[int] = ()) -> Finding:
    """The finding on references near a node of the mode at f [Hz], in some set-ups or in all."""
    where = f" (set-up {', '.join(map(str, setups))})" if setups else ""
    problem = (
        f"the references hardly move in the mode at {f:.5g} Hz{where}: they are near its node, and the scale of its "
        "shape between set-ups is uncertain. Place a reference elsewhere."
    )
    return Finding("node", problem, {}, {"hertz": f, "setups": list(setups)})


def _join_shapes(
    found: Sequence[SetupModes], chain: Sequence[int], references: Sequence[str], moved: Sequence[Sequence[str]]
) -> tuple[ComplexArray, float, list[Finding]]:
    """The merged shape, the least MAC of a set-up with it at the references, and findings on nodes."""
    parts = np.array([_part(setup, references)[:, k] for setup, k in zip(found, chain)])
    units = parts / np.maximum(np.linalg.norm(parts, axis=1, keepdims=True), 1e-300)
    common = np.linalg.eigh(np.einsum("ja,jb->ab", units, units.conj()))[1][:, -1]
    scales = (parts.conj() @ common) / np.maximum(np.linalg.norm(parts, axis=1) ** 2, 1e-300)
    pieces = [(scales[:, None] * parts).mean(axis=0)]
    pieces += [scale * _part(setup, channels)[:, k] for scale, setup, channels, k in zip(scales, found, moved, chain)]
    shape = np.concatenate(pieces)
    nodes = [j + 1 for j, (setup, k) in enumerate(zip(found, chain)) if _at_node(setup, references)[k]]
    f = float(np.mean([setup.hertz[k] for setup, k in zip(found, chain)]))
    findings = [describe_node(f, nodes)] if nodes else []
    mac = float(np.min(np.abs(units.conj() @ common) ** 2))
    return shape / shape[ties.first_largest(shape[:, None])[0]], mac, findings


def _deviations(found: Sequence[SetupModes], chains: Sequence[Sequence[int]], name: str) -> FloatArray | None:
    """(set-ups, k) standard deviations, where all set-ups have them."""
    columns = [getattr(setup, name) for setup in found]
    if any(setup is None for setup in columns):
        return None
    return np.array([[setup[k] for setup, k in zip(columns, chain)] for chain in chains]).reshape(-1, len(found)).T


def _average(values: FloatArray, deviations: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Means (k,) over set-ups (rows) and their standard deviations: by the scatter of the set-ups, or by their own
    deviations where these are larger."""
    count = len(values)
    if deviations is None or not (deviations > 0.0).all():
        return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(count)
    weights = 1.0 / deviations**2
    weights = weights / weights.sum(axis=0)
    mean = (weights * values).sum(axis=0)
    inner = 1.0 / np.sqrt((1.0 / deviations**2).sum(axis=0))
    outer = np.sqrt((weights * (values - mean) ** 2).sum(axis=0) / (count - 1))
    return mean, np.maximum(inner, outer)
