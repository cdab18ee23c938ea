"""Elements of a structure: the interface of a group of elements for analyses and pictures.

A structure has matrices and groups of elements. Statics, prestress, spinning structures and figures call the same
methods of every group; this class implements them for elements without internal forces. A kind of element implements
those that it supports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import FloatArray, IntArray
from dalembert.core.errors import DataError


@dataclass(frozen=True)
class SpinMatrices:
    """Spin of a group: G, K = -M_g (N, N), the centrifugal load f (N,), and `loads` for the forces it causes inside."""

    G: Any
    K: Any
    f: FloatArray
    loads: Any = None


class ElementGroup:
    """Elements of one kind in a structure.

    A *state* has the internal forces of the elements under a load, in a form of the group's own choice: `state`
    makes it, `add_states` adds it to the prestress, `geometric_stiffness` and the results read it.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the elements (of the beams, of the solid) that have results."""
        return ()

    def own_stiffness(self) -> sp.csc_array | None:
        """(N, N) stiffness of the elements alone; None where it is not kept apart from that of the structure."""
        return None

    def own_mass(self) -> sp.csc_array | None:
        """(N, N) mass of the elements whose spin `spin` covers; None: their masses count as masses of the points."""
        return None

    # -- internal forces ---------------------------------------------------------------------------------------------

    def state(
        self,
        u: FloatArray,
        factors: Mapping[str, float],
        acceleration: FloatArray | None = None,
        before: Any = None,
    ) -> Any:
        """State under displacements u (N,) and load cases.

        acceleration : (N,) of a structure that flies freely.  before : the prestress, whose forces the load changes.
        """
        return None

    def tension_state(self, tension: Mapping[str, float]) -> Any:
        """State of constant tensions [N] by name of an element."""
        raise self.report_unsupported("tensions")

    def add_states(self, before: Any, more: Any) -> Any:
        """Sum of the prestress (None without any) and a state."""
        return more if before is None else before + more

    def geometric_stiffness(self, state: Any) -> sp.csc_array:
        """(N, N) stiffness that the internal forces of a state add."""
        raise self.report_unsupported("geometric stiffness")

    def energy_of_loads(self, state: Any, u: FloatArray) -> float:
        """Strain energy [J] beyond ½ uᵀKu, of loads and initial strains inside the elements."""
        return 0.0

    def along(self, name: str, state: Any, stations: Any, *, total: bool) -> Any:
        """Results along one of the elements."""
        raise self.report_unsupported("results along an element")

    def forces_of(self, name: str, state: Any, *, total: bool) -> Mapping[str, float]:
        """Internal forces of one of the elements, by their names; for elements without stations along them."""
        raise self.report_unsupported("forces of an element as a whole")

    def stresses_of(self, state: Any, stations: int, *, total: bool) -> Any:
        """Stresses of all elements: a dictionary of the largest by name, or a result class of the group."""
        return {}

    # -- spin ----------------------------------------------------------------------------------------------------------

    def spin(self, positions: FloatArray, spin: FloatArray, centre: FloatArray) -> SpinMatrices | None:
        """Matrices of a spin (3,) [rad/s] about an axis through `centre`; None where the points have the masses."""
        return None

    def spin_state(self, u: FloatArray, loads: Any) -> Any:
        """State under the centrifugal load, from its displacements u (N,) and `SpinMatrices.loads`."""
        return self.state(u, {})

    def gyroscopic(self, axis: FloatArray, speed: float) -> sp.csc_array:
        """(N, N) gyroscopic matrix of round elements that turn about a unit axis, seen from the ground."""
        raise self.report_unsupported("the gyroscopic matrix of a rotor")

    # -- loads and pictures ------------------------------------------------------------------------------------------

    def loaded_cases(self) -> set[str]:
        """Load cases with loads on the elements themselves."""
        return set()

    def case_load(self, case: str) -> FloatArray | None:
        """(N,) loads of one case on the elements themselves."""
        return None

    def joined_pairs(self) -> IntArray:
        """(k, 2) points that elements join in pairs."""
        return np.zeros((0, 2), dtype=np.int64)

    def curves(self, positions: FloatArray, u: FloatArray) -> list[FloatArray]:
        """Lines (k, 3) that draw the elements, displaced by u (N,); beams and solids have pictures of their own."""
        return []

    def report_unsupported(self, what: str) -> DataError:
        """Error for a method that these elements do not support."""
        names = self.names
        which = f"elements such as {names[0]!r}" if names else f"elements of type {type(self).__name__}"
        return DataError("not-supported", f"{what} of {which} is not known.", where={"type": type(self).__name__})


def scatter(places: Any, matrices: FloatArray, size: int) -> sp.csc_array:
    """(size, size) sum of matrices (m, k, k) on the coordinates ``places`` (m, k); they need not be symmetric."""
    rows = np.broadcast_to(places[:, :, None], matrices.shape).ravel()
    columns = np.broadcast_to(places[:, None, :], matrices.shape).ravel()
    return sp.csc_array((matrices.ravel(), (rows, columns)), shape=(size, size))


def on_points(count: int, keep: Any, points: Any, blocks: FloatArray) -> sp.csc_array:
    """(N, N) of (k, 6, 6) blocks on points that have the directions ``keep``."""
    d = len(keep)
    return scatter(points[:, None] * d + np.arange(d), blocks[:, keep][:, :, keep], count * d)


def on_rotations(count: int, keep: Any, points: Any, blocks: FloatArray) -> sp.csc_array:
    """(N, N) of (k, 3, 3) blocks on the rotations of points that have the directions ``keep``."""
    full = np.zeros((len(blocks), 6, 6))
    full[:, 3:, 3:] = blocks
    return on_points(count, keep, points, full)
