"""The result: predictions, the mechanism with its values, tables, and a copy from a pickle."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DataError, ModelError
from dalembert.identify import IdentifiedRobot
from dalembert.identify.robot.physical_consistency import smallest_eigenvalue
from tests.helpers.measured_arm import JOINTS, NOISE, T, drawing, quiet, record, truth
from tests.helpers.robots import fourier_motion, measured_record, planar_arm


@cache
def result() -> IdentifiedRobot:
    found: IdentifiedRobot = quiet(drawing(), record(), rotors=True)
    return found


def other(noise: object = 0.0) -> da.Record:
    return measured_record(truth(), fourier_motion(truth(), T, seed=9), T, noise=noise, seed=5, **JOINTS)


def test_torques_of_another_motion_are_predicted_within_the_noise() -> None:
    given = other(NOISE)
    predicted = result().predict(given)
    part = given.between(float(predicted.time[0]), float(predicted.time[-1]))
    moving = np.abs(part[["A.rate", "B.rate"]]) > 0.05
    error = (part[["uA", "uB"]] - predicted[["uA", "uB"]]) / NOISE
    assert np.sqrt(np.mean(error[moving] ** 2)) < 1.1
    assert predicted.units["uA"] == "N m"


def test_a_prediction_needs_the_motion_alone() -> None:
    given = other()
    alone = given.select(*(n for n in given.names if not n.startswith("u")))
    np.testing.assert_allclose(result().predict(alone)["uB"], result().predict(given)["uB"], rtol=1e-10)
    with pytest.raises(DataError) as caught:
        result().predict([given, given])
    assert caught.value.code == "wrong-type"


def test_the_mechanism_has_the_values_and_makes_the_same_torques() -> None:
    m = result().mechanism(planar_arm())
    eqs = da.equations(m, coordinates="joint")
    np.testing.assert_allclose(da.tree.dynamic_parameters(eqs).values, result().values[:8], rtol=1e-9, atol=1e-12)
    again = quiet(eqs, record(), rotors=True)
    np.testing.assert_allclose(again.base_first, again.base.from_parameters(result().values), rtol=1e-6, atol=1e-6)
    # what it was identified from needs no further change
    assert np.abs((again.base_values - again.base_first) / again.base_deviations).max() < 0.1
    for body, value in result().smallest_eigenvalues.items():
        assert value > 0, body


def test_the_mechanism_goes_through_a_model_file_and_runs(tmp_path: Path) -> None:
    m = result().mechanism(planar_arm())
    da.write_model(m, tmp_path / "arm.toml")
    eqs = da.equations(da.read_model(tmp_path / "arm.toml"), coordinates="joint")
    run = da.simulate(eqs, 0.2)
    assert np.isfinite(run["A.angle"]).all()


def test_drawn_friction_and_motors_are_changed_not_doubled() -> None:
    m = planar_arm()
    m.add_friction("bearing", "A", viscous=1.0)
    m.add_rotor("rotor", "B", inertia=1e-4, ratio=10.0)
    eqs = da.equations(m, coordinates="joint")
    found = quiet(eqs, record(), rotors=True)
    new = found.mechanism(m)
    frictions = [f for f in new.forces if f.kind == "friction" and f.joint == "A"]
    assert len(frictions) == 1 and float(frictions[0].viscous) == pytest.approx(1.5, abs=0.2)
    (rotor,) = [f for f in new.forces if f.kind == "rotor" and f.joint == "B"]
    assert rotor.name == "rotor" and float(rotor.inertia) * 100 == pytest.approx(found["B.rotor"])


def test_another_mechanism_is_refused() -> None:
    m = da.Mechanism("other", planar=True)
    m.add_body("bar", mass=1.0)
    with pytest.raises(ModelError) as caught:
        result().mechanism(m)
    assert caught.value.code == "unknown-name"


def test_tables_residuals_and_names() -> None:
    found = result()
    assert "rod1.hx + 1 other" in found.table() and "B.rotor" in repr(found)
    assert found.residuals().is_white()
    assert found[found.base.names[0]] == found.base_values[0]
    with pytest.raises(DataError) as caught:
        found.deviation("rod1.mass")  # not determined by any motion
    assert caught.value.code == "unknown-name"


def test_a_pickled_result_predicts_the_same() -> None:
    again = pickle.loads(pickle.dumps(result()))  # noqa: S301
    np.testing.assert_array_equal(again.predict(other())["uA"], result().predict(other())["uA"])
    assert smallest_eigenvalue(again.values[:4]) > 0
