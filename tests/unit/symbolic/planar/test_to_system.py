"""Planar models in every formalism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.studies.symbolic.quick_return import linkage
from tests.helpers.planar_four_bar import four_bar
from tests.helpers.planar_models import ring_and_disc

SAME = 1e-10  # rows of a few metres and inertias of 1e-4 leave rounding of 1e-12


MODELS = {"four-bar": four_bar, "quick-return": linkage, "ring": lambda: ring_and_disc(start=0.3)}


@pytest.mark.parametrize("formalism", ["lagrange_multipliers", "kane", "maggi", "virtual_work", "gibbs_appell"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_formalism_accelerates_the_linkage_as_its_own_equations_do(make: Any, formalism: str) -> None:
    m = make()
    eqs = da.equations(m)
    first = "theta" if "theta" in eqs.coordinates.index else eqs.measures.names[0]
    start = da.assemble(eqs, velocity={first: 1.5})
    inputs = dict.fromkeys(eqs.inputs.names, 0.4)
    expected = da.forward_dynamics(eqs, start, inputs=inputs)
    N, n = (np.asarray(x) for x in eqs.kernel("kinematics")(start.q, eqs.p, 0.0))
    rates = N.reshape(eqs.nq, eqs.nv) @ start.v + n
    s = da.symbolic.to_system(m)
    names = eqs.coordinates.names
    assert s.coordinate_names == list(names)
    found = getattr(da.symbolic, formalism)(s).solve(
        dict(zip(names, start.q, strict=True)), dict(zip(names, rates, strict=True)), inputs=inputs
    )
    wanted = N.reshape(eqs.nq, eqs.nv) @ expected.acceleration  # N is constant: it picks speeds
    assert found.acceleration == pytest.approx(wanted, rel=SAME, abs=SAME * np.abs(wanted).max())


def test_the_system_is_simulated_as_the_linkage_is() -> None:
    runs = []
    for model in (four_bar(), da.symbolic.derive(da.symbolic.to_system(four_bar()))):
        eqs = da.equations(model)
        method = da.DormandPrince(rtol=1e-10, atol=1e-12)
        runs.append(da.simulate(eqs, 0.5, start=da.assemble(eqs), method=method, every=0.05))
    assert np.abs(runs[0]["crank.2.x"] - runs[1]["crank.2.x"]).max() < 1e-8


def test_speeds_and_coordinates_of_the_user_stay_what_they_are() -> None:
    m = four_bar()
    slip = m.add_speed("slip", inertia=0.3, force=2.0, unit="m/s")
    twice = m.add_coordinate("twice", 2 * m["crank.rate"])
    m.add_sensor("sum", slip + twice)
    s = da.symbolic.to_system(m)
    assert s.coordinate_names[-2:] == ["twice", "slip.integral"]
    found = da.symbolic.lagrange_multipliers(s).solve({x: s.drawn[x] for x in s.coordinate_names})
    by_name = dict(zip(s.coordinate_names, found.acceleration, strict=True))
    assert by_name["slip.integral"] == pytest.approx(2.0 / 0.3, rel=1e-12)
    assert by_name["twice"] == pytest.approx(2 * by_name["crank.angle"], rel=1e-10)


def test_the_matrices_are_shown_in_latex() -> None:
    pytest.importorskip("sympy")
    shown = da.symbolic.derive_linkage(ring_and_disc(), independent=["theta.rate", "2.rate"]).latex()
    assert shown.startswith("\\begin{aligned}") and "\\cos" in shown and "C &= " in shown
