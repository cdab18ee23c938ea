"""The observer of the five-link manipulator with thirteen coordinates: what its sensors see."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.linkages import reduce_links
from dalembert.studies.manipulator.manipulator_model import GAUGES, MASTERS, manipulator
from dalembert.studies.manipulator.manipulator_observer import ENCODERS, observability


@pytest.fixture(scope="module")
def reduced() -> da.EquationsOfMotion:
    return da.equations(reduce_links(manipulator(), MASTERS, modes=[1, 2, 4, 7]))


@pytest.mark.spec("004-C65")
def test_angles_see_all_states_curvatures_no_rigid_motion_and_both_see_better(reduced: da.EquationsOfMotion) -> None:
    seen = observability(reduced)
    assert (seen["angles"]["rank"], seen["curvatures"]["rank"], seen["both"]["rank"]) == (26, 23, 26)
    assert seen["curvatures"]["strength"] < 1e-9
    assert seen["both"]["strength"] > 1.4 * seen["angles"]["strength"] > 0


@pytest.mark.spec("004-C65")
def test_distances_to_an_unobservable_model_are_the_recomputed_ones(reduced: da.EquationsOfMotion) -> None:
    """2.8e-3 and 4.0e-3 with positions in m and rad, speeds a thousandth of theirs, time in ms and rows of length 1."""
    state = reduced.state()
    linear = da.linearize(reduced, at=state)
    assert isinstance(linear, da.SecondOrder)
    n, unit = reduced.nv, 1000.0
    rates = -np.linalg.solve(linear.M, np.hstack([linear.K_full / unit**2, linear.C_full / unit]))
    A = np.vstack([np.eye(n, 2 * n, n), rates])

    def outputs(q: np.ndarray) -> np.ndarray:
        zero = np.zeros(reduced.nv)
        return np.asarray(reduced.kernel("outputs")(q, zero, zero, [], [], np.zeros(reduced.nu), reduced.p, 0.0)[0])

    h = 1e-6  # curvatures are linear, angles are coordinates
    shifts = np.eye(len(state.q))[:n] * h
    slopes = np.column_stack([outputs(state.q + d) - outputs(state.q - d) for d in shifts]) / (2 * h)
    rows = {name: np.r_[slope, np.zeros(n)] / np.linalg.norm(slope)
            for name, slope in zip(reduced.outputs.names, slopes, strict=True)}  # fmt: skip

    def distance(names: list[str]) -> float:
        C = [rows[name] for name in names]
        stacked = [np.vstack([A - value * np.eye(2 * n), C]) for value in np.linalg.eigvals(A)]
        return float(min(np.linalg.svd(each, compute_uv=False)[-1] for each in stacked))

    # two digits are recomputed
    assert distance([*ENCODERS]) == pytest.approx(2.8e-3, abs=0.05e-3)
    assert distance([*ENCODERS, *GAUGES]) == pytest.approx(4.0e-3, abs=0.06e-3)
