"""Labelled matrices: the two laws of their sum, products by names, and labels that do not exist."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.symbolic.modular import (
    LabelledMatrix,
    angular_velocity,
    coefficients,
    evaluate,
    homogeneous_matrix,
    identity,
    label_sum,
    labelled_jacobian,
    least_squares_complement,
    linear_complement,
    null_space,
    orthogonal_complement,
    quaternion_rotation,
    rotation_matrix,
    skew,
    unskew,
    zeros,
)
from tests.helpers.findings import raises

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
    J = labelled_jacobian(ca.vertcat(x[0] * x[1], ca.sin(x[0])), ["product", "sine"], x, ["a", "b"])
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
        coefficients(LabelledMatrix(s[0] + s[1] ** 2, ["p"]), s, ["a", "b"])
    assert caught.value.code == "not-affine" and caught.value.where["symbol"] == "b"


@pytest.mark.spec("002-I1", "002-A11")
def test_complements_annihilate_a_matrix_in_symbols_and_in_numbers() -> None:
    """Partition with chosen columns or its own, orthonormal, and by least squares; too few columns are refused."""
    s = ca.SX.sym("s", 2)
    entries = ca.vertcat(ca.horzcat(1, s[0], 2, 0), ca.horzcat(0, 1, s[1], ca.sin(s[0])))
    A = LabelledMatrix(entries, ["p", "q"], list("abcd"))
    at = np.array([0.4, 1.7])
    chosen = orthogonal_complement(A, independent=["c", "d"])
    assert chosen.matrix.columns == ("c", "d") and chosen.redundant == ()
    assert chosen.matrix.part(["c", "d"]).pattern.tolist() == [[True, False], [False, True]]
    twice = label_sum(A, LabelledMatrix(entries[0, :] - 2 * entries[1, :], ["r"], list("abcd")))
    follows = orthogonal_complement(twice)
    assert len(follows.redundant) == 1
    numbers = evaluate(A, s, at)
    for S in (evaluate(chosen.matrix, s, at), evaluate(follows.matrix, s, at), null_space(numbers),
              least_squares_complement(numbers, ["c", "d"])):  # fmt: skip
        assert np.abs((numbers @ S).entries).max() < 1e-14
        assert np.linalg.matrix_rank(S.entries) == 2
    assert null_space(numbers).entries.T @ null_space(numbers).entries == pytest.approx(np.eye(2), abs=1e-14)
    with raises(da.errors.ModelError, "dependent-coordinates"):
        orthogonal_complement(A, independent=["c"])


@pytest.mark.spec("002-I1")
def test_columns_of_complements_are_numbered_by_a_label() -> None:
    """Symbols and numbers: the columns of two parts then stay apart in a sum over labels."""
    modular = da.symbolic.modular
    s = ca.SX.sym("s")
    A = modular.LabelledMatrix(ca.horzcat(1, s, 2), ["p"], list("abc"))
    plain, named = modular.orthogonal_complement(A).matrix, modular.orthogonal_complement(A, label="w").matrix
    assert named.columns == ("w 1", "w 2") and named.rows == plain.rows
    at = np.array([0.4])
    np.testing.assert_array_equal(*(modular.evaluate(one, s, at).entries for one in (plain, named)))
    numbers = modular.evaluate(A, s, at)
    assert modular.null_space(numbers).columns == ("free 1", "free 2")
    assert modular.null_space(numbers, "w").columns == ("w 1", "w 2")


@pytest.mark.spec("002-I1", "002-G7", "002-T22")
@pytest.mark.parametrize("weighted", [False, True])
def test_the_complement_of_rows_that_contradict_each_other_has_its_derivatives(weighted: bool) -> None:
    """Five rows for three dependent columns: S and its derivatives against central differences of step h, which err by
    h² times a sixth of the third derivative."""
    rng = np.random.default_rng(4)
    B0, B1 = rng.normal(size=(5, 5)), rng.normal(size=(5, 5, 2))
    weights = rng.uniform(0.5, 2.0, 5) if weighted else None
    columns, free, h = tuple("abcde"), ("b", "e"), 1e-4

    def complement(x: np.ndarray) -> np.ndarray:
        matrix = LabelledMatrix(B0 + B1 @ x, map(str, range(5)), columns)
        return np.asarray(least_squares_complement(matrix, free, weights).entries)

    C0, C1 = linear_complement(B0, B1, columns, free, weights)
    assert np.abs(C0 - complement(np.zeros(2))).max() < 1e-14
    assert np.abs(B0 @ C0).max() > 0.1  # they do contradict
    w = np.ones(5) if weights is None else weights
    assert np.abs(B0[:, [0, 2, 3]].T @ (w[:, None] ** 2 * (B0 @ C0))).max() < 1e-13  # the least violation
    for j, step in enumerate(h * np.eye(2)):
        quotient = (complement(step) - complement(-step)) / (2 * h)
        assert np.abs(quotient - C1[:, :, j]).max() < 1e-6 * np.abs(C1).max()


@pytest.mark.spec("002-I1")
def test_a_pseudo_inverse_has_the_conditions_of_penrose_and_its_expansion() -> None:
    """Of numbers and of expressions, tall and wide; to first order it errs by the square of the deviation."""

    def equal(a: LabelledMatrix, b: LabelledMatrix) -> bool:
        return (a.rows, a.columns) == (b.rows, b.columns) and bool(np.abs(a.entries - b.entries).max() < 1e-13)

    s = ca.SX.sym("s", 2)
    tall = LabelledMatrix(ca.vertcat(ca.horzcat(1 + s[0], s[1]), ca.horzcat(s[1] ** 2, 2), ca.horzcat(s[0], 1)),
                          list("pqr"), list("xy"))  # fmt: skip
    at = np.array([0.3, -0.6])
    for A in (tall, tall.T):
        inverse = A.pseudo_inverse()
        a, b = evaluate(A, s, at), evaluate(inverse, s, at)
        assert equal((a @ b) @ a, a) and equal((b @ a) @ b, b) and equal((a @ b).T, a @ b) and equal((b @ a).T, b @ a)
        assert equal(a.pseudo_inverse(), b)
        linear = inverse.linearize(s, at)
        parts = coefficients(linear, s, ["s0", "s1"])
        assert equal(evaluate(parts[""], s, at), b)
        gaps = []
        for h in (1e-2, 1e-3):
            step = h * np.array([1.0, -2.0])
            gap = evaluate(inverse, s, at + step).entries - evaluate(linear, s, step).entries
            gaps.append(np.abs(gap).max())
        assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.1)
    plain = LabelledMatrix(ca.SX(s[0] * s[1] + ca.sin(s[0]) + 3), ["p"]).linearize(s)  # about zero
    assert evaluate(plain, s, np.array([0.2, 5.0]))["p", ""] == pytest.approx(3.2, rel=1e-15)
    singular = LabelledMatrix([[1.0, 1.0], [1.0, 1.0]], list("pq"), list("xy"))
    assert evaluate(singular.linearize(s), s, at).entries.tolist() == singular.entries.tolist()
    assert singular.pseudo_inverse().entries == pytest.approx(np.full((2, 2), 0.25), abs=1e-15)


@pytest.mark.spec("002-I1")
def test_rotations_transforms_and_angular_velocities_agree() -> None:
    """ω of the angles is that of Rᵀ Ṙ; a transform turns and shifts in order; a quaternion turns as an angle."""
    angles = ca.SX.sym("angles", 3)
    rates, at = np.array([0.3, -1.1, 0.7]), np.array([0.4, -0.2, 1.3])
    R = rotation_matrix("zxy", ca.vertsplit(angles))
    moved = ca.reshape(ca.jtimes(ca.vec(R), angles, ca.DM(rates)), 3, 3)
    gap = unskew(R.T @ moved) - angular_velocity("zxy", ca.vertsplit(angles)) @ rates
    assert np.abs(np.array(ca.Function("gap", [angles], [gap])(at))).max() < 1e-15
    crossed = np.array(ca.DM(skew(ca.DM([1, 2, 3])) @ ca.DM([4, 5, 6]))).ravel()
    assert crossed.tolist() == np.cross([1, 2, 3], [4, 5, 6]).tolist()
    T = np.array(ca.DM(homogeneous_matrix("zXyZ", [0.4, 0.7, -0.3, 0.2])))
    first, second = (np.array(ca.DM(rotation_matrix(axis, [turn]))) for axis, turn in (("z", 0.4), ("y", -0.3)))
    np.testing.assert_allclose(T[:3, :3], first @ second, rtol=0, atol=1e-15)
    np.testing.assert_allclose(T[:3, 3], first @ ([0.7, 0, 0] + second @ [0, 0, 0.2]), rtol=0, atol=1e-15)
    assert T[3].tolist() == [0, 0, 0, 1]
    turned = np.array(ca.DM(quaternion_rotation(ca.DM([0, np.sin(0.2), 0, np.cos(0.2)]))))
    np.testing.assert_allclose(turned, np.array(ca.DM(rotation_matrix("y", [0.4]))), rtol=0, atol=1e-15)
    for letters, code in (("q", "unknown-choice"), ("zz", "wrong-shape")):
        with raises(da.errors.ModelError, code):
            homogeneous_matrix(letters, [0.1])


@pytest.mark.spec("002-I1")
def test_a_matrix_is_drawn_with_its_labels() -> None:
    a = LabelledMatrix([[1.0, -2.0], [0.0, 4.0], [0.5, 0.0]], ["p", "q", "r"], ["x", "y"])
    image = da.plot(a).axes[0].images[0]
    assert np.array_equal(image.get_array(), a.entries) and image.get_clim() == (-4.0, 4.0)
    figure = da.plot(identity(["x", "y"], ["y", "z"]), title="selection")
    assert figure.axes[0].images[0].get_array().tolist() == [[0, 0], [1, 0]]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["y", "z"]
