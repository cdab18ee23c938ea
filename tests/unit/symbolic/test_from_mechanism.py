"""Symbolic equations of machines: the numbers of `da.equations`, through both languages, and a text that stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.app.command_line.model_options import ready
from dalembert.equations import ARGUMENTS, EquationsOfMotion
from dalembert.symbolic.from_mechanism import EquationsMotion, from_mechanism
from dalembert.symbolic.text.convert import from_sympy, to_sympy_shared
from tests.helpers.findings import raises
from tests.helpers.repetitions import few

GOLDEN = Path(__file__).parents[2] / "data" / "equations"
MOST_BODIES = 10
MACHINES = [name for name in ready() if len(da.read_model(name).bodies) <= MOST_BODIES]
# conversions are exact, and sums are taken in another order: some hundred terms, each within an ulp of the largest
CLOSE = 1e-10


def state_of(eqs: EquationsOfMotion, seed: int) -> dict[str, Any]:
    """A random state near the pose as drawn, with unit Euler parameters."""
    random = np.random.default_rng(seed)
    q = np.array(eqs.placement.q) + random.uniform(-0.2, 0.2, eqs.nq)
    for block in eqs.quaternions:
        q[block.part] /= np.linalg.norm(q[block.part])
    sizes = {"v": eqs.nv, "z": eqs.nz, "u": eqs.nu, "lam": len(eqs.rows), "a": eqs.nv}
    return {"q": q, "p": eqs.p, "t": 0.4, **{name: random.uniform(-1, 1, size) for name, size in sizes.items()}}


def numbers(motion: EquationsMotion, expressions: list[Any], at: dict[str, Any]) -> list[Any]:
    names = ["q", "v", "z", "u", "p", "t", "lam"]
    f = ca.Function("numbers", [motion.arguments[name] for name in names], [ca.densify(one) for one in expressions])
    return [np.array(one) for one in f.call([at[name] for name in names])]


def close(found: Any, known: Any) -> None:
    known = np.reshape(known, found.shape)
    np.testing.assert_allclose(found, known, rtol=0, atol=CLOSE * max(1.0, np.abs(known).max(initial=0.0)))


def parts(d: Any) -> dict[str, Any]:
    return {"M": d.M, "f": d.f, "A": d.A, "b": d.b, "T": d.motion.kinetic, "V": d.motion.potential}


def known_numbers(eqs: EquationsOfMotion, at: dict[str, Any]) -> dict[str, Any]:
    found = {}
    functions = {"inertia": "M", "forces": "f", "rows": "Ab", "energy": "TV"}
    for function, names in functions.items():
        results = eqs.kernel(function)(*(at[name] for name in ARGUMENTS[function].split()))
        found |= dict(zip(names, results, strict=True))
    return found


@pytest.mark.parametrize("machine", MACHINES)
def test_the_symbols_evaluate_to_the_numbers_of_the_equations(machine: str) -> None:
    m = da.read_model(machine)
    d = from_mechanism(m)
    eqs = da.equations(m)
    for seed in (1, 2):
        at = state_of(eqs, seed)
        known = known_numbers(eqs, at)
        for (name, _), found in zip(parts(d).items(), numbers(d.motion, list(parts(d).values()), at), strict=True):
            close(found, known[name])


@pytest.mark.parametrize("machine", few(MACHINES, 4))
def test_what_sympy_shows_evaluates_to_the_numbers_of_the_equations(machine: str) -> None:
    m = da.read_model(machine)
    d = from_mechanism(m)
    eqs = da.equations(m)
    own = parts(d)
    shared = to_sympy_shared(list(own.values()))
    symbols = dict(d.system.symbols) | {one.name(): one for one in ca.vertsplit(d.multipliers)}
    for symbol, value in shared.definitions:
        symbols[symbol.name] = from_sympy(value, symbols)
    again = [from_sympy(one, symbols) for one in shared.results]
    at = state_of(eqs, 3)
    known = known_numbers(eqs, at)
    for name, found in zip(own, numbers(d.motion, again, at), strict=True):
        close(found, known[name])


def test_names_of_the_machine_are_kept() -> None:
    d = from_mechanism(da.read_model("four-bar"))
    assert d.system.coordinate_names[:3] == ["crank.x", "crank.y", "crank.angle"]
    assert list(d.system.parameter_values) == ["crank", "coupler", "rocker", "base", "line_mass"]
    assert d.system.input_names == ["torque"]
    assert [row.owner for row in d.rows] == ["A", "A", "B", "B", "C", "C", "D", "D"]
    assert {one.name() for one in ca.symvar(d.M)} == {"crank", "coupler", "rocker", "line_mass"}


def test_the_equations_of_a_derivation_are_those_of_the_machine() -> None:
    m = da.read_model("spherical-pendulum")
    eqs = da.equations(from_mechanism(m))
    assert eqs.content_hash == da.equations(m).content_hash
    assert eqs.quaternions and eqs.scene is not None


def test_energy_is_conserved_where_nothing_does_work() -> None:
    assert [one.name for one in from_mechanism(da.read_model("double-pendulum")).conserved] == ["E"]
    assert from_mechanism(da.read_model("cart-pendulum")).conserved == ()


@pytest.mark.parametrize("machine", ["pendulum", "four-bar", "spherical-pendulum"])
def test_the_text_is_the_one_on_file(machine: str) -> None:
    """Golden files: a change of the text must be meant. Names sort the terms, so no hash order shows."""
    text = from_mechanism(da.read_model(machine)).markdown()
    assert text == (GOLDEN / f"{machine}.md").read_text(encoding="utf-8")


def test_what_is_no_machine_or_no_formalism_is_refused() -> None:
    with raises(da.errors.ModelError, "wrong-type", "float"):
        from_mechanism(3.0)  # type: ignore[arg-type]
    with raises(da.errors.ModelError, "unknown-name", "kane"):
        from_mechanism(da.read_model("pendulum"), "kan")
    with raises(da.errors.ModelError, "unknown-name", "joint"):
        from_mechanism(da.read_model("pendulum"), "kane", coordinates="joints")
