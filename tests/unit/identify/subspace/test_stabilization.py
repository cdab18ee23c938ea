"""Stabilization diagram, clusters of poles, choice of the order."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import Tolerances, moesp, stabilization
from dalembert.identify.records.data import read_data
from dalembert.identify.subspace.hankel_factor import compress_hankel
from dalembert.identify.subspace.projections import project, shift_invariance
from dalembert.identify.subspace.stabilization import (
    STABLE,
    _compare,
    choose_order,
    find_poles,
)
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record
from tests.helpers.checks import matched
from tests.helpers.findings import raises
from tests.helpers.storey_frame import FLOORS, played, sampled_frame, white


def chain(masses: int = 12) -> StateSpace:
    """Masses 1 kg between springs of 1e4 N/m, two forces, accelerations of every other mass, 100 Hz."""
    K = 1e4 * (2.0 * np.eye(masses) - np.eye(masses, k=1) - np.eye(masses, k=-1))
    B = np.zeros((masses, 2))
    B[0, 0] = B[5, 1] = 1.0
    system = SecondOrder(np.eye(masses), K, C=0.05 * np.eye(masses) + 1e-4 * K, B=B, Y_acceleration=np.eye(masses)[::2])
    return system.state_space().to_discrete(0.01)


def noisy(system: StateSpace, samples: int, noise: float, seed: int = 0) -> Record:
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(samples, system.nu))
    y = march(system.A, (u @ system.B.T)[:-1], np.zeros(system.nx)) @ system.C.T + u @ system.D.T
    y = y + noise * y.std(axis=0) * rng.normal(size=y.shape)
    return Record(system.dt * np.arange(samples), np.hstack([u, y]), [*system.inputs, *system.outputs])


def test_the_modes_of_the_frame_are_the_only_ones_that_stay() -> None:
    frame = sampled_frame()
    found = stabilization(played(frame, white(4096), noise=0.02), "force", FLOORS)
    true = frame.modes()
    assert len(found.modes) == 3
    assert found.frequency_means == pytest.approx(true.frequencies_hz, rel=2e-3)
    assert found.damping_means == pytest.approx(true.damping_ratios, rel=0.1)
    assert np.diagonal(found.modes.mac(true)) == pytest.approx(1.0, abs=1e-3)
    assert (found.counts >= 10).all()
    for k in (1, 2, 3):
        assert (found.labels[found.clusters == k] == STABLE).mean() > 0.7
        assert len(set(found.orders[found.clusters == k])) == found.counts[k - 1]  # one pole per order
    assert "3 modes" in repr(found)
    assert "spread" in found.table()


def test_every_mode_of_a_chain_is_found_and_no_pole_between_two_of_them() -> None:
    system = chain()
    found = stabilization(noisy(system, 20_000, 0.02), system.inputs, system.outputs, orders=range(2, 61, 2))
    assert found.frequency_means == pytest.approx(system.modes().frequencies_hz, rel=2e-3)


def test_one_factorisation_gives_the_poles_of_every_order() -> None:
    data = read_data(played(sampled_frame(), white(1000), noise=0.05), "force", FLOORS)
    projection = project(compress_hankel(data, 12), "moesp")
    poles = find_poles(projection, [4, 6, 9], data.dt, Tolerances())
    for order in (4, 6, 9):
        z = np.linalg.eigvals(shift_invariance(projection.observability(order))[0])
        s = np.log(z[z.imag >= 0].astype(complex)) / data.dt
        assert matched(poles.s[poles.order == order], s) == pytest.approx(s, rel=1e-9)


def test_poles_of_the_first_order_are_new() -> None:
    found = stabilization(played(sampled_frame(), white(2000), noise=0.02), "force", FLOORS, orders=[4, 6, 8, 10])
    assert not found.labels[found.orders == 4].any()
    assert found.labels.max() == STABLE
    assert found.label_names[STABLE] == "stable"


@pytest.mark.parametrize("method", ["ssi_data", "ssi_cov"])
def test_ambient_records_have_a_diagram_too(method: str) -> None:
    frame, rng = sampled_frame(), np.random.default_rng(0)
    y = march(frame.A, rng.normal(size=(19_999, 6)) * 0.03, np.zeros(6)) @ frame.C.T
    record = Record(np.arange(20_000) / 32.0, y + 0.05 * y.std(axis=0) * rng.normal(size=y.shape), FLOORS)
    found = stabilization(record, method=method)
    assert found.method == method
    assert found.frequency_means == pytest.approx(frame.modes().frequencies_hz, rel=0.02)


def test_the_three_criteria_are_named() -> None:
    data = read_data(played(sampled_frame(), white(4096), noise=0.02), "force", FLOORS)
    for method in ("moesp", "n4sid", "cva"):
        choice = choose_order(project(compress_hankel(data, 20), method))
        assert (choice.order, choice.information) == (6, 6)
        assert choice.criterion[6] == choice.criterion.min()
        for word in ("gap of the singular values", "information criterion", "poles that are stable"):
            assert word in repr(choice)


def test_the_gap_decides_alone_where_data_are_noise_free() -> None:
    data = read_data(played(sampled_frame(), white(1000)), "force", FLOORS)
    choice = choose_order(project(compress_hankel(data, 10), "moesp"))
    assert choice.order == 6
    assert "noise-free" in choice.explanation


def test_a_diagram_of_noise_free_data_has_no_modes_of_rounding() -> None:
    frame = sampled_frame()
    found = stabilization(played(frame, white(1000)), "force", FLOORS)
    assert found.frequency_means == pytest.approx(frame.modes().frequencies_hz, rel=1e-4)
    # whatever the order, no pole but those of the frame: rounding has none
    assert found.orders.max() > 20 and (found.clusters[found.orders > 6] > 0).all()


def test_a_real_pole_counts_as_one_state() -> None:
    motor = StateSpace([[0.9]], [1.0], [1.0], dt=0.1, inputs="volts", outputs="speed")
    found = moesp(noisy(motor, 4000, 0.05), "volts", "speed")
    assert found.order == 1
    assert found.system.A[0, 0] == pytest.approx(0.9, abs=2e-3)


def test_white_noise_has_no_modes() -> None:
    rng = np.random.default_rng(0)
    record = Record(np.arange(5000) * 0.1, rng.normal(size=(5000, 3)), FLOORS)
    found = stabilization(record, rows=10)
    assert len(found.modes) == 0
    assert "no modes" in repr(found)


def test_impossible_questions_are_answered_in_words() -> None:
    record = played(sampled_frame(), white(500), noise=0.02)
    with raises(DataError, "unknown-choice", "moesp, n4sid, cva"):
        stabilization(record, "force", FLOORS, method="ssi_cov")
    with raises(DataError, "unknown-choice", "ssi_data, ssi_cov"):
        stabilization(record.select(*FLOORS), method="moesp")
    with raises(DataError, "order-too-high", "12", "40", "rows="):
        stabilization(record, "force", FLOORS, rows=5, orders=range(2, 41, 2))
    with raises(DataError, "not-a-count", "orders"):
        stabilization(record, "force", FLOORS, orders=[0, 2])


# ---- the numbers themselves


def pole(hertz: float, zeta: float) -> np.ndarray:
    return 2.0 * np.pi * hertz * np.array([-zeta + 1j * np.sqrt(1.0 - zeta**2)])


@pytest.mark.parametrize(
    ("hertz", "zeta", "mac", "label"),
    [
        (1.0099, 0.01, 1.0, STABLE),
        (1.0101, 0.01, 1.0, 0),  # 1 % in frequency
        (1.0, 0.010495, 1.0, STABLE),
        (1.0, 0.010505, 1.0, 1),  # 5 % in damping
        (1.0, 0.01, 0.981, STABLE),
        (1.0, 0.01, 0.979, 2),  # 2 % in shape
    ],
)
def test_a_pole_stays_within_1_per_cent_in_frequency_5_in_damping_and_2_in_shape(
    hertz: float, zeta: float, mac: float, label: int
) -> None:
    own, last = np.array([[1.0, 0.0]], complex), np.array([[np.sqrt(mac), np.sqrt(1.0 - mac)]], complex)
    assert _compare(pole(hertz, zeta), own, pole(1.0, 0.01), last, Tolerances())[0].tolist() == [label]
