"""Parts of a modular model as a user describes them: leaves, and assemblies of parts (Orsino 2016, sections 2.2, 4.2).

A part has variables of any order: coordinates (order 0), quasi-velocities (1), quasi-accelerations (2), and so on. The
rate of a variable is an expression of variables one order higher; where none is given, the rate is such a variable
itself. Constraints are equations of variables of any order. Forces act along any expression of motion.

Parts contain symbols and expressions; `symbolic.modular.model` derives everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca

from dalembert.core.arguments import one_of, real_number, whole_number
from dalembert.core.declare import instance
from dalembert.core.errors import ModelError, require_name, require_new_name, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.equations.equations_of_motion import EquationsOfMotion, equations
from dalembert.symbolic.modular.declarations import (
    Energy,
    Input,
    ModularForce,
    ModularVariable,
    NamedEquation,
    Parameter,
    PartContents,
)
from dalembert.symbolic.text.convert import is_sympy
from dalembert.symbolic.text.read import read_scalar

TIME = ca.SX.sym("t")
"""Time, in expressions of any part."""

RATE = ".rate"
COPY = Advice("Use a copy under another name: {}.", Call("part.copy"))
COMPARISONS = (ca.OP_LT, ca.OP_LE, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


class ModularPart:
    """Common base of leaves and assemblies; make a `Leaf` or an `Assembly`."""

    def __init__(self, name: str) -> None:
        self.name = _read_name("part", name)
        self.own = PartContents()
        self._rate_symbols: dict[tuple[str, int], Any] = {}

    @property
    def parts(self) -> tuple[ModularPart, ...]:
        """The parts of an assembly; a leaf has none."""
        return ()

    @property
    def time(self) -> Any:
        """The symbol of time."""
        return TIME

    # -- variables -------------------------------------------------------------------------------------------------
    def add_coordinate(self, name: str, unit: str = "", *, rate: Any = None) -> Any:
        """A variable of order 0. Its rate is an expression of velocities, or the new velocity ``<name>.rate``."""
        return self.add_variable(name, 0, unit, rate=rate)

    def add_velocity(self, name: str, unit: str = "", *, definition: Any = None) -> Any:
        """A quasi-velocity; ``definition`` is its expression in coordinates and their rates, where it has one."""
        return self.add_variable(name, 1, unit, definition=definition)

    def add_variable(self, name: str, order: int, unit: str = "", *, rate: Any = None, definition: Any = None) -> Any:
        """A variable of any order.

        Parameters
        ----------
        rate : its time derivative, an expression of variables one order higher
        definition : its expression in the rates of variables one order lower; the rates are solved from definitions
        """
        self._check_new(name)
        whole_number(f"the order of variable {name!r}", order, error=ModelError)
        symbol = ca.SX.sym(name)
        self.own.variables[name] = ModularVariable(name, order, unit, symbol)
        if rate is not None:
            self.own.rates[name] = self._graph(rate, f"the rate of {name!r}")
        if definition is not None:
            residual = symbol - self._graph(definition, f"{name!r}")
            self.own.relations.append(NamedEquation(f"{name} definition", residual))
        return symbol

    def rate(self, of: Any, times: int = 1) -> Any:
        """The symbol of the rate of a variable, by name or symbol; ``times=2`` of the rate of its rate."""
        owner, name = self._owner(of)
        key = (name, whole_number("times", times, 1, 20))
        if key not in owner._rate_symbols:
            owner._rate_symbols[key] = ca.SX.sym(name + RATE * times)
        return owner._rate_symbols[key]

    def differentiate(self, expression: Any) -> Any:
        """Time derivative of an expression (or matrix of them), with symbols of rates in it."""
        total = ca.jacobian(ca.vec(expression), TIME)
        names = {symbol.element_hash() for symbol in ca.symvar(expression)}
        for subsystem in walk(self):
            for variable in list(subsystem.own.variables.values()):
                if variable.symbol.element_hash() in names:
                    total += ca.jacobian(ca.vec(expression), variable.symbol) * subsystem.rate(variable.name)
            for (name, times), symbol in list(subsystem._rate_symbols.items()):
                if symbol.element_hash() in names:
                    total += ca.jacobian(ca.vec(expression), symbol) * subsystem.rate(name, times + 1)
        return ca.reshape(total, expression.shape)

    def relate(self, expression: Any, name: str = "") -> None:
        """An equation (expression = 0) that determines rates of variables; equations in excess are constraints."""
        name = name or f"relation {len(self.own.relations) + 1}"
        residual = self._equation(expression, f"relation {name!r} of {self.name!r}")
        self.own.relations.append(NamedEquation(name, residual))

    def add_parameter(self, name: str, value: float | None = None, unit: str = "") -> Any:
        """A number that stays a symbol."""
        self._check_new(name)
        symbol = ca.SX.sym(name)
        number = None if value is None else real_number(name, value)
        self.own.parameters[name] = Parameter(name, unit, symbol, number)
        return symbol

    def add_input(self, name: str, unit: str = "", *, on: str | None = None) -> Any:
        """An input. With ``on`` it acts along this velocity; else the user writes its symbol in forces."""
        self._check_new(name)
        symbol = ca.SX.sym(name)
        self.own.inputs[name] = Input(name, unit, symbol, on)
        if on is not None:
            self.add_force(symbol, on)
        return symbol

    def add_output(self, name: str, value: Any, unit: str = "") -> None:
        """A quantity that is measured: an expression of variables up to accelerations."""
        require_new_name("output", name, self.own.outputs, f"part {self.name!r}", error=ModelError)
        self.own.outputs[name] = (unit, self._graph(value, f"output {name!r}"))

    # -- constraints and forces --------------------------------------------------------------------------------------
    def constrain(self, expression: Any, name: str = "") -> None:
        """An equation between variables: ``expression = 0``, or ``left == right``. Inequalities are refused."""
        name = name or f"constraint {len(self.own.constraints) + 1}"
        names = [row.name for row in self.own.constraints]
        require_new_name("constraint", name, names, f"part {self.name!r}", error=ModelError)
        residual = self._equation(expression, f"constraint {name!r} of {self.name!r}")
        self.own.constraints.append(NamedEquation(name, residual))

    def add_force(self, value: Any, along: Any) -> None:
        """An effective force dual to a motion: the name of a velocity, or an expression of variables.

        Inertia forces are among them: ``leaf.add_force(F - m * leaf.rate("vx"), "vx")``.
        """
        motion = self[along] if isinstance(along, str) else self._graph(along, "the motion that a force acts along")
        self.own.forces.append(ModularForce(motion, self._graph(value, "a force")))

    def add_kinetic_energy(self, T: Any, *, form: str = "lagrange") -> None:
        """Inertia forces from the kinetic energy, in rates of coordinates or in quasi-velocities.

        form : ``"lagrange"``, or ``"nielsen"`` and ``"tzenoff"``, which differentiate T in time once or twice before
            they differentiate it in the variables; all three give the same forces.
        """
        one_of("form", form, ("lagrange", "nielsen", "tzenoff"), ModelError)
        self.own.energies.append(Energy(form, self._graph(T, "a kinetic energy")))

    def add_gibbs_appell(self, S: Any) -> None:
        """Inertia forces from the Gibbs-Appell function, in the rates of velocities."""
        self.own.energies.append(Energy("gibbs-appell", self._graph(S, "a Gibbs-Appell function")))

    def add_potential(self, V: Any) -> None:
        """Forces from a potential of the coordinates."""
        self.own.energies.append(Energy("potential", self._graph(V, "a potential")))

    def choose(self, *independent: str) -> None:
        """Independent velocities of this part: as many as it has degrees of freedom, by their labels in this part."""
        for k, label in enumerate(independent):
            if label in independent[:k]:
                raise ModelError("duplicate", f"independent variable {label!r} is given twice.", where={"name": label})
        self.own.independent = independent

    def place(self, values: Mapping[str, float]) -> None:
        """A pose: values of coordinates by label. Assemblies start there, and ranks are checked near it too."""
        for label, value in values.items():
            owner, name = self._owner(label)
            owner.own.placement[name] = real_number(label, value)

    def _graph(self, value: Any, what: str) -> Any:
        """An expression of the graph; one of SymPy is converted, its symbols found by their labels in this part."""
        return read_scalar(value, what, _Symbols(self))

    def _equation(self, expression: Any, what: str) -> Any:
        """The residual of ``expression`` or of ``left == right``; an inequality is refused."""
        inequality = is_sympy(expression) and getattr(expression, "is_Relational", False)
        if inequality and getattr(expression, "is_Equality", False):
            inequality, expression = False, expression.lhs - expression.rhs
        residual = ca.SX(0) if inequality else self._graph(expression, what)
        compares = not residual.is_leaf()
        if inequality or (compares and residual.op() in COMPARISONS):
            raise ModelError(
                "not-supported", f"{what} is an inequality; constraints here are equations that hold at all times.",
                Advice("Contacts that open are forces, not constraints."), where={"row": what},
            )  # fmt: skip
        return residual.dep(0) - residual.dep(1) if compares and residual.op() == ca.OP_EQ else residual

    # -- names -----------------------------------------------------------------------------------------------------
    def __getitem__(self, label: str) -> Any:
        """A symbol by its label: ``leaf["vx"]``, ``assembly["left.theta.rate"]``."""
        symbol = self._look_up(label)
        if symbol is None:
            where = {"part": self.name, "symbol": label}
            require_name("symbol", label, self.labels(), f"part {self.name!r}", error=ModelError, where=where)
        return symbol

    def _look_up(self, label: str) -> Any:
        contents = self.own
        for group in (contents.variables, contents.parameters, contents.inputs):
            if label in group:
                return group[label].symbol
        base, times = label, 0
        while base.endswith(RATE):
            base, times = base[: -len(RATE)], times + 1
            if base in contents.variables:
                return self.rate(base, times)
        for subsystem in self.parts:
            if label.startswith(f"{subsystem.name}."):
                symbol = subsystem._look_up(label[len(subsystem.name) + 1 :])
                if symbol is not None:
                    return symbol
        return None

    def labels(self) -> list[str]:
        """Labels of all variables, parameters and inputs of this part and of its parts."""
        contents = self.own
        inner = [f"{subsystem.name}.{label}" for subsystem in self.parts for label in subsystem.labels()]
        return [*contents.variables, *contents.parameters, *contents.inputs, *inner]

    def _owner(self, of: Any) -> tuple[ModularPart, str]:
        """The part that owns a variable, and the variable's name there."""
        if isinstance(of, str):
            if of in self.own.variables:
                return self, of
            for subsystem in self.parts:
                if of.startswith(f"{subsystem.name}."):
                    return subsystem._owner(of[len(subsystem.name) + 1 :])
        elif isinstance(of, ca.SX) and of.is_symbolic():
            for subsystem in walk(self):
                for variable in subsystem.own.variables.values():
                    if ca.is_equal(variable.symbol, of):
                        return subsystem, variable.name
        problem = unknown_name("variable", str(of), self.labels(), f"part {self.name!r}")
        raise ModelError("unknown-name", problem, where={"part": self.name, "variable": str(of)})

    def _check_new(self, name: str) -> None:
        names = (*self.own.variables, *self.own.parameters, *self.own.inputs)
        _read_name("symbol", name, names, f"part {self.name!r}", where={"part": self.name})

    # -- copies ----------------------------------------------------------------------------------------------------
    def copy(self, name: str, **values: float) -> Any:
        """The same model under another name, with symbols of its own; parameters of it may get other values."""
        copied = self._copy_part(name, [], [])
        parameters = copied.own.parameters
        for key, value in values.items():
            require_name("parameter", key, parameters, f"part {self.name!r}", error=ModelError)
            parameters[key] = replace(parameters[key], value=real_number(key, value))
        return copied

    def _copy_part(self, name: str, old: list[Any], new: list[Any]) -> ModularPart:
        copied = type(self)(name)
        inner = [subsystem._copy_part(subsystem.name, old, new) for subsystem in self.parts]

        def renew(symbol: Any) -> Any:
            old.append(symbol)
            new.append(ca.SX.sym(symbol.name()))
            return new[-1]

        def again(group: Any) -> Any:
            return {key: replace(entry, symbol=renew(entry.symbol)) for key, entry in group.items()}

        def substitute(expression: Any) -> Any:
            return ca.substitute(expression, ca.vertcat(*old), ca.vertcat(*new)) if old else expression

        contents = self.own
        variables, parameters, inputs = again(contents.variables), again(contents.parameters), again(contents.inputs)
        copied._rate_symbols = {key: renew(symbol) for key, symbol in self._rate_symbols.items()}
        copied.own = PartContents(
            variables, {key: substitute(rate) for key, rate in contents.rates.items()},
            [replace(row, expression=substitute(row.expression)) for row in contents.relations],
            [replace(row, expression=substitute(row.expression)) for row in contents.constraints],
            [replace(force, along=substitute(force.along), value=substitute(force.value)) for force in contents.forces],
            [replace(energy, expression=substitute(energy.expression)) for energy in contents.energies],
            parameters, inputs, {key: (unit, substitute(value)) for key, (unit, value) in contents.outputs.items()},
            contents.independent, dict(contents.placement), list(contents.quaternions),
        )  # fmt: skip
        for subsystem in inner:
            copied.add(subsystem)  # type: ignore[attr-defined]
        return copied

    def __repr__(self) -> str:
        contents = self.own
        inner = f"{len(self.parts)} parts, " if self.parts else ""
        return (
            f"{type(self).__name__}({self.name!r}: {inner}{len(contents.variables)} variables of its own, "
            f"{len(contents.constraints)} constraints)"
        )


class Leaf(ModularPart):
    """A subsystem without parts: variables, constraints and forces.

    Examples
    --------
    A particle in a plane that stays on a circle, in Cartesian coordinates:

    >>> leaf = Leaf("bead")
    >>> m, r = leaf.add_parameter("m", 0.2, "kg"), leaf.add_parameter("r", 0.5, "m")
    >>> x, y = leaf.add_coordinate("x", "m"), leaf.add_coordinate("y", "m")
    >>> leaf.constrain(x**2 + y**2 - r**2, "circle")
    >>> leaf.add_force(-m * leaf.rate("x", 2), "x.rate")
    >>> leaf.add_force(-m * 9.81 - m * leaf.rate("y", 2), "y.rate")
    >>> leaf.choose("x.rate")
    """


class Assembly(ModularPart):
    """A subsystem made of parts: constraints and forces between them, and variables of its own.

    Examples
    --------
    >>> cart, bob = Leaf("cart"), Leaf("bob")
    >>> _ = cart.add_coordinate("x"), bob.add_coordinate("x")
    >>> pair = Assembly("pair", [cart, bob])
    >>> pair.constrain(pair["cart.x"] == pair["bob.x"], "together")
    """

    def __init__(self, name: str, parts: Iterable[ModularPart] = ()) -> None:
        super().__init__(name)
        self._parts: list[ModularPart] = []
        for subsystem in instance(Iterable)("parts", parts):
            self.add(subsystem)

    @property
    def parts(self) -> tuple[ModularPart, ...]:
        return tuple(self._parts)

    def add(self, part: ModularPart) -> ModularPart:
        """Put a part into this assembly. The same part cannot be used twice: copy it under another name."""
        inner = list(walk(require_part(part)))
        if self in inner:
            problem = f"assembly {self.name!r} would contain itself, through part {part.name!r}."
            raise ModelError("cyclic", problem, where={"assembly": self.name, "part": part.name})
        twice = [each.name for each in inner if each in [*walk(self)]]
        if twice:
            problem = f"part {twice[0]!r} is already in assembly {self.name!r}."
            raise ModelError("duplicate", problem, COPY, where={"assembly": self.name, "part": twice[0]})
        names = [*(each.name for each in self._parts), *self.own.variables]
        place = f"assembly {self.name!r}"
        require_new_name("part", part.name, names, place, COPY, error=ModelError, where={"assembly": self.name})
        self._parts.append(part)
        return part


@equations.register
def _(model: ModularPart, **options: Any) -> EquationsOfMotion:
    from dalembert.symbolic.modular.analysis.equations import modular_equations

    return modular_equations(model, **options)


def walk(part: ModularPart) -> Iterator[ModularPart]:
    """A part and everything in it, leaves first."""
    for inner in part.parts:
        yield from walk(inner)
    yield part


def require_part(part: object) -> ModularPart:
    """A leaf or an assembly."""
    if not isinstance(part, ModularPart):
        raise ModelError("wrong-type", f"a part is a Leaf or an Assembly, got {type(part).__name__}.")
    return part


class _Symbols(Mapping[str, Any]):
    """Symbols of a part by label, for a conversion; symbols of rates are made on first use."""

    def __init__(self, part: ModularPart) -> None:
        self.part = part

    def __getitem__(self, label: str) -> Any:
        if label == "t":
            return TIME
        symbol = self.part._look_up(label.replace(".acceleration", RATE + RATE))
        if symbol is None:
            raise KeyError(label)
        return symbol

    def __iter__(self) -> Iterator[str]:
        return iter(self.part.labels())

    def __len__(self) -> int:
        return len(self.part.labels())


def _read_name(kind: str, name: str, names: Iterable[str] = (), place: str = "", **options: Any) -> str:
    require_new_name(kind, name, names, place, error=ModelError, **options)
    if name.endswith(RATE):
        raise ModelError("bad-name", f"the name of a {kind} must not end with {RATE!r}: {name!r}.")
    return name
