"""Options of forces, sensors and actuator models: one declaration serves every use."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import pytest

import dalembert as da
from dalembert.core.registry import Registry
from dalembert.errors import ModelError
from dalembert.files.models.schema.options import FORMS
from dalembert.mechanics.actuators import ACTUATOR_EFFORTS
from dalembert.mechanics.forces import FORCE_EQUATIONS
from dalembert.mechanics.sensors import OUTPUTS
from dalembert.model.actuators import ACTUATORS
from dalembert.model.forces import FORCES, Force
from dalembert.model.sensors import SENSORS
from dalembert.record.units import KINDS
from tests.helpers.findings import raises

KINDS_OF_PARTS = [*FORCES.values(), *SENSORS.values(), *ACTUATORS.values()]


@pytest.mark.parametrize(
    ("data", "mathematics"), [(FORCES, FORCE_EQUATIONS), (SENSORS, OUTPUTS), (ACTUATORS, ACTUATOR_EFFORTS)]
)
def test_every_kind_has_data_and_mathematics_of_one_name(data: Registry[Any], mathematics: Registry[Any]) -> None:
    assert set(data) == set(mathematics)
    assert all(kind.kind == name for name, kind in data.items())


@pytest.mark.parametrize("kind", KINDS_OF_PARTS, ids=lambda kind: kind.kind)
def test_every_option_has_a_known_form_and_a_meaning(kind: Any) -> None:
    assert kind.summary().endswith((".", "]"))
    for name, one in kind.options().items():
        assert one.form in FORMS or one.form in ("", "choice", "model", *KINDS), name
        assert one.about in ("", *KINDS) and one.doc and not one.doc.endswith(".")


def test_type_checkers_know_the_method_of_every_built_in_force() -> None:
    shown = set(re.findall(r"^        (add_\w+) = _adds\(", inspect.getsource(sys.modules[Force.__module__]), re.M))
    assert shown == {f"add_{kind.replace(' ', '_')}" for kind in FORCES}
    assert shown <= set(dir(da.Mechanism))


def test_values_are_checked_by_their_forms() -> None:
    m = da.Mechanism("m")
    body = m.add_body("b", mass=1.0, inertia=1.0)
    assert m.add_force("f", body, [1, 2, 3]).force == (1.0, 2.0, 3.0)
    assert m.add_bushing("k", m.ground, body, stiffness=2).stiffness == (2.0, 2.0, 2.0)
    with raises(ModelError, "wrong-shape", "'F'", "3", "(1, 2)"):
        m.add_force("F", body, (1, 2))
    with raises(ModelError, "wrong-shape", "'T'", "3"):
        m.add_torque("T", body, 1.0)
    with raises(ModelError, "wrong-shape", "'K'", "3"):
        m.add_bushing("K", m.ground, body, damping=(1, 2))
    with raises(ModelError, "not-a-number", "'K'", "'x'"):
        m.add_bushing("K", m.ground, body, damping="x")
    with raises(ModelError, "wrong-shape", "'C'", "normal", "3"):
        m.add_contact("C", m.ground, body, stiffness=1.0, normal=(0, 1))
    assert [force.name for force in m.forces] == ["f", "k"]
