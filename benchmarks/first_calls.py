"""Group ``first``: CPU seconds of first calls on a Stewart platform, in a process that has imported all it needs."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Emit, Row, ask, cpu_time

ALLOWED = 2.0  # CPU seconds of each call
PROCESSES = 3
SAMPLES = 21  # of the record that the filter runs over
CALLS = ("equations", "simulate", "inverse dynamics", "filter", "filter's run")


def rows() -> list[Row]:
    """The fastest of some processes, beside the time allowed."""
    answers = [ask("benchmarks.first_calls", "ours", {}) for _ in range(PROCESSES)]
    found = [{key: value for line in answer.lines for key, value in line.items()} for answer in answers]
    details = {"ours": {"status": answers[-1].status, "reason": answers[-1].reason}}
    return [
        Row(
            f"first/stewart, {call}",
            "s",
            min((one[call] for one in found if call in one), default=None),
            {"allowed": ALLOWED},
            1.0,
            extra={"details": details},
        )
        for call in CALLS
    ]


def ours(task: dict[str, Any], emit: Emit) -> None:
    """Every call once, on a platform that this process has not seen; a four-bar before it imports what they need."""
    import dalembert as da

    use(da.read_model("four-bar"), 10.0, lambda call, seconds: None)
    use(da.read_model("stewart"), 1.0, lambda call, seconds: emit({call: seconds}))


def use(mechanism: Any, until: float, measured: Any) -> None:
    """Equations, a run with the default samples, its inverse dynamics, a filter of a sensor and its run."""
    import dalembert as da

    def timed(call: str, verb: Any) -> Any:
        seconds, result = cpu_time(verb)
        measured(call, seconds)
        return result

    eqs = timed("equations", lambda: da.equations(mechanism))
    start = da.assemble(eqs, **mechanism.start)
    run = timed("simulate", lambda: da.simulate(eqs, until, start=start))
    timed("inverse dynamics", lambda: da.inverse_dynamics(eqs, run, start=start))
    sensors = list(eqs.outputs.names)
    observer = timed("filter", lambda: da.estimate.ExtendedKalman(eqs, outputs=sensors, Q=1e-4, R=1e-6, start=start))
    short = run.between(run.time[0], run.time[SAMPLES - 1])
    timed("filter's run", lambda: observer.run(short))
