"""Mathematics of forces, one file per kind; `model/forces/` has their data under the same names."""

from dalembert.mechanics.forces.drawing import Drawing
from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations

__all__ = ["FORCE_EQUATIONS", "Drawing", "ForceBuilder", "ForceEquations"]
