"""The interface of a method of integration, and the registry of methods.

A method is a frozen dataclass in a file of its own: its numbers are the fields, and `stepper` builds its step as an
expression. Everything that lists methods reads the registry: the key ``type`` of a model file is the name of the class,
``--method`` on the command line the same name in lower case with dashes. A field with an `option` is a key of the model
file, and an option of the command line where there is one of that name.

    @integrator
    @dataclass(frozen=True)
    class Heun(OneStep):
        step: float = field(metadata=option("fixed step", unit="s"))

Built-in methods are the files of `dalembert.solve.integrate.methods`. An installed package adds its own through an
entry point of the group ``dalembert.integrators`` that names the module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

import casadi as ca
import numpy as np

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.registry import Registry
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.solve.constrained.solve import Baumgarte
from dalembert.solve.integrate.column import Layout
from dalembert.solve.integrate.inputs import Inputs
from dalembert.solve.integrate.native_steps import NativeSteps

MAX_STEPS = 20_000  # for a thousandth of a run: a second of work where nothing advances, 2e7 steps where all does


class Stepper(Protocol):
    """Expressions of one method for one machine and its inputs."""

    @property
    def layout(self) -> Layout: ...

    def start(self) -> ca.Function:
        """(t, h, q, v, z, work, λ, p, constants) -> the column of a run."""

    def step(self) -> ca.Function:
        """(column, p, constants, end, numbers) -> the column after one attempt; unchanged at the end."""


class RunSteps(Protocol):
    """Steps that a run takes; `NativeSteps` describes the functions."""

    layout: Layout
    largest_block: int  # attempts

    @property
    def pace(self) -> float:
        """Seconds of an attempt in the last block; 0 where it is not known."""

    def plan(self, times: Array, span: float) -> None: ...
    def begin(self, t: float, h: float, q: Array, v: Array, z: Array, work: float, lam: Array) -> Array: ...
    def expect(self, attempts: int) -> None: ...
    def block(self, x: Array, attempts: int, end: float) -> Array: ...
    def to(self, states: Array, times: Array) -> Array: ...
    def reach(self, x: Array, t: float) -> Array: ...


class Method(ABC):
    """A method of integration.

    step : fixed step [s]; None where the method chooses its steps.
    stabilise : feedback on the drift of the joints; None where they are closed after every step.
    explicit : stiff forces make its steps short.
    stable : largest step times the fastest rate of the machine at which explicit steps are stable; 0 where unknown.
    iterates : a step iterates, and the column has the last change of the speeds.
    attempts : most attempts for a thousandth of the run; None for no limit.
    """

    step: float | None
    stabilise: Baumgarte | None = None
    explicit: ClassVar[bool] = False
    stable: ClassVar[float] = 0.0
    iterates: ClassVar[bool] = False

    @property
    def attempts(self) -> int | None:
        return None

    @abstractmethod
    def initial_step(self, span: float) -> float:
        """The first step to try in a run of this length."""

    @abstractmethod
    def steps(
        self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None, events_key: Hashable
    ) -> RunSteps:
        """Steps for a run; native code comes from the cache of the equations where it is the same."""


class OneStep(Method):
    """A method whose step starts from one state, and is one expression: it may start anew at every sample."""

    @abstractmethod
    def stepper(self, eqs: EquationsOfMotion, inputs: Inputs, events: ca.Function | None = None) -> Stepper:
        """Expressions of the step."""

    @abstractmethod
    def structure(self) -> Hashable:
        """The fields that change the native code; the others are its data."""

    @abstractmethod
    def numbers(self, *, controlled: bool = True) -> Array:
        """Four numbers that the step reads; without control, every step is accepted."""

    def steps(
        self,
        eqs: EquationsOfMotion,
        inputs: Inputs,
        events: ca.Function | None = None,
        events_key: Hashable = None,
    ) -> NativeSteps:
        return NativeSteps(eqs, self, inputs, events, events_key)


INTEGRATORS: Registry[type[Method]] = Registry(
    "method of integration",
    package="dalembert.solve.integrate.methods",
    group="dalembert.integrators",
    order=lambda kind: kind.__name__,
    error=DataError,
)
Kind = TypeVar("Kind", bound=type[Method])


def integrator(kind: Kind) -> Kind:
    """Register a method under the name of its class."""
    INTEGRATORS.register(kind.__name__, kind, module=kind.__module__)
    return kind


# -- options ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class MethodOption:
    """A number or choice of a method that a model file may set."""

    meaning: str
    unit: str = ""
    type: Any = float
    needed: bool = False


def option(meaning: str, unit: str = "") -> Mapping[str, MethodOption]:
    """Metadata of a field: the meaning of the key, and its unit."""
    return {"option": MethodOption(meaning, unit)}


def options_of(kind: type[Method]) -> dict[str, MethodOption]:
    """Options of a method by the name of their field, in the order of the fields."""
    types = get_type_hints(kind)
    return {
        one.name: MethodOption(
            one.metadata["option"].meaning, one.metadata["option"].unit, types[one.name], one.default is MISSING
        )
        for one in fields(kind)  # type: ignore[arg-type]
        if "option" in one.metadata
    }


def check_method(method: object) -> Method:
    """The method, refused where it is none."""
    if isinstance(method, Method):
        return method
    known = [Call(f"da.{name}") for name in INTEGRATORS]
    raise DataError(
        "wrong-type",
        f"method must be a method of integration, got {method!r}.",
        Advice("Take {}.", *[Argument("method", call) for call in known]),
        where={"argument": "method"},
    )


# -- methods with error control --------------------------------------------------------------------------------------
class ErrorControlled(OneStep):
    """A method that chooses its steps by an estimate of their error, unless `step` is given."""

    rtol: float
    atol: float
    first_step: float
    max_step: float
    max_steps: int

    def __post_init__(self) -> None:
        for name in ("rtol", "atol", "first_step"):
            positive_number(name, getattr(self, name))
        if self.step is not None:
            positive_number("step", self.step)
        whole_number("max_steps", self.max_steps, 1)
        if self.max_step != np.inf:
            positive_number("max_step", self.max_step)

    @property
    def attempts(self) -> int | None:
        return self.max_steps if self.step is None else None

    def initial_step(self, span: float) -> float:
        return float(self.step if self.step is not None else min(self.first_step, self.max_step, span))

    def numbers(self, *, controlled: bool = True) -> Array:
        """rtol, atol, longest step, and 1 for a fixed step; tolerances that accept every step without control."""
        rtol, atol = (self.rtol, self.atol) if controlled else (1e30, 1e30)
        return np.array([rtol, atol, min(self.max_step, 1e300), float(self.step is not None)])
