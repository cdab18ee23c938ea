"""The machine of a page: the size of its model, and its parts, each in a table."""

from __future__ import annotations

from typing import Any

from dalembert.core.errors import DalembertError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Quantity
from dalembert.model import Body, Mechanism
from dalembert.solve.position.mobility import mobility
from dalembert.view.plots.figures import list_names, with_unit
from dalembert.view.reports.pages import Piece, Table, Text
from dalembert.view.reports.run_words import MOST_ROWS, count, more


def model_summary(m: Mechanism, eqs: EquationsOfMotion, caption: str = "The model") -> Table:
    """Number and names of bodies, joints, coordinates, inputs, sensors and parameters of a model."""
    parameter_values = dict(zip(eqs.parameters.names, eqs.parameter_values, strict=True))
    rows = [
        ("bodies", str(len(m.bodies)), list_names(body.name for body in m.bodies)),
        ("joints", str(len(m.joints)), list_names(f"{joint.name} ({joint.kind})" for joint in m.joints)),
        ("joint coordinates", str(len(_joint_coordinates(eqs))), list_names(_joint_coordinates(eqs))),
        ("coordinates of bodies", str(eqs.nq), ""),
        ("constraint rows", str(len(eqs.rows)), ""),
        ("forces", str(len(m.forces)), list_names(force.name for force in m.forces)),
        ("inputs", str(eqs.nu), list_names(map(with_unit, eqs.inputs.names, eqs.inputs.units))),
        ("sensors", str(len(m.sensors)), list_names(f"{sensor.name} ({sensor.measure.kind})" for sensor in m.sensors)),
        (
            "parameters",
            str(len(parameter_values)),
            list_names(f"{name} = {value:.4g}" for name, value in parameter_values.items()),
        ),
    ]
    try:
        free = mobility(eqs)
    except DalembertError:  # its joints do not close as drawn: its degrees of freedom there are not known
        free = None
    if free is not None:
        rows.insert(5, ("degrees of freedom", str(free.dof), ""))
    together = tuple((name.replace(" ", "\u00a0"), number, which) for name, number, which in rows)
    return Table(("", "number", "which"), together, caption)


def _joint_coordinates(eqs: EquationsOfMotion) -> list[str]:
    return [eqs.measures.names[k] for k in eqs.recorded_measures]


def machine_tables(m: Mechanism, eqs: EquationsOfMotion) -> list[Piece]:
    """Bodies, joints, forces, sensors and parameters."""
    dimension = "planar" if m.planar else "spatial"
    gravity = ", ".join(f"{float(g):g}" for g in m.gravity)
    pieces: list[Piece] = [
        Text(
            f"A {dimension} machine with {eqs.nq} coordinates, {eqs.nv} speeds and "
            f"{count(len(eqs.rows), 'constraint row', 'constraint rows')}; gravity ({gravity}) m/s²."
        )
    ]
    if m.bodies:
        pieces.append(bodies_table(m, eqs))
    joints = tuple((j.name, j.kind, f"{j.a.body.name} – {j.b.body.name}") for j in m.joints[:MOST_ROWS])
    if joints:
        pieces.append(Table(("joint", "kind", "between"), joints, more(m.joints, "Joints")))
    forces = tuple((force.name, force.kind, ", ".join(force.inputs()) or "–") for force in m.forces)
    if forces:
        pieces.append(Table(("force", "kind", "input"), forces[:MOST_ROWS], more(m.forces, "Forces")))
    sensors = tuple((s.name, s.measure.kind, s.measure.of or "–", s.measure.unit or "–") for s in m.sensors)
    if sensors:
        pieces.append(Table(("sensor", "measures", "of", "unit"), sensors[:MOST_ROWS], more(m.sensors, "Sensors")))
    values = tuple((name, f"{v:.6g}") for name, v in zip(eqs.parameters.names, eqs.parameter_values, strict=True))
    if values:
        pieces.append(Table(("parameter", "value (SI)"), values[:MOST_ROWS], more(values, "Parameters")))
    return pieces


def bodies_table(m: Mechanism, eqs: EquationsOfMotion) -> Table:
    """Masses and inertias of the bodies; their shapes where one has any."""
    bodies = m.bodies[:MOST_ROWS]
    rows = [(body.name, *_inertia(eqs, body, m.planar), _shape(body)) for body in bodies]
    head = ("body", "mass [kg]", "inertia [kg m²]", "shape")
    bare = all(row[-1] == "–" for row in rows)
    shown = tuple(row[:-1] if bare else row for row in rows)
    return Table(head[:-1] if bare else head, shown, more(m.bodies, "Bodies"))


def _inertia(eqs: EquationsOfMotion, body: Body, planar: bool) -> tuple[str, str]:
    """Mass and principal entries of the inertia, with the values of the parameters of the equations."""
    values = dict(zip(eqs.parameters.names, map(float, eqs.p), strict=True))

    def number(x: Any) -> float:
        return float(x.evaluate(values)) if isinstance(x, Quantity) else float(x)

    turning = [body.inertia] if planar else [body.inertia[k][k] for k in range(3)]
    if body.flexible is not None:
        turning = [body.flexible.inertia[k, k] for k in ((2,) if planar else range(3))]
    return f"{number(body.mass):.5g}", ", ".join(f"{number(x):.4g}" for x in turning)


def _shape(body: Body) -> str:
    if body.flexible is not None:
        return f"flexible, {count(body.flexible.modes, 'mode', 'modes')}; inertia about its frame"
    return "–" if body.shape is None else str(body.shape.kind)
