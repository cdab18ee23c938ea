"""Labelled matrices: the two laws of their sum, products by names, and labels that do not exist."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.symbolic.modular import LabelledMatrix, identity, label_sum
from dalembert.symbolic.modular.algebra.labelled import coefficients, evaluate, jacobian, zeros

LABELS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)


@st.composite
def matrices(draw: st.DrawFn, rows: list[str] | None = None, columns: list[str] | None = None) -> LabelledMatrix:
    rows = draw(LABELS) if rows is None else rows
    columns = draw(LABELS) if columns is None else columns
    entries = [[float(draw(st.integers(-9, 9))) for _ in columns] for _ in rows]
    return LabelledMatrix(np.array(entries).reshape(len(rows), len(columns)), rows, columns)


def same(a: LabelledMatrix, b: LabelledMatrix) -> bool:
    return (
        set(a.rows) == set(b.rows)
        and set(a.columns) == set(b.columns)
        and bool(np.array_equal(a.entries, b.part(a.rows, a.columns).entries))
    )


@pytest.mark.spec("002-A13", "002-I1")
@given(matrices(), matrices(), matrices())
def test_the_sum_is_commutative_and_associative(a: LabelledMatrix, b: LabelledMatrix, c: LabelledMatrix) -> None:
    assert same(a + b, b + a)
    assert same((a + b) + c, a + (b + c))


@pytest.mark.spec("002-A13", "002-I1")
@given(st.data())
def test_the_product_matches_names_whatever_their_order(data: st.DataObject) -> None:
    inner = data.draw(LABELS)
    a = data.draw(matrices(columns=inner))
    b = data.draw(matrices(rows=data.draw(st.permutations(inner))))
    expected = a.entries @ b.part(rows=inner).entries if inner else np.zeros((len(a.rows), len(b.columns)))
    assert np.array_equal((a @ b).entries, expected)
    assert same((a @ b).T, b.T @ a.T)


@pytest.mark.spec("002-A13")
def test_matrices_without_common_labels_become_block_diagonal() -> None:
    total = label_sum(LabelledMatrix([[1.0]], ["r"], ["x"]), LabelledMatrix([[2.0]], ["s"], ["y"]))
    assert np.array_equal(total.entries, [[1, 0], [0, 2]])
    empty = LabelledMatrix(np.zeros((0, 1)), [], ["z"])
    assert (total + empty).columns == ("x", "y", "z")
    assert empty.is_empty


@pytest.mark.spec("002-I1")
def test_entries_parts_scaling_renaming_and_text() -> None:
    a = LabelledMatrix([[1.0, 2.0], [3.0, 4.0]], ["r", "s"], ["x", "y"])
    assert a["s", "x"] == 3.0
    assert np.array_equal(a.part(["s"], ["y", "x"]).entries, [[4, 3]])
    assert a.scale(2.0)["r", "y"] == 4.0
    assert (a - a).entries.any() == False  # noqa: E712
    assert a.rename({"x": "w"}).columns == ("w", "y")
    assert a.apply(lambda value: value + 1)["r", "x"] == 2.0
    assert "3" in a.text()
    assert repr(a) == "LabelledMatrix(2 x 2 numbers: x, y)"
    assert identity(["x", "y"], ["y", "z"]).entries.nnz() == 1
    assert zeros(["x"]).shape == (1, 1)


@pytest.mark.spec("002-I1")
def test_a_jacobian_has_the_labels_of_its_expressions_and_symbols() -> None:
    x = ca.SX.sym("x", 2)
    J = jacobian(ca.vertcat(x[0] * x[1], ca.sin(x[0])), ["product", "sine"], x, ["a", "b"])
    numbers = evaluate(J, x, np.array([0.5, 2.0]))
    assert numbers["product", "a"] == 2.0
    assert numbers["sine", "b"] == 0.0
    assert J.multiply(identity(["b"])).shape == (2, 1)


@pytest.mark.spec("002-I1")
@pytest.mark.parametrize("use", ["entry", "part", "product"])
def test_a_label_that_does_not_exist_is_named(use: str) -> None:
    a = LabelledMatrix([[1.0, 2.0]], ["force"], ["x", "theta"])
    with pytest.raises(da.errors.ModelError) as caught:
        if use == "entry":
            a["force", "thata"]
        elif use == "part":
            a.part(columns=["thata"])
        else:
            a @ LabelledMatrix([[1.0], [2.0]], ["x", "thata"], ["one"])
    assert caught.value.code == "unknown-name"
    assert "th" in str(caught.value)


def test_labels_that_stand_twice_and_wrong_shapes_are_refused() -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        LabelledMatrix([[1.0, 2.0]], ["r"], ["x", "x"])
    assert caught.value.code == "duplicate"
    with pytest.raises(da.errors.ModelError) as caught:
        LabelledMatrix([[1.0, 2.0]], ["r"], ["x", "y", "z"])
    assert caught.value.code == "wrong-shape"


@pytest.mark.spec("002-I1")
def test_systems_are_solved_by_labels_and_affine_matrices_taken_apart() -> None:
    A = LabelledMatrix([[2.0, 0.0], [0.0, 4.0], [1.0, 1.0]], ["p", "q", "r"], ["x", "y"])
    right = LabelledMatrix([[3.0], [2.0], [8.0]], ["r", "p", "q"])  # x = 1, y = 2, in another order
    found = A.solve(right)
    assert [found["x", ""], found["y", ""]] == pytest.approx([1.0, 2.0])
    s = ca.SX.sym("s", 2)
    matrix = LabelledMatrix(ca.vertcat(3 + 2 * s[0], s[1] - s[0]), ["p", "q"])
    parts = coefficients(matrix, s, ["a", "b"])
    assert [float(parts[name][row, ""]) for name in ("", "a", "b") for row in "pq"] == [3, 0, 2, -1, 0, 1]
    with pytest.raises(da.errors.ModelError) as caught:
        coefficients(LabelledMatrix(s[0] ** 2, ["p"]), s, ["a", "b"])
    assert caught.value.code == "not-affine"
