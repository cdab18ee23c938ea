"""Motion of all links of a tree in world axes about the world's origin: columns of the speeds, twists, accelerations.

With pose R, r of a link, S = (R s, R u + r × R s) is the column of a speed that turns it by s and moves it by u in its
own axes. Twists and spatial accelerations add up along the tree,

    V = V_λ + S w ,      A = A_λ + S ẇ + V_λ × S w + b ,     b = (∂S/∂ξ w) w ,

with gravity as an acceleration of the ground. ∂S/∂ξ is the change of S in the axes of the link, with the coordinates of
its own joint: zero for hinges, slides, screws and balls. With dq = N dξ and ω = s w, u w of the joint

    ∂s/∂ξ_k = (∂s/∂q N)_k ,       ∂u/∂ξ_k = Rᵀ (∂P/∂q N)_k - s_k × u        as  u = Rᵀ P .
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import casadi as ca

from dalembert.expressions import Expr
from dalembert.mechanics.absolute.build_equations import share
from dalembert.mechanics.tree.derivatives.columns import SymmetricMatrices, Triple, fill, inner, lengthen, plus, times
from dalembert.mechanics.tree.derivatives.moving_links import MovingLink, MovingTree, in_space, turn_in_space
from dalembert.mechanics.tree.link_tree import LinkTree

SX = ca.SX
Symbols: TypeAlias = "Mapping[str, Expr]"  # of the functions of a tree, by name


@dataclass(frozen=True)
class WorldMotion:
    """Matrices with a row for every link or speed of a `MovingTree`.

    Of every speed w: S, its column.  V_above, the twist of the link above.  change, the changes of V with it that its
    own joint makes, (S w) × S + Ṡ - E, with those of S in the link; E, own_psi, own_S, what changes with the coordinate
    ξ along it: ∂(S w)/∂ξ, the part of ψ̈ without ẇ, and ∂S/∂ξ of every S (by the speeds of the joint).
    total_mass, of all links beyond.
    Of every link: V, its twist.  bias, Ṡ w with the change of S in the link.  axes by rows, origin, mass; centre, first
    and second moments (xx, xy, xz, yy, yz, zz) of `MovingLink`, the latter less `common` times the unit matrix; idle.
    ground : acceleration of the ground, against gravity.  changing : links whose columns change with their own joint.
    """

    S: Expr
    w: Expr
    V_above: Expr
    change: Expr
    E: Expr
    own_psi: Expr
    own_S: Expr
    total_mass: Expr
    V: Expr
    bias: Expr
    axes: Expr
    origin: Expr
    mass: Expr
    centre: Expr
    first: Expr
    second: Expr
    common: Expr
    idle: Expr
    ground: Expr
    changing: tuple[int, ...]

    @property
    def parts(self) -> list[Expr]:
        """All matrices."""
        return [getattr(self, field.name) for field in fields(self)[:-1]]

    def at(self, parts: Sequence[Expr]) -> WorldMotion:
        """With other values."""
        names = [field.name for field in fields(self)[:-1]]
        return WorldMotion(**dict(zip(names, parts, strict=True)), changing=self.changing)


@dataclass(frozen=True)
class _OwnChange:
    """∂S/∂ξ_k of a joint in the link's axes, (6, n) for every k, with ∂b/∂ξ (6, n)."""

    S: Sequence[Expr]
    bias: Expr


def carry_velocities(tree: LinkTree, moving: MovingTree) -> WorldMotion:
    """Poses and twists, link by link."""
    poses: list[tuple[Expr, Expr]] = []
    twists: list[Expr] = []
    changing: list[int] = []
    rows: dict[str, list[Expr]] = {field.name: [] for field in fields(WorldMotion)[:-1]}
    for one in moving.links:
        link, planar = one.link, one.link.space.planar
        R_above, r_above = poses[one.parent] if one.parent >= 0 else (SX.eye(3), SX(3, 1))
        V_above = twists[one.parent] if one.parent >= 0 else SX(6, 1)
        r = r_above + R_above @ (one.offset + one.E @ in_space(link.motion.p, planar))
        R = ca.sparsify(R_above @ ca.sparsify(one.E @ turn_in_space(link.motion.R, planar)))
        own = ca.vertcat(in_space(link.S, planar), in_space(link.Q, planar))
        S = [to_world(R, r, own[:, k]) for k in range(own.shape[1])]
        w = [link.w[k] for k in range(len(S))]
        V = V_above + _sum(w, S)
        inside = _own_change(tree, one, own)
        if inside is not None:
            changing.append(len(poses))
        _carry_own(rows, R, r, S, w, V, inside)
        poses.append((R, r))
        twists.append(V)
        for name, row in (("V", V.T), ("axes", ca.reshape(R.T, 1, 9)), ("origin", r.T), ("mass", SX(one.mass))):
            rows[name].append(row)
        rows["S"] += [x.T for x in S]
        rows["w"] += w
        rows["V_above"] += [V_above.T] * len(S)
        diagonal = one.second.nnz() == one.second.nnz_diag()
        common = one.second[2, 2] if diagonal else SX(1, 1)
        for name, row in (("centre", one.centre.T), ("first", one.first.T), ("common", common)):
            rows[name].append(row)
        rows["second"].append(_six(ca.sparsify(one.second - common * SX.eye(3))))
        rows["idle"].append(_six(one.idle))
    found = {name: fill(parts) for name, parts in rows.items() if parts and name != "own_S"}
    wide = max(part.shape[1] for part in rows["own_S"])
    own_S = [ca.horzcat(part, SX(1, wide - part.shape[1])) for part in rows["own_S"]]
    found["own_S"] = fill(own_S) if wide else SX(len(own_S), 0)
    found["total_mass"] = add_up(moving, found["mass"])
    found["ground"] = ca.vertcat(SX(3, 1), -in_space(tree.gravity, tree.space.planar)).T
    return WorldMotion(**found, changing=tuple(changing))


def _carry_own(
    rows: dict[str, list[Expr]], R: Expr, r: Expr, S: list[Expr], w: list[Expr], V: Expr, inside: _OwnChange | None
) -> None:
    """Contribution of a joint with several freedoms, or with columns that change."""
    count = len(S)
    others = [[j for j in range(count) if j != k] for k in range(count)]
    change = [cross(_sum([w[j] for j in other], [S[j] for j in other]), S[k]) for k, other in enumerate(others)]
    E = own_psi = [SX(6, 1)] * count
    own_S, bias = [SX(1, 0)] * count, SX(6, 1)
    if inside is not None:
        E = [to_world(R, r, sum((x[:, j] * w[j] for j in range(count)), SX(6, 1))) for x in inside.S]
        at = [[to_world(R, r, x[:, j]) for x in inside.S] for j in range(count)]  # of speed j, with ξ_k
        rate = [_sum(w, x) for x in at]
        bias = _sum(w, rate)
        change = [x - e + y for x, e, y in zip(change, E, rate, strict=True)]
        own_psi = [cross(V, e) + to_world(R, r, inside.bias[:, k]) for k, e in enumerate(E)]
        own_S = [ca.vertcat(*x).T for x in at]
    for name, columns in (("change", change), ("E", E), ("own_psi", own_psi)):
        rows[name] += [x.T for x in columns]
    rows["own_S"] += own_S
    rows["bias"].append(bias.T)


def world_at(tree: LinkTree, moving: MovingTree, at: Symbols) -> WorldMotion:
    world = carry_velocities(tree, moving)
    return world.at(at_symbols(tree, "world_motion", world.parts, at))


def at_symbols(tree: LinkTree, name: str, expressions: Sequence[Expr], at: Symbols) -> Sequence[Expr]:
    """Expressions of the symbols of the tree at these symbols: the same, or those of vectors."""
    if not isinstance(at["q"], ca.MX):
        return expressions
    own = [tree.symbols[key] for key in at]
    return share(name, own, [lengthen(x) for x in expressions]).call(list(at.values()))  # type: ignore[no-any-return]


def rotors_at(tree: LinkTree, moving: MovingTree, at: Symbols) -> Expr | None:
    """Additional inertia of rotors on the speeds of a tree, in its order; None where no joint has a rotor."""
    if not tree.rotors:
        return None
    own = ca.vertcat(*(tree.rotors.get(column, SX(0)) for column in moving.speeds))
    return at_symbols(tree, "rotors", [own], at)[0][: len(moving.speeds)]


def carry_accelerations(moving: MovingTree, world: WorldMotion, turn: Expr, rates: Expr) -> tuple[Expr, Expr, Expr]:
    """A of the links, A_λ of the link above every speed, and the part of ψ̈ from the joint itself.

    turn : V_λ × S of every speed.  rates : derivatives of the speeds.
    """
    found: list[Expr] = []
    above: list[Expr] = []
    own: list[Expr] = []
    for k, one in enumerate(moving.links):
        A = found[one.parent] if one.parent >= 0 else world.ground[0, :]
        first, stop = moving.first_speed[k : k + 2]
        above += [A] * (stop - first)
        for j in range(first, stop):  # of the change of every S with ξ_j
            extra = world.own_psi[j, :]
            at = slice(6 * (j - first), 6 * (j - first) + 6)
            if at.stop <= world.own_S.shape[1]:  # the rows are as wide as the widest joint needs whose S changes
                extra = extra + sum((rates[i] * world.own_S[i, at] for i in range(first, stop)), SX(1, 6))
            own.append(ca.sparsify(extra))
        moved = (rates[j] * world.S[j, :] + world.w[j] * turn[j, :] for j in range(first, stop))
        found.append(A + world.bias[k, :] + sum(moved, SX(1, 6)))
    return fill(found), fill(above), fill(own)


@dataclass(frozen=True)
class WorldInertia:
    """Of every link: mass, first and second moments about the world's origin, idle inertia, and the whole inertia."""

    mass: Expr
    first: Triple
    second: SymmetricMatrices
    idle: SymmetricMatrices
    inertia: SymmetricMatrices


def turn_inertias(world: WorldMotion) -> WorldInertia:
    """Σ = R Σ' Rᵀ + x h'ᵀ + h' xᵀ + m x xᵀ with x of the place that Σ' and h refer to, h' = R h;  J = tr Σ 1 - Σ."""
    R = _rows(world.axes)
    centre, first, origin = (_triple(x) for x in (world.centre, world.first, world.origin))
    x, h = plus(origin, _turn(R, centre)), _turn(R, first)
    moved = plus(times(world.mass, x), h)
    turned = _turn_both(R, SymmetricMatrices(ca.horzsplit(world.second)))
    entries = []
    for (i, j), entry in zip(PAIRS, turned.entries, strict=True):
        total = entry + x[i] * moved[j] + h[i] * x[j]
        entries.append(total + world.common if i == j else total)
    idle = _turn_both(R, SymmetricMatrices(ca.horzsplit(world.idle)))
    trace = entries[0] + entries[3] + entries[5]
    J = [(trace - y if i == j else -y) + z for (i, j), y, z in zip(PAIRS, entries, idle.entries, strict=True)]
    return WorldInertia(world.mass, moved, SymmetricMatrices(entries), idle, SymmetricMatrices(J))


PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _triple(matrix: Expr) -> Triple:
    x, y, z = ca.horzsplit(matrix)
    return x, y, z


def _rows(matrix: Expr) -> tuple[Triple, Triple, Triple]:
    x = ca.horzsplit(matrix)
    return (x[0], x[1], x[2]), (x[3], x[4], x[5]), (x[6], x[7], x[8])


def _turn(R: Sequence[Triple], x: Triple) -> Triple:
    a, b, c = (inner(row, x) for row in R)
    return a, b, c


def _turn_both(R: Sequence[Triple], matrix: SymmetricMatrices) -> SymmetricMatrices:
    """R matrix Rᵀ."""
    turned = [matrix @ row for row in R]  # columns of matrix Rᵀ
    return SymmetricMatrices([inner(R[i], turned[j]) for i, j in PAIRS])


def add_up(moving: MovingTree, rows: Expr) -> Expr:
    """Sums over each link and all links beyond it, a row for every speed."""
    totals = ca.vertsplit(rows)[: len(moving.links)]
    for k in reversed(range(len(moving.links))):
        above = moving.links[k].parent
        if above >= 0:
            totals[above] = totals[above] + totals[k]
    return ca.vertcat(*(totals[k] for k in moving.link_of))


def to_world(R: Expr, r: Expr, column: Expr) -> Expr:
    turn = R @ column[:3]
    return ca.sparsify(ca.vertcat(turn, R @ column[3:] + ca.cross(r, turn)))


def cross(V: Expr, U: Expr) -> Expr:
    """V × U of twists."""
    if not V.nnz() or not U.nnz():
        return SX(6, 1)
    return ca.sparsify(ca.vertcat(ca.cross(V[:3], U[:3]), ca.cross(V[:3], U[3:]) + ca.cross(V[3:], U[:3])))


def _sum(factors: Sequence[Expr], columns: Sequence[Expr]) -> Expr:
    return sum((w * x for w, x in zip(factors, columns, strict=True)), SX(6, 1))


def _own_change(tree: LinkTree, one: MovingLink, own: Expr) -> _OwnChange | None:
    """None where the columns are constant in the link."""
    link, planar = one.link, one.link.space.planar
    columns, count = list(link.columns), len(link.columns)
    N = tree.N[:, columns]
    turn, P, R = in_space(link.S, planar), in_space(link.motion.P, planar), turn_in_space(link.motion.R, planar)

    def along(x: Expr) -> Expr:
        """Of a matrix or column, its change with every ξ, entries below each other."""
        return ca.sparsify(ca.jacobian(ca.vec(ca.densify(x)), tree.q) @ N)

    by_turn, by_P = along(turn), along(P)
    changes = []
    for k in range(count):
        moved = R.T @ ca.reshape(by_P[:, k], 3, count)
        moved = moved - ca.horzcat(*(ca.cross(turn[:, k], own[3:, j]) for j in range(count)))
        changes.append(ca.sparsify(ca.vertcat(ca.reshape(by_turn[:, k], 3, count), moved)))
    if not any(x.nnz() for x in changes):
        return None
    # b = (Σ ∂s_j/∂ξ_k w_j w_k ,  Rᵀ β - ω × u),  β = Σ ∂P_j/∂ξ_k w_j w_k
    w = link.w
    b_turn, beta = (ca.jtimes(ca.densify(x) @ w, tree.q, N @ w) for x in (turn, P))
    by_b, by_beta = along(b_turn), along(beta)
    omega, u = turn @ w, own[3:, :] @ w
    bias = []
    for k in range(count):
        d_omega, d_u = changes[k][:3, :] @ w, changes[k][3:, :] @ w
        moved = R.T @ by_beta[:, k] - ca.cross(turn[:, k], R.T @ beta)
        bias.append(ca.vertcat(by_b[:, k], moved - ca.cross(d_omega, u) - ca.cross(omega, d_u)))
    return _OwnChange(changes, ca.sparsify(ca.horzcat(*bias)))


def _six(matrix: Expr) -> Expr:
    """Entries of a symmetric matrix in a row."""
    return ca.horzcat(*(matrix[i, j] for i, j in PAIRS))
