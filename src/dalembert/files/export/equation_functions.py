"""Functions of equations of motion by name, as exports write them.

Parts of the equations (``inertia``, ``forces``, ``rows``, ...) are written unchanged. For any equations follow

    mass_matrix   M(q) ,
    forward       v̇ and λ of M v̇ = f + Aᵀ λ , A v̇ = b ,
    inverse       the inputs u that make accelerations v̇: M v̇ = f₀ + B u + Aᵀ λ .

Without rows and with as many inputs as speeds u = B⁻¹ (M v̇ - f₀). Else, with v̇(u) = v̇₀ + W u of the forward dynamics,
u is the least-squares solution in the metric of M: (Wᵀ M W) u = Wᵀ M (v̇ - v̇₀). Equations in joint coordinates have
the functions of their tree besides; one that needs a place is a pair: ("jacobian", "tool.tip").
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.errors import ModelError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import ARGUMENTS, EquationsOfMotion
from dalembert.files.export.python_export import FUNCTIONS, ModulePart
from dalembert.mechanics.tree.link_tree import TREE_FUNCTIONS
from dalembert.solve.constrained.solve import forward_function

SX = ca.SX
RANK = 1e-9  # of the largest eigenvalue of Wᵀ M W, below which inputs act alike: they are squares of gains near one
RESULTS = {  # of functions of a tree, where one result has a usual name
    "mass_matrix": ("M",), "inverse_dynamics": ("tau",), "forward_dynamics": ("a",), "jacobian": ("J",),
    "jacobian_rate": ("Jdot",), "gravity": ("g",), "coriolis_matrix": ("C",), "energy": ("T", "V"),
}  # fmt: skip
REFERENCE = "local_world_aligned"  # of Jacobians, the default of da.tree
Name = str | Sequence[str]


@dataclass(frozen=True)
class NamedFunction:
    """A function with the names of its arguments (those of `Symbols`, and tau) and results, and what it gives."""

    name: str
    function: ca.Function
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    meaning: str


def default_functions(eqs: EquationsOfMotion) -> list[NamedFunction]:
    """Every part that the equations have."""
    return [
        part_of(eqs, function)
        for function in FUNCTIONS
        if eqs.functions[function.function].nnz_out() or function.function in ("inertia", "forces")
    ]


def named_functions(eqs: EquationsOfMotion, names: Iterable[Name]) -> list[NamedFunction]:
    """The functions of these names."""
    choices_ = [names] if isinstance(names, str) else list(names)
    functions = [_find(eqs, tuple(words.split()) if isinstance(words, str) else tuple(words)) for words in choices_]
    twice = {function.name for function in functions if sum(second.name == function.name for second in functions) > 1}
    if twice or not functions:
        problem = f"function {min(twice)!r} is named twice." if twice else "no function is named."
        raise ModelError("duplicate" if twice else "empty", problem, Advice("Give {}.", Argument("functions")))
    return functions


def _find(eqs: EquationsOfMotion, name: tuple[str, ...]) -> NamedFunction:
    first, *choices = name or ("",)
    parts = {by_name.name: by_name for by_name in FUNCTIONS}
    tree = {} if eqs.tree is None else TREE_FUNCTIONS
    names = [*GENERAL, *parts, *(function for function in tree if function not in GENERAL)]
    require_name("function", first, names, f"equations {eqs.name!r}", error=ModelError)
    if first in GENERAL and not choices:
        return GENERAL[first](eqs)
    if first in parts and not choices:
        return part_of(eqs, parts[first])
    problem = f"function {first!r} has no further arguments, got {choices}."
    ModelError.when(first not in tree, "ineffective-argument", problem)
    return _of_tree(eqs, first, choices)


def part_of(eqs: EquationsOfMotion, one: ModulePart) -> NamedFunction:
    function = eqs.functions[one.function]
    return NamedFunction(one.name, function, tuple(ARGUMENTS[one.function].split()), one.results, one.meaning)


def _of_tree(eqs: EquationsOfMotion, name: str, choices: Sequence[str]) -> NamedFunction:
    assert eqs.tree is not None
    tree_function = TREE_FUNCTIONS[name]
    wanted = list(inspect.signature(tree_function.build).parameters.values())[1:]
    needed = [
        parameter.name
        for parameter in wanted
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty
    ]
    complete = [*choices, REFERENCE] if needed[len(choices) :] == ["reference"] else list(choices)
    several = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in wanted)
    if len(complete) < max(len(needed), several) or (len(complete) > len(wanted) and not several):
        named = ", ".join(parameter.name for parameter in wanted) or "nothing"
        problem = f"function {name!r} needs {named} besides its name, got {list(choices)}."
        raise ModelError("missing-argument", problem, Advice("Such as {}.", Argument("functions", ["jacobian tip"])))
    function = eqs.tree.function(name, *complete)
    result_names = RESULTS.get(name, ())
    results = (
        result_names if len(result_names) == function.n_out() else tuple(f"y{k + 1}" for k in range(function.n_out()))
    )
    meaning = (tree_function.build.__doc__ or name).strip().splitlines()[0]
    label = re.sub(r"\W+", "_", "_".join([name, *choices])).strip("_")
    return NamedFunction(label, function, tuple(tree_function.arguments.split()), results, meaning)


# -- functions of any equations ---------------------------------------------------------------------------------------


def mass_matrix(eqs: EquationsOfMotion) -> NamedFunction:
    function = eqs.functions["inertia"]
    return NamedFunction("mass_matrix", function, ("q", "p", "t"), ("M",), "Mass matrix M, dense.")


def forward(eqs: EquationsOfMotion) -> NamedFunction:
    s = eqs.symbols()
    arguments: tuple[str, ...] = ("q", "v", "z", "u", "p", "t", "lam0")
    _, a, _, _, lam, _ = forward_function(eqs)(s.q, s.v, s.z, s.u, s.p, s.t, s.lam)
    results, names = ([a, lam], ("a", "lam")) if eqs.rows else ([a], ("a",))
    inputs = [s.q, s.v, s.z, s.u, s.p, s.t, s.lam]
    if not any(ca.depends_on(x, s.lam) for x in results if s.lam.shape[0]):
        results = ca.substitute(results, [s.lam], [SX.zeros(*s.lam.shape)]) if s.lam.shape[0] else results
        inputs, arguments = inputs[:-1], arguments[:-1]
    meaning = "Accelerations a = v' and multipliers lam." if eqs.rows else "Accelerations a = v'."
    if "lam0" in arguments:
        meaning += " Forces depend on reactions: lam0 are multipliers to begin with, zeros or those of the last call."
    solver = ca.Function("forward", inputs, [ca.densify(x) for x in results], {"cse": True})
    return NamedFunction("forward", solver, arguments, names, meaning)


def inverse(eqs: EquationsOfMotion) -> NamedFunction:
    if not eqs.nu:
        advice = Advice("Add actuators with inputs, or name {}.", Argument("functions", ["inverse_dynamics"]))
        raise ModelError("no-actuator", f"equations {eqs.name!r} have no inputs that could make a motion.", advice)
    s = eqs.symbols()
    zero = SX.zeros(eqs.nu)
    M = eqs.functions["inertia"](s.q, s.p, s.t)
    if not eqs.rows and eqs.nu == eqs.nv:
        f = eqs.functions["forces"](s.q, s.v, s.z, s.u, s.p, s.t, s.lam)
        B, right = ca.jacobian(f, s.u), M @ s.a - ca.substitute(f, s.u, zero)
        _check_affine(eqs, B, s.u)
        _check_rank(eqs, s, B.T @ B)
        u = _solve_square(B, right)
    else:
        _, a, *_ = forward_function(eqs)(s.q, s.v, s.z, s.u, s.p, s.t, SX.zeros(len(eqs.rows)))
        W = ca.jacobian(a, s.u)
        _check_affine(eqs, W, s.u)
        weighted = M @ W
        G = W.T @ weighted
        _check_rank(eqs, s, G)
        G = ca.triu2symm(ca.triu(ca.densify(G)))
        u = ca.ldl_solve(weighted.T @ (s.a - ca.substitute(a, s.u, zero)), *ca.ldl(G))
    solver = ca.Function("inverse", [s.q, s.v, s.z, s.a, s.p, s.t], [ca.densify(u)], {"cse": True})
    meaning = "Inputs u that make the accelerations a = v'."
    return NamedFunction("inverse", solver, ("q", "v", "z", "a", "p", "t"), ("u",), meaning)


GENERAL: dict[str, Callable[[EquationsOfMotion], NamedFunction]] = {
    "inverse": inverse, "mass_matrix": mass_matrix, "forward": forward,
}  # fmt: skip


def _solve_square(B: Any, right: Any) -> Any:
    """B⁻¹ right; one division each where every row of B has one entry."""
    rows, columns = B.sparsity().get_triplet()
    if sorted(rows) == sorted(columns) == list(range(B.shape[0])):
        order = dict(zip(columns, rows, strict=True))
        return ca.vertcat(*(right[order[k]] / B[order[k], k] for k in range(B.shape[0])))
    return ca.solve(ca.densify(B), right)


def _check_affine(eqs: EquationsOfMotion, gain: Any, u: Any) -> None:
    ModelError.when(ca.depends_on(gain, u), "not-affine", f"the motion of {eqs.name!r} is not affine in its inputs.")


def _check_rank(eqs: EquationsOfMotion, s: Any, G: Any) -> None:
    """Inputs with the same effect cannot be distinguished by a motion."""
    rank = ca.Function("rank", [s.q, s.v, s.z, s.p, s.t, s.u], [ca.densify(G)])
    at_rest = (np.zeros(eqs.nv), np.zeros(eqs.nz), eqs.p, 0.0, np.zeros(eqs.nu))
    random = np.random.default_rng(0)
    poses = [eqs.sample_pose(random, 0.1 * k) for k in range(3)]  # the drawing may be a singular pose
    eigenvalues = [np.linalg.eigvalsh(np.array(rank(q, *at_rest))) for q in poses]
    values = max(eigenvalues, key=lambda one: float(one[0]))
    if not values[0] > RANK * values[-1]:
        problem = f"inputs of {eqs.name!r} act alike or on nothing: a motion does not determine them."
        advice = Advice("Use machines with at most as many inputs as freedoms, or name {}.", Argument("functions"))
        raise ModelError("undetermined-force", problem, advice, evidence={"smallest": float(values[0])})
