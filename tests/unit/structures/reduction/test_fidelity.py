"""How well modes are kept: frequency error, NCO, MAC."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder
from dalembert.structures import correlate, craig_bampton, guyan
from tests.helpers.chains import chain
from tests.helpers.findings import raises


@pytest.mark.spec("004-C53")
def test_pairs_are_found_by_shape_and_not_by_number():
    """Of the interior modes only the third is kept: reduced modes stand for other full modes than their numbers say."""
    system = chain()
    reduced = craig_bampton(system, "p6", [3])
    report = reduced.fidelity(6)
    full = system.modes()
    assert report.partners[0] == 1
    assert report.partners.tolist() != list(range(1, 7))
    shapes = reduced.T @ reduced.system.modes().shapes
    for i in range(6):
        u = full.shapes[:, i]
        nco = [(u @ system.M @ v) ** 2 / (u @ system.M @ u) / (v @ system.M @ v) for v in shapes.T]
        mac = [(u @ v) ** 2 / (u @ u) / (v @ v) for v in shapes.T]
        j = int(np.argmax(nco))
        assert report.partners[i] == j + 1
        assert report.nco[i] == pytest.approx(nco[j], abs=1e-12)
        assert report.mac[i] == pytest.approx(mac[j], abs=1e-12)
        error = 100 * abs(full.frequencies[i] - reduced.system.modes().frequencies[j]) / full.frequencies[i]
        assert report.frequency_errors[i] == pytest.approx(error, rel=1e-9)


@pytest.mark.spec("004-C53")
def test_an_exact_reduction_has_no_error_and_all_nco_one():
    report = craig_bampton(chain(), "p6", None).fidelity()
    np.testing.assert_allclose(report.frequency_errors, 0.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(report.nco, 1.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(report.nco_matrix, np.eye(6), rtol=0, atol=1e-10)
    assert report.good().all()
    assert "NCO" in repr(report)


@pytest.mark.spec("004-C53")
def test_repeated_frequencies_are_judged_by_their_common_space():
    """A square membrane has pairs of equal frequencies; any two shapes of the pair are as good."""
    one = 2 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1)
    K = np.kron(one, np.eye(4)) + np.kron(np.eye(4), one)
    system = SecondOrder(np.eye(16), K)
    report = craig_bampton(system, ["x1", "x7"], None).fidelity(16)
    np.testing.assert_allclose(report.nco, 1.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(report.mac, 1.0, rtol=0, atol=1e-9)
    assert sorted(report.partners.tolist()) == list(range(1, 17))


def test_fidelity_takes_modes_that_are_known():
    system = chain()
    reduced = guyan(system, ["p2", "p6"])
    a, b = reduced.fidelity(2), reduced.fidelity(2, modes=system.modes())
    np.testing.assert_allclose(a.nco, b.nco, rtol=1e-10)
    with raises(DataError, "wrong-owner"):
        reduced.fidelity(modes=reduced.system.modes())
    with raises(DataError, "not-a-count", "1"):
        reduced.fidelity(0)


@pytest.mark.spec("004-C47")
def test_correlation_of_measured_and_computed_modes():
    """Frequency error |w - wb|/w·100, MAC with squared norms, its matrix and the averages, by the formulas."""
    random = np.random.default_rng(5)
    measured = Modes(1j * np.array([2.0, 3.0, 7.0]), random.normal(size=(5, 3)))
    first, second, third = measured.shapes.T
    shapes = np.column_stack([second, first + 0.05, random.normal(size=5), -3 * third])
    computed = Modes(1j * np.array([2.2, 2.9, 6.0, 9.0]), shapes)
    report = correlate(measured, computed)
    assert report.partners.tolist() == [2, 1, 4]
    np.testing.assert_allclose(report.frequency_errors, [45.0, 100 * 0.8 / 3.0, 100 * 2 / 7], rtol=1e-12)
    assert report.mac[1] == pytest.approx(1.0) and report.mac[2] == pytest.approx(1.0)
    a, b = measured.shapes[:, 0], computed.shapes[:, 1]
    assert report.mac[0] == pytest.approx((a @ b) ** 2 / ((a @ a) * (b @ b)))
    np.testing.assert_allclose(report.mac_matrix, measured.mac(computed))
    assert report.average_mac == pytest.approx(report.mac.mean())
    assert report.average_frequency_error == pytest.approx(report.frequency_errors.mean())
    assert np.isnan(report.nco).all()


@pytest.mark.spec("004-C47", "004-C53")
def test_with_a_mass_matrix_pairs_are_by_nco_and_scale_does_not_matter():
    M = np.diag([1.0, 100.0])
    reference = Modes([1j, 2j], [[1.0, 1.0], [0.1, -0.1]])
    model = Modes([1j, 2j], [[5.0, 0.0], [0.0, 7.0]])
    report = correlate(reference, model, mass=M)
    np.testing.assert_allclose(report.nco_matrix, [[0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(report.mac_matrix, [[1 / 1.01, 0.01 / 1.01]] * 2)
    with raises(DataError, "wrong-shape"):
        correlate(reference, model, mass=np.eye(3))


# ---- measured modes


def at(modes: Modes, names: list[str]) -> Modes:
    """Modes at some of their coordinates."""
    rows = [modes.coordinates.index(name) for name in names]
    return Modes(modes.eigenvalues, modes.shapes[rows], names)


def test_measured_modes_at_fewer_coordinates_are_compared_with_those_of_the_model():
    full = chain().modes()
    measured = at(full, ["p5.x", "p2.x"]).select([1, 2, 3])
    report = correlate(measured, full)
    assert report.coordinates == ("p5.x", "p2.x")
    assert report.partners.tolist() == [1, 2, 3]
    np.testing.assert_allclose(report.mac, 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(report.comac, 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(report.frequency_errors, 0.0, rtol=0, atol=1e-12)
    assert correlate(full, measured).coordinates == ("p2.x", "p5.x")  # in the order of the first


def test_frequencies_decide_between_modes_that_look_alike_at_few_places():
    """At two coordinates a mode of the double frequency has the same shape; the nearer one is the partner."""
    model = Modes([1j, 2j, 1.02j], [[1, 1, 1], [1, 1, -1], [1, -1, 1]], ["a", "b", "c"])
    assert correlate(Modes([1.9j], [[1.0], [1.0]], ["a", "b"]), model).partners.tolist() == [2]
    assert correlate(Modes([1.1j], [[1.0], [1.0]], ["a", "b"]), model).partners.tolist() == [1]


def test_names_of_the_sensors_and_their_signs_are_mapped():
    full = chain().modes()
    measured = Modes(full.eigenvalues[:2], full.shapes[[1, 4], :2] * [[-1], [1]], ["s1", "s2"])
    report = correlate(measured, full, coordinates={"s1": "-p2.x", "s2": "p5.x"})
    np.testing.assert_allclose(report.mac, 1.0, rtol=0, atol=1e-12)
    assert correlate(measured, full, coordinates={"s2": "p5.x"}).coordinates == ("s2",)
    with raises(DataError, "unknown-name", "s1", "coordinates="):
        correlate(measured, full)
    with raises(DataError, "unknown-name", "p9.x"):
        correlate(measured, full, coordinates={"s1": "p9.x"})
    with raises(DataError, "unknown-name", "s9"):
        correlate(measured, full, coordinates={"s9": "p1.x"})


def test_a_measured_mode_without_a_partner_is_shown():
    model = Modes([1j], [[1.0], [0.0], [0.5]], ["a", "b", "c"])
    report = correlate(Modes([1.1j, 5j], [[1.0, 0.0], [0.0, 1.0]], ["a", "b"]), model)
    assert report.partners.tolist() == [1, 0] and report.mac[1] == 0.0
    assert np.isnan(report.partner_frequencies[1]) and np.isfinite(report.average_frequency_error)
    assert report.table().splitlines()[2].split()[2:5] == ["-", "-", "-"]


def test_comac_is_small_where_a_sensor_is_wrong():
    """COMAC of Lieven and Ewins by hand: one sensor of three measures half of its motion in one of two modes."""
    u = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.5]])
    v = u.copy()
    v[2, 0] = 0.5
    report = correlate(Modes([1j, 2j], u, list("abc")), Modes([1j, 2j], v, list("abc")))
    p, q = u / np.linalg.norm(u, axis=0), v / np.linalg.norm(v, axis=0)
    wanted = [(np.abs(p[i] * q[i]).sum()) ** 2 / ((p[i] ** 2).sum() * (q[i] ** 2).sum()) for i in range(3)]
    np.testing.assert_allclose(report.comac, wanted, rtol=1e-14)
    assert report.comac.argmin() == 2
