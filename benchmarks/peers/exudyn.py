"""Exudyn: planar bodies and revolute joints, implicit steps.

Its explicit Runge-Kutta solvers refuse joints ("contains constraints that cannot be solved"), so they cannot be used.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import exudyn
import numpy as np
from exudyn.itemInterface import (
    LoadMassProportional,
    MarkerBodyMass,
    MarkerBodyPosition,
    NodeRigidBody2D,
    ObjectGround,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
    SensorBody,
)

from benchmarks import reference
from benchmarks.chain import GRAVITY, STEP, affordable
from benchmarks.four_bar import pin_error
from benchmarks.harness import Emit, Method, cpu_time, search

warnings.simplefilter("ignore", DeprecationWarning)


class Planar:
    """A planar system under gravity, built bar by bar."""

    def __init__(self) -> None:
        self.container = exudyn.SystemContainer()
        self.system = self.container.AddSystem()
        self.ground = self.system.AddObject(ObjectGround())

    def bar(self, length: float, mass: float, pose: Any, speed: Any = (0.0, 0.0, 0.0)) -> int:
        """A uniform bar; pose and speed are (x, y, angle) of its centre."""
        node = self.system.AddNode(NodeRigidBody2D(referenceCoordinates=list(pose), initialVelocities=list(speed)))
        body = self.system.AddObject(
            ObjectRigidBody2D(physicsMass=mass, physicsInertia=mass * length**2 / 12, nodeNumber=node)
        )
        centre = self.system.AddMarker(MarkerBodyMass(bodyNumber=body))
        self.system.AddLoad(LoadMassProportional(markerNumber=centre, loadVector=[0, -GRAVITY, 0]))
        return int(body)

    def hinge(self, first: int, x_first: float, second: int, x_second: float) -> None:
        """A revolute joint between points on the axes of two bodies."""
        markers = [
            self.system.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
            for body, x in ((first, x_first), (second, x_second))
        ]
        self.system.AddObject(ObjectJointRevolute2D(markerNumbers=markers))

    def solve(self, kind: str, duration: float, steps: int, *, sparse: bool = False) -> None:
        settings = exudyn.SimulationSettings()
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = reference.SAMPLE
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps, integration.verboseMode = duration, steps, 0
        # A full Newton iteration is faster than a modified one on systems of this size, and more accurate.
        integration.newton.useModifiedNewton = sparse
        integration.generalizedAlpha.spectralRadius = 0.95
        if sparse:
            settings.linearSolverType = exudyn.LinearSolverType.EigenSparse
        self.system.SolveDynamic(settings, solverType=getattr(exudyn.DynamicSolverType, kind))


def _four_bar() -> tuple[Planar, int]:
    """The crank-rocker in its starting pose, and the sensor at the crank pin."""
    lengths = (reference.CRANK, reference.COUPLER, reference.ROCKER)
    theta, (phi, psi) = reference.START_ANGLE, reference.loop_angles(reference.START_ANGLE)
    rates = reference.START_RATE * np.array([1.0, *reference.loop_rates(theta)])
    arms = [length / 2 * np.exp(1j * angle) for length, angle in zip(lengths, (theta, phi, psi), strict=True)]
    spins = [1j * rate * arm for rate, arm in zip(rates, arms, strict=True)]
    centres = (arms[0], 2 * arms[0] + arms[1], reference.GROUND + arms[2])
    speeds = (spins[0], 2 * spins[0] + spins[1], spins[2])
    planar = Planar()
    crank, coupler, rocker = (
        planar.bar(length, length, (r.real, r.imag, angle), (v.real, v.imag, rate))
        for length, r, v, angle, rate in zip(lengths, centres, speeds, (theta, phi, psi), rates, strict=True)
    )
    planar.hinge(planar.ground, 0.0, crank, -reference.CRANK / 2)
    planar.hinge(crank, reference.CRANK / 2, coupler, -reference.COUPLER / 2)
    planar.hinge(coupler, reference.COUPLER / 2, rocker, reference.ROCKER / 2)
    planar.hinge(planar.ground, reference.GROUND, rocker, -reference.ROCKER / 2)
    sensor = planar.system.AddSensor(
        SensorBody(
            bodyNumber=crank,
            localPosition=[reference.CRANK / 2, 0, 0],
            storeInternal=True,
            outputVariableType=exudyn.OutputVariableType.Position,
        )
    )
    planar.system.Assemble()
    return planar, sensor


def four_bar(task: dict[str, Any], emit: Emit) -> None:
    """Trapezoidal rule (index 2) and generalized alpha (index 3)."""

    def run(kind: str, steps: int) -> tuple[float, float]:
        planar, sensor = _four_bar()
        count = len(task["reference"])
        cpu, _ = cpu_time(partial(planar.solve, kind, reference.DURATION, count * steps))
        samples = planar.system.GetSensorStoredData(sensor)
        return cpu, pin_error(samples[1 : count + 1, 1:3], task)

    methods = [
        Method(kind, partial(run, kind), lambda k: {"step": reference.SAMPLE / k}, 60, order=2)
        for kind in ("TrapezoidalIndex2", "GeneralizedAlpha")
    ]
    search(methods, task["tolerances"], emit)


def chain(task: dict[str, Any], emit: Emit) -> None:
    """Bodies and joints; the trapezoidal rule, as no explicit step is possible."""
    begin = time.perf_counter()
    planar = Planar()
    previous, x = planar.ground, 0.0
    for i in range(task["bodies"]):
        rod = planar.bar(1.0, 1.0, (i + 0.5, 0.0, 0.0))
        planar.hinge(previous, x, rod, -0.5)
        previous, x = rod, 0.5
    planar.system.Assemble()
    built = time.perf_counter() - begin

    def simulate(steps: int) -> None:
        planar.solve("TrapezoidalIndex2", STEP * steps, steps, sparse=task["bodies"] > 20)

    affordable("TrapezoidalIndex2, absolute coordinates", simulate, task, emit, build_s=built)
