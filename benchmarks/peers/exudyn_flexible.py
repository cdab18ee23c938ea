"""Exudyn: flexible bodies in a floating frame, reduced to modes (`ObjectFFRFreducedOrder`), generalized-alpha.

Its body is spatial. The frame of a beam is that of its clamped root, a rigid-body node; the tip is a marker that finds
position and rotation from the four points of the last section.
"""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Any

import exudyn
import numpy as np
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
from exudyn.itemInterface import (
    LoadTorqueVector,
    MarkerBodyRigid,
    MarkerNodeRigid,
    MarkerSuperElementPosition,
    MarkerSuperElementRigid,
    NodeRigidBodyRxyz,
    ObjectGround,
    ObjectJointGeneric,
    ObjectJointRevoluteZ,
    ObjectJointSpherical,
    ObjectRigidBody,
    SensorNode,
)
from scipy.sparse import csr_matrix

from benchmarks import flexible
from benchmarks.beams import POINTS, Beam
from benchmarks.harness import Emit, cpu_time, repeats

warnings.simplefilter("ignore", DeprecationWarning)


class Machine:
    """Flexible beams in space."""

    def __init__(self, gravity: float) -> None:
        self.container = exudyn.SystemContainer()
        self.system = self.container.AddSystem()
        self.ground = self.system.AddObject(ObjectGround())
        self.gravity = [0.0, 0.0, -gravity]
        self.sensors: dict[str, int] = {}

    def beam(
        self, name: str, beam: Beam, place: Any, velocity: Any = (0, 0, 0), turning: Any = (0, 0, 0), *,
        payload: float = 0.0,
    ) -> Any:  # fmt: skip
        """A beam; velocity and angular velocity of its frame at the start; mass at its tip, unknown to its modes."""
        M = np.repeat(beam.masses, 3)
        shapes = beam.shapes.reshape(3 * len(beam.masses), -1)
        mesh = FEMinterface()
        mesh.nodes = {"Position": beam.places}
        loaded = M.copy()
        loaded[-3 * POINTS :] += payload / POINTS
        mesh.massMatrix = csr_matrix(np.diag(loaded))
        weighted = M[:, None] * shapes
        mesh.stiffnessMatrix = csr_matrix((weighted * beam.motion[0]) @ weighted.T)
        mesh.modeBasis = {"matrix": shapes, "type": "NormalModes"}
        # Angles about x, y, z: no row for the norm of Euler parameters, a tenth faster. No beam turns by 90° about y.
        made = ObjectFFRFreducedOrderInterface(mesh, rigidBodyNodeType="NodeType.RotationRxyz")
        body = made.AddObjectFFRFreducedOrder(
            self.system, positionRef=list(place), initialVelocity=list(velocity), initialAngularVelocity=list(turning),
            gravity=self.gravity, name=name,
        )  # fmt: skip
        self.sensors[name] = self.system.AddSensor(
            SensorNode(
                nodeNumber=body["nGenericODE2"],
                storeInternal=True,
                outputVariableType=exudyn.OutputVariableType.Coordinates,
            )
        )
        return body

    def on_ground(self, place: Any = (0, 0, 0)) -> int:
        return int(self.system.AddMarker(MarkerBodyRigid(bodyNumber=self.ground, localPosition=list(place))))

    def root(self, body: Any) -> int:
        return int(self.system.AddMarker(MarkerNodeRigid(nodeNumber=body["nRigidBody"])))

    def tip(self, body: Any, beam: Beam, *, turns: bool = True) -> int:
        nodes = [len(beam.masses) - k for k in range(POINTS, 0, -1)]
        kind = MarkerSuperElementRigid if turns else MarkerSuperElementPosition
        return int(
            self.system.AddMarker(
                kind(bodyNumber=body["oFFRFreducedOrder"], meshNodeNumbers=nodes, weightingFactors=[0.25] * POINTS)
            )
        )

    def hinge(self, first: int, second: int, axis: int = 2) -> None:
        turn = np.roll(np.eye(3), axis - 2, axis=0)  # its z along the axis
        self.system.AddObject(
            ObjectJointRevoluteZ(markerNumbers=[first, second], rotationMarker0=turn, rotationMarker1=turn)
        )

    def solve(self, steps: int, step: float, sample: float, *, modified: bool, sparse: bool) -> None:
        settings = exudyn.SimulationSettings()
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = sample
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps, integration.verboseMode = steps * step, steps, 0
        integration.newton.useModifiedNewton = modified
        integration.generalizedAlpha.spectralRadius = flexible.RHO
        kinds = exudyn.LinearSolverType
        settings.linearSolverType = kinds.EigenSparse if sparse else kinds.EXUdense
        self.system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.GeneralizedAlpha)

    def samples(self, name: str) -> np.ndarray:
        """Modal coordinates of a beam (samples, m), the first one at the start."""
        return np.asarray(self.system.GetSensorStoredData(self.sensors[name])[:, 1:])


def slider_crank() -> Machine:
    machine, (crank, rod) = Machine(0.0), flexible.LINKS
    rate, length = flexible.CRANK_RATE, crank.length
    first = machine.beam("crank", crank, (0, 0, 0), turning=(0, 0, rate))
    spin = -rate * length / rod.length
    second = machine.beam("rod", rod, (length, 0, 0), (0, rate * length, 0), (0, 0, spin))
    mass, inertia = flexible.SLIDER
    node = machine.system.AddNode(
        NodeRigidBodyRxyz(referenceCoordinates=[length + rod.length, 0, 0, 0, 0, 0], initialVelocities=[0] * 6)
    )
    machine.system.AddObject(ObjectRigidBody(nodeNumber=node, physicsMass=mass, physicsInertia=[inertia] * 3 + [0] * 3))
    slider = machine.system.AddMarker(MarkerNodeRigid(nodeNumber=node))
    machine.hinge(machine.on_ground(), machine.root(first))
    # The tip turns about z only, so that the axis may be that of the frame: faster than the rotation of the tip.
    pin = [machine.tip(first, crank, turns=False), machine.root(second)]
    machine.system.AddObject(ObjectJointSpherical(markerNumbers=pin))
    frames = [machine.root(first), machine.root(second)]
    machine.system.AddObject(ObjectJointGeneric(markerNumbers=frames, constrainedAxes=[0, 0, 0, 1, 1, 0]))
    machine.system.AddObject(ObjectJointSpherical(markerNumbers=[slider, machine.tip(second, rod, turns=False)]))
    # Along z the beams hold the slider already, and a singular Jacobian would end the run.
    machine.system.AddObject(
        ObjectJointGeneric(markerNumbers=[machine.on_ground(), slider], constrainedAxes=[0, 1, 0, 1, 1, 1])
    )
    return machine


def spin() -> Machine:
    machine = Machine(flexible.GRAVITY)
    body = machine.beam("beam", flexible.BLADE, (0, 0, 0))
    root = machine.root(body)
    machine.hinge(machine.on_ground(), root)
    machine.system.AddLoad(LoadTorqueVector(markerNumber=root, loadVector=[0, 0, flexible.TORQUE]))
    return machine


def chain(bodies: int) -> Machine:
    machine, piece = Machine(flexible.GRAVITY), flexible.PIECE
    previous = machine.on_ground()
    for k in range(bodies):
        body = machine.beam(f"beam{k}", piece, (k * piece.length, 0, 0))
        machine.hinge(previous, machine.root(body), flexible.chain_axis(k))
        previous = machine.tip(body, piece)
    return machine


MACHINES = {"slider-crank": slider_crank, "spin": spin, "chain": lambda: chain(flexible.CHAIN)}


def measure(task: dict[str, Any], emit: Emit) -> None:
    """Microseconds per step with the fastest settings, and the deflection of one beam at the samples."""
    steps, step, sample = task["steps"], task["step"], task["sample"]
    tried = []
    for modified, sparse in product((False, True), (False, True)):
        begin = time.perf_counter()
        machine = MACHINES[task["machine"]]()
        machine.system.Assemble()
        built = time.perf_counter() - begin
        cpu = cpu_time(lambda m=machine, a=modified, b=sparse: m.solve(steps, step, sample, modified=a, sparse=b))[0]
        tried.append((cpu, modified, sparse))
    _, modified, sparse = min(tried)
    cpu = [min(tried)[0]]
    for _ in range(repeats(cpu[0])):
        machine = MACHINES[task["machine"]]()
        machine.system.Assemble()
        cpu.append(cpu_time(lambda m=machine: m.solve(steps, step, sample, modified=modified, sparse=sparse))[0])
    label = f"{'modified' if modified else 'full'} Newton, {'sparse' if sparse else 'dense'}"
    emit(
        {
            "us": 1e6 * min(cpu) / steps,
            "method": f"GeneralizedAlpha, {label}",
            "tried_us": [1e6 * one[0] / steps for one in tried],
            "build_s": built,
            "repeats": len(cpu),
            "middle": (machine.samples(task["beam"])[1:] @ flexible.BEAMS[task["machine"]].middle.T).tolist(),
        }
    )
