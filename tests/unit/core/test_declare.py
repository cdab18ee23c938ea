"""Declared arguments: every kind accepts and refuses, with its code and the name of the argument."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import numpy as np
import pytest

from dalembert.core import declare as d
from dalembert.core.errors import DataError, ModelError
from tests.helpers.findings import raises

REFUSED: list[tuple[d.ArgumentKind, Any, str]] = [
    (d.number, "x", "not-a-number"),
    (d.number, True, "not-a-number"),
    (d.number, np.inf, "not-finite"),
    (d.positive, 0.0, "not-positive"),
    (d.not_negative, -1e-300, "negative"),
    (d.between(0.0, 0.5), np.nextafter(0.5, 1.0), "out-of-range"),
    (d.between(0.0, 0.5), -1e-300, "out-of-range"),
    (d.at_least(1.0), np.nextafter(1.0, 0.0), "out-of-range"),
    (d.at_least(0.0, below=1.0), 1.0, "out-of-range"),
    (d.above_and_below(0.0, 1.0), 0.0, "out-of-range"),
    (d.above_and_below(0.0, 1.0), 1.0, "out-of-range"),
    (d.interval("rad/s"), (1.0, 1.0), "out-of-range"),
    (d.interval("rad/s"), (-1e-300, 1.0), "out-of-range"),
    (d.interval("rad/s"), 3.0, "out-of-range"),
    (d.count(1, 5), 0, "not-a-count"),
    (d.count(1, 5), 2.0, "not-a-count"),
    (d.count(1, 5), 6, "out-of-range"),
    (d.one_of("a", "b"), "c", "unknown-choice"),
    (d.matrix("n", "n"), np.ones((2, 3)), "wrong-shape"),
    (d.matrix("n", "m"), [1.0, 2.0], "wrong-shape"),
    (d.matrix("n", "m"), [[1j]], "wrong-type"),
    (d.vector("n"), [[1.0, 2.0]], "wrong-shape"),
    (d.vector("n"), [1.0, np.nan], "not-finite"),
    (d.symmetric("n"), [[1.0, 1.0], [0.0, 1.0]], "not-symmetric"),
    (d.symmetric("n", definite=True), [[1.0, 1.0], [1.0, 1.0]], "not-positive-definite"),
    (d.instance(dict), [], "wrong-type"),
    (d.function, 3.0, "wrong-type"),
    (d.mapping("state", d.number), 3.0, "wrong-type"),
    (d.mapping("state", d.positive), {"x": 0.0}, "not-positive"),
    (d.refused_as("negative", d.number), "x", "negative"),
]


@pytest.mark.parametrize(("kind", "value", "code"), REFUSED)
def test_a_kind_refuses_with_its_code_and_the_name_of_the_argument(
    kind: d.ArgumentKind, value: object, code: str
) -> None:
    def call(size: Any) -> None:
        raise AssertionError("the function ran")

    call.__annotations__["size"] = Annotated[Any, kind, "size"]
    with raises(DataError, code, "size") as caught:
        d.checked(call)(value)
    assert caught.value.where["argument"].startswith("size")


@d.checked
def tied(
    M: Annotated[Any, d.symmetric("n")], b: Annotated[Any, d.vector("n")], k: Annotated[Any, d.indices("n")] = ()
) -> tuple[Any, ...]:
    return M, b, k


def test_sizes_are_tied_by_letters() -> None:
    M, b, k = tied([[2.0, 1.0], [1.0, 2.0]], [1, 2], [1])
    assert M.dtype == b.dtype == np.float64 and k == (1,)
    with raises(DataError, "wrong-shape", "b", "(2, 1)"):
        tied(np.eye(2), [1.0, 2.0, 3.0])
    with raises(DataError, "out-of-range", "k"):
        tied(np.eye(2), [1.0, 2.0], [2])


Chosen = Annotated[Any, d.names("input", "inputs", gives="drives", least=1), "inputs to drive"]


@d.checked
def choose(
    weights: Annotated[Any, d.mapping("input", d.number, "drives")] = None,
    drives: Chosen = None,
    inputs: Annotated[Any, d.known_as("inputs", "names")] = ("u", "v"),
) -> tuple[Any, ...]:
    return drives, weights


def test_an_argument_is_read_after_those_whose_names_it_needs() -> None:
    assert choose() == (("u", "v"), {})
    assert choose({"v": 2}, "v") == (("v",), {"v": 2.0})
    for mistake, code in (({"u": 1.0}, "v"), "unknown-name"), ((None, ["u", "u"]), "duplicate"), ((None, ()), "empty"):
        with raises(DataError, code):
            choose(*mistake)


@d.checked(
    d.requires("end", "horizon", why="an end needs a horizon"),
    d.excludes("horizon", "degree", why="one of them"),
    d.either("Q", "Qy", why="no weight"),
)
def related(Q: Any = None, Qy: Any = None, end: Any = None, horizon: Any = None, degree: float = 0.0) -> bool:
    return True


def test_relations_between_arguments() -> None:
    assert related(1.0, horizon=2.0, end=3.0, degree=0.0) and related(Qy=np.eye(2))
    with raises(DataError, "missing-argument", "Q=", "Qy="):
        related()
    with raises(DataError, "missing-argument", "horizon="):
        related(1.0, end=3.0)
    with raises(DataError, "conflicting-arguments", "degree"):
        related(1.0, horizon=2.0, degree=0.5)


def test_the_error_type_of_an_annotation_is_raised_for_the_argument_but_not_for_entries() -> None:
    @d.checked
    def start(memory: Annotated[Any, d.mapping("memory", d.number), ModelError]) -> None: ...

    with raises(ModelError, "wrong-type"):
        start(3)
    with raises(DataError, "not-a-number", "memory['m']"):
        start({"m": "x"})


def test_signature_docstring_and_python_errors_stay() -> None:
    assert str(inspect.signature(related)).startswith("(Q: 'Any' = None, Qy")
    with pytest.raises(TypeError, match=r"related\(\) got an unexpected keyword"):
        related(1.0, speed=3)

    Share = Annotated[float, d.between(0.0, 0.5), "share kept for validation"]

    def split(record: object, share: float = 0.3) -> float:
        """Split.

        Parameters
        ----------
        record : the data.

        Examples
        --------
        """
        return share

    split.__annotations__["share"] = Share
    text = inspect.getdoc(d.checked(split)) or ""
    line = "share : share kept for validation; a number from 0 to 0.5.\n"
    assert text.index("record :") < text.index(line) < text.index("Examples")


class Shy:
    """Has no text, as a machine whose text takes seconds."""

    def __call__(self) -> None: ...

    def __repr__(self) -> str:
        raise AssertionError("its text was made")


def test_the_text_of_a_value_is_made_for_an_error_only() -> None:
    shy = Shy()
    assert d.function.read("trial", shy, {}) is shy
    assert d.mapping("channel", d.function).read("laws", {"u": shy}, {}) == {"u": shy}
