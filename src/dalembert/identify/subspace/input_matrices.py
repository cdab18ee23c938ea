"""B, D and the initial states of the records by least squares on the outputs, A and C being known.

y[k] = C Aᵏ x₀ + Σ_t C A^(k-1-t) B u[t] + D u[k] + v[k]  is linear in x₀ (one per record), B and D. For sensor noise
this is the maximum-likelihood estimate given A and C, and uses every sample, where the state equation of n4sid sees the
inputs through states that are themselves estimates. In modal coordinates, A = Ψ Λ Ψ⁻¹, all outputs share the same
filtered inputs ξ[k+1] = λ ξ[k] + u[k], (n·nu) channels in all, so the data are compressed once to a small triangle (x₀
eliminated record by record), whose size does not depend on the number of samples; noisy data by moments
(`likelihood.filter_sums`), others sample by sample. Outputs are weighted by the residuals of a first solution.

With a gain K the predictor A - K C takes the place of A: y - C (z - A + K C)⁻¹ K y is linear in B - K D and D. That is
the maximum-likelihood estimate where the noise drives the states too, and the only one where A is not stable.
Where A lacks a full set of eigenvectors the responses are made one by one from the first samples of the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.identify.likelihood.filter_sums import CONJUGATIONS, Moments, multiply_filtered, real_products
from dalembert.identify.model.playback import free_motion
from dalembert.identify.records.data import Data
from dalembert.linear.eigen.roots import is_defective
from dalembert.linear.recursions import march


@dataclass(frozen=True, eq=False)
class ModalFilters:
    """Filters of the modal coordinates: poles with Im z > 0, then real ones."""

    pairs: ComplexArray
    real: FloatArray
    vectors: ComplexArray

    @property
    def order(self) -> int:
        """Number of states."""
        return 2 * len(self.pairs) + len(self.real)

    @property
    def poles(self) -> ComplexArray:
        """Poles with Im z >= 0."""
        return np.concatenate([self.pairs, self.real.astype(np.complex128)])

    def real_columns(self, xi: ComplexArray) -> FloatArray:
        """(N, poles) -> (N, order): real parts of all, then imaginary parts of the pairs."""
        return np.hstack([xi.real, xi[:, : len(self.pairs)].imag])

    def decays(self, count: int, undamped: float = 0.05) -> bool:
        """Whether all modes decay within some samples: the products of their signals then follow from moments.

        undamped : decay over a record, -N ln |λ|, below which 1 - λ μ cancels more than one digit of the sums.
        """
        size = max(float(np.abs(self.poles).max(initial=0.0)), 1e-300)
        return bool(np.abs(self.poles).min(initial=1.0) > 0.0) and -count * np.log(size) > undamped

    def products(
        self, u: FloatArray, y: FloatArray, scales: FloatArray, C: FloatArray, K: FloatArray | None
    ) -> FloatArray:
        """Gram matrix of the columns of :func:`_regressors` of one record."""
        nu, q, n = u.shape[1], len(scales), self.order
        drive = u if K is None else np.hstack([u, y])
        moments = Moments(drive, y)
        driven = drive.shape[1]
        sums = moments.sums(np.log(self.poles), derivatives=False)
        plain, conjugated = (
            multiply_filtered(self.poles, sums, moments.ww[:driven, :driven], conjugate).join(conjugate)
            for conjugate in CONJUGATIONS
        )
        inner = real_products(plain, conjugated)  # (poles·(driven + 1), 2) twice, the free motion first
        count, p = len(self.poles), len(self.pairs)
        place = np.arange(2 * count * (1 + driven)).reshape(1 + driven, count, 2)
        places = np.concatenate([place[..., 0], place[:, :p, 1]], axis=1).ravel()
        data = [*range(nu), *range(moments.q - q + nu, moments.q)]
        with_data = np.concatenate([sums.hw[None], sums.fw.transpose(1, 0, 2)])[..., data].reshape(-1, q)
        outer = np.stack([with_data.real, with_data.imag], axis=1).reshape(-1, q)[places]
        inner = inner.reshape(2 * count * (1 + driven), -1)[np.ix_(places, places)]
        size = np.concatenate([np.ones(n), np.repeat(1.0 / scales[:driven], n), 1.0 / scales])
        gram: FloatArray = np.block([[inner, outer], [outer.T, moments.ww[np.ix_(data, data)]]]) * size[:, None] * size
        if K is None:
            return gram
        # outputs less their prediction from the filtered outputs, through K
        T = np.eye(len(gram))
        T[n * (1 + nu) : n * (1 + q), n * (1 + q) + nu :] = -self.through(C, K)
        T = np.delete(T, np.s_[n * (1 + nu) : n * (1 + q)], axis=1)
        return np.asarray(T.T @ gram @ T)

    def through(self, C: FloatArray, K: FloatArray) -> FloatArray:
        """Columns of ξ of channel after channel (ny·order, ny) that make C (z - A)⁻¹ K of them."""
        p, count = len(self.pairs), len(self.poles)
        modal = np.linalg.solve(np.hstack([self.vectors, self.vectors[:, :p].conj()]), K.astype(complex))[:count]
        weight = np.where(np.arange(count) < p, 2.0, 1.0)
        gains = (weight * (C @ self.vectors))[:, None, :] * modal.T  # (output, channel, pole)
        return np.concatenate([gains.real, -gains[..., :p].imag], axis=2).reshape(len(C), -1).T

    def output_map(self, c: ComplexArray) -> FloatArray:
        """T (order, order) with Σ Re(c b ξ) = (columns of ξ) T (real and imaginary parts of b)."""
        p, count = len(self.pairs), len(self.poles)
        weight = np.where(np.arange(count) < p, 2.0, 1.0)
        T = np.zeros((self.order, self.order))
        place = np.arange(count)
        T[place, place] = weight * c.real
        T[place[:p], count + place[:p]] = T[count + place[:p], place[:p]] = -2.0 * c[:p].imag
        T[count + place[:p], count + place[:p]] = -2.0 * c[:p].real
        return T

    def states(self, driven: FloatArray, b: FloatArray) -> FloatArray:
        """Columns (.., order) of the modal states for b (order, nu) from the columns of ξ of every input."""
        p, count, nu = len(self.pairs), len(self.poles), b.shape[1]
        xi = driven.reshape(len(driven), nu, self.order)
        real = np.einsum("rjk,kj->rk", xi[..., :count], b[:count])
        real[:, :p] -= np.einsum("rjk,kj->rk", xi[..., count:], b[count:])
        turned = np.einsum("rjk,kj->rk", xi[..., :p], b[count:]) + np.einsum("rjk,kj->rk", xi[..., count:], b[:p])
        return np.hstack([real, turned])

    def to_states(self, b: FloatArray) -> FloatArray:
        """Rows (order, nu) of real and imaginary parts -> B (n, nu) in the states of A."""
        p, count = len(self.pairs), len(self.poles)
        modal = b[:count].astype(np.complex128)
        modal[:p] = 2.0 * (modal[:p] + 1j * b[count:])
        result: FloatArray = (self.vectors @ modal).real
        return result


def find_filters(A: FloatArray) -> ModalFilters | None:
    """Modal coordinates of A, or None where it has no full set of eigenvectors."""
    values, vectors = np.linalg.eig(A)
    values, vectors = values.astype(np.complex128), vectors.astype(np.complex128)
    if is_defective(vectors):
        return None
    up, flat = values.imag > 0.0, values.imag == 0.0
    return ModalFilters(values[up], values[flat].real, np.hstack([vectors[:, up], vectors[:, flat]]))


def find_input_matrices(
    data: Data, scales: FloatArray, A: FloatArray, C: FloatArray, K: FloatArray | None, *, feedthrough: bool,
    exact: bool,
) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None, str]:  # fmt: skip
    """B (n, nu), D (ny, nu), covariance (ny, ny) of the residuals, the same with the best C, and a note.

    The covariances are None where they are not known.
    All of the scaled channels; by simulation, or by prediction where K (n, ny) is given.

    scales : (q,) of the channels; exact : by reflections (noise-free data), not by products.
    """
    nu, ny = data.nu, data.ny
    if nu == 0:
        return np.zeros((len(A), 0)), np.zeros((ny, 0)), None, None, ""
    closed = A if K is None else A - K @ C
    what = "outputs" if K is None else "one-step predictions"
    note = f"B, D and the initial states of the records by least squares on the {what}."
    modal = find_filters(closed)
    covariance = least = None
    if modal is None:
        note += " A has no full set of eigenvectors: responses of all unknowns computed from the first samples."
        B, D = _solve_by_responses(data, scales, closed, C, K, feedthrough)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # an unstable model is refused by its infinite sums
            triangle, from_rest = _compress(data, scales, modal, closed, C, K, exact)
        if from_rest:
            note = (
                f"B and D by least squares on the {what}; an impact at the first sample, so all records start at rest."
            )
        b, D, residuals = _solve(triangle, modal, C, nu, ny, feedthrough)
        B = modal.to_states(b)
        covariance = residuals.T @ residuals / max(1, data.samples - len(A) * (nu + data.segments) - nu)
        residuals = _triangle(np.hstack([modal.states(triangle[:, : len(A) * nu], b), triangle[:, len(A) * nu :]]))
        residuals = residuals[len(A) + nu :, len(A) + nu :]
        least = residuals.T @ residuals / max(1, data.samples - len(A) * (1 + data.segments) - nu)
    return (B if K is None else B + K @ D), D, covariance, least, note


def _compress(
    data: Data, scales: FloatArray, modal: ModalFilters, closed: FloatArray, C: FloatArray, K: FloatArray | None,
    exact: bool, lost_share: float = 1e-5,
) -> tuple[FloatArray, bool]:  # fmt: skip
    """Rows of (filtered inputs, inputs, outputs), the free motion of each record eliminated; whether from rest instead.

    The response to an impact at the first sample is a free motion: where an input is lost with it, the records are
    assumed to start at rest.

    lost_share : relative size of filtered inputs without their free motion, below which they are free motion only: √ε
    and a margin.
    """
    n = modal.order
    width = n * data.nu + data.nu + data.ny
    total = np.zeros((0, width)) if exact else np.zeros((width, width))
    from_rest = total
    for u, y in zip(data.u, data.y, strict=True):
        rows_here = np.zeros((0, n + width)) if exact else np.zeros((n + width, n + width))
        if not exact and modal.decays(len(y)):
            rows_here = modal.products(u, y, scales, C, K)
        else:
            for block in _regressors(u, y, scales, modal, closed, C, K):
                rows_here = _triangle(np.vstack([rows_here, block])) if exact else rows_here + block.T @ block
        if not np.isfinite(rows_here).all():
            total = rows_here
            break
        if exact:
            from_rest = _triangle(np.vstack([from_rest, rows_here[:, n:]]))
            total = _triangle(np.vstack([total, rows_here[n:, n:]]))
        else:
            # a free motion that decays at once has columns too small to divide by
            eye = 1e-14 * max(1.0, float(np.abs(np.diagonal(rows_here)[:n]).max(initial=0.0))) * np.eye(n)
            free = rows_here[n:, :n] @ scipy.linalg.solve(rows_here[:n, :n] + eye, rows_here[:n, n:], assume_a="pos")
            total, from_rest = total + rows_here[n:, n:] - free, from_rest + rows_here[n:, n:]
    if not exact and np.isfinite(total).all():
        total, from_rest = _factor(total), _factor(from_rest)
    if not np.isfinite(total).all():
        radius = float(np.abs(modal.poles).max(initial=0.0))
        raise DataError(
            "unstable-model",
            f"the model of order {n} grows beyond all numbers within the record (largest |z| = {radius:.6f}): another "
            "order or other block rows are needed.",
            evidence={"radius": radius},
        )
    driven, direct = total[:, : n * data.nu], total[:, n * data.nu : n * data.nu + data.nu]
    driven = driven - direct @ scipy.linalg.lstsq(direct, driven, check_finite=False)[0]
    remaining = np.linalg.norm(driven, axis=0) / np.maximum(np.linalg.norm(from_rest[:, : n * data.nu], axis=0), 1e-300)
    lost = bool((remaining.reshape(data.nu, n).max(axis=1, initial=0.0) < lost_share).any()) if n else False
    return (from_rest, True) if lost else (total, False)


def _factor(gram: FloatArray) -> FloatArray:
    """Rows whose products are these."""
    size = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    rows: FloatArray = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * size
    return rows


def _triangle(rows: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _regressors(
    u: FloatArray, y: FloatArray, scales: FloatArray, modal: ModalFilters, closed: FloatArray, C: FloatArray,
    K: FloatArray | None, block: int = 400_000,
) -> Iterator[FloatArray]:  # fmt: skip
    """Blocks (.., n + n·nu + nu + ny): free motion, inputs filtered by each pole, inputs, outputs.

    block : numbers of regressors held at once: 3 MB.
    """
    from scipy.signal import lfilter  # imported here: it takes long to load

    nu, n = u.shape[1], modal.order
    predicted = np.zeros(n)  # state from the outputs alone
    poles = modal.poles
    states = np.zeros((len(poles), nu), dtype=np.complex128)
    size = max(256, block // (n * (nu + 1) + nu + y.shape[1]))
    free = np.ones(len(poles), dtype=np.complex128)
    table = powers(poles, min(size, len(y))) if len(poles) else None
    for first in range(0, len(y), size):
        block_u = u[first : first + size] / scales[:nu]
        count = len(block_u)
        columns = [modal.real_columns(table[:count] * free)] if table is not None else []
        xi = np.empty((len(poles), count, nu), dtype=np.complex128)
        for s, pole in enumerate(poles):
            # the output is ξ before this sample; the state of the filter is the next one
            xi[s], after = lfilter([0.0, 1.0], [1.0, -pole], block_u, axis=0, zi=states[s][None])
            states[s] = after[0]
        columns += [modal.real_columns(np.ascontiguousarray(xi[:, :, j].T)) for j in range(nu)]
        free = free * poles**size
        wanted = y[first : first + size] / scales[nu:]
        if K is not None:
            path = march(closed, wanted @ K.T, predicted)
            wanted, predicted = wanted - path[:-1] @ C.T, path[-1]
        yield np.hstack([*columns, block_u, wanted])


def powers(poles: ComplexArray, count: int) -> ComplexArray:
    """λᵏ for k < count, (count, poles)."""
    return np.ascontiguousarray(np.vander(poles, count, increasing=True).T)


def _solve(
    triangle: FloatArray, modal: ModalFilters, C: FloatArray, nu: int, ny: int, feedthrough: bool, alike: float = 0.7
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """b (order, nu), D (ny, nu), and E (.., ny) with EᵀE = Σ v vᵀ, v the residuals.

    alike : least over largest weight of outputs: their noise is alike, and a second pass would change little
    """
    n = modal.order
    driven, direct = triangle[:, : n * nu], triangle[:, n * nu : n * nu + nu]
    wanted = triangle[:, n * nu + nu :]
    maps = [modal.output_map(row) for row in C @ modal.vectors]
    rows = [np.hstack([driven[:, j * n : (j + 1) * n] @ T for j in range(nu)]) for T in maps]
    weights = np.ones(ny)
    b, D, residuals = np.zeros((n, nu)), np.zeros((ny, nu)), wanted
    for _ in range(2):
        stacked = []
        for i, row in enumerate(rows):
            direct_rows = np.zeros((len(row), ny * nu if feedthrough else 0))
            if feedthrough:
                direct_rows[:, i * nu : (i + 1) * nu] = direct
            stacked.append(weights[i] * np.hstack([row, direct_rows]))
        target = (wanted * weights).T.reshape(-1)
        theta = _least_squares(np.vstack(stacked), target)
        residuals = (target - np.vstack(stacked) @ theta).reshape(ny, -1).T / weights
        b = theta[: n * nu].reshape(nu, n).T
        D = theta[n * nu :].reshape(ny, nu) if feedthrough else D
        size = np.linalg.norm(residuals, axis=0)
        weights = 1.0 / np.maximum(size, 1e-9 * np.maximum(np.linalg.norm(wanted, axis=0), 1e-300))
        weights /= weights.max()
        if weights.min() > alike:
            break
    return b, D, residuals


def _least_squares(M: FloatArray, target: FloatArray) -> FloatArray:
    """Columns scaled to length 1 first: modal coordinates differ in size."""
    size = np.linalg.norm(M, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    solution = scipy.linalg.lstsq(M / size, target, cond=1e-13, check_finite=False, lapack_driver="gelsy")
    return np.asarray(solution[0] / size)


def _solve_by_responses(
    data: Data, scales: FloatArray, closed: FloatArray, C: FloatArray, K: FloatArray | None, feedthrough: bool,
    most_products: int = 20_000_000,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """By the responses of all entries of B, D and x₀, at most ``most_products`` numbers.

    most_products : numbers of the matrix of all responses: 160 MB
    """
    n, nu, ny = len(closed), data.nu, data.ny
    unknown = n * nu + (ny * nu if feedthrough else 0)
    most = max(4 * n, most_products // (max(1, unknown + n * data.segments) * ny * data.segments))
    blocks, targets = [], []
    for k, (u, y) in enumerate(zip(data.u, data.y, strict=True)):
        v, z = u[:most] / scales[:nu], y[:most] / scales[nu:]
        if K is not None:
            z = z - march(closed, z[:-1] @ K.T, np.zeros(n)) @ C.T
        M = np.zeros((len(z), ny, unknown + n * data.segments))
        for j in range(nu):
            for s in range(n):
                M[:, :, j * n + s] = march(closed, np.outer(v[:-1, j], np.eye(n)[s]), np.zeros(n)) @ C.T
        if feedthrough:
            for i in range(ny):
                M[:, i, n * nu + i * nu : n * nu + (i + 1) * nu] = v
        M[:, :, unknown + k * n : unknown + (k + 1) * n] = free_motion(closed, C, len(z))
        blocks.append(M.reshape(-1, M.shape[2]))
        targets.append(z.reshape(-1))
    theta = _least_squares(np.vstack(blocks), np.concatenate(targets))
    D = theta[n * nu : unknown].reshape(ny, nu) if feedthrough else np.zeros((ny, nu))
    return theta[: n * nu].reshape(nu, n).T, D
