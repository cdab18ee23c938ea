"""Reduced linkages: the published figures of the manipulator, bases that follow the pose, several reference poses."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DataError, ModelWarning
from dalembert.linkages import ReducedLinks, reduce_links
from dalembert.structures import InteriorModeRanking
from dalembert.studies.manipulator.flexible_manipulator import LOWEST, aligned, rank_at, transposed_nco
from dalembert.studies.manipulator.manipulator_model import MASTERS, POSE, RIGID, manipulator


@pytest.fixture(scope="module")
def reduced() -> ReducedLinks:
    erls = manipulator()
    return reduce_links(erls, [*RIGID, *MASTERS], rank_at(erls), size=4)


@pytest.mark.spec("004-C57")
@pytest.mark.spec("004-C59")
def test_thirteen_coordinates_have_the_first_six_modes_of_the_manipulator(reduced: ReducedLinks) -> None:
    here = reduced.validity()
    assert reduced.size == 13
    assert reduced.bases[0].numbers == (1, 2, 4, 7)
    # three digits of the published recomputation
    assert here.errors == pytest.approx([0.012, 0.001, 0.025, 0.051, 1.033, 0.026], abs=6e-4)
    assert here.nco.min() > 0.998
    assert here.monitor < 1e-12


@pytest.mark.spec("004-C60")
def test_reduced_equations_have_the_matrices_of_the_basis_at_every_pose(reduced: ReducedLinks) -> None:
    eqs = da.equations(reduced)
    for offset in (0.0, 0.4):
        pose = {RIGID[0]: POSE[RIGID[0]] + offset, RIGID[1]: POSE[RIGID[1]] - offset}
        x = reduced.erls.rigid_state(pose)
        Y = reduced.basis_at(pose)
        M, K, _ = reduced.erls.linkage.matrices(x)
        n = len(K)
        H = np.block([[Y, np.zeros((n, 3))], [np.zeros((3, Y.shape[1])), np.eye(3)]])
        q = np.concatenate([np.zeros(10), x])
        still = np.zeros(eqs.nv), np.zeros(0), np.zeros(eqs.nu)
        mass = eqs.kernel("inertia")(q, eqs.p, 0.0)[0]
        stiffness = eqs.kernel("tangent")(q, *still, eqs.p, 0.0)[0]
        assert np.abs(mass - H.T @ M @ H).max() < 1e-12 * np.abs(M).max()
        assert np.abs(stiffness[:10, :10] - Y.T @ K @ Y).max() < 1e-11 * np.abs(K).max()
        # K stays block diagonal at every pose, as constraint modes are static
        assert np.abs((Y.T @ K @ Y)[:6, 6:]).max() < 1e-11 * np.abs(K).max()


@pytest.mark.spec("004-C58")
def test_static_shapes_are_computed_anew_at_every_pose(reduced: ReducedLinks) -> None:
    """Loads on the masters bend the reduced linkage as the whole one, wherever it is; shapes of q* do not.

    K of the masters in the reduced equations is the Schur complement of K of the whole at that pose.
    """
    eqs, names = da.equations(reduced), list(reduced.erls.linkage.names)
    m = [names.index(name) for name in reduced.masters]
    s = [k for k in range(len(names)) if k not in m]

    def condensed(K: np.ndarray) -> np.ndarray:
        return K[np.ix_(m, m)] - K[np.ix_(m, s)] @ np.linalg.solve(K[np.ix_(s, s)], K[np.ix_(s, m)])

    still = np.zeros(eqs.nv), np.zeros(0), np.zeros(eqs.nu)
    frozen = reduced.basis_at(None)[:, : len(m)]
    for offset in (-0.5, -0.2, 0.3):
        pose = {RIGID[0]: POSE[RIGID[0]] + offset, RIGID[2]: POSE[RIGID[2]] - 2 * offset}
        x = reduced.erls.rigid_state(pose)
        K = reduced.erls.matrices(x)[1][: len(names), : len(names)]
        q = np.concatenate([np.zeros(10), x])
        found = eqs.kernel("tangent")(q, *still, eqs.p, 0.0)[0][: len(m), : len(m)]
        assert np.abs(found - condensed(K)).max() < 1e-10 * np.abs(found).max()
        # any other shapes strain more for the same displacements of the masters
        more = np.linalg.eigvalsh(frozen.T @ K @ frozen - found)
        assert more[0] > -1e-10 * np.abs(found).max() and more[-1] > 0.1 * np.abs(found).max()


@pytest.mark.spec("004-C59")
def test_modes_turned_against_their_links_are_lost(reduced: ReducedLinks) -> None:
    assert transposed_nco(reduced) < 0.42
    assert reduced.validity({RIGID[0]: POSE[RIGID[0]] - 0.5, RIGID[1]: POSE[RIGID[1]] + 0.5}).nco.min() > 0.997


@pytest.mark.spec("004-C61")
def test_the_monitor_does_not_see_the_error_where_links_align_and_a_basis_there_has_none(reduced: ReducedLinks) -> None:
    there = aligned(reduced)
    assert there["error_percent"] == pytest.approx(3.73, abs=0.01)
    assert there["monitor"] == pytest.approx(0.002, abs=5e-4)
    assert there["error_of_its_basis_percent"] == pytest.approx(0.017, abs=5e-4)


@pytest.mark.spec("004-C61")
def test_several_reference_poses_are_chosen_with_hysteresis_and_states_mapped_between_them(
    reduced: ReducedLinks,
) -> None:
    aside = {RIGID[0]: POSE[RIGID[0]] + 0.4}
    both = reduce_links(reduced.erls, MASTERS, rank_at(reduced.erls), size=4, at=[None, aside])

    def poses(*shares: float) -> list[int]:
        places = [{RIGID[0]: POSE[RIGID[0]] + 0.4 * share} for share in shares]
        return [both.choose(place) for place in places]

    assert poses(0.0, 0.4, 0.52, 0.6, 1.0) == [0, 0, 0, 1, 1]
    assert both.with_basis(1).choose({RIGID[0]: POSE[RIGID[0]] + 0.4 * 0.48}) == 1
    # a state of the space of both bases comes back unchanged
    same = reduce_links(reduced.erls, MASTERS, [1, 2, 4, 7], at=[None, None])
    eqs = da.equations(same)
    state = eqs.state(q=np.r_[1e-4 * np.arange(10), eqs.state().q[10:]], v=np.r_[1e-2 * np.arange(13)])
    moved = same.transfer(state, 1)
    assert moved.q == pytest.approx(state.q, abs=1e-15)
    assert moved.v == pytest.approx(state.v, abs=1e-14)


@pytest.mark.spec("004-C61")
def test_modes_computed_anew_follow_their_shapes_and_not_their_numbers(reduced: ReducedLinks) -> None:
    pose = {RIGID[0]: POSE[RIGID[0]] + 0.5, RIGID[1]: POSE[RIGID[1]] - 0.5}
    anew = reduced.recomputed(pose)
    assert anew.bases[0].numbers != reduced.bases[0].numbers
    assert anew.validity(pose).monitor < 1e-12
    blended = reduce_links(reduced.erls, MASTERS, [1, 2, 4, 7], at=[None, pose]).interpolated()
    assert blended.validity().errors == pytest.approx(reduced.validity().errors, rel=1e-6)
    assert blended.validity(pose).nco.min() > 0.99


@pytest.mark.spec("004-C61")
def test_a_greedy_search_adds_reference_poses_until_the_error_on_the_grid_is_small(reduced: ReducedLinks) -> None:
    over = {name: POSE[name] + np.linspace(-0.5, 0.5, 7) for name in RIGID[:2]}
    method = InteriorModeRanking(modes=LOWEST)
    three = reduce_links(reduced.erls, MASTERS, method, size=5, at="greedy", over=over)
    assert (len(three.bases), three.size) == (3, 14)
    assert three.grid_errors.max() == pytest.approx(0.46, abs=0.005)
    with pytest.warns(ModelWarning) as caught:
        reduce_links(reduced.erls, MASTERS, method, size=4, at="greedy", over=over, most=2)
    assert caught[0].message.code == "too-few-modes"  # type: ignore[union-attr]


def test_reductions_that_cannot_be_are_refused(reduced: ReducedLinks) -> None:
    def refusal(*arguments: object, **options: object) -> str:
        with pytest.raises(DataError) as caught:
            reduce_links(reduced.erls, *arguments, **options)  # type: ignore[arg-type]
        return caught.value.code

    assert refusal(["AB.2.z"], [1]) == "unknown-name"
    assert refusal(RIGID, [1]) == "empty"
    assert refusal(MASTERS, [0]) == "out-of-range"
    assert refusal(MASTERS, rank_at(reduced.erls)) == "missing-argument"
    assert refusal(MASTERS, [1], at="greedy") == "missing-argument"
