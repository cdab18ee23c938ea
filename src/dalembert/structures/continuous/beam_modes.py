"""Modes of a uniform beam between two ends (Genta 2012, app. B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.structures.continuous import harmonic_fields
from dalembert.structures.continuous import wittrick_williams as spectrum
from dalembert.structures.continuous.continuous_modes import ContinuousModes, gauss, is_as_large
from dalembert.structures.continuous.harmonic_fields import Waves
from dalembert.structures.continuous.wittrick_williams import HeldBeam

U, PHI, MOMENT, SHEAR = range(4)
# Numbers of wave fields held at once: 16 MB.
CHUNK = 2_000_000


@dataclass(frozen=True)
class Numbers:
    """A beam in SI units: factors from numbers without dimension to SI."""

    length: float
    EI: float
    rhoA: float


@frozen(init=False)
class BeamModes(ContinuousModes):
    """Natural modes of a beam; see :class:`ContinuousModes` for the attributes.

    Scaled so that the largest deflection is 1 and positive where it first occurs, as in
    Genta 2012 (app. B); a mode that only turns its sections (thickness shear) has its largest rotation times length 1.
    Rigid-body modes come first: the translation, then the rotation about the centre of mass.

    Examples
    --------
    >>> from dalembert.structures import Beam
    >>> modes = Beam(1.0, EI=1.0, rhoA=1.0).modes(3)
    >>> modes.wave_numbers.round(6).tolist()
    [1.875104, 4.694091, 7.854757]
    >>> modes.shape(1.0).round(12).tolist()
    [1.0, 1.0, 1.0]
    """

    _waves: tuple[Waves, ...]
    _amplitudes: FloatArray
    _numbers: Numbers
    _held: HeldBeam

    def __init__(
        self, held: HeldBeam, numbers: Numbers, count: int, *, provenance: Mapping[str, Any] | None = None
    ) -> None:
        b = spectrum.eigenvalues(count, held)
        each = tuple(Waves(float(value) ** 4, held.r2, held.s2) for value in b)
        amplitudes = _amplitudes(b, each, held)
        integrals = np.array([_integrals(wave, column, held) for wave, column in zip(each, amplitudes.T, strict=True)])
        scale = 1.0 / np.array([_largest(wave, column) for wave, column in zip(each, amplitudes.T, strict=True)])
        rho_l, k_l = numbers.rhoA * numbers.length, numbers.EI / numbers.length**3
        assign(
            self, length=numbers.length, wave_numbers=b, frequencies=b**2 * np.sqrt(k_l / rho_l),
            modal_masses=rho_l * integrals[:, 0] * scale**2, modal_stiffnesses=k_l * integrals[:, 1] * scale**2,
            participation=rho_l * integrals[:, 2] * scale, moving_mass=rho_l * moving_mass(held),
            normalisation="largest", provenance=provenance or {}, _scale=scale, _waves=each, _amplitudes=amplitudes,
            _numbers=numbers, _held=held,
        )  # fmt: skip

    def slope(self, z: ArrayLike) -> FloatArray:
        """Rotation of the sections [1/m per unit deflection]: dq/dz for an Euler-Bernoulli beam."""
        return self._field(PHI, z, 1.0 / self.length)

    def curvature(self, z: ArrayLike) -> FloatArray:
        """dφ/dz, the bending moment over EI: d²q/dz² for an Euler-Bernoulli beam."""
        return self._field(MOMENT, z, 1.0 / self.length**2)

    def third(self, z: ArrayLike) -> FloatArray:
        """Minus the shear force over EI: d³q/dz³ for an Euler-Bernoulli beam."""
        return self._field(SHEAR, z, -1.0 / self.length**3)

    def moment(self, z: ArrayLike) -> FloatArray:
        """Bending moment EI φ′ [N per unit modal coordinate in m, times m]."""
        return self._field(MOMENT, z, self._numbers.EI / self.length**2)

    def shear_force(self, z: ArrayLike) -> FloatArray:
        """Shear force F (F = -dM/dz without rotary inertia)."""
        return self._field(SHEAR, z, self._numbers.EI / self.length**3)

    def mass_matrix(self) -> FloatArray:
        """∫ m q_i q_j dz with rotary inertia and end masses, (k, k): diagonal up to rounding."""
        return self._gram(U, PHI, self._held.r2, self._held.mu, self._held.iota, self._numbers.rhoA * self.length)

    def stiffness_matrix(self) -> FloatArray:
        """∫ EI φ_i′ φ_j′ dz with shear and end springs, (k, k): diagonal up to rounding."""
        held = self._held
        across, turning = ([0.0 if np.isinf(k) else k for k in pair] for pair in (held.kt, held.kr))
        return self._gram(MOMENT, SHEAR, held.s2, across, turning, self._numbers.EI / self.length**3)

    def _gram(self, first: int, second: int, part: float, ends: Any, turns: Any, factor: float) -> FloatArray:
        z, w = gauss(self._shortest())
        inside, at_ends = self._fields(z), self._fields(np.array([0.0, 1.0]))
        total = (inside[:, first] * w) @ inside[:, first].T + part * (inside[:, second] * w) @ inside[:, second].T
        total += (at_ends[:, U] * ends) @ at_ends[:, U].T + (at_ends[:, PHI] * turns) @ at_ends[:, PHI].T
        return total * factor * self._scale[:, None] * self._scale

    def _peaks(self) -> FloatArray:
        each = zip(self._waves, self._amplitudes.T, strict=True)
        return np.array([_largest(wave, column) for wave, column in each])

    def _fields(self, z: FloatArray) -> FloatArray:
        lam = np.array([wave.lam for wave in self._waves])
        out = np.empty((len(lam), 4, len(z)))
        some = max(1, CHUNK // (16 * max(len(z), 1)))
        for first in range(0, len(lam), some):
            part = slice(first, first + some)
            values = harmonic_fields.fields(lam[part], self._held.r2, self._held.s2, z)
            out[part] = np.einsum("mfsz,sm->mfz", values, self._amplitudes[:, part])
        return out

    def _shortest(self) -> float:
        return max(wave.longest for wave in self._waves)

    def _mass_per_length(self) -> float:
        return self._numbers.rhoA

    def __repr__(self) -> str:
        return f"BeamModes of a beam of {self.length:g} m, normalised {self.normalisation!r}\n{self.table()}"


def moving_mass(held: HeldBeam) -> float:
    """Mass of the beam and of the end masses that can move, over ρA l."""
    return 1.0 + sum(mu for mu, spring in zip(held.mu, held.kt, strict=True) if not np.isinf(spring))


def _amplitudes(b: FloatArray, each: tuple[Waves, ...], held: HeldBeam) -> FloatArray:
    """Amplitudes (4, k) of every mode; equal frequencies get modes orthogonal in mass."""
    columns = np.zeros((4, len(b)))
    rigid = held.rigid().shape[1]
    first = 0
    while first < len(b):
        last = first + 1
        while last < len(b) and not spectrum.is_apart(b[first], b[last]):
            last += 1
        if first < rigid:
            columns[:, first:last] = _rigid(held)[:, : last - first]
        else:
            chosen = spectrum.amplitudes(each[first].lam, last - first, held)
            columns[:, first:last] = chosen if last - first == 1 else _orthogonal(each[first], chosen, held)
        first = last
    return columns


def _rigid(held: HeldBeam) -> FloatArray:
    """Translation (where it is free) and rotation about the centre of mass, as (u, φ, M, V) at z = 0."""
    motions = held.rigid()
    if motions.shape[1] == 2:
        centre = (0.5 + held.mu[1]) / (1.0 + sum(held.mu))
        motions = np.array([[1.0, centre], [0.0, -1.0]])
    return np.vstack([motions, np.zeros_like(motions)])


def _orthogonal(wave: Waves, columns: FloatArray, held: HeldBeam) -> FloatArray:
    z, w = gauss(wave.longest)
    fields = np.einsum("fsz,sm->mfz", wave.fields(z), columns)
    ends = np.einsum("fsz,sm->mfz", wave.fields(np.array([0.0, 1.0])), columns)
    gram = (fields[:, U] * w) @ fields[:, U].T + held.r2 * (fields[:, PHI] * w) @ fields[:, PHI].T
    gram += (ends[:, U] * held.mu) @ ends[:, U].T + (ends[:, PHI] * held.iota) @ ends[:, PHI].T
    _, vectors = np.linalg.eigh(gram)
    turned: FloatArray = columns @ vectors
    return turned


def _integrals(wave: Waves, column: FloatArray, held: HeldBeam) -> tuple[float, float, float]:
    """Modal mass, modal stiffness and participation, without dimension."""
    z, w = gauss(wave.longest)
    u, phi, moment, shear = np.einsum("fsz,s->fz", wave.fields(z), column)
    u_end, phi_end = np.einsum("fsz,s->fz", wave.fields(np.array([0.0, 1.0])), column)[:2]
    mass = w @ (u**2 + held.r2 * phi**2) + held.mu @ u_end**2 + held.iota @ phi_end**2
    springs = [[0.0 if np.isinf(k) else k for k in pair] for pair in (held.kt, held.kr)]
    stiffness = w @ (moment**2 + held.s2 * shear**2) + springs[0] @ u_end**2 + springs[1] @ phi_end**2
    if wave.lam == 0.0:
        stiffness = 0.0
    moving = [0.0 if np.isinf(k) else mu for mu, k in zip(held.mu, held.kt, strict=True)]
    return float(mass), float(stiffness), float(w @ u + moving @ u_end)


def _largest(wave: Waves, column: FloatArray, near: float = 0.95, turning: float = 1e-9) -> float:
    """Deflection of largest size, with its sign where it first occurs; the rotation if nothing deflects.

    near : sample over the largest from which a peak may be beside it; with 16 samples per half wave a peak exceeds its
    nearest sample by 1/cos(π/32) - 1 = 0.5 %, ten times less than this leaves.
    turning : deflection over length and rotation, below which a mode only turns its sections (thickness shear).
    """
    z = np.linspace(0.0, 1.0, max(65, 1 + int(np.ceil(16.0 * wave.longest / np.pi))))
    values = np.einsum("fsz,s->fz", wave.fields(z), column)
    if np.abs(values[U]).max() < turning * np.abs(values[PHI]).max():
        return _first_peak(np.abs(values[PHI]), values[PHI])
    size = np.abs(values[U])
    inner = 1 + np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] >= size[2:]) & (size[1:-1] > near * size.max()))
    places, step = z[inner], z[1]
    for _ in range(6 if len(inner) else 0):  # Newton on u′ = φ + s²V, u″ = M - s²λu, kept within one sample
        u, phi, moment, shear = np.einsum("fsz,s->fz", wave.fields(places), column)
        bend = moment - wave.s2 * wave.lam * u
        move = np.divide(-(phi + wave.s2 * shear), bend, out=np.zeros_like(u), where=bend != 0.0)
        places = np.clip(places + np.clip(move, -step, step), z[inner] - step, z[inner] + step)
    places = np.concatenate([[0.0], places, [1.0]])
    u = np.einsum("sz,s->z", wave.fields(places)[U], column)
    return _first_peak(np.abs(u), u)


def _first_peak(size: FloatArray, value: FloatArray) -> float:
    at = int(np.flatnonzero(is_as_large(size, size.max()))[0])
    return float(np.copysign(size.max(), value[at]))
