"""One nominal system and one weight that cover a family: G = (I + W Δ) G₀ with ‖Δ‖∞ ≤ 1.

Per frequency the relative error of a member is E = (G_k - G₀) G₀⁺, and W covers it where σ(W⁻¹ E) ≤ 1. A diagonal W
that does is the largest norm of every row of E, times the least factor that is needed; a stable minimum-phase system
above it is the weight (`fit_magnitude`). The weight is then judged, and raised where needed, on a finer grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from dalembert.control.uncertainty.fit_magnitude import fit_magnitude
from dalembert.control.uncertainty.mu import frequency_grid, require_stable
from dalembert.control.uncertainty.structured_bound import response
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked, count, known_as
from dalembert.core.errors import DataError
from dalembert.core.results import column, result
from dalembert.linear import SecondOrder, StateSpace, append, connect
from dalembert.linear.uncertain import Uncertain, dynamic_block

Models = Annotated[Any, known_as("models", "several StateSpace or SecondOrder, or an Uncertain"), "the family"]
WeightOrder = Annotated[int, count(0, 12), "order of the weight of every output"]


@result
class FamilyCover:
    """Nominal system and weight that cover a family.

    Attributes
    ----------
    nominal : StateSpace
        G₀.
    weight : StateSpace
        W, diagonal, stable and minimum phase.
    uncertain : Uncertain
        (I + W Δ) G₀, with the channels of the family.
    frequencies, needed : (n,), (n, ny)
        [rad/s], and the smallest weights there.
    largest : float
        Largest σ(W⁻¹ E) of all members on the finer grid: at most 1.
    """

    nominal: StateSpace
    weight: StateSpace
    uncertain: Uncertain
    frequencies: FloatArray
    needed: FloatArray
    members: int = column("members")
    order: int = column("order of a weight")
    largest: float = column("largest share of the weight that is used", show=".6f")


@checked
def cover(models: Models, *, order: WeightOrder = 4, nominal: Any = None, name: str = "cover") -> FamilyCover:
    """Output multiplicative uncertainty that holds all members of a family.

    Parameters
    ----------
    models : of the same channels, with at least as many outputs as inputs; of an Uncertain its corners and 50 samples.
    nominal : G₀; the member whose largest error to the others is least, where left out.
    name : of the uncertainty.

    Examples
    --------
    >>> family = [StateSpace([[-a]], [[a]], [[1.0]]) for a in (0.8, 1.0, 1.2)]
    >>> covered = cover(family, order=1)
    >>> covered.nominal is family[1], covered.largest <= 1.0
    (True, True)
    """
    members = _members(models)
    base = None if nominal is None else _members([nominal])[0]
    grid = np.unique(np.concatenate([frequency_grid(m.A, 60) for m in (*members[:5], *([base] if base else []))]))
    grid = grid[np.isfinite(grid)]
    G = _responses(members, grid)
    if base is None:
        errors = [max(_largest(G[:, k], G[:, j]) for j in range(len(members))) for k in range(len(members))]
        chosen = int(np.argmin(np.round(errors, 9)))
        base, G0 = members[chosen], G[:, chosen]
    else:
        G0 = _responses([base], grid)[:, 0]
    require_stable(base, "the nominal system")
    _require_gain(G, G0, grid)
    needed = _needed(G, G0)
    weights = [fit_magnitude(grid, column_, order, above=True)[0] for column_ in needed.T]
    fine = np.unique(np.concatenate([grid, np.sqrt(grid[1:-1] * grid[2:]), *[grid[1:] * f for f in (0.98, 1.02)]]))
    G, G0 = _responses(members, fine), _responses([base], fine)[:, 0]
    E = _relative(G, G0)
    size = np.array([[abs(response((w.A, w.B, w.C, w.D), f)[0, 0]) for w in weights] for f in fine])
    share = float(np.linalg.norm(E / size[:, None, :, None], 2, axis=(2, 3)).max())
    weight = append([max(share, 1e-12) * (1.0 + 1e-9) * w if share > 1.0 else w for w in weights])
    ny = base.ny
    before, after = [f"{y} of {name}" for y in base.outputs], [f"{name} v{k + 1}" for k in range(ny)]
    added = [f"{name} w{k + 1}" for k in range(ny)]
    total = StateSpace.gain(np.hstack([np.eye(ny)] * 2), inputs=[*before, *added], outputs=base.outputs)
    plant = base.replace(outputs=before, units={})
    block = dynamic_block(name, inputs=before, outputs=after)
    joined = connect(
        [plant, block, weight.replace(inputs=after, outputs=added), total], inputs=base.inputs, outputs=base.outputs
    )
    return FamilyCover(base, weight, joined, grid, needed, len(members), order, min(share, 1.0))


def _members(models: Any) -> list[StateSpace]:
    if isinstance(models, Uncertain):
        return [*models.sample(50), models.at()]
    models = models if isinstance(models, Iterable) else [models]
    members = [m.state_space() if isinstance(m, SecondOrder) else m for m in models]
    wrong = [type(m).__name__ for m in members if not isinstance(m, StateSpace)]
    DataError.when(wrong, "wrong-type", f"a family has StateSpace or SecondOrder members, got {', '.join(wrong)}.")
    DataError.when(not members, "empty", "there is no model to cover.")
    first = members[0]
    alike = all((m.inputs, m.outputs, m.dt) == (first.inputs, first.outputs, first.dt) for m in members)
    DataError.when(not alike, "wrong-shape", "the members of a family must have the same inputs and outputs.")
    DataError.when(first.dt is not None, "not-supported", "a cover needs continuous models; use to_continuous().")
    problem = f"a cover at the outputs needs at least as many outputs ({first.ny}) as inputs ({first.nu})."
    DataError.when(first.nu > first.ny, "wrong-shape", problem)
    return members


def _responses(members: list[StateSpace], grid: FloatArray) -> ComplexArray:
    """(frequencies, members, ny, nu)."""
    return np.array([[response((m.A, m.B, m.C, m.D), w) for m in members] for w in grid])


def _relative(G: ComplexArray, G0: ComplexArray) -> ComplexArray:
    """(G_k - G₀) G₀⁺, (frequencies, members, ny, ny)."""
    return np.asarray((G - G0[:, None]) @ np.linalg.pinv(G0)[:, None])


def _require_gain(G: ComplexArray, G0: ComplexArray, grid: FloatArray, zero: float = 1e-6) -> None:
    """Refuse a nominal system without gain where a member has one; zero : relative size of what no weight explains."""
    left = np.linalg.norm(G - G0[:, None] - _relative(G, G0) @ G0[:, None], axis=(2, 3)).max(axis=1)
    share = left / np.maximum(np.linalg.norm(G, axis=(2, 3)).max(axis=1), math.ulp(0.0))
    worst = int(np.argmax(share))
    DataError.when(
        share[worst] > zero, "no-solution",
        f"at {grid[worst]:.4g} rad/s the nominal system has no gain in a direction in which a member has one, so no "
        "relative weight covers it. Choose another nominal system.", where={"argument": "nominal"},
    )  # fmt: skip


def _largest(G0: ComplexArray, G: ComplexArray) -> float:
    return float(np.linalg.norm(_relative(G[:, None], G0), 2, axis=(2, 3)).max())


def _needed(G: ComplexArray, G0: ComplexArray) -> FloatArray:
    """Smallest diagonal weights of the form described above, (frequencies, ny)."""
    E = _relative(G, G0)
    rows = np.linalg.norm(E, axis=3).max(axis=1)
    rows = np.maximum(rows, 1e-9 * max(float(rows.max()), math.ulp(1.0)))
    factor = np.linalg.norm(E / rows[:, None, :, None], 2, axis=(2, 3)).max(axis=1)
    return np.asarray(rows * factor[:, None])
