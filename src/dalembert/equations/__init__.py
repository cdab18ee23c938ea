"""Equations of motion: the one type every formulation makes and every solver takes."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.equations.equations_of_motion import ACCELERATION as ACCELERATION
    from dalembert.equations.equations_of_motion import ARGUMENTS as ARGUMENTS
    from dalembert.equations.equations_of_motion import HOLONOMIC as HOLONOMIC
    from dalembert.equations.equations_of_motion import VELOCITY as VELOCITY
    from dalembert.equations.equations_of_motion import Channels as Channels
    from dalembert.equations.equations_of_motion import DryFriction as DryFriction
    from dalembert.equations.equations_of_motion import EquationsOfMotion as EquationsOfMotion
    from dalembert.equations.equations_of_motion import JointInfo as JointInfo
    from dalembert.equations.equations_of_motion import QuaternionBlock as QuaternionBlock
    from dalembert.equations.equations_of_motion import Row as Row
    from dalembert.equations.equations_of_motion import State as State
    from dalembert.equations.equations_of_motion import Symbols as Symbols
    from dalembert.equations.equations_of_motion import TurnCounter as TurnCounter
    from dalembert.equations.equations_of_motion import equations as equations
    from dalembert.equations.equations_of_motion import require_equations as require_equations
    from dalembert.equations.placement import Follower as Follower
    from dalembert.equations.placement import Placement as Placement

__all__ = attach(__name__)
