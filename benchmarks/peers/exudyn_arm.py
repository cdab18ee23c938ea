"""Exudyn: the arm with bending links under sampled joint PID, by generalized-alpha."""

from __future__ import annotations

from itertools import product
from typing import Any

import exudyn
import numpy as np
from exudyn.itemInterface import (
    LoadTorqueVector,
    ObjectGenericODE2,
    ObjectJointGeneric,
    ObjectJointSpherical,
    SensorNode,
)

from benchmarks import flexible_arm as arm
from benchmarks.harness import Emit, Method, cpu_time, search
from benchmarks.peers.exudyn_flexible import Machine


class Loops:
    """PID of both joints with the torques against the weight of the unbent arm; once a sample."""

    def __init__(self, gravity: float) -> None:
        self.levers = arm.levers(gravity)
        times = np.arange(0.0, arm.UNTIL + arm.SAMPLE / 2, arm.SAMPLE)
        self.references = arm.angles(times).T.tolist()
        self.slope = arm.LINKS[0].motion[2][-1, 2].tolist()
        self.integral, self.filtered = [0.0, 0.0], [0.0, 0.0]
        self.sample = 0

    def torques(self, q: Any) -> list[float]:
        """Of the next sample; q: pose and modes of both links."""
        first, *modes = q[5:9]
        measured = first, q[14] - first - sum(s * x for s, x in zip(self.slope, modes, strict=True))
        wanted = self.references[min(self.sample, len(self.references) - 1)]
        self.sample += 1
        outer = self.levers[1] * np.cos(wanted[0] + wanted[1])
        weights = self.levers[0] * np.cos(wanted[0]) + outer, outer
        T, h = arm.FILTER, arm.SAMPLE
        result = []
        for k, joint in enumerate(arm.JOINTS):
            kp, ki, kd = arm.GAINS[joint]
            error = wanted[k] - measured[k]
            slope = (self.filtered[k] + kd * error) / (T + h)
            result.append(kp * error + self.integral[k] + slope + weights[k])
            self.integral[k] += ki * h * error
            self.filtered[k] = T * slope - kd * error
        return result


class TwoLinks(Machine):
    """The payload is part of the mass of the second link, whose modes do not know it: no further body, no rows."""

    def __init__(self, gravity: float, start: dict[str, Any]) -> None:
        super().__init__(0.0)
        self.gravity = [0.0, -gravity, 0.0]
        length = arm.LINKS[0].length
        bodies = [
            self.beam("link1", arm.LINKS[0], (0, 0, 0)),
            self.beam("link2", arm.LINKS[1], (length, 0, 0), payload=arm.PAYLOAD),
        ]
        first, second = bodies
        x, y, angle = start["pose"]
        modes = np.split(np.array(start["modes"]), 2)
        for body, eta in zip(bodies, modes, strict=True):
            self.system.SetNodeParameter(body["nGenericODE2"], "initialCoordinates", eta.tolist())
        self.system.SetNodeParameter(second["nRigidBody"], "initialCoordinates", [x - length, y, 0, 0, 0, angle])
        ground, roots = self.on_ground(), [self.root(body) for body in bodies]
        self.hinge(ground, roots[0])
        # The tip turns about z only, so that the axis may be that of the frame: faster than the rotation of the tip.
        pin = [self.tip(first, arm.LINKS[0], turns=False), roots[1]]
        self.system.AddObject(ObjectJointSpherical(markerNumbers=pin))
        self.system.AddObject(ObjectJointGeneric(markerNumbers=roots, constrainedAxes=[0, 0, 0, 1, 1, 0]))
        at = [roots[0], roots[1], self.tip(first, arm.LINKS[0])]
        self.loads = [self.system.AddLoad(LoadTorqueVector(markerNumber=marker)) for marker in at]
        self.add_rotors(first, second)
        kind = exudyn.OutputVariableType.Coordinates
        self.pose = self.system.AddSensor(
            SensorNode(nodeNumber=second["nRigidBody"], storeInternal=True, outputVariableType=kind)
        )
        self.loops = Loops(gravity)

    def add_rotors(self, first: Any, second: Any) -> None:
        """Their inertia on the rates of the joint angles, as a mass matrix: no further coordinate, no rows."""
        nodes = [first["nRigidBody"], first["nGenericODE2"], second["nRigidBody"]]
        slope = arm.LINKS[0].motion[2][-1, 2]
        shoulder, elbow = np.zeros(15), np.zeros(15)
        shoulder[5], elbow[5], elbow[6:9], elbow[14] = 1.0, -1.0, -slope, 1.0
        M = np.zeros((15, 15))
        for joint, row in zip(arm.JOINTS, (shoulder, elbow), strict=True):
            inertia, ratio = arm.ROTORS[joint]
            M += inertia * ratio**2 * np.outer(row, row)
        self.system.AddObject(ObjectGenericODE2(nodeNumbers=nodes, massMatrix=M))

    def move(self, steps: int, *, modified: bool, sparse: bool) -> tuple[float, Any]:
        """CPU seconds with so many steps per sample, and places of the tip (samples, 2)."""
        count, names = 0, ("loadVector",) * 3

        def law(system: Any, t: float) -> bool:
            nonlocal count
            if count % steps == 0:
                shoulder, elbow = self.loops.torques(system.systemData.GetODE2Coordinates().tolist())
                for load, name, torque in zip(self.loads, names, (shoulder, elbow, -elbow), strict=True):
                    system.SetLoadParameter(load, name, [0.0, 0.0, torque])
            count += 1
            return True

        self.system.SetPreStepUserFunction(law)
        self.system.Assemble()
        h = arm.SAMPLE / steps
        cpu = cpu_time(lambda: self.solve(round(arm.UNTIL / h), h, arm.WATCHED, modified=modified, sparse=sparse))[0]
        pose = np.asarray(self.system.GetSensorStoredData(self.pose)[:, 1:])
        rise = self.samples("link2") @ arm.LINKS[1].motion[1][-1, 1]
        length, c, s = arm.LINKS[1].length, np.cos(pose[:, 5]), np.sin(pose[:, 5])
        x, y = arm.LINKS[0].length + pose[:, 0], pose[:, 1]
        return cpu, np.column_stack([x + c * length - s * rise, y + s * length + c * rise])


def measure(task: dict[str, Any], emit: Emit) -> None:
    """Seconds of runs by error with the fastest settings; the tip of a fine run without weight."""
    start = task["start"]
    emit({"light": TwoLinks(0.0, start["0.0"]).move(arm.FINEST, modified=True, sparse=False)[1].tolist()})
    exact = TwoLinks(arm.GRAVITY, start[str(arm.GRAVITY)]).move(arm.FINEST, modified=True, sparse=False)[1]

    def run(steps: int, modified: bool, sparse: bool) -> tuple[float, float]:
        cpu, tip = TwoLinks(arm.GRAVITY, start[str(arm.GRAVITY)]).move(steps, modified=modified, sparse=sparse)
        return cpu, float(np.abs(tip - exact).max())

    methods = [
        Method(
            f"GeneralizedAlpha, {'modified' if modified else 'full'} Newton, {'sparse' if sparse else 'dense'}",
            lambda k, a=modified, b=sparse: run(k, a, b), lambda k: {"step": arm.SAMPLE / k}, 1, 2,
        )
        for modified, sparse in product((False, True), (False, True))
    ]  # fmt: skip
    search(methods, [task["error"]], emit)
