"""The root locus: closed-loop eigenvalues over the gain of one feedback."""

from __future__ import annotations

from numpy.typing import ArrayLike

from dalembert.core.declare import checked
from dalembert.core.errors import DataError
from dalembert.linear.channels import AnySystem, InputName, OutputName
from dalembert.linear.families.track_eigenvalues import EigenvalueBranches, track_eigenvalues
from dalembert.linear.state_space import StateSpace


@checked
def root_locus(
    system: AnySystem, gains: ArrayLike, *, input: InputName = None, output: OutputName = None
) -> EigenvalueBranches:
    """Closed-loop eigenvalues over the gain k of the feedback u = -k y from one output to one input.

    Examples
    --------
    >>> import numpy as np
    >>> plant = StateSpace([[-1, 1, 0], [0, -2, 1], [0, 0, -3]], [0, 0, 1], [1, 0, 0])
    >>> locus = root_locus(plant, np.linspace(0.0, 100.0, 21))
    >>> round(locus.crossings[0].value, 9), round(locus.crossings[0].eigenvalue.imag ** 2, 9)
    (60.0, 11.0)
    """
    first = system if isinstance(system, StateSpace) else system.state_space()
    assert input is not None and output is not None
    i, j = first.outputs.index(output), first.inputs.index(input)
    b, c, d = first.B[:, [j]], first.C[[i]], float(first.D[i, j])

    def close_loop(gain: float) -> StateSpace:
        loop = 1.0 + gain * d
        if loop == 0.0:
            raise DataError(
                "algebraic-loop", f"the loop is not well posed at gain {gain:.6g}: the direct term makes 1 + k D zero."
            )
        return StateSpace(first.A - gain / loop * b @ c, dt=first.dt, states=first.states)

    return track_eigenvalues(close_loop, gains, parameter="gain")
