"""H-infinity synthesis by two Riccati equations (Glover and Doyle 1988; Zhou, Doyle and Glover 1996, chapter 17).

With D₁₂ = [0; I] and D₂₁ = [0 I] (orthogonal changes of w and z, scaled u and y), R = D₁.ᵀ D₁. - diag(γ² I, 0) and
R̃ = D.₁ D.₁ᵀ - diag(γ² I, 0), the stable subspace [X₁; X₂] of the Hamiltonian matrix

    [[A - B R⁻¹ D₁.ᵀ C₁,  -B R⁻¹ Bᵀ], [-C₁ᵀ (I - D₁. R⁻¹ D₁.ᵀ) C₁,  -(A - B R⁻¹ D₁.ᵀ C₁)ᵀ]]

gives X = X₂ X₁⁻¹, its dual gives Y. A controller with ‖T‖∞ < γ exists where both matrices have no eigenvalue on the
imaginary axis, X ≥ 0, Y ≥ 0 and ρ(X Y) < γ². The smallest γ is between the largest gain of D₁₁ that no controller can
change (Parrott 1978) and the norm that the H2 controller reaches.

The central controller is used in descriptor form with the state x = X₁ ξ, F = -R⁻¹ (D₁.ᵀ C₁ + Bᵀ X), L the dual,

    E ξ′ = E T ξ + Y₁ᵀ L̄ (y - (C₂ + F₁₂) X₁ ξ) ,    u = F₂ X₁ ξ + D̄ (y - (C₂ + F₁₂) X₁ ξ)
    E = Y₁ᵀ X₁ - γ⁻² Y₂ᵀ X₂ ,   (A + B F) X₁ = X₁ T ,   L̄ = -L₂ + (B₂ + L₁₂) D̄

so neither X₁, Y₁ nor I - γ⁻² Y X is inverted: where the gain is nearly optimal they are ill-conditioned. Directions in
which E vanishes follow the others without delay.

The loop that comes out is closed and its norm computed: a controller counts after that only. Sampled plants are mapped
by z = (1 + s)/(1 - s).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import scipy.linalg

from dalembert.control.plant import Plant, replace_fields
from dalembert.control.robust import h2
from dalembert.control.robust.generalized_plant import (
    Actuated,
    Disturbances,
    Fastest,
    GeneralizedPlant,
    LoopChannels,
    Measured,
    Performance,
    choose_channels,
    close_loop,
    map_to_continuous,
    map_to_discrete,
    parrott_bound,
    partition,
    require_stabilizing_controller,
    shift_feedthrough,
)
from dalembert.control.robust.regularization import Penalized, penalize
from dalembert.control.robust.synthesis import Synthesis, as_controller
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import between, checked, not_negative
from dalembert.core.errors import ConvergenceError, DataError
from dalembert.core.findings import Advice, Argument
from dalembert.linear import StateSpace
from dalembert.numerics.riccati import hamiltonian_scale

BackOff = Annotated[float, between(1e-6, 10.0), "excess over the smallest norm, which makes the controller well-posed"]
Tolerance = Annotated[float, not_negative, "relative distance of the two bounds of the smallest norm"]


@checked
def hinf(
    system: Plant,
    *,
    outputs: Measured,
    inputs: Actuated,
    disturbances: Disturbances | None = None,
    performance: Performance | None = None,
    back_off: BackOff = 0.02,
    fastest: Fastest | None = None,
    tolerance: Tolerance = 1e-5,
) -> Synthesis:
    """The controller with the smallest largest gain from disturbances to performance outputs.

    Parameters
    ----------
    system : StateSpace or SecondOrder
        Plant with all its channels, as of ``da.linear.connect`` of machine and weights.
    outputs, inputs : names of what the controller reads and drives.
    back_off : float
        The controller is designed for (1 + back_off) times the smallest norm.
    fastest : float, optional
        A problem that is singular (a command or a reading without weight or next to none, a zero on the axis), or whose
        loop has poles beyond this [rad/s], gets the smallest penalty that keeps them below it. The norm reported is
        that of the original problem.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> plant = StateSpace([[0, 1], [-1, -0.1]], [[0, 0, 0], [1, 0, 1]], [[1, 0], [0, 0], [1, 0]],
    ...                    [[0, 0, 0], [0, 0, 1], [0, 0.1, 0]], inputs=["force", "noise", "push"],
    ...                    outputs=["place", "effort", "reading"])
    >>> law = hinf(plant, outputs="reading", inputs="push")
    >>> round(law.bounds[1], 3), law.is_stable, law.achieved <= 1.021 * law.bounds[1]
    (1.05, True, True)
    """
    channels = choose_channels(system, disturbances, performance, outputs, inputs)
    require_stabilizing_controller(system, channels)
    return synthesize(system, channels, back_off, fastest, tolerance, "H-infinity")


def synthesize(
    system: StateSpace, channels: LoopChannels, back_off: float, fastest: float | None, tolerance: float, method: str
) -> Synthesis:
    """The best verified controller: of the problem as it is where it is regular, else of the penalised one."""
    continuous = system if system.dt is None else map_to_continuous(system)
    plant = partition(continuous, channels).balanced()

    def judge(controller: StateSpace, bounds: tuple[float, float], excess: float, added: tuple[str, ...]) -> Synthesis:
        if system.dt is not None:
            controller = map_to_discrete(controller, system.dt)
        return Synthesis(
            controller, system, channels.disturbances, channels.performance, method=method, bounds=bounds,
            back_off=excess, regularized=added,
        )  # fmt: skip

    def attempt(penalized: Penalized) -> Synthesis | None:
        return _attempt(penalized, channels, back_off, tolerance, judge)

    design = penalize(plant, attempt, fastest)
    if design is None:
        raise ConvergenceError(
            "no-convergence",
            "no controller passed the check of its closed loop: stable, with a finite largest gain. The plant is "
            "nearly unstabilisable, or its channels differ by many orders of size.",
            Advice("Scale the channels, or allow faster poles with {}.", Argument("fastest")),
        )
    return design


Judge = Callable[[StateSpace, tuple[float, float], float, tuple[str, ...]], Synthesis]


def _attempt(
    penalized: Penalized, channels: LoopChannels, back_off: float, tolerance: float, judge: Judge,
    rounding: float = 1e-6,  # share by which a computed norm may exceed what the controller was designed for
) -> Synthesis | None:  # fmt: skip
    """The verified controller of one regular problem; a larger back-off where the loop is not what was designed."""
    plant = penalized.plant
    if not (np.any(plant.D12) and np.any(plant.D21)):
        return None
    start = _h2_controller(plant, channels)
    if start is None:
        return None
    norm = judge_penalized(plant, start)
    bounds = search_gamma(plant, norm, tolerance)
    low, high = bounds or (0.0, norm)
    form = normalize(plant)
    tried = [back_off * factor for factor in (1.0, 2.0, 5.0, 20.0, 100.0)]
    decades = np.geomspace(10.0, 1e8, 8)
    tried += list(decades[decades * high < norm])  # where the smallest norm is next to nothing
    for excess in tried if bounds else ():
        solution = solve_riccatis(form, (1.0 + excess) * high)
        controller = None if solution is None else central_controller(solution, plant.D22, channels)
        if controller is None or not judge_penalized(plant, controller) <= (1.0 + excess) * (1.0 + rounding) * high:
            continue
        design = judge(controller, (low, high), excess, penalized.added)
        if is_verified(design):
            return _with_bounds(design, penalized)
    design = judge(start, (low, high), max(norm / high - 1.0, 0.0) if high else 0.0, penalized.added)
    return _with_bounds(design, penalized) if is_verified(design) else None


def is_verified(design: Synthesis, rounding: float = 1e-4, zero: float = 1e-12) -> bool:
    """A stable loop whose largest gain on a grid does not exceed the exact one: two computations agree.

    zero : gain, of the matrices of the loop, that is rounding.
    """
    loop = design.channel()
    size = zero * float(np.linalg.norm(loop.B) * np.linalg.norm(loop.C))
    return design.is_stable and design.grid_peak <= (1.0 + rounding) * design.achieved + size


def _with_bounds(design: Synthesis, penalized: Penalized) -> Synthesis:
    """The search bounds the norm of the penalised problem; of the original one Parrott's bound and what is reached."""
    if not penalized.added:
        return design
    return replace_fields(design, bounds=(penalized.lower, design.achieved))  # type: ignore[no-any-return]


def judge_penalized(plant: GeneralizedPlant, controller: StateSpace) -> float:
    """Norm of the loop of the penalised, continuous plant; infinite where it is unstable."""
    nw, nz = plant.B1.shape[1], len(plant.C1)
    system = StateSpace(
        plant.A, np.hstack([plant.B1, plant.B2]), np.vstack([plant.C1, plant.C2]),
        np.block([[plant.D11, plant.D12], [plant.D21, plant.D22]]),
        inputs=[*(f"w{k}" for k in range(nw)), *controller.outputs],
        outputs=[*(f"z{k}" for k in range(nz)), *controller.inputs],
    )  # fmt: skip
    try:
        closed = close_loop(system, controller)
    except DataError:  # an algebraic loop
        return np.inf
    return closed.select(inputs=system.inputs[:nw], outputs=system.outputs[:nz]).hinf_norm().gain


def _h2_controller(plant: GeneralizedPlant, channels: LoopChannels) -> StateSpace | None:
    """A stabilising controller to begin with; None where its equations have no solution."""
    try:
        matrices = h2.solve_continuous(replace(plant, D11=np.zeros_like(plant.D11)))
    except (ConvergenceError, np.linalg.LinAlgError):
        return None
    return shift_feedthrough(as_controller(*matrices, channels.outputs, channels.inputs), plant.D22)


# -- the smallest γ ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalForm:
    """The plant with D₁₂ = [0; I] and D₂₁ = [0 I]; u = U ũ and ỹ = V y give the channels back."""

    plant: GeneralizedPlant
    U: FloatArray
    V: FloatArray


def normalize(plant: GeneralizedPlant) -> NormalForm:
    """Orthogonal w and z, scaled u and y."""
    m, p = plant.D12.shape[1], len(plant.D21)
    Q, R = scipy.linalg.qr(plant.D12)
    Z = np.hstack([Q[:, m:], Q[:, :m]]).T  # z̃ = Z z
    P, S = scipy.linalg.qr(plant.D21.T)
    W = np.hstack([P[:, p:], P[:, :p]])  # w = W w̃
    U, V = np.linalg.inv(R[:m]), np.linalg.inv(S[:p].T)
    D12 = np.vstack([np.zeros((len(Z) - m, m)), np.eye(m)])
    D21 = np.hstack([np.zeros((p, len(W) - p)), np.eye(p)])
    return NormalForm(
        GeneralizedPlant(plant.A, plant.B1 @ W, plant.B2 @ U, Z @ plant.C1, V @ plant.C2, Z @ plant.D11 @ W, D12, D21,
                         np.zeros_like(plant.D22)), U, V)  # fmt: skip


@dataclass(frozen=True)
class RiccatiPair:
    """Bases of both stable subspaces at one γ, and the coupling ρ(X Y)/γ², below one where a controller exists."""

    gamma: float
    form: NormalForm
    X1: FloatArray
    X2: FloatArray
    T: FloatArray
    Y1: FloatArray
    Y2: FloatArray
    coupling: float


def search_gamma(
    plant: GeneralizedPlant, norm: float, tolerance: float, rounds: int = 90, smallest: float = 1e-9, wide: float = 4.0
) -> tuple[float, float] | None:
    """Lower and upper bound of the smallest γ; None where no γ is found.

    norm : a norm that is reached, or infinite.  smallest : of the first γ, below which γ counts as zero.
    wide : ratio of the bounds above which their geometric mean halves the interval.
    """
    form = normalize(plant)
    low = parrott_bound(form.plant.D11, form.plant.D12, form.plant.D21)
    high = (1.0 + 1e-6) * norm if np.isfinite(norm) else 2.0 * low or 1.0
    coupling = solve_riccatis(form, high)
    for _ in range(60):
        if coupling is not None and coupling.coupling < 1.0:
            break
        low, high = max(low, high), 2.0 * high
        coupling = solve_riccatis(form, high)
    else:
        return None
    floor = smallest * high
    excess: dict[float, float] = {high: _excess(coupling)}  # log of the coupling by γ, for the secant
    for step in range(rounds):
        if high - low <= tolerance * high or high <= floor:
            break
        gamma = 0.5 * (low + high) if high <= wide * low else float(np.sqrt(max(low, floor) * high))
        if step % 3 and {low, high} <= set(excess):  # just above the root of the secant, then just below it
            share = excess[low] / max(excess[low] - excess[high], 1e-12)
            margin = min(0.4 * tolerance * high, 0.4 * (high - low))
            root = low + share * (high - low) + (margin if step % 3 == 1 else -margin)
            gamma = float(np.clip(root, low + margin, high - margin))
        solution = solve_riccatis(form, gamma)
        if solution is not None:
            excess[gamma] = _excess(solution)
        if solution is not None and solution.coupling < 1.0:
            high = gamma
        else:
            low = gamma
    return low, high


def _excess(solution: RiccatiPair | None) -> float:
    return float(np.log(max(solution.coupling, 1e-300))) if solution is not None else 0.0


def solve_riccatis(form: NormalForm, gamma: float, above: float = 1e-9) -> RiccatiPair | None:
    """Both stable subspaces at γ; None where one Riccati equation has no solution X ≥ 0 or Y ≥ 0.

    above : share by which γ must exceed the gain of the direct term, at which R is singular.
    """
    plant = form.plant
    if not gamma > (1.0 + above) * parrott_bound(plant.D11, plant.D12, plant.D21):
        return None
    basis, dual = _stable_basis(plant, gamma), _stable_basis(plant.transposed(), gamma)
    if basis is None or dual is None:
        return None
    (X1, X2, T, X), (Y1, Y2, _, Y) = basis, dual
    coupling = float(np.abs(np.linalg.eigvals(X @ Y)).max(initial=0.0)) / gamma**2
    return RiccatiPair(gamma, form, X1, X2, T, Y1, Y2, coupling)


Basis = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _gains(plant: GeneralizedPlant, gamma: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """B, D₁. and R of the Riccati equation of the command."""
    B, D = np.hstack([plant.B1, plant.B2]), np.hstack([plant.D11, plant.D12])
    R = D.T @ D
    nw = plant.B1.shape[1]
    R[:nw, :nw] -= gamma**2 * np.eye(nw)
    return B, D, R


def _stable_basis(
    plant: GeneralizedPlant,
    gamma: float,
    axis: float = 1e-10,  # real part, of the modulus, that counts as zero
    skew: float = 1e-6,  # of a basis, and negative eigenvalue of X, of the largest, or of 1: rounding where X is 0
) -> Basis | None:
    """X₁, X₂, T and X of the Hamiltonian matrix; None where there is no stabilising X ≥ 0."""
    n = plant.nx
    if not n:
        return (np.zeros((0, 0)),) * 4
    B, D, R = _gains(plant, gamma)
    try:
        both = np.linalg.solve(R, np.hstack([D.T @ plant.C1, B.T]))
    except np.linalg.LinAlgError:
        return None
    A, G = plant.A - B @ both[:, :n], B @ both[:, n:]
    Q = plant.C1.T @ plant.C1 - plant.C1.T @ D @ both[:, :n]
    scale = hamiltonian_scale(A, G, Q)
    A, G, Q = A * scale / scale[:, None], G / scale[:, None] / scale, Q * scale[:, None] * scale
    try:
        T, Z, count = scipy.linalg.schur(np.block([[A, -G], [-Q, -A.T]]), sort="lhp")
    except np.linalg.LinAlgError:
        return None
    if count != n:
        return None
    values = np.linalg.eigvals(T[:n, :n])
    if np.any(-values.real <= axis * np.abs(values)):
        return None
    X1, X2 = Z[:n, :n], Z[n:, :n]
    try:
        X = np.linalg.solve(X1.T, X2.T)
    except np.linalg.LinAlgError:
        return None
    overlap = X1.T @ X2  # symmetric; of an orthonormal basis, so that rounding does not depend on the size of X
    if not np.isfinite(X).all() or float(np.abs(overlap - overlap.T).max()) > skew:
        return None
    if np.linalg.eigvalsh(0.5 * (X + X.T))[0] < -skew * max(float(np.abs(X).max()), 1.0):
        return None
    X = X / scale[:, None] / scale
    return X1 * scale[:, None], X2 / scale[:, None], T[:n, :n], 0.5 * (X + X.T)


# -- the controller ----------------------------------------------------------------------------------------------------


def central_controller(
    solution: RiccatiPair, D22: FloatArray, channels: LoopChannels, vanishing: float = 1e-12
) -> StateSpace | None:
    """The controller by the equations above; ``vanishing``: singular value of E, of the largest, that is zero."""
    form, gamma, plant = solution.form, solution.gamma, solution.form.plant
    nu, ny = plant.B2.shape[1], len(plant.C2)
    B, D, R = _gains(plant, gamma)
    F = -np.linalg.solve(R, D.T @ plant.C1 @ solution.X1 + B.T @ solution.X2)  # F X₁
    C, E1, S = _gains(plant.transposed(), gamma)
    L = -np.linalg.solve(S, E1.T @ plant.B1.T @ solution.Y1 + C.T @ solution.Y2).T  # Y₁ᵀ L
    nw, nz = plant.B1.shape[1], len(plant.C1)
    F12, F2, L12, L2 = F[nw - ny : nw], F[nw:], L[:, nz - nu : nz], L[:, nz:]
    D1111, D1112 = plant.D11[: nz - nu, : nw - ny], plant.D11[: nz - nu, nw - ny :]
    D1121, D1122 = plant.D11[nz - nu :, : nw - ny], plant.D11[nz - nu :, nw - ny :]
    inner = gamma**2 * np.eye(nz - nu) - D1111 @ D1111.T
    direct = -D1121 @ D1111.T @ np.linalg.solve(inner, D1112) - D1122
    entry = -L2 + (solution.Y1.T @ plant.B2 + L12) @ direct
    reading = plant.C2 @ solution.X1 + F12
    E = solution.Y1.T @ solution.X1 - solution.Y2.T @ solution.X2 / gamma**2
    P, sigma, Qt = np.linalg.svd(E)
    A = P.T @ (E @ solution.T - entry @ reading) @ Qt.T
    B_, C_, D_ = P.T @ entry, (F2 - direct @ reading) @ Qt.T, direct
    k = int(np.sum(sigma > vanishing * max(sigma[0], np.finfo(float).tiny))) if len(sigma) else 0
    try:
        if k < len(sigma):  # the last directions follow without delay
            fast = np.linalg.solve(A[k:, k:], np.hstack([A[k:, :k], B_[k:]]))
            A, B_ = A[:k, :k] - A[:k, k:] @ fast[:, :k], B_[:k] - A[:k, k:] @ fast[:, k:]
            C_, D_ = C_[:, :k] - C_[:, k:] @ fast[:, :k], direct - C_[:, k:] @ fast[:, k:]
        root = np.sqrt(sigma[:k])
        law = as_controller(A / root[:, None] / root, B_ @ form.V / root[:, None], form.U @ C_ / root,
                            form.U @ D_ @ form.V, channels.outputs, channels.inputs)  # fmt: skip
        return shift_feedthrough(law, D22)
    except (np.linalg.LinAlgError, DataError):
        return None
