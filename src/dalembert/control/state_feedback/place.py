"""Pole placement.

null-space   for each wanted λ the closed-loop vector lies in the null space of [A - λ I, B], φ = V₀ c with c free:
             its upper n entries φ̄ are the eigenvector, its lower ones φ̿ = -K φ̄, so K = -Φ̿ Φ̄⁻¹ (the lower
             block is the numerator). c is chosen so that the angles between the eigenvectors are as large as possible,
             by least ‖Φ̄⁻¹‖ with columns of length 1; then the poles are least sensitive to model errors.
robust       Tits and Yang 1996, as in `scipy.signal.place_poles`, which uses rotations, for poles of
             multiplicity up to the number of independent inputs
one by one   poles of higher multiplicity: Varga's (1981) Schur method, which needs no eigenvectors
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dalembert.control.judge.reach import ModeReach, out_of_reach
from dalembert.control.plant import Driven, Followed, Integrated, Plant, SampleTime, sample
from dalembert.control.state_feedback.state_feedback import Limits, StateFeedback, with_integrals
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import ArgumentKind, Scope, checked, one_of
from dalembert.core.errors import DalembertWarning, DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.text import complex_text as text
from dalembert.core.text import count_noun, list_names


def _read_poles(name: str, value: Any, scope: Scope) -> ComplexArray:
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.complex128)).ravel()
    except (TypeError, ValueError) as error:
        raise DataError("not-a-number", f"{name} must be numbers, got {value!r}: {error}") from None
    if not np.all(np.isfinite(values)):
        raise DataError("not-finite", f"{name} must be finite, got {value!r}.")
    return values


Poles = Annotated[Any, ArgumentKind("numbers, complex ones in conjugate pairs", _read_poles), "wanted poles"]
Placing = Annotated[str, one_of("robust", "null-space"), "method of placement"]


@checked
def place(
    system: Plant,
    poles: Poles,
    *,
    inputs: Driven = None,
    dt: SampleTime | None = None,
    method: Placing = "robust",
    integral: Integrated = None,
    tracking: Followed = None,
    limits: Limits = None,
) -> StateFeedback:
    """State feedback that places the poles of the closed loop.

    Parameters
    ----------
    poles : (nx,) complex, closed under conjugation
        λ [rad/s] of a continuous system, also where ``dt`` samples it (then e^{λ dt} are placed); z of a sampled one.
        One more for each output of ``integral``.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> place(cart, [-1 + 1j, -1 - 1j]).K.round(9).tolist()
    [[2.0, 2.0]]
    """
    sampled, drives, integrals = sample(system, dt), tuple(inputs or ()), tuple(integral or ())
    A, B = with_integrals(sampled, drives, integrals)
    wanted = pair_poles(poles, len(A), sampled.dt if system.dt is None else None)
    states = (*sampled.states, *(f"integral({name})" for name in integrals))
    K = place_gain(A, B, wanted, method, sampled.dt, states, f"reached by {list_names(drives, {})}")
    n = sampled.nx
    return StateFeedback(K[:, :n], sampled, drives, method=f"pole placement ({method})", K_integral=K[:, n:],
                         integral=integrals, tracking=tuple(tracking or ()), limits=limits or {})  # fmt: skip


def pair_poles(values: ComplexArray, n: int, dt: float | None, alike: float = 1e-9) -> ComplexArray:
    """(n,) checked: as many as states, in conjugate pairs; mapped to e^{λ dt} where ``dt`` is given.

    alike : distance, of the largest, of poles that are given with nine digits.
    """
    if len(values) != n:
        raise DataError(
            "wrong-shape", f"{len(values)} poles were given for {count_noun(n, 'state')}; one is needed for each."
        )
    if dt is not None:
        if np.any(np.abs(values.imag) * dt > np.pi):
            fast = values[int(np.argmax(np.abs(values.imag)))]
            raise DataError(
                "out-of-range", f"the pole {text(complex(fast))} is faster than half the sampling rate (dt = {dt:g} s)."
            )
        values = np.exp(values * dt)
    size = max(1e-300, float(np.abs(values).max()))
    values = np.where(np.abs(values.imag) <= alike * size, values.real, values)
    upper, lower = np.sort_complex(values[values.imag > 0]), values[values.imag < 0].conj()
    if len(upper) != len(lower) or farthest(upper, lower) > alike * size:
        raise DataError("not-conjugate", "complex poles must come in conjugate pairs, such as -1+2j and -1-2j.")
    return np.concatenate([np.sort(values[values.imag == 0].real), upper, upper.conj()]).astype(np.complex128)


def place_gain(
    A: FloatArray, B: FloatArray, poles: ComplexArray, method: str, dt: float | None, states: Sequence[str], by: str
) -> FloatArray:
    """K (m, n) with eig(A - B K) = poles; ``by`` is the phrase "reached by u" or "seen by y" of the errors."""
    size = max(float(np.abs(poles).max()), float(np.linalg.norm(A)), 1e-300)
    into, onto, left = out_of_reach(A, B, dt, states)
    fixed = _fixed_poles(left, poles, by, size)
    return np.asarray(_gain(onto @ A @ into, onto @ B, poles[~fixed], method, size) @ onto) if left else _gain(
        A, B, poles, method, size)  # fmt: skip


def _gain(
    A: FloatArray,
    B: FloatArray,
    poles: ComplexArray,
    method: str,
    size: float,
    alike: float = 1e-9,  # distance of poles that count as one, of the size of the system: given with nine digits
    missed: float = 1e-3,  # distance from the wanted poles above which a warning is issued: visible in a plot
    correction: float = 0.01,  # of the gain: SciPy's search ends 1e-7 beside the poles, so its correction is far below
) -> FloatArray:
    if not len(poles):
        return np.zeros((B.shape[1], len(A)))
    rank = int(np.linalg.matrix_rank(B))
    most = max(int(np.count_nonzero(np.abs(poles - pole) <= alike * size)) for pole in poles)
    if method == "null-space":
        if most > rank:
            raise DataError(
                "not-reachable",
                f"a pole is wanted {most} times, but {rank} independent inputs give it only {rank} eigenvectors.",
                Advice("Choose distinct poles, or {}.", Argument("method", "robust")),
            )
        K = null_space_gain(A, B, poles)
    elif most > rank or rank == 1:  # the gain of a single input is unique: no search is needed
        K = one_by_one(A, B, poles)
    else:
        from scipy.signal import place_poles  # slow to import

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about an early end of its optimisation: the gain still places the poles
            K = place_poles(A, B, poles).gain_matrix
        rest = one_by_one(A - B @ K, B, poles)  # its search ends some 1e-7 beside the poles
        K = K + rest if np.linalg.norm(rest) < correction * np.linalg.norm(K) else K
    reached = np.linalg.eigvals(A - B @ K).astype(np.complex128)
    away = farthest(reached, poles) / size
    if away > missed ** (1.0 if most == 1 else 1.0 / most):
        warnings.warn(
            DalembertWarning(
                "not-reachable",
                f"the poles are {away:.1e} (relative) away from the wanted poles: the inputs almost miss some mode, "
                "or the poles are too far from those of the machine.",
                evidence={"distance": away},
            ),
            stacklevel=5,
        )
    return np.asarray(K, dtype=np.float64)


def farthest(found: ComplexArray, wanted: ComplexArray) -> float:
    """Largest distance between poles paired so that the sum of distances is least."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    distance = np.abs(found[:, None] - wanted[None, :])
    i, j = linear_sum_assignment(distance)
    return float(distance[i, j].max(initial=0.0))


def _fixed_poles(
    left: Sequence[ModeReach], poles: ComplexArray, by: str, size: float, same: float = 1e-6
) -> NDArray[np.bool_]:
    """Which wanted poles belong to modes that no input reaches; every such mode must be among them.

    same : distance from its pole, of the size of the system: of a double one rounding leaves √1e-15.
    """
    fixed = np.zeros(len(poles), dtype=bool)
    for mode in left:
        away = np.where(fixed, np.inf, np.abs(poles - mode.eigenvalue))
        if away.min() > same * size:
            raise DataError(
                "not-reachable",
                f"{mode.words()} is not {by}: its pole {text(mode.eigenvalue)} cannot be moved.",
                Advice(
                    "Keep it among the wanted poles, or leave it out of the model ({}).", Call("StateSpace.minimal")
                ),
            )
        fixed[int(away.argmin())] = True
    return fixed


# --- null spaces ------------------------------------------------------------------------------------------------------


def null_space_gain(A: FloatArray, B: FloatArray, poles: ComplexArray, zero: float = 1e-12) -> FloatArray:
    """K by the null spaces of [A - λ I, B], with the largest angles between the eigenvectors.

    zero : singular value of orthonormal columns, to which rounding leaves 1e-16 to 1e-15.
    """
    n = len(A)
    half = poles[poles.imag >= 0.0]
    spaces = []
    for pole in half:
        V0 = scipy.linalg.null_space(np.hstack([A - (pole if pole.imag else pole.real) * np.eye(n), B]))
        # orthonormal bases of the eigenvectors alone: φ̄ = Q c, and φ̿ = P c of least length
        Q, s, Wh = np.linalg.svd(V0[:n], full_matrices=False)
        rank = int(np.count_nonzero(s > zero))
        spaces.append((Q[:, :rank], V0[n:] @ Wh[:rank].conj().T / s[:rank]))
    c = _best_directions([Q for Q, _ in spaces], half)
    upper = np.column_stack([Q @ each for (Q, _), each in zip(spaces, c, strict=True)])
    lower = np.column_stack([P @ each for (_, P), each in zip(spaces, c, strict=True)])
    pairs = half.imag > 0.0
    upper = np.hstack([upper, upper[:, pairs].conj()])
    lower = np.hstack([lower, lower[:, pairs].conj()])
    F = np.linalg.solve(upper.T, lower.T).T
    return -F.real


def _best_directions(spaces: list[Any], poles: ComplexArray) -> list[Any]:
    """c of unit length for each space: least ‖Φ̄⁻¹‖² (Frobenius), pairs counted with their conjugates."""
    sizes = [Q.shape[1] for Q in spaces]
    pairs = poles.imag > 0.0
    rng = np.random.default_rng(0)

    def parts(z: FloatArray) -> list[Any]:
        result, k = [], 0
        for count, pair in zip(sizes, pairs, strict=True):
            c = z[k : k + count].astype(complex)
            k += count
            if pair:
                c = c + 1j * z[k : k + count]
                k += count
            result.append(c / np.linalg.norm(c))
        return result

    length = sum(count * (2 if pair else 1) for count, pair in zip(sizes, pairs, strict=True))

    def cost(z: FloatArray) -> tuple[float, FloatArray]:
        """log ‖Φ̄⁻¹‖² and its gradient by the entries of c, through the normalisation."""
        c = parts(z)
        V = np.column_stack([Q @ each for Q, each in zip(spaces, c, strict=True)])
        whole = np.hstack([V, V[:, pairs].conj()])
        try:
            Y = np.linalg.inv(whole)
        except np.linalg.LinAlgError:
            return float(np.log(np.finfo(float).max)), np.zeros(length)
        J = float(np.linalg.norm(Y) ** 2)
        slope = -2.0 * (Y @ Y.conj().T @ Y).conj().T / J  # dJ = Re Σ conj(slope) dΦ
        gradient, k, place = [], 0, len(poles)
        for i, (Q, each, pair) in enumerate(zip(spaces, c, pairs, strict=True)):
            g = Q.conj().T @ slope[:, i]
            if pair:
                g = g + (Q.T @ slope[:, place]).conj()
                place += 1
            count = len(each)
            raw = z[k : k + count] + 1j * z[k + count : k + 2 * count] if pair else z[k : k + count]
            g = (g - each * (each.conj() @ g).real) / np.linalg.norm(raw)
            gradient += [g.real, g.imag] if pair else [g.real]
            k += count * (2 if pair else 1)
        return float(np.log(J)), np.concatenate(gradient)

    if all(count == 1 for count in sizes):
        return parts(np.ones(length))
    from scipy.optimize import minimize  # slow to import

    best: Any = None
    for _ in range(4):
        found = minimize(cost, rng.normal(size=length), jac=True, method="L-BFGS-B", options={"maxiter": 300})
        best = found if best is None or found.fun < best.fun else best
    return parts(best.x)


# --- one by one -------------------------------------------------------------------------------------------------------


def one_by_one(A: FloatArray, B: FloatArray, poles: ComplexArray) -> FloatArray:
    """K by Varga's Schur method: the last block of the Schur form gets its poles, and is moved to the front."""
    n = len(A)
    T, Z = scipy.linalg.schur(A)
    G = Z.T @ B
    K = np.zeros((B.shape[1], n))
    (trexc,) = scipy.linalg.get_lapack_funcs(("trexc",), (T,))
    real, pairs = list(poles[poles.imag == 0.0].real), list(poles[poles.imag > 0.0])
    done = 0
    while done < n:
        p = 2 if n - done >= 2 and T[n - 1, n - 2] != 0.0 else 1
        if p == 1 and not real:  # a pair is due: the next real pole of the machine joins this one
            start = _next_single(T, done, n - 2)
            T, Z, _ = trexc(T, Z, start + 1, n - 1)
            G = Z.T @ B
            p = 2
        block, b = T[n - p :, n - p :], G[n - p :]
        if p == 1:
            chosen = np.array([real.pop(int(np.argmin(np.abs(np.array(real) - block[0, 0]))))], dtype=complex)
        else:
            chosen = _nearest_two(np.linalg.eigvals(block).astype(np.complex128), real, pairs)
        f = _small_gain(block, b, chosen)
        K = K + f @ Z[:, n - p :].T
        T = T.copy()
        T[:, n - p :] -= G @ f
        T, Z = _standard(T, Z, n - p)
        moved = p
        while moved > 0:  # to the front, behind those already placed
            size = 2 if n >= 2 and T[n - 1, n - 2] != 0.0 else 1
            T, Z, _ = trexc(T, Z, n - size + 1, done + 1)
            moved -= size
            done += size
        G = Z.T @ B
    return K


def _nearest_two(values: ComplexArray, real: list[float], pairs: list[complex]) -> ComplexArray:
    """A pair, or two real poles, the nearer to the two values; removed from its list."""
    upper = values[int(np.argmax(values.imag))]
    near = int(np.argmin([abs(pole - upper) for pole in pairs])) if pairs else -1
    two: Any = np.argsort([abs(pole - upper) for pole in real], kind="stable")[:2] if len(real) >= 2 else []
    away = max(abs(real[k] - upper) for k in two) if len(two) else np.inf
    if pairs and abs(pairs[near] - upper) <= away:
        pole = pairs.pop(near)
        return np.array([pole, pole.conjugate()])
    return np.array([real.pop(int(k)) for k in sorted(two, reverse=True)], dtype=np.complex128)


def _next_single(T: FloatArray, first: int, last: int) -> int:
    """Place of a 1 x 1 block among rows first..last, from the end."""
    i = last
    while i >= first:
        if i > first and T[i, i - 1] != 0.0:
            i -= 2
            continue
        return i
    raise AssertionError("an even number of poles remains, so real ones come in pairs")


def _small_gain(A: FloatArray, b: FloatArray, poles: ComplexArray, second: float = 1e-3) -> FloatArray:
    """f (m, p) with eig(A - b f) = poles, p = 1 or 2, by least effort in its direction.

    second : strength of the second input direction, of the first, below which a pair is placed by the first alone.
    """
    if len(A) == 1:
        return np.asarray(b.T * ((A[0, 0] - poles[0].real) / float(b[0] @ b[0])))
    U, s, Vt = np.linalg.svd(b)
    if len(s) == 2 and s[1] > second * s[0]:
        return np.asarray(np.linalg.pinv(b) @ (A - _fit_block(A, poles)))
    trace, product = float(poles.sum().real), float(np.prod(poles).real)
    A_ = U.T @ A @ U
    # one direction only: tr and det of A_ - [s f₁, s f₂; 0, 0]
    f1 = (A_[0, 0] + A_[1, 1] - trace) / s[0]
    # det = (a11 - s f1) a22 - (a12 - s f2) a21
    f2 = (A_[0, 1] - ((A_[0, 0] - s[0] * f1) * A_[1, 1] - product) / A_[1, 0]) / s[0]
    return np.asarray(np.outer(Vt[0], np.array([f1, f2]) @ U.T))


def _fit_block(A: FloatArray, poles: ComplexArray) -> FloatArray:
    """A matrix (2, 2) with these eigenvalues, as near to the block A of a Schur form as its kind allows."""
    pair, had_pair = bool(poles[0].imag), A[1, 0] != 0.0
    if not pair:
        first, second = sorted(poles.real, key=lambda pole: abs(pole - A[0, 0]))
        return np.array([[first, A[0, 1]], [0.0, second]])
    mean, off = float(poles[0].real), abs(float(poles[0].imag))
    if not had_pair:
        sign = -1.0 if A[0, 1] < 0.0 else 1.0
        return np.array([[mean, sign * off], [-sign * off, mean]])
    stretch = off / np.sqrt(-A[0, 1] * A[1, 0])
    return np.array([[mean, stretch * A[0, 1]], [stretch * A[1, 0], mean]])


def _standard(T: FloatArray, Z: FloatArray, start: int) -> tuple[FloatArray, FloatArray]:
    """The last block brought to standard Schur form again."""
    n = len(T)
    if n - start < 2:
        return np.asfortranarray(T), Z
    small, U = scipy.linalg.schur(T[start:, start:])
    T[:start, start:] = T[:start, start:] @ U
    T[start:, start:] = small
    Z = Z.copy()
    Z[:, start:] = Z[:, start:] @ U
    return np.asfortranarray(T), Z
