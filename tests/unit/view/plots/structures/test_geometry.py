"""Springs and supports that elements leave of a matrix, at the edges of their thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from dalembert.view.plots.structures.geometry import _ground_points, _without_elements


@pytest.mark.parametrize(("rest", "kept"), [(3e-10, 0), (3e-9, 2)])
def test_a_billionth_of_the_stiffness_is_no_spring(rest, kept):
    group = SimpleNamespace(own_stiffness=lambda: sp.eye_array(2, format="csc"))
    structure = SimpleNamespace(K=sp.csc_array(np.array([[1.0, rest], [rest, 1.0]])), groups=[group])
    assert _without_elements(structure, "K").nnz == kept


@pytest.mark.parametrize(("rest", "tied"), [(6e-7, 0), (6e-6, 1)])
def test_a_spring_to_the_ground_has_a_millionth_of_the_others(rest, tied):
    # the sum of the first row is the rest, that of its sizes 2
    stiff = sp.coo_array(np.array([[1.0 + rest, -1.0], [-1.0, 1.0]]))
    structure = SimpleNamespace(directions=("x",), coordinates=range(2), points=("a", "b"), groups=[None])
    assert len(_ground_points(structure, stiff)) == tied
