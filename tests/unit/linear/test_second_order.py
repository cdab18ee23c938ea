"""Linear systems are frozen, readable, and strict about what they are given."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, StateSpace
from dalembert.linear.second_order import _choose
from tests.helpers.findings import assert_read_only, raises

CHAIN = np.array([[2.0, -1.0], [-1.0, 2.0]])


@pytest.mark.parametrize("copied", [False, True])
def test_systems_are_frozen_and_their_arrays_read_only_also_after_pickling(copied):
    M = np.eye(2)
    system = SecondOrder(M, CHAIN, B=[0, 1], units={"x1": "m"}, provenance={"from": "test"})
    for thing, array in ((system, "M"), (system.state_space(), "A"), (system.modes(), "shapes")):
        if copied:
            thing = pickle.loads(pickle.dumps(thing))  # noqa: S301  (our own bytes)
        assert_read_only(getattr(thing, array))
        with pytest.raises(AttributeError):
            setattr(thing, array, M)
        with pytest.raises(AttributeError):
            delattr(thing, array)
        with pytest.raises(TypeError):
            thing.provenance["from"] = "elsewhere"
        assert dict(thing.provenance) == {"from": "test"}
    M[0, 0] = 7.0  # the caller's array stays theirs
    assert system.M[0, 0] == 1.0


def test_printing_shows_names_units_and_matrices():
    system = SecondOrder(np.eye(2), CHAIN, C=0.1 * np.eye(2), B=[0, 1], coordinates=["boom.angle", "cart"],
                         inputs="push", units={"push": "N"})  # fmt: skip
    text = repr(system)
    assert text.startswith("SecondOrder: 2 coordinates, 1 input, 2 outputs; M x″ + C x′ + K x = B u")
    assert "push [N]" in text
    assert "boom.angle" in text
    assert "continuous" in repr(system.state_space())
    assert "dt = 0.1 s" in repr(system.state_space().to_discrete(0.1))
    assert repr(system.modes()).count("decaying oscillation") == 2
    assert len(repr(SecondOrder(np.eye(200), np.eye(200))).splitlines()) < 10


BAD = [
    (lambda: SecondOrder(np.ones((2, 3)), np.eye(2)), "wrong-shape", "M", "(2, 3)"),
    (lambda: SecondOrder(np.zeros((0, 0)), np.eye(2)), "wrong-shape", "M", "(0, 0)"),
    (lambda: SecondOrder(np.eye(2), np.eye(3)), "wrong-shape", "K", "(3, 3)"),
    (lambda: SecondOrder(np.eye(2), [1.0, 2.0]), "wrong-shape", "K", "(2,)"),
    (lambda: SecondOrder(np.eye(2), [[1, np.nan], [np.nan, 1]]), "not-finite", "K[0, 1] is nan"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), C=[[np.inf, 0], [0, 0]]), "not-finite", "C[0, 0] is inf"),
    (lambda: SecondOrder([[1, 2], [0, 1]], np.eye(2)), "not-symmetric", "M[x1, x2] = 2"),
    (lambda: SecondOrder(np.eye(2), [[1, 2], [0, 1]]), "not-symmetric", "from_full"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), G=np.eye(2)), "not-symmetric", "G is not skew"),
    (lambda: SecondOrder(np.eye(2), np.eye(2) * 1j), "wrong-type", "K", "complex"),
    (lambda: SecondOrder(np.eye(2), "stiff"), "not-a-number", "K"),
    (lambda: SecondOrder(np.eye(2), [[1, 2], [3]]), "not-a-number", "K"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), B=np.ones((3, 1))), "wrong-shape", "B", "(3, 1)"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), Y_position=np.ones((1, 3))), "wrong-shape", "Y_position", "(1, 3)"),
    (
        lambda: SecondOrder(np.eye(2), np.eye(2), Y_position=[1, 0], Y_velocity=np.eye(2)),
        "wrong-shape",
        "Y_velocity",
        "(2, 2)",
    ),
    (lambda: SecondOrder(np.eye(2), np.eye(2), B=[1, 0], D=np.ones((1, 2))), "wrong-shape", "D", "(1, 2)"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), K_loss=[[1, 2], [0, 1]]), "not-symmetric", "K_loss"),
    (
        lambda: SecondOrder(np.eye(2), np.eye(2), Y_acceleration=np.ones((1, 3))),
        "wrong-shape",
        "Y_acceleration",
        "(1, 3)",
    ),
    (
        lambda: SecondOrder(np.eye(2), np.eye(2), Y_position=[1, 0], Y_acceleration=np.eye(2)),
        "wrong-shape",
        "Y_acceleration",
        "(2, 2)",
    ),
    (lambda: SecondOrder(np.eye(2), np.eye(2)).replace(K=np.eye(3)), "wrong-shape", "K", "(3, 3)"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), coordinates=["a", "a"]), "taken-name", ": a."),
    (lambda: SecondOrder(np.eye(2), np.eye(2), coordinates=["a"]), "wrong-shape", "2 coordinates", "1 coordinate"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), coordinates=["a", ""]), "bad-name", "'' in this SecondOrder"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), inputs=["a"]), "wrong-shape", "0 inputs"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), units={"x3": "m"}), "unknown-name", "'x3'", "Did you mean"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), units={"x1": 3}), "wrong-type", "'x1'", "3"),
    (lambda: SecondOrder.from_full(np.eye(2), np.eye(3), np.eye(2)), "wrong-shape", "C_full", "(3, 3)"),
    (lambda: StateSpace(np.ones((2, 3))), "wrong-shape", "A", "(2, 3)"),
    (lambda: StateSpace(np.eye(2), np.ones((3, 1))), "wrong-shape", "B", "(3, 1)"),
    (lambda: StateSpace(np.eye(2), C=np.ones((1, 3))), "wrong-shape", "C", "(1, 3)"),
    (lambda: StateSpace(np.eye(2), D=np.ones((1, 3))), "wrong-shape", "D", "(1, 3)"),
    (lambda: StateSpace(np.eye(2), dt=0.0), "not-positive", "dt"),
    (lambda: StateSpace(np.eye(2), dt=float("nan")), "not-finite", "dt"),
    (lambda: StateSpace(np.eye(2), dt="fast"), "not-a-number", "dt"),
    (lambda: StateSpace(np.eye(2), states=["a", "a"]), "taken-name", ": a."),
    (lambda: StateSpace(np.eye(2)).to_discrete(-1.0), "not-positive", "dt"),
    (lambda: StateSpace(np.eye(2)).to_discrete(None), "missing-argument", "to_discrete"),
    (lambda: Modes([1j, 2j], np.eye(3)), "wrong-shape", "eigenvalues", "(2,)"),
    (lambda: Modes([np.nan], [[1.0]]), "not-finite", "eigenvalues"),
]


@pytest.mark.parametrize("case", BAD, ids=[" ".join(case[1:]) for case in BAD])
def test_bad_input_is_refused_with_its_culprit(case):
    make, code, *shown = case
    with raises(DataError, code, *shown):
        make()


@pytest.mark.parametrize(("factor", "count"), [(0.9, 2), (1.1, 0)])
def test_frequencies_at_the_ends_of_a_band_are_in_it(factor: float, count: int) -> None:
    low, high = 1.0 - factor * 1e-9, 2.0 * (1.0 + factor * 1e-9)
    assert len(_choose(1j * np.array([low, high]), None, 0.0, (1.0, 2.0))) == count
