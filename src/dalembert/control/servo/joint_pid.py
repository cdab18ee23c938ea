"""PID loops of the joints of an arm, with the efforts that hold it against gravity as feed-forward.

    u = u_ff(r) + PID(r - y) ,      B(r) u_ff = -f(r)

f and B are the forces and their derivatives by the driven inputs along the driven coordinates, at rest in the reference
angles r with all other coordinates, such as modes of links, as drawn. What the loops cannot know (sag, friction,
rotors) is left to their integrals. Measured angles as references replay an experiment (Scaglioni 2016).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import casadi as ca
import numpy as np

from dalembert.control.plant import replace_fields
from dalembert.control.servo.pid import PID, act, state_names
from dalembert.control.state_feedback.state_feedback import RANGE
from dalembert.core.declare import checked, instance, mapping
from dalembert.core.errors import ModelError, require_name
from dalembert.core.results import result
from dalembert.equations import Channels, EquationsOfMotion, require_equations
from dalembert.loop.interfaces import Law


@result
class JointPID:
    """PID loops of joints with feed-forward; fits ``da.simulate(..., controller=...)``.

    Attributes
    ----------
    loops : PID of every joint; its limits hold for the sum of loop and feed-forward.
    feed_forward : function of the references [rad, m] that gives the inputs at rest.
    """

    loops: tuple[PID, ...]
    feed_forward: ca.Function

    @property
    def drives(self) -> tuple[str, ...]:
        """The inputs it drives."""
        return tuple(loop.driven for loop in self.loops)

    def within(self, limits: Mapping[str, tuple[float, float]]) -> JointPID:
        """The same loops within these limits of their inputs as well: their integrals stop there."""
        ranges = mapping("input", RANGE)("limits", limits)
        loops = (loop.within({k: v for k, v in ranges.items() if k == loop.driven}) for loop in self.loops)
        return replace_fields(self, loops=tuple(loops))  # type: ignore[no-any-return]

    def law(self) -> Law:
        """The law as ``da.simulate`` takes it; references have the names of the coordinates."""
        reads = [loop.reads for loop in self.loops]
        states = [f"{loop.reads}.{name}" for loop in self.loops for name in state_names(loop)]
        y, r = ca.MX.sym("reads", len(reads)), ca.MX.sym("references", len(reads))
        x, p, t = ca.MX.sym("state", len(states)), ca.MX.sym("p", 0), ca.MX.sym("t")
        feed_forward = self.feed_forward(r)
        u, after, first = [], [], 0
        for k, loop in enumerate(self.loops):
            last = first + len(state_names(loop))
            command, following = act(loop, r[k] - y[k], x[first:last], feed_forward[k])
            u.append(command)
            after.append(following)
            first = last
        function = ca.Function(
            "joint_pid", [y, x, r, p, t], [ca.densify(ca.vertcat(*u)), ca.densify(ca.vertcat(*after))]
        )
        return Law(
            "joint PID", tuple(reads), self.drives, function, self.loops[0].dt,
            state=Channels(states, [""] * len(states)), start=(0.0,) * len(states),
            references=Channels(reads, [""] * len(reads)), direct=True,
        )  # fmt: skip


@checked
def joint_pid(
    eqs: EquationsOfMotion,
    loops: Annotated[Sequence[PID], instance(list, tuple), "PID of every joint, from `da.control.pid`", ModelError],
) -> JointPID:
    """PID loops of joints, with the efforts against gravity at their references as feed-forward.

    eqs : in joint coordinates, also with flexible links.
    loops : each reads the coordinate of a joint and drives an input; sample time and limits are its own.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=2.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> motor = m.add_actuator("motor", joint="hinge", input="torque")
    >>> eqs = da.equations(m, coordinates="joint")
    >>> loop = da.control.pid(50.0, 20.0, 10.0, reads="hinge.angle", drives="torque", limits=20.0)
    >>> law = da.control.joint_pid(eqs, [loop])
    >>> round(float(law.feed_forward(0.0)), 6)
    9.81
    """
    require_equations(eqs)
    if not loops or len({loop.dt for loop in loops}) > 1 or len({loop.driven for loop in loops}) < len(loops):
        raise ModelError("wrong-shape", "give at least one loop; all have one sample time, and each its own input.")
    N = np.abs(eqs.kernel("kinematics")(eqs.state().q, eqs.p, 0.0)[0])
    places, columns = [], []
    for loop in loops:
        where = f"equations {eqs.name!r}"
        require_name("input", loop.driven, eqs.inputs.names, where, error=ModelError, argument="drives")
        name = eqs.full_name(loop.reads)
        require_name("coordinate", name, eqs.coordinates.names, where, error=ModelError, argument="reads")
        places.append(eqs.coordinates.index[name])
        columns.append(eqs.inputs.index[loop.driven])
    rows = [int(np.argmax(N[k])) for k in places]
    return JointPID(tuple(loops), holding_inputs(eqs, places, rows, columns))


def holding_inputs(eqs: EquationsOfMotion, places: list[int], rows: list[int], columns: list[int]) -> ca.Function:
    """The driven inputs, by the driven coordinates, whose forces are zero along them at rest."""
    r = ca.SX.sym("references", len(places))
    q: Any = ca.SX(ca.DM(eqs.state().q))
    q[places] = r
    resting = np.array([eqs.resting_inputs.get(name, 0.0) for name in eqs.inputs.names])
    resting[columns] = 0.0

    def forces(u: Any) -> Any:
        rest = np.zeros(eqs.nv), eqs.state().z, u, eqs.p, 0.0, np.zeros(len(eqs.rows))
        return eqs.kernel("forces").function.call([q, *map(ca.SX, map(ca.DM, rest))])[0][rows]

    f = forces(resting)
    B = ca.horzcat(*(forces(resting + np.eye(eqs.nu)[k]) - f for k in columns))
    return ca.Function("holding_inputs", [r], [ca.solve(B, -f)])
