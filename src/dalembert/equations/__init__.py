"""Equations of motion: the one type every formulation makes and every solver takes."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.equations.channels import ACCELERATION as ACCELERATION
    from dalembert.equations.channels import HOLONOMIC as HOLONOMIC
    from dalembert.equations.channels import VELOCITY as VELOCITY
    from dalembert.equations.channels import CarriedOrientation as CarriedOrientation
    from dalembert.equations.channels import Channels as Channels
    from dalembert.equations.channels import CoordinateLimits as CoordinateLimits
    from dalembert.equations.channels import DryFriction as DryFriction
    from dalembert.equations.channels import JointInfo as JointInfo
    from dalembert.equations.channels import QuaternionBlock as QuaternionBlock
    from dalembert.equations.channels import Row as Row
    from dalembert.equations.channels import TurnCounter as TurnCounter
    from dalembert.equations.equations_of_motion import EquationsOfMotion as EquationsOfMotion
    from dalembert.equations.equations_of_motion import equations as equations
    from dalembert.equations.equations_of_motion import require_equations as require_equations
    from dalembert.equations.from_expressions import equations_from_expressions as equations_from_expressions
    from dalembert.equations.functions import ARGUMENTS as ARGUMENTS
    from dalembert.equations.functions import FunctionSource as FunctionSource
    from dalembert.equations.functions import LazyFunctions as LazyFunctions
    from dalembert.equations.functions import Symbols as Symbols
    from dalembert.equations.placement import Follower as Follower
    from dalembert.equations.placement import Placement as Placement
    from dalembert.equations.scene import Scene as Scene
    from dalembert.equations.state import State as State

__all__ = attach(__name__)
