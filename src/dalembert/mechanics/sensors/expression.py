"""Any expression of the state."""

from __future__ import annotations

from dalembert.expressions import call_user
from dalembert.mechanics.sensors.output import OUTPUTS, MachineQuantities, Output
from dalembert.mechanics.user_view import as_column
from dalembert.model.sensors.expression import ExpressionMeasure


def expression(machine: MachineQuantities, measure: ExpressionMeasure) -> Output:
    given = call_user(measure.expression, machine.what, machine.host.view())
    return Output(as_column(given, machine.what, machine.host.p_symbols), measure.unit)


OUTPUTS.register("expression", expression)
