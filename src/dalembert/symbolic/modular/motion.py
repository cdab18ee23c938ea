"""Variables of all orders of a model, their rates, and the constraints of any order (Orsino 2016, sections 2.1 to 2.3).

    q̇⟨k⟩ = g(t, q⟨0⟩, ..., q⟨k+1⟩)       solved from the definitions of quasi-velocities where it is not given
    d/dt x = ∂x/∂t + Σ ∂x/∂q q̇           by the chain rule, as often as needed
    q̄⟨s⟩ = 0                              every constraint of order r ≤ s, differentiated s - r times

The constraint order is the least s with: no constraint and no definition above it, and q̄⟨s⟩ affine in q⟨s⟩. Then
q̄⟨s⟩ = A q⟨s⟩ + b, with the same A for every higher order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.errors import DataError, ModelError, require_name
from dalembert.core.findings import Advice
from dalembert.expressions import Array
from dalembert.symbolic.modular.algebra.elimination import eliminate, is_zero, random_values, solve_square
from dalembert.symbolic.modular.declarations import Parameter
from dalembert.symbolic.modular.parts import RATE, TIME, ModularPart, require_part
from dalembert.symbolic.text.read import require_symbols

SX = ca.SX
POINTS = 3
"""Random points at which ranks and zeros are decided."""
HIGHEST = 8
"""Orders beyond this are refused: expressions grow with every derivative."""


@dataclass(frozen=True)
class InvariantEntry:
    """A variable of the whole model."""

    label: str
    order: int
    unit: str
    symbol: Any
    owner: str


@dataclass(frozen=True)
class Invariant:
    """A constraint at the order of its variables; ``owner`` is the path of its part."""

    name: str
    owner: str
    order: int
    expression: Any


@dataclass(frozen=True)
class ConstraintClassification:
    """The kind of one constraint: holonomic or not, with its order, and whether it depends on time."""

    order: int
    holonomic: bool
    rheonomic: bool
    affine: bool

    @property
    def name(self) -> str:
        """The kind in words."""
        if self.holonomic:
            return f"{'rheonomic' if self.rheonomic else 'scleronomic'} holonomic"
        if self.order == 1 and self.affine:
            return "simple non-holonomic"
        return f"non-holonomic of order {self.order}"


class ModularMotion:
    """All variables, rates and constraints of a part and of everything in it."""

    def __init__(self, root: ModularPart) -> None:
        self.root = root
        self.paths = _paths(root)
        self._rates: dict[int, Any] = {}  # by hash of the symbol
        self._own_rates: dict[int, Any] = {}  # rates that are variables themselves
        self._orders: dict[int, int] = {}
        self._declared: list[InvariantEntry] = []
        self._names: dict[int, str] = {}
        self.parameters: dict[str, Parameter] = {}
        self.inputs: dict[str, Any] = {}
        self.input_units: dict[str, str] = {}
        self.input_motions: dict[str, str] = {}
        self._collect()
        self._levels: list[list[InvariantEntry]] = []
        self.invariants: list[Invariant] = []
        self._replaced: tuple[list[Any], list[Any]] = ([], [])
        self._solve_relations()
        self._read_constraints()

    # -- collection ------------------------------------------------------------------------------------------------
    def _collect(self) -> None:
        for subsystem, path in self.paths.items():
            contents = subsystem.own
            for variable in contents.variables.values():
                label = path + variable.name
                self._declared.append(InvariantEntry(label, variable.order, variable.unit, variable.symbol, path))
                self._register(label, variable.symbol, variable.order)
            for parameter in contents.parameters.values():
                self.parameters[path + parameter.name] = parameter
                self._names[parameter.symbol.element_hash()] = path + parameter.name
            for channel in contents.inputs.values():
                self.inputs[path + channel.name] = channel.symbol
                self.input_units[path + channel.name] = channel.unit
                self._names[channel.symbol.element_hash()] = path + channel.name
                if channel.on is not None:
                    self.input_motions[path + channel.name] = path + channel.on
        self._names[TIME.element_hash()] = "t"

    def _register(self, label: str, symbol: Any, order: int) -> None:
        self._names[symbol.element_hash()] = label
        self._orders[symbol.element_hash()] = order

    def _solve_relations(self) -> None:
        """Rates that are given or follow from definitions; definitions left over become constraints."""
        for subsystem, path in self.paths.items():
            for name in subsystem.own.rates:
                variable = subsystem.own.variables[name]
                self._rates[variable.symbol.element_hash()] = subsystem.own.rates[name]
            self._register_rates(subsystem, path)
        self._make_substitution()
        for subsystem, path in self.paths.items():
            if subsystem.own.relations:
                self._solve_part(subsystem, path)
        self._make_substitution()
        for hash_, rate in list(self._rates.items()):
            self._rates[hash_] = self.resolve(rate)

    def _register_rates(self, part: ModularPart, path: str) -> None:
        for (name, times), symbol in part._rate_symbols.items():
            variable = part.own.variables[name]
            self._register(path + name + RATE * times, symbol, variable.order + times)

    def _make_substitution(self) -> None:
        """Symbols of rates that are expressions of other variables."""
        old, new = [], []
        for subsystem in self.paths:
            for (name, times), symbol in subsystem._rate_symbols.items():
                if times == 1 and subsystem.own.variables[name].symbol.element_hash() in self._rates:
                    old.append(symbol)
                    new.append(self._rates[subsystem.own.variables[name].symbol.element_hash()])
        self._replaced = (old, new)

    def resolve(self, expression: Any) -> Any:
        """An expression without symbols of rates that are expressions themselves."""
        old, new = self._replaced
        for _ in range(HIGHEST):
            if not old or not ca.depends_on(expression, ca.vertcat(*old)):
                return self._resolve_second(expression)
            expression = ca.substitute(expression, ca.vertcat(*old), ca.densify(ca.vertcat(*new)))
        raise ModelError("algebraic-loop", "rates of variables are defined by each other.", where={"rate": str(old[0])})

    def _resolve_second(self, expression: Any) -> Any:
        """Rates of rates of variables whose rate is an expression."""
        for subsystem in self.paths:
            for (name, times), symbol in subsystem._rate_symbols.items():
                entry = subsystem.own.variables[name].symbol
                if times > 1 and entry.element_hash() in self._rates and ca.depends_on(expression, symbol):
                    derivative = self.differentiate(entry, times)
                    expression = ca.substitute(expression, symbol, ca.densify(derivative))
        return expression

    def _solve_part(self, part: ModularPart, path: str) -> None:
        relations = [self.resolve(row.expression) for row in part.own.relations]
        unknown = []
        for variable in part.own.variables.values():
            symbol = part._rate_symbols.get((variable.name, 1))
            if symbol is None or variable.symbol.element_hash() in self._rates:
                continue
            if any(ca.depends_on(row, symbol) for row in relations):
                unknown.append((variable, symbol))
        if not unknown:
            self._add_surplus(part, path, range(len(relations)), relations)
            return
        U = ca.vertcat(*(symbol for _, symbol in unknown))
        rows, levels = list(relations), [0] * len(relations)
        for row in part.own.constraints:  # d/dt of constraints on the variables: the norm of a quaternion
            expression = self.resolve(row.expression)
            if self.order_of(expression) == min(variable.order for variable, _ in unknown):
                rows.append(self._chain(expression, part))
                levels.append(1)
        stack = ca.vertcat(*rows)
        J = ca.jacobian(stack, U)
        affine = [i for i in range(len(rows)) if not ca.depends_on(J[i, :], U)]
        if not any(
            levels[i] == 0 for i in affine
        ):  # |v|²: the rates stay variables, and the definition constrains them
            self._add_surplus(part, path, range(len(relations)), relations)
            return
        numbers = self._at_random(J[affine, :])
        right = [-ca.substitute(stack[i], U, ca.DM.zeros(len(unknown))) for i in affine]
        done = eliminate(J[affine, :], numbers, right=ca.vertcat(*right), rows=[levels[i] for i in affine])
        missing = sorted(set(range(len(unknown))) - set(done.columns))
        if missing:
            names = ", ".join(path + unknown[k][0].name for k in missing)
            raise ModelError(
                "rank-deficient", f"the relations of part {part.name!r} do not determine the rates of {names} "
                f"(ranks at {POINTS} random points).",
                Advice("Give one equation for each rate, or the rate of each coordinate itself."),
                where={"part": part.name, "variables": names},
            )  # fmt: skip
        solved = solve_square(J[[affine[i] for i in done.rows], :], ca.vertcat(*(right[i] for i in done.rows)))
        for column, (variable, _) in enumerate(unknown):
            self._rates[variable.symbol.element_hash()] = solved[column]
        self._make_substitution()
        used = {affine[i] for i in done.rows}
        surplus = [i for i in range(len(relations)) if i not in used]
        self._add_surplus(part, path, surplus, [self.resolve(row) for row in relations])

    def _chain(self, expression: Any, part: ModularPart) -> Any:
        """Time derivative where rates that are not known yet stay symbols."""
        total = ca.jacobian(expression, TIME)
        for variable in part.own.variables.values():
            rate = self._rates.get(variable.symbol.element_hash())
            rate = part.rate(variable.name) if rate is None else rate
            total = total + ca.jacobian(expression, variable.symbol) * rate
        return total

    def _add_surplus(self, part: ModularPart, path: str, left: Sequence[int] | range, relations: list[Any]) -> None:
        for i in left:
            expression = relations[i]
            if not is_zero(self._at_random(expression)).all():
                name = part.own.relations[i].name
                self.invariants.append(Invariant(path + name, path, self.order_of(expression), expression))

    def _read_constraints(self) -> None:
        for subsystem, path in self.paths.items():
            for row in subsystem.own.constraints:
                self.check_symbols(row.expression, f"constraint {path + row.name!r}")
                expression = self.resolve(row.expression)
                order = self.order_of(expression)
                if order < 0 or np.abs(self._at_random(ca.gradient(expression, self._all_of(expression)))).max() == 0:
                    problem = f"constraint {path + row.name!r} does not depend on any variable."
                    raise ModelError("independent-constraint", problem, where={"row": path + row.name})
                self.invariants.append(Invariant(path + row.name, path, order, expression))

    def _all_of(self, expression: Any) -> Any:
        return ca.vertcat(*(s for s in ca.symvar(expression) if s.element_hash() in self._orders))

    # -- variables and orders --------------------------------------------------------------------------------------
    def check_symbols(self, expression: Any, what: str) -> None:
        """Every symbol of an expression belongs to this model."""
        for subsystem, path in self.paths.items():
            self._register_rates(subsystem, path)
        reason = f"which no part of {self.root.name!r} declares; a copy of a part has symbols of its own"
        require_symbols(expression, what, self._names, reason)

    def name_of(self, symbol: Any) -> str:
        """The label of a symbol in the whole model."""
        return self._names.get(symbol.element_hash(), str(symbol.name()))

    def order_of(self, expression: Any) -> int:
        """The highest order of a variable in an expression; -1 where there is none."""
        return max((self._orders.get(s.element_hash(), -1) for s in ca.symvar(expression)), default=-1)

    def rate_of(self, symbol: Any) -> Any:
        """Time derivative of a variable."""
        hash_ = symbol.element_hash()
        found = self._rates.get(hash_, self._own_rates.get(hash_))
        if found is not None:
            return found
        for subsystem, path in self.paths.items():
            for variable in subsystem.own.variables.values():
                if variable.symbol.element_hash() == symbol.element_hash():
                    return self._next_rate(subsystem, path, variable.name, 0)
            for (name, times), rate in subsystem._rate_symbols.items():
                if rate.element_hash() == symbol.element_hash():
                    return self._next_rate(subsystem, path, name, times)
        raise ModelError("foreign-symbol", f"{symbol} is no variable of {self.root.name!r}.")

    def _next_rate(self, part: ModularPart, path: str, name: str, times: int) -> Any:
        symbol = part.rate(name, times + 1)
        order = part.own.variables[name].order + times + 1
        if order > HIGHEST:
            raise ModelError("too-large", f"the rate of {path + name!r} has order {order}; at most {HIGHEST}.")
        self._register(path + name + RATE * (times + 1), symbol, order)
        entry = part.own.variables[name].symbol if times == 0 else part.rate(name, times)
        self._own_rates[entry.element_hash()] = symbol
        return symbol

    def differentiate(self, expression: Any, times: int = 1) -> Any:
        """Time derivative of expressions, as often as asked."""
        for _ in range(times):
            symbols = [s for s in ca.symvar(expression) if s.element_hash() in self._orders]
            total = ca.jacobian(expression, TIME)
            if symbols:
                rates = ca.vertcat(*(self.rate_of(s) for s in symbols))
                total = total + ca.jtimes(expression, ca.vertcat(*symbols), rates)
            expression = self.resolve(total) if self._replaced[0] else total
        return expression

    @cached_property
    def base_order(self) -> int:
        """Variables above this order are rates of those of this order; at least 1."""
        return max((entry.order for entry in self._declared), default=1) or 1

    def variables(self, order: int) -> list[InvariantEntry]:
        """All variables of one order: declared ones, and rates that are variables themselves."""
        while len(self._levels) <= order:
            k = len(self._levels)
            level = [entry for entry in self._declared if entry.order == k]
            if k > 0:
                for entry in self._levels[k - 1]:
                    rate = self.rate_of(entry.symbol)
                    hash_ = rate.element_hash() if rate.is_symbolic() else 0
                    is_variable = self._names.get(hash_) == entry.label + RATE
                    if is_variable:
                        unit = f"{entry.unit or 1}/s" if not entry.unit.endswith("/s") else f"{entry.unit}²"
                        level.append(InvariantEntry(entry.label + RATE, k, unit, rate, entry.owner))
            self._levels.append(level)
        return self._levels[order]

    def labels(self, order: int | None = None) -> tuple[str, ...]:
        """Labels of the variables of one order; of the base order when left out."""
        return tuple(entry.label for entry in self.variables(self.base_order if order is None else order))

    def symbols(self, order: int) -> Any:
        """The variables of one order as a column."""
        return ca.vertcat(SX(0, 1), *(entry.symbol for entry in self.variables(order)))

    def own_labels(self, path: str, order: int | None = None) -> tuple[str, ...]:
        """Labels of the variables that a part has beyond those of its own parts."""
        level = self.variables(self.base_order if order is None else order)
        return tuple(entry.label for entry in level if entry.owner == path)

    # -- constraints -----------------------------------------------------------------------------------------------
    def classify(self, name: str) -> ConstraintClassification:
        """The kind of a constraint, by its name."""
        rows = {row.name: row for row in self.invariants}
        require_name("constraint", name, rows, self.root.name, error=ModelError)
        order, expression = rows[name].order, rows[name].expression
        q = self.symbols(max(order, 0))
        affine = not ca.depends_on(ca.jacobian(expression, q), q)
        return ConstraintClassification(order, order == 0, bool(ca.depends_on(expression, TIME)), affine)

    @property
    def is_holonomic(self) -> bool:
        return all(row.order == 0 for row in self.invariants)

    def invariants_of(self, order: int, owner: str | None = None) -> list[Invariant]:
        """All constraints differentiated up to one order; of one part, or of all."""
        return [
            Invariant(row.name, row.owner, order, self.differentiate(row.expression, order - row.order))
            for row in self.invariants
            if row.order <= order and (owner is None or row.owner == owner)
        ]

    @cached_property
    def constraint_order(self) -> int:
        """The least order at which all constraints are affine in the variables of that order."""
        order = max([row.order for row in self.invariants] + [entry.order for entry in self._declared] + [0])
        while order <= HIGHEST:
            q = self.symbols(order)
            stack = ca.vertcat(SX(0, 1), *(row.expression for row in self.invariants_of(order)))
            if not ca.depends_on(ca.jacobian(stack, q), q):
                return order
            order += 1
        raise ModelError("too-large", f"constraints are not affine in variables of order {HIGHEST}.")

    @property
    def working_order(self) -> int:
        """The order of A: not below the constraint order, nor below the order of the variables."""
        return max(self.constraint_order, self.base_order)

    # -- numbers ---------------------------------------------------------------------------------------------------
    def parameter_values(self, given: Mapping[str, float] | None = None, random: Any = None) -> Array:
        """Values of all parameters, some replaced; a missing value is an error, or becomes a random number."""
        given = given or {}
        for name in given:
            require_name("parameter", name, self.parameters, self.root.name)
        values = []
        for name, parameter in self.parameters.items():
            value = given.get(name, parameter.value)
            if value is None and random is None:
                raise DataError(
                    "missing-argument", f"parameter {name!r} of {self.root.name!r} has no value.",
                    Advice("Give it one where it is declared, or where the model is evaluated."),
                    where={"parameter": name},
                )  # fmt: skip
            values.append(random.uniform(0.5, 1.5) if value is None else real_number(name, value))
        return np.array(values, dtype=float)

    def arguments(self, order: int) -> list[Any]:
        """Columns of symbols: variables of order 0 up to ``order``, inputs, parameters, time."""
        u = ca.vertcat(SX(0, 1), *self.inputs.values())
        p = ca.vertcat(SX(0, 1), *(parameter.symbol for parameter in self.parameters.values()))
        return [*(self.symbols(k) for k in range(order + 1)), u, p, TIME]

    def function(self, expressions: Sequence[Any], order: int) -> ca.Function:
        """A function of `arguments`."""
        return ca.Function(
            "of_motion", self.arguments(order), [ca.densify(expression) for expression in expressions], {"cse": True}
        )

    def point(self, values: Mapping[str, float], order: int, t: float = 0.0) -> list[Array]:
        """Numbers of `arguments`, by label; coordinates left out are those of the pose given with `place`.

        Velocities, higher variables and inputs that are left out are zero.
        """
        labels = set(self.inputs) | set(self.parameters)
        columns = []
        for k in range(order + 1):
            column = []
            for entry in self.variables(k):
                labels.add(entry.label)
                value = values.get(entry.label, self.placement.get(entry.label) if k == 0 else 0.0)
                if value is None:
                    problem = f"coordinate {entry.label!r} has no value."
                    raise DataError("missing-argument", problem, where={"label": entry.label})
                column.append(real_number(entry.label, value))
            columns.append(np.array(column))
        for name in values:
            require_name("variable, input or parameter", name, labels, self.root.name)
        u = np.array([values.get(name, 0.0) for name in self.inputs])
        p = self.parameter_values({name: values[name] for name in self.parameters if name in values})
        return [*columns, u, p, np.array([t])]

    @cached_property
    def placement(self) -> dict[str, float]:
        """Values of coordinates that parts were placed with."""
        return {
            path + name: value
            for subsystem, path in self.paths.items()
            for name, value in subsystem.own.placement.items()
        }

    def _at_random(self, expression: Any) -> Array:
        """Values at random points, off the constraints: for structure only. Shape (points, rows, columns)."""
        return random_values(expression, POINTS)


def variation_norm(derivatives: Sequence[Array]) -> float:
    """Σ_k max_t |dᵏw/dtᵏ| of a variation w, the largest of its entries.

    derivatives : samples of w, ẇ, ... up to the order of the motion, each (times,) or (times, entries).
    """
    samples = [np.abs(np.asarray(sample, dtype=float)) for sample in derivatives]
    return float(np.max(sum(sample.max(axis=0) for sample in samples)))


def _paths(root: ModularPart) -> dict[ModularPart, str]:
    """Every part, leaves first, with the text before its labels; a part that occurs twice is refused."""
    paths: dict[ModularPart, str] = {}

    def visit(part: ModularPart, path: str, above: tuple[ModularPart, ...]) -> None:
        if part in above:
            raise ModelError("cyclic", f"assembly {part.name!r} contains itself.", where={"assembly": part.name})
        for inner in part.parts:  # `Assembly.add` refuses a name that another part has
            visit(inner, f"{path}{inner.name}.", (*above, part))
        if part in paths:
            raise ModelError(
                "duplicate", f"part {part.name!r} occurs twice in the tree of {root.name!r}.",
                Advice("Use a copy under another name."), where={"part": part.name},
            )  # fmt: skip
        paths[part] = path

    visit(require_part(root), "", ())
    return paths
