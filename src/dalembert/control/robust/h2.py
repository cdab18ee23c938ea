"""H2 synthesis: the controller with the smallest root mean square of z under white noise w (Zhou, Doyle, Glover 1996).

continuous   x̂′ = A x̂ + B₂ u + L (y - C₂ x̂ - D₂₂ u) ,    u = -K x̂
sampled      u = -K x̂ - M e ,  e = y - C₂ x̂ - D₂₂ u ,  M = (K Y C₂ᵀ + K_w D₂₁ᵀ) V⁻¹

K solves the Riccati equation of (A, B₂, C₁, D₁₂), L that of the dual, Y is its solution, V = C₂ Y C₂ᵀ + D₂₁ D₂₁ᵀ and
K_w = (D₁₂ᵀ D₁₂ + B₂ᵀ X B₂)⁻¹ (B₂ᵀ X B₁ + D₁₂ᵀ D₁₁): the sampled command also acts on what the present reading says
about the state and about w.
"""

from __future__ import annotations

import warnings

import numpy as np

from dalembert.control.plant import Plant, replace_fields
from dalembert.control.robust.generalized_plant import (
    Actuated,
    Disturbances,
    Fastest,
    GeneralizedPlant,
    Measured,
    Performance,
    choose_channels,
    partition,
    require_stabilizing_controller,
    shift_feedthrough,
)
from dalembert.control.robust.regularization import Penalized, penalize
from dalembert.control.robust.synthesis import Synthesis, as_controller
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.text import list_names
from dalembert.numerics.riccati import RiccatiProblem, StabilisingSolution, solve

Matrices = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@checked
def h2(
    system: Plant,
    *,
    outputs: Measured,
    inputs: Actuated,
    disturbances: Disturbances | None = None,
    performance: Performance | None = None,
    fastest: Fastest | None = None,
) -> Synthesis:
    """The controller with the smallest root mean square of the performance outputs under white noise.

    Parameters
    ----------
    system : StateSpace or SecondOrder
        Plant with all its channels; white noise of unit intensity (sampled: unit variance) enters the disturbances.
    fastest : as of :func:`hinf`, for a command without weight or a reading without noise.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [[0, 0, 0], [1, 0, 1]], [[1, 0], [0, 0], [1, 0]],
    ...                   [[0, 0, 0], [0, 0, 1], [0, 1, 0]], inputs=["force", "noise", "push"],
    ...                   outputs=["place", "effort", "reading"])
    >>> design = h2(cart, outputs="reading", inputs="push")
    >>> round(design.achieved**2, 6) == round(6 * 2**0.5, 6)
    True
    """
    channels = choose_channels(system, disturbances, performance, outputs, inputs)
    require_stabilizing_controller(system, channels)
    plant = partition(system, channels)
    noisy = [name for name, row in zip(channels.performance, plant.D11, strict=True) if row.any()]
    DataError.when(
        system.dt is None and noisy, "no-solution",
        f"a disturbance acts on {list_names(noisy, {})} directly: white noise there has no finite mean square. Give "
        "the disturbance a filter.", where={"outputs": tuple(noisy)},
    )  # fmt: skip

    def attempt(penalized: Penalized) -> Synthesis | None:
        try:
            matrices = (solve_continuous if system.dt is None else solve_sampled)(penalized.plant)
        except (ConvergenceError, np.linalg.LinAlgError):
            return None
        law = as_controller(*matrices, channels.outputs, channels.inputs, system.dt)
        design = Synthesis(
            shift_feedthrough(law, plant.D22), system, channels.disturbances, channels.performance, method="H2",
            norm="H2", regularized=penalized.added,
        )  # fmt: skip
        lowest = 0.0 if penalized.added else design.achieved
        return replace_fields(design, bounds=(lowest, design.achieved)) if np.isfinite(design.achieved) else None

    design = penalize(plant.balanced(), attempt, fastest) if system.dt is None else attempt(Penalized(plant))
    if design is None:
        raise ConvergenceError(
            "not-stabilizable",
            "the Riccati equations of the H2 problem have no solution whose loop is stable: a command without weight, "
            "a reading without noise, or a mode that neither weight nor noise reaches, on the stability boundary.",
        )
    return design


def _regulator(plant: GeneralizedPlant, dt: float | None) -> StabilisingSolution:
    C, D = plant.C1, plant.D12
    problem = RiccatiProblem(dt, plant.A, plant.B2, C.T @ C, D.T @ D, C.T @ D, np.eye(plant.nx))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the closed loop is judged
        return solve(problem, "schur")


def solve_continuous(plant: GeneralizedPlant) -> Matrices:
    """The controller of the plant without D₂₂."""
    K, L = _regulator(plant, None).K, _regulator(plant.transposed(), None).K.T
    return plant.A - plant.B2 @ K - L @ plant.C2, L, -K, np.zeros((len(K), L.shape[1]))


def solve_sampled(plant: GeneralizedPlant) -> Matrices:
    """The controller of the sampled plant without D₂₂."""
    command, estimate = _regulator(plant, 1.0), _regulator(plant.transposed(), 1.0)
    K, L, X, Y = command.K, estimate.K.T, command.X, estimate.X
    R = plant.D12.T @ plant.D12 + plant.B2.T @ X @ plant.B2
    K_w = np.linalg.solve(R, plant.B2.T @ X @ plant.B1 + plant.D12.T @ plant.D11)
    V = plant.C2 @ Y @ plant.C2.T + plant.D21 @ plant.D21.T
    M = np.linalg.solve(V.T, (K @ Y @ plant.C2.T + K_w @ plant.D21.T).T).T
    gain = K - M @ plant.C2  # u = -(K - M C₂) x̂ - M y
    return plant.A - plant.B2 @ gain - L @ plant.C2, L - plant.B2 @ M, -gain, np.asarray(-M)
