"""Native code has the bits of CasADi's interpreter, for the kernels of machines, methods, filters and laws.

Every kernel that a short run makes is kept with the arguments of its last evaluation, and evaluated again on random
arguments around them, by the interpreter, by native code and by native code in lanes. On other systems than Linux
x86-64 the promise is 1e-12 (`tests.helpers.native_code`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.expressions import Kernel
from dalembert.expressions.native import compile_native
from dalembert.expressions.program import Untranslatable
from dalembert.files.models import list_models, read_model
from dalembert.solve.integrate.method import METHODS
from tests.helpers import filter_machines
from tests.helpers.native_code import Array, assert_same_bits, evaluate, interpret

FEW, MANY = 20, 1000
QUICK = ("pendulum", "four-bar", "quarter-car")
SUNDIALS = ("Sundials", "Cvodes", "Idas", "Integrator")  # a class of CasADi, which stays on the interpreter
slow = pytest.mark.slow


@contextmanager
def kernels_made() -> Iterator[list[Kernel]]:
    """All kernels that are made inside the block."""
    made: list[Kernel] = []
    original = Kernel.__init__

    def noted(self: Kernel, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__init__", noted)
        yield made


def around(values: Array, count: int, random: np.random.Generator) -> Array:
    """Rows near these values; the first one is the values themselves."""
    rows = values * (1 + 1e-2 * random.normal(size=(count, values.size)))
    rows += 1e-3 * random.normal(size=rows.shape)
    rows[0] = values
    return rows


def check(function: ca.Function, arguments: list[Array]) -> None:
    expected = interpret(function, arguments)
    numbers = np.concatenate([values.ravel() for values in expected])
    # a pose drawn at random may lie outside the domain of a root, but not most of them
    assert not numbers.size or np.isfinite(numbers).mean() > 0.2, f"{function.name()} gives no numbers"
    for lanes in (1, 4):
        found = evaluate(compile_native(function, lanes=lanes), arguments)
        for k, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert_same_bits(ours, theirs, f"{function.name()}, result {k}, {lanes} lanes")


def check_all(made: list[Kernel], count: int, allowed: tuple[str, ...] = ()) -> int:
    """Number of kernels that were compared; a kernel that stays interpreted is a failure, except of these classes."""
    random, seen, compared = np.random.default_rng(0), set(), 0
    for kernel in made:
        key = kernel.function.__hash__()
        if key in seen:
            continue
        seen.add(key)
        try:
            check(kernel.function, [around(a, count, random) for a in kernel._inputs])
            compared += 1
        except Untranslatable as reason:
            assert any(word in str(reason) for word in allowed), f"{kernel.function.name()}: {reason}"
    return compared


def machine(name: str) -> tuple[da.Mechanism, da.EquationsOfMotion, Any]:
    m = read_model(name)
    eqs = da.equations(m)
    return m, eqs, da.assemble(eqs, **m.start)


# -- machines ----------------------------------------------------------------------------------------------------------
MACHINES = [
    *(pytest.param(name, FEW) for name in QUICK),
    *(pytest.param(name, MANY, marks=slow) for name in list_models()),
]


@pytest.mark.parametrize(("name", "count"), MACHINES)
def test_the_functions_of_a_library_machine_have_the_bits_of_the_interpreter(name: str, count: int) -> None:
    _, eqs, start = machine(name)
    known = {"q": start.q, "v": start.v, "z": start.z, "p": eqs.p}
    random = np.random.default_rng(1)
    for function in eqs.functions.values():
        arguments = []
        for i in range(function.n_in()):
            values = np.zeros(function.nnz_in(i))
            given = np.asarray(known.get(function.name_in(i), values), dtype=float)
            arguments.append(around(given if given.size == values.size else values, count, random))
            if function.name_in(i) not in known or function.name_in(i) == "v":
                arguments[-1] += random.normal(size=arguments[-1].shape)
        check(function, arguments)


def short_run(name: str, method: Any) -> list[Kernel]:
    m, eqs, start = machine(name)
    inputs = {key: value for key, value in m.simulation.get("inputs", {}).items() if key in eqs.inputs.names}
    with kernels_made() as made:
        try:
            da.simulate(eqs, start.t + 0.01, start=start, inputs=inputs, every=0.002, method=method)
        except da.errors.DalembertError:  # a method that does not take this machine
            return []
    return made


def method_of(kind: str) -> Any:
    return METHODS[kind](1e-3) if kind in ("RK4", "GeneralizedAlpha") else METHODS[kind]()


RUNS = [
    *(pytest.param(name, None, FEW) for name in QUICK),
    *(pytest.param("four-bar", kind, FEW) for kind in METHODS if kind != "Sundials"),
    *(pytest.param(name, kind, MANY, marks=slow) for name in list_models() for kind in METHODS),
]


@pytest.mark.parametrize(("name", "kind", "count"), RUNS)
def test_the_kernels_of_a_run_have_the_bits_of_the_interpreter(name: str, kind: str | None, count: int) -> None:
    compared = check_all(short_run(name, None if kind is None else method_of(kind)), count, SUNDIALS)
    assert compared or kind is not None


# -- filters and laws --------------------------------------------------------------------------------------------------
FILTERS: dict[str, Callable[..., Any]] = {
    "extended": da.estimate.ExtendedKalman,
    "sigma points": da.estimate.SigmaPointKalman,
    "square root of sigma points": lambda *a, **k: da.estimate.SigmaPointKalman(*a, square_root=True, **k),
}


@pytest.mark.parametrize(
    ("name", "count"),
    [("extended", FEW), ("sigma points", FEW), *(pytest.param(name, MANY, marks=slow) for name in FILTERS)],
)
def test_the_kernels_of_a_filter_have_the_bits_of_the_interpreter(name: str, count: int) -> None:
    eqs = filter_machines.four_bar()
    start = da.assemble(eqs, {"A.angle": 1.0})
    record = da.simulate(eqs, 0.02, start=start, every=0.002)
    with kernels_made() as made:
        FILTERS[name](eqs, outputs=["encoder"], Q=1e-4, R=1e-6, start=start).run(record)
    assert check_all(made, count) > 1


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=slow)])
def test_the_kernels_of_a_sampled_loop_have_the_bits_of_the_interpreter(count: int) -> None:
    _, eqs, _ = machine("cart-pendulum")
    with kernels_made() as made:
        rest = da.equilibrium(eqs)
        law = da.control.lqr(da.linearize(eqs, at=rest), Q=1.0, R=1.0)
        da.simulate(eqs, 0.02, start=rest, controller=law, every=0.005)
    assert check_all(made, count) > 1
