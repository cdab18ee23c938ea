"""Parameters of a linear model from identified modes (sensitivity method; Mottershead, Link and Friswell 2011).

    minimise  Σ (ln(ω/ω̂)/σ_f)² + Σ ‖n - n̂‖²/σ_s² + Σ ((ζ - ζ̂)/σ_ζ)² + Σ ((p - p₀)/(p₀ σ_p))²

ω, n, ζ: frequency, shape at the measured coordinates (unit length, its sign that of the measured one), damping ratio
φᵀCφ/2ω of the model's undamped mode that resembles the measured one most; paired anew by MAC in every iteration.
Gauss-Newton with Levenberg's damping; derivatives of the modes are exact (`mode_derivatives`).

Derivatives of simple modes of M x″ + K x = 0 (Fox and Kapoor 1968, Nelson 1976).

λ′ = φᵀ (K′ - λ M′) φ          φᵀ M φ = 1
[K - λM   Mφ] [φ′]   [-(K′ - λ M′) φ + λ′ M φ]
[φᵀM       0] [μ ] = [      -½ φᵀ M′ φ       ]        (regular where λ is simple; μ = 0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import ArrayLike, NDArray

from dalembert.core.arguments import real_number, take_names
from dalembert.core.declare import anything, instance, mapping
from dalembert.core.errors import DataError, ModelError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.core.progress import Progress, Setting
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.identify.likelihood.identifiability import judge_information
from dalembert.identify.model.collinearity import mean_phase
from dalembert.identify.model.identified import HoldsIdentified, Identified, take_identified
from dalembert.identify.physical.rayleigh_quotients import RayleighQuotients
from dalembert.identify.physical.updated import Updated
from dalembert.identify.records.checks import find_name, require_finite
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.structured.parametric_system import Matrices, Model, ParametricSystem
from dalembert.linear import SecondOrder
from dalembert.linear.modes import Modes
from dalembert.numerics import ties
from dalembert.numerics.chain_least_squares import solve_bounded, triangularise
from dalembert.numerics.least_squares import DampedStep, Damping, minimise
from dalembert.structures.reduction.mode_pairs import WEIGHTS, pair_modes


def eigenvalue_slope(phi: Array, value: float, dM: Any, dK: Any) -> float:
    """λ′ of a mass-normalised mode."""
    return float(phi @ (dK @ phi) - value * (phi @ (dM @ phi)))


class ShapeSlopes:
    """φ′ of one mode for any number of parameters: one factorization."""

    def __init__(self, M: Any, K: Any, phi: Array, value: float) -> None:
        self.phi, self.value = phi, value
        self.Mphi = np.asarray(M @ phi).reshape(-1)
        # rows of one size: the border in the units of K
        self.border = float(abs(K).max()) / max(float(np.abs(self.Mphi).max()), 1e-300)
        column = (self.border * self.Mphi).reshape(-1, 1)
        self._solve: Any
        if scipy.sparse.issparse(K):
            edge = scipy.sparse.csc_array(column)
            matrix = scipy.sparse.block_array([[K - value * M, edge], [edge.T, None]], format="csc")
            self._solve = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(matrix)).solve
        else:
            matrix = np.block([[K - value * M, column], [column.T, np.zeros((1, 1))]])
            factor = scipy.linalg.lu_factor(matrix)
            self._solve = lambda right: scipy.linalg.lu_solve(factor, right)

    def __call__(self, dM: Any, dK: Any) -> tuple[float, Array]:
        """(λ′, φ′)."""
        slope = eigenvalue_slope(self.phi, self.value, dM, dK)
        dMphi = np.asarray(dM @ self.phi).reshape(-1)
        right = -np.asarray(dK @ self.phi).reshape(-1) + self.value * dMphi + slope * self.Mphi
        last = -0.5 * self.border * float(self.phi @ dMphi)
        return slope, np.asarray(self._solve(np.append(right, last))[:-1])


# Standard deviations where none are given, as careful modal tests reach them: frequencies 1 %, shapes of unit length
# 0.1, damping ratios 10 %.
FREQUENCY_DEVIATION, SHAPE_DEVIATION, DAMPING_DEVIATION = 0.01, 0.1, 0.1
LARGEST_CHANGE = 0.5  # of a parameter in one step, relative: stiffnesses and masses keep their sign
DAMPING = Damping(growth=8.0)


@dataclass(frozen=True)
class Target:
    """Measured modes: ω (k,), shapes (c, k) of unit length, ζ (k,), with relative or absolute deviations."""

    frequencies: Array
    shapes: Array
    damping: Array
    coordinates: dict[str, str]
    frequency_deviations: Array  # relative
    shape_deviations: Array
    damping_deviations: Array
    use_shapes: bool
    use_damping: bool
    known: bool


@dataclass(frozen=True)
class MatchedModes:
    """The model at one set of values: its modes, paired with the measured ones."""

    values: Array
    system: SecondOrder
    matrices: Matrices
    omega: Array  # (k,) of the paired modes
    phi: Array  # (n, k)
    zeta: Array
    mac: Array
    alone: NDArray[np.bool_]  # (k,) whether the eigenvalue is simple
    residual: Array


def update(
    model: Model, modes: Modes | Identified | HoldsIdentified, parameters: Sequence[str] | Mapping[str, float], *,
    coordinates: Mapping[str, str] | Sequence[str] | None = None, shapes: bool = True, damping: bool = False,
    deviations: Mapping[str, ArrayLike] | None = None, prior: float | Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None, count: int | None = None,
    method: RayleighQuotients | None = None, progress: Setting = None,
) -> Updated:  # fmt: skip
    """Bring chosen parameters of a model into agreement with measured modes.

    Parameters
    ----------
    model : function of the parameters, as keywords, that returns a SecondOrder or a Structure; or an :class:`Affine`
        family; or equations of motion, linearized about their equilibrium
    modes : Modes, or an identified model
        Frequencies (undamped), damping ratios, shapes at named coordinates: identified, or read from a file by
        :func:`dalembert.read_modes`. Modes that do not oscillate are left out.
    parameters : names with first values; for equations of motion names suffice
    coordinates : mapping of measured coordinates to coordinates or outputs of the model, or some measured coordinates
        All measured ones, by their own names, when left out; ``"-x1"`` for a sensor against the direction of ``x1``.
    shapes : whether shapes count; they serve to pair modes in any case
    damping : whether damping ratios count
    deviations : mapping with "frequencies_hz", "shapes" (of shapes of unit length), "damping" (ratios), optional
        Standard deviations, a number or one per mode. An identified model or the modes of a file have their
        own. Without any the fit takes 1 %, 0.1 and 10 %, and the parameters have no deviations.
    prior : relative standard deviation of the first values, of all or by name, optional
        Keeps parameters near their first values where the modes do not determine them.
    bounds : mapping of a parameter to (low, high), optional
        Parameters with a positive first value stay positive by themselves.
    count : number of modes of the model to choose from, optional
    method : RayleighQuotients, optional
        A convex problem without shapes as targets, instead of the sensitivity method; takes neither ``prior`` nor
        ``damping``.

    Returns
    -------
    Updated

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> def chain(k1, k2):
    ...     return SecondOrder(np.eye(2), [[k1 + k2, -k2], [-k2, k2]], coordinates=["a", "b"])
    >>> result = update(chain, chain(k1=120.0, k2=80.0).modes(), {"k1": 100.0, "k2": 100.0})
    >>> result.values.round(6).tolist()
    [120.0, 80.0]
    """
    names, first = _parameters(model, parameters)
    low, high = _bounds(names, first, bounds)
    if method is not None:
        instance(RayleighQuotients)("method", method)
        problem = "Rayleigh quotients take no damping, and a regularisation instead of a prior."
        DataError.when(damping or prior is not None, "conflicting-arguments", problem)
    target = _target(modes, coordinates, deviations, shapes and method is None, damping)
    family = ParametricSystem(model, names, first, target.coordinates)
    search = ModeSearch(family, target, first, low, high, _prior(names, prior), count)
    with Progress(progress, "update") as bar:
        if method is None:
            return search.report(model, search.run(bar), known=target.known)
        status, covariance = method.run(search, bar)
    return search.report(model, status, known=target.known, covariance=covariance)


# ---- arguments


def _parameters(model: Model, given: Sequence[str] | Mapping[str, float]) -> tuple[list[str], Array]:
    if isinstance(given, Mapping):
        names, values = list(given), [float(v) for v in given.values()]
    elif isinstance(model, EquationsOfMotion):
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            require_name("parameter", name, model.parameters.names, f"equations {model.name!r}", error=ModelError)
        values = [float(model.p[model.parameters.index[name]]) for name in names]
    else:
        raise DataError(
            "missing-argument", "the parameters need first values.",
            Advice("Give them by name: {}.", Argument("parameters", {"E": 210e9, "k": 1e6})),
        )  # fmt: skip
    if not names:
        raise DataError("empty", "parameters is empty: name at least one parameter to update.")
    first = np.array(values)
    require_finite(first, "first values of the parameters must be finite.")
    return names, first


def _bounds(names: list[str], first: Array, given: Mapping[str, tuple[float, float]] | None) -> tuple[Array, Array]:
    low = np.where(first > 0, 1e-6 * first, -np.inf)
    high = np.where(first < 0, 1e-6 * first, np.inf)
    for name, pair in mapping("parameter", instance(Sequence, np.ndarray))("bounds", given).items():
        k = find_name("parameter", name, names, "bounds")
        DataError.when(len(pair) != 2, "wrong-shape", f"bounds of {name!r} must be (low, high), got {pair!r}.")
        low[k], high[k] = (real_number(f"a bound of {name!r}", end, finite=False) for end in pair)
        if not low[k] <= first[k] <= high[k] or low[k] == high[k]:
            problem = f"the first value {first[k]:g} of {name!r} is not between its bounds {low[k]:g} and {high[k]:g}."
            raise DataError(
                "out-of-range", problem, Advice("Give other {} or another first value.", Argument("bounds"))
            )
    return low, high


def _prior(names: list[str], given: float | Mapping[str, float] | None) -> Array:
    result = np.full(len(names), np.inf)
    given = given if given is None or isinstance(given, Mapping) else dict.fromkeys(names, given)
    for name, value in (given or {}).items():
        k = find_name("parameter", name, names, "prior")
        if not float(value) > 0:
            raise DataError("not-positive", f"prior of {name!r} must be a positive relative deviation, got {value!r}.")
        result[k] = float(value)
    return result


def _target(
    measured: Modes | Identified | HoldsIdentified, coordinates: Mapping[str, str] | Sequence[str] | None,
    deviations: Mapping[str, ArrayLike] | None, shapes: bool, damping: bool,
) -> Target:  # fmt: skip
    spreads, kinds = mapping("kind", anything)("deviations", deviations), ("frequencies_hz", "shapes", "damping")
    for name in spreads:
        if name not in kinds:
            raise DataError("unknown-argument", unknown_name("kind", name, kinds, "deviations"))
    modes: Modes | Identified = instance(Identified, Modes)("modes", take_identified(measured))
    if isinstance(modes, Identified):
        for name, column in (("frequencies_hz", modes.frequency_deviations_hz), ("damping", modes.damping_deviations)):
            if column is not None:
                spreads.setdefault(name, column)
        modes = modes.modes()
    chosen = np.flatnonzero(modes.eigenvalues.imag > 0)
    for name, column in (("frequencies_hz", modes.frequency_deviations_hz), ("damping", modes.damping_deviations)):
        if column is not None:
            spreads.setdefault(name, column[chosen])
    if not len(chosen):
        raise DataError("overdamped", "none of the measured modes oscillates: there is no frequency to compare.")
    k = len(chosen)
    names = _coordinates(modes.coordinates, coordinates)
    rows = [modes.coordinates.index(name) for name in names]
    columns = _real(modes.shapes[rows][:, chosen], np.linalg.norm(modes.shapes[:, chosen], axis=0))
    hertz = modes.frequencies_hz[chosen]
    zeta = modes.damping_ratios[chosen]

    def spread(name: str, default: Array) -> Array:
        value = np.asarray(spreads.get(name, default), dtype=float)
        if value.shape not in ((), (k,)) or not (np.isfinite(value).all() and (value > 0).all()):
            raise DataError(
                "wrong-shape", f"deviations of {name} must be positive, one number or one per oscillating mode ({k})."
            )
        return np.broadcast_to(value, (k,)).copy()

    counted = ["frequencies_hz", *(["shapes"] if shapes and len(rows) > 1 else []), *(["damping"] if damping else [])]
    return Target(
        2 * np.pi * hertz, columns, zeta, names, spread("frequencies_hz", FREQUENCY_DEVIATION * hertz) / hertz,
        spread("shapes", np.asarray(SHAPE_DEVIATION)),
        spread("damping", DAMPING_DEVIATION * np.maximum(np.abs(zeta), 1e-4)),
        shapes and len(rows) > 1, damping, all(name in spreads for name in counted),
    )  # fmt: skip


def _coordinates(known: tuple[str, ...], given: Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    names = known if given is None else given if isinstance(given, Mapping) else take_names("coordinate", given)
    pairs = {str(n): str(names[n] if isinstance(names, Mapping) else n) for n in names}
    for name in pairs:
        find_name("measured coordinate", name, known, "the modes")
    return pairs


def _real(shapes: ArrayLike, whole: Array, node: float = 1e-6) -> Array:
    """Real unit columns: each times the phase factor that makes its imaginary part smallest; whole : their lengths at
    all coordinates.

    node : motion of a measured mode at the chosen coordinates / at all: shapes have three digits, the rest is rounding
    """
    real = (np.asarray(shapes) * np.exp(-1j * mean_phase(shapes))).real
    size = np.linalg.norm(real, axis=0)
    still = np.flatnonzero(~(size > node * whole))
    if len(still):
        raise DataError("node", f"measured mode {int(still[0]) + 1} does not move any of the chosen coordinates.")
    return np.asarray(real / size)


# ---- search


def _turn_repeated(omega: Array, phi: Array, P: Any, measured: Array, repeated: float = 1e-6) -> Array:
    """Shapes (n, l) in which those of repeated modes, any combinations of each other, are the ones nearest to the
    measured shapes (c, k); P : (c, n), the measured coordinates.

    repeated : relative distance of eigenvalues below which the shapes of two modes are any combination of each other
    """
    phi = phi.copy()
    edges = np.flatnonzero(np.diff(omega) > repeated * omega[1:]) + 1
    for group in np.split(np.arange(len(omega)), edges):
        if len(group) > 1:
            observed = P @ phi[:, group]
            shares = np.linalg.pinv(observed, rcond=repeated) @ measured
            nearest = ties.largest_first(np.linalg.norm(observed @ shares, axis=0))[: len(group)]
            turn, _, V = np.linalg.svd(shares[:, nearest])
            turn[:, : len(nearest)] = turn[:, : len(nearest)] @ V
            phi[:, group] = phi[:, group] @ turn
    return phi


class ModeSearch:
    """The search for the parameters, a problem of damped least squares; a point is a `MatchedModes`."""

    def __init__(
        self, family: ParametricSystem, target: Target, first: Array, low: Array, high: Array, prior: Array,
        count: int | None,
    ) -> None:  # fmt: skip
        self.family, self.target, self.first = family, target, first
        self.low, self.high, self.prior, self.count = low, high, prior, count
        self.values = first.copy()
        self.scale = family.scale
        self.iterations = 0
        self.before: MatchedModes | None = None
        self._slope: tuple[MatchedModes, Array] | None = None

    def point(self, values: Array, repeated: float = 1e-6, rigid: float = 1e-6, growing: float = 1e-2) -> MatchedModes:
        # rigid: frequency of a rigid-body mode / lowest measured one: rounding leaves 1e-8 of the highest frequency
        # growing: the same of a rate of growth at the first values, far from rounding
        system = self.family.system(values)
        matrices = self.family.matrices(system)
        target = self.target
        k = len(target.frequencies)
        undamped = SecondOrder(system.M, system.K, coordinates=system.coordinates)
        wanted = self.count or (min(3 * k + 10, system.nq - 1) if system.is_sparse else None)
        modes = undamped.modes(wanted) if wanted else undamped.modes()
        growth = float(modes.eigenvalues.real.max(initial=0.0))
        if self.before is None and growth > growing * target.frequencies.min():
            raise DataError(
                "unstable",
                f"the model is not at a stable equilibrium: a motion grows by {growth:.3g} 1/s, so that its modes are "
                "not those of a structure at rest.",
                Advice("Take the modes about a stable pose."), Advice("Or balance the weight with springs."),
                evidence={"growth": growth},
            )  # fmt: skip
        keep = np.flatnonzero(modes.eigenvalues.imag > rigid * target.frequencies.min())
        if len(keep) < k:
            raise DataError(
                "too-few-modes",
                f"the model has {len(keep)} oscillating modes for {k} measured ones"
                + (f" among the {wanted} computed." if wanted else "."),
                Advice("Use a larger {}.", Argument("count"))
                if wanted
                else Advice("Leave out modes with {}.", Call("modes.select")),
                evidence={"modes": len(keep), "measured": k},
            )
        omega, phi = modes.eigenvalues.imag[keep], np.asarray(modes.shapes[:, keep]).real
        phi = _turn_repeated(omega, phi, matrices.P, target.shapes)
        observed = matrices.P @ phi
        length = np.linalg.norm(observed, axis=0)
        mac = (target.shapes.T @ (observed / np.where(length > 0, length, 1.0))) ** 2
        pair = pair_modes(mac, target.frequencies, omega)
        gaps = np.full(len(omega), np.inf)
        gaps[1:] = np.diff(omega) / omega[1:]
        gaps[:-1] = np.minimum(gaps[:-1], gaps[1:])
        chosen = phi[:, pair]
        sign = np.where(((matrices.P @ chosen) * target.shapes).sum(axis=0) < 0, -1.0, 1.0)
        chosen = chosen * sign
        zeta = np.einsum("ik,ik->k", chosen, np.asarray(matrices.C @ chosen)) / (2 * omega[pair])
        matched = MatchedModes(
            values, system, matrices, omega[pair], chosen, zeta, mac[np.arange(k), pair],
            gaps[pair] > repeated, np.zeros(0),
        )  # fmt: skip
        return replace(matched, residual=self.residual(matched, values))

    def residual(self, at: MatchedModes, values: Array) -> Array:
        t = self.target
        parts = [np.log(at.omega / t.frequencies) / t.frequency_deviations]
        if t.use_shapes:
            observed = at.matrices.P @ at.phi
            apart = observed / np.maximum(np.linalg.norm(observed, axis=0), 1e-300) - t.shapes
            parts.append((at.alone * apart / t.shape_deviations).T.reshape(-1))
        if t.use_damping:
            parts.append((at.zeta - t.damping) / t.damping_deviations)
        parts.append((values - self.first) / (self.scale * self.prior))
        return np.concatenate(parts)

    def jacobian(self, at: MatchedModes, values: Array) -> Array:
        """Derivative of the residual by relative changes of the parameters."""
        t = self.target
        slopes = self.family.derivatives(values)
        k, m = len(t.frequencies), len(values)
        by_frequency, by_damping = np.zeros((k, m)), np.zeros((k, m))
        by_shape = np.zeros((k, len(t.coordinates), m))
        needs = t.use_shapes or t.use_damping
        for i in range(k):
            phi, omega = at.phi[:, i], float(at.omega[i])
            value = omega**2
            solver = ShapeSlopes(at.matrices.M, at.matrices.K, phi, value) if needs and at.alone[i] else None
            observed = at.matrices.P @ phi
            size = float(np.linalg.norm(observed)) or 1.0  # at a node of all sensors
            unit = observed / size
            damped = np.asarray(at.matrices.C @ phi).reshape(-1)
            for j, d in enumerate(slopes):
                slope, dphi = eigenvalue_slope(phi, value, d.M, d.K), np.zeros_like(phi)
                if solver is not None:
                    slope, dphi = solver(d.M, d.K)
                by_frequency[i, j] = slope / (2 * value)
                moved = (at.matrices.P @ dphi + d.P @ phi) / size
                by_shape[i, :, j] = at.alone[i] * (moved - unit * (unit @ moved))
                change = 2 * (damped @ dphi) + float(phi @ np.asarray(d.C @ phi).reshape(-1))
                by_damping[i, j] = change / (2 * omega) - at.zeta[i] * slope / (2 * value)
        parts = [by_frequency / t.frequency_deviations[:, None]]
        if t.use_shapes:
            parts.append((by_shape / t.shape_deviations[:, None, None]).reshape(-1, m))
        if t.use_damping:
            parts.append(by_damping / t.damping_deviations[:, None])
        return np.vstack([*(block * self.scale for block in parts), np.diag(1.0 / self.prior)])

    def run(self, bar: Progress, iterations: int = 60) -> str:
        """Gauss-Newton with damping; the status."""
        status = f"not converged after {iterations} iterations"
        try:
            self.before = self.at = self.point(self.values)
            minimum = minimise(self, self.at, DAMPING, iterations, keep=self.keep, report=bar.update)
            if minimum.converged:
                status = "converged"
        except KeyboardInterrupt:
            if self.before is None:  # nothing was found yet
                raise
            status = f"stopped after {self.iterations} iterations"
        bar.update(1.0)
        return status

    def value(self, point: MatchedModes) -> float:
        return float(point.residual @ point.residual)

    def step(self, point: MatchedModes, damping: float) -> DampedStep:
        if self._slope is None or self._slope[0] is not point:
            self._slope = (point, self.jacobian(point, point.values))
        J, r = self._slope[1], point.residual
        sizes = np.sqrt((J * J).sum(axis=0))
        widths = np.sqrt(damping) * np.maximum(sizes, 1e-6 * sizes.max(initial=1e-300))
        R = triangularise(np.hstack((np.vstack((J, np.diag(widths))), np.append(r, 0 * widths)[:, None])))
        m = len(widths)
        most = LARGEST_CHANGE * np.maximum(np.abs(point.values) / self.scale, 0.2)
        low = np.maximum((self.low - point.values) / self.scale, -most)
        high = np.minimum((self.high - point.values) / self.scale, most)
        change = solve_bounded(R[:m, :m], R[:m, m], low, high)
        remaining = r + J @ change
        return DampedStep(change, float(r @ r - remaining @ remaining))

    def evaluate(self, point: MatchedModes, step: DampedStep) -> MatchedModes:
        self.iterations += 1
        return self.point(np.clip(point.values + self.scale * step.change, self.low, self.high))

    def keep(self, point: MatchedModes) -> None:
        self.values, self.at = point.values, point

    def is_settled(
        self, before: MatchedModes, after: MatchedModes, step: DampedStep, change: float = 1e-5, settled: float = 1e-10
    ) -> bool:
        # change, settled: Relative gain and change of a step that settle the search: parameters are written with five
        # digits.
        gain = self.value(before) - self.value(after)
        return gain <= settled * self.value(before) and float(np.abs(step.change).max()) < change

    def is_rounding(
        self, point: MatchedModes, trial: MatchedModes | None, step: DampedStep, rounding: float = 1e-9,
        exact: float = 1e-9, no_change: float = 1e-10,
    ) -> bool:  # fmt: skip
        # rounding, exact, no_change: Predicted gain, relative to the value (and to that of an exact match), and change
        # that are rounding.
        hoped = rounding * (self.value(point) + exact)
        return step.predicted <= hoped or float(np.abs(step.change).max()) < no_change

    def report(
        self, model: object, status: str, *, known: bool, covariance: Array | None = None, at_bound: float = 1e-9
    ) -> Updated:
        # covariance: of relative changes, by the method; from the derivatives of the modes where left out.
        # at_bound: Distance of a parameter that was clipped to its bound.
        at, before, t = self.at, self.before, self.target
        assert before is not None
        J = self.jacobian(at, self.values)
        names = self.family.names
        free = J if np.isfinite(self.prior).any() else J[: len(J) - len(names)]
        has_size = (self.values != 0.0) & (self.first != 0.0)  # a change from zero is judged in its unit
        size = np.where(has_size, np.abs(self.values), self.scale)
        scaled = free * (size / self.scale)
        lacking = max(len(names) - len(scaled), 0)  # rows, where there are fewer data than unknowns
        scaled = np.vstack([scaled, np.zeros((lacking, len(names)))])
        R = triangularise(scaled)
        information = judge_information(R, names, relative=has_size, source="the modes", effect="them")
        if covariance is None:
            covariance = information.covariance * np.outer(size, size)
        else:
            covariance = covariance * np.outer(self.scale, self.scale)
        IdentificationWarning.report(information.findings, stacklevel=2)
        findings = list(information.findings)
        for i in np.flatnonzero(~at.alone):
            problem = f"mode {i + 1} is repeated in the model: its shape is not used."
            findings.append(Finding("repeated-poles", problem, {"mode": int(i) + 1}))
        for i in np.flatnonzero(at.mac < WEIGHTS.good_mac):
            problem = f"measured mode {i + 1} has no good counterpart (MAC {at.mac[i]:.2f})."
            findings.append(Finding("poor-pair", problem, {"mode": int(i) + 1}, {"mac": float(at.mac[i])}))
        for k, name in enumerate(names):
            if min(abs(self.values[k] - bound[k]) for bound in (self.low, self.high)) <= at_bound * self.scale[k]:
                problem = f"{name} is at its bound {self.values[k]:g}."
                findings.append(Finding("at-bound", problem, {"parameter": name}, {"value": float(self.values[k])}))
        equations = None
        if isinstance(model, EquationsOfMotion):
            equations = model.replace(**dict(zip(names, (float(v) for v in self.values), strict=True)))
        return Updated(
            parameters=tuple(names), values=self.values.copy(), first=self.first.copy(),
            deviations=np.sqrt(np.diag(covariance)) if known else None, covariance=covariance if known else None,
            system=at.system, equations=equations, measured_hz=t.frequencies / (2 * np.pi),
            frequencies_before_hz=before.omega / (2 * np.pi), frequencies_after_hz=at.omega / (2 * np.pi),
            mac_before=before.mac, mac_after=at.mac, damping_measured=t.damping,
            damping_before=before.zeta, damping_after=at.zeta, shapes_count=t.use_shapes, damping_counts=t.use_damping,
            directions=information.directions, status=status, findings=tuple(findings),
            provenance={"made by": "da.identify.update", "iterations": self.iterations},
        )  # fmt: skip
