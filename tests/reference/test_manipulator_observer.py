"""The observer of the five-link manipulator with thirteen coordinates, over part of its run."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.linkages import reduce_links
from dalembert.structures import InteriorModeRanking, rank_modes
from dalembert.studies.manipulator.manipulator_model import MASTERS, RIGID, manipulator
from dalembert.studies.manipulator.manipulator_observer import observability, observer


@pytest.mark.spec("004-C65")
def test_angles_see_all_states_curvatures_no_rigid_motion_and_both_see_better() -> None:
    erls = manipulator()
    ranking = rank_modes(erls.system(), [*RIGID, *MASTERS], InteriorModeRanking(modes=range(4, 10)))
    seen = observability(da.equations(reduce_links(erls, MASTERS, ranking, size=4)))
    assert (seen["angles"]["rank"], seen["curvatures"]["rank"], seen["both"]["rank"]) == (26, 23, 26)
    assert seen["curvatures"]["strength"] < 1e-9
    assert seen["both"]["strength"] > 1.4 * seen["angles"]["strength"] > 0


@pytest.mark.slow
@pytest.mark.spec("004-C62")
@pytest.mark.spec("004-C63")
@pytest.mark.spec("004-C64")
def test_the_filter_follows_the_bending_of_the_whole_model() -> None:
    results, _ = observer(until=0.25, filtered=0.2)
    for name in MASTERS:
        assert results["open_loop"]["elastic"][name] < 0.02
        assert results["filter"]["elastic"][name] < 0.02
    assert max(results["filter"]["angles"].values()) < 1e-3
    assert results["operations"] == pytest.approx({"reduced": 38461, "full": 108000, "saving": 0.644}, abs=5e-4)
