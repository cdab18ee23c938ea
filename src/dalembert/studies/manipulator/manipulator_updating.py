"""Updating of the manipulator: from exact modes, from measured frequencies, and from a simulated hammer test.

Measured and nominal frequencies are those of Palomba 2016, table 4.8. The hammer test strikes the manipulator, at rest
in a horizontal plane, with true stiffnesses of its links; accelerometers are spread along them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg
import scipy.signal

from dalembert.core.arrays import FloatArray
from dalembert.core.progress import step
from dalembert.identify import (
    Affine,
    MeasuredLink,
    RayleighQuotients,
    expand_shapes,
    frf,
    plscf,
    split_impacts,
    to_elastic,
    update,
)
from dalembert.linear import SecondOrder
from dalembert.linear.modes import Modes
from dalembert.linkages.links import elastic_link
from dalembert.linkages.motion import LinkagePose
from dalembert.record import Record
from dalembert.studies.manipulator.manipulator_model import (
    LINKS,
    NODE_INERTIAS,
    ManipulatorFactors,
    link_frame,
    manipulator,
)
from dalembert.view.reports.pages import Piece, Table, Text

SX = ca.SX
# measured, nominal and updated frequencies [Hz]
MEASURED_HZ = (13.39, 43.57, 64.65, 112.99, 138.15, 154.73, 198.56, 221.37)
NOMINAL_HZ = (13.72, 43.88, 66.96, 127.25, 147.23, 171.95, 204.93, 264.20)
UPDATED_HZ = (13.29, 43.30, 64.78, 124.24, 142.54, 159.37, 197.43, 251.32)
MASSES = (2, 4, 5, 6, 8, 9, 10, 12, 13, 14)  # nodes with a mass that is updated
CHANGE = 0.15  # largest relative error of the parameters
BOUND = 0.25
RATE, LENGTH = 2048.0, 6.0  # samples a second, seconds after a blow
SENSORS = 4  # accelerometers across each beam: a cubic
BLOWS = (
    ("AB", 0.5),
    ("AD", 0.425),
    ("BC", 0.425),
    ("CE", 1.2),
)  # where the hammer strikes across a link, three times each
BAND = (20.0, 190.0)  # of the modal fit [Hz]: modes 2 to 6
DAMPING, NOISE = 0.01, 0.2  # ratio of all modes; noise of the accelerometers [m/s²]


class NodalMotions:
    """Motion of the nodes with (u, q) at the pose q*, and the matrices of the links there."""

    def __init__(self) -> None:
        self.links = manipulator()
        linkage = self.links.linkage
        rigid, elastic = linkage.rigid, linkage.elastic
        x, p = SX.sym("x", rigid.nq), ca.DM(rigid.p)
        pose = LinkagePose(linkage, x, SX.zeros(rigid.nv), p, 0.0)
        expanded = elastic.expand(pose.angles)
        columns = ca.horzcat(pose.displacements(p, 0.0)[:, list(linkage.free)], pose.S)
        values = ca.Function("pose", [x], [ca.densify(v) for v in (
            pose.to_links(columns), pose.to_links(expanded), expanded, pose.S
        )])(rigid.state().q)  # fmt: skip
        self.in_links, self.of_nodes, P, S = (np.array(value) for value in values)
        self.S = np.linalg.lstsq(P, S, rcond=None)[0]
        self.displacements = elastic.names
        self.zeroed = [elastic.names[k] for k in linkage.zeroed]
        self.rigid = list(rigid.coordinates.names[: rigid.nv])
        self.coordinates = [*linkage.names, *self.rigid]
        counts = [3 * len(places) for *_, places in LINKS.values()]
        self.first = dict(zip(LINKS, np.cumsum([0, *counts]).tolist(), strict=False))

    def matrices(self, factors: ManipulatorFactors) -> tuple[FloatArray, FloatArray]:
        bodies = {body.name: body for body in self.links.mechanism.bodies}
        bent = [elastic_link(bodies[name], link_frame(name, factors)) for name in LINKS]
        full = (scipy.linalg.block_diag(*(getattr(link, key) for link in bent)) for key in "MK")
        M, K = (self.in_links.T @ matrix @ self.in_links for matrix in full)
        return (M + M.T) / 2, (K + K.T) / 2

    def family(self, parameters: Mapping[str, ManipulatorFactors]) -> Affine:
        """Mass and stiffness as sums of parts; parameters : name -> factors of the doubled part."""
        M, K = self.matrices(ManipulatorFactors())
        parts = {name: [d - base for d, base in zip(self.matrices(factors), (M, K))]
                 for name, factors in parameters.items()}  # fmt: skip
        mass = {name: dM for name, (dM, _) in parts.items() if np.abs(dM).max() > 1e-12}
        stiffness = {name: dK for name, (_, dK) in parts.items() if name not in mass}
        base = SecondOrder(M - sum(mass.values()), K - sum(stiffness.values()), coordinates=self.coordinates)
        return Affine(base, mass=mass, stiffness=stiffness)

    def across(self, link: str, place: float, way: int = 1) -> FloatArray:
        """Row of the displacement across a link (or along it) at a place, by (u, q)."""
        places = LINKS[link][3]
        e = min(int(np.searchsorted(places, place, side="right")), len(places) - 1) - 1
        length = places[e + 1] - places[e]
        x = (place - places[e]) / length
        shape = np.zeros((2, 3))
        if way:
            shape[:, 1], shape[:, 2] = (1 - 3 * x**2 + 2 * x**3, 3 * x**2 - 2 * x**3), (
                length * (x - 2 * x**2 + x**3), length * (x**3 - x**2)
            )  # fmt: skip
        else:
            shape[:, 0] = 1 - x, x
        begin = self.first[link] + 3 * e
        return np.asarray(shape.ravel() @ self.in_links[begin : begin + 6])


def stiffnesses() -> dict[str, ManipulatorFactors]:
    return {f"E.{name}": ManipulatorFactors(stiffness={name: 2.0}) for name in LINKS}


def nine_parameters() -> dict[str, ManipulatorFactors]:
    """Density, three inertias, five stiffnesses."""
    inertias = {f"inertia.{node}": ManipulatorFactors(inertias={node: 2.0}) for node in NODE_INERTIAS}
    return {"density": ManipulatorFactors(density=2.0), **inertias, **stiffnesses()}


def updating() -> tuple[dict[str, Any], list[Piece]]:
    """Figures of the part, and its pieces of the page."""
    step("exact modes")
    nodal = NodalMotions()
    results = {"table": table_errors(), "exact": from_exact_modes(nodal)}
    step("measured frequencies")
    results["measured"] = from_measured_frequencies(nodal)
    step("hammer test")
    results["hammer"] = from_hammer_test(nodal)
    return results, _pieces(results)


def table_errors() -> dict[str, float]:
    """Mean errors of the printed frequencies [%]."""
    measured = np.array(MEASURED_HZ)
    printed = {"nominal": NOMINAL_HZ, "updated": UPDATED_HZ}
    return {
        f"{name}_percent": float(100 * np.mean(np.abs(np.array(hz) / measured - 1))) for name, hz in printed.items()
    }


def _true_factors(names: Sequence[str], seed: int) -> dict[str, float]:
    random = np.random.default_rng(seed)
    return dict(zip(names, 1.0 + random.uniform(-CHANGE, CHANGE, len(names)), strict=True))


def from_exact_modes(nodal: NodalMotions, count: int = 13, seed: int = 1) -> dict[str, Any]:
    """Nine parameters from exact modes in one pass, and the same rows with the printed sign."""
    names = nine_parameters()
    family, true = nodal.family(names), _true_factors(list(names), seed)
    first = dict.fromkeys(names, 1.0)
    modes = family(**true).modes()
    modes = modes.select([k + 1 for k in range(3, 3 + count)])
    exact = Modes(modes.eigenvalues, modes.shapes, modes.coordinates,
                  frequency_deviations_hz=1e-9 * modes.frequencies_hz)  # fmt: skip
    result = update(family, exact, first, method=RayleighQuotients(passes=1))
    A, b = quotients(family, exact, first)
    printed = np.linalg.lstsq(A, -b, rcond=None)[0]
    change = np.array([true[name] - 1.0 for name in names])
    return {
        "largest_error": float(np.abs(result.values - 1.0 - change).max()),
        "condition": float(np.linalg.cond(A)),
        "printed_sign_error": float(np.abs(printed + change).max()),
        "true": true,
    }


def quotients(family: Affine, modes: Modes, first: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
    """Rows A and b of relative changes as the formulas have them, each divided by ω²: φᵀ M φ = 1."""
    system, parts = family(**first), family.parts()
    rows, right = [], []
    for value, phi in zip(modes.eigenvalues.imag**2, np.asarray(modes.shapes).real.T, strict=True):
        phi = phi / np.sqrt(value * float(phi @ system.M @ phi))
        none = np.zeros_like(system.M)
        rows.append([phi @ (value * parts["M"].get(n, none) - parts["K"].get(n, none)) @ phi for n in first])
        right.append(-phi @ (value * system.M - system.K) @ phi)
    return np.array(rows), np.array(right)


def from_measured_frequencies(nodal: NodalMotions, regularisation: float = 1e-3) -> dict[str, Any]:
    """Nineteen parameters from seven measured frequencies with the shapes of the model."""
    masses = {f"mass.{node}": ManipulatorFactors(masses={node: 2.0}) for node in MASSES}
    names = {**nine_parameters(), **masses}
    family, first = nodal.family(names), dict.fromkeys(names, 1.0)
    nominal = family(**first).modes().select([k + 1 for k in range(3, 10)])
    elastic = len(nodal.coordinates) - len(nodal.rigid)  # shapes at these name the modes, they are no targets
    measured = Modes(2j * np.pi * np.array(MEASURED_HZ[:7]), nominal.shapes[:elastic], nominal.coordinates[:elastic])
    result = update(
        family, measured, first, method=RayleighQuotients(regularisation=regularisation),
        bounds=dict.fromkeys(names, (1.0 - BOUND, 1.0 + BOUND)),
    )  # fmt: skip
    return {
        "nominal_percent": float(np.mean(np.abs(result.errors_before))),
        "updated_percent": float(np.mean(np.abs(result.errors_after))),
        "largest_change": float(np.abs(result.values - 1.0).max()),
        "parameters": len(names),
    }


# ---- hammer test


def from_hammer_test(nodal: NodalMotions, seed: int = 2) -> dict[str, Any]:
    """Stiffnesses of the links from blows of a hammer, with their deviations."""
    names = stiffnesses()
    del names["E.EF"]  # the forearm does not bend in the modes of the band
    family, true = nodal.family(names), _true_factors(list(names), seed)
    sensors, links = accelerometers(nodal)
    record = strike(family(**true).modes(), nodal, sensors, np.random.default_rng(seed))
    hits = [split_impacts(record, f"hammer{k + 1}", trigger=5.72, pretrigger=0.01, length=LENGTH - 0.5).good
            for k in range(len(BLOWS))]  # fmt: skip
    inputs = [f"hammer{k + 1}" for k in range(len(BLOWS))]
    every = [part for group in hits for part in group]
    measured = frf(every, inputs, list(sensors), segment="record", window="boxcar", overlap=0.0, detrend="none")
    fit = plscf(measured, band_hz=BAND)
    modes = in_model_coordinates(nodal, fit.modes, links)
    # along a beam the stiffness is ten thousand times that across it: noise there would bias the stiffnesses
    method = RayleighQuotients(measured_shapes=False, passes=20)
    result = update(family, modes, dict.fromkeys(names, 1.0), method=method)
    assert result.deviations is not None
    errors = {name: (result[name] - true[name]) / float(result.deviations[k]) for k, name in enumerate(names)}
    return {
        "blows": len(every), "sensors": len(sensors), "frequencies_hz": fit.frequencies_hz,
        "frequency_deviations_hz": fit.frequency_deviations_hz, "true": true,
        "updated": dict(zip(names, result.values.tolist(), strict=True)),
        "deviations": dict(zip(names, result.deviations.tolist(), strict=True)),
        "errors_in_deviations": errors, "status": result.status,
    }  # fmt: skip


def accelerometers(nodal: NodalMotions) -> tuple[dict[str, FloatArray], list[MeasuredLink]]:
    """Rows of all accelerometers by (u, q), and each beam with those across it; ends of links have one along them."""
    sensors: dict[str, FloatArray] = {}
    links = []
    for name, (*_, places) in LINKS.items():
        taken: set[int] = set()
        for e in range(len(places) - 1):
            ends = {e: places[e], e + 1: places[e + 1]}
            at = np.linspace(places[e], places[e + 1], SENSORS + 2)[1:-1]
            across = {f"{name}@{place:.3f}": float(place) for place in at}
            sensors |= {label: nodal.across(name, place) for label, place in across.items()}
            nodes = {f"{name}.{node}": place for node, place in ends.items() if node not in taken}
            taken |= set(ends)
            links.append(MeasuredLink(across, {f"{label}.across": place for label, place in nodes.items()},
                                      {f"{label}.turn": place for label, place in nodes.items()}))  # fmt: skip
        for node, place in enumerate(places):
            sensors[f"{name}.{node}.along"] = nodal.across(name, place, way=0)
    return sensors, links


def strike(modes: Modes, nodal: NodalMotions, sensors: Mapping[str, FloatArray], random: np.random.Generator) -> Record:
    """One long record of blows: half sines of 4 ms at the places of `BLOWS`, three times each, with noise.

    Every mode below the Nyquist frequency is played exactly for forces that are linear between samples; higher modes,
    which such blows do not excite, are left out as an anti-aliasing filter would.
    """
    kept = modes.frequencies_hz < RATE / 2
    phi, wn = np.asarray(modes.shapes).real[:, kept], 2 * np.pi * modes.frequencies_hz[kept]
    pulse = np.sin(np.pi * np.arange(1, 8) / 8.0)
    samples = int(LENGTH * RATE)
    total = 3 * len(BLOWS) * samples
    forces = np.zeros((total, len(BLOWS)))
    for hit in range(3 * len(BLOWS)):
        begin = hit * samples + int(0.25 * RATE)
        forces[begin : begin + len(pulse), hit // 3] = random.uniform(40.0, 60.0) * pulse
    modal = forces @ np.array([nodal.across(*blow) for blow in BLOWS]) @ phi
    accelerations = np.empty_like(modal)
    for k, w in enumerate(wn):
        rates = np.array([-(w**2), -2 * DAMPING * w])
        A, one = np.vstack([[0.0, 1.0], rates]), np.array([[0.0], [1.0]])
        b, a = scipy.signal.ss2tf(*scipy.signal.cont2discrete((A, one, rates[None], np.eye(1)), 1 / RATE, "foh")[:4])
        accelerations[:, k] = scipy.signal.lfilter(b[0], a, modal[:, k])
    response = accelerations @ (np.array(list(sensors.values())) @ phi).T
    response += NOISE * random.standard_normal(response.shape)
    measured = forces + 1e-3 * random.standard_normal(forces.shape)
    hammers = {f"hammer{k + 1}": measured[:, k] for k in range(len(BLOWS))}
    channels = {**hammers, **dict(zip(sensors, response.T, strict=True))}
    units = dict.fromkeys(hammers, "N") | dict.fromkeys(sensors, "m/s^2")
    return Record.from_channels(np.arange(total) / RATE, channels, units=units)


def in_model_coordinates(nodal: NodalMotions, modes: Modes, links: Sequence[MeasuredLink]) -> Modes:
    """Modes in (u, q): cubics along the beams, displacements of shared nodes from both links, rigid motion apart."""
    expanded = expand_shapes(modes, links)
    rows, shapes = [], []
    ways = {"along": 0, "across": 1, "turn": 2}
    for source in (expanded, modes):
        for k, label in enumerate(source.coordinates):
            link, _, tail = label.partition(".")
            node, _, way = tail.partition(".")
            if way in ways and "@" not in label:
                rows.append(nodal.of_nodes[nodal.first[link] + 3 * int(node) + ways[way]])
                shapes.append(source.shapes[k])
    total = np.linalg.lstsq(np.array(rows), np.array(shapes), rcond=None)[0]
    nodal_modes = Modes(modes.eigenvalues, total, nodal.displacements,
                  frequency_deviations_hz=modes.frequency_deviations_hz)  # fmt: skip
    return to_elastic(nodal_modes, nodal.S, nodal.zeroed, nodal.rigid)


def _pieces(results: dict[str, Any]) -> list[Piece]:
    table, exact, measured, hammer = (results[key] for key in ("table", "exact", "measured", "hammer"))
    text = Text(
        f"The printed frequencies are off by {table['nominal_percent']:.2f} % and, updated, by "
        f"{table['updated_percent']:.2f} %. Thirteen exact modes give nine parameters to {exact['largest_error']:.0e} "
        f"(condition {exact['condition']:.2g}); with the printed sign of the right-hand side they give the negative. "
        f"Seven measured frequencies bring this model from {measured['nominal_percent']:.1f} to "
        f"{measured['updated_percent']:.1f} % on average, with {measured['parameters']} parameters within "
        f"{100 * BOUND:.0f} %. A hammer test with {hammer['blows']} blows and {hammer['sensors']} accelerometers gives "
        "the stiffnesses of the links:"
    )
    rows = tuple(
        (name, f"{hammer['true'][name]:.4f}", f"{hammer['updated'][name]:.4f}", f"{hammer['deviations'][name]:.4f}",
         f"{hammer['errors_in_deviations'][name]:+.1f}")
        for name in hammer["true"]
    )  # fmt: skip
    return [text, Table(("factor", "true", "updated", "deviation", "error / deviation"), rows, "Hammer test")]
