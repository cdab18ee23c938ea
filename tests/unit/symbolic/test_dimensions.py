"""Dimensions of expressions from the units of their symbols."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pytest

from dalembert.errors import ModelError
from dalembert.symbolic.dimensions import ENERGY, FORCE, dimension_of, dimension_of_unit, rate_of, require_dimension
from tests.helpers.findings import raises

SX = ca.SX
NAMES = {"m": "kg", "v": "m/s", "x": "m", "k": "N/m", "a": "rad", "free": "", "w": "1/s"}
S = {name: SX.sym(name) for name in NAMES}
KNOWN = {name: dimension_of_unit(unit, name) for name, unit in NAMES.items()}
NONE = (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (S["m"] * S["v"] ** 2, ENERGY), (S["k"] * S["x"] * S["x"], ENERGY), (S["k"] * S["x"], FORCE),
        (S["m"] * S["v"] ** 2 + S["k"] * S["x"] ** 2, ENERGY), (ca.sqrt(S["k"] / S["m"]), (0.0, 0.0, -1.0, 0.0)),
        (S["x"] / S["v"], (0.0, 0.0, 1.0, 0.0)), (1 / (1 / S["x"]), (0.0, 1.0, 0.0, 0.0)),
        (-S["x"], (0.0, 1.0, 0.0, 0.0)),
        (S["x"] ** 3, (0.0, 3.0, 0.0, 0.0)), (S["x"] ** 1.5, (0.0, 1.5, 0.0, 0.0)),
        (S["a"], NONE), (S["x"] < S["x"] + 1, NONE),
        (ca.fmax(S["x"], 0), (0.0, 1.0, 0.0, 0.0)), (ca.if_else(S["a"] < 1, S["x"], 2 * S["x"]), (0.0, 1.0, 0.0, 0.0)),
        (ca.sign(S["x"]), NONE), (S["w"], (0.0, 0.0, -1.0, 0.0)),
        (2.5 * S["x"], None), (S["free"] * S["x"], None), (ca.sin(S["a"]), None), (SX(3.0), None),
        (S["x"] + S["free"], (0.0, 1.0, 0.0, 0.0)), (S["x"] + 3, (0.0, 1.0, 0.0, 0.0)), (S["x"] ** S["a"], None),
    ],
)  # fmt: skip
def test_an_expression_has_its_dimension(expression: Any, expected: Any) -> None:
    assert dimension_of(expression, KNOWN, "it") == expected


@pytest.mark.parametrize(
    ("expression", "symbols"),
    [
        (S["x"] + S["m"], {"x", "m"}), (S["a"] - S["x"], {"a", "x"}), (ca.fmin(S["x"], S["v"]), {"x", "v"}),
        (ca.atan2(S["x"], S["m"]), {"x", "m"}), (S["x"] * S["v"] < S["m"], {"x", "v", "m"}), (ca.sin(S["x"]), {"x"}),
        (ca.exp(S["v"] / S["x"]), {"v", "x"}),
    ],
)  # fmt: skip
def test_what_does_not_fit_names_its_symbols(expression: Any, symbols: set[str]) -> None:
    with pytest.raises(ModelError) as caught:
        dimension_of(expression, KNOWN, "the row")
    assert caught.value.code == "unit-mismatch" and set(caught.value.where["symbols"]) == symbols


def test_a_known_dimension_must_be_the_wanted_one() -> None:
    require_dimension(S["free"], ENERGY, KNOWN, "it")
    require_dimension(SX(2.0), ENERGY, KNOWN, "it")
    with raises(ModelError, "unit-mismatch", "N m"):
        require_dimension(S["k"] * S["x"], ENERGY, KNOWN, "the energy")


def test_units_are_si_and_known() -> None:
    assert dimension_of_unit("", "x") is None and rate_of(None) is None
    assert rate_of(KNOWN["x"], 2) == (0.0, 1.0, -2.0, 0.0)
    for unit in ("mm", "deg", "furlong", "m m!"):
        with pytest.raises(ModelError) as caught:
            dimension_of_unit(unit, "x")
        assert caught.value.code == "unit-mismatch"
