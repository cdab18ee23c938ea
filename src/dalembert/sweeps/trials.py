"""Trials: the computation at a point. A trial is a function of a `SweepPoint` that returns numbers by name.

It must be at the top of a module (or a dataclass such as `Simulation`), so that other processes can be sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.core.errors import DalembertError, DataError, ModelError, SimulationWarning, require_name, unknown_name
from dalembert.core.findings import Advice, Finding
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.loop.noise import Noise
from dalembert.loop.simulate import LOOP, simulate
from dalembert.record import Record
from dalembert.solve.constrained.structure import mass_is_singular
from dalembert.solve.integrate.channels import Samples, channel_values, observation
from dalembert.solve.integrate.inputs import Inputs, read_inputs
from dalembert.solve.integrate.judge.accuracy import ENERGIES, judge_energy
from dalembert.solve.integrate.method import OneStep, check_method
from dalembert.solve.integrate.methods.dormand_prince import DormandPrince
from dalembert.solve.integrate.open_run import end_time, sample_times
from dalembert.solve.integrate.run import largest_gap
from dalembert.solve.integrate.together import Starts, runs_together
from dalembert.solve.position.assemble import assemble
from dalembert.solve.position.assemble_together import assemble_together, determines_pose

if TYPE_CHECKING:
    from dalembert.loop.sampled.sampled_run import SampledRun

SEED = "seed"  # axis
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "last": lambda x: x[-1],
    "first": lambda x: x[0],
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(axis=0),
    "peak": lambda x: np.abs(x).max(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "rms": lambda x: np.sqrt(np.mean(np.square(x), axis=0)),
    "all": lambda x: x,
}


@dataclass(frozen=True)
class SweepPoint(Mapping[str, float]):
    """One point of a design: values by name, its number, and a seed of its own."""

    values_by_name: Mapping[str, float]
    index: int
    seed: int

    def __getitem__(self, name: str) -> float:
        require_name("axis", name, tuple(self.values_by_name), "the design")
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)


@dataclass(frozen=True, init=False)
class Simulation:
    """A trial that runs a machine.

    Parameters
    ----------
    outputs : label -> channel (its last value), or (channel, how), how being "last", "first", "max", "min", "peak",
        "mean", "rms" or "all".
    start, velocity : coordinates and speeds to assemble from. Axes named ``"start A.angle"`` or ``"velocity A.angle"``
        change them, axes named as a parameter change that.
    guess : approximate coordinates; they decide which way the loops of the machine close, at every point.
    options : of `da.simulate`: method, every, inputs, controller, observer, noise, ... An axis named ``"seed"`` is the
        seed of the noise; without one, noise that has no seed of its own takes that of the point.
    """

    eqs: EquationsOfMotion
    until: float
    outputs: Mapping[str, tuple[str, str]]
    start: Mapping[str, float]
    velocity: Mapping[str, float]
    guess: Mapping[str, float]
    options: Mapping[str, Any]

    def __init__(
        self,
        eqs: EquationsOfMotion,
        until: float,
        outputs: Mapping[str, Any],
        *,
        start: Mapping[str, float] | None = None,
        velocity: Mapping[str, float] | None = None,
        guess: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        read: dict[str, tuple[str, str]] = {}
        problem = "outputs must name at least one result: a label with a channel and a reduction."
        DataError.when(not isinstance(outputs, Mapping) or not outputs, "empty", problem)
        for label, source in outputs.items():
            channel, how = (source, "last") if isinstance(source, str) else tuple(source)
            require_name("reduction", str(how), tuple(REDUCTIONS), f"output {label!r}")
            read[str(label)] = (str(channel), how)
        vars(self).update(
            eqs=require_equations(eqs), until=float(until), outputs=read, start=dict(start or {}),
            velocity=dict(velocity or {}), guess=dict(guess or {}), options=options,
        )  # fmt: skip

    def __call__(self, point: SweepPoint) -> dict[str, Any]:
        (result,) = self.batch([point])
        if isinstance(result, Exception):
            raise result
        return result

    def batch(self, points: Sequence[SweepPoint]) -> list[dict[str, Any] | Exception]:
        """Results at many points, or why there are none; the runs go together in lanes where the machine allows it."""
        results: list[dict[str, Any] | Exception | None] = [None] * len(points)
        shared = self._in_lanes(tuple(points[0])) if points else None
        off: list[tuple[int, Finding]] = []
        if isinstance(shared, _Together):
            off = self._run_together(shared, points, results)
        elif shared is not None:
            off = self._run_loops(shared, points, results)
        if off:
            k, worst = max(off, key=lambda each: each[1].evidence["share"])
            problem = f"{len(off)} of {len(points)} runs are not accurate, the worst at point {points[k].index}: "
            where, evidence = {**worst.where, "point": points[k].index}, {**worst.evidence, "runs": len(off)}
            worst = replace(worst, problem=problem + worst.problem, where=where, evidence=evidence)
            SimulationWarning.report([worst], stacklevel=2)
        for k, point in enumerate(points):
            if results[k] is None:
                try:
                    results[k] = self._run_alone(point)
                except Exception as error:  # a run may fail in any way: its error is reported, the others continue
                    results[k] = error
        return results  # type: ignore[return-value]

    def goes_together(self, names: tuple[str, ...]) -> bool:
        """Whether the runs at points with these axes share native code in lanes."""
        return self._in_lanes(names) is not None

    def _split(self, point: SweepPoint) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Parameters, coordinates and speeds of a point."""
        parameters, place, speed = {}, dict(self.start), dict(self.velocity)
        for name, value in point.items():
            if name in self.eqs.parameters.index:
                parameters[name] = value
            elif name.startswith("start "):
                place[name.removeprefix("start ")] = value
            elif name.startswith("velocity "):
                speed[name.removeprefix("velocity ")] = value
        return parameters, place, speed

    def _run_alone(self, point: SweepPoint) -> dict[str, Any]:
        start, options = self._start(point), dict(self.options)
        if isinstance(options.get("noise"), Noise):
            options["noise"] = replace(options["noise"], seed=self._seed(point))
        return self._reduce(simulate(start.eqs, self.until, start=start, progress=False, **options))

    def _start(self, point: SweepPoint) -> State:
        parameters, place, speed = self._split(point)
        eqs = self.eqs.replace(**parameters) if parameters else self.eqs
        return assemble(eqs, place, velocity=speed, guess=self.guess)

    def _seed(self, point: SweepPoint) -> int:
        """Seed of the noise at a point: that of an axis, its own, or that of the point."""
        if SEED in point.values_by_name and SEED not in self.eqs.parameters.index:
            problem = f"axis {SEED!r} must hold whole numbers, got {point[SEED]:g}."
            DataError.when(point[SEED] != int(point[SEED]), "not-a-count", problem)
            return int(point[SEED])
        seed = self.options["noise"].seed
        return point.seed if seed is None else int(seed)

    def _reduce(self, run: Record) -> dict[str, Any]:
        return {label: REDUCTIONS[how](np.asarray(run[channel])) for label, (channel, how) in self.outputs.items()}

    # -- in lanes ----------------------------------------------------------------------------------------------------
    def _in_lanes(self, names: tuple[str, ...]) -> _Together | SampledRun | None:
        """What all runs share where they can go together.

        Of runs without a loop parameters and speeds may differ, and the pose must be determined; of sampled loops all.
        """
        shared: dict[Any, _Together | SampledRun | None] = vars(self).setdefault("_shared", {})
        if names not in shared:
            try:
                shared[names] = self._loop() or _Together.of(self, names)
            except DalembertError:  # each single run will report it
                shared[names] = None
        return shared[names]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_shared"}

    def _loop(self) -> SampledRun | None:
        """The closed loop that all runs have, where all its parts are sampled."""
        if not set(self.options) & set(LOOP):
            return None
        from dalembert.loop.closed_loop import prepare_loop

        return prepare_loop(self.eqs, 0.0, self.until, **self.options)

    def _run_loops(
        self, loop: SampledRun, points: Sequence[SweepPoint], results: list[Any]
    ) -> list[tuple[int, Finding]]:
        """Fill in the results; the findings on the energy of runs, by point."""
        from dalembert.loop.sampled.loops_together import LoopStart, run_loops_together

        starts: list[LoopStart] = []
        chosen: list[int] = []
        for k, point in enumerate(points):
            try:
                seed = None if loop.loop.noise is None else self._seed(point)
                starts.append(LoopStart(self._start(point), seed))
                chosen.append(k)
            except Exception as error:
                results[k] = error
        off: list[tuple[int, Finding]] = []
        for number, run in run_loops_together(loop, starts, len(starts)):
            k = chosen[number]
            try:
                results[k] = run if isinstance(run, Exception) else self._reduce(run)
            except Exception as error:
                results[k] = error
            if isinstance(run, Record):
                off += ((k, finding) for finding in judge_energy(run, loop.host.method, starts[number].state))
        return off

    def _run_together(
        self, shared: _Together, points: Sequence[SweepPoint], results: list[Any]
    ) -> list[tuple[int, Finding]]:
        """Fill in the results of sound runs; the findings on their energy, by point."""
        eqs = self.eqs
        split = [self._split(point) for point in points]
        p = np.tile(eqs.p, (len(points), 1))
        for name in points[0]:
            if name in eqs.parameters.index:
                p[:, eqs.parameters.index[name]] = [parameters[name] for parameters, _, _ in split]
        wanted = {eqs.full_name(n): np.array([place[n] for _, place, _ in split], dtype=float) for n in split[0][1]}
        speeds = {eqs.full_name(n): np.array([speed[n] for _, _, speed in split], dtype=float) for n in split[0][2]}
        q, v, closed = assemble_together(eqs, shared.nominal, wanted, speeds, p)
        chosen = np.flatnonzero(closed & eqs.has_inertia(p))
        z = np.tile(shared.nominal.z, (len(chosen), 1))
        starts = Starts(shared.nominal.t, q[chosen], v[chosen], z, p[chosen])
        runs = runs_together(eqs, shared.method, shared.inputs, starts, shared.end, shared.times)
        sound = [(k, samples) for k, samples in zip(chosen, runs, strict=True) if samples is not None]
        if not sound:
            return []
        count, size = len(sound), len(shared.times)
        u = np.tile(shared.inputs.values(eqs, shared.times), (count, 1))
        rows = np.repeat([p[k] for k, _ in sound], size, axis=0)
        everything = channel_values(eqs, Samples.join([samples for _, samples in sound]), u, rows, runs=count)
        names = {name: k for k, name in enumerate(observation(eqs)[1])}
        off: list[tuple[int, Finding]] = []
        gap = largest_gap(shared.nominal)
        for (k, _), data in zip(sound, everything.reshape(count, size, -1), strict=True):
            if shared.method.stabilise is not None or data[:, names["residual.position"]].max() <= gap:
                results[k] = {
                    label: REDUCTIONS[how](data[:, names[channel]]) for label, (channel, how) in self.outputs.items()
                }
                run = Record(shared.times, data[:, [names[name] for name in ENERGIES]], ENERGIES, name=eqs.name)
                off += ((int(k), finding) for finding in judge_energy(run, shared.method, shared.nominal))
        return off

    def check(self, names: tuple[str, ...]) -> None:
        """Whether every axis is a parameter, a start or a speed."""
        for name in names:
            if name in self.eqs.parameters.index or name.startswith(("start ", "velocity ")):
                continue
            if name == SEED and isinstance(self.options.get("noise"), Noise):
                continue
            listed = (*self.eqs.parameters.names, *(f"start {n}" for n in self.eqs.measures.names[:6]))
            raise ModelError(
                "unknown-name",
                unknown_name("axis", name, listed, f"equations {self.eqs.name!r}"),
                Advice("An axis is a parameter, 'start <coordinate>', 'velocity <coordinate>' or, of noise, 'seed'."),
                where={"name": name},
            )


@dataclass(frozen=True)
class _Together:
    """What runs of a machine with different parameters share."""

    method: OneStep
    inputs: Inputs
    nominal: State  # with the parameters of the equations
    end: float
    times: Array

    @classmethod
    def of(cls, trial: Simulation, names: tuple[str, ...]) -> _Together | None:
        eqs, options = trial.eqs, trial.options
        method = check_method(options.get("method") or DormandPrince())
        channels = {channel for channel, _ in trial.outputs.values()}
        if (
            not isinstance(method, OneStep)
            or eqs.stick_slip is not None
            or set(options) - {"method", "every", "inputs"}
            or any(name.startswith("start ") for name in names)
            or not channels <= set(observation(eqs)[1])
            or mass_is_singular(eqs)
        ):
            return None
        values = dict(zip(eqs.parameters.names, eqs.parameter_values, strict=True))
        eqs.replace(**{name: values[name] for name in names if name in values})  # refuses one without effect
        nominal = assemble(eqs, trial.start, guess=trial.guess)
        velocities = [*trial.velocity, *(name.removeprefix("velocity ") for name in names if " " in name)]
        if any(eqs.full_name(name) not in eqs.measures.index for name in velocities):
            return None
        if not determines_pose(eqs, nominal, tuple(eqs.full_name(name) for name in trial.start)):
            return None
        inputs, end = read_inputs(eqs, options.get("inputs")), end_time(trial.until, nominal.t)
        if inputs.span[0] > nominal.t or inputs.span[1] < end:
            return None
        times = sample_times(nominal.t, end, options.get("every"), method.step)
        return cls(method, inputs, nominal, end, times)
