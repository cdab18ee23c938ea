"""Laws in the user's own words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.control.servo.custom_law import custom_law
from tests.helpers.findings import raises
from tests.helpers.loops import CART_GAINS, CART_READS, cart_pendulum, gain_law, integral_law

PLANT = da.StateSpace([[0, 1], [-2, -0.3]], [[0], [1.5]], [[1, 0]], states=["x", "v"], inputs=["u"], outputs=["y"])


def test_a_function_of_readings_is_a_law() -> None:
    mine = custom_law("gain", lambda s: -1.2 * s["x"] - 0.8 * s["v"], "u", dt=0.1)
    other = gain_law([[1.2, 0.8]], ["x", "v"], ["u"], 0.1)
    a, b = (da.simulate(PLANT, 2.0, start=[1.0, 0.0], controller=law) for law in (mine, other))
    assert np.abs(a.data - b.data).max() < 1e-14
    assert mine.direct and mine.reads == ("x", "v")


def test_memory_and_references_are_named() -> None:
    def pi(s: Any) -> Any:
        error = s.reference("y") - s["y"]
        return error + 0.2 * s["integral"], {"integral": s["integral"] + 0.05 * error}

    mine = custom_law("pi", pi, "u", dt=0.05, memory={"integral": 0.0}, units={"integral": "m s", "y": "m"})
    options: Any = {"references": {"y": lambda t: da.sin(t)}}
    a, b = (da.simulate(PLANT, 5.0, controller=law, **options) for law in (mine, integral_law(0.05)))
    assert np.abs(a["y"] - b["y"]).max() < 1e-12
    assert a.units["pi.integral"] == "m s" and a.units["reference.y"] == "m"


def test_a_law_without_an_interval_acts_continuously() -> None:
    cart = cart_pendulum()
    law = custom_law("lqr", lambda s: sum(-g * s[n] for g, n in zip(CART_GAINS[0], CART_READS, strict=True)), "force")
    run = da.simulate(cart, 5.0, start=da.assemble(cart, {"hinge.angle": 0.1}), controller=law)
    assert abs(run["hinge.angle"][-1]) < 2e-3


def test_a_law_that_only_remembers_is_not_direct() -> None:
    law = custom_law("late", lambda s: (s["last"], {"last": -s["x"]}), "u", dt=0.1, memory={"last": 0.0})
    assert not law.direct
    run = da.simulate(PLANT, 1.0, start=[1.0, 0.0], controller=law)
    assert run["u"][1:] == pytest.approx(-run["x"][:-1], abs=1e-14)


def test_several_inputs_and_switches() -> None:
    law = custom_law(
        "two", lambda s: {"b": da.where(s["x"] > 0, 1.0, -1.0), "a": da.math.maximum(s["x"], s.t)}, ["a", "b"]
    )
    assert law.drives == ("a", "b")
    u, _ = law.function([0.5], [], [], [], 2.0)
    assert np.array(u).ravel().tolist() == [2.0, 1.0]


def test_mistakes_have_codes() -> None:
    cases: list[tuple[Any, str, str, dict[str, Any]]] = [
        (lambda s: [1.0, 2.0], "wrong-shape", "2 values for 1 inputs", {}),
        (lambda s: {"w": 1.0}, "unknown-name", "'w'", {}),
        (lambda s: {}, "missing-argument", "'u'", {}),
        (lambda s: "fast", "wrong-type", "str", {}),
        (lambda s: s[0], "bad-name", "0", {}),
        (3.0, "wrong-type", "3.0", {}),
        (lambda s: s["m"], "missing-argument", "memory", {"memory": {"m": 0.0}}),
        (lambda s: (0.0, {}), "missing-argument", "'m'", {"memory": {"m": 0.0}}),
        (lambda s: (0.0, {"m": 0.0, "k": 1.0}), "unknown-name", "'k'", {"memory": {"m": 0.0}}),
        (lambda s: (0.0, {"m": [1.0, 2.0]}), "wrong-shape", "'m'", {"memory": {"m": 0.0}}),
        (lambda s: 0.0, "wrong-type", "memory", {"memory": 3}),
        (lambda s: 1.0 if s["x"] > 0 else 0.0, "branch-on-symbol", "mine", {}),
    ]
    for function, code, shown, options in cases:
        with raises(da.errors.ModelError, code, shown):
            custom_law("mine", function, "u", **options)
    with pytest.raises(da.errors.ModelError) as caught:  # the cause depends on the release of CasADi
        custom_law("mine", lambda s: np.sin(s["x"]), "u")
    assert caught.value.code in ("value-of-symbol", "user-function-failed")
    with raises(da.errors.DataError, "not-positive"):
        custom_law("mine", lambda s: 0.0, "u", dt=0.0)
    with raises(da.errors.DataError, "not-finite"):
        custom_law("mine", lambda s: 0.0, "u", memory={"m": float("nan")})
