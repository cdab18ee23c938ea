"""Balanced realisation and reduction (Moore 1981; square-root method, Tombs and Postlethwaite 1987).

P = L_c L_cᵀ,  Q = L_o L_oᵀ,  L_oᵀ L_c = U Σ Vᵀ,  T = L_c V Σ^(-1/2),  T⁻¹ = Σ^(-1/2) Uᵀ L_oᵀ

In balanced states P = Q = Σ. Cutting after order r leaves ‖G - G_r‖∞ ≤ 2 (σ_{r+1} + ... + σ_n); the same bound
holds where the cut states are made static instead (singular perturbation), which keeps the gain at frequency 0.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from dalembert.core.arguments import number_names
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Call
from dalembert.core.results import result
from dalembert.core.tables import align_columns
from dalembert.linear.eigen.roots import EPS, solve
from dalembert.linear.transforms import gramians
from dalembert.linear.transforms.norms import PeakGain

if TYPE_CHECKING:
    from dalembert.linear.state_space import StateSpace


@result
class BalancedTruncation:
    """A reduced system and the bound of its error.

    Attributes
    ----------
    system : StateSpace
        The reduced system, in balanced states.
    full : StateSpace
    hankel_values : (nx,)
        Hankel singular values of the full system, descending.
    T, T_left : (nx, r), (r, nx)
        x ≈ T z and z = T_left x; T_left T = I.
    method : "truncation" or "match dc"

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> lags = StateSpace([[-1, 0, 0], [1, -2, 0], [0, 3, -50]], [1, 0, 0], [[0, 0, 50]])
    >>> smaller = lags.balanced_truncation(1)
    >>> round(smaller.error.gain, 4)
    0.2949
    >>> smaller
    BalancedTruncation (truncation): order 3 to 1
    state  hankel value  relative
        1       0.89744         1  kept
        2       0.14794     0.165   cut
        3    0.00050201  0.000559   cut
    error bound 0.29688
    H-infinity error 0.29491
    """

    system: StateSpace
    full: StateSpace
    hankel_values: FloatArray
    T: FloatArray
    T_left: FloatArray
    method: str

    @property
    def bound(self) -> float:
        """Upper bound of the H-infinity norm of the error."""
        return 2.0 * float(self.hankel_values[self.system.nx :].sum())

    @cached_property
    def error(self) -> PeakGain:
        """H-infinity norm of the error and its frequency; computed at the first access."""
        return (self.full - self.system).hinf_norm()

    def table(self) -> str:
        """Hankel singular values, and which of them are kept."""
        sigma, r = self.hankel_values, self.system.nx
        shown = min(len(sigma), r + 5)
        rows = []
        largest = sigma.max(initial=0.0) or 1.0
        for i in range(shown):
            rows.append((str(i + 1), f"{sigma[i]:.5g}", f"{sigma[i] / largest:.3g}", "kept" if i < r else "cut"))
        more = [f"... {len(sigma) - shown} more"] if len(sigma) > shown else []
        error = [f"H-infinity error {self.error.gain:.5g}"] if "error" in self.__dict__ else []
        return "\n".join(
            [
                align_columns(("state", "hankel value", "relative", ""), rows),
                *more,
                f"error bound {self.bound:.5g}",
                *error,
            ]
        )

    def __repr__(self) -> str:
        return f"BalancedTruncation ({self.method}): order {self.full.nx} to {self.system.nx}\n{self.table()}"


def hankel_values(system: StateSpace) -> FloatArray:
    """See :meth:`StateSpace.hankel_values`."""
    L_c, L_o = gramians.both_factors(system, "a Hankel singular value")
    values: FloatArray = scipy.linalg.svd(L_o.T @ L_c, compute_uv=False)
    return values


def _transformation(system: StateSpace, what: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hankel values (nx,), and T (nx, k), T⁻¹ (k, nx) onto the k balanced states above rounding."""
    L_c, L_o = gramians.both_factors(system, what)
    U, sigma, Vt = scipy.linalg.svd(L_o.T @ L_c)
    k = int(np.count_nonzero(sigma > system.nx * EPS * sigma.max(initial=0.0)))
    root = np.sqrt(sigma[:k])
    return sigma, (L_c @ Vt[:k].T) / root, (U[:, :k] / root).T @ L_o.T


def balanced_form(system: StateSpace) -> StateSpace:
    """See :meth:`StateSpace.balanced_form`."""
    sigma, T, T_left = _transformation(system, "a balanced form")
    if T.shape[1] < system.nx:
        raise DataError(
            "not-minimal",
            f"{system.nx - T.shape[1]} of {system.nx} states are not both controllable and observable (Hankel values "
            f"fall to {sigma[-1]:.1e} of {sigma[0]:.1e}).",
            Advice("Use {} first.", Call("StateSpace.minimal"), Call("StateSpace.balanced_truncation")),
        )
    return _project(system, T, T_left, "balanced")


def _project(system: StateSpace, T: FloatArray, T_left: FloatArray, how: str) -> StateSpace:
    return system.replace(
        A=T_left @ system.A @ T, B=T_left @ system.B, C=system.C @ T,
        states=number_names("balanced", T.shape[1]), provenance={**system.provenance, "states": how},
    )  # fmt: skip


def balanced_truncation(
    system: StateSpace, order: int | None, tolerance: float | None, match_dc: bool
) -> BalancedTruncation:
    """See :meth:`StateSpace.balanced_truncation`."""
    if (order is None) == (tolerance is None):
        raise DataError("conflicting-arguments", "a balanced truncation needs an order or a tolerance, and not both.")
    sigma, T, T_left = _transformation(system, "balanced truncation")
    r = _order(sigma, T.shape[1], order, tolerance)
    method = "match dc" if match_dc else "truncation"
    full = _project(system, T, T_left, f"balanced, {method}, order {system.nx} to {r}")
    reduced = _static_rest(full, r) if match_dc else full.replace(
        A=full.A[:r, :r], B=full.B[:r], C=full.C[:, :r], states=full.states[:r])  # fmt: skip
    return BalancedTruncation(reduced, system, sigma, T[:, :r].copy(), T_left[:r].copy(), method)


def _order(sigma: FloatArray, most: int, order: int | None, tolerance: float | None) -> int:
    if tolerance is not None:
        bounds = 2.0 * np.append(np.cumsum(sigma[::-1])[::-1], 0.0)
        return min(int(np.argmax(bounds <= tolerance)), most)
    assert order is not None
    if order > most:
        raise DataError(
            "not-a-count" if order > len(sigma) else "out-of-range",
            f"only {most} of {len(sigma)} balanced states are above rounding: order {order} would keep noise. "
            f"Choose {most} or fewer.",
        )
    return order


def _static_rest(full: StateSpace, r: int) -> StateSpace:
    """States after r follow the others statically: x₂′ = 0, or x₂[k+1] = x₂[k]."""
    shift = 0.0 if full.dt is None else 1.0
    A22 = full.A[r:, r:] - shift * np.eye(full.nx - r)
    X, Y = solve(A22, full.A[r:, :r]), solve(A22, full.B[r:])
    return full.replace(
        A=full.A[:r, :r] - full.A[:r, r:] @ X, B=full.B[:r] - full.A[:r, r:] @ Y,
        C=full.C[:, :r] - full.C[:, r:] @ X, D=full.D - full.C[:, r:] @ Y, states=full.states[:r],
    )  # fmt: skip
