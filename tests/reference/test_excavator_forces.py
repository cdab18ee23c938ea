"""Forces on an excavator arm (spec 004, C22, C27, C31, T4); sizes are assumed, the source gives none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.studies.estimation import excavator as study


@pytest.fixture(scope="module")
def scene() -> study.Dig:
    return study.simulate_dig()


@pytest.fixture(scope="module")
def first(scene: study.Dig) -> da.estimate.ExtendedKalman:
    return study.motion_filter(scene)


def model(kind: str = "band") -> da.estimate.ForceModel:
    return study.force_filter(kind).process.source


def torques(q: np.ndarray, v: np.ndarray, a: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Joint torques of C31 by Lagrange's equations of three uniform rods, written out with complex steps.

    Relative angles; F = (F_x, F_z) at the tip and W, the weight at the payload's place.
    """
    absolute = np.cumsum(q)

    def points(angles: np.ndarray) -> list[np.ndarray]:
        """Pivots and tip for complex relative angles."""
        found, at = [], np.zeros(2, dtype=complex)
        for length, angle in zip(study.LENGTHS, np.cumsum(angles), strict=True):
            found.append(at)
            at = at + length * np.array([np.cos(angle), np.sin(angle)])
        return [*found, at]

    def jacobian(place) -> np.ndarray:
        columns = []
        for k in range(3):
            moved = q.astype(complex)
            moved[k] += 1e-30j
            columns.append(place(moved).imag / 1e-30)
        return np.array(columns).T

    def centre(i: int, share: float):
        return lambda angles: (1 - share) * points(angles)[i] + share * points(angles)[i + 1]

    def bias(i: int, share: float) -> np.ndarray:
        """J̇ v: every link turns at its own rate about its pivot."""
        lengths = np.append(study.LENGTHS[:i], share * study.LENGTHS[i])
        size = -lengths * np.cumsum(v)[: i + 1] ** 2
        return np.array([size @ np.cos(absolute[: i + 1]), size @ np.sin(absolute[: i + 1])])

    total = np.zeros(3)
    spins = np.tril(np.ones((3, 3)))
    for i, (mass, length) in enumerate(zip(study.MASSES, study.LENGTHS, strict=True)):
        J = jacobian(centre(i, 0.5))
        total += J.T @ (mass * (J @ a + bias(i, 0.5) + [0.0, 9.81]))
        total += mass * length**2 / 12 * spins[i] * (spins[i] @ a)
    tip, hung = jacobian(centre(2, 1.0)), jacobian(centre(2, study.PAYLOAD_AT))
    return total - tip.T @ F[:2] - hung.T @ [0.0, -F[2]]


@pytest.mark.spec("004-C31", "004-C22", "004-T4")
def test_forces_put_in_come_out_of_the_balance() -> None:
    """(i) round trip to 1e-10 of the largest force, against torques that Lagrange's equations give."""
    rng = np.random.default_rng(3)
    found_model = model()
    for _ in range(5):
        q = np.array([0.6, -1.3, 0.3]) + 0.2 * rng.normal(size=3)
        v, a = rng.normal(size=3), rng.normal(size=3)
        F = rng.normal(size=3) * 1e4
        cylinders = torques(q, v, a, F) / study.LEVERS
        motion = da.Record([0.0, 1.0], np.tile(np.concatenate([q, v, a]), (2, 1)), found_model.motion.names)
        measured = da.Record([0.0, 1.0], np.tile(cylinders, (2, 1)), study.CYLINDERS)
        found = found_model.algebraic(motion, measured)
        assert [found[name][0] for name in study.UNKNOWN] == pytest.approx(F, abs=1e-10 * 4e4)


@pytest.mark.spec("004-T4", "004-C31")
def test_inverse_dynamics_and_the_balance_agree_to_rounding(scene: study.Dig) -> None:
    found = model().algebraic(scene.truth, scene.truth)
    for name in study.UNKNOWN:
        assert np.abs(found[name] - scene.forces[name]).max() < 1e-10 * 4e4  # of the largest force


@pytest.mark.spec("004-C27", "004-T4")
def test_digging_forces_come_with_little_delay_and_less_noise_than_by_a_random_walk(
    scene: study.Dig, first: da.estimate.ExtendedKalman
) -> None:
    """(ii) later by less than 1/(2π 10 Hz) = 16 ms at 0.5 Hz; (v) the 10 Hz model is the quieter one."""
    band, walk = (da.estimate.TwoStage(first, study.force_filter(kind)).run(scene.sensors) for kind in ("band", "walk"))
    for name in ("dig.x", "dig.z"):
        assert abs(study.delay(scene, band, name)) < 0.016
        quick = [np.std(np.diff(found[name])[400:]) for found in (band, walk)]
        assert quick[0] < 0.8 * quick[1]
        assert study.errors(scene, band)[name] < study.errors(scene, walk)[name] < 4e3


def noisy(scene: study.Dig, size: float, seed: int) -> da.Record:
    """The sensors with new noise of the cylinders, ``size`` times that of the study."""
    rng = np.random.default_rng(seed)
    data = np.array(scene.sensors.data)
    columns = [scene.sensors.names.index(name) for name in study.CYLINDERS]
    data[:, columns] = scene.truth[list(study.CYLINDERS)] + size * study.CYLINDER * rng.normal(size=(len(data), 3))
    return da.Record(scene.sensors.time, data, scene.sensors.names, scene.sensors.units)


@pytest.mark.spec("004-T4")
def test_the_rms_error_of_the_payload_is_the_noise_of_the_cylinders_times_that_of_the_map(scene: study.Dig) -> None:
    """(iii) σ √(mean of Σ (lever_i B⁻¹_{3i})²) with the map B of C31, for noise of 1, 3 and 9 times, drawn anew each
    time; an rms of 3800 samples scatters by 1/√7600 = 1.1 %, of which four times is allowed."""
    kept = np.flatnonzero(scene.truth.time >= study.SETTLED)
    q, still = scene.truth[[f"{joint}.angle" for joint in study.JOINTS]], np.zeros(3)
    gains = []
    for k in kept[::100]:
        rest = torques(q[k], still, still, still)
        B = np.column_stack([rest - torques(q[k], still, still, F) for F in np.eye(3)])
        gains.append(np.sum((np.linalg.inv(B)[2] * study.LEVERS) ** 2))
    wanted = study.CYLINDER * math.sqrt(np.mean(gains))
    found_model = model()
    for seed, size in enumerate((1.0, 3.0, 9.0)):
        found = study.errors(scene, found_model.algebraic(scene.truth, noisy(scene, size, seed)))["payload"]
        assert found == pytest.approx(size * wanted, rel=0.046)


@pytest.mark.spec("004-T4")
def test_the_rms_error_of_the_filtered_payload_grows_with_the_noise_of_the_cylinders(
    scene: study.Dig, first: da.estimate.ExtendedKalman
) -> None:
    """(iii) through both stages with one filter: e = e₀ + s e₁, so rms² is a parabola in s; for large noise it is in
    proportion to s, and never less than what is left without noise."""
    stages = da.estimate.TwoStage(first, study.force_filter())
    motion = first.run(scene.sensors).record
    sizes = np.array([0.0, 1.0, 4.0, 16.0, 32.0])
    rms = np.array([
        study.errors(scene, stages.forces.run(stages.second_record(motion, noisy(scene, size, 5))))["payload"]
        for size in sizes
    ])  # fmt: skip
    parabola = np.polyfit(sizes, rms**2, 2)
    np.testing.assert_allclose(np.polyval(parabola, sizes), rms**2, rtol=1e-6)
    assert rms[4] / rms[3] == pytest.approx(2.0, rel=0.1)
    assert np.sqrt(parabola[0]) < 0.1 * 20e3  # the filter leaves a tenth of the noise of the balance itself


@pytest.mark.spec("004-C26", "004-C31", "004-T4")
def test_singular_poses_are_reported() -> None:
    """(iv) tip and payload on one vertical after 5 s; boom and stick in one line."""
    found = model()
    report = found.check(study.bucket_down(found))
    assert not report.well_posed and "t = 5 s" in report.verdict
    t = np.linspace(0.0, 1.0, 101)
    angles = np.column_stack([np.full(101, 0.6), -0.5 + t, np.full(101, -0.4)])
    stretched = da.Record(t, np.hstack([angles, np.zeros((101, 6))]), found.motion.names)
    assert "t = 0.5 s" in found.check(stretched).verdict


@pytest.mark.spec("004-C31")
def test_the_map_of_the_forces_has_the_determinant_of_the_spec() -> None:
    """±(x_payload - x_tip) l_boom l_stick sin(boom-stick angle), torques being lever arms times cylinder forces."""
    found = model()
    q = np.array([0.5, -1.1, 0.2])
    motion = da.Record([0.0, 1.0], np.tile(np.concatenate([q, np.zeros(6)]), (2, 1)), found.motion.names)
    B = found.check(motion).map[0]
    apart = (1 - study.PAYLOAD_AT) * study.LENGTHS[2] * math.cos(q.sum())
    wanted = apart * study.LENGTHS[0] * study.LENGTHS[1] * math.sin(q[1])
    assert abs(np.linalg.det(B)) == pytest.approx(abs(wanted), rel=1e-9)
