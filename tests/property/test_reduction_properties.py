"""Reduction of any structure: exact statics, bounds on frequencies, block structure (spec 003, P19, P20, P23).

Structures are graphs of springs on random masses, each held to the ground somewhere, so that K is definite with a
condition number below 1e6; results are then exact to about 1e-10, and BOUND leaves a factor of ten.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.core.errors import DataError, ModelWarning
from dalembert.linear import SecondOrder
from dalembert.structures import (
    condense_dynamic,
    condense_static,
    condense_substructures,
    couple,
    craig_bampton,
    guyan,
    macneal,
    rubin,
    serep,
    truncate_modal,
)

BOUND = 1e-9


@st.composite
def structures(draw: st.DrawFn, *, held: bool = True, sparse: bool | None = None) -> SecondOrder:
    n = draw(st.integers(3, 9))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    K = np.zeros((n, n))
    for i in range(1, n):  # a tree, then more springs
        _spring(K, i, int(random.integers(0, i)), random.uniform(0.5, 5.0))
    for _ in range(n):
        i, j = random.choice(n, 2, replace=False)
        _spring(K, int(i), int(j), random.uniform(0.1, 2.0))
    if held:
        K[0, 0] += 1.0
    system = SecondOrder(np.diag(random.uniform(0.5, 3.0, n)), K, B=random.normal(size=(n, 2)),
                         C=0.02 * K, coordinates=[f"p{i}.x" for i in range(n)])  # fmt: skip
    return system.sparse() if (draw(st.booleans()) if sparse is None else sparse) else system


def _spring(K: np.ndarray, i: int, j: int, k: float) -> None:
    K[[i, j], [i, j]] += k
    K[i, j] -= k
    K[j, i] -= k


def some_masters(system: SecondOrder, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [str(name) for name in random.choice(system.coordinates, int(random.integers(1, system.nq)), replace=False)]


def squares(system: SecondOrder) -> np.ndarray:
    dense = system.dense()
    return np.linalg.eigvals(np.linalg.solve(dense.M, dense.K)).real


def lowest(system: SecondOrder) -> np.ndarray:
    return np.sort(squares(system))


@pytest.mark.spec("003-C68", "003-C69")
@given(system=structures(), seed=st.integers(0, 1000))
def test_static_condensation_is_exact_also_with_loaded_slaves(system: SecondOrder, seed: int) -> None:
    """P19; by one factorization and part by part."""
    masters = some_masters(system, seed)
    load = np.random.default_rng(seed).normal(size=system.nq)
    dense = system.dense()
    exact = np.linalg.solve(dense.K, dense.B @ [1.0, -2.0] + load)
    for condense in (condense_static, condense_substructures):
        reduced = condense(system, masters, loads={"case": load})
        found = reduced.static({"u1": 1.0, "u2": -2.0, "case": 1.0})
        np.testing.assert_allclose(found, exact, rtol=0, atol=BOUND * np.abs(exact).max())


@pytest.mark.spec("003-C70", "003-C71")
@given(system=structures(), seed=st.integers(0, 1000))
def test_component_modes_go_from_guyan_to_exact_and_never_up(system: SecondOrder, seed: int) -> None:
    """P20: k = 0 is Guyan, all modes are exact, each added mode lowers frequencies or leaves them."""
    masters = some_masters(system, seed)
    before = lowest(guyan(system, masters).system)
    exact = lowest(system)
    for k in range(system.nq - len(masters) + 1):
        found = lowest(craig_bampton(system, masters, k).system)
        if k == 0:
            np.testing.assert_allclose(found, before, rtol=BOUND)
        assert (found[: len(before)] <= before * (1 + BOUND)).all()
        assert (found >= exact[: len(found)] * (1 - BOUND)).all()
        before = found
    np.testing.assert_allclose(before, exact, rtol=BOUND)


@pytest.mark.spec("003-C71", "004-C48")
@given(system=structures(), seed=st.integers(0, 1000), k=st.integers(0, 4))
def test_stiffness_of_component_modes_is_block_diagonal(system: SecondOrder, seed: int, k: int) -> None:
    """P23, by the projection itself and not by what the function writes there."""
    masters = some_masters(system, seed)
    reduced = craig_bampton(system, masters, k)
    m = len(masters)
    product = reduced.T.T @ (system.dense().K @ reduced.T)
    size = np.abs(product).max()
    np.testing.assert_allclose(product, reduced.system.K, rtol=0, atol=BOUND * size)
    assert np.abs(reduced.system.K[:m, m:]).max(initial=0.0) == 0.0
    np.testing.assert_allclose(reduced.system.M[m:, m:], np.eye(len(reduced.modal)), rtol=0, atol=BOUND)
    kept = reduced.interior.omega[reduced.interior.kept] ** 2
    np.testing.assert_allclose(np.diag(reduced.system.K)[m:], kept, rtol=BOUND)


@given(system=structures(), seed=st.integers(0, 1000))
def test_serep_is_exact_for_the_kept_modes(system: SecondOrder, seed: int) -> None:
    """Where the masters see the modes: the condition of their rows enters the error, so it must be moderate."""
    masters = some_masters(system, seed)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "SEREP: the masters do not distinguish", ModelWarning)
            reduced = serep(system, masters)
    except DataError as error:
        assert error.code == "ill-conditioned"
        return
    at = [system.coordinates.index(name) for name in masters]
    condition = np.linalg.cond(np.linalg.pinv(reduced.T)[:, at])
    exact = lowest(system)[: len(masters)]
    np.testing.assert_allclose(lowest(reduced.system), exact, rtol=BOUND * max(1.0, condition**2) * 1e2)


@given(system=structures(), seed=st.integers(0, 1000), k=st.integers(1, 2))
def test_rubin_is_exact_in_statics_for_forces_at_the_masters(system: SecondOrder, seed: int, k: int) -> None:
    """To 1e-6: residual flexibilities are accepted down to 1e-10 of the flexibility they are a difference of."""
    masters = some_masters(system, seed)[: system.nq - k]
    at = [system.coordinates.index(name) for name in masters]
    force = np.zeros(system.nq)
    force[at] = np.random.default_rng(seed).normal(size=len(at))
    exact = np.linalg.solve(system.dense().K, force)
    for method in (rubin, macneal):
        try:
            reduced = method(system, masters, k)
        except DataError as error:
            assert "leave no residual flexibility" in str(error)
            return
        found = reduced.expand(np.linalg.solve(reduced.system.K, reduced.reduce(force)))
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


@given(system=structures(held=False), seed=st.integers(0, 1000), k=st.integers(0, 3))
def test_a_floating_structure_keeps_its_rigid_body_motion(system: SecondOrder, seed: int, k: int) -> None:
    """Constraint modes of equal motion of all masters are that motion; K_red does not resist it."""
    reduced = craig_bampton(system, some_masters(system, seed), k)
    m = len(reduced.masters)
    motion = np.r_[np.ones(m), np.zeros(reduced.system.nq - m)]
    np.testing.assert_allclose(reduced.expand(motion), np.ones(system.nq), rtol=0, atol=BOUND)
    np.testing.assert_allclose(reduced.system.K @ motion, 0.0, rtol=0, atol=BOUND * system.K.max())
    assert motion @ reduced.system.M @ motion == pytest.approx(system.M.sum(), rel=BOUND)


@given(system=structures(), seed=st.integers(0, 1000), w=st.floats(0.05, 3.0))
def test_dynamic_condensation_is_exact_at_its_frequency(system: SecondOrder, seed: int, w: float) -> None:
    """To 1e-5: the slaves may be as near to their own resonance as 1e-10 of the stiffness."""
    masters = some_masters(system, seed)
    at = [system.coordinates.index(name) for name in masters]
    dense = system.dense()
    Z = dense.K - w**2 * dense.M
    if min(np.abs(lowest(system) - w**2)) < 1e-2:
        return  # at a resonance
    try:
        reduced = condense_dynamic(system, masters, w)
    except DataError as error:
        assert "resonate" in str(error)
        return
    force = np.zeros(system.nq)
    force[at] = 1.0
    exact = np.linalg.solve(Z, force)
    found = reduced.expand(np.linalg.solve(reduced.system.K - w**2 * reduced.system.M, reduced.reduce(force)))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


@given(system=structures(), k=st.integers(1, 3))
def test_modal_truncation_with_correction_is_exact_in_statics(system: SecondOrder, k: int) -> None:
    reduced = truncate_modal(system, k)
    exact = np.linalg.solve(system.dense().K, system.dense().B @ [1.0, 2.0])
    np.testing.assert_allclose(reduced.static([1.0, 2.0]), exact, rtol=0, atol=BOUND * np.abs(exact).max())
    np.testing.assert_allclose(lowest(reduced.system), lowest(system)[:k], rtol=BOUND)


@pytest.mark.spec("003-C72")
@given(left=structures(sparse=False), right=structures(held=False, sparse=False), seed=st.integers(0, 100))
def test_joining_reduced_parts_with_all_modes_is_joining_the_parts(
    left: SecondOrder, right: SecondOrder, seed: int
) -> None:
    """Parts meet at p0 and p1; the whole of the reduced parts moves as the whole of the full ones."""
    full = couple({"left": left, "right": right}, shared=["p0", "p1"])
    reduced = couple(
        {"left": craig_bampton(left, ["p0", "p1"], None), "right": craig_bampton(right, ["p0", "p1"], None)}
    )
    np.testing.assert_allclose(lowest(reduced.system), lowest(full.system), rtol=BOUND)
    force = np.random.default_rng(seed).normal(size=2)
    at_full = [full.system.coordinates.index(name) for name in ("p0.x", "p1.x")]
    x = np.linalg.solve(full.system.K, _load(full.system.nq, at_full, force))
    y = np.linalg.solve(reduced.system.K, _load(reduced.system.nq, [0, 1], force))
    for name in ("left", "right"):
        np.testing.assert_allclose(
            reduced.part(name, y), full.part(name, x), rtol=0, atol=1e2 * BOUND * np.abs(x).max()
        )


def _load(n: int, at: list[int], values: np.ndarray) -> np.ndarray:
    result = np.zeros(n)
    result[at] = values
    return result
