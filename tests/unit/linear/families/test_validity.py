"""Regions of validity of a linear model (spec 003, C-04 and E1)."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import SecondOrder, free_response
from dalembert.linear.families.validity import Validity
from dalembert.record import Record
from tests.helpers.findings import raises


def springs() -> Validity:
    """Two masses in series: elongations x1 and x2 - x1; linear to ±1, broken when drawn beyond 2 (the second one
    also when squeezed beyond 3)."""
    return Validity(
        ["x1", "x2"], {"first": {"x1": 1.0}, "second": [-1.0, 1.0]}, linear={"first": 1.0, "second": 1.0},
        failure={"first": (None, 2.0), "second": (-3.0, 2.0)}, units={"first": "m"},
    )  # fmt: skip


@pytest.mark.spec("003-C04", "003-E1")
def test_points_of_the_two_mass_chain_are_named_by_their_elongations():
    points = {
        (0.0, 0.0): ("linear", ""),
        (1.0, 2.0): ("linear", ""),  # both at their limit, which still belongs to the region
        (-1.0, -2.0): ("linear", ""),
        (1.5, 1.5): ("nonlinear", "first"),
        (0.5, 2.0): ("nonlinear", "second"),
        (1.2, -0.7): ("nonlinear", "second"),  # both beyond, the second by more
        (2.5, 2.5): ("failed", "first"),
        (0.0, 2.5): ("failed", "second"),
        (-2.5, -2.5): ("nonlinear", "first"),  # the first never breaks by squeezing
        (0.5, -3.0): ("failed", "second"),
    }
    found = springs().classify(np.array(list(points)))
    assert list(zip(found.regions, found.guilty, strict=True)) == list(points.values())
    assert found.worst_region == "failed"


@pytest.mark.spec("003-C04", "003-E1")
def test_the_three_regions_are_a_parallelogram_in_a_ring_in_the_forbidden_rest():
    x1, x2 = (axis.ravel() for axis in np.meshgrid(np.linspace(-4, 4, 81), np.linspace(-4, 4, 81)))
    region = springs().classify({"x1": x1, "x2": x2}).region
    inside = (np.abs(x1) <= 1 + 1e-12) & (np.abs(x2 - x1) <= 1 + 1e-12)
    broken = (x1 > 2 + 1e-12) | (x2 - x1 > 2 + 1e-12) | (x2 - x1 < -3 - 1e-12)
    edge = np.isclose(np.abs(x1), 1) | np.isclose(np.abs(x2 - x1), 1)
    edge |= np.isclose(x1, 2) | np.isclose(x2 - x1, 2) | np.isclose(x2 - x1, -3)  # rounding decides there
    expected = np.where(broken, 2, np.where(inside, 0, 1))
    np.testing.assert_array_equal(region[~edge], expected[~edge])


@pytest.mark.spec("003-C04")
def test_a_response_is_judged_along_its_record():
    system = SecondOrder(np.eye(2), [[2, -1], [-1, 1]])
    run = free_response(system, {"x1": 0.9, "x2": 0.9, "x1.rate": 1.0}, np.linspace(0, 10, 101))
    judged = springs().classify(run)
    assert len(judged) == 101
    assert judged.regions[0] == "linear"
    first = judged.regions.index("nonlinear")
    assert judged.times[first] == run.time[first]
    assert f"t = {run.time[first]:.6g} s" in repr(judged)


def test_a_shape_is_scaled_until_it_reaches_a_limit():
    region = springs()
    factor = region.scale_to_linear([0.5, 0.4])
    assert factor == pytest.approx(2.0)
    assert region.classify(factor * np.array([0.5, 0.4])).worst_region == "linear"
    assert springs().scale_to_linear([0.0, 0.0]) == np.inf


def test_where_only_failure_is_limited_the_linear_range_ends_there():
    region = Validity("x", {"x": {"x": 1.0}}, linear={}, failure={"x": 2.0})
    assert region.classify([[1.9], [2.1]]).regions == ("linear", "failed")


def test_a_zero_limit_lets_nothing_through_on_its_side():
    contact = Validity("gap", {"gap": {"gap": 1.0}}, linear={"gap": (None, 0.0)})
    assert contact.classify([[-1.0], [0.0], [1e-9]]).regions == ("linear", "linear", "nonlinear")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measures": {}}, "empty"),
        ({"measures": {"first": {"x3": 1.0}}}, "unknown-name"),
        ({"measures": {"first": [1.0]}}, "wrong-shape"),
        ({"measures": {"first": {}}}, "not-finite"),
        ({"linear": {"frist": 1.0}}, "unknown-name"),
        ({"linear": {"first": (1.0, 2.0)}}, "out-of-range"),
        ({"linear": {"first": (1.0, 2.0, 3.0)}}, "wrong-type"),
        ({"failure": {"first": 0.5}}, "out-of-range"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(change, words):
    good = {"measures": {"first": {"x1": 1.0}}, "linear": {"first": 1.0}}
    fields = {**good, **change}
    with raises(DataError, words):
        Validity(["x1", "x2"], fields.pop("measures"), **fields)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[1.0]], "wrong-shape"),
        ({"x3": 1.0}, "unknown-name"),
        ({"x1": [1.0, 2.0], "x2": [1.0, 2.0, 3.0]}, "wrong-shape"),
        (Record([0.0], [[1.0]], ["x1"]), "unknown-name"),
        (Record([0.0], [[1.0, np.nan]], ["x1", "x2"]), "not-finite"),
    ],
)
def test_points_that_do_not_fit_are_refused(points, words):
    with raises(DataError, words):
        springs().classify(points)


def test_a_validity_is_frozen_and_prints_its_ranges():
    region = springs()
    with pytest.raises(AttributeError):
        region.names = ()
    assert "-inf to 2" in repr(region) and "first" in repr(region)
