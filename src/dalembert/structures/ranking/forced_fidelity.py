"""Motion under harmonic forces by the first 0, 1, 2, ... modes of a ranking, against that of the full system.

In the coordinates (x1, η) interior modes are eliminated, so that each further mode changes an (m, m) matrix,

    [K̄11 - ω² M̄11 - Σ ω⁴ p pᵀ / (ω_σ² - ω²)] x1 = F,    η = ω² pᵀ x1 / (ω_σ² - ω²)

    MAC = (uᵀu*)² / (uᵀu · u*ᵀu*)     of all displacements u at one instant
    gain error = |x_i - x*_i| / |x_i| · 100      of one master at this instant [%]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.declare import between, checked, instance, number, positive
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.results import column, result
from dalembert.structures.ranking.harmonic_forces import Forces, amplitudes, amplitudes_at, frequencies, respond
from dalembert.structures.ranking.method import HeldMasters
from dalembert.structures.ranking.ranking import Ranking
from dalembert.structures.reduction.partition import Partition


@result
class ForcedFidelity:
    """Agreement of forced motion by number of interior modes, in the order of a ranking."""

    modes: IntArray = column("interior modes", show="d")
    mac: FloatArray = column("MAC", show=".6f")
    gain_errors: FloatArray = column("gain error", "%", ".4g")

    @checked
    def size(
        self,
        *,
        mac: Annotated[float, between(0.0, 1.0), "smallest MAC"] = 0.999,
        gain: Annotated[float, positive, "largest error of the gain [%]"] = 1.0,
    ) -> int:
        """Smallest number of modes from which on both targets are met."""
        failed = np.flatnonzero(~((self.mac >= mac) & (self.gain_errors <= gain)))
        enough = int(failed[-1]) + 1 if len(failed) else 0
        if enough == len(self.modes):
            problem = f"{self.modes[-1]} interior modes do not meet a MAC of {mac:g} and a gain within {gain:g} %."
            raise DataError("too-few-modes", problem, Advice("Rank more modes with {}.", Argument("count")))
        return enough


@checked
def forced_fidelity(
    ranking: Annotated[Ranking, instance(Ranking), "whose first modes are kept"],
    forces: Annotated[Forces, amplitudes, "on masters"],
    harmonics: Annotated[float | Sequence[float], frequencies, "of the forces"],
    *,
    gain_at: str | None = None,
    time: Annotated[float, number, "instant at which displacements are compared [s]"] = 0.0,
    clearance: Annotated[
        float, positive, "relative distance from a natural frequency; nearer, motion is refused"
    ] = 1e-7,
) -> ForcedFidelity:
    """Compare the undamped motion by the first modes of a ranking with that of the full system.

    Parameters
    ----------
    gain_at : master whose displacement is compared; the first one with a force when left out
    """
    split = Partition(ranking.full, ranking.masters)
    held = HeldMasters.of(split)
    F: Any = amplitudes_at(split.names, forces, harmonics)  # type: ignore[arg-type]
    place = int(np.flatnonzero(F.any(axis=1))[0])
    if gain_at is not None:
        require_name("master", gain_at, split.names, argument="gain_at")
        place = split.names.index(gain_at)
    modes = ranking.order - 1
    Phi, squares = ranking.interior.Phi[:, modes], ranking.frequencies**2
    full = np.zeros(ranking.full.nq)
    moved = np.zeros((len(modes) + 1, len(split.first) + len(modes)))  # (x1, η) at the instant by each number of modes
    for k, omega in enumerate(harmonics):  # type: ignore[arg-type]
        turn = np.exp(1j * omega * time)
        full += (respond(ranking.full, split.first, F[:, k], omega, clearance) * turn).real
        moved += (_by_modes(held, Phi, squares, F[:, k], omega) * turn).real
    exact = full[split.first[place]]
    if exact == 0.0:
        problem = f"master {split.names[place]!r} is at rest at {time:g} s: its displacement has no relative error."
        raise DataError("zero", problem, Advice("Choose another {}.", Argument("time")))
    T = split.basis(held.B, Phi)
    gram, seen = T.T @ T, T.T @ full
    mac, m = np.empty(len(moved)), len(split.first)
    for kept, y in enumerate(moved):
        y, G = y[: m + kept], gram[: m + kept, : m + kept]
        mac[kept] = (seen[: m + kept] @ y) ** 2 / ((full @ full) * (y @ G @ y))
    gain = 100.0 * np.abs(moved[:, place] - exact) / abs(exact)
    return ForcedFidelity(np.arange(len(moved)), mac, gain)


def _by_modes(
    held: HeldMasters, Phi: FloatArray, squares: FloatArray, F: Any, omega: float, least: float = 1e-12
) -> Any:
    """(k + 1, m + k) complex (x1, η) by the first 0 ... k modes.

    least : relative distance of ω² from that of an interior mode, which itself is exact to 1e-12 or so.
    """
    split, system = held.split, held.split.system
    shapes = split.basis(held.B)
    Z = shapes.T @ (system.K @ shapes) - omega**2 * (shapes.T @ (system.M @ shapes))
    p = held.coupling.T @ Phi
    gap = squares - omega**2
    gap = np.where(np.abs(gap) < least * squares, least * squares, gap)
    m, k = p.shape
    moved = np.zeros((k + 1, m + k), dtype=np.complex128)
    for kept in range(k + 1):
        if kept:
            Z = Z - omega**4 / gap[kept - 1] * np.outer(p[:, kept - 1], p[:, kept - 1])
        x1 = np.linalg.solve(Z, F)
        moved[kept, :m] = x1
        moved[kept, m : m + kept] = omega**2 * (p[:, :kept].T @ x1) / gap[:kept]
    return moved
