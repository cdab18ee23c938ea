"""Functions become programs that compute the bits of the interpreter; what has no translation is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.expressions import Kernel, doctor
from dalembert.expressions.machine_code import instructions, matrix_graph, program
from dalembert.expressions.machine_code.program import Untranslatable
from dalembert.expressions.machine_code.reader import read
from tests.helpers.findings import raises
from tests.helpers.native_code import assert_native_equals_interpreter, assert_same_bits, random_rows

# -- matrix operations -----------------------------------------------------------------------------------------------
M, N = ca.MX.sym("M", 5, 3), ca.MX.sym("N", 3, 4)
S = ca.MX.sym("S", ca.Sparsity(4, 5, [0, 2, 2, 3, 5, 6], [0, 2, 1, 0, 3, 2]))
V, W, A = ca.MX.sym("v", 6), ca.MX.sym("w", 6), ca.MX.sym("a")
L, R = ca.MX.sym("L", 11, 9), ca.MX.sym("R", 9, 7)
INPUTS = [M, N, S, V, W, A, L, R]


def assigned(x: ca.MX, where: Any, value: Any) -> ca.MX:
    x = ca.MX(x)
    x[where] = value
    return x


def added(x: ca.MX, y: ca.MX, entries: list[int]) -> ca.MX:
    """x with y added at entries, some of them twice: the derivative of a gather."""
    s, seed = ca.MX.sym("s", x.sparsity()), ca.MX.sym("seed", len(entries))
    transposed = ca.Function("add", [seed], [ca.jtimes(s.nz[entries], s, seed, True)])
    return x + transposed(y)


MATRIX: dict[str, Callable[[], Any]] = {
    "slice": lambda: V[1:4],
    "slice with a step": lambda: V[::2],
    "slice of slices": lambda: M[1:4, ::2],
    "gather": lambda: V[[4, 0, 0, 2]],
    "gather of many": lambda: ca.vec(L).nz[[int(k) for k in np.random.default_rng(0).integers(0, 99, 40)]],
    "gather of nothing": lambda: V.nz[[]],
    "gather of a sparse matrix": lambda: [S[:, [1, 0]], ca.densify(S)[:, [1, 0]]],
    "set": lambda: assigned(M, (slice(1, 3), 2), W[:2]),
    "set every second": lambda: assigned(V, slice(0, 6, 2), A),
    "set entries": lambda: assigned(V, [5, 1], W[2:4]),
    "add": lambda: added(V, W[:4], [1, 1, 5, 0]),
    "vertcat": lambda: ca.vertcat(V, A, W[2:]),
    "vertcat of matrices": lambda: ca.vertcat(M, N.T[:, :3]),
    "horzcat": lambda: ca.horzcat(M, L[:5, :2], S[0, :].T),
    "diagcat": lambda: ca.diagcat(M, A, N),
    "vertsplit": lambda: [p * 2 for p in ca.vertsplit(V, [0, 1, 4, 6])],
    "vertsplit of a matrix": lambda: [p * 2 for p in ca.vertsplit(M, [0, 2, 5])],
    "horzsplit": lambda: [p * 2 for p in ca.horzsplit(L, [0, 2, 2, 9])],
    "horzsplit of a sparse matrix": lambda: [p * 2 for p in ca.horzsplit(S, [0, 1, 5])],
    "diagsplit": lambda: [p * 2 for p in ca.diagsplit(ca.diagcat(M, N), [0, 5, 8], [0, 3, 7])],
    "reshape": lambda: ca.reshape(M * 2, 3, 5),
    "reshape of a sparse matrix": lambda: ca.reshape(S, 5, 4),
    "transpose": lambda: M.T,
    "transpose of a sparse matrix": lambda: S.T * 2,
    "densify": lambda: ca.densify(S),
    "sparsify": lambda: ca.project(M, ca.Sparsity(5, 3, [0, 1, 1, 3], [4, 0, 2])),
    "project to another pattern": lambda: ca.project(S, ca.Sparsity.diag(4, 5)),
    "triangles": lambda: [ca.tril(L[:9, :]), ca.triu(L[:9, :])],
    "diagonal": lambda: [ca.diag(V), ca.diag(L[:9, :])],
    "small product": lambda: M @ N,
    "product with a vector": lambda: N @ V[:4],
    "large product": lambda: L @ R,
    "large product added": lambda: ca.mac(L, R, L[:, :7]),
    "large product of a transposed": lambda: R.T @ L.T,
    "large product with one column": lambda: ca.repmat(L, 4, 4) @ ca.repmat(V, 6, 1),
    "large product with one row": lambda: ca.repmat(V, 60, 1).T @ ca.repmat(W, 60, 1),
    "operations on parts of a split": lambda: [
        p.T @ q + ca.dot(p, q) + ca.project(q, ca.Sparsity.diag(11, 3)).T @ p
        for p, q in [ca.horzsplit(L, [0, 3, 6, 9])[:2]]
    ],
    "dot with itself and with another": lambda: [ca.dot(V, V), ca.dot(V, W), ca.dot(W, V), ca.dot(W, W)],
    "sparse product": lambda: S @ L[:5, :],
    "product of sparse matrices": lambda: [S @ S.T, S.T @ S],
    "dot": lambda: ca.dot(V, W),
    "dot with itself": lambda: ca.dot(V, V),
    "dot of sparse matrices": lambda: ca.dot(S, S * 2),
    "dot of one entry": lambda: ca.dot(V[0], A),
    "bilin": lambda: [ca.bilin(L[:6, :6], V, W), ca.bilin(S, V[:4], W[:5]), ca.bilin(L[:6, :6], V, V)],
    "rank1": lambda: [ca.rank1(L[:6, :6], A, V, W), ca.rank1(ca.MX(S.sparsity(), A), 0.5, V[:4], W[:5])],
    "norms": lambda: [ca.norm_1(V), ca.norm_2(V), ca.norm_inf(V), ca.norm_fro(M), ca.norm_1(A), ca.norm_fro(S)],
    "sums": lambda: [ca.sum1(M), ca.sum2(M), ca.sum1(V), ca.sum2(V.T), ca.sum1(S), ca.sum2(S), ca.sumsqr(V)],
    "sums along": lambda: [ca.cumsum(V), ca.cumsum(M)],
    "smallest and largest": lambda: [ca.mmin(V), ca.mmax(V), ca.mmin(S), ca.mmax(S), ca.mmin(A), ca.mmax(M)],
    "repmat": lambda: [ca.repmat(V, 2, 3), ca.repmat(S, 1, 2), ca.repmat(A, 3, 1)],
    "sum of repeated columns": lambda: ca.repsum(ca.horzcat(M, M * 2), 1, 2),
    "kron": lambda: [ca.kron(N, V), ca.kron(S, M[:2, :2])],
    "cross and skew": lambda: [ca.cross(V[:3], W[:3]), ca.skew(V[:3]) @ W[:3]],
    "trace": lambda: ca.trace(L[:9, :]),
    "einstein": lambda: [
        ca.einstein(ca.vec(L[:3, :3]), ca.vec(R[:3, :3]), [3, 3], [3, 3], [3, 3], [-1, -2], [-2, -3], [-1, -3]),
        ca.einstein(ca.vec(L[:3, :3]), ca.vec(R[:3, :3]), [3, 3], [3, 3], [3, 3], [-1, -2], [-3, -2], [-1, -3]),
    ],
    "scalar with a matrix": lambda: [A * M, M / A, A - S, S * A, ca.fmin(A, M), M**2, A**M],
    "sparse with sparse": lambda: [S + S * 2, S * ca.project(S, ca.Sparsity.diag(4, 5)), S - ca.densify(S)],
    "operations that fill": lambda: [ca.cos(S), S == 0, ca.exp(S)],
    "if_else": lambda: [ca.if_else(A > 0, V, W), ca.if_else(A, M, 0)],
    "min and max of vectors": lambda: [ca.fmin(V, W), ca.fmax(V, W), ca.sign(V), ca.logic_and(V, W)],
    "constants": lambda: [V * ca.DM([0, 1, -2, 3, 4, 5]), ca.MX(-0.0) + 0 * A, ca.MX(ca.DM([-0.0, 0.0, np.inf]))],
}


@pytest.mark.parametrize("name", MATRIX)
def test_a_matrix_operation_has_the_bits_of_the_interpreter(name: str) -> None:
    """Zeros of both signs show the order of sums and where they begin; NaN and infinities show comparisons."""
    made = MATRIX[name]()
    function = ca.Function("operation", INPUTS, list(made) if isinstance(made, list) else [made])
    random = np.random.default_rng(1)
    special = [0.0, -0.0, 1.0, -1.0, 1e-310, 1e300, np.inf, -np.inf, np.nan]
    rows = [
        np.vstack([some, *(random.choice(among, size=(12, x.nnz())) for among in ([-0.0], [0.0, -0.0], special))])
        for some, x in zip(random_rows(function, 25), INPUTS, strict=True)
    ]
    assert_native_equals_interpreter(function, rows)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 8, 13])
@pytest.mark.parametrize("columns", [1, 3])
def test_dense_products_of_any_height_have_the_bits_of_the_interpreter(rows: int, columns: int) -> None:
    """Large products take four rows at once, and the rest one by one."""
    inner = matrix_graph.LOOP_PRODUCT // (rows * columns) + 2
    x, y = ca.MX.sym("x", rows, inner), ca.MX.sym("y", inner, columns)
    function = ca.Function("product", [x, y], [x @ y])
    assert any(isinstance(s, program.DenseProduct) for s in read(function).main.body)
    for optimise in (False, True):
        assert_native_equals_interpreter(function, random_rows(function, 6), optimise=optimise)


# -- choices ---------------------------------------------------------------------------------------------------------
INDICES = np.array([0.0, -0.0, 1.0, 2.0, 3.0, 0.4, 0.99, 1.7, -0.3, -0.99, -1.0, 2.999, 1e30, -1e30, 2.0**32, 2.0**63])
ODD = np.array([np.nan, np.inf, -np.inf, 5e-324, 1e-300])


def with_index(function: ca.Function) -> list[np.ndarray]:
    index = np.concatenate([INDICES, ODD])
    return [index[:, None], *random_rows(function, len(index))[1:]]


def test_a_short_circuit_calls_the_branch_of_the_interpreter() -> None:
    c, x = ca.MX.sym("c"), ca.MX.sym("x", 3)
    inner = ca.Function("inner", [x], [ca.sqrt(x) * ca.DM([1.0, -0.0, 3.0])], {"never_inline": True})
    function = ca.Function("f", [c, x], [ca.if_else(c, inner(x), x / 0.3, True)])
    kinds = {type(s) for r in read(function).routines if isinstance(r.body, tuple) for s in r.body}
    assert program.Choose in kinds
    assert_native_equals_interpreter(function, with_index(function), lanes=(1, 4, 8))


@pytest.mark.parametrize("short", [True, False])
def test_a_conditional_of_several_cases_takes_the_case_of_the_interpreter(short: bool) -> None:
    c, x, y = ca.MX.sym("c"), ca.MX.sym("x", 3), ca.MX.sym("y", 3)
    cases = [ca.sin(x), x * y, ca.vertcat(x[0] / y[0], y[1:])]
    function = ca.Function("f", [c, x, y], [ca.conditional(c, cases, x - y, short)])
    assert_native_equals_interpreter(function, with_index(function), lanes=(1, 4, 8))


def test_a_switch_of_functions_with_several_results_takes_the_case_of_the_interpreter() -> None:
    x, s = ca.SX.sym("x", 2), ca.SX.sym("s", ca.Sparsity.diag(2))
    cases = [ca.Function(f"case{k}", [x, s], [x * k + s @ x, s * (k + 1)]) for k in range(4)]
    function = ca.Function.conditional("switch", cases[:3], cases[3])
    assert_native_equals_interpreter(function, with_index(function), lanes=(1, 4, 8))


def test_a_choice_inside_a_map_has_the_bits_of_the_interpreter() -> None:
    x = ca.SX.sym("x", 2)
    yes, no = ca.Function("yes", [x], [ca.log(x)]), ca.Function("no", [x], [x * 2])
    c, y = ca.MX.sym("c"), ca.MX.sym("y", 2)
    inner = ca.Function("inner", [c, y], [ca.Function.if_else("either", yes, no)(c, y)])
    function = inner.map(7)
    rows = random_rows(function, 9)
    rows[0] = np.random.default_rng(0).choice([0.0, 1.0, 2.0, np.nan, -1.0], size=rows[0].shape)
    assert_native_equals_interpreter(function, rows, lanes=(1, 4, 8))


# -- calls, maps and loops -------------------------------------------------------------------------------------------
def test_functions_inside_functions_are_read_once() -> None:
    x = ca.SX.sym("x", 3)
    low = ca.Function("low", [x], [ca.sin(x), ca.dot(x, x)])
    y = ca.MX.sym("y", 3)
    a, b = low(y * 2)
    middle = ca.Function("middle", [y], [a * b + low(a)[0]])
    z = ca.MX.sym("z", 3)
    function = ca.Function("top", [z], [middle(middle(z)) + low(z)[1], low(z)[0]])
    assert len(read(function).routines) == 3
    assert_native_equals_interpreter(function, random_rows(function, 10), lanes=(1, 4, 8))


def test_results_of_a_call_that_nobody_reads_are_left_out() -> None:
    x = ca.SX.sym("x", 2)
    inner = ca.Function("inner", [x, ca.SX.sym("unused", 3)], [x + 1, x * 2, ca.SX(0, 1), ca.sin(x)])
    y, u = ca.MX.sym("y", 2), ca.MX.sym("u", 3)
    function = ca.Function("outer", [y, u], [inner(y, u)[1]])
    assert_native_equals_interpreter(function, random_rows(function, 5))


def test_a_map_has_the_bits_of_the_interpreter() -> None:
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    inner = ca.Function("inner", [x, p], [ca.sin(x) * p[0] - p[1], ca.dot(x, x)])
    for function in (
        inner.map(5),
        inner.map(1),
        inner.map("repeated", "serial", 5, [1], []),
        inner.map("summed", "serial", 5, [1], [1]),
    ):
        assert_native_equals_interpreter(function, random_rows(function, 9), lanes=(1, 4, 8))


def test_a_map_inside_a_graph_has_the_bits_of_the_interpreter() -> None:
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2)
    inner = ca.Function("inner", [x, p], [ca.sin(x) * p[0] - p[1]])
    X, P = ca.MX.sym("X", 3, 6), ca.MX.sym("P", 2)
    function = ca.Function("graph", [X, P], [ca.sum2(inner.map(6)(X * 2, P)), inner(X[:, 0], P)])
    assert_native_equals_interpreter(function, random_rows(function, 9))


@pytest.mark.parametrize("count", [3, 40])
def test_accumulated_maps_have_the_bits_of_the_interpreter(count: int) -> None:
    x, u, p = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("p")
    step = ca.Function("step", [x, u, p], [x + 0.1 * ca.vertcat(x[1], -p * ca.sin(x[0]) + u), x[0] * u])
    for function in (step.mapaccum(count), step.fold(count), step.mapaccum("run", count, 1)):
        assert_native_equals_interpreter(function, random_rows(function, 5))


# -- tables ----------------------------------------------------------------------------------------------------------
EVEN, UNEVEN = np.linspace(-1.0, 2.0, 7), np.array([-1.0, -0.7, 0.0, 0.1, 0.5, 2.0])


def around(grid: np.ndarray) -> np.ndarray:
    """On, beside, between and outside the points of a grid, and numbers that are none."""
    beside = np.concatenate([np.nextafter(grid, -np.inf), grid, np.nextafter(grid, np.inf)])
    between = np.random.default_rng(0).uniform(grid[0] - 1, grid[-1] + 1, size=30)
    return np.concatenate([beside, between, [0.0, -0.0, 1e10, -1e10, 1e300, -1e300, np.inf, -np.inf, np.nan]])


@pytest.mark.parametrize(
    ("mode", "grid"), [("linear", UNEVEN), ("binary", UNEVEN), ("exact", EVEN), ("linear", EVEN), ("binary", EVEN[:2])]
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_table_has_the_bits_of_the_interpreter(mode: str, grid: np.ndarray, count: int) -> None:
    values = np.random.default_rng(1).normal(size=count * grid.size)
    function = ca.interpolant("table", "linear", [grid], values, {"lookup_mode": [mode]})
    assert_native_equals_interpreter(function, [around(grid)[:, None]], lanes=(1, 4, 8))


@pytest.mark.parametrize("modes", [("linear", "exact"), ("exact", "binary"), ("binary", "linear")])
@pytest.mark.parametrize("count", [1, 2])
def test_a_table_of_two_dimensions_has_the_bits_of_the_interpreter(modes: tuple[str, str], count: int) -> None:
    grids = [EVEN[:5] if mode == "exact" else UNEVEN for mode in modes]
    values = np.random.default_rng(2).normal(size=count * grids[0].size * grids[1].size)
    function = ca.interpolant("table", "linear", grids, values, {"lookup_mode": list(modes)})
    x, y = (a.ravel() for a in np.meshgrid(*(around(g)[::3] for g in grids)))
    assert_native_equals_interpreter(function, [np.column_stack([x, y])], lanes=(1, 4, 8))


def test_tables_inside_graphs_have_the_bits_of_the_interpreter() -> None:
    values = np.random.default_rng(3).normal(size=UNEVEN.size)
    table = ca.interpolant("table", "linear", [UNEVEN], values)
    x = ca.MX.sym("x", 2)
    function = ca.Function("law", [x], [table(x[0]) * ca.sin(x[1]), table.map(2)(x.T)])
    assert_native_equals_interpreter(function, random_rows(function, 20), lanes=(1, 4, 8))


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_large_tables_are_read(kind: Any) -> None:
    grid = np.linspace(0, 1, 700)
    table = ca.interpolant("table", "linear", [grid], np.sin(grid))
    x = kind.sym("x")
    function = ca.Function("law", [x], [table(x) + 1])
    assert_native_equals_interpreter(function, [np.linspace(-0.1, 1.1, 50)[:, None]])


def test_a_table_whose_values_are_arguments_stays_on_the_interpreter() -> None:
    table = ca.interpolant("table", "linear", [list(UNEVEN)], 1)
    with raises(Untranslatable, None, "table"):
        read(table)


# -- arguments and results -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_sparse_and_empty_arguments_and_results_have_their_place(kind: Any) -> None:
    pattern = ca.Sparsity(3, 3, [0, 2, 2, 3], [0, 2, 1])
    s, e, x = kind.sym("s", pattern), kind.sym("e", 0, 1), kind.sym("x", 2)
    results = [s.T, ca.vertcat(e, x), e, kind(pattern), kind(2, 0), s[0, 2], ca.diag(x)]
    function = ca.Function("f", [e, s, x], results)
    assert_native_equals_interpreter(function, random_rows(function, 6), lanes=(1, 4, 8))


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_a_function_without_arguments_gives_its_constants(kind: Any) -> None:
    zero = 0.0 if kind is ca.SX else -0.0  # scalar expressions of CasADi know one zero
    constants = [kind(ca.DM([0.0, -0.0, 1.5, np.inf, np.nan])), kind(-0.0), kind(0, 0)]
    function = ca.Function("f", [], constants)
    assert_native_equals_interpreter(function, [])
    assert_same_bits(Kernel(function)()[0], [0.0, zero, 1.5, np.inf, np.nan])


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_a_function_without_results_does_nothing(kind: Any) -> None:
    function = ca.Function("f", [kind.sym("x", 2)], [])
    assert_native_equals_interpreter(function, random_rows(function, 3))


def test_constants_that_differ_in_the_sign_of_zero_stay_apart() -> None:
    x = ca.MX.sym("x", 2)
    function = ca.Function("f", [x], [x * ca.DM([0.0, 1.0]) + ca.DM([-0.0, 1.0]), 1 / (x * ca.DM([-0.0, 1.0]))])
    assert_native_equals_interpreter(function, random_rows(function, 10))
    one, other = (program.Program().constant([v]) for v in (0.0, -0.0))
    assert one == other  # each the first of its program
    both = program.Program()
    assert both.constant([0.0]) != both.constant([-0.0]) and both.constant([0.0]) == both.constant([0.0])


def test_the_segments_of_an_argument_have_their_offsets() -> None:
    """CasADi takes a concatenation of symbols as one argument, in segments."""
    a, b, s = ca.MX.sym("a", 2), ca.MX.sym("b", 3), ca.MX.sym("s")
    function = ca.Function("f", [ca.vertcat(a, b), s], [ca.vertcat(b * s, a), a[0] + b[2]])
    assert_native_equals_interpreter(function, random_rows(function, 5))


# -- calls in scalar code --------------------------------------------------------------------------------------------
def test_calls_in_scalar_code_have_the_bits_of_the_interpreter() -> None:
    v = ca.SX.sym("v", 2)
    inner = ca.Function("inner", [v, ca.SX.sym("k")], [ca.sin(v) * 2, v[0] * v[1]], {"never_inline": True})
    w = ca.SX.sym("w", 2)
    a, b = inner(w + 1, 3)
    c, d = inner(a * b, w[0])
    function = ca.Function("f", [w], [c * b, d, a[0]])
    assert any(function.instruction_id(k) == ca.OP_CALL for k in range(function.n_instructions()))
    assert_native_equals_interpreter(function, random_rows(function, 12), lanes=(1, 4, 8))


def test_calls_in_long_scalar_code_cross_its_pieces() -> None:
    table = ca.interpolant("table", "linear", [UNEVEN], np.random.default_rng(3).normal(size=UNEVEN.size))
    x = ca.SX.sym("x", 3)
    values = [table(x[0]), *ca.vertsplit(x)]
    for k in range(600):
        values.append(table(values[-3]) if k % 97 == 50 else ca.sin(values[-1]) * values[k // 2] - values[-2])
    function = ca.Function("f", [x], [values[-1], ca.vertcat(*values[::40])])
    assert_native_equals_interpreter(function, random_rows(function, 12))


# -- reading ---------------------------------------------------------------------------------------------------------
Code = tuple[np.ndarray, np.ndarray]


def assert_same_code(one: Code, other: Code) -> None:
    np.testing.assert_array_equal(one[0], other[0])
    assert_same_bits(one[1], other[1])


def long_function(*, constants: bool = True, start: str = "input") -> ca.Function:
    x, y = ca.SX.sym("x", 4), ca.SX.sym("y", 0, 1)
    first = ca.SX(0.5) if start == "constant" else x[0]
    values = [first, *ca.vertsplit(x)]
    for k in range(150):
        c = ca.SX([0.1, -0.0, np.inf, 1e-320, -7.25][k % 5]) if constants else values[k // 3]
        values.append([values[-1] * c, ca.atan2(values[-1], values[k]), -values[-1], c + values[-2]][k % 4])
    return ca.Function("long", [y, x], [values[-1], ca.vertcat(*values[::10])])


@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("start", ["input", "constant"])
def test_the_serialised_form_reads_as_the_accessors_do(constants: bool, start: str) -> None:
    function = long_function(constants=constants, start=start)
    count = function.n_instructions()
    found = instructions._read_serialised(function, count)
    assert found is not None
    assert_same_code(found, instructions._read_one_by_one(function, count))


@pytest.mark.parametrize("options", [{"live_variables": False}, {"cse": True}, {"print_instructions": False}])
def test_options_of_a_function_do_not_change_how_it_reads(options: dict[str, Any]) -> None:
    inputs = long_function().sx_in()
    function = ca.Function("other", inputs, long_function().call(inputs), options)
    count = function.n_instructions()
    found = instructions._read_serialised(function, count)
    if found is not None:
        assert_same_code(found, instructions._read_one_by_one(function, count))
    assert_native_equals_interpreter(function, random_rows(function, 5))


def test_an_unknown_serialised_form_is_read_through_the_accessors(monkeypatch: pytest.MonkeyPatch) -> None:
    function = long_function()
    known = read(function)
    data = instructions._bytes_of(function)
    for changed in (b"", b"another form", data[: len(data) // 2], data[1:][::2], data.replace(b"\x01", b"\x02")):
        monkeypatch.setattr(instructions, "_bytes_of", lambda _, changed=changed: changed)
        assert instructions._read_serialised(function, function.n_instructions()) is None
        found, wanted = read(function).main.body, known.main.body
        for name in ("operation", "out", "first", "second", "constant"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


# -- what stays on the interpreter -----------------------------------------------------------------------------------
class Doubler(ca.Callback):
    def __init__(self) -> None:
        ca.Callback.__init__(self)
        self.construct("doubler")

    def eval(self, arguments: Any) -> Any:
        return [2 * arguments[0]]


def untranslatable() -> dict[str, tuple[ca.Function, str]]:
    x, A2 = ca.MX.sym("x", 2), ca.MX.sym("A", 2, 2)
    spline = ca.interpolant("spline", "bspline", [UNEVEN], np.arange(6.0))
    y = ca.MX.sym("y")
    solve = ca.Function("with_solve", [A2, x], [ca.solve(A2 + 3 * ca.DM.eye(2), x)])
    system = ca.rootfinder("root", "newton", {"x": y, "p": x, "g": y**3 + y - x[0]})
    return {
        "solve": (solve, "solve"),
        "spline": (ca.Function("with_spline", [y], [spline(y) + 1]), "BSpline"),
        "root": (ca.Function("with_root", [x], [system(0, x)]), "Newton"),
        "asserted": (ca.Function("asserted", [y], [y.attachAssert(y < 100, "large")]), "assertion"),
        "low": (ca.Function("with_low", [y], [ca.low(ca.DM(UNEVEN), y)]), "low"),
        "log of sums": (ca.Function("with_logsumexp", [x], [ca.logsumexp(x)]), "logsumexp"),
    }


@pytest.mark.parametrize("name", ["solve", "spline", "root", "asserted", "low", "log of sums"])
def test_what_has_no_translation_is_named_and_still_gives_results(name: str) -> None:
    function, word = untranslatable()[name]
    with raises(Untranslatable, None, word):
        read(function)
    assert_kernel_falls_back(function, word)


def test_a_callback_still_gives_results() -> None:
    doubler = Doubler()
    x = ca.MX.sym("x")
    assert_kernel_falls_back(ca.Function("with_callback", [x], [doubler(x) + 1]), "CallbackInternal")


def assert_kernel_falls_back(function: ca.Function, word: str) -> None:
    kernel, rows = Kernel(function), random_rows(function, 3)
    kernel.expect(10**6)
    assert kernel.code is None
    given = [ca.DM(function.sparsity_in(i), r[0]) for i, r in enumerate(rows)]
    expected = [np.array(ca.DM(r)).ravel(order="F") for r in function.call(given)]
    for ours, theirs in zip(kernel(*(r[0] for r in rows)), expected, strict=True):
        assert_same_bits(ours.ravel(order="F"), theirs)
    for ours, theirs in zip(kernel.many(*rows), expected, strict=True):
        assert_same_bits(ours[0].ravel(order="F"), theirs)
    (line,) = (line for line in doctor().splitlines() if function.name() in line)
    assert word in line


# -- random graphs ---------------------------------------------------------------------------------------------------
UNARY = [ca.sin, ca.exp, ca.sqrt, ca.fabs, ca.sign, ca.floor, ca.tanh, lambda x: -x, lambda x: x**2, lambda x: 1 / x]
BINARY = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x < y, ca.fmin,
    ca.fmax, ca.atan2, lambda x, y: ca.if_else(x, y, 0.5), ca.copysign,
]  # fmt: skip
CHOICE = st.integers(0, 10**6)


@given(steps=st.lists(st.tuples(CHOICE, CHOICE, CHOICE), min_size=1, max_size=60), seed=CHOICE)
def test_random_scalar_graphs_have_the_bits_of_the_interpreter(steps: list[tuple[int, int, int]], seed: int) -> None:
    x = ca.SX.sym("x", 3)
    values = [*ca.vertsplit(x), ca.SX(0.25), ca.SX(-0.0)]
    for which, first, second in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        operations = UNARY if which % 2 else BINARY
        operation = operations[which // 2 % len(operations)]
        values.append(operation(a) if which % 2 else operation(a, b))
    function = ca.Function("random", [x], [ca.vertcat(*values[-5:]), values[len(values) // 2]])
    assert_native_equals_interpreter(function, random_rows(function, 9, seed))


def fit(x: ca.MX, rows: int, columns: int) -> ca.MX:
    """x cut or repeated to a shape."""
    return ca.repmat(x, -(-rows // x.shape[0]), -(-columns // x.shape[1]))[:rows, :columns]


MATRIX_STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + fit(y, *x.shape),
    lambda x, y: x * fit(y, *x.shape),
    lambda x, y: ca.fmax(x, fit(y, *x.shape)),
    lambda x, y: x @ fit(y, x.shape[1], 2),
    lambda x, y: ca.vertcat(x, fit(y, 1, x.shape[1])),
    lambda x, y: ca.horzcat(x, fit(y, x.shape[0], 1)),
    lambda x, y: x.T,
    lambda x, y: ca.sin(x),
    lambda x, y: x[::2, :],
    lambda x, y: x[:, -1],
    lambda x, y: ca.vec(x),
    lambda x, y: ca.sum1(x) * ca.norm_fro(y),
    lambda x, y: ca.dot(x, fit(y, *x.shape)) - x,
    lambda x, y: assigned(x, 0, ca.mmax(y)),
    lambda x, y: ca.if_else(ca.mmin(y) > 0, x, -x, True),
    lambda x, y: ca.project(x, ca.Sparsity.lower(x.shape[0]) if x.shape[0] == x.shape[1] else x.sparsity()),
]


@given(steps=st.lists(st.tuples(CHOICE, CHOICE, CHOICE), min_size=1, max_size=14), seed=CHOICE)
def test_random_matrix_graphs_have_the_bits_of_the_interpreter(steps: list[tuple[int, int, int]], seed: int) -> None:
    x, y = ca.MX.sym("x", 3, 2), ca.MX.sym("y", 4)
    values = [x, y, ca.MX(ca.DM([[1.0, -0.0], [0.0, 2.0]]))]
    for which, first, second in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        made = MATRIX_STEPS[which % len(MATRIX_STEPS)](a, b)
        if max(made.shape) <= 12:
            values.append(made)
    function = ca.Function("random", [x, y], [values[-1], values[len(values) // 2]])
    assert_native_equals_interpreter(function, random_rows(function, 5, seed))


def test_products_of_parts_of_splits_are_native_and_have_the_bits_of_the_interpreter() -> None:
    m, A = ca.MX.sym("m", 12), ca.MX.sym("A", 2, 3)
    a, b = ca.vertsplit(m, [0, 6, 12])
    first, rest = ca.horzsplit(ca.reshape(a, 2, 3), [0, 1, 3])
    upper, lower = ca.vertsplit(rest, [0, 1, 2])  # a part of a part
    results = [
        A @ b[:3], ca.dot(a, b), rest @ ca.vertcat(1, 2), first.T @ rest, upper @ lower.T, a.T @ m[3:9], a @ b.T
    ]  # fmt: skip
    kernel = Kernel(ca.Function("products", [m, A], results))
    given = np.random.default_rng(0).normal(size=12), np.arange(6.0)
    interpreted = [value.copy() for value in kernel.raw(*given)]
    kernel.expect(10**6)
    assert kernel.code is not None
    for one, other in zip(interpreted, kernel.raw(*given), strict=True):
        assert np.array_equal(one, other)
