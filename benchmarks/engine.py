"""Group ``engine``: what the interpreter, native code and its making cost by operation, and what a call costs over it.

These figures set `dalembert.expressions.work.EngineCosts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask, cpu_time

MACHINES = ("pendulum", "four-bar", "scara", "excavator", "stewart")
CALLS = 200_000
OVERHEAD = 0.1  # µs of a call over its work
COLD = 1.1  # first call of a kernel over that of the interpreter alone


def rows() -> list[Row]:
    answer = ask("benchmarks.engine", "ours", {}, limit=400.0)
    found = {key: value for line in answer.lines for key, value in line.items()}
    details = {"ours": {"status": answer.status, "reason": answer.reason, **found}}
    return [
        Row("engine/native, per operation", "ns", found.get("native_ns"), {"interpreter": found.get("interpreter_ns")},
            extra={"details": details, "note": found.get("note", "")}),
        Row("engine/call over its work", "us", found.get("call_us"), {"allowed": OVERHEAD}, 1.0),
        Row("engine/first call of a cold kernel", "us", found.get("cold_us"), {"interpreter": found.get("bare_us")},
            COLD),
    ]  # fmt: skip


def ours(task: dict[str, Any], emit: Emit) -> None:
    """Medians over functions of the machines of the library; a call's cost on the smallest function there is."""
    import casadi as ca

    import dalembert as da
    from dalembert.expressions import Kernel
    from dalembert.expressions.machine_code.native import compile_native, llvm
    from dalembert.solve.constrained.solve import forward_function
    from dalembert.solve.integrate.channels import observation

    llvm()
    x = ca.SX.sym("x")
    begin = making(ca.Function("least", [x], [x]), optimise=False)
    lines = []
    for name in MACHINES:
        eqs = da.equations(da.read_model(name))
        for function in (eqs.functions["rows"], observation(eqs)[0].function, forward_function(eqs)):
            lines.append(measure(function, begin))
    found = {name: [line[name] for line in lines] for name in lines[0]} | {"begin_ms": [1e3 * begin]}
    costs = {name: (float(np.median(values)), min(values), max(values)) for name, values in found.items()}
    emit({"costs": costs, "native_ns": costs["native_ns"][0], "interpreter_ns": costs["interpreter_ns"][0]})
    emit({"note": "; ".join(f"{name} {m:.3g} ({low:.3g} to {high:.3g})" for name, (m, low, high) in costs.items())})
    native = compile_native(ca.Function("least", [x], [x]), optimise=True)
    arrays = [np.zeros(1), np.zeros(1)]
    call = native.trigger(arrays, native.work())
    work = native.work()
    table = native.table(arrays, work, [0, 0])
    work_s = min(cpu_time(lambda: native.loop(table, CALLS))[0] for _ in range(5)) / CALLS
    emit({"call_us": 1e6 * (per_call(call) - empty_loop() - work_s)})
    emit(cold_call(da, Kernel))


def measure(function: Any, begin: float) -> dict[str, float]:
    """ns per operation, interpreted, in fast code, in the best and in lanes; µs to make each over the one before.

    begin : seconds of a compilation, whatever its size.
    """
    from dalembert.expressions import Kernel, count_work
    from dalembert.expressions.machine_code.native import compile_native, machines_at_once

    kernel, size, lanes = Kernel(function), count_work(function), machines_at_once()
    rng = np.random.default_rng(0)
    for slot in kernel._inputs:
        slot[:] = rng.uniform(0.2, 0.8, slot.size)
    interpreted = per_call(kernel._run)
    made = [making(function, optimise=best, at=at) for best, at in ((False, 1), (True, 1), (True, lanes))]
    times = []
    for code in (compile_native(function), compile_native(function, optimise=True)):
        times.append(per_call(code.trigger([*kernel._inputs, *kernel._outputs], code.work())))
    together = kernel.together()
    arrays = [np.repeat(slot, lanes) for slot in (*kernel._inputs, *kernel._outputs)]
    work = together.work()
    table = together.table(arrays, work, [0] * len(arrays))
    times.append(per_call(lambda: together.loop(table, 64)) / 64 / lanes)
    numbers, batch = sum(slot.size for slot in (*kernel._inputs, *kernel._outputs)), 512
    rows = [np.repeat(slot[None, :], batch, axis=0) for slot in kernel._inputs]
    packed = per_call(lambda: kernel.many(*rows)) / batch - times[2]
    gains = {"interpreter_ns": interpreted, "native_ns": times[0], "best_gain_ns": times[0] - times[1],
             "lanes_gain_ns": times[1] - times[2]}  # fmt: skip
    costs = {"fast_us": made[0] - begin, "best_us": made[1] - begin, "lanes_us": made[2] - made[1]}
    return {
        **{name: 1e9 * value / size.executed for name, value in gains.items()},
        **{name: 1e6 * value / size.compiled for name, value in costs.items()},
        "pack_ns": 1e9 * packed / numbers,
    }


def making(function: Any, *, optimise: bool, at: int = 1) -> float:
    """CPU seconds to make code, best of two.  at : machines at once."""
    from dalembert.expressions.machine_code.native import compile_native

    return min(cpu_time(lambda: compile_native(function, lanes=at, optimise=optimise))[0] for _ in range(2))


def per_call(call: Callable[[], Any], seconds: float = 0.05) -> float:
    """CPU seconds of a call, best of five loops."""
    count = 1
    while (spent := cpu_time(lambda n=count: [call() for _ in range(n)])[0]) < seconds:
        count = max(2 * count, int(count * seconds / max(spent, 1e-6)))
    return min(cpu_time(lambda n=count: [call() for _ in range(n)])[0] for _ in range(5)) / count


def empty_loop(count: int = 1_000_000) -> float:
    """CPU seconds of a pass through the loop of `per_call` without its call."""
    return min(cpu_time(lambda: [None for _ in range(count)])[0] for _ in range(5)) / count


def cold_call(da: Any, Kernel: Any) -> dict[str, float]:
    """First evaluation of a kernel beside that of CasADi's buffers alone: new functions of a four-bar each time."""
    from dalembert.solve.constrained.solve import forward_function

    function = forward_function(da.equations(da.read_model("four-bar")))
    given = [np.full(function.nnz_in(i), 0.5) for i in range(function.n_in())]
    ours, theirs = [], []
    for _ in range(200):
        kernel = Kernel(function)
        ours.append(cpu_time(lambda k=kernel: k.raw(*given))[0])
        inputs = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
        outputs = [np.zeros(function.nnz_out(i)) for i in range(function.n_out())]
        buffer, run = function.buffer()
        for i, array in enumerate(inputs):
            buffer.set_arg(i, memoryview(array.data))
        for i, array in enumerate(outputs):
            buffer.set_res(i, memoryview(array.data))

        def bare(run: Any = run, inputs: Any = inputs) -> None:
            for slot, values in zip(inputs, given, strict=True):
                slot[:] = values
            run()

        theirs.append(cpu_time(bare)[0])
    return {"cold_us": 1e6 * min(ours), "bare_us": 1e6 * min(theirs)}
