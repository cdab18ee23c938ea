"""Native code has the bits of CasADi's interpreter, for the kernels of machines, methods, filters and laws.

Every kernel that a short run makes is kept with the arguments of its last evaluation, and evaluated again on random
arguments around them, by the interpreter, by native code and by native code in lanes. On other systems than Linux
x86-64 the promise is 1e-12 (`tests.helpers.native_code`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import ARGUMENTS
from dalembert.expressions import Kernel
from dalembert.expressions.machine_code.native import compile_native
from dalembert.expressions.machine_code.program import Untranslatable
from dalembert.files.models import list_models, read_model
from dalembert.solve.integrate.method import INTEGRATORS
from tests.helpers import filter_machines
from tests.helpers.native_code import Array, assert_same_bits, evaluate, interpret

FEW, MANY = 10, 1000
FINITE = 0.99  # share of results that must be numbers: arguments are drawn where the functions are defined
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
    """Rows near these values, where functions are defined; the first one is the values themselves.

    Every number moves by a hundredth of its own size (a covariance stays one, however small it is), zeros by little.
    Ones stay: a flag knows nothing between yes and no.
    """
    rows = values * (1 + 1e-2 * random.normal(size=(count, values.size)))
    rows += (values == 0) * 1e-3 * random.normal(size=rows.shape)
    rows[:, values == 1] = 1.0
    rows[0] = values
    return rows


def interpret_nearby(function: ca.Function, arguments: list[Array]) -> tuple[list[Array], list[Array]]:
    """Arguments and results, ever nearer to the first row until most results are numbers.

    An implicit step is one where its iteration converges: with stiff modes, only for small deformations.
    """
    for _ in range(4):
        expected = interpret(function, arguments)
        numbers = np.concatenate([values.ravel() for values in expected])
        share = np.isfinite(numbers).mean() if numbers.size else 1.0
        if share > FINITE:
            return arguments, expected
        arguments = [rows[0] + 0.1 * (rows - rows[0]) for rows in arguments]
    raise AssertionError(f"{function.name()}: only {share:.1%} of its results are numbers")


def check(function: ca.Function, arguments: list[Array]) -> None:
    arguments, expected = interpret_nearby(function, arguments)
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
    random = np.random.default_rng(1)
    near = {name: around(values, count, random) for name, values in (("q", start.q), ("z", start.z), ("p", eqs.p))}
    for block in eqs.quaternions:  # a wheel has no contact point where its Euler parameters have another length
        near["q"][:, block.part] /= np.linalg.norm(near["q"][:, block.part], axis=1)[:, None]
    near["v"] = start.v + random.normal(size=(count, eqs.nv))
    for name, function in eqs.functions.items():
        sizes = [function.nnz_in(i) for i in range(function.n_in())]
        check(
            function,
            [
                near[part] if part in near else random.normal(size=(count, size))
                for part, size in zip(ARGUMENTS[name].split(), sizes, strict=True)
            ],
        )


def short_run(name: str, method: Any) -> list[Kernel]:
    m, eqs, start = machine(name)
    inputs = {key: value for key, value in m.simulation.get("inputs", {}).items() if key in eqs.inputs.names}
    with kernels_made() as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", da.errors.SimulationWarning)  # ten steps of 1 ms: bits matter, not accuracy
        try:
            da.simulate(eqs, start.t + 0.01, start=start, inputs=inputs, every=0.002, method=method)
        except da.errors.DalembertError:  # a method that does not take this machine
            return []
    return made


def method_of(kind: str) -> Any:
    return INTEGRATORS[kind](1e-3) if kind in ("RK4", "GeneralizedAlpha") else INTEGRATORS[kind]()


RUNS = [
    *(pytest.param(name, None, FEW) for name in QUICK),
    *(pytest.param("four-bar", kind, FEW) for kind in ("Rosenbrock",)),
    *(pytest.param(name, kind, MANY, marks=slow) for name in list_models() for kind in INTEGRATORS),
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
    "Kalman-Bucy of a machine": da.estimate.ExtendedKalmanBucy,
}


@pytest.mark.parametrize(
    ("name", "count"),
    [("extended", FEW), *(pytest.param(name, MANY, marks=slow) for name in FILTERS)],
)
def test_the_kernels_of_a_filter_have_the_bits_of_the_interpreter(name: str, count: int) -> None:
    eqs = filter_machines.four_bar()
    start = da.assemble(eqs, {"A.angle": 1.0})
    record = da.simulate(eqs, 0.02, start=start, every=0.002)
    with kernels_made() as made:
        FILTERS[name](eqs, outputs=["encoder"], Q=1e-4, R=1e-6, start=start).run(record)
    assert check_all(made, count) > 1


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=slow)])
def test_the_kernels_of_a_kalman_bucy_filter_have_the_bits_of_the_interpreter(count: int) -> None:
    model = da.StateSpace([[0.0, 1.0, 0.0], [-4.0, -0.1, 1.0], [0.0, 0.0, -2.0]], [0, 0, 1], [[1, 0, 0], [0, 1, 0]])
    data = np.random.default_rng(3).normal(size=(20, 3))
    record = da.Record(0.05 * np.arange(20), data, [*model.inputs, *model.outputs])
    with kernels_made() as made:
        da.estimate.KalmanBucy(model, Q=0.1, R=0.01).run(record)
        da.estimate.KalmanBucy(model, Q=0.1, R=0.01, P0=np.eye(3)).run(record)
    assert check_all(made, count) > 0


def cart() -> tuple[da.EquationsOfMotion, Any, Any]:
    """A cart with a pendulum that hangs, its rest and its linear model."""
    _, eqs, _ = machine("cart-pendulum")
    rest = da.equilibrium(eqs)
    return eqs, rest, da.linearize(eqs, at=rest)


LAWS: dict[str, Callable[[Any], Any]] = {
    "continuous": lambda model: da.control.lqr(model, Q=1.0, R=1.0),
    "sampled": lambda model: da.control.lqr(model, Q=1.0, R=1.0, dt=0.005),
    "scheduled, continuous": lambda model: da.control.lqr(model, Q=1.0, R=1.0, horizon=2.0),
    "scheduled, sampled": lambda model: da.control.lqr(model, Q=1.0, R=1.0, horizon=0.1, dt=0.005),
    "with an observer": lambda model: da.control.OutputFeedback(
        da.control.lqr(model, Q=1.0, R=1.0, dt=0.005), da.control.kalman_gain(model, Q=1e-2, R=1e-4, dt=0.005)
    ),
}


@pytest.mark.parametrize(
    ("name", "count"), [("sampled", FEW), *(pytest.param(name, MANY, marks=slow) for name in LAWS)]
)
def test_the_kernels_of_a_closed_loop_have_the_bits_of_the_interpreter(name: str, count: int) -> None:
    with kernels_made() as made:
        eqs, rest, model = cart()
        da.simulate(eqs, 0.02, start=rest, controller=LAWS[name](model), every=0.005)
    assert check_all(made, count) > 1


MOTION = {"shoulder.angle": lambda t: 0.3 + 0.2 * da.sin(2 * t), "elbow.angle": lambda t: 1.4 - 0.4 * da.cos(3 * t)}
SERVOS: dict[str, Callable[[da.EquationsOfMotion, float | None], Any]] = {
    "computed torque": lambda eqs, dt: da.control.computed_torque(eqs, MOTION, frequency=10.0, dt=dt),
    "servo-constraint": lambda eqs, dt: da.control.udwadia_kalaba(
        eqs, {"coupled": lambda s: s["elbow.angle"] - 2.0 * s["shoulder.angle"]}, frequency=10.0, dt=dt
    ),
}


@pytest.mark.parametrize(
    ("name", "dt", "count"),
    [
        ("servo-constraint", 0.002, FEW),
        *(pytest.param(name, dt, MANY, marks=slow) for name in SERVOS for dt in (None, 0.002)),
    ],
)
def test_the_kernels_of_a_servo_law_have_the_bits_of_the_interpreter(name: str, dt: float | None, count: int) -> None:
    m = da.Mechanism("arm", planar=True)
    upper = m.add_body("upper", mass=2.0, inertia=da.rod(0.5))
    lower = m.add_body("lower", mass=1.0, inertia=da.rod(0.4))
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.25, 0))
    m.add_revolute("elbow", upper.at(0.25, 0), lower.at(-0.2, 0))
    m.add_actuator("motor 1", joint="shoulder", input="shoulder torque")
    m.add_actuator("motor 2", joint="elbow", input="elbow torque")
    with kernels_made() as made:
        eqs = da.equations(m)
        start = da.assemble(eqs, {"shoulder.angle": 0.3, "elbow.angle": 1.0})
        law = SERVOS[name](eqs, dt)
        law.inputs_at(start)
        da.simulate(eqs, 0.02, start=start, controller=law, every=0.004)
    assert check_all(made, count) > 1
