"""Static condensation and substructuring, and slaves that nothing holds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder
from dalembert.structures import condense_static, condense_substructures, find_substructures, guyan
from dalembert.structures.assembly import stiffness_factor as f
from tests.helpers.chains import ALL, chain
from tests.helpers.findings import raises

# ---- static condensation


@pytest.mark.spec("003-C68")
def test_loaded_slaves_reach_the_masters_and_come_back():
    """fc = f1 - K12 K22⁻¹ f2 and q2 = -K22⁻¹ K21 q1 + K22⁻¹ f2, by the formulas as printed."""
    system = chain()
    load = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.0])
    reduced = condense_static(system, ["p2", "p5"], loads={"case": load})
    first, second = [1, 4], [0, 2, 3, 5]
    K12, K22 = system.K[np.ix_(first, second)], system.K[np.ix_(second, second)]
    expected = load[first] - K12 @ np.linalg.solve(K22, load[second])
    np.testing.assert_allclose(reduced.system.B[:, 0], expected, rtol=0, atol=1e-14)
    q1 = np.linalg.solve(reduced.system.K, expected)
    x = reduced.expand(q1, inputs={"case": 1.0})
    np.testing.assert_allclose(x[second], np.linalg.solve(K22, load[second] - K12.T @ q1), rtol=0, atol=1e-14)
    np.testing.assert_allclose(x, np.linalg.solve(system.K, load), rtol=0, atol=1e-13)


@pytest.mark.spec("003-C68")
def test_outputs_of_loaded_slaves_are_exact_in_statics():
    system = chain(B=[0, 0, 1, 0, 0, 0], Y_position=[[0, 0, 1, 0, 0, 0]])
    small = condense_static(system, "p6").system
    exact = np.linalg.solve(system.K, system.B)[2, 0]
    found = small.Y_position @ np.linalg.solve(small.K, small.B) + small.D
    assert found[0, 0] == pytest.approx(exact, rel=1e-14)


@pytest.mark.spec("003-C68")
def test_massless_slaves_are_exact_in_dynamics_also_with_circulatory_forces():
    """Frequencies, growth and response are those of the full system, which has a singular mass matrix."""
    n = 5
    M = np.diag([1.0, 0.0, 2.0, 0.0, 1.0])
    H = np.zeros((n, n))
    H[0, 1], H[1, 0], H[1, 2], H[2, 1] = 0.3, -0.3, -0.2, 0.2
    for H_ in (None, H):
        system = SecondOrder(M, chain(n).K, H=H_, B=np.eye(n)[:, [1, 4]])
        for given in (system, system.sparse()):
            reduced = condense_static(given, ["x1", "x3", "x5"])
            s = 0.7j
            exact = np.linalg.solve(s**2 * system.M + system.K_full, system.B)
            small = reduced.system
            x = np.linalg.solve(s**2 * small.M + small.K_full, small.B)
            np.testing.assert_allclose(reduced.T @ x + reduced.residual, exact, rtol=0, atol=1e-13)


def test_circulatory_forces_on_slaves_with_mass_are_refused():
    H = np.zeros((6, 6))
    H[2, 3], H[3, 2] = 0.1, -0.1
    with raises(DataError, "circulatory-forces"):
        condense_static(chain(H=H), ["p1"])
    with raises(DataError, "circulatory-forces"):
        condense_substructures(chain(H=H), ["p1"])
    assert guyan(chain(H=H), ["p1", "p3", "p4"]).system.H[1, 2] == pytest.approx(0.1)


def test_a_velocity_that_would_need_the_rate_of_an_input_is_refused():
    system = chain(B=[0, 0, 1, 0, 0, 0], Y_velocity=[[0, 0, 1, 0, 0, 0]], outputs="speed")
    with raises(DataError, "needs-derivative", "'speed'"):
        condense_static(system, "p6")
    assert guyan(system, "p6").system.outputs == ("speed",)


def test_loads_are_checked():
    with raises(DataError, "wrong-shape", "'case'", "(2,)", "(6,)"):
        condense_static(chain(), "p1", loads={"case": [1.0, 2.0]})
    with raises(DataError, "unknown-name", "'p9'"):
        condense_static(chain(), "p1", loads={"case": {"p9": 1.0}})
    with raises(DataError, "unknown-name", "'other'"):
        condense_static(chain(), "p1", loads={"case": {"p2": 1.0}}).static({"other": 1.0})


@pytest.mark.spec("003-C69")
def test_substructuring_is_the_sum_over_parts_as_printed():
    """Kc = K00 - Σ K0i Kii⁻¹ Ki0, fc = f0 - Σ K0i Kii⁻¹ f_i, with parts given or found."""
    system = chain(7)
    load = np.arange(1.0, 8.0)
    assert find_substructures(system, ["p3", "p5"]) == (("p1.x", "p2.x"), ("p4.x",), ("p6.x", "p7.x"))
    frame, parts = [2, 4], [[0, 1], [3], [5, 6]]
    K, f = system.K[np.ix_(frame, frame)].copy(), load[frame].copy()
    for inside in parts:
        K0i, Kii = system.K[np.ix_(frame, inside)], system.K[np.ix_(inside, inside)]
        K -= K0i @ np.linalg.solve(Kii, K0i.T)
        f -= K0i @ np.linalg.solve(Kii, load[inside])
    groups = {"a": ["p1", "p2"], "b": ["p4"], "c": ["p6", "p7"]}
    for given in (None, groups, list(groups.values())):
        reduced = condense_substructures(system, ["p3", "p5"], given, loads={"case": load})
        np.testing.assert_allclose(reduced.system.K, K, rtol=0, atol=1e-14)
        np.testing.assert_allclose(reduced.system.B[:, 0], f, rtol=0, atol=1e-14)
        np.testing.assert_allclose(reduced.static({"case": 1.0}), np.linalg.solve(system.K, load), rtol=1e-12)


@pytest.mark.spec("003-C69")
def test_parts_that_touch_each_other_are_refused():
    with raises(DataError, "coupled-parts"):
        condense_substructures(chain(5), ["p3"], {"a": ["p1"], "b": ["p2"], "c": ["p4", "p5"]})
    with raises(DataError, "missing-coordinates"):
        condense_substructures(chain(5), ["p3"], {"a": ["p1", "p2"], "c": ["p4"]})
    with raises(DataError, "duplicate", "'p3.x'", "'a'"):
        condense_substructures(chain(5), ["p3"], {"a": ["p1", "p2", "p3"], "c": ["p4", "p5"]})
    with raises(DataError, "duplicate", "'p2.x'", "'c'", "'a'"):
        condense_substructures(chain(5), ["p3"], {"a": ["p1", "p2"], "c": ["p2", "p4", "p5"]})


# ---- mechanisms of the slaves


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["guyan", "static", "irs", "craig_bampton"])
def test_slaves_free_with_the_masters_held_are_named(name: str, sparse: bool):
    """Two chains, one of them free: a master on the held one leaves the other to move."""
    K = np.zeros((6, 6))
    K[:3, :3], K[3:, 3:] = chain(3).K, chain(3, held=False).K
    system = SecondOrder(np.eye(6), scipy.sparse.csc_array(K) if sparse else K,
                         coordinates=["a.x", "b.x", "c.x", "d.x", "e.x", "f.x"])  # fmt: skip
    with raises(DataError, "singular-matrix", "1") as error:
        ALL[name](system, "a")
    assert "b.x" not in str(error.value)
    assert ALL[name](system, ["a", "e"]).system.nq >= 2


@pytest.mark.parametrize("sparse", [False, True])
def test_slaves_without_any_stiffness_are_named(sparse: bool):
    K = np.diag([1.0, 0.0, 1.0, 0.0])
    system = SecondOrder(np.eye(4), scipy.sparse.csc_array(K) if sparse else K)
    with raises(DataError, "singular-matrix", "2"):
        guyan(system, "x1")


def test_a_soft_but_sound_slender_structure_is_not_taken_for_a_mechanism():
    """A cantilever of 600 beam elements: its softest motion costs 1e-11 of the forces in it, and is held."""
    n, h = 600, 1.0
    k = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4, -6 * h, 2], [-12, -6 * h, 12, -6 * h], [6 * h, 2, -6 * h, 4]])
    rows, columns, values = [], [], []
    for e in range(n):
        at = np.arange(2 * e, 2 * e + 4)
        rows.append(np.repeat(at, 4)), columns.append(np.tile(at, 4)), values.append(k.ravel())
    K = scipy.sparse.coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))).tocsc()
    K = K[4:, 4:]  # clamped at point 0; point 1 is the master
    assert f.StiffnessFactor(K).free_motions().shape[1] == 0
    free = f.StiffnessFactor(scipy.sparse.csc_array(scipy.sparse.coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))))).free_motions()  # fmt: skip
    assert free.shape[1] == 2
