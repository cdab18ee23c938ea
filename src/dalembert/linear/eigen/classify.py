"""Classification of a second-order system and definiteness of its matrices (Genta 2012, app. A).

natural ⇔ G = 0;  noncirculatory ⇔ H = 0;  conservative ⇔ C = H = K_loss = 0
M, C, K ≥ 0 (H = 0): no eigenvalue with Re s > 0;  all > 0: asymptotically stable
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from dalembert.core.arrays import assign, frozen
from dalembert.linear import storage
from dalembert.linear.eigen.quadratic import zero_tolerance
from dalembert.linear.modes import Modes
from dalembert.numerics.sparse.sparse_factor import Factor

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder


@frozen(init=False)
class Classification:
    """Kind of a second-order system, definiteness of its matrices, damping of its modes.

    Attributes
    ----------
    natural, gyroscopic, circulatory, damped, hysteretic, conservative : bool
    kind : text such as "conservative natural (MK)"
    definiteness : mapping of "M", "C", "K" to "positive definite", "positive semidefinite", "zero", "indefinite",
        "negative semidefinite", "negative definite" or "unknown"
    modes : Modes
        All of a dense system, the 20 lowest of a sparse one.
    damping : one word per mode
        "undamped", "underdamped", "critically damped", "overdamped", "growing" or "rigid body".
    remark : conclusion on stability from definiteness alone
    """

    natural: bool
    gyroscopic: bool
    circulatory: bool
    damped: bool
    hysteretic: bool
    conservative: bool
    kind: str
    definiteness: Mapping[str, str]
    modes: Modes
    damping: tuple[str, ...]
    remark: str

    def __init__(self, system: SecondOrder) -> None:
        damped, gyroscopic, circulatory, hysteretic = (
            storage.nonzero(matrix) for matrix in (system.C, system.G, system.H, system.K_loss)
        )
        modes = system.modes()
        kinds = {symbol: definiteness(getattr(system, symbol)) for symbol in ("M", "C", "K")}
        assign(
            self, natural=not gyroscopic, gyroscopic=gyroscopic, circulatory=circulatory, damped=damped,
            hysteretic=hysteretic, conservative=not (damped or circulatory or hysteretic),
            kind=_kind(damped, gyroscopic, circulatory, hysteretic), definiteness=kinds,
            modes=modes, damping=_dampings(modes),
            remark=_remark(kinds, circulatory, hysteretic),
        )  # fmt: skip

    @property
    def overdamped(self) -> bool:
        """Whether at least one mode is overdamped; a system is underdamped when all its modes are."""
        return "overdamped" in self.damping

    def table(self) -> str:
        """Kind, definiteness, and number of modes of each damping."""
        lines = [self.kind, *(f"  {symbol}: {text}" for symbol, text in self.definiteness.items())]
        counts = [f"{self.damping.count(word)} {word}" for word in dict.fromkeys(self.damping)]
        lines.append(f"  modes: {', '.join(counts)}")
        if self.remark:
            lines.append(f"  {self.remark}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Classification: {self.table()}"


def definiteness(matrix: Any) -> str:
    """Signs of the eigenvalues of a symmetric matrix, its diagonal first scaled to one."""
    if not storage.nonzero(matrix):
        return "zero"
    sparse = storage.is_sparse(matrix)
    size = np.abs(matrix.diagonal())
    size = np.where(size > 0.0, size, abs(matrix).max())
    if sparse:
        counts = _sparse_signs(matrix, size)
        if counts is None:
            return "unknown"
        negative, zero, positive = counts
    else:
        scale = 1.0 / np.sqrt(size)
        values = np.linalg.eigvalsh(scale[:, None] * matrix * scale)
        floor = zero_tolerance(len(matrix)) * np.abs(values).max()
        negative, zero, positive = (int(np.count_nonzero(sign)) for sign in
                                    (values < -floor, np.abs(values) <= floor, values > floor))  # fmt: skip
    if positive and negative:
        return "indefinite"
    return f"{'positive' if positive else 'negative'} {'semidefinite' if zero else 'definite'}"


def _sparse_signs(matrix: Any, size: Any, zero: float = 1e-13) -> tuple[int, int, int] | None:
    """Negative, zero, positive eigenvalues from the inertia on both sides of zero; a factor is good to some 1e-15."""
    margin = scipy.sparse.diags_array(zero * size, format="csc")
    try:
        below, above = Factor(matrix + margin).negative, Factor(matrix - margin).negative
    except ArithmeticError:
        return None
    if below is None or above is None:
        return None
    return below, above - below, matrix.shape[0] - above


def _kind(damped: bool, gyroscopic: bool, circulatory: bool, hysteretic: bool) -> str:
    letters = f"M{'C' if damped else ''}{'G' if gyroscopic else ''}K{'H' if circulatory else ''}"
    if circulatory:
        name = "circulatory"
    elif damped or hysteretic:
        name = "general" if gyroscopic else "natural nonconservative"
    else:
        name = "conservative gyroscopic" if gyroscopic else "conservative natural"
    return f"{name} ({letters}{', hysteretic' if hysteretic else ''})"


def _dampings(modes: Modes) -> tuple[str, ...]:
    values = modes.eigenvalues
    real = values[values.imag == 0.0].real
    return tuple(_damping(complex(s), z, real) for s, z in zip(values, modes.damping_ratios, strict=True))


def _damping(
    s: complex,
    ratio: float,
    real: Any,
    critical: float = 1e-7,  # relative difference of two real eigenvalues that are one: found to √ε only
    undamped: float = 1e-12,  # damping ratio of none: rounding of a companion form is some hundred times 2⁻⁵²
) -> str:
    if s == 0.0:
        return "rigid body"
    if s.imag == 0.0:
        if s.real > 0.0:
            return "growing"
        # Two equal real eigenvalues: on the boundary between one oscillation and two decays.
        twice = np.count_nonzero(np.abs(real - s.real) <= critical * abs(s)) > 1
        return "critically damped" if twice else "overdamped"
    if abs(ratio) <= undamped:
        return "undamped"
    return "underdamped" if ratio > 0.0 else "growing"


def _remark(kinds: Mapping[str, str], circulatory: bool, hysteretic: bool) -> str:
    if circulatory or hysteretic:
        return ""
    if all(kind == "positive definite" for kind in kinds.values()):
        return "M, C, K > 0: asymptotically stable"
    if all(kind.startswith("positive") or kind == "zero" for kind in kinds.values()):
        return "M, C, K ≥ 0: no eigenvalue with positive real part"
    return ""
