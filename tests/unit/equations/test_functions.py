"""Functions of equations that are built when they are first read."""

from __future__ import annotations

import pickle

import casadi as ca

import dalembert as da
from dalembert.equations import LazyFunctions
from tests.helpers.arms import arm_states, make_arm


def square() -> ca.Function:
    x = ca.SX.sym("x")
    return ca.Function("square", [x], [x**2])


def test_a_function_is_built_when_it_is_read() -> None:
    built = []

    def later() -> ca.Function:
        built.append(1)
        return square()

    functions = LazyFunctions({"one": square()}, {"two": later})
    assert list(functions) == ["one", "two"]
    assert "two" in functions
    assert not built
    assert functions["two"] is functions["two"]
    assert built == [1]


def test_storage_keeps_all_functions() -> None:
    functions = LazyFunctions({}, {"square": square})
    back = pickle.loads(pickle.dumps(functions))  # noqa: S301
    assert float(back["square"](3.0)) == 9.0


def test_reactions_of_a_tree_are_built_for_those_who_ask() -> None:
    eqs = da.equations(make_arm(), coordinates="joint")
    assert isinstance(eqs.functions, LazyFunctions)
    assert "reactions" in eqs.functions._later
    changed = eqs.replace(**{"hand.mass": 0.8})  # other functions show that the mass matters
    assert "reactions" in changed.functions._later
    found = da.forward_dynamics(eqs, eqs.state(q=arm_states(1)[0].q))
    assert found.reactions["shoulder"].force[2] != 0.0
    assert "reactions" not in eqs.functions._later
