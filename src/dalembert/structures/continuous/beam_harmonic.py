"""Exact harmonic response of a uniform beam: no modes, no truncation (dynamic stiffness of the continuum).

A force divides the beam in two pieces; in each the field is a sum of four waves (:mod:`.waves`, here with complex λ
so that hysteretic damping E (1 + iη) is exact too). Two conditions at each end and four at the force,

    u, φ, M continuous,   V(+) - V(-) = -F      (a moment T: M(+) - M(-) = -T),

fix the eight amplitudes. Every wave decays or oscillates away from where it is scaled to one, so nothing overflows;
long waves use the Taylor series of exp(A z), down to the static case λ = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.structures.continuous.harmonic_fields import LONG_WAVE, taylor
from dalembert.structures.continuous.wittrick_williams import HeldBeam

FIELDS = {"displacement": 0, "slope": 1, "moment": 2, "shear force": 3}

CUT_OFF = 1e-9  # relative distance kept from the cut-off, where two of the waves are one: half of the digits are left


def response(
    lam: ComplexArray, soft: ComplexArray, held: HeldBeam, kind: str, at: float, places: FloatArray
) -> ComplexArray:
    """Fields (m, 4, places) per unit force or moment, without dimension.

    lam : (m,) λ, complex with damping;  soft : (m,) 1 + iη, by which end springs and masses count less.
    kind : "force" (in EI/l²) or "moment" (in EI/l) at ``at`` in [0, 1];  places : (n,) in [0, 1].
    """
    # exactly at the cut-off two of the waves are one; a billionth beside it they are not, and the response is the same
    lam = np.where(np.abs(lam * held.r2 * held.s2 - 1.0) < CUT_OFF, lam * (1.0 + CUT_OFF), lam)
    pieces = [(0.0, 1.0)] if at in (0.0, 1.0) else [(0.0, at), (at, 1.0)]
    size = 4 * len(pieces)
    matrix = np.zeros((len(lam), size, size), dtype=np.complex128)
    right = np.zeros((len(lam), size, 1), dtype=np.complex128)
    ends = [_waves(lam, held, low, high, np.array([low, high])) for low, high in pieces]
    for side, values in ((0, ends[0][..., 0]), (1, ends[-1][..., 1])):
        block = slice(0, 4) if side == 0 else slice(size - 4, size)
        matrix[:, 2 * side : 2 * side + 2, block] = held.conditions(side, lam, soft) @ values
        row, spring = (0, held.kt[side]) if kind == "force" else (1, held.kr[side])
        if at == float(side) and not np.isinf(spring):
            right[:, 2 * side + row, 0] = 1.0
    if len(pieces) == 2:
        matrix[:, 4:, :4], matrix[:, 4:, 4:] = -ends[0][..., 1], ends[1][..., 0]
        right[:, 7 if kind == "force" else 6, 0] = -1.0
    largest = np.abs(matrix).max(axis=2, keepdims=True)
    try:
        amplitudes = np.linalg.solve(matrix / largest, right / largest)[..., 0]
    except np.linalg.LinAlgError:
        raise DataError(
            "no-solution", "the beam has no harmonic response here: it floats freely, or this is a resonance."
        ) from None
    out = np.empty((len(lam), 4, len(places)), dtype=np.complex128)
    for i, (low, high) in enumerate(pieces):
        mine = (places >= low) & (places <= high)
        values = _waves(lam, held, low, high, places[mine])
        out[:, :, mine] = np.einsum("mfsz,ms->mfz", values, amplitudes[:, 4 * i : 4 * i + 4])
    return out


def _waves(lam: ComplexArray, held: HeldBeam, low: float, high: float, z: FloatArray) -> ComplexArray:
    """(m, 4 fields, 4 waves, nz) in the piece from low to high."""
    d = 0.5 * lam * (held.s2 - held.r2)
    R = np.sqrt(lam + d * d)
    first = -(0.5 * lam * (held.r2 + held.s2) + R)
    second = np.divide(lam * (lam * held.r2 * held.s2 - 1.0), first, out=np.zeros_like(lam), where=lam != 0.0)
    sigma, ratio = np.stack([first, second], axis=1), np.stack([d - R, d + R], axis=1)
    long = np.sqrt(np.abs(sigma)).max(axis=1) * (high - low) <= LONG_WAVE
    out = np.empty((len(lam), 4, 4, len(z)), dtype=np.complex128)
    if long.any():
        out[long] = taylor(lam[long], held.r2, held.s2, z - low)
    short: NDArray[np.bool_] = ~long
    if short.any():
        out[short] = _exponentials(lam[short], sigma[short], ratio[short], low, high, z)
    return out


def _exponentials(
    lam: ComplexArray, sigma: ComplexArray, ratio: ComplexArray, low: float, high: float, z: FloatArray
) -> ComplexArray:
    out = np.empty((len(lam), 4, 4, len(z)), dtype=np.complex128)
    for pair in (0, 1):
        p = np.sqrt(sigma[:, pair])  # principal: Re p >= 0
        bend = ratio[:, pair]
        for way, (sign, distance) in enumerate(((-1.0, z - low), (1.0, high - z))):
            fields = np.stack([np.ones_like(p), sign * bend / p, bend, -sign * lam / p], axis=1)
            out[:, :, 2 * pair + way] = fields[:, :, None] * np.exp(-p[:, None] * distance)[:, None, :]
    return out
