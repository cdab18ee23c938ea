"""``equilibrium``: an equilibrium of a machine, or a steady motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dalembert.app.command_line import terminal
from dalembert.app.command_line.common_options import Json
from dalembert.app.command_line.loaded_machine import Machine, load
from dalembert.app.command_line.model_options import Model, Set
from dalembert.app.command_line.operating_point import From, Guess, Held, Hold, Rates, linear_model, rest
from dalembert.app.command_line.registry import command
from dalembert.core.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.equations import State


def without_rounding(
    value: float,
    zero: float = 1e-12,  # [m, rad, m/s, rad/s]: Newton's method leaves 1e-14 or less of a coordinate that is zero
) -> float:
    """The value, or 0 where it is nothing but rounding."""
    return 0.0 if abs(value) < zero else value


@command("Machines", position=4)
def equilibrium(
    model: Model, changes: Set = None, start: From = None, guess: Guess = None, hold: Hold = None, inputs: Held = None,
    rates: Rates = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Find an equilibrium of a machine, or a steady motion.

    Example: dalembert equilibrium pendulum --guess "hinge.angle=80 deg"

    JSON: {"model", "about", "coordinates": {name: {"value", "unit"}}, "rates": {...}, "free": [name],
    "inputs": {name: value}, "stability"}. "free" are coordinates that may have any value at rest.
    """
    machine = load(model, changes)
    at, held = rest(machine, inputs, guess=guess, hold=hold, rates=rates, start=start)
    eqs = machine.eqs
    places = {name: (at[name], unit) for name, unit in zip(eqs.measures.names, eqs.measures.units, strict=True)}
    speeds = {}
    if rates:
        pairs = zip(eqs.measure_rates.names, eqs.measure_rates.units, strict=True)
        speeds = {name: (at[name], unit) for name, unit in pairs if without_rounding(at[name])}
    verdict = stability(machine, at, held)
    about = "steady motion" if rates else "equilibrium"
    if as_json:
        both = [{n: {"value": v, "unit": u} for n, (v, u) in group.items()} for group in (places, speeds)]
        document = {"model": machine.mechanism.name, "about": about, "coordinates": both[0], "rates": both[1]}
        document["free"] = list(at.free)
        terminal.give(
            {**document, "inputs": {name: held.get(name, 0.0) for name in eqs.inputs.names}, "stability": verdict}
        )
        return
    rows: list[tuple[str, ...]] = [
        (name, terminal.number(without_rounding(v)), unit) for name, (v, unit) in {**places, **speeds}.items()
    ]
    head: tuple[str, ...] = ("coordinate", "value", "unit")
    if at.free:
        head = (*head, "")
        rows = [(*row, "may have any value" if row[0] in at.free else "") for row in rows]
    terminal.show_table(f"{machine.mechanism.name}: {about}", head, rows, left=(0, 2, 3))
    if at.free:
        names = ", ".join(at.free)
        terminal.say(f"it rests at any value of {names}; --hold {at.free[0]}=VALUE chooses one")
    if verdict is not None:
        terminal.show(f"small motions about it: {verdict}")


def stability(machine: Machine, at: State, held: Mapping[str, float]) -> str | None:
    """Verdict on small motions; None where there is no linear model."""
    try:
        return linear_model(machine, at, held).stability().verdict
    except DalembertError:
        return None
