"""Units as text, a machine and its start by name, degrees that were meant, tables of pandas: as people type them."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pytest

import dalembert as da
from tests.helpers.findings import raises


def pendulum(mass=2.0, length=0.5, angle=0.0):
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=mass, inertia=da.rod(length), angle=angle)
    m.add_revolute("A", m.ground.at(0, 0), rod.at("-250 mm", 0))
    return m


def test_a_machine_is_simulated_from_named_coordinates_and_rates():
    m = pendulum()
    eqs = da.equations(m)
    run = da.simulate(m, 0.5, start={"A.angle": 0.3, "A.rate": 2.0})
    same = da.simulate(eqs, 0.5, start=da.assemble(eqs, {"A.angle": 0.3}, velocity={"A.angle": 2.0}))
    np.testing.assert_array_equal(run["A.angle"], same["A.angle"])
    with raises(da.errors.ModelError, "unknown-name", "A.angel", "A.angle"):
        da.simulate(m, 0.5, start={"A.angel": 0.3})


def test_quantities_with_units_are_texts_in_python_as_in_model_files():
    m, plain = pendulum("2000 g", "50 cm", "90 deg"), pendulum(2.0, 0.5, math.pi / 2)
    for one in (m, plain):
        text = one is m
        one.add_spring(
            "s",
            one.ground.at(0, 1),
            one.bodies[0].at(0.25, 0),
            stiffness="2 N/mm" if text else 2000.0,
            free_length="1 m" if text else 1.0,
        )
        one.add_spring("t", joint="A", stiffness="3 N m/rad" if text else 3.0)
    runs = [da.simulate(one, 0.2, start={"A.angle": angle}) for one, angle in ((m, "-45 deg"), (plain, -math.pi / 4))]
    np.testing.assert_allclose(runs[0].data, runs[1].data, rtol=1e-9, atol=1e-9)
    with raises(da.errors.ModelError, "unit-mismatch", "kg"):
        m.add_body("b", mass="2 m", inertia=1.0)
    with raises(da.errors.ModelError, "unit-mismatch", "rad"):
        da.assemble(da.equations(plain), {"A.angle": "2 m"})
    with raises(da.errors.ModelError, "not-a-number"):
        m.add_spring("u", joint="A", stiffness="hard")


@pytest.mark.parametrize("angle", [60.0, 90.0, -180.0, 1000.0])
def test_an_angle_of_many_turns_is_assembled(angle):
    assert da.assemble(da.equations(pendulum()), {"A.angle": angle})["A.angle"] == pytest.approx(angle, rel=1e-12)


def test_an_angle_of_sixty_that_cannot_be_asks_for_degrees():
    m = da.Mechanism("rocker", planar=True)
    crank, coupler, rocker = (m.add_body(name, mass=1.0, inertia=0.01) for name in ("crank", "coupler", "rocker"))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.05, 0))
    m.add_revolute("B", crank.at(0.05, 0), coupler.at(-0.15, 0))
    m.add_revolute("C", coupler.at(0.15, 0), rocker.at(0.125, 0))
    m.add_revolute("D", m.ground.at(0.3, 0), rocker.at(-0.125, 0))
    eqs = da.equations(m)
    with raises(da.errors.AssemblyError, "joint-open", "60 deg"):
        da.assemble(eqs, {"D.angle": 60}, restarts=0)
    with raises(da.errors.AssemblyError, "joint-open") as caught:
        da.assemble(eqs, {"D.angle": 0.0, "A.angle": 0.1}, restarts=0)
    assert "deg" not in str(caught.value)


def test_a_table_of_pandas_is_a_record_and_back():
    run = da.simulate(pendulum(), 0.1, every=0.01)
    back = da.Record.from_pandas(run.to_pandas())
    np.testing.assert_array_equal(back.data, run.data)
    assert (back.names, back.units, back.name, back.status) == (run.names, run.units, run.name, run.status)
    dates = pandas.DataFrame({"a": [1.0, 2.0, 4.0]}, index=pandas.date_range("2026-01-01", periods=3, freq="20ms"))
    assert da.Record.from_pandas(dates, {"a": "m"}).time.tolist() == [0.0, 0.02, 0.04]
    named = pandas.DataFrame({"t": [0.0, 0.5], "force": [3, 4]})
    assert da.Record.from_pandas(named, time="t")["force"].tolist() == [3.0, 4.0]
    with raises(da.errors.DataError, "not-a-number", "b"):
        da.Record.from_pandas(pandas.DataFrame({"b": ["x", "y"]}))
    with raises(da.errors.DataError, "wrong-type"):
        da.Record.from_pandas([1.0])
    assert np.asarray(run).shape == run.data.shape
    with raises(da.errors.DataError, "wrong-type", "from_pandas"):
        da.identify.auto(named, "force")
