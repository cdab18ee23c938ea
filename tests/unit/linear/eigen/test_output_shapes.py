"""Mode shapes at outputs."""

from __future__ import annotations

import numpy as np

from dalembert.core.errors import DataError
from dalembert.linear import Modes, SecondOrder, modes_at_outputs
from tests.helpers.findings import raises
from tests.helpers.storey_frame import FLOORS, storey_frame


def test_accelerations_are_the_shapes_times_the_squared_eigenvalue() -> None:
    frame = storey_frame()
    modes = frame.modes()
    found = modes_at_outputs(frame)
    assert found.coordinates == (*frame.coordinates, *FLOORS)
    np.testing.assert_allclose(found.shapes[3:], modes.shapes * modes.eigenvalues**2, rtol=1e-12)
    np.testing.assert_allclose(found.modal_masses, modes.modal_masses)


def test_the_shapes_are_those_of_the_state_space_model() -> None:
    """Shapes at the outputs agree up to a factor per mode: MAC 1 to rounding."""
    frame = storey_frame()
    own = modes_at_outputs(frame)
    pairs = frame.state_space().modes()
    outputs = Modes(own.eigenvalues, own.shapes[3:], FLOORS)
    np.testing.assert_allclose(np.diag(outputs.mac(pairs)), 1.0, rtol=0, atol=1e-9)


def test_outputs_that_are_coordinates_are_not_doubled_and_other_modes_refused() -> None:
    chain = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], coordinates=["a", "b"])
    assert modes_at_outputs(chain).coordinates == ("a", "b")
    with raises(DataError, "wrong-owner"):
        modes_at_outputs(chain, Modes([1j], [[1.0]], ["c"]))
