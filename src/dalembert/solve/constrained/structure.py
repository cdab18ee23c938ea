"""What holds of the rows and masses of a machine at every pose: independent rows, directions without mass."""

from __future__ import annotations

import numpy as np

from dalembert.equations import HOLONOMIC, EquationsOfMotion
from dalembert.solve.constrained.constraint_factor import Massless
from dalembert.solve.constrained.mass_factor import diagonal_blocks
from dalembert.solve.constrained.matrices import NO_MASS

CLEAR_RANK = 1e-3  # smallest singular value, at poses off the joints too, of rows of unit length that stay independent


def mass_is_singular(eqs: EquationsOfMotion) -> bool:
    """Whether M, at the drawing's pose and the present parameters, lacks rank."""
    return massless_directions(eqs) is not None


def massless_directions(eqs: EquationsOfMotion) -> Massless | None:
    """The directions in which M, at the drawing's pose and the present parameters, has no mass.

    Of a block of M that depends on the pose or on parameters all coordinates are taken: its null space may turn.
    """

    def find() -> Massless | None:
        kernel = eqs.kernel("inertia")
        pattern = kernel.function.sparsity_out(0)
        M = kernel.sparse(0, eqs.state().q, eqs.p, 0.0)
        largest = float(abs(M).max()) if M.nnz else 0.0
        diagonal = M.diagonal()
        changing: set[int] | None = None
        directions: list[tuple[tuple[int, float], ...]] = []
        inertia: list[float] = []
        exact: list[bool] = []
        for index in diagonal_blocks(pattern):
            block = M[index, :][:, index].toarray() if len(index) > 1 else diagonal[index].reshape(1, 1)
            values, vectors = np.linalg.eigh(block) if len(index) > 1 else (block[0], np.eye(1))
            zero = values <= NO_MASS * float(np.abs(block).max())
            if not zero.any():
                continue
            changing = _changing_columns(eqs) if changing is None else changing
            fixed = changing.isdisjoint(index)
            vectors = vectors[:, zero] if fixed else np.eye(len(index))
            directions += [tuple((k, float(x)) for k, x in zip(index, e, strict=True) if x) for e in vectors.T]
            inertia += [float(values.sum()) if values.sum() > 0 else largest or 1.0] * vectors.shape[1]
            exact += [fixed] * vectors.shape[1]
        return Massless(tuple(directions), tuple(inertia), tuple(exact)) if directions else None

    return eqs.cache("massless directions", find)  # type: ignore[no-any-return]


def _changing_columns(eqs: EquationsOfMotion) -> set[int]:
    """Columns of M that depend on the pose, on parameters or on time."""
    function, size = eqs.functions["inertia"], eqs.nv
    return {k // size for i in range(3) for k in function.jac_sparsity(0, i).row()}


def independent_rows(eqs: EquationsOfMotion) -> list[int]:
    """Rows that are independent at every pose: joints of branches without loops, from the tips inwards.

    A body held by one joint alone, whose rows have full rank on the body's own speeds, adds independent rows to those
    of the rest. The rank is that of a few poses around the drawing; a joint of given axes has the same at every pose.
    """
    return eqs.cache("independent rows", lambda: _peel_branches(eqs))  # type: ignore[no-any-return]


def _peel_branches(eqs: EquationsOfMotion) -> list[int]:
    owners = eqs.speeds.owners
    touched: dict[str, set[str]] = {}  # joint, driver, ... -> bodies
    pattern = eqs.functions["rows"].sparsity_out(0)
    for i, j in zip(pattern.row(), pattern.get_col(), strict=True):
        touched.setdefault(eqs.rows[i].owner, set()).add(owners[j])
    holding: dict[str, set[str]] = {}
    for owner, bodies in touched.items():
        for body in bodies:
            holding.setdefault(body, set()).add(owner)
    ranked = _full_rank_joints(eqs, owners)
    branches: list[int] = []
    tips = [body for body, joints in holding.items() if len(joints) == 1]
    while tips:
        body = tips.pop()
        for owner in list(holding[body]):
            if (owner, body) not in ranked:
                continue
            branches += ranked[owner, body]
            for other in touched[owner]:
                holding[other].discard(owner)
                if len(holding[other]) == 1 and other != body:
                    tips.append(other)
    return sorted(branches)


def _full_rank_joints(eqs: EquationsOfMotion, owners: tuple[str, ...]) -> dict[tuple[str, str], tuple[int, ...]]:
    """(joint, body) -> rows of the joint, where they have full rank on the speeds of the body."""
    columns: dict[str, list[int]] = {}
    for k, owner in enumerate(owners):
        columns.setdefault(owner, []).append(k)
    blocks: dict[tuple[int, int], list[tuple[str, str, tuple[int, ...]]]] = {}
    for joint in eqs.joints:
        for body in joint.bodies:
            own = columns.get(body, ())
            if 0 < len(joint.rows) <= len(own) and all(eqs.rows[k].level == HOLONOMIC for k in joint.rows):
                blocks.setdefault((len(joint.rows), len(own)), []).append((joint.name, body, joint.rows))
    if not blocks:
        return {}
    random = np.random.default_rng(0)
    poses = []
    for spread in (0.0, 0.1, 0.3):
        q = eqs.sample_pose(random, spread)
        A = eqs.kernel("rows").sparse(0, q, np.zeros(eqs.nv), np.zeros(eqs.nz), np.zeros(eqs.nu), eqs.p, 0.0)
        poses.append(A.tocsr())
    result: dict[tuple[str, str], tuple[int, ...]] = {}
    for group in blocks.values():
        smallest = np.full(len(group), np.inf)
        for A in poses:
            i = np.array([rows for _, _, rows in group])
            j = np.array([columns[body] for _, body, _ in group])
            shape = (len(group), i.shape[1], j.shape[1])
            places = (np.broadcast_to(x, shape).ravel() for x in (i[:, :, None], j[:, None, :]))
            parts = np.asarray(A[tuple(places)]).reshape(shape)
            lengths = np.sqrt((parts**2).sum(axis=2, keepdims=True))
            parts = np.nan_to_num(parts / np.where(lengths > 0, lengths, 1.0))
            smallest = np.minimum(smallest, np.linalg.svd(parts, compute_uv=False)[:, -1])
        result |= {(name, body): rows for (name, body, rows), s in zip(group, smallest, strict=True) if s > CLEAR_RANK}
    return result


def rows_of_cut_joints(eqs: EquationsOfMotion) -> list[tuple[int, ...]]:
    """Rows of each joint that closes a loop of a tree; none where rows close every joint.

    In joint coordinates a single row of such a joint may vanish at a dead point; all of them together do not.
    """
    return [joint.rows for joint in eqs.joints if joint.rows] if any(not joint.rows for joint in eqs.joints) else []
