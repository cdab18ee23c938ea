"""The plant of a synthesis by the names of its channels, and the loop around it.

    x′ = A x + B₁ w + B₂ u ,    z = C₁ x + D₁₁ w + D₁₂ u ,    y = C₂ x + D₂₁ w + D₂₂ u ,    u = K y

w are disturbances, references and noise, z what shall be small, u the driven inputs and y the outputs that the
controller reads. K has the sign of the interconnection: a negative feedback has a negative gain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import scipy.linalg

from dalembert.control.judge.reach import require_detectable, require_stabilizable
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import names, positive
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from dalembert.linear.transforms.interconnect import append, close
from dalembert.linear.uncertain import Uncertain
from dalembert.numerics.balancing import balance_system

Names = str | Iterable[str] | None
Measured = Annotated[Names, names("output", "outputs", gives="read", least=1), "outputs that the controller reads"]
Actuated = Annotated[Names, names("input", "inputs", gives="drives", least=1), "inputs that the controller drives"]
Disturbances = Annotated[Names, names("input", "inputs", least=1), "inputs that disturb; all that are not driven"]
Performance = Annotated[Names, names("output", "outputs", least=1), "outputs to keep small; all that are not read"]

Fastest = Annotated[
    float,
    positive,
    "limit of the poles [rad/s] where a singular problem is regularised; 200 times the size of A where left out",
]


@dataclass(frozen=True)
class GeneralizedPlant:
    """Matrices of the plant, one block per pair of channels; continuous."""

    A: FloatArray
    B1: FloatArray
    B2: FloatArray
    C1: FloatArray
    C2: FloatArray
    D11: FloatArray
    D12: FloatArray
    D21: FloatArray
    D22: FloatArray

    @property
    def nx(self) -> int:
        return len(self.A)

    def balanced(self) -> GeneralizedPlant:
        """In states of like size; the channels stay."""
        A, B, C, _ = balance_system(self.A, np.hstack([self.B1, self.B2]), np.vstack([self.C1, self.C2]))
        nw, nz = self.B1.shape[1], len(self.C1)
        return replace(self, A=A, B1=B[:, :nw], B2=B[:, nw:], C1=C[:nz], C2=C[nz:])

    def transposed(self) -> GeneralizedPlant:
        """The dual plant: what holds for u holds for y."""
        return GeneralizedPlant(self.A.T, self.C1.T, self.C2.T, self.B1.T, self.B2.T,
                                self.D11.T, self.D21.T, self.D12.T, self.D22.T)  # fmt: skip


@dataclass(frozen=True)
class LoopChannels:
    """Names of w, z, y and u."""

    disturbances: tuple[str, ...]
    performance: tuple[str, ...]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]


def choose_channels(
    system: StateSpace | Uncertain, disturbances: Names, performance: Names, outputs: Names, inputs: Names
) -> LoopChannels:
    """The four sets of names; disturbances and performance are the remaining ones where left out."""
    read, drives = tuple(outputs or ()), tuple(inputs or ())
    w = tuple(disturbances or (name for name in system.inputs if name not in drives))
    z = tuple(performance or (name for name in system.outputs if name not in read))
    for noun, chosen, argument in (("disturbance", w, "disturbances"), ("output to keep small", z, "performance")):
        problem = f"there is no {noun}: every one is in the loop. Name some with {argument}=."
        DataError.when(not chosen, "empty", problem, where={"argument": argument})
    return LoopChannels(w, z, read, drives)


def partition(system: StateSpace, channels: LoopChannels) -> GeneralizedPlant:
    """Blocks of a continuous plant."""
    w, u = ([system.inputs.index(name) for name in each] for each in (channels.disturbances, channels.inputs))
    z, y = ([system.outputs.index(name) for name in each] for each in (channels.performance, channels.outputs))
    B, C, D = system.B, system.C, system.D
    return GeneralizedPlant(
        np.array(system.A), B[:, w], B[:, u], C[z], C[y], D[np.ix_(z, w)], D[np.ix_(z, u)], D[np.ix_(y, w)],
        D[np.ix_(y, u)],
    )  # fmt: skip


def require_stabilizing_controller(system: StateSpace, channels: LoopChannels) -> None:
    """Refuse a plant that no controller of these channels stabilises, and name the modes."""
    u = [system.inputs.index(name) for name in channels.inputs]
    y = [system.outputs.index(name) for name in channels.outputs]
    require_stabilizable(system.A, system.B[:, u], system.dt, system.states, channels.inputs)
    require_detectable(
        system.A, system.C[y], system.dt, system.states, what=f"is not seen by {', '.join(channels.outputs)}",
        advice="Read an output that shows it, or take it out of the model: system.minimal().", border=False,
    )  # fmt: skip


def close_loop(system: StateSpace, controller: StateSpace) -> StateSpace:
    """The plant with u = K y: inputs and outputs as before, inputs of the plant add to the command."""
    u = [system.inputs.index(name) for name in controller.outputs]
    y = [system.outputs.index(name) for name in controller.inputs]
    if not system.D[np.ix_(y, u)].any():  # no loop of direct terms: gains of any size
        B, C, D = system.B, system.C, system.D
        gain = controller.D @ np.hstack([C[y], D[y]])
        A = np.block([[system.A + B[:, u] @ gain[:, : system.nx], B[:, u] @ controller.C],
                      [controller.B @ C[y], controller.A]])  # fmt: skip
        return system.replace(
            A=A, B=np.vstack([B + B[:, u] @ gain[:, system.nx :], controller.B @ D[y]]),
            C=np.hstack([C + D[:, u] @ gain[:, : system.nx], D[:, u] @ controller.C]),
            D=D + D[:, u] @ gain[:, system.nx :],
            states=[*system.states, *(f"synthesis.{name}" for name in controller.states)],
        )  # fmt: skip
    joined = append([system, controller], "synthesis")
    K = np.zeros((joined.nu, joined.ny))
    for k, name in enumerate(controller.outputs):
        K[system.inputs.index(name), system.ny + k] = 1.0
    for k, name in enumerate(controller.inputs):
        K[system.nu + k, system.outputs.index(name)] = 1.0
    closed = close(joined, K, np.eye(joined.nu, system.nu), np.eye(joined.ny)[: system.ny],
                   inputs=system.inputs, outputs=system.outputs, units={})  # fmt: skip
    return closed.replace(provenance=dict(system.provenance))


def shift_feedthrough(controller: StateSpace, D22: FloatArray) -> StateSpace:
    """The controller of y = ... + D₂₂ u from that of the plant without it: K (I + D₂₂ K)⁻¹."""
    if not D22.any():
        return controller
    loop = np.eye(len(D22)) + D22 @ controller.D
    B = np.linalg.solve(loop.T, controller.B.T).T
    D = np.linalg.solve(loop.T, controller.D.T).T
    C = controller.C - D @ D22 @ controller.C
    return controller.replace(A=controller.A - B @ D22 @ controller.C, B=B, C=C, D=D)


def map_to_continuous(system: StateSpace, zero: float = 1e-12) -> StateSpace:
    """A sampled plant by z = (1 + s)/(1 - s), which keeps norms and stability; its frequencies are tan(ω dt / 2).

    zero : singular value of I + A, of the largest, below which a pole is at z = -1: an inverse without four digits.
    """
    right = np.eye(system.nx) + system.A
    singular = np.linalg.svd(right, compute_uv=False)
    DataError.when(
        system.nx and singular[-1] <= zero * singular[0], "no-solution",
        "a pole of the sampled plant is at z = -1, where no H-infinity synthesis is possible. Change its sample time.",
    )  # fmt: skip
    root, inverse = np.sqrt(2.0), np.linalg.inv(right) if system.nx else right
    return system.replace(
        A=inverse @ (system.A - np.eye(system.nx)), B=root * inverse @ system.B, C=root * system.C @ inverse,
        D=system.D - system.C @ inverse @ system.B, dt=None,
    )  # fmt: skip


def map_to_discrete(system: StateSpace, dt: float) -> StateSpace:
    """Inverse of `map_to_continuous`."""
    left = np.linalg.inv(np.eye(system.nx) - system.A)
    root = np.sqrt(2.0)
    return system.replace(
        A=left @ (np.eye(system.nx) + system.A), B=root * left @ system.B, C=root * system.C @ left,
        D=system.D + system.C @ left @ system.B, dt=dt,
    )  # fmt: skip


def null_rows(D: FloatArray, zero: float = 0.0, rank: float = 1e-9) -> FloatArray:
    """Orthonormal rows of the inputs that D does not weigh.

    zero, rank : singular value, absolute and of the largest, that counts as zero.
    """
    if not D.size:
        return np.eye(D.shape[1])
    _, sigma, Vt = scipy.linalg.svd(D)
    return np.asarray(Vt[int(np.sum(sigma > max(rank * sigma[0], zero))) :])


def parrott_bound(D11: FloatArray, D12: FloatArray, D21: FloatArray, rank: float = 1e-12) -> float:
    """Smallest gain of D₁₁ + D₁₂ K D₂₁ over all K; ``rank``: singular value, of the largest, that is zero."""

    def without(D: FloatArray) -> FloatArray:
        U, sigma, _ = np.linalg.svd(D)
        return U[:, int(np.sum(sigma > rank * sigma.max(initial=0.0))) :] if D.size else np.eye(len(D))

    left, right = without(D12).conj().T @ D11, D11 @ without(D21.conj().T)
    return max((float(np.linalg.norm(each, 2)) for each in (left, right) if each.size), default=0.0)
