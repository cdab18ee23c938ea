"""Cascaded joint loops: proportional position inside proportional and integral velocity control.

    ω = k_pp (r - θ) + ṙ ,     τ = k_vp (ω - θ̇) + k_vi ∫ (ω - θ̇) dt + u_ff(r)

u_ff are the inputs that hold the machine against gravity at the references (`joint_pid`). The usual drive of robot
axes; its bandwidth must stay below the first mode with locked joints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import casadi as ca

from dalembert.control.servo.computed_torque import Frequencies, by_coordinate, read_by_coordinate, read_motion
from dalembert.control.servo.custom_law import custom_law
from dalembert.control.servo.joint_pid import holding_inputs
from dalembert.core.declare import checked, instance, mapping, not_negative, positive, text
from dalembert.core.errors import ModelError, require_name
from dalembert.equations import EquationsOfMotion, require_equations
from dalembert.expressions import one_value
from dalembert.loop.interfaces import Law
from dalembert.record import Record

VelocityGains = Annotated[Any, by_coordinate(positive), "k_vp [N m s/rad]", ModelError]
IntegralGains = Annotated[Any, by_coordinate(not_negative), "k_vi [N m/rad]", ModelError]


def prescribed_value(target: Any, name: str, t: Any) -> Any:
    """The value of a motion, a number or a function of time, as an expression."""
    return one_value(target, f"motion of {name!r}", t) if callable(target) else ca.SX(float(target))


@checked
def cascade(
    eqs: EquationsOfMotion,
    motion: Annotated[Mapping[str, Any] | Record, instance(Mapping, Record), ModelError],
    *,
    drives: Annotated[Mapping[str, str], mapping("coordinate", text)],
    position: Frequencies,
    velocity: VelocityGains,
    integral: IntegralGains = 0.0,
) -> Law:
    """P control of positions over PI control of velocities, with the efforts against gravity as feed-forward.

    Parameters
    ----------
    eqs : in joint coordinates, also with flexible links.
    motion : coordinate -> function of time, number or Record; or a Record of joint coordinates.
    drives : coordinate -> input of its motor.
    position, velocity, integral : gains, one for all coordinates or by their names.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> motor = m.add_actuator("motor", joint="hinge", input="torque")
    >>> eqs = da.equations(m, coordinates="joint")
    >>> law = da.control.cascade(eqs, {"hinge.angle": 0.5}, drives={"hinge.angle": "torque"}, position=5.0,
    ...                          velocity=10.0, integral=50.0)
    >>> law.reads
    ('hinge.angle', 'hinge.rate')
    """
    require_equations(eqs)
    targets = {eqs.full_name(name): value for name, value in read_motion(eqs, motion).items()}
    inputs = {eqs.full_name(name): channel for name, channel in drives.items()}
    for name, channel in inputs.items():
        require_name("coordinate", name, targets, "the motion", error=ModelError, argument="drives")
        require_name("input", channel, eqs.inputs.names, f"equations {eqs.name!r}", error=ModelError, argument="drives")
    names = tuple(inputs)
    ModelError.when(not names, "empty", "drives must name the input of at least one coordinate.")
    gains = [read_by_coordinate(eqs, names, each) for each in (position, velocity, integral)]
    places = [eqs.coordinates.index[name] for name in names]
    rates = [eqs.measure_rates.names[eqs.measures.index[name]] for name in names]
    feed_forward = holding_inputs(eqs, places, [eqs.speeds.index[rate] for rate in rates],
                                  [eqs.inputs.index[channel] for channel in inputs.values()])  # fmt: skip
    sums = [f"{name}.integral" for name in names]

    def law(s: Any) -> Any:
        references = [prescribed_value(targets[name], name, s.t) for name in names]
        held = ca.vertsplit(feed_forward(ca.vertcat(*references)))
        commands, errors = [], {}
        for k, name in enumerate(names):
            k_pp, k_vp, k_vi = (each[name] for each in gains)
            omega = k_pp * (references[k] - s[name]) + ca.jacobian(references[k], s.t)
            error = omega - s[rates[k]]
            commands.append(k_vp * error + k_vi * s[sums[k]] + held[k])
            errors[sums[k]] = error
        return commands, errors

    return custom_law("cascade", law, tuple(inputs.values()), memory=dict.fromkeys(sums, 0.0))
