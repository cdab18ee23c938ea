"""Linear systems are frozen, readable, and strict about what they are given."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, StateSpace

CHAIN = np.array([[2.0, -1.0], [-1.0, 2.0]])


@pytest.mark.parametrize("copied", [False, True])
def test_systems_are_frozen_and_their_arrays_read_only_also_after_pickling(copied):
    M = np.eye(2)
    system = SecondOrder(M, CHAIN, B=[0, 1], units={"x1": "m"}, provenance={"from": "test"})
    for thing, array in ((system, "M"), (system.state_space(), "A"), (system.modes(), "shapes")):
        if copied:
            thing = pickle.loads(pickle.dumps(thing))  # noqa: S301  (our own bytes)
        with pytest.raises(ValueError, match="read-only"):
            getattr(thing, array)[0, 0] = 5.0
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
    (lambda: SecondOrder(np.ones((2, 3)), np.eye(2)), "M has shape"),
    (lambda: SecondOrder(np.zeros((0, 0)), np.eye(2)), "M has shape"),
    (lambda: SecondOrder(np.eye(2), np.eye(3)), r"K has shape \(3, 3\), expected \(2, 2\)"),
    (lambda: SecondOrder(np.eye(2), [1.0, 2.0]), r"K has shape \(2,\)"),
    (lambda: SecondOrder(np.eye(2), [[1, np.nan], [np.nan, 1]]), r"K\[0, 1\] is nan"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), C=[[np.inf, 0], [0, 0]]), r"C\[0, 0\] is inf"),
    (lambda: SecondOrder([[1, 2], [0, 1]], np.eye(2)), r"M is not symmetric: M\[x1, x2\] = 2"),
    (lambda: SecondOrder(np.eye(2), [[1, 2], [0, 1]]), "from_full"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), G=np.eye(2)), "G is not skew-symmetric"),
    (lambda: SecondOrder(np.eye(2), np.eye(2) * 1j), "K must be real"),
    (lambda: SecondOrder(np.eye(2), "stiff"), "K must be a matrix of numbers"),
    (lambda: SecondOrder(np.eye(2), [[1, 2], [3]]), "K must be a matrix of numbers"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), B=np.ones((3, 1))), "one row per coordinate"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), Y_position=np.ones((1, 3))), "one column per coordinate"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), Y_position=[1, 0], Y_velocity=np.eye(2)), "Y_velocity has shape"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), B=[1, 0], D=np.ones((1, 2))), "D has shape"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), K_loss=[[1, 2], [0, 1]]), "K_loss is not symmetric"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), Y_acceleration=np.ones((1, 3))), "Y_acceleration has shape"),
    (
        lambda: SecondOrder(np.eye(2), np.eye(2), Y_position=[1, 0], Y_acceleration=np.eye(2)),
        "Y_acceleration has shape",
    ),
    (lambda: SecondOrder(np.eye(2), np.eye(2)).replace(K=np.eye(3)), "K has shape"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), coordinates=["a", "a"]), "given twice in this SecondOrder: a"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), coordinates=["a"]), "has 2 coordinates but 1 coordinate names"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), coordinates=["a", ""]), "non-empty strings"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), inputs=["a"]), "has 0 inputs"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), units={"x3": "m"}), "no coordinate.* named 'x3'.*Did you mean"),
    (lambda: SecondOrder(np.eye(2), np.eye(2), units={"x1": 3}), "must be a string"),
    (lambda: SecondOrder.from_full(np.eye(2), np.eye(3), np.eye(2)), "C_full has shape"),
    (lambda: StateSpace(np.ones((2, 3))), "A has shape"),
    (lambda: StateSpace(np.eye(2), np.ones((3, 1))), "B has shape.*one row per state"),
    (lambda: StateSpace(np.eye(2), C=np.ones((1, 3))), "C has shape.*one column per state"),
    (lambda: StateSpace(np.eye(2), D=np.ones((1, 3))), "D has shape"),
    (lambda: StateSpace(np.eye(2), dt=0.0), "dt must be positive"),
    (lambda: StateSpace(np.eye(2), dt=float("nan")), "must be finite"),
    (lambda: StateSpace(np.eye(2), dt="fast"), "must be a number"),
    (lambda: StateSpace(np.eye(2), states=["a", "a"]), "given twice"),
    (lambda: StateSpace(np.eye(2)).to_discrete(-1.0), "dt must be positive"),
    (lambda: StateSpace(np.eye(2)).to_discrete(None), "sample time"),
    (lambda: Modes([1j, 2j], np.eye(3)), "one column per mode"),
    (lambda: Modes([np.nan], [[1.0]]), "finite"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused_with_its_culprit(make, message):
    with pytest.raises(DataError, match=message):
        make()
