"""Unknown inputs of linear models along with the state: unbiased, of least variance, and refused where hidden."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.estimate import JointInputKalman, Kalman
from tests.helpers.findings import raises, warns

# S. J. Dyke's frame
M = 98.3 * np.eye(3)
C = np.array([[175.0, -50.0, 0.0], [-50.0, 100.0, -50.0], [0.0, -50.0, 50.0]])
K = 1e5 * np.array([[12.0, -6.84, 0.0], [-6.84, 13.7, -6.84], [0.0, -6.84, 6.84]])
DT, SAMPLES = 1e-3, 4000
TIME = DT * np.arange(SAMPLES)
FORCE = 200.0 * np.sin(3.0 * np.pi * TIME) + 150.0 * (TIME > 2.0)


def frame(*outputs: str) -> da.SecondOrder:
    """Force on floor 1; accelerations a1.. and displacements x1.. as asked for."""
    place, second = np.zeros((len(outputs), 3)), np.zeros((len(outputs), 3))
    for k, name in enumerate(outputs):
        (place if name[0] == "x" else second)[k, int(name[1]) - 1] = 1.0
    return da.SecondOrder(
        M, K, C=C, B=[1.0, 0.0, 0.0], Y_position=place, Y_acceleration=second, inputs="force", outputs=outputs
    )


def played(system: da.SecondOrder, seed: int = 0, noise: bool = True) -> tuple[da.Record, np.ndarray]:
    """Record of the outputs, and the variances of their noise."""
    d = system.state_space().to_discrete(DT)
    x, rows = np.zeros(6), np.empty((SAMPLES, len(d.outputs)))
    for k, force in enumerate(FORCE):
        rows[k] = d.C @ x + d.D[:, 0] * force
        x = d.A @ x + d.B[:, 0] * force
    sigma = np.array([1e-5 if name[0] == "x" else 0.02 for name in d.outputs])
    if noise:
        rows = rows + sigma * np.random.default_rng(seed).standard_normal(rows.shape)
    return da.Record(TIME, rows, d.outputs), sigma**2


def augmented(system: da.SecondOrder) -> da.StateSpace:
    d = system.state_space().to_discrete(DT)
    A = np.block([[d.A, d.B], [np.zeros((1, 6)), np.eye(1)]])
    return da.StateSpace(A, None, np.hstack([d.C, d.D]), dt=DT, states=[*d.states, "force"], outputs=d.outputs)


def test_it_is_the_kalman_filter_of_an_input_with_an_endless_variance() -> None:
    """A random walk of 1e6 N per step instead of infinity changes forces by (σ/1e6)², about 1e-9 of them."""
    system = frame("a1", "a2", "a3", "x3")
    record, R = played(system)
    found = JointInputKalman(system, unknown="force", dt=DT, Q=1e-12, R=R, P0=1e-8).run(record)
    walk = np.diag([1e-12] * 6 + [1e12])
    filter_ = Kalman(augmented(system), Q=walk, R=R, P0=np.diag([1e-8] * 6 + [1e12]))
    other = filter_.run(record)
    for name in ("force", "x1", "x3.rate"):
        scale = np.abs(other[name]).max()
        assert np.abs(found[name] - other[name]).max() < 1e-7 * scale


def test_without_noise_force_and_state_are_exact() -> None:
    system = frame("a1", "a2", "a3", "x3")
    record, R = played(system, noise=False)
    found = JointInputKalman(system, unknown="force", dt=DT, Q=1e-16, R=R, P0=1e-16).run(record)
    assert np.abs(found["force"] - FORCE).max() < 1e-6 * 350.0


def test_one_displacement_takes_the_drift_away() -> None:
    """Known from other filters: some 100 N from accelerations alone, 2 to 3 N with a displacement added."""
    wrong = {}
    for outputs in (("a1", "a2", "a3"), ("a1", "a2", "a3", "x3")):
        system = frame(*outputs)
        record, R = played(system)
        if len(outputs) == 3:
            with warns(UserWarning, "hidden-mode"):
                filter_ = JointInputKalman(system, unknown="force", dt=DT, Q=1e-12, R=R, P0=1e-8)
        else:
            filter_ = JointInputKalman(system, unknown="force", dt=DT, Q=1e-12, R=R, P0=1e-8)
        wrong[len(outputs)] = np.sqrt(np.mean((filter_.run(record)["force"] - FORCE)[500:] ** 2))
    assert wrong[3] > 20.0 and wrong[4] < 4.0


def test_displacements_show_a_force_one_sample_late() -> None:
    """C G in place of H: the estimate at k is that of the force of the interval before."""
    system = frame("x1", "x2", "x3")
    record, _ = played(system, noise=False)
    filter_ = JointInputKalman(system, unknown="force", dt=DT, Q=1e-18, R=1e-18, P0=1e-16)
    assert filter_.delayed
    found = filter_.run(record)["force"]
    assert np.abs(found[100:] - FORCE[99:-1]).max() < 1.0


def test_deviations_hold_the_truth() -> None:
    """Twenty runs: errors of the force at the end over their deviation have a mean square of 1 within 4 √(2/20)."""
    system = frame("a1", "a2", "a3", "x3")
    filter_ = JointInputKalman(system, unknown="force", dt=DT, Q=1e-20, R=played(system)[1], P0=1e-20)
    shares = []
    for seed in range(20):
        found = filter_.run(played(system, seed)[0])
        shares.append((found["force"][-1] - FORCE[-1]) / found.deviation("force")[-1])
    assert 0.1 < np.mean(np.square(shares)) < 1.0 + 4.0 * np.sqrt(0.1)


def test_a_gap_in_the_sensors_is_bridged() -> None:
    system = frame("a1", "a2", "a3", "x3")
    record, R = played(system)
    data = np.array(record.data)
    data[1000:1003, 0] = np.nan
    data[2000] = np.nan
    holed = da.Record(record.time, data, record.names)
    filter_ = JointInputKalman(system, unknown="force", dt=DT, Q=1e-12, R=R, P0=1e-8)
    found = filter_.run(holed)
    assert np.isfinite(found["force"]).all()
    assert found.deviation("force")[2000] > 100.0 * found.deviation("force")[1999]
    whole = filter_.run(record)
    assert np.abs(found["force"][-100:] - whole["force"][-100:]).max() < 1.0


def test_what_cannot_be_distinguished_is_refused() -> None:
    two = da.SecondOrder(M, K, C=C, B=np.eye(3)[:, :2], Y_acceleration=np.eye(3)[:1], inputs=["f1", "f2"], outputs="a1")
    with raises(ModelError, "undetermined-force"):
        JointInputKalman(two, unknown=["f1", "f2"], dt=DT, Q=1e-12, R=1.0, P0=1.0)
    with raises(ModelError, "empty"):
        JointInputKalman(two, unknown=[], dt=DT, Q=1e-12, R=1.0, P0=1.0)
    with raises(ModelError, "unknown-name"):
        JointInputKalman(two, unknown="f3", dt=DT, Q=1e-12, R=1.0, P0=1.0)
    with raises(ModelError, "conflicting-arguments"):
        JointInputKalman(two, unknown="f1", inputs=["f1"], dt=DT, Q=1e-12, R=1.0, P0=1.0)
    with raises(DataError, "wrong-shape", "P0"):
        JointInputKalman(frame("a1", "x3"), unknown="force", dt=DT, Q=1e-12, R=1.0, P0=[1.0, 2.0])
    with raises(ModelError, "wrong-type"):
        JointInputKalman("frame", unknown="f1", dt=DT, Q=1e-12, R=1.0, P0=1.0)


def test_rows_that_the_unknown_inputs_explain_do_not_count_in_the_consistency() -> None:
    system = frame("a1", "a2", "a3", "x3")
    d = system.state_space().to_discrete(DT)
    random = np.random.default_rng(2)
    x, rows = np.zeros(6), np.empty((SAMPLES, 4))
    R = np.array([4e-4, 4e-4, 4e-4, 1e-10])
    for k, force in enumerate(FORCE):
        rows[k] = d.C @ x + d.D[:, 0] * force + np.sqrt(R) * random.standard_normal(4)
        x = d.A @ x + d.B[:, 0] * force + 1e-6 * random.standard_normal(6)
    filter_ = JointInputKalman(system, unknown="force", dt=DT, Q=1e-12, R=R, P0=1e-8)
    found = filter_.run(da.Record(TIME, rows, d.outputs)).consistency(settle=0.5)
    assert found.nis_band[0] < found.nis_mean < found.nis_band[1]


@pytest.mark.parametrize("missing", ["Q", "P0"])
def test_noise_and_start_of_the_state_must_be_said(missing: str) -> None:
    given = {"Q": 1e-12, "P0": 1e-8}
    del given[missing]
    with raises(DataError, "missing-argument", missing):
        JointInputKalman(frame("a1", "x3"), unknown="force", dt=DT, R=1.0, **given)


def test_one_sample_late_it_is_the_filter_of_an_endless_noise_that_enters_with_its_input() -> None:
    """(x, d of the interval before): x⁺ = A x + G d, d white with a variance of 1e7 instead of infinity (sensors show
    d to 1e-2: 1e-9 of it); means, covariances of the state, of the input and between both."""
    rng = np.random.default_rng(2)
    A, G, C = 0.3 * rng.normal(size=(3, 3)), rng.normal(size=(3, 1)), rng.normal(size=(3, 3))
    system = da.StateSpace(A, G, C, dt=0.1, inputs="d", states=["a", "b", "c"], outputs=["p", "q", "r"])
    record = da.Record(0.1 * np.arange(40), rng.normal(size=(40, 3)), ["p", "q", "r"])
    given = {"Q": np.diag([1e-3, 2e-3, 3e-3]), "R": [1e-2, 2e-2, 3e-2], "P0": 0.5}
    filter_ = JointInputKalman(system, unknown="d", dt=0.1, **given)
    assert filter_.delayed
    found = filter_.run(record)
    whole, enters = np.zeros((4, 4)), np.vstack([G, [[1.0]]])
    whole[:3, :3] = A
    late = da.StateSpace(whole, None, np.hstack([C, np.zeros((3, 1))]), dt=0.1, states=["a", "b", "c", "d"],
                         outputs=["p", "q", "r"])  # fmt: skip
    endless = 1e7 * enters @ enters.T
    Q, P0 = np.diag([1e-3, 2e-3, 3e-3, 0.0]) + endless, np.diag([0.5, 0.5, 0.5, 0.0]) + endless
    other = Kalman(late, Q=Q, R=given["R"], P0=P0, form="square-root").run(record)
    for name in ("a", "b", "c", "d"):
        assert found[name] == pytest.approx(other[name], abs=1e-6)
    assert found.covariances()[-1] == pytest.approx(other.covariances()[-1], rel=1e-6, abs=1e-8)


# ---- edges of thresholds


def zeros(*values: complex) -> SimpleNamespace:
    return SimpleNamespace(zeros=lambda: SimpleNamespace(values=np.array(values)))
