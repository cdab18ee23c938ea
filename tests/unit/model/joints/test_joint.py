"""Declarations of joint kinds: complete, and the same as the methods that name them."""

from __future__ import annotations

import ast
import inspect

import pytest

import dalembert as da
from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS
from dalembert.model.couplings import COUPLERS
from dalembert.model.joints import JOINTS
from dalembert.model.joints.joint import PLACEMENT, JointMethods
from dalembert.model.options import REQUIRED
from dalembert.record.units import KINDS

SHOWN = {
    node.name: node.args
    for node in ast.walk(ast.parse(inspect.getsource(JointMethods)))
    if isinstance(node, ast.FunctionDef) and node.name != "add_joint"
}


@pytest.mark.parametrize("kind", JOINTS)
def test_the_method_of_a_kind_takes_its_options(kind: str) -> None:
    name = f"add_{kind.replace(' ', '_')}"
    method = inspect.signature(getattr(da.Mechanism, name)).parameters
    assert list(method)[:4] == ["self", "name", "a", "b"]
    assert {key: method[key].default for key in list(method)[4:]} == {o.name: o.default for o in JOINTS[kind].options}
    shown = SHOWN[name]  # to completion and type checkers
    assert [one.arg for one in shown.args + shown.kwonlyargs] == list(method)
    defaults = [REQUIRED if one is None else ast.literal_eval(one) for one in shown.kw_defaults]
    assert defaults == [option.default for option in JOINTS[kind].options]


def test_a_forgotten_or_misspelt_option_is_named() -> None:
    m = da.Mechanism("m")
    body = m.add_body("b", mass=1.0, inertia=1.0)
    for options, code in (({}, "missing-argument"), ({"lead": 0.1, "lad": 0.1}, "unknown-argument")):
        with pytest.raises(da.errors.ModelError) as caught:
            m.add_screw("S", m.ground.at(0, 0, 0), body.at(0, 0, 0), **options)
        assert caught.value.code == code


@pytest.mark.parametrize("kind", JOINTS)
def test_a_kind_is_complete(kind: str) -> None:
    own, equations = JOINTS[kind], JOINT_EQUATIONS[kind]
    names = {option.name for option in own.options}
    assert own.doc.endswith(".") and any(rows is not None for rows in own.rows)
    assert set(own.numbers) | {start for _, start in own.variables} <= names
    assert all(option.form in (*KINDS, *PLACEMENT, "flag", "curve", "limits") and option.doc for option in own.options)
    assert (equations.rows is None) != (equations.residual is None)
    assert bool(equations.coordinates) == bool(set(own.coordinates) - {c for c in own.coordinates if own.variables})


def test_all_joints_have_equations_and_all_equations_a_joint() -> None:
    assert list(JOINTS) == list(JOINT_EQUATIONS) and len(JOINTS) == 17


@pytest.mark.parametrize("kind", COUPLERS)
def test_the_method_of_a_coupler_takes_its_parts(kind: str) -> None:
    method = inspect.signature(getattr(da.Mechanism, f"add_{kind.replace(' ', '_')}"))
    own = COUPLERS[kind]
    assert list(method.parameters) == ["self", "name", own.first[0], own.second[0], own.ratio[0], own.offset[0]]
