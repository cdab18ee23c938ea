"""Operating points: the chosen equilibrium or steady motion, and the linear model about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from dalembert.app.command_line import option_values, terminal
from dalembert.app.command_line.loaded_machine import Machine
from dalembert.app.command_line.model_options import Repeated, repeatable
from dalembert.core.errors import ConvergenceError, DalembertError

if TYPE_CHECKING:
    from dalembert.equations import State
    from dalembert.linear import SecondOrder, StateSpace


Guess = Annotated[Repeated, repeatable("--guess", "Near which equilibrium, stable or not")]
From = Annotated[Repeated, repeatable("--start", "Pose to search from; that of the model, else its drawing")]
Hold = Annotated[Repeated, repeatable("--hold", "A coordinate with this value")]
Held = Annotated[Repeated, repeatable("--input", "Value of an input; constant ones of the model apply, others are 0")]
Rates = Annotated[
    Repeated, repeatable("--rate", "Steady motion: constant rate of a coordinate, NAME=free for one to be found")
]


def rest(
    machine: Machine, inputs: list[str] | None = None, *, guess: list[str] | None = None,
    hold: list[str] | None = None, rates: list[str] | None = None, start: list[str] | None = None,
) -> tuple[State, dict[str, float]]:  # fmt: skip
    """The chosen equilibrium or steady motion, and the values of the inputs there.

    Constant inputs of the file keep their values (the force that carries an arm), unless the machine has no rest with
    them (a motor that turns). Then all inputs that are not given are zero, and a message reports it.
    """
    from dalembert.solve.rest.equilibrium import equilibrium as find

    steady = {
        name: None
        if text.lower() == "free"
        else option_values.quantity(text, "--rate", machine.unit_of(f"velocity {name}"))
        for name, text in option_values.pairs(rates, "--rate").items()
    }
    near, held_values = machine.read_values(guess, "--guess") or None, machine.read_values(hold, "--hold") or None
    begin = machine.start(start) if rates else machine.still(start)
    values = machine.read_values(inputs, "--input")

    def solve(held: dict[str, float]) -> State:
        with terminal.show_waiting("looking for the steady motion" if steady else "looking for the equilibrium"):
            return find(machine.eqs, start=begin, guess=near, inputs=held, hold=held_values, rates=steady or None)

    held = {**machine.constant_inputs(), **values}
    try:
        at = solve(held)
    except ConvergenceError as error:
        if not any(held[name] for name in held if name not in values):
            raise
        held = values
        try:
            at = solve(held)
        except DalembertError:
            raise error from None
    unset = [name for name in machine.mechanism.simulation.get("inputs", {}) if name not in held]
    if unset:
        terminal.say(f"inputs of the model's run are zero here: {', '.join(unset)}; --input NAME=VALUE sets one")
    return at, held


def linear_model(machine: Machine, at: State, held: Mapping[str, float], **options: Any) -> SecondOrder | StateSpace:
    from dalembert.solve.rest.linearize import linearize as make

    return make(machine.eqs, at, inputs=held, **options)
