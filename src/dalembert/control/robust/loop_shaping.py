"""Loop shaping with normalised coprime factors (McFarlane and Glover 1992).

The shaped plant G = W₂ P W₁ is made robust against changes of its coprime factors. With R = I + D Dᵀ, S = I + Dᵀ D and
the stabilising solutions X of the command and Z of the estimate,

    γ² = 1 + ρ(X Z) ,    ‖ [K; I] (I - G K)⁻¹ [I, G] ‖∞ ≥ γ ,    margin 1/γ

without iteration. The controller for γ above that is, with F = -S⁻¹ (Dᵀ C + Bᵀ X) and L = (1 - γ²) I + X Z,

    Lᵀ ẋ = Lᵀ (A + B F) x + γ² Z Cᵀ ((C + D F) x + y) ,    u = Bᵀ X x - Dᵀ y ,

and W₁ K W₂ acts on the plant.
"""

from __future__ import annotations

import numpy as np

from dalembert.control.plant import Driven, Plant, Sensors
from dalembert.control.robust.generalized_plant import (
    LoopChannels,
    close_loop,
    map_to_continuous,
    map_to_discrete,
    require_stabilizing_controller,
)
from dalembert.control.robust.hinf import BackOff
from dalembert.control.robust.mixed_sensitivity import Weight, spread
from dalembert.control.robust.synthesis import Synthesis, as_controller
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked
from dalembert.core.errors import ConvergenceError
from dalembert.linear import StateSpace
from dalembert.numerics.riccati import RiccatiProblem, solve


@checked
def loop_shaping(
    system: Plant,
    *,
    before: Weight = 1.0,
    after: Weight = 1.0,
    outputs: Sensors = None,
    inputs: Driven = None,
    back_off: BackOff = 0.02,
) -> Synthesis:
    """The controller that makes a loop of chosen shape robust.

    Parameters
    ----------
    system : StateSpace or SecondOrder
        The plant alone, without weights.
    before, after : number or StateSpace
        Weights W₁ at the driven inputs and W₂ at the outputs, which give W₂ G W₁ the wanted gain over frequency: large
        at low frequencies (an integrator is allowed), small at high ones.
    back_off : float
        Excess over the smallest norm; 1/norm is the margin against changes of the coprime factors: 0.25 is good.

    Examples
    --------
    >>> from dalembert.control import tf
    >>> design = loop_shaping(tf([1.0], [1.0, 0.0, 0.0]))
    >>> round(design.bounds[0] ** 2, 6) == round(4 + 2 * 2**0.5, 6)
    True
    """
    read, drives = tuple(outputs or ()), tuple(inputs or ())
    plant = system.select(inputs=drives, outputs=read)
    W1, W2 = spread(before, drives, "before", stable=False), spread(after, read, "after", stable=False)
    shaped = W1.series(plant.replace(units={})).series(W2)
    channels = LoopChannels(drives, read, W2.outputs, W1.inputs)
    require_stabilizing_controller(shaped, channels)
    continuous = shaped if shaped.dt is None else map_to_continuous(shaped)
    X, Z = _solve(continuous), _solve(_transposed(continuous))
    smallest = float(np.sqrt(1.0 + np.abs(np.linalg.eigvals(X @ Z)).max(initial=0.0)))
    for excess in (back_off, 2.0 * back_off, 5.0 * back_off, 20.0 * back_off, 100.0 * back_off):
        law = _controller(continuous, X, Z, (1.0 + excess) * smallest, channels)
        law = law if shaped.dt is None else map_to_discrete(law, shaped.dt)
        design = Synthesis(
            _unshaped(W1, law, W2, read, drives), system, drives, read, method="loop shaping",
            bounds=(smallest, smallest), back_off=excess, judged=_judged(shaped, law),
        )  # fmt: skip
        limit = (1.0 + excess) * (1.0 + 1e-6) * smallest  # the last factor: rounding of a computed norm
        if design.achieved <= limit:
            return design
    raise ConvergenceError(
        "no-convergence",
        "no controller passed the check of its closed loop: the shaped plant is nearly unstabilisable.",
    )


def _transposed(system: StateSpace) -> StateSpace:
    return StateSpace(system.A.T, system.C.T, system.B.T, system.D.T)


def _solve(system: StateSpace) -> FloatArray:
    """X of Aᵀ X + X A - (X B + Cᵀ D) S⁻¹ (Bᵀ X + Dᵀ C) + Cᵀ C = 0."""
    C, D = system.C, system.D
    S = np.eye(system.nu) + D.T @ D
    return solve(RiccatiProblem(None, system.A, system.B, C.T @ C, S, C.T @ D, np.eye(system.nx)), "automatic").X


def _controller(G: StateSpace, X: FloatArray, Z: FloatArray, gamma: float, channels: LoopChannels) -> StateSpace:
    F = -np.linalg.solve(np.eye(G.nu) + G.D.T @ G.D, G.D.T @ G.C + G.B.T @ X)
    L = (1.0 - gamma**2) * np.eye(G.nx) + X @ Z
    gain = np.asarray(gamma**2 * np.linalg.solve(L.T, Z @ G.C.T), dtype=float)
    A = G.A + G.B @ F + gain @ (G.C + G.D @ F)
    return as_controller(A, gain, G.B.T @ X, -G.D.T, channels.outputs, channels.inputs)


def _unshaped(
    W1: StateSpace, law: StateSpace, W2: StateSpace, read: tuple[str, ...], drives: tuple[str, ...]
) -> StateSpace:
    whole = W2.series(law).series(W1)
    return as_controller(whole.A, whole.B, whole.C, whole.D, read, drives, law.dt)


def _judged(shaped: StateSpace, law: StateSpace) -> StateSpace:
    """[K; I] (I - G K)⁻¹ [I, G] of the shaped plant."""
    ny, nu = shaped.ny, shaped.nu
    y, u = shaped.outputs, shaped.inputs
    B = np.hstack([np.zeros((shaped.nx, ny)), shaped.B, shaped.B])
    C = np.vstack([np.zeros((nu, shaped.nx)), shaped.C, shaped.C])
    D = np.block([
        [np.zeros((nu, ny)), np.zeros((nu, nu)), np.eye(nu)], [np.eye(ny), shaped.D, shaped.D],
        [np.eye(ny), shaped.D, shaped.D],
    ])  # fmt: skip
    w, z = [f"w{k}" for k in range(ny + nu)], [f"z{k}" for k in range(ny + nu)]
    plant = StateSpace(shaped.A, B, C, D, shaped.dt, inputs=[*w, *u], outputs=[*z, *y])
    return close_loop(plant, law).select(inputs=w, outputs=z)
