"""Declarations of joint kinds: complete, and the same as the methods that name them."""

from __future__ import annotations

import inspect

import pytest

import dalembert as da
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
from dalembert.model.couplings import COUPLERS
from dalembert.model.joints import JOINTS
from dalembert.model.joints.joint import PLACEMENT
from dalembert.record.units import KINDS


@pytest.mark.parametrize("kind", JOINTS)
def test_the_method_of_a_kind_takes_its_options(kind: str) -> None:
    method = inspect.signature(getattr(da.Mechanism, f"add_{kind.replace(' ', '_')}"))
    declared = JOINTS[kind].signature.parameters
    given = {name: one.default for name, one in method.parameters.items() if name != "self"}
    assert given == {name: one.default for name, one in declared.items()}
    assert list(given)[:3] == ["name", "a", "b"]


@pytest.mark.parametrize("kind", JOINTS)
def test_a_kind_is_complete(kind: str) -> None:
    own, equations = JOINTS[kind], JOINT_EQUATIONS[kind]
    names = {option.name for option in own.options}
    assert own.doc.endswith(".") and any(own.rows)
    assert set(own.numbers) | {start for _, start in own.variables} <= names
    assert all(option.form in (*KINDS, *PLACEMENT, "flag", "curve") and option.doc for option in own.options)
    assert (equations.rows is None) != (equations.residual is None)
    assert bool(equations.coordinates) == bool(set(own.coordinates) - {c for c in own.coordinates if own.variables})


def test_all_joints_have_equations_and_all_equations_a_joint() -> None:
    assert list(JOINTS) == list(JOINT_EQUATIONS) and len(JOINTS) == 16


@pytest.mark.parametrize("kind", COUPLERS)
def test_the_method_of_a_coupler_takes_its_parts(kind: str) -> None:
    method = inspect.signature(getattr(da.Mechanism, f"add_{kind.replace(' ', '_')}"))
    own = COUPLERS[kind]
    assert list(method.parameters) == ["self", "name", own.first[0], own.second[0], own.ratio[0], own.offset[0]]
