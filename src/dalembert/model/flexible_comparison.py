"""Comparison of flexible-body data with its finite-element model or a rigid body, and checks of its modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.tables import align_columns
from dalembert.model.flexible_check import (
    asymmetry,
    body_size,
    finding,
    generalised_mass,
    lowest,
    momentum,
    still_nodes,
)

if TYPE_CHECKING:
    from dalembert.model.flexible import FlexibleBodyData


@dataclass(frozen=True)
class CheckRow:
    """One comparison: a difference without unit, and its limit."""

    what: str
    value: str
    expected: str
    difference: float
    limit: float

    @property
    def sound(self) -> bool:
        """Whether the difference is within its limit."""
        return bool(self.difference <= self.limit)


@dataclass(frozen=True)
class BodyCheck:
    """Result of `FlexibleBodyData.check`: rows of comparisons, and findings for those beyond their limits."""

    name: str
    rows: tuple[CheckRow, ...]
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether every comparison is within its limit."""
        return all(row.sound for row in self.rows)

    def table(self) -> str:
        """The rows as text."""
        rows = [
            (row.what, row.value, row.expected, f"{row.difference:.1e}", f"{row.limit:.0e}",
             "ok" if row.sound else "BEYOND ITS LIMIT")
            for row in self.rows
        ]  # fmt: skip
        head = ("", "value", "expected", "difference", "limit", "")
        return f"flexible body {self.name!r}\n{align_columns(head, rows, left=(0, -1), indent='  ')}"

    def __repr__(self) -> str:
        return self.table()


def compare(data: FlexibleBodyData) -> BodyCheck:
    """All comparisons of one body."""
    rows = [*_against_model(data), *_sizes(data), *_of_modes(data)]
    return BodyCheck(data.name, tuple(rows), tuple(_report(data, row, _code(row)) for row in rows if not row.sound))


def _report(data: FlexibleBodyData, row: CheckRow, code: str, *advice: Advice) -> Finding:
    problem = (
        f"{row.what} is {row.value}, expected {row.expected}{_factor_words(row)} "
        f"(difference {row.difference:.1e}, limit {row.limit:.0e})."
    )
    return finding(data, code, problem, *advice, what=row.what, difference=row.difference, limit=row.limit)


def compare_rigid(
    data: FlexibleBodyData, mass: float, center: FloatArray, inertia: FloatArray, axes: Iterable[int],
    gaps: Mapping[str, float], largest: float, *, alike: float = 0.01, turning: float = 0.05, apart: float = 1e-6,
) -> list[Finding]:  # fmt: skip
    """Differences from the rigid body that the data replace; an error where one is above `largest`.

    center (3,) [m] and inertia (3, 3) about it [kg m²] : of the rigid body, in the frame of the data.  axes : about
    which it turns.  gaps : distances of its places from the nodes that they become [m].
    alike, turning : limits for mass and centre, and for the inertia, of two models of one part, such as a drawing and
    a mesh of it.  apart : for places, over the size: files have some 7 digits.
    """
    rows, turns, c = [], np.ix_([*axes], [*axes]), data.center
    size = body_size(data)
    actual = (data.inertia - data.mass * (c @ c * np.eye(3) - np.outer(c, c)))[turns]
    due = inertia[turns]
    if mass > 0.0:
        ratio = max(data.mass / mass, mass / data.mass) - 1
        rows.append(CheckRow("mass [kg]", _text(data.mass), _text(mass), ratio, alike))
        off = float(np.linalg.norm(c - center)) / size
        rows.append(CheckRow("centre [m]", _text(*c), _text(*center), off, alike))
    if due.any():
        least = min(np.linalg.norm(actual), np.linalg.norm(due))
        change = float(np.linalg.norm(actual - due) / least)
        values = _text(*np.diagonal(actual)), _text(*np.diagonal(due))
        rows.append(CheckRow("inertia, diagonal [kg m²]", *values, change, turning))
    rows += [
        CheckRow(f"the distance of {name!r} from its node [m]", _text(gap), "0", gap / size, apart)
        for name, gap in gaps.items()
    ]
    bound = Advice("Check the units, the nodes and the rotation of the data; accept more with {}.", Argument("largest"))
    refused = [_report(data, row, "unlike-body", bound) for row in rows if not row.difference <= largest]
    ModelError.refuse(refused, f"differences of flexible body {data.name!r} from the rigid one", {"body": data.name})
    return [_report(data, row, "unlike-body") for row in rows if not row.sound]


def _against_model(
    data: FlexibleBodyData,
    digits: float = 1e-6,  # mass and centre agree to rounding by every route; files carry some 7 digits
    inertia: float = 0.05,  # to rounding where it is integrated, and with the mesh where masses are lumped
    frequency: float = 0.05,  # those of a reduced model are above those of the full one
) -> list[CheckRow]:
    model = data.finite_elements
    if model is None:
        return []
    rows = [CheckRow("mass [kg]", _text(data.mass), _text(model.mass), abs(data.mass / model.mass - 1), digits)]
    stated = np.isfinite(model.inertia)
    size = np.sqrt(np.trace(data.inertia) / (2 * data.mass)) or 1.0
    off = float(np.abs(data.center - model.center).max() / size)
    rows.append(CheckRow("centre [m]", _text(*data.center), _text(*model.center), off, digits))
    if stated.any():
        difference = float(np.abs(data.inertia - model.inertia)[stated].max() / np.abs(model.inertia[stated]).max())
        values = [_text(*np.diagonal(matrix)) for matrix in (data.inertia, model.inertia)]
        rows.append(CheckRow("inertia, diagonal [kg m²]", values[0], values[1], difference, inertia))
    if model.rigid_modes is not None:
        due = 3 if not stated.all() else 6
        rows.append(CheckRow("rigid modes", str(model.rigid_modes), str(due), float(due != model.rigid_modes), 0.0))
    if model.frequencies_hz is not None and len(model.frequencies_hz) and data.modes:
        count = min(len(model.frequencies_hz), data.modes, 6)
        every = _free_frequencies(data) if model.free else data.frequencies_hz
        mine, theirs = every[:count], model.frequencies_hz[:count]
        difference = float(np.abs(mine / np.maximum(theirs, 1e-300) - 1).max())
        rows.append(CheckRow("frequencies [Hz]", _text(*mine[:3]), _text(*theirs[:3]), difference, frequency))
    return rows


def _sizes(
    data: FlexibleBodyData, largest: float = 100.0, slowest: float = 300.0, fastest: float = 30_000.0
) -> list[CheckRow]:
    """Size [m] and speed of waves √(E/ρ) [m/s]: numbers in other units show by them.

    Machines are smaller, and a mesh in millimetres of a part is larger. Speeds are 900 to 18 000 m/s from plastics to
    diamond; a stiffness 1000 times off leaves this range (a factor of 31.6), and rubber and foam are below it.
    """
    size = body_size(data)
    rows = [CheckRow("size [m]", _text(size), f"< {largest:g}", size / largest, 1.0)]
    speed = None if data.finite_elements is None else data.finite_elements.wave_speed
    if speed is not None:
        factor = max(speed / fastest, slowest / max(speed, 1e-300))
        expected = f"{slowest:g} to {fastest:g}"
        rows.append(CheckRow("wave speed [m/s]", _text(speed), expected, factor, 1.0))
    return rows


def _free_frequencies(data: FlexibleBodyData) -> FloatArray:
    """Of frame and modes together, without rigid motions [Hz]."""
    from scipy.linalg import eigh

    mass_matrix = generalised_mass(data)
    there = np.diagonal(mass_matrix)[:6] > 0.0  # a line has no inertia about itself
    rigid, coupling = mass_matrix[:6, :6][np.ix_(there, there)], mass_matrix[:6, 6:][there]
    values = eigh(data.stiffness, data.modal_mass - coupling.T @ np.linalg.solve(rigid, coupling), eigvals_only=True)
    return np.asarray(np.sqrt(np.maximum(values, 0.0)) / (2 * np.pi))


def _of_modes(data: FlexibleBodyData, digits: float = 1e-6, positive: float = 1e-9) -> list[CheckRow]:
    if not data.modes:
        return []
    rows = []
    if data.reference == "mean axis":
        share = momentum(data)
        rows.append(CheckRow("momentum of the modes", f"{share:.1e}", "0", share, digits))
    if data.reference == "attached":
        still = still_nodes(data)
        rows.append(CheckRow("node of the frame", ", ".join(still) or "none", "still", float(not still), 0.0))
    symmetric = max(asymmetry(data.modal_mass), asymmetry(data.stiffness), asymmetry(data.inertia))
    rows.append(CheckRow("symmetry", f"{symmetric:.1e}", "0", symmetric, digits))
    value = lowest(generalised_mass(data))
    rows.append(CheckRow("mass of frame and modes", f"{value:.1e}", "> 0", max(-value, 0.0), positive))
    if np.array_equal(data.modal_mass, np.eye(data.modes)):  # modes of unit mass should be orthogonal
        coupling = _coupling(data.stiffness)
        rows.append(CheckRow("stiffness between the modes", f"{coupling:.1e}", "0", coupling, digits))
    return rows


def _code(row: CheckRow) -> str:
    return "suspect-units" if _unit_factor(row) or row.what in ("size [m]", "wave speed [m/s]") else "out-of-range"


def _factor_words(row: CheckRow) -> str:
    factor = _unit_factor(row)
    return f", a factor of {factor}: units are suspected" if factor else ""


def _unit_factor(row: CheckRow, near: float = 0.02) -> str:
    """The factor of units between two numbers, where it is one: powers of ten of 1000, or 2π of rad/s and Hz.

    near : inertia and frequencies differ by as much, and no two factors do.
    """
    try:
        mine, theirs = float(row.value.split(",")[0]), float(row.expected.split(",")[0])
    except ValueError:
        return ""
    if not (mine > 0.0 and theirs > 0.0):
        return ""
    ratio = mine / theirs
    for text, factor in (("1000", 1e3), ("1e6", 1e6), ("1e9", 1e9), ("2π", 2 * np.pi), ("31.6", np.sqrt(1e3))):
        if abs(ratio / factor - 1) < near or abs(ratio * factor - 1) < near:
            return text
    return ""


def _text(*values: float) -> str:
    return ", ".join(f"{value:.5g}" for value in values)


def _coupling(matrix: FloatArray) -> float:
    """Largest entry off the diagonal, scaled to a diagonal of ones."""
    size = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    scaled = matrix / np.outer(size, size)
    return float(np.abs(scaled - np.diag(np.diagonal(scaled))).max(initial=0.0))
