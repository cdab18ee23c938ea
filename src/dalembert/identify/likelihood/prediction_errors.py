"""Maximum likelihood of an innovation model, by its one-step predictor in full matrices.

predictor    x̂[t+1] = Ã x̂[t] + B̃ w[t],   ŷ = C x̂ + D u,   w = (u, y),  Ã = A - K C,  B̃ = [B - K D, K]
value        V = N/2 ln det R,  R = Σ e eᵀ/N: the negative log-likelihood at the best R
gradient     of the rows of [Ã B̃; C D]: Σ μ[t+1] zᵀ and Σ R⁻¹ e zᵀ, z = (x̂, w), by the adjoint recursion
             μ[t] = Ãᵀ μ[t+1] + Cᵀ R⁻¹ e[t]
start        a given model, or one by regression on the past
step         (S + μ 1) δ = g,   S = Jᵀ R⁻¹ J of the responses J to every direction of M = [A B K; C D 0] and to initial
             states. Records determine A better than K: along A, B, C, D, K the valley of V is nearly straight.

A change of basis, M' = [T A - A T, T B, T K; -C T, 0, 0], changes no prediction. The directions are orthogonal to all
of these: as many as the data can determine, in any basis, also where poles of the predictor meet or change from real to
pairs. Modal parameters are singular there, and noise that drives a structure leaves its predictor with such poles: a
search along them would end where rounding leads it (McKelvey, Helmersson and Ribarits 2004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from dalembert.core.arrays import BoolArray, ComplexArray, FloatArray
from dalembert.identify.likelihood.modal_likelihood import symmetric_inverse
from dalembert.identify.likelihood.uncertainty import modal_derivatives
from dalembert.identify.model.playback import free_motion
from dalembert.linear.recursions import march
from dalembert.numerics.least_squares import DampedStep, Damping, minimise

Segments = tuple[FloatArray, ...]
DAMPING = Damping(first=1e-3, good=0.3, fair=1.0, poor=3.0, growth=3.0, acceleration=2.0, restart=1e-6, most=1e10)
# Share of a step over which its bend is measured, and the largest bend over the step that is followed.
BEND, STRAIGHT = 0.1, 0.75
# Squared length of a step, per parameter, up to which the information of one point serves for the next ones.
FAR = 1.0


@dataclass(frozen=True)
class PredictorPoint:
    """A model of scaled channels, M = [A B K; C D 0], and its predictor, P = [Ã B̃; C D 0].

    Both are (n + ny, n + nu + ny); ``starts`` : initial states (S, n); states and errors by segment.
    """

    M: FloatArray
    P: FloatArray
    starts: FloatArray
    states: Segments
    errors: Segments
    noise: FloatArray
    value: float


@dataclass(frozen=True)
class PredictorOptimum:
    """The end of a search."""

    point: PredictorPoint
    iterations: int
    converged: bool


class PredictionSearch:
    """Inputs and outputs by segment; ``direct`` : inputs that may reach the outputs at once; ``start`` : initial states
    estimated."""

    def __init__(self, u: Segments, y: Segments, direct: BoolArray, *, start: bool, forgotten: float = 0.1) -> None:
        # forgotten: Least decay [nepers] of a predictor over the longest record: less is none, and its initial state
        # would fit a sine.
        self.nu, self.ny, self.direct, self.start = u[0].shape[1], y[0].shape[1], direct, start
        self.samples = sum(map(len, y))
        drive = [np.hstack(pair) for pair in zip(u, y, strict=True)]
        size = np.sqrt(np.asarray(sum(np.einsum("ta,ta->a", block, block) for block in drive)) / self.samples)
        self.scales = np.where(size > 0.0, size, 1.0)
        self.drive = tuple(block / self.scales for block in drive)
        self.within = 1.0 - forgotten / max(map(len, y))  # largest |z| of a predictor

    def begin(self, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, K: FloatArray) -> PredictorPoint:
        """The point of a model in the units of the channels."""
        su, sy = self.scales[: self.nu], self.scales[self.nu :]
        return self._place(A, B * su, C / sy[:, None], D * su / sy[:, None], K * sy)

    def regress(self, n: int, past: int) -> PredictorPoint | None:
        """The point of a model of n states by least squares alone; None where the data are too few.

        Predictions from the past, w[t-past] to w[t-1], of y[t] and, Ã to the power of ``past`` neglected, of the later
        ones; the n combinations of the past that predict most are the states (Chiuso 2007).
        """
        nu, nw = self.nu, self.nu + self.ny
        width, rows = past * nw, self.samples - past * len(self.drive)
        if rows < 2 * (width + nu) or n > past * self.ny or min(map(len, self.drive)) < past + 2:
            return None
        windows = (np.lib.stride_tricks.sliding_window_view(w, past, axis=0)[:-1] for w in self.drive)
        before = [block.transpose(0, 2, 1).reshape(-1, width) for block in windows]
        now = np.vstack([w[past:] for w in self.drive])
        u, y = now[:, :nu][:, self.direct], now[:, nu:]
        F = np.hstack([np.vstack(before), u])
        gram = F.T @ F
        gram += 1e-12 * np.trace(gram) / len(gram) * np.eye(len(gram))
        ahead = np.linalg.solve(gram, F.T @ y)[:width].T
        later = np.vstack([np.hstack([np.zeros((self.ny, r * nw)), ahead[:, : width - r * nw]]) for r in range(past)])
        U, size, _ = np.linalg.svd(later @ np.linalg.cholesky(gram[:width, :width]), full_matrices=False)
        onto = (U[:, :n].T @ later).T / np.sqrt(np.maximum(size[:n], 1e-12 * size[0] + 1e-300))
        states = [block @ onto for block in before]
        output = np.linalg.lstsq(np.hstack([np.vstack(states), u]), y, rcond=None)[0].T
        D = np.zeros((self.ny, nu))
        C, D[:, self.direct] = output[:, :n], output[:, n:]
        x, after = np.vstack([block[:-1] for block in states]), np.vstack([block[1:] for block in states])
        w = np.vstack([block[past:-1] for block in self.drive])
        e = w[:, nu:] - x @ C.T - w[:, :nu] @ D.T
        A, B, K = np.split(np.linalg.lstsq(np.hstack([x, w[:, :nu], e]), after, rcond=None)[0].T, [n, n + nu], axis=1)
        return self._place(A, B, C, D, K)

    def _place(self, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, K: FloatArray) -> PredictorPoint:
        """The point of a model: balanced between states and outputs, initial states by least squares."""
        n = len(A)
        closed, drive = _move_inside(A - K @ C, self.within), np.hstack([B - K @ D, K])
        states = np.vstack([march(closed, w[:-1] @ drive.T, np.zeros(n)) for w in self.drive])
        T = _balance(states.T @ states / len(states), _observability(closed, C))
        back = np.linalg.inv(T)
        M = np.block([[back @ A @ T, back @ B, back @ K], [C @ T, D, np.zeros((self.ny, self.ny))]])
        point = self.evaluate(M, np.zeros((len(self.drive), n)))
        if not self.start or not np.isfinite(point.value):
            return point
        observability = _observability(
            point.P[:n, :n], np.linalg.cholesky(symmetric_inverse(point.noise)).T @ M[n:, :n]
        )
        better = self.evaluate(M, self._adjoints(point, point.errors)[1] @ symmetric_inverse(observability))
        return better if better.value < point.value else point

    def evaluate(self, M: FloatArray, starts: FloatArray, within: float = 1.0, floor: float = 1e-13) -> PredictorPoint:
        """The point of a model; poles of its predictor outside a circle are moved into it.

        floor : noise relative to the rms of an output that is rounding of the data: some 500 ε.
        """
        n = starts.shape[1]
        gain = M[:n, n + self.nu :]
        P = np.vstack([M[:n] - gain @ M[n:], M[n:]])
        P[:n, n + self.nu :] = gain
        P[:n, :n] = _move_inside(P[:n, :n], min(within, self.within))
        M = M.copy()
        M[:n, :n] = P[:n, :n] + gain @ M[n:, :n]
        states = tuple(
            march(P[:n, :n], (w @ P[:n, n:].T)[:-1], first) for w, first in zip(self.drive, starts, strict=True)
        )
        errors = tuple(
            w[:, self.nu :] - x @ P[n:, :n].T - w @ P[n:, n:].T for x, w in zip(states, self.drive, strict=True)
        )
        noise = np.asarray(sum(e.T @ e for e in errors)) / self.samples
        noise = noise + np.diag(np.maximum(floor**2 - np.diag(noise), 0.0))
        sign, log = np.linalg.slogdet(noise)
        log += 2.0 * float(np.log(self.scales[self.nu :]).sum())  # in the units of the outputs
        value = float(0.5 * self.samples * log) if sign > 0 and np.isfinite(log) else np.inf
        return PredictorPoint(M, P, starts, states, errors, noise, value)

    def maximise(
        self, here: PredictorPoint, iterations: int, report: Callable[[float], None] | None = None, close: float = 1e-5
    ) -> PredictorOptimum:
        """From a point to the nearest maximum; ``report`` takes the fraction of the iterations done.

        close : squared length of the last step in standard deviations of the estimate: 0.3 % of one.
        """
        minimum = minimise(
            _PredictionProblem(self), here, DAMPING, iterations, count_rejected=False, close=close, report=report
        )
        return PredictorOptimum(minimum.point, minimum.iterations, minimum.converged)

    def matrices(self, point: PredictorPoint) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """A, B, C, D, K of the innovation form in the units of the channels."""
        n, nu = point.starts.shape[1], self.nu
        su, sy = self.scales[:nu], self.scales[nu:]
        A, B, K = point.M[:n, :n], point.M[:n, n : n + nu], point.M[:n, n + nu :]
        C, D = point.M[n:, :n], point.M[n:, n : n + nu]
        return A, B / su, C * sy[:, None], D * sy[:, None] / su, K / sy

    def correct_noise(self, point: PredictorPoint) -> FloatArray:
        """R in the units of the outputs, the number of fitted parameters subtracted from the number of samples."""
        n, (rows, columns) = point.starts.shape[1], point.M.shape
        fitted = n * (rows + columns - 2 * n) + int(self.direct.sum()) * self.ny
        fitted += n * len(self.drive) if self.start else 0
        sy = self.scales[self.nu :]
        return np.asarray(point.noise * np.outer(sy, sy) * self.samples / max(self.samples - fitted / self.ny, 1.0))

    def modal_covariance(self, point: PredictorPoint, dt: float) -> tuple[ComplexArray, FloatArray]:
        """Poles s [rad/s] (k,) of the modes that oscillate, ascending, and the covariance (2k, 2k) of (f_1, ζ_1, ...).

        f in Hz; dλ = wᴴ dA v, wᴴ v = 1.
        """
        n, nu = point.starts.shape[1], self.nu
        values, V = np.linalg.eig(point.M[:n, :n])
        waves = np.flatnonzero(values.imag > 0.0)
        ln = np.log(values[waves].astype(complex))
        order = np.argsort(np.abs(ln), kind="stable")
        waves, ln = waves[order], ln[order]
        left_rows, right = np.linalg.inv(V)[waves] / values[waves][:, None], V[:, waves].T
        slopes = np.zeros((len(waves), *point.M.shape), dtype=complex)
        slopes[:, :n, :n] = left_rows[:, :, None] * right[:, None, :]
        Q = self.directions(point)
        through = slopes.reshape(len(waves), point.M.size) @ Q
        rows = np.stack([through.real, through.imag], axis=1).reshape(2 * len(waves), Q.shape[1])
        scale = float(self.correct_noise(point)[0, 0] / (point.noise[0, 0] * self.scales[nu] ** 2))
        sigma = scale * symmetric_inverse(self.derivatives(point, Q)[0])[: Q.shape[1], : Q.shape[1]]
        slopes_of_modes = modal_derivatives(ln / dt) / dt
        return ln / dt, slopes_of_modes @ rows @ sigma @ rows.T @ slopes_of_modes.T

    def directions(self, point: PredictorPoint) -> FloatArray:
        """Orthonormal directions (entries of M, k) that are no change of basis and leave D zero where it is fixed."""
        n, (rows, columns) = point.starts.shape[1], point.M.shape
        A, B, C, eye = point.M[:n, :n], point.M[:n, n:], point.M[n:, :n], np.eye(n)
        same = np.zeros((n, n, rows, columns))  # of T = e_i e_jᵀ
        same[:, :, :n, :n] = np.einsum("ia,jb->ijab", eye, A) - np.einsum("ai,jb->ijab", A, eye)
        same[:, :, :n, n:] = np.einsum("ia,jb->ijab", eye, B)
        same[:, :, n:, :n] = -np.einsum("ai,jb->ijab", C, eye)
        free = np.ones((rows, columns), dtype=bool)
        free[n:, n:] = np.append(self.direct, np.zeros(self.ny, dtype=bool))
        places = np.flatnonzero(free)
        result = np.zeros((rows * columns, len(places) - n * n))
        result[places] = scipy.linalg.qr(same.reshape(n * n, -1)[:, places].T)[0][:, n * n :]
        return result

    def derivatives(
        self, point: PredictorPoint, directions: FloatArray, longest: int = 20_000, chunk: int = 400_000
    ) -> tuple[FloatArray, FloatArray]:
        """Information S and gradient g of steps along directions (entries of M, k), then of the initial states.

        longest : samples that the information is summed over; longer records have the same information per sample.
        chunk : numbers of responses in memory: 3 MB, a processor's cache.
        """
        n, (rows, columns) = point.starts.shape[1], point.M.shape
        A, C = point.P[:n, :n], point.P[n:, :n]
        steps = self._move_predictor(point, directions.T.reshape(-1, rows, columns))
        root = np.linalg.cholesky(symmetric_inverse(point.noise))
        share = min(1.0, longest / self.samples)
        k, first = len(steps), n * len(self.drive) if self.start else 0
        S = np.zeros((k + first, k + first))
        for s, (x, w) in enumerate(zip(point.states, self.drive, strict=True)):
            z = np.hstack([x, w])[: max(2, int(share * len(x)))]
            J = np.empty((len(z), self.ny, k + (n if first else 0)))
            size = max(1, chunk // (len(z) * n))
            for i in range(0, k, size):
                chosen = steps[i : i + size]
                pushed = (z[:-1] @ chosen[:, :n].reshape(-1, columns).T).reshape(len(z) - 1, len(chosen), n)
                direct = (z @ chosen[:, n:].reshape(-1, columns).T).reshape(len(z), len(chosen), self.ny)
                moved = march(A, pushed, np.zeros((len(chosen), n)))
                J[:, :, i : i + len(chosen)] = (moved @ C.T + direct).transpose(0, 2, 1)
            if first:
                J[:, :, k:] = free_motion(A, C, len(z))
            white = (root.T @ J).reshape(-1, J.shape[2])
            places = np.append(np.arange(k), np.arange(k + s * n, k + (s + 1) * n) if first else [])
            S[np.ix_(places.astype(int), places.astype(int))] += white.T @ white
        S[:k] /= np.sqrt(share)
        S[:, :k] /= np.sqrt(share)
        return S, self.project(point, directions, point.errors)

    def project(self, point: PredictorPoint, directions: FloatArray, errors: Segments) -> FloatArray:
        """Jᵀ R⁻¹ e: the gradient for the errors of the point."""
        g, pull = self._adjoints(point, errors)
        steps = self._move_predictor(point, directions.T.reshape(-1, *point.M.shape))
        return np.append(steps.reshape(len(steps), -1) @ g.ravel(), pull.ravel() if self.start else [])

    def edges(self, point: PredictorPoint, directions: FloatArray, kept: float = 0.1) -> tuple[FloatArray, FloatArray]:
        """Growth of |z| of the poles near the edge of the circle, (poles, directions and initial states); its room.

        kept : the pole that decays least keeps this part of its decay in one step.
        """
        n = point.starts.shape[1]
        values, V = np.linalg.eig(point.P[:n, :n])
        near = np.flatnonzero((np.abs(values) > 1.0 - (1.0 - self.within) / kept) & (values.imag >= 0.0))
        growth = np.zeros((len(near), directions.shape[1] + (point.starts.size if self.start else 0)))
        if len(near):
            steps = self._move_predictor(point, directions.T.reshape(-1, *point.M.shape))[:, :n, :n]
            turned = (values / np.abs(values)).conj()[near, None] * np.linalg.inv(V)[near]
            growth[:, : directions.shape[1]] = np.einsum("pa,kab,bp->pk", turned, steps, V[:, near]).real
        return growth, self.within - np.abs(values[near])

    def _move_predictor(self, point: PredictorPoint, steps: FloatArray) -> FloatArray:
        """Changes of P for changes of M, (k, n + ny, n + nu + ny)."""
        n, last = point.starts.shape[1], point.starts.shape[1] + self.nu
        moved = steps.copy()
        moved[:, :n, :last] -= steps[:, :n, last:] @ point.M[n:, :last] + point.M[:n, last:] @ steps[:, n:, :last]
        return moved

    def _adjoints(self, point: PredictorPoint, errors: Segments) -> tuple[FloatArray, FloatArray]:
        """Descent of V by the entries of P, and by the initial states (S, n)."""
        n, precision = point.starts.shape[1], symmetric_inverse(point.noise)
        g, first = np.zeros_like(point.P), np.zeros_like(point.starts)
        for k, (x, w, e) in enumerate(zip(point.states, self.drive, errors, strict=True)):
            z, white = np.hstack([x, w]), e @ precision
            mu = march(point.P[:n, :n].T, (white @ point.P[n:, :n])[::-1], np.zeros(n))[::-1]
            g[:n] += mu[1:].T @ z
            g[n:] += white.T @ z
            first[k] = mu[0]
        return g, first


@dataclass(frozen=True)
class _Quadratic:
    """V about a point, along directions: information and gradient, edges, and whether S was computed here."""

    point: PredictorPoint
    Q: FloatArray
    S: FloatArray
    g: FloatArray

    edges: tuple[FloatArray, FloatArray]
    fresh: bool

    @cached_property
    def length(self) -> float:
        """Of the whole step, which decides on convergence: a damped one is short wherever it leads."""
        return float(self.g @ self.solve(0.0)[1])

    def solve(self, damping: float) -> tuple[FloatArray, FloatArray]:
        """Inverse of the damped information, and the step; poles at the edge do not leave the circle."""
        inverse = symmetric_inverse(self.S + damping * np.median(np.diag(self.S)) * np.eye(len(self.S)))
        change = inverse @ self.g
        growth, room = self.edges
        beyond = growth @ change - room
        out = growth[beyond > 0.0]
        if len(out):
            across = inverse @ out.T
            change = change - across @ np.linalg.lstsq(out @ across, beyond[beyond > 0.0], rcond=None)[0]
        return inverse, change


class _PredictionProblem:
    """The likelihood as a problem of damped least squares.

    The information S is computed at points far from the maximum. Near it S follows the changes of the gradient (BFGS),
    along the same directions: where residuals are not white, S is not the curvature of V.
    """

    def __init__(self, search: PredictionSearch) -> None:
        self.search = search
        self._at: _Quadratic | None = None

    def value(self, point: PredictorPoint) -> float:
        return point.value

    def step(self, point: PredictorPoint, damping: float) -> DampedStep:
        at = self._at
        if at is None or at.point is not point:
            at = self._at = self._follow(at, point) or self._expand(point)
        inverse, change = at.solve(damping)
        predicted = float(change @ at.g) - 0.5 * float(change @ at.S @ change)
        if at.fresh and not len(at.edges[0]):
            # the valley is bent: half the second derivative of the path down it (Transtrum and Sethna 2012)
            ahead, behind = (self.search.evaluate(*self._move(point, at.Q, d * BEND * change)) for d in (1.0, -1.0))
            bent = tuple(
                (a + b - 2.0 * e) / BEND**2 for a, b, e in zip(ahead.errors, behind.errors, point.errors, strict=True)
            )
            curve = inverse @ self.search.project(point, at.Q, bent)
            if np.linalg.norm(curve) < STRAIGHT * np.linalg.norm(change):
                change = change + 0.5 * curve
        self._last = change, predicted
        return DampedStep(self._move(point, at.Q, change), predicted, at.length)

    def _expand(self, point: PredictorPoint) -> _Quadratic:
        Q = self.search.directions(point)
        return _Quadratic(point, Q, *self.search.derivatives(point, Q), self.search.edges(point, Q), True)

    def _follow(
        self, before: _Quadratic | None, point: PredictorPoint, gained: float = 0.25, curved: float = 1e-3
    ) -> _Quadratic | None:
        """The information after the last step by the change of the gradient; None where it is to be computed.

        gained : least share of the predicted decrease.  curved : least curvature along the step, of that predicted.
        """
        if before is None or before.length > FAR * len(before.S):
            return None
        change, predicted = self._last
        if before.point.value - point.value < gained * predicted:
            return None
        g = self.search.project(point, before.Q, point.errors)
        along, bend = before.S @ change, before.g - g
        if change @ bend < curved * (change @ along):
            return None
        S = before.S - np.outer(along, along) / (change @ along) + np.outer(bend, bend) / (change @ bend)
        return _Quadratic(point, before.Q, S, g, self.search.edges(point, before.Q), False)

    def _move(self, point: PredictorPoint, Q: FloatArray, change: FloatArray) -> tuple[FloatArray, FloatArray]:
        """M and the initial states after a change along the directions Q."""
        k = Q.shape[1]
        starts = point.starts + (change[k:].reshape(point.starts.shape) if self.search.start else 0.0)
        return point.M + (Q @ change[:k]).reshape(point.M.shape), starts

    def evaluate(self, point: PredictorPoint, step: DampedStep, kept: float = 0.1) -> PredictorPoint:
        n = point.starts.shape[1]
        decay = 1.0 - float(np.abs(np.linalg.eigvals(point.P[:n, :n])).max(initial=0.0))
        M, starts = step.change
        return self.search.evaluate(M, starts, 1.0 - kept * decay)

    def is_settled(self, before: PredictorPoint, after: PredictorPoint, step: DampedStep) -> bool:
        return False

    def is_rounding(
        self, point: PredictorPoint, trial: PredictorPoint | None, step: DampedStep, rounding: float = 1e-11
    ) -> bool:
        """Whether a rejected step gains nothing within the rounding of V: the point is the maximum then.

        rounding : half the squared length of a step, per sample, that is lost in the rounding of V: a sum of N terms of
        order one.
        """
        return trial is not None and 0.5 * step.length < rounding * self.search.samples and np.isfinite(trial.value)


def _move_inside(A: FloatArray, within: float) -> FloatArray:
    """The matrix with poles outside a circle moved onto it, those outside the unit circle mirrored first."""
    values, V = np.linalg.eig(A)
    size = np.abs(values)
    if size.max(initial=0.0) <= within:
        return A
    inner = np.minimum(np.where(size > 1.0, 1.0 / np.maximum(size, 1.0), size), within)
    return np.asarray(np.real((V * (values * inner / np.maximum(size, 1e-300))) @ np.linalg.inv(V)))


def _observability(A: FloatArray, C: FloatArray) -> FloatArray:
    """Σ (Aᵀ)ᵗ Cᵀ C Aᵗ."""
    return np.asarray(scipy.linalg.solve_discrete_lyapunov(A.T, C.T @ C))


def _balance(P: FloatArray, W: FloatArray) -> FloatArray:
    """Basis in which covariance P of the states and observability W are equal and diagonal, weak ones raised."""
    size = float(np.trace(P)) / max(1, len(P))
    L = np.linalg.cholesky(P + 1e-10 * size * np.eye(len(P)) if size > 0.0 else np.eye(len(P)))
    values, U = np.linalg.eigh(L.T @ W @ L)
    return np.asarray(L @ U / np.maximum(values, 1e-8 * values.max(initial=1e-300)) ** 0.25)
