"""The Kalman-Bucy filter over an interval, exactly, as an expression: `kalman_bucy` where matrices are not numbers.

    x̂̇ = A x̂ + f + P Cᵀ R⁻¹ (y - C x̂) ,     Ṗ = A P + P Aᵀ - P S P + Q ,     S = Cᵀ R⁻¹ C ,   Cᵀ R⁻¹ y = r + s τ

The exponential of the Hamiltonian matrix of a short interval is its Padé approximant (7, 7), solved for what leaves the
interval (x at its end, λ at its start): this is the element (Ψ, N, J, b, η) at once. The interval is as short as the
norm of the balanced matrix requires, and doubled until it is whole; the number of doublings is chosen at run time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from dalembert.estimate.algebra.covariance_factors import factor, solve_positive, solve_square
from dalembert.expressions import Expr

SX, MX = ca.SX, ca.MX
PADE = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
SWEEPS = 3  # of balancing


def sweep(x: Expr, P: Expr, linear: tuple[Any, ...], h: Expr) -> tuple[Expr, Expr]:
    """x̂ and P after h seconds.

    linear : A, Q, S (n, n), f, r, s (n,); r + s τ is Cᵀ R⁻¹ y, τ from the start on.
    """
    Psi, N, J, b, eta = element_function(int(P.shape[0]))(*linear, h)
    L = ca.densify(factor(P))
    W = ca.mtimes(L, _inside(L, J))
    after = ca.mtimes(ca.mtimes(Psi, W), Psi.T) + N
    return Psi @ (x + W @ (eta - J @ x)) + b, after


def _inside(L: Expr, J: Expr) -> Expr:
    """(I + Lᵀ J L)⁻¹ Lᵀ: L times this is (I + P J)⁻¹ P for P = L Lᵀ, symmetric and definite by construction."""
    inner = ca.DM.eye(L.shape[0]) + ca.mtimes(L.T, ca.mtimes(J, L))
    return solve_positive(factor(inner), L.T)


@lru_cache(maxsize=32)
def element_function(n: int, short: float = 0.9, doublings: int = 32) -> ca.Function:
    """(A, Q, S, f, r, s, h) -> Ψ, N, J, b, η of an interval of h seconds.

    short : norm up to which this approximant is exact to rounding (Higham, 2005: 0.95).
    doublings : at most; intervals up to 4e9 times as long as the fastest rate are exact, longer ones still stable.
    """
    A, Q, S = (MX.sym(name, n, n) for name in "AQS")
    f, r, s, h = MX.sym("f", n), MX.sym("r", n), MX.sym("s", n), MX.sym("h")
    hamiltonian = ca.vertcat(ca.horzcat(A, Q), ca.horzcat(S, -A.T))
    scale, norm = balance_function(2 * n)(hamiltonian)
    count = ca.fmin(ca.fmax(ca.ceil(ca.log(ca.fmax(norm * h / short, 1e-300)) / np.log(2.0)), 0), doublings)
    first = h / 2**count
    signals = ca.vertcat(ca.horzcat(f, MX(n, 1)), ca.horzcat(-r, -s))
    parts = [ca.densify(part) for part in _short(hamiltonian, signals, scale, first, n)]
    doubled = doublings_function(n, 0, doublings)(count, *parts, first)
    Psi, N, J, b, eta = doubled[:5]
    return ca.Function(f"element{n}", [A, Q, S, f, r, s, h], [Psi, N, J, b[:, 0], eta[:, 0]])


def _short(hamiltonian: Expr, signals: Expr, scale: Expr, h: Expr, n: int) -> tuple[Any, ...]:
    """Element of a short interval; b and η act on (1, τ) at its start."""
    size = 2 * n
    turned = ca.diag(1 / scale) @ hamiltonian @ ca.diag(scale)
    clock = ca.DM([[0.0, 0.0], [1.0, 0.0]])
    top = ca.horzcat(h * turned, h * (ca.diag(1 / scale) @ signals))
    M = ca.densify(ca.vertcat(top, ca.horzcat(MX(2, size), h * clock)))
    M2 = ca.mtimes(M, M)
    M4 = ca.mtimes(M2, M2)
    M6 = ca.mtimes(M4, M2)
    I = ca.DM.eye(size + 2)  # noqa: E741
    odd = ca.mtimes(M, PADE[7] * M6 + PADE[5] * M4 + PADE[3] * M2 + PADE[1] * I)
    even = PADE[6] * M6 + PADE[4] * M4 + PADE[2] * M2 + PADE[0] * I
    right, denominator = even[:size, :] + odd[:size, :], even[:size, :] - odd[:size, :]
    later = ca.vertcat(ca.horzcat(1, 0), ca.horzcat(h, 1))
    leaving = ca.horzcat(denominator[:, :n], -right[:, n:size])
    entering = ca.horzcat(right[:, :n], -denominator[:, n:size], right[:, size:] - denominator[:, size:] @ later)
    solution = solve_square(leaving, entering)
    Tx, Tl = scale[:n], scale[n:]
    Psi = ca.diag(Tx) @ solution[:n, :n] @ ca.diag(1 / Tx)
    N = ca.diag(Tx) @ solution[:n, n:size] @ ca.diag(1 / Tl)
    J = -ca.diag(Tl) @ solution[n:, :n] @ ca.diag(1 / Tx)
    return Psi, (N + N.T) / 2, (J + J.T) / 2, ca.diag(Tx) @ solution[:n, size:], ca.diag(Tl) @ solution[n:, size:]


@lru_cache(maxsize=32)
def balance_function(size: int) -> ca.Function:
    """(H) -> diagonal T, and the largest column sum of |T⁻¹ H T|: rows and columns made alike (Osborne)."""
    H = SX.sym("H", size, size)
    B = [[ca.fabs(H[i, j]) for j in range(size)] for i in range(size)]
    scale = [SX(1)] * size
    for _ in range(SWEEPS):
        for i in range(size):
            others = [j for j in range(size) if j != i]
            row, column = sum((B[i][j] for j in others), SX(0)), sum((B[j][i] for j in others), SX(0))
            alone = ca.logic_or(row == 0, column == 0)
            ratio = ca.sqrt((row + alone) / (column + alone)) * (1 - alone) + alone
            scale[i] = scale[i] * ratio
            for j in others:
                B[i][j], B[j][i] = B[i][j] / ratio, B[j][i] * ratio
    norms = [sum((B[i][j] for i in range(size)), SX(0)) for j in range(size)]
    return ca.Function(f"balance{size}", [H], [ca.vertcat(*scale), ca.mmax(ca.vertcat(*norms))])


@lru_cache(maxsize=32)
def doubled_function(n: int) -> ca.Function:
    """(Ψ, N, J, b, η, h) -> of twice the interval: this one, and the same from τ + h on."""
    Psi, N, J = (MX.sym(name, n, n) for name in ("Psi", "N", "J"))
    b, eta, h = MX.sym("b", n, 2), MX.sym("eta", n, 2), MX.sym("h")
    later = ca.vertcat(ca.horzcat(1, 0), ca.horzcat(h, 1))
    L = ca.densify(factor(N))
    W = ca.mtimes(L, _inside(L, J))  # (I + N J)⁻¹ N
    through = Psi - ca.mtimes(W, ca.mtimes(J, Psi))  # (I + N J)⁻¹ Ψ
    push = eta @ later - J @ b
    pull = W @ push
    N1 = N + ca.mtimes(ca.mtimes(Psi, W), Psi.T)
    J1 = J + ca.mtimes(Psi.T, ca.mtimes(J, through))
    out = [ca.mtimes(Psi, through), (N1 + N1.T) / 2, (J1 + J1.T) / 2, Psi @ (b + pull) + b @ later,
           Psi.T @ (push - J @ pull) + eta, 2 * h]  # fmt: skip
    return ca.Function(f"doubled{n}", [Psi, N, J, b, eta, h], [ca.densify(v) for v in out])


@lru_cache(maxsize=1024)
def doublings_function(n: int, done: int, most: int) -> ca.Function:
    """(count, Ψ, N, J, b, η, h) -> the same after count - `done` doublings; none is computed that is not wanted."""
    double = doubled_function(n)
    count = MX.sym("count")
    parts = [MX.sym(double.name_in(k), *double.size_in(k)) for k in range(double.n_in())]
    if done == most:
        return ca.Function(f"doublings{n}x{done}", [count, *parts], parts)
    further = doublings_function(n, done + 1, most).call([count, *double.call(parts)])
    do = ca.Function(f"do{n}x{done}", [count, *parts], further)
    leave = ca.Function(f"leave{n}x{done}", [count, *parts], parts)
    perhaps = ca.Function.if_else(f"perhaps{n}x{done}", do, leave)
    return ca.Function(f"doublings{n}x{done}", [count, *parts], perhaps.call([count > done, count, *parts]))
