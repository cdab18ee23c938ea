"""Frequency-based substructuring: parts joined by their frequency responses (de Klerk, Rixen, de Jong 2006).

With Y the block-diagonal responses of the parts, b the signed rows of equal motion at every joint
(compatibility b x = 0) and λ the forces between the parts (equilibrium, g = -bᵀ λ), the dual assembly (LM-FBS) is

    Y_joined = Y - Y bᵀ (b Y bᵀ + Z)⁻¹ b Y        Z = 0 rigid joints; 1/k for a joint spring of stiffness k

It needs responses at the interface and where forces act and motion is read, measured or computed, and no matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.linear.responses.frequency_response import FrequencyResponse
from dalembert.structures.coupling.boundary_coordinates import BoundaryCoordinates

# Frequencies of parts that differ by less than this, relatively, are the same grid.
SAME_FREQUENCY = 1e-9
# Interface flexibility below this part of the flexibilities of its sides is rounding.
CANCELLED = 1e-14


def couple_receptances(
    parts: Mapping[str, FrequencyResponse],
    shared: str | Iterable[str] | None = None,
    *,
    join: Mapping[str, str] | None = None,
    springs: Mapping[tuple[str, str], float] | None = None,
) -> FrequencyResponse:
    """Frequency response of joined parts from the responses of the parts (LM-FBS).

    Parameters
    ----------
    parts : mapping of names to responses
        On the same frequencies and of the same kind (receptance, mobility or accelerance), inputs and outputs named by
        coordinates. Coordinates where parts meet must be among both; all others may be either.
    shared, join : as for :func:`couple`
    springs : mapping of a pair of ``part.coordinate`` names to a stiffness, optional
        Elastic joints instead of rigid ones; those coordinates need other names, or ``shared=()``.

    Returns
    -------
    FrequencyResponse
        Of the same kind, on all coordinates of the parts, shared ones once.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> from dalembert.linear.responses.harmonic import frequency_response
    >>> mass, spring = SecondOrder(2.0, 0.0, coordinates="A"), SecondOrder(0.0, 8.0, coordinates="A")
    >>> response = {name: frequency_response(s, [1.0]) for name, s in {"mass": mass, "spring": spring}.items()}
    >>> couple_receptances(response)["A", "A"].real.round(6).tolist()  # 1 / (8 - 2)
    [0.166667]
    """
    frequencies, kind = _check(parts)
    names = {part: tuple(dict.fromkeys((*fr.outputs, *fr.inputs))) for part, fr in parts.items()}
    meet = BoundaryCoordinates(names, {}, shared, join or {})
    out, sent = _number_channels(parts, names, "outputs"), _number_channels(parts, names, "inputs")
    joints, softness = _joints(meet, springs or {})
    if not joints:
        raise ModelError(
            "not-connected",
            "no coordinate is shared by two parts.",
            Advice("Use equal names, or {}.", Argument("join", {"left.A": "right.B"})),
        )
    Y = _block_diagonal(parts, frequencies)
    rows, columns = _sign_channels(joints, out, "outputs"), _sign_channels(joints, sent, "inputs")
    Z = softness[None, :] * _derivative(kind, frequencies)[:, None]
    joined = join_responses(Y, rows, columns, Z, frequencies)
    pick_out, pick_in = _choose_members(meet, out), _choose_members(meet, sent)
    return FrequencyResponse(
        frequencies, joined[:, list(pick_out.values())][:, :, list(pick_in.values())],
        list(pick_in), list(pick_out), kind=kind, provenance={"method": "LM-FBS", "parts": tuple(parts)},
        input_units=_units(parts, meet, names, "input_units", pick_in),
        output_units=_units(parts, meet, names, "output_units", pick_out),
    )  # fmt: skip


def join_responses(
    Y: ComplexArray, rows: FloatArray, columns: FloatArray, Z: ComplexArray, frequencies: FloatArray
) -> ComplexArray:
    """Y - Y bᵢᵀ (bₒ Y bᵢᵀ + Z)⁻¹ bₒ Y at every frequency; Y (nf, ny, nu), bₒ (c, ny), bᵢ (c, nu), Z (nf, c)."""
    inner = rows @ Y @ columns.T
    at = np.arange(len(rows))
    inner[:, at, at] += Z
    # sums over the parts that cancel, to rounding of their terms
    terms = (np.abs(rows) @ np.abs(Y) @ np.abs(columns).T + np.abs(Z)[:, None, :]).max(axis=(1, 2))
    bad = np.linalg.svd(inner, compute_uv=False)[:, -1] <= CANCELLED * terms
    if bad.any():
        raise DataError(
            "singular-matrix",
            f"the interface flexibility is singular at {frequencies[int(np.argmax(bad))]:.6g} rad/s: two joints do the "
            "same, or the joined structure resonates there without damping, or a mobility is at zero frequency.",
            Advice("Remove the doubled joint, or take other frequencies."),
        )
    return np.asarray(Y - (Y @ columns.T) @ np.linalg.solve(inner, rows @ Y))


def _check(parts: Mapping[str, FrequencyResponse]) -> tuple[FloatArray, str]:
    if not parts:
        raise ModelError("empty", "there are no parts to couple.")
    for name, part in parts.items():
        if not isinstance(part, FrequencyResponse):
            raise ModelError("wrong-type", f"part {name!r} must be a FrequencyResponse, got {type(part).__name__}.")
    first_name, first = next(iter(parts.items()))
    for name, part in parts.items():
        same = len(part) == len(first) and np.allclose(part.frequencies, first.frequencies, SAME_FREQUENCY, 0.0)
        if not same:
            raise ModelError("unlike-parts", f"parts {first_name!r} and {name!r} are not on the same frequencies.")
        if part.kind != first.kind or part.kind == "output":
            raise ModelError(
                "unlike-parts",
                f"parts must be receptances, mobilities or accelerances, all alike: {first_name!r} is {first.kind}, "
                f"{name!r} is {part.kind}.",
            )
    return first.frequencies, first.kind


def _number_channels(
    parts: Mapping[str, FrequencyResponse], names: Mapping[str, tuple[str, ...]], side: str
) -> dict[Any, int]:
    """Row (or column) of the block-diagonal response for (part, number of the coordinate)."""
    result: dict[Any, int] = {}
    start = 0
    for part, fr in parts.items():
        own = {name: i for i, name in enumerate(names[part])}
        listed = getattr(fr, side)
        result.update({(part, own[name]): start + k for k, name in enumerate(listed)})
        start += len(listed)
    result["size"] = start
    return result


def _joints(
    meet: BoundaryCoordinates, springs: Mapping[tuple[str, str], float]
) -> tuple[list[tuple[Any, Any, str]], FloatArray]:
    """Pairs ((part, i), (part, j), name) that move as one or through a spring, and the softness of each."""
    groups: dict[int, list[Any]] = {}
    for part, places in meet.maps.items():
        for i, k in enumerate(places):
            groups.setdefault(int(k), []).append((part, i))
    joints = [(group[0], other, meet.names[k]) for k, group in groups.items() for other in group[1:]]
    softness = [0.0] * len(joints)
    for (a, b), stiffness in springs.items():
        if not (np.isfinite(stiffness) and stiffness > 0.0):
            raise ModelError(
                "not-positive", f"the stiffness between {a!r} and {b!r} must be positive, got {stiffness!r}."
            )
        joints.append((groups[meet.place(a)][0], groups[meet.place(b)][0], f"{a} - {b}"))
        softness.append(1.0 / stiffness)
    return joints, np.array(softness)


def _sign_channels(joints: list[tuple[Any, Any, str]], at: Mapping[Any, int], side: str) -> FloatArray:
    result = np.zeros((len(joints), at["size"]))
    for row, (a, b, name) in enumerate(joints):
        for place, sign in ((a, 1.0), (b, -1.0)):
            if place not in at:
                raise ModelError(
                    "missing-response",
                    f"joint {name!r}: the response of part {place[0]!r} has it not among its {side}.",
                )
            result[row, at[place]] = sign
    return result


def _block_diagonal(parts: Mapping[str, FrequencyResponse], frequencies: FloatArray) -> ComplexArray:
    ny, nu = sum(len(fr.outputs) for fr in parts.values()), sum(len(fr.inputs) for fr in parts.values())
    Y = np.zeros((len(frequencies), ny, nu), dtype=np.complex128)
    row = column = 0
    for fr in parts.values():
        height, width = len(fr.outputs), len(fr.inputs)
        Y[:, row : row + height, column : column + width] = fr.values
        row, column = row + height, column + width
    return Y


def _derivative(kind: str, w: FloatArray) -> ComplexArray:
    """What turns the flexibility of a spring into the kind of the responses."""
    return np.asarray((1j * w) ** {"receptance": 0, "mobility": 1, "accelerance": 2}[kind], dtype=np.complex128)


def _choose_members(meet: BoundaryCoordinates, at: Mapping[Any, int]) -> dict[str, int]:
    """One row (or column) per global name: after joining, all members of a shared one are equal."""
    result: dict[str, int] = {}
    for part, places in meet.maps.items():
        for i, k in enumerate(places):
            if (part, i) in at:
                result.setdefault(meet.names[k], at[part, i])
    return result


def _units(
    parts: Mapping[str, FrequencyResponse],
    meet: BoundaryCoordinates,
    names: Mapping[str, tuple[str, ...]],
    side: str,
    kept: Mapping[str, int],
) -> dict[str, str]:
    units: dict[str, str] = {}
    for part, fr in parts.items():
        for i, k in enumerate(meet.maps[part]):
            unit = getattr(fr, side).get(names[part][i])
            if unit and meet.names[k] in kept:
                units.setdefault(meet.names[k], unit)
    return units
