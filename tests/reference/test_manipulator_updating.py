"""Updating of the five-link manipulator: published frequencies, exact modes, a simulated hammer test."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.linear.modes import Modes
from dalembert.studies.manipulator.manipulator_updating import (
    NodalMotions,
    from_exact_modes,
    from_hammer_test,
    from_measured_frequencies,
    nine_parameters,
    table_errors,
)


@pytest.fixture(scope="module")
def nodal() -> NodalMotions:
    return NodalMotions()


@pytest.mark.spec("004-C47", "004-T6")
def test_errors_of_the_printed_frequencies_have_the_printed_means() -> None:
    # Palomba 2016 prints 7.46 and 3.97 %: the first from rounded entries
    assert table_errors() == pytest.approx({"nominal_percent": 7.45, "updated_percent": 3.97}, abs=0.006)


@pytest.mark.spec("004-C45", "004-C46", "004-T6")
def test_nine_parameters_follow_from_thirteen_exact_modes(nodal: NodalMotions) -> None:
    exact = from_exact_modes(nodal)
    # rounding of eigenvectors (1e-13 of the stiff ones) times the condition
    assert exact["largest_error"] < 1e-8
    assert exact["condition"] == pytest.approx(4.6e3, rel=0.05)
    assert exact["printed_sign_error"] < 1e-8


@pytest.mark.spec("004-C46", "004-T6")
def test_seven_measured_frequencies_bring_the_mean_error_below_a_half(nodal: NodalMotions) -> None:
    measured = from_measured_frequencies(nodal)
    assert measured["nominal_percent"] == pytest.approx(7.0, abs=0.05)
    assert measured["updated_percent"] == pytest.approx(2.8, abs=0.05)
    assert measured["largest_change"] <= 0.25 + 1e-12


@pytest.mark.spec("004-C47", "004-T6")
def test_shapes_of_the_manipulator_agree_with_themselves_whatever_their_scale(nodal: NodalMotions) -> None:
    names = nine_parameters()
    modes = nodal.family(names)(**dict.fromkeys(names, 1.0)).modes().select(range(4, 12))
    scaled = Modes(modes.eigenvalues, -7.0 * modes.shapes, modes.coordinates)
    mac = modes.mac(scaled)
    assert np.diag(mac) == pytest.approx(np.ones(8), abs=1e-12)
    assert mac.min() >= 0.0 and mac.max() <= 1.0 + 1e-12


@pytest.mark.slow
@pytest.mark.spec("004-C42", "004-C43", "004-C44", "004-T6")
@pytest.mark.parametrize("seed", [2, 3])
def test_a_simulated_hammer_test_gives_the_stiffnesses_within_their_deviations(nodal: NodalMotions, seed: int) -> None:
    hammer = from_hammer_test(nodal, seed)
    assert hammer["blows"] == 12 and hammer["status"] == "converged"
    for name, error in hammer["errors_in_deviations"].items():
        assert abs(error) < 3.0, name
        assert hammer["deviations"][name] < 1e-3
