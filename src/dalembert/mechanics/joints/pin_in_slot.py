"""Pin in a straight slot: a point on a line of the plane."""

from dalembert.mechanics.joints.joint_equations import JOINT_EQUATIONS, JointEquations, slide
from dalembert.mechanics.joints.point_on_line import coordinates, rows

JOINT_EQUATIONS.register("pin in slot", JointEquations(rows, coordinates=coordinates, relative=slide))
