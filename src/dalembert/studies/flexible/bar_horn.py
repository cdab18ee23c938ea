"""Which interior modes an ultrasonic horn needs: for two of its modes, and under a force near its resonance.

The bar horn of Palomba 2016, ch. 5: plane strain, 158 points, masters on the booster face. Mesh and masters are
reconstructed from the printed frequencies and errors. The solid sonotrode of the thesis has no published geometry;
here it is a titanium block with a thinner front half.
"""

from __future__ import annotations

import time
from typing import Any

import matplotlib as mpl
import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.progress import step
from dalembert.linear.second_order import SecondOrder
from dalembert.structures import (
    ByFrequency,
    EffectiveInterfaceMass,
    EnergyBasedRanking,
    InteriorModeRanking,
    Material,
    Mesh,
    MomentMatching,
    OptimalModalReduction,
    Ranking,
    RankingMethod,
    Solid,
    assemble_structure,
    box_mesh,
    craig_bampton,
    forced_fidelity,
    guyan,
    rank_modes,
)
from dalembert.studies.runner import Outcome
from dalembert.view.plots.figures import COLORS, STYLE, log_ticks, new_figure
from dalembert.view.reports.pages import Picture, Piece, Table, Text

X = np.array([0, 7.875, 15.75, 23.625, 31.5, 35, 38.5, 46.375, 54.25, 62.125, 70]) * 1e-3
Y = np.concatenate([np.linspace(0, 16, 4), np.arange(25, 88, 9), np.linspace(88, 104, 4)]) * 1e-3
MODES = (8, 14)
"""The two longitudinal modes; rigid-body motions count."""
PUBLISHED_ERRORS = (70.8666, 47.9001, 35.4221, 25.5901, 17.0620, 8.5531, 3.3567, 1.5902, 0.7700)
"""Relative truncation error for 7 to 15 coordinates [%]."""
FORCED = (1.001, 1.01, 0.98)
"""Frequencies of the force over that of mode 8."""
BLOCK, CELLS = (0.130, 0.060, 0.048), (24, 12, 8)
"""Of the sonotrode: length, width and height [m], and its hexahedra."""
FRONT = 0.4
"""Height of its front half over that of the rear half."""
INTERIOR = 400
"""Interior modes of the sonotrode that are computed."""
STEPS = {"bar horn": 6.0, "sonotrode": 120.0}


def bar_horn() -> Solid:
    """Rectangle of 70 x 104 mm with a slot of 7 x 72 mm, 30 mm thick, of aluminium 7075."""
    number = np.arange(len(X) * len(Y)).reshape(len(Y), len(X))
    points = np.array([(x, y) for y in Y for x in X])
    corners = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], axis=-1).reshape(-1, 4)
    middle = points[corners].mean(axis=1)
    slot = (abs(middle[:, 0] - 0.035) < 0.0035) & (abs(middle[:, 1] - 0.052) < 0.036)
    metal = Material("aluminium 7075", E=71.7e9, density=2810.0, poisson=0.33)
    return Solid("bar horn", Mesh(points, corners[~slot], "quad4"), metal, plane="strain", thickness=0.030, gravity=0)


def booster_face(horn: Solid) -> list[str]:
    """The three points in the middle of one end, masters of the horn: a corner of the slot's width, its middle, ..."""
    return [f"p{horn.mesh.select(f'x={x}, y=0')[0]}" for x in X[4:7]]


def sonotrode(cells: tuple[int, int, int] = CELLS) -> tuple[Solid, list[str]]:
    """A block of titanium whose front half is thinner, and seven points of its booster face."""
    length, width, height = BLOCK
    box = box_mesh(BLOCK, cells, origin=(0.0, -width / 2, -height / 2))
    points = box.points.copy()
    fall = np.clip((points[:, 0] / length - 0.4) / 0.25, 0.0, 1.0)
    points[:, 2] *= FRONT + (1.0 - FRONT) * 0.5 * (1.0 + np.cos(np.pi * fall))
    metal = Material("titanium Ta6V", E=115e9, density=4340.0, poisson=0.32)
    face = np.flatnonzero(points[:, 0] == 0.0)
    places = [(0, 0), (10, 0), (-10, 0), (5, 6), (5, -6), (-5, 6), (-5, -6)]
    nearest = [face[np.argmin(np.hypot(*(points[face, 1:] - np.array(place) * 1e-3).T))] for place in places]
    return Solid("sonotrode", box.replace(points=points), metal, gravity=0), [f"p{i}" for i in dict.fromkeys(nearest)]


def comparisons(imr: tuple[int, ...]) -> dict[str, RankingMethod]:
    """Rankings beside the energy-based one, by their usual short names."""
    return {
        "IMR": InteriorModeRanking(modes=imr), "SBE": ByFrequency(), "EIM": EffectiveInterfaceMass(),
        "p2/w2": MomentMatching(), "K12 phi": OptimalModalReduction(),
    }  # fmt: skip


def mean_energy_gap(system: SecondOrder, ranking: Ranking, forces: dict[str, float], omega: float) -> float:
    """Relative difference of the mean energy of the whole, and that of masters and interior modes together.

    The motion of the whole is x = (K - ω² M)⁻¹ f; all interior modes together hold ¼ zᴴ (3 K22 - ω² M22) z with
    z = x2 - B x1, and masters have that of the static reduction.
    """
    from scipy.sparse.linalg import splu

    static = guyan(system, ranking.masters)
    f = np.zeros(system.nq)
    f[[system.coordinates.index(name) for name in forces]] = list(forces.values())
    x = splu((system.K - omega**2 * system.M).tocsc()).solve(f)
    x1 = x[[system.coordinates.index(name) for name in ranking.masters]]
    z = x - static.T @ x1
    whole = 0.25 * x @ (system.K @ x + omega**2 * (system.M @ x))
    masters = 0.25 * x1 @ (static.system.K + omega**2 * np.asarray(static.system.M)) @ x1
    interior = 0.25 * z @ (3.0 * (system.K @ z) - omega**2 * (system.M @ z))
    return float(abs(whole - masters - interior) / whole)


def sum_rule_gap(system: SecondOrder, masters: list[str], modes: tuple[int, ...] = MODES) -> float:
    """Largest difference from 1 of the shares of the masters and of all interior modes in modes of the whole."""
    shapes = system.modes(max(modes)).shapes.real
    static = guyan(system, masters)
    gaps: list[float] = []
    for mode in modes:
        u = shapes[:, mode - 1]
        u = u / np.sqrt(u @ (system.M @ u))
        at = [system.coordinates.index(name) for name in static.masters]
        part = (static.T.T @ (system.M @ u)) @ u[at]
        gaps.append(abs(float(part) + rank_modes(system, masters, InteriorModeRanking(modes=[mode])).bound(0) - 1.0))
    return max(gaps)


def modes_needed(ranking: Ranking, forces: dict[str, float], omega: float, gain_at: str | None = None) -> int | str:
    """Interior modes for a MAC of 0.999 and a gain within 1 %."""
    try:
        return forced_fidelity(ranking, forces, omega, gain_at=gain_at).size()
    except DataError:
        return f"> {len(ranking)}"


def study() -> Outcome:
    """Interior mode ranking and energy-based ranking of the bar horn, and all rankings of a solid sonotrode."""
    step("bar horn")
    horn = bar_horn()
    masters = booster_face(horn)
    system = assemble_structure(horn).system()
    ranking = rank_modes(system, masters, InteriorModeRanking(modes=MODES))
    results = {
        "frequencies_khz": [float(f) / 2e3 / np.pi for f in system.modes(15).frequencies[[m - 1 for m in MODES]]],
        "imr": _imr(system, masters, ranking), "ebr": _ebr(system, masters), "sonotrode": _sonotrode(),
    }  # fmt: skip
    return Outcome("Interior modes of ultrasonic horns", results, _pieces(results, ranking),
                   {"seeds": "none: nothing is random"})  # fmt: skip


def _imr(system: SecondOrder, masters: list[str], ranking: Ranking) -> dict[str, Any]:
    held = 2 * len(masters)

    def check(modes: Any) -> Any:
        return craig_bampton(system, masters, modes).fidelity(max(MODES))

    rows = []
    for size in range(12, 20):
        report, k = check(ranking.first(size - held)), size - held
        row: dict[str, Any] = {"coordinates": size, "interior_mode": int(ranking.order[k - 1]),
                               "error_percent": 100 * ranking.bound(k)}  # fmt: skip
        for mode in MODES:
            row[f"frequency_error_percent_{mode}"] = report.frequency_errors[mode - 1]
            row[f"nco_{mode}"] = report.nco[mode - 1]
        rows.append(row)
    orders = {"IMR": ranking, "SBE": ranking.by(ByFrequency())}
    good = {
        name: next(k for k in range(1, 31) if check(each.first(k)).good()[[m - 1 for m in MODES]].all())
        for name, each in orders.items()
    }
    return {
        "order": ranking.order[:13], "coefficients": len(MODES) * ranking.coefficients[:13],
        "error_percent": 100 * ranking.bounds()[1:10], "published_error_percent": PUBLISHED_ERRORS,
        "size_at_1_percent": ranking.size(0.01), "rows": rows, "modes_needed": good,
        "sum_rule_gap": sum_rule_gap(system, masters),
    }  # fmt: skip


def _ebr(system: SecondOrder, masters: list[str]) -> dict[str, Any]:
    forces = {f"{name}.y": 1.0 for name in masters}
    f8 = float(system.modes(8).frequencies[7])
    others = {name: rank_modes(system, masters, method) for name, method in comparisons((8,)).items()}
    needed: dict[str, Any] = {}
    gap = 0.0
    for factor in FORCED:
        energy = rank_modes(system, masters, EnergyBasedRanking(forces, factor * f8))
        gap = max(gap, mean_energy_gap(system, energy, forces, factor * f8))
        needed[f"{factor:g}"] = {
            place: {name: modes_needed(each, forces, factor * f8, f"{masters[k]}.y")
                    for name, each in {"EBR": energy, **others}.items()}
            for k, place in enumerate(("corner", "middle"))
        }  # fmt: skip
    return {"modes_needed": needed, "mean_energy_gap": gap}


def _sonotrode(cells: tuple[int, int, int] = CELLS, interior: int = INTERIOR) -> dict[str, Any]:
    step("sonotrode")
    solid, masters = sonotrode(cells)
    system = assemble_structure(solid).system()
    forces = {f"{name}.x": 1.0 for name in masters}
    modes = system.modes(20)
    driven = np.abs([modes.shapes[modes.coordinates.index(name)].real for name in forces]).min(axis=0)
    # of modes of unit mass the first longitudinal one moves all points of the booster face most along the bar
    elastic = modes.frequencies > 1e-3 * modes.frequencies[-1]
    number = int(np.argmax(np.where(elastic, driven / np.abs(modes.shapes.real).max(axis=0), 0.0)))
    omega = FORCED[0] * float(modes.frequencies[number])
    begin = time.perf_counter()
    energy = rank_modes(system, masters, EnergyBasedRanking(forces, omega), count=min(interior, system.nq // 3))
    seconds = {"EBR": time.perf_counter() - begin}
    rankings = {"EBR": energy}
    for name, method in comparisons((number + 1,)).items():
        begin = time.perf_counter()
        rankings[name] = energy.by(method)
        seconds[name] = time.perf_counter() - begin
    return {
        "coordinates": system.nq, "masters": len(energy.masters), "longitudinal_mode": number + 1,
        "frequency_hz": float(modes.frequencies[number]) / 2 / np.pi, "interior_modes": len(energy),
        "modes_needed": {name: modes_needed(each, forces, omega) for name, each in rankings.items()},
        "bound_of_the_rest": {name: None if np.isnan(each.rest) else each.rest for name, each in rankings.items()},
        "seconds": seconds, "mean_energy_gap": mean_energy_gap(system, energy, forces, omega),
    }  # fmt: skip


def _pieces(results: dict[str, Any], ranking: Ranking) -> list[Piece]:
    imr, sono, forced_at = results["imr"], results["sonotrode"], results["ebr"]["modes_needed"]
    first = Text(
        f"For {' and '.join(f'{f:.4f}' for f in results['frequencies_khz'])} kHz the bar horn needs "
        f"{imr['modes_needed']['IMR']} interior modes ranked for these modes, {imr['modes_needed']['SBE']} by "
        f"frequency. Under a force 1 % above the first of them {forced_at['1.01']['corner']['EBR']} modes by energy "
        f"replace {forced_at['1.01']['corner']['SBE']} by frequency. A solid sonotrode "
        f"of {sono['coordinates']} coordinates needs {sono['modes_needed']['EBR']} by energy."
    )
    errors = [(str(n + 7), f"{ours:.4f}", f"{theirs:.4f}")
              for n, (ours, theirs) in enumerate(zip(imr["error_percent"], PUBLISHED_ERRORS))]  # fmt: skip
    names = ("EBR", *comparisons((8,)))
    forced = [(f"{factor} f8, {place}", *(str(row[name]) for name in names))
              for factor, places in forced_at.items() for place, row in places.items()]  # fmt: skip
    forced.append(("sonotrode, 1.001 f", *(str(sono["modes_needed"][name]) for name in names)))
    forced.append(("sonotrode, seconds", *(f"{sono['seconds'][name]:.2f}" for name in names)))
    return [
        first,
        Table(("coordinates", "error [%]", "published [%]"), tuple(errors), "Bound of the interior mode ranking"),
        Table(("force", *names), tuple(forced), "Interior modes for a MAC of 0.999 and a gain within 1 %"),
        Picture("bound", _figure(ranking.bounds()), "What the first interior modes leave out of modes 8 and 14."),
    ]


def _figure(bounds: FloatArray) -> Any:
    with mpl.rc_context(STYLE):
        figure = new_figure(7.0, 3.5)
        axes = figure.subplots()
        axes.semilogy(100 * bounds[:40], "o-", color=COLORS[0])
        axes.axhline(1.0, color=COLORS[1], lw=1)
        axes.set_xlabel("interior modes kept")
        axes.set_ylabel("left out, at most [%]")
        log_ticks(axes.yaxis)
    return figure
