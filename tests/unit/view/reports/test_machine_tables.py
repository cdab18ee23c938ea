"""Tables of machines: bodies on a tree have their own masses, with the values of parameters."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.view.reports.machine_tables import bodies_table, model_summary


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_bodies_have_the_same_masses_in_both_kinds_of_coordinates(coordinates: str) -> None:
    m = da.Mechanism("arm", planar=True)
    mass = m.parameter("load", 2.0)
    rod = m.add_body("rod", mass=mass, inertia=0.25)
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m, coordinates=coordinates).replace(load=3.0)
    assert bodies_table(m, eqs).rows == (("rod", "3", "0.25"),)
    rows = {row[0]: row[1] for row in model_summary(m, eqs).rows}
    assert rows.get("coordinates\u00a0of\u00a0bodies", rows.get("coordinates")) == str(eqs.nq)
