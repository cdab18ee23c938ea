"""Checks of flexible-body data at construction: data that are not physical are refused.

Shapes, finite numbers, symmetry, positive masses, modes that are independent, nodes with names of
their own, and numbers whose size shows another unit. A body of mass m with radii of gyration r₁ ≥ r₂ ≥ r₃ has about
the density m / (42 r₁ r₂ r₃) (the factor of a solid box), and waves in no material are faster than 2e4 m/s, so that the
lowest frequency of a body of size L is below c/(4 L).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Argument, Finding

if TYPE_CHECKING:
    from dalembert.model.flexible import FlexibleBodyData


# Usual systems of units of finite-element models: one metre and one kilogram in their units of length and mass.
UNITS = (
    ("mm and t", 1e-3, 1e3), ("mm and kg", 1e-3, 1.0), ("mm and g", 1e-3, 1e-3), ("m and g", 1.0, 1e-3),
    ("m and t", 1.0, 1e3), ("inches and lbf s²/in", 0.0254, 175.126835), ("cm and g", 1e-2, 1e-3),
)  # fmt: skip


def refuse_unsound(data: FlexibleBodyData) -> None:
    """Raise one error with all problems of the arrays."""
    ModelError.refuse(find_problems(data), f"problems in the data of flexible body {data.name!r}", {"body": data.name})


def find_problems(data: FlexibleBodyData) -> list[Finding]:
    """Problems of the arrays; later checks run only where the earlier ones found nothing."""
    for check in (_shapes, _finite, _names, _symmetry, _definite, _frame, _units):
        findings = check(data)
        if findings:
            return findings
    return []


def finding(data: FlexibleBodyData, code: str, problem: str, *advice: Advice, **evidence: Any) -> Finding:
    """A finding about the data of one body."""
    return Finding(code, f"flexible body {data.name!r}: {problem}", {"body": data.name}, evidence, advice)


def _arrays(data: FlexibleBodyData) -> list[tuple[str, FloatArray, tuple[int, ...]]]:
    """Every array by name, with the shape it must have."""
    m = len(data.stiffness)
    arrays: list[tuple[str, FloatArray, tuple[int, ...]]] = [
        ("first_moment", data.first_moment, (3,)), ("inertia", data.inertia, (3, 3)),
        ("translation", data.translation, (3, m)), ("rotation", data.rotation, (3, m)),
        ("modal_mass", data.modal_mass, (m, m)), ("moments", data.moments, (3, 3, m)),
        ("products", data.products, (3, 3, m, m)), ("stiffness", data.stiffness, (m, m)),
        ("damping", data.damping, (m, m)),
    ]  # fmt: skip
    for node in data.nodes:
        arrays += [
            (f"place of node {node.name!r}", node.place, (3,)),
            (f"translation of node {node.name!r}", node.translation, (3, m)),
            (f"rotation of node {node.name!r}", node.rotation, (3, m)),
        ]
    arrays += [(f"row of gauge {gauge.name!r}", gauge.row, (m,)) for gauge in data.gauges]
    if data.stiffening is not None:
        if data.stiffening.centrifugal is not None:
            arrays.append(("centrifugal stiffening", data.stiffening.centrifugal, (6, m, m)))
        if data.stiffening.acceleration is not None:
            arrays.append(("stiffening by acceleration", data.stiffening.acceleration, (3, m, m)))
        for kind in ("forces", "moments"):
            for name, matrix in getattr(data.stiffening, kind).items():
                arrays.append((f"stiffening by {kind} at {name!r}", matrix, (3, m, m)))
    return arrays


def _shapes(data: FlexibleBodyData) -> list[Finding]:
    return [
        finding(data, "wrong-shape", f"{name} has shape {np.shape(array)}, expected {shape} for {len(data.stiffness)} "
                 "modes.")
        for name, array, shape in _arrays(data)
        if np.shape(array) != shape
    ]  # fmt: skip


def _finite(data: FlexibleBodyData, largest: float = 1e100) -> list[Finding]:
    """Finite numbers, up to the largest whose third power does not overflow."""
    arrays = [("mass", np.asarray(data.mass, dtype=np.float64)), *((name, array) for name, array, _ in _arrays(data))]
    findings = []
    for name, array in arrays:
        bad = int((~(np.abs(array) <= largest)).sum())
        if bad:
            problem = f"{bad} numbers of {name} are not finite, or above {largest:g}."
            findings.append(finding(data, "not-finite", problem, numbers=bad))
    return findings


def _names(data: FlexibleBodyData) -> list[Finding]:
    names = [node.name for node in data.nodes]
    findings = []
    if not names:
        advice = Advice("Name the places where other parts are attached.")
        findings.append(finding(data, "empty", "it has no nodes.", advice))
    for kind, listed in (("node", names), ("gauge", [gauge.name for gauge in data.gauges])):
        twice = {name for name in listed if listed.count(name) > 1}
        findings += [
            finding(
                data, "duplicate", f"{kind} {name!r} is given {listed.count(name)} times.", times=listed.count(name)
            )
            for name in sorted(twice)
        ]
    if data.stiffening is not None:
        loaded = dict.fromkeys([*data.stiffening.forces, *data.stiffening.moments])
        findings += [
            finding(data, "unknown-name", f"stiffening by forces at {name!r}, which is not a node.")
            for name in loaded
            if name not in names
        ]
    coordinates = None if data.finite_elements is None else data.finite_elements.coordinates
    if coordinates is not None and data.modes > coordinates:
        problem = f"{data.modes} modes of a model with {coordinates} coordinates."
        findings.append(finding(data, "too-many-modes", problem, modes=data.modes, coordinates=coordinates))
    return findings


def _symmetry(data: FlexibleBodyData, symmetric: float = 1e-6) -> list[Finding]:
    """Matrices are symmetric; files carry some 7 digits."""
    findings = []
    pairs = {"inertia": data.inertia, "modal_mass": data.modal_mass, "stiffness": data.stiffness,
             "damping": data.damping}  # fmt: skip
    for name, matrix in pairs.items():
        share = asymmetry(matrix)
        if share > symmetric:
            findings.append(
                finding(data, "not-symmetric", f"{name} is not symmetric, by {share:.1e} of it.", part=share)
            )
    share = _relative(data.products - data.products.transpose(1, 0, 3, 2), data.products)
    if share > symmetric:
        problem = f"products[a, b] is not the transpose of products[b, a], by {share:.1e} of it."
        findings.append(finding(data, "not-symmetric", problem, part=share))
    return findings


def _definite(
    data: FlexibleBodyData,
    positive: float = 1e-9,  # rounding of 1e-16 of 1e4 terms, and digits of files
    independent: float = 1e-10,  # smallest eigenvalue of the modal mass, modes scaled to unit mass
) -> list[Finding]:
    findings = []
    if not data.mass > 0.0:
        findings.append(finding(data, "not-positive", f"its mass is {data.mass:.4g} kg.", mass=float(data.mass)))
    for name, matrix in (("inertia", data.inertia), ("damping", data.damping)):
        value = lowest(matrix)
        if value < -positive:
            problem = f"{name} is indefinite, its lowest eigenvalue is {value:.1e} of its diagonal."
            findings.append(finding(data, "not-positive-definite", problem, eigenvalue=value))
    if findings or not data.modes:
        return findings
    negative = np.flatnonzero(np.diagonal(data.modal_mass) < 0.0)
    if len(negative):
        value = float(data.modal_mass[negative[0], negative[0]])
        problem = f"the modal mass of mode {negative[0] + 1} is negative, {value:.4g}."
        return [finding(data, "not-positive-definite", problem, mode=int(negative[0]) + 1, value=value)]
    size = np.sqrt(np.diagonal(data.modal_mass))
    still = np.flatnonzero(size <= 0.0)
    if len(still):
        problem = f"mode {still[0] + 1} moves no mass ({len(still)} such modes)."
        return [finding(data, "no-motion", problem, mode=int(still[0]) + 1, modes=len(still))]
    scaled = np.linalg.eigvalsh(data.modal_mass / np.outer(size, size))
    if scaled[0] < -positive:
        problem = f"modal_mass is indefinite, its lowest eigenvalue is {scaled[0]:.1e} of modes scaled to unit mass."
        return [finding(data, "not-positive-definite", problem, eigenvalue=float(scaled[0]))]
    if scaled[0] < independent:
        problem = f"its modes are not independent: the lowest eigenvalue of modal_mass is {scaled[0]:.1e}, scaled."
        advice = Advice("Leave out modes that are combinations of others.")
        return [finding(data, "rank-deficient", problem, advice, eigenvalue=float(scaled[0]))]
    squares = _squares(data)
    if squares[0] < -positive * abs(squares[-1]):
        problem = f"the stiffness of mode 1 is negative, ω² = {squares[0]:.4g} rad²/s²."
        return [finding(data, "negative-eigenvalue", problem, square=float(squares[0]))]
    return _whole_mass(data, positive)


def _whole_mass(data: FlexibleBodyData, positive: float = 1e-9) -> list[Finding]:
    """The mass matrix of frame and modes together, undeformed: ∫ (1, −ũ₀, S)ᵀ(1, −ũ₀, S) dm."""
    value = lowest(generalised_mass(data))
    if value >= -positive:
        return []
    problem = (
        "mass, inertia, translation, rotation and modal_mass contradict each other: together they have the negative "
        f"eigenvalue {value:.1e}, scaled."
    )
    return [finding(data, "not-positive-definite", problem, eigenvalue=value)]


def generalised_mass(data: FlexibleBodyData) -> FloatArray:
    """(6 + m, 6 + m) of the undeformed body."""
    x, y, z = data.first_moment
    static = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([
        [data.mass * np.eye(3), static.T, data.translation],
        [static, data.inertia, data.rotation],
        [data.translation.T, data.rotation.T, data.modal_mass],
    ])  # fmt: skip


def is_moving(data: FlexibleBodyData, most: float = 1e-6) -> bool:
    """Whether modes have momentum, relative to that of all mass with them."""
    return momentum(data) > most


def _frame(data: FlexibleBodyData) -> list[Finding]:
    """A mean axis has no momentum; an attached frame has a node that does not move."""
    if data.reference == "mean axis":
        worst = momentum(data)
        if is_moving(data):
            problem = f"its modes are not orthogonal to rigid motions, though its frame is a mean axis: by {worst:.1e}."
            return [finding(data, "not-orthogonal", problem, momentum=worst)]
    if data.reference == "attached" and data.modes and not still_nodes(data):
        problem = f"its frame is attached to a node, but its modes move all {len(data.nodes)} nodes."
        advice = Advice("Name the node of the frame among the nodes, or use {}.", Argument("reference", "given"))
        return [finding(data, "missing-argument", problem, advice, nodes=len(data.nodes))]
    return []


def still_nodes(data: FlexibleBodyData, still: float = 1e-9) -> list[str]:
    """Nodes that no mode moves or turns, relative to the largest motion of any: nine digits of a file."""
    sizes = [
        max(np.abs(node.translation).max(initial=0.0), np.abs(node.rotation).max(initial=0.0)) for node in data.nodes
    ]
    largest = max(sizes, default=0.0)
    picture = 0.0 if data.picture is None else float(np.abs(data.picture.modes).max(initial=0.0))
    limit = still * max(largest, picture)
    return [node.name for node, size in zip(data.nodes, sizes) if size <= limit]


def momentum(data: FlexibleBodyData) -> float:
    """Largest momentum of a mode, relative to that of the whole mass moving with it."""
    if not data.modes:
        return 0.0
    unit = np.sqrt(np.diagonal(data.modal_mass))
    turning = max(float(np.trace(data.inertia)), 1e-300)
    return float(
        max(
            (np.abs(data.translation) / (np.sqrt(data.mass) * unit)).max(),
            (np.abs(data.rotation) / (np.sqrt(turning) * unit)).max(),
        )
    )


def _radii(data: FlexibleBodyData) -> FloatArray:
    """Radii of gyration along the principal axes (3,), descending [m]."""
    c = data.center
    moments = np.linalg.eigvalsh(data.inertia - data.mass * (c @ c * np.eye(3) - np.outer(c, c)))
    return np.asarray(np.sqrt(np.sort(np.maximum(0.5 * moments.sum() - moments, 0.0) / data.mass)[::-1]))


def body_size(data: FlexibleBodyData) -> float:
    """Length of a uniform bar with the largest radius of gyration [m]."""
    return 3.5 * float(_radii(data)[0])


def _units(
    data: FlexibleBodyData,
    # densities [kg/m³]: lattices and foam above 1, osmium 2.3e4; the limits are a factor of 1000 beyond these
    lightest: float = 1e-3,
    heaviest: float = 2e7,
    thin: float = 1e-4,  # radius of gyration over the largest, below which the volume is unknown: a line or a sheet
    fastest: float = 1e5,  # lowest frequency times size [m/s]: 2e4/4 for diamond, twenty times that
) -> list[Finding]:
    radii = _radii(data)
    if not radii[0] > 0.0:
        return []
    findings = []
    if radii[2] > thin * radii[0]:
        density = data.mass / (41.6 * float(np.prod(radii)))
        if not lightest < density < heaviest:
            problem = f"its mass of {data.mass:.4g} kg in its size would have a density of {density:.2g} kg/m³"
            findings.append(finding(data, "suspect-units", f"{problem}; {_unit_words(density)}", density=density))
    if data.modes and not findings:
        size = body_size(data)
        first = float(np.sqrt(max(_squares(data)[0], 0.0)) / (2 * np.pi))
        if first * size > fastest:
            factor = first * size / (fastest / 20)
            problem = (
                f"its lowest frequency of {first:.4g} Hz is {factor:.1g} times above the limit of waves in a body of "
                f"{size:.3g} m allow; lengths in mm would make a factor of 1000, N/mm with kg one of 31.6."
            )
            findings.append(finding(data, "suspect-units", problem, frequency=first, factor=factor))
    return findings


def _unit_words(density: float, wood: float = 300.0, osmium: float = 25_000.0) -> str:
    """The system of units that would explain a density, with its factor: one between those of wood and osmium."""
    for words, length, mass in UNITS:
        factor = mass / length**3
        if wood <= density * factor <= osmium:
            return f"with the units {words} it would be {density * factor:.3g} kg/m³, a factor of {factor:.3g}."
    return f"a factor of {7850.0 / density:.1g} to that of steel. SI units are needed."


def asymmetry(matrix: FloatArray) -> float:
    """Largest difference from the transpose, relative to the largest entry."""
    return _relative(matrix - matrix.T, matrix)


def _relative(difference: FloatArray, values: FloatArray) -> float:
    return float(np.abs(difference).max(initial=0.0) / max(float(np.abs(values).max(initial=0.0)), 1e-300))


def lowest(matrix: FloatArray, zero: float = 1e-14) -> float:
    """Lowest eigenvalue of a symmetric matrix, scaled to a diagonal of ones where it is positive.

    zero : entry of a diagonal, relative to the largest, that is rounding, or of a massless mode, and not scaled.
    """
    if not matrix.size:
        return 0.0
    diagonal = np.diagonal(matrix)
    largest = float(np.abs(matrix).max())
    size = np.sqrt(np.where(diagonal > zero * largest, diagonal, max(largest, 1e-300)))
    return float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T) / np.outer(size, size))[0])


def _squares(data: FlexibleBodyData) -> FloatArray:
    from scipy.linalg import eigh

    return np.asarray(eigh(data.stiffness, data.modal_mass, eigvals_only=True))
