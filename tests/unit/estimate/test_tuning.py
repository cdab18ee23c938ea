"""Tuning of Q and R: every kind of filter finds the variances the data were made with; progress, speed, mistakes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, Interrupted
from dalembert.estimate import ExtendedKalman, Kalman, SigmaPointKalman, SphericalSimplex, UserModel, process, tune
from dalembert.estimate.judge import tuning
from dalembert.linear import StateSpace
from dalembert.record import Record
from tests.helpers.findings import raises

DT, TRUE_Q, TRUE_R = 0.05, 4e-3, 2.5e-3


def pendulum() -> UserModel:
    return UserModel(
        lambda x, u: [x[1], -9.81 * da.sin(x[0]) - 0.1 * x[1] + u[0]], lambda x: [x[0]],
        states=["angle", "speed"], inputs=["torque"], outputs=["encoder"], start=[0.5, 0.0],
    )  # fmt: skip


@lru_cache(maxsize=4)
def swung(count: int = 1200) -> Record:
    """A driven pendulum with kicks of variance TRUE_Q in its speed, read with noise of variance TRUE_R."""
    rng, step = np.random.default_rng(7), process(pendulum()).functions["step"]
    time = DT * np.arange(count)
    u, x, rows = 2 * np.sin(2.5 * time), np.array([0.5, 0.0]), []
    for k in range(count):
        rows.append([u[k], x[0] + np.sqrt(TRUE_R) * rng.standard_normal()])
        kick = np.array([0.0, np.sqrt(TRUE_Q) * rng.standard_normal()])
        x = np.array(step(x, u[k], [], 0.0, DT)).ravel() + kick
    return Record(time, rows, ["torque", "encoder"])


@pytest.mark.spec("004-C9")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (ExtendedKalman, {}), (ExtendedKalman, {"iterations": 2}), (SigmaPointKalman, {}),
        (SigmaPointKalman, {"points": SphericalSimplex(0.3), "square_root": True}),
    ],
)  # fmt: skip
def test_nonlinear_filters_find_the_variances_the_data_were_made_with(kind: Any, options: Any) -> None:
    given = {"Q": {"speed": 1.0}, "R": 1e-5, "P0": 1e-2, "dt": DT, **options}
    found = tune(kind(pendulum(), **given), swung())
    # 1200 samples tell a variance of the noise to √(2/1200) = 4 %, through a filter a few times worse
    assert found.variances == pytest.approx({"Q.speed": TRUE_Q, "R.encoder": TRUE_R}, rel=0.2)
    assert found.at_bound == () and found.after < found.before
    assert found.filter.run(swung()).consistency(settle=2.0).consistent


@pytest.mark.spec("004-C9")
def test_the_forms_of_the_kalman_filter_find_them_too_and_all_the_same() -> None:
    rng = np.random.default_rng(3)
    cart = StateSpace([[1.0, DT], [0.0, 1.0]], None, [[1.0, 0.0]], states=["place", "speed"], outputs="seen", dt=DT)
    x, seen = np.zeros(2), []
    for _ in range(1500):
        seen.append(x[0] + np.sqrt(TRUE_R) * rng.standard_normal())
        x = cart.A @ x + [0.0, np.sqrt(TRUE_Q) * rng.standard_normal()]
    record = Record.from_channels(DT * np.arange(1500), {"seen": seen})
    first, *others = (
        tune(Kalman(cart, Q={"speed": 1.0}, R=1.0, P0=1e-2, form=form), record).variances
        for form in ("covariance", "square-root", "information")
    )
    assert first == pytest.approx({"Q.speed": TRUE_Q, "R.seen": TRUE_R}, rel=0.2)
    for other in others:  # one optimum, sharper than what it tells of the truth
        assert other == pytest.approx(first, rel=1e-5)


def test_the_optimum_does_not_move_with_the_first_guess() -> None:
    record = swung(600)
    low, high = (
        tune(ExtendedKalman(pendulum(), Q={"speed": q}, R=r, P0=1e-2, dt=DT), record).variances
        for q, r in ((1e-6, 1e-1), (1e2, 1e-6))
    )
    assert low == pytest.approx(high, rel=1e-4)


def test_missing_samples_are_no_hindrance() -> None:
    record = swung()
    data = np.array(record.data)
    data[np.arange(len(record)) % 3 != 0, 1] = np.nan
    ekf = ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT)
    found = tune(ekf, Record(record.time, data, record.names))
    assert found.variances == pytest.approx({"Q.speed": TRUE_Q, "R.encoder": TRUE_R}, rel=0.35)


def test_long_work_goes_over_to_c_and_hands_back_the_filter_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    ukf = SigmaPointKalman(pendulum(), Q={"speed": 1e-2}, R=1e-2, P0=1e-2, dt=DT)
    ukf.native.chunk()
    plain = tune(ukf, swung(300))
    asked = []
    monkeypatch.setattr(tuning, "PAYS", 0.0)
    monkeypatch.setattr(type(ukf), "in_c", lambda self: asked.append(self) or self)
    again = tune(ukf, swung(300))
    assert asked == [ukf] and again.variances == plain.variances
    assert not again.filter.compiled and again.filter.native is ukf.native


def test_a_filter_goes_over_to_c_only_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.estimate.engine import filter as filtering

    ekf = ExtendedKalman(pendulum(), Q={"speed": 1e-2}, R=1e-2, P0=1e-2, dt=DT)
    assert ekf.in_c().compiled and not ekf.compiled
    monkeypatch.setattr(filtering, "compiler", lambda: None)
    assert ekf.in_c() is ekf


def test_progress_grows_and_an_interruption_says_how_far_it_came() -> None:
    seen: list[float] = []
    tune(ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT), swung(300), progress=seen.append)
    assert len(seen) > 10 and seen == sorted(seen) and seen[0] > 0 and seen[-1] <= 1

    def stop(fraction: float) -> None:
        if fraction > 0.3:
            raise KeyboardInterrupt

    with raises(Interrupted, "interrupted"):
        tune(ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT), swung(300), progress=stop)


def test_a_record_too_short_to_tell_a_variance_is_refused() -> None:
    ekf = ExtendedKalman(pendulum(), Q={"speed": 1.0}, R=1.0, P0=1e-2, dt=DT)
    with raises(DataError, "too-few-samples"):
        tune(ekf, swung(3))


def test_a_full_matrix_is_scaled_alike_in_every_form() -> None:
    """One factor for all of Q: variances by it, their square roots by its root; square-root filters find the same."""
    rng = np.random.default_rng(4)
    Q = TRUE_Q * np.array([[0.3, 0.2], [0.2, 1.0]])
    cart = StateSpace([[1.0, DT], [0.0, 1.0]], None, [[1.0, 0.0]], states=["place", "speed"], outputs="seen", dt=DT)
    x, rows, root = np.zeros(2), [], np.linalg.cholesky(Q)
    for _ in range(600):
        rows.append(x[0] + np.sqrt(TRUE_R) * rng.standard_normal())
        x = cart.A @ x + root @ rng.standard_normal(2)
    record = Record(DT * np.arange(600), np.array(rows)[:, None], ["seen"])
    found = [
        tune(Kalman(cart, Q=30.0 * Q, R=TRUE_R, P0=1.0, form=form), record).variances
        for form in ("covariance", "square-root")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    (scale,) = [value for name, value in found[0].items() if name.startswith("Q")]
    assert 0.5 < 30.0 * scale < 2.0
