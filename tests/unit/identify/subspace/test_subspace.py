"""Subspace identification with inputs: compression, MOESP, N4SID, CVA, noise models, delays, mistakes."""

from __future__ import annotations

import tracemalloc
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
from scipy.optimize import linear_sum_assignment

from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning, cva, moesp, n4sid
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.subspace.hankel_factor import (
    compress_hankel,
    hankel_blocks,
    hankel_products,
    triangularize,
)
from dalembert.identify.subspace.input_matrices import (
    find_input_matrices,
)
from dalembert.identify.subspace.projections import project, split
from dalembert.identify.subspace.subspace import realize
from dalembert.linear import StateSpace
from dalembert.linear.recursions import march
from dalembert.record import Record
from tests.helpers.findings import raises, warns
from tests.helpers.storey_frame import FLOORS, played, pulse, sampled_frame, storey_frame, white

METHODS = [moesp, n4sid, cva]


def poles_apart(found: StateSpace, true: StateSpace) -> float:
    apart = np.abs(np.linalg.eigvals(found.A)[:, None] - np.linalg.eigvals(true.A)[None, :])
    return float(apart[linear_sum_assignment(apart)].max())


def random_data(lengths: tuple[int, ...], nu: int = 2, ny: int = 3) -> Data:
    rng = np.random.default_rng(0)
    return Data(
        tuple(rng.normal(size=(n, nu)) for n in lengths), tuple(rng.normal(size=(n, ny)) for n in lengths), 0.1,
        tuple(f"u{k}" for k in range(nu)), tuple(f"y{k}" for k in range(ny)),
    )  # fmt: skip


def driven_by_noise(process: float, samples: int = 20_000) -> tuple[Record, StateSpace, Any]:
    """The frame with a noise force beside the input and sensor noise of 5 %; and the steady Kalman covariance."""
    frame, rng = sampled_frame(), np.random.default_rng(1)
    u, w = rng.normal(size=(samples, 1)), process * rng.normal(size=(samples, 6)) * np.abs(frame.B).T
    clean = march(frame.A, (u @ frame.B.T + w)[:-1], np.zeros(6)) @ frame.C.T + u @ frame.D.T
    R = np.diag((0.05 * clean.std(axis=0)) ** 2)
    y = clean + rng.normal(size=clean.shape) * np.sqrt(np.diagonal(R))
    S = R
    if process:
        P = scipy.linalg.solve_discrete_are(frame.A.T, frame.C.T, process**2 * np.diag(frame.B[:, 0] ** 2), R)
        S = frame.C @ P @ frame.C.T + R
    return Record(frame.dt * np.arange(samples), np.hstack([u, y]), ["force", *FLOORS]), frame, S


# ---- compression


@pytest.mark.parametrize("length", [20, 23, 59, 200, 1003])
def test_shift_products_are_those_of_the_block_hankel_matrix(length: int) -> None:
    data = random_data((length,))
    (H,) = hankel_blocks(data, 10, np.ones(5), 10**6)
    assert len(H) == length - 9
    assert hankel_products(data.u[0], data.y[0], 10) == pytest.approx(H.T @ H, abs=1e-13 * length)


def test_columns_never_span_two_records() -> None:
    data = random_data((300, 170, 90))
    factor = compress_hankel(data, 5)
    parts = [next(hankel_blocks(random_part, 10, factor.scales, 10**6)) for random_part in (
        data.replace(u=(u,), y=(y,)) for u, y in zip(data.u, data.y))]  # fmt: skip
    H = np.vstack(parts)
    assert factor.columns == len(H)
    assert factor.factor @ factor.factor.T == pytest.approx(H.T @ H / len(H), abs=1e-12)


def test_products_and_reflections_agree_where_the_products_are_sound() -> None:
    data = random_data((3000, 400))
    a, b = compress_hankel(data, 6, how="products"), compress_hankel(data, 6, how="orthogonal")
    assert a.factor @ a.factor.T == pytest.approx(b.factor @ b.factor.T, abs=1e-12)
    assert np.allclose(np.triu(a.standard, 1), 0.0)
    assert compress_hankel(data, 6).how == "products"


def test_noise_free_data_are_compressed_by_reflections_because_products_lose_half_the_digits() -> None:
    frame = sampled_frame()
    quiet = read_data(played(frame, white(2000)), "force", FLOORS)
    assert compress_hankel(quiet, 10).how == "orthogonal"
    # down to where they are trusted the products give the same poles: the error they make is ε / 1e-12 of the noise
    faint = read_data(played(frame, white(2000), noise=1e-5), "force", FLOORS)
    assert compress_hankel(faint, 10).how == "products"
    both = [realize(project(compress_hankel(faint, 10, how=how), "moesp"), 6)[0] for how in ("products", "orthogonal")]
    assert poles_apart(*(StateSpace(A, dt=frame.dt) for A in both)) < 1e-12
    with raises(DataError, "singular-matrix", "how="):
        compress_hankel(quiet, 10, how="products")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_samples() -> None:
    rng = np.random.default_rng(0)
    peaks = []
    for samples in (250_000, 600_000):
        u = rng.normal(size=(samples, 1))
        frame = sampled_frame()
        y = march(frame.A, (u @ frame.B.T)[:-1], np.zeros(6)) @ frame.C.T + rng.normal(size=(samples, 3))
        record = Record(np.arange(samples) / 32.0, np.hstack([u, y]), ["force", *FLOORS])
        data = read_data(record, "force", FLOORS)
        tracemalloc.start()
        moesp(data, order=6)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 1_000_000  # the record has grown by 11 MB


# ---- the methods


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.spec("000-61")
def test_the_noisy_frame_is_found_with_its_modes_and_order(method: Any) -> None:
    frame = sampled_frame()
    record = played(frame, white(4096), noise=0.01)
    found = method(record, "force", FLOORS)
    assert found.order == 6
    true = frame.modes()
    assert found.frequencies_hz == pytest.approx(true.frequencies_hz, rel=5e-4)
    assert found.damping_ratios == pytest.approx(true.damping_ratios, abs=2e-4)
    assert found.fit(record).mean == pytest.approx(99.0, abs=0.05)  # 1 % of noise is left over
    assert np.diagonal(found.underdamped_modes().mac(true)) == pytest.approx(1.0, abs=1e-4)
    assert found.singular_values is not None
    assert any("order 6" in note for note in found.notes)


def test_moesp_poles_are_those_of_slicot() -> None:
    slicot = pytest.importorskip("ctrlsys")
    frame = sampled_frame()
    record = played(frame, white(3000), noise=0.05)
    u, y = np.asfortranarray(record[["force"]]), record[FLOORS]
    y = np.asfortranarray(y / np.sqrt(np.mean(y**2, axis=0)))  # SLICOT does not scale
    _, R, values, _, info = slicot.ib01ad("M", "C", "M", "O", "N", "N", 12, 1, 3, u, y, 0.0, -1.0)
    assert info == 0
    A = slicot.ib01bd("M", "A", "N", 12, 6, 1, 3, len(u), R, 0.0)[0]
    found = moesp(record, "force", FLOORS, order=6, rows=12)
    # both solve the same problem through the same products: rounding times the condition, 1e-16 · 1e3
    assert poles_apart(found.system, StateSpace(A, dt=frame.dt)) < 1e-12
    ours = found.singular_values[:20] * np.sqrt(found.provenance["columns"])
    assert ours / ours[0] == pytest.approx(values[:20] / values[0], rel=1e-9)


def test_the_choice_of_units_does_not_matter() -> None:
    record = played(sampled_frame(), white(2000), noise=0.02)
    other = Record(record.time, record.data * np.array([1e-3, 1e3, 1.0, 1e-2]), record.names)
    a, b = (n4sid(each, "force", FLOORS, order=6) for each in (record, other))
    assert poles_apart(a.system, b.system) < 1e-10
    assert np.allclose(b.system.D, a.system.D * 1e3 * np.array([[1e3], [1.0], [1e-2]]), rtol=1e-6)


def test_a_known_delay_is_taken_out_and_played_back() -> None:
    frame = sampled_frame()
    record = played(frame, white(1500))
    late = np.column_stack([np.roll(record["force"], -4)[:-4], record[FLOORS][:-4]])
    test = Record(record.time[:-4], late, record.names)  # force is written down 4 samples before it acts
    found = moesp(test, "force", FLOORS, order=6, delays={"force": 4})
    assert poles_apart(found.system, frame) < 1e-10
    assert found.system.markov(30) == pytest.approx(frame.markov(30), abs=1e-9)
    assert found.delays == {"force": 4}
    assert found.fit(test.between(start=3.0)).percent.min() > 95.0  # the first four inputs are not in that record


def test_without_feedthrough_d_is_zero() -> None:
    frame = sampled_frame().replace(D=None)
    found = moesp(played(frame, white(800)), "force", FLOORS, order=6, feedthrough=False)
    assert not found.system.D.any()
    assert found.system.markov(30) == pytest.approx(frame.markov(30), abs=1e-10)


@pytest.mark.parametrize("at", [0, 3, 100])
@pytest.mark.parametrize("method", METHODS)
def test_a_single_blow_is_enough_even_at_the_first_sample(method: Any, at: int) -> None:
    # the future inputs do not span their space, and a blow at sample 0 cannot be told from a start
    frame = sampled_frame()
    found = method(played(frame, pulse(at=at)), "force", FLOORS, order=6)
    assert poles_apart(found.system, frame) < 1e-10
    assert found.system.markov(30) == pytest.approx(frame.markov(30), abs=1e-9)
    assert any("at rest" in note for note in found.notes) == (at == 0)
    noisy = method(played(frame, pulse(at=at), noise=0.01), "force", FLOORS, order=6)
    assert noisy.frequencies_hz == pytest.approx(frame.modes().frequencies_hz, rel=5e-4)
    assert np.abs(noisy.system.markov(30) - frame.markov(30)).max() < 0.01 * np.abs(frame.markov(30)).max()


@pytest.mark.parametrize("method", METHODS)
def test_an_unstable_system_under_feedback_noise_keeps_its_pole(method: Any) -> None:
    rng = np.random.default_rng(2)
    u, e = rng.normal(size=(400, 1)), 1e-3 * rng.normal(size=(400, 1))
    growing = StateSpace([[1.02, 0.1], [0.0, 0.7]], [0.1, 1.0], [1.0, 0.5], [0.3], dt=1.0, inputs="u", outputs="y")
    y = march(growing.A, (u @ growing.B.T)[:-1], np.zeros(2)) @ growing.C.T + u @ growing.D.T + e
    found = method(Record(np.arange(400.0), np.hstack([u, y]), ["u", "y"]), "u", "y", order=2)
    assert np.abs(np.linalg.eigvals(found.system.A)).max() == pytest.approx(1.02, abs=1e-4)
    assert any("unstable" in note for note in found.notes)


def test_a_double_pole_is_found_one_response_at_a_time() -> None:
    cart = StateSpace([[0.9, 1.0], [0.0, 0.9]], [0.0, 1.0], [1.0, 0.0], [0.2], dt=1.0, inputs="u", outputs="y")
    u = np.random.default_rng(3).normal(size=(500, 1))
    y = march(cart.A, (u @ cart.B.T)[:-1], np.ones(2)) @ cart.C.T + u @ cart.D.T
    record = Record(np.arange(500.0), np.hstack([u, y]), ["u", "y"])
    found = moesp(record, "u", "y", order=2, rows=6)
    # the last digits tear a double pole far apart; the pulse response is well conditioned
    assert found.system.markov(40) == pytest.approx(cart.markov(40), abs=1e-9)
    B, D, _, _, note = find_input_matrices(
        read_data(record, "u", "y"), np.ones(2), cart.A, cart.C, None, feedthrough=True, exact=True
    )
    assert pytest.approx(cart.B, abs=1e-9) == B and pytest.approx(cart.D, abs=1e-9) == D
    assert "responses of all unknowns" in note


# ---- the noise


def test_sensor_noise_alone_gives_no_gain_and_its_own_covariance() -> None:
    record, frame, S = driven_by_noise(0.0)
    found = moesp(record, "force", FLOORS, order=6)
    assert not found.gain.any()
    # N samples: standard deviation of a variance √(2/N) = 1 %
    assert found.innovation == pytest.approx(S, abs=0.04 * np.diagonal(S).max())
    assert found.residuals(record).is_white()
    assert frame.nx == 6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("process", [0.2, 0.7])
def test_noise_that_drives_the_states_gives_the_kalman_predictor(method: Any, process: float) -> None:
    record, _, S = driven_by_noise(process)
    found = method(record, "force", FLOORS, order=6)
    assert np.abs(np.linalg.eigvals(found.system.A - found.gain @ found.system.C)).max() < 1.0
    left = found.residuals(record)
    # the best predictor leaves S; log det of its sample has standard deviation √(2·3/N) = 0.017
    excess = np.linalg.slogdet(left.covariance)[1] - np.linalg.slogdet(S)[1]
    assert abs(excess) < 0.06
    assert left.is_independent()
    assert found.fit(record, "prediction").mean > found.fit(record).mean


def test_a_gain_that_is_not_stable_is_replaced_by_one_of_the_same_spectrum() -> None:
    from dalembert.identify.subspace.innovation_form import _stabilise_gain

    A, C, S = np.array([[0.5]]), np.array([[1.0]]), np.array([[2.0]])
    K = np.array([[2.5]])  # A - K C = -2: mirrored at the circle to -1/2, S to 4 S
    gain, covariance, note = _stabilise_gain(A, C, K, S)
    assert gain == pytest.approx(np.array([[1.0]]))
    assert covariance == pytest.approx(np.array([[8.0]]))
    assert "Riccati" in note


# ---- mistakes


def test_mistakes_are_refused() -> None:
    record = played(sampled_frame(), white(300), noise=0.01)
    with raises(DataError, "missing-argument", "inputs="):
        moesp(record, (), FLOORS)
    with raises(DataError, "order-too-high", "rows=4"):
        moesp(record, "force", FLOORS, order=6, rows=2)
    with raises(DataError, "not-a-count", "rows"):
        moesp(record, "force", FLOORS, rows=1)
    with raises(DataError, "too-few-samples", "rows="):
        moesp(record, "force", FLOORS, rows=60)
    with raises(DataError, "unknown-name", "'force'"):
        moesp(record, "force", FLOORS, delays={"forces": 1})
    with raises(DataError, "not-a-count", "delay"):
        moesp(record, "force", FLOORS, delays={"force": -1})
    with raises(DataError, "unknown-choice", "how"):
        compress_hankel(random_data((300,)), 5, how="guess")


def test_an_order_beyond_noise_free_data_is_warned_of() -> None:
    record = played(sampled_frame(), white(600))
    with warns(IdentificationWarning, "order-too-high", "6 states", "order=6"):
        moesp(record, "force", FLOORS, order=10)


def test_short_records_get_as_many_rows_as_they_can_fill() -> None:
    frame = sampled_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = moesp(played(frame, white(60)), "force", FLOORS, order=6)
    assert found.provenance["rows"] < 30
    assert poles_apart(found.system, frame) < 1e-9


@pytest.mark.parametrize("method", [n4sid, moesp, cva])
def test_a_coloured_input_costs_no_damping(method: Any) -> None:
    """A plain oblique projection divides by what the future inputs leave of the past: 28 % off the first damping."""
    b, a = scipy.signal.butter(4, 0.5)
    force = scipy.signal.lfilter(b, a, white(), axis=0) + 1e-3 * white(seed=99)
    found = method(played(sampled_frame(), force, noise=0.01), "force", FLOORS, order=6)
    np.testing.assert_allclose(found.damping_ratios, storey_frame().modes().damping_ratios, rtol=0.02)


@pytest.mark.parametrize("method", [n4sid, moesp, cva])
def test_a_periodic_sweep_of_a_real_arm_is_fitted(method: Any) -> None:
    from dalembert.studies.identification.robot_arm import record

    arm = record()
    assert method(arm, "torque", "acceleration", order=4).fit(arm).mean > 90.0


def test_two_state_sequences_free_of_the_future_inputs_give_the_shift_of_the_observability_matrix() -> None:
    """The robust N4SID written out: X_i = Γ⁺ O_i, X_{i+1} = Γ₋⁺ O_{i+1}, regressed on X_i and all future inputs."""
    data, order = read_data(played(sampled_frame(), white(), noise=0.1), "force", FLOORS), 6
    projection = project(compress_hankel(data, 12), "n4sid")
    hankel, i = projection.hankel, 12
    gamma = projection.observability(order).reshape(-1, order)

    def oblique(past: int) -> np.ndarray:
        rows = np.concatenate([hankel.places("u", 0, past), hankel.places("y", 0, past)])
        ahead, last = hankel.places("u", past, 2 * i), hankel.places("y", past, 2 * i)
        L = triangularize(hankel.factor[np.concatenate([ahead, rows, last])])
        here = slice(len(ahead), len(ahead) + len(rows))
        return np.linalg.solve(L[here, here].T, L[here.stop :, here].T).T @ hankel.factor[rows]

    now, then = np.linalg.pinv(gamma) @ oblique(i), np.linalg.pinv(gamma[: -data.ny]) @ oblique(i + 1)
    given = np.vstack([now, hankel.factor[hankel.places("u", i, 2 * i)]])
    made = np.vstack([then, hankel.factor[hankel.places("y", i, i + 1)]])
    both = np.linalg.lstsq(given.T, made.T, rcond=None)[0].T[:, :order]
    A, C, *_ = realize(projection, order)
    np.testing.assert_allclose(both[:order], A, atol=1e-9)
    np.testing.assert_allclose(both[order:], C, atol=1e-9)


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_data_are_compressed_by_products_down_to_a_pivot(factor: float) -> None:
    """Two outputs that differ by little: the weakest pivot is proportional to the difference."""
    rng = np.random.default_rng(0)
    u, y, e = rng.standard_normal((3, 2000, 1))

    def data(size: float) -> Data:
        return Data((u,), (np.hstack([y, y + size * e]),), 0.1, ("u",), ("y1", "y2"))

    pivot = compress_hankel(data(1e-4), 3, how="products").weakest / 1e-4
    how = compress_hankel(data(factor * 1e-06 / pivot), 3).how
    assert how == ("products" if factor > 1.0 else "orthogonal")


# ---- the numbers themselves


@pytest.mark.parametrize(("size", "share"), [(1e-4, 0.0), (2e-6, 0.5), (1e-8, 1.0)])
def test_inputs_below_a_resolution_of_2e_6_fade_out(size: float, share: float) -> None:
    """An output that follows the second input keeps all of this motion where no instrument could know that input."""
    L = np.eye(8)
    L[1, 1], L[6, 1] = size, 1.0
    hankel: Any = SimpleNamespace(standard=L, rows=2, nu=1, ny=1)
    assert np.linalg.norm(np.hstack(split(hankel))[0]) ** 2 == pytest.approx(1.0 + share, rel=1e-3)
