"""A vibratory feeder driven by two harmonics: interior modes by their energy, and by other rankings.

After Palomba 2016, ch. 5: a tray on a base, joined by springs, and three exciters hung on the tray. The thesis does not
print dimensions; these give as many coordinates and masters.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np

from dalembert.core.progress import step
from dalembert.structures import (
    EnergyBasedRanking,
    Frame,
    Material,
    Ranking,
    Section,
    assemble_structure,
    forced_fidelity,
    rank_modes,
)
from dalembert.studies.flexible.bar_horn import comparisons
from dalembert.studies.runner import Outcome
from dalembert.view.plots.figures import COLORS, STYLE, log_ticks, new_figure
from dalembert.view.reports.pages import Picture, Piece, Table, Text

LENGTH, WIDTH, HEIGHTS = 2.0, 0.1, {"base": 0.05, "tray": 0.02}
TIES, TIE = (0, 2, 3, 5, 6, 8), 2e5
GROUND, GROUND_SPRING = (1, 7), 1e5
EXCITERS, EXCITER_MASS, EXCITER_HZ = (1, 4, 7), 3.0, 55.0
HARMONICS_HZ = (50.0, 100.0)
STEPS = {"rankings": 2.0}


def feeder() -> Frame:
    """Two beams of eight elements each that bend in the plane, nothing moves along them."""
    frame = Frame("feeder", planar=True, gravity=0)
    x = np.linspace(0.0, LENGTH, 9)
    steel = Material("steel", E=210e9, density=7850.0, poisson=0.3)
    for name, height in HEIGHTS.items():
        frame.add_points([f"{name}{i}" for i in range(9)], np.column_stack([x, np.full(9, 0.3 * (name == "tray"))]))
        section = Section.rectangle(height, WIDTH)
        ends = [[f"{name}{i + k}" for i in range(8)] for k in (0, 1)]
        frame.add_beams([f"{name}_{i}" for i in range(8)], *ends, section=section, material=steel,
                        theory="euler-bernoulli", rotary=False)  # fmt: skip
    for i in TIES:
        frame.add_spring(f"tie{i}", f"base{i}", f"tray{i}", TIE, direction="y")
    for i in GROUND:
        frame.add_spring(f"ground{i}", f"base{i}", None, GROUND_SPRING, direction="y")
    for i in EXCITERS:
        frame.add_point(f"exciter{i}", x[i], 0.5)
        frame.add_mass(f"mass{i}", f"exciter{i}", EXCITER_MASS)
        stiffness = EXCITER_MASS * (2 * np.pi * EXCITER_HZ) ** 2
        frame.add_spring(f"leaf{i}", f"tray{i}", f"exciter{i}", stiffness, direction="y")
    for point in frame.point_names:
        frame.add_support(point, "x")
    return frame


def study() -> Outcome:
    """Sizes of the reduced model by every ranking."""
    step("rankings")
    system = assemble_structure(feeder()).system()
    tray, exciters = ([f"{part}{i}.y" for i in EXCITERS] for part in ("tray", "exciter"))
    forces = {**dict.fromkeys(tray, 1.0), **dict.fromkeys(exciters, -1.0)}
    harmonics = tuple(2 * np.pi * f for f in HARMONICS_HZ)
    rankings = {"EBR": rank_modes(system, tray + exciters, EnergyBasedRanking(forces, harmonics))}
    # modes 5 and 6 of the whole are the neighbours of the first harmonic
    rankings |= {name: rankings["EBR"].by(method) for name, method in comparisons((5, 6)).items()}
    fidelities = {name: forced_fidelity(ranking, forces, harmonics) for name, ranking in rankings.items()}
    results = {
        "coordinates": system.nq,
        "frequencies_hz": system.modes(10).frequencies / 2 / np.pi,
        "sizes": {name: len(forces) + each.size() for name, each in fidelities.items()},
        "order": {name: ranking.first(8) for name, ranking in rankings.items()},
    }
    return Outcome("A vibratory feeder and its interior modes", results, _pieces(results, rankings, fidelities),
                   {"seeds": "none: nothing is random"})  # fmt: skip


def _pieces(results: dict[str, Any], rankings: dict[str, Ranking], fidelities: dict[str, Any]) -> list[Piece]:
    sizes = results["sizes"]
    first = Text(
        f"Under {HARMONICS_HZ[0]:g} and {HARMONICS_HZ[1]:g} Hz {sizes['EBR']} of {results['coordinates']} coordinates "
        f"are enough with interior modes by energy, {sizes['SBE']} by frequency. The second mode by energy is number "
        f"{results['order']['EBR'][1]}."
    )
    rows = [(name, str(size), ", ".join(map(str, results["order"][name]))) for name, size in sizes.items()]
    with mpl.rc_context(STYLE):
        figure = new_figure(7.0, 3.5)
        axes = figure.subplots()
        for k, (name, each) in enumerate(fidelities.items()):
            axes.semilogy(each.modes, np.maximum(each.gain_errors, 1e-8), color=COLORS[k], label=name)
        axes.axhline(1.0, color=COLORS[-1], lw=1)
        axes.set_xlabel("interior modes kept")
        axes.set_ylabel("error of the gain [%]")
        log_ticks(axes.yaxis)
        axes.legend()
    return [
        first, Table(("ranking", "coordinates", "first interior modes"), tuple(rows), "Sizes that meet the targets"),
        Picture("gain", figure, "Error of the motion of the first tray point by number of interior modes."),
    ]  # fmt: skip
