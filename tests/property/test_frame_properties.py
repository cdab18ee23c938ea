"""What must hold for any frame.

Domain: 3 to 6 points in a box of 1 m, at least 0.25 m apart, joined in a chain and by one more beam; solid sections
of 20 to 60 mm; steel-like material. Condition numbers of the flexibility stay below 1e8.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from dalembert.structures import (
    Frame,
    Material,
    Section,
    Structure,
    assemble_structure,
    find_buckling,
    prestress,
    solve_static,
    spin,
)

STEEL = Material("steel", E=210e9, density=7850.0, poisson=0.3)
seeds = st.integers(0, 2**32 - 1)


def points(rng: np.random.Generator) -> np.ndarray:
    """3 to 6 places at least 0.25 m apart."""
    chosen: list[np.ndarray] = []
    wanted = int(rng.integers(3, 7))
    while len(chosen) < wanted:
        place = rng.uniform(-1, 1, 3)
        if all(np.linalg.norm(place - other) > 0.25 for other in chosen):
            chosen.append(place)
    return np.array(chosen)


def any_frame(
    seed: int, *, turn: Rotation | None = None, move: float = 0.0, held: bool = True, elements: int = 1
) -> Frame:
    """The frame of a seed, turned and moved as a whole: beams with their ``up``, masses, offsets, one release."""
    rng = np.random.default_rng(seed)
    turn = Rotation.identity() if turn is None else turn
    places = points(rng)
    frame = Frame("any", gravity=turn.apply([0, 0, -9.81]))
    names = [f"P{k}" for k in range(len(places))]
    frame.add_points(names, turn.apply(places) + move)
    pairs = [*pairwise(names), (names[0], names[2])]
    for k, (start, end) in enumerate(pairs):
        height, width = rng.uniform(0.02, 0.06, 2)
        frame.add_beam(
            f"beam{k}", start, end, section=Section.rectangle(height, width), material=STEEL,
            up=turn.apply(rng.normal(size=3)), offsets=(turn.apply(rng.uniform(-0.03, 0.03, 3)), None),
            releases={"end": "rz"} if k == 0 else None,
        )  # fmt: skip
    inertia = np.diag(rng.uniform(0.01, 0.02, 3))
    frame.add_mass("lump", names[-1], 3.0, inertia=turn.as_matrix() @ inertia @ turn.as_matrix().T,
                   offset=turn.apply(rng.uniform(-0.05, 0.05, 3)))  # fmt: skip
    if held:
        frame.add_support(names[0], "fixed")
    force = turn.apply(rng.normal(size=3)) * 100
    frame.add_force("load", names[-1], force, moment=turn.apply(rng.normal(size=3)))
    frame.add_line_load("load", "beam1", turn.apply(rng.normal(size=3)) * 50)
    return frame


def lowest(model: Structure, count: int) -> np.ndarray:
    return model.modes(count).frequencies


@given(seeds)
@pytest.mark.spec("003-C64")
def test_a_frame_turned_and_moved_as_a_whole_has_the_same_frequencies(seed: int) -> None:
    turn = Rotation.random(random_state=seed % 2**32)
    here, there = assemble_structure(any_frame(seed)), assemble_structure(any_frame(seed, turn=turn, move=0.7))
    assert lowest(there, 6) == pytest.approx(lowest(here, 6), rel=1e-7)


@given(seeds)
def test_prestress_turns_with_the_frame(seed: int) -> None:
    turn = Rotation.random(random_state=seed % 2**32)
    here, there = assemble_structure(any_frame(seed)), assemble_structure(any_frame(seed, turn=turn))
    assert lowest(prestress(there, "load"), 4) == pytest.approx(lowest(prestress(here, "load"), 4), rel=1e-7)


@given(seeds)
def test_buckling_turns_with_the_frame(seed: int) -> None:
    turn = Rotation.random(random_state=seed % 2**32)
    here, there = assemble_structure(any_frame(seed)), assemble_structure(any_frame(seed, turn=turn))
    expected = find_buckling(here, "gravity", count=1).critical
    assert find_buckling(there, "gravity", count=1).critical == pytest.approx(expected, rel=1e-6)


@given(seeds)
def test_spin_turns_with_the_frame(seed: int) -> None:
    turn = Rotation.random(random_state=seed % 2**32)
    here, there = assemble_structure(any_frame(seed)), assemble_structure(any_frame(seed, turn=turn))
    axis = np.array([0.2, -0.5, 1.0])
    still = spin(here, axis, 20.0).dense().modes().frequencies[:4]
    assert spin(there, turn.apply(axis), 20.0).dense().modes().frequencies[:4] == pytest.approx(still, rel=1e-6)


@given(seeds)
def test_the_flexibility_is_reciprocal(seed: int) -> None:
    """Displacement at a by a unit force at b = displacement at b by a unit force at a (Maxwell, Betti)."""
    model = assemble_structure(any_frame(seed))
    a, b = "P1.y", f"{model.points[2]}.rx"
    assert solve_static(model, {b: 1.0}).displacement[a] == pytest.approx(
        solve_static(model, {a: 1.0}).displacement[b], rel=1e-8
    )


@given(seeds)
def test_the_strain_energy_is_half_the_work_of_the_load_and_reactions_balance_it(seed: int) -> None:
    """P21 of spec 003, 4.13, beside Clapeyron's theorem; supports at rest, so reactions do no work."""
    frame = any_frame(seed)
    model = assemble_structure(frame)
    solution = solve_static(model, "load")
    push, along = frame.loads
    xi, weights = np.polynomial.legendre.leggauss(5)  # exact for the quartic under a constant load
    length = float(model.groups[0].length[1])
    beam = solution.beam("beam1", 0.5 * (xi + 1) * length)
    work = solution.displacement[push.point] @ (push.force + push.moment)
    work += 0.5 * length * weights @ (beam.deflection @ beam.axes) @ along.start[:3]
    assert solution.strain_energy == pytest.approx(0.5 * work, rel=1e-9)
    total = solution.load + np.array([solution.reaction[name] if model.held[k] else 0.0
                                      for k, name in enumerate(model.coordinates)])  # fmt: skip
    resultant = model.rigid_motions().T @ total
    assert np.abs(resultant).max() < 1e-8 * np.abs(solution.load).max()


@given(seeds)
def test_a_free_frame_has_six_rigid_motions_and_no_more(seed: int) -> None:
    model = assemble_structure(any_frame(seed, held=False))
    found = lowest(model, 7)
    assert np.all(found[:6] < 1e-3 * found[6])
    motion = model.rigid_motions()
    assert np.abs(model.K @ motion).max() < 1e-10 * abs(model.K).max()


@given(seeds)
def test_the_rigid_mass_of_a_frame_is_the_sum_of_its_parts(seed: int) -> None:
    frame = any_frame(seed)
    model = assemble_structure(frame)
    rng = np.random.default_rng(seed)
    places = points(rng)
    ends = [*pairwise(range(len(places))), (0, 2)]
    total = 3.0
    for start, end in ends:
        height, width = rng.uniform(0.02, 0.06, 2)
        rng.normal(size=3)
        arm = rng.uniform(-0.03, 0.03, 3)
        total += STEEL.density * height * width * np.linalg.norm(places[end] - places[start] - arm)
    assert model.mass() == pytest.approx(total, rel=1e-10)
    weight = model.rigid_motions()[:, :3].T @ model.loads["gravity"]
    assert weight == pytest.approx([0, 0, -9.81 * total], rel=1e-10, abs=1e-8)


@given(seeds)
@pytest.mark.spec("003-C55")
def test_refining_consistent_masses_never_raises_a_frequency(seed: int) -> None:
    """P17: consistent masses bound from above, and a mesh cut in two contains the coarse one.

    Contained it is for thin beams only, whose shape functions are nested; so without shear and rotary inertia.
    """
    values = []
    for elements in (1, 2, 4):
        frame = any_frame(seed)
        thin = Frame("thin", gravity=0)
        thin.add_points(frame.point_names, np.array(frame.positions))
        for k, (start, end) in enumerate(pairwise(frame.point_names)):
            thin.add_beam(f"b{k}", start, end, section=Section.rectangle(0.03, 0.05), material=STEEL,
                          elements=elements, theory="euler-bernoulli", rotary=False)  # fmt: skip
        thin.add_support(frame.point_names[0], "fixed")
        values.append(lowest(assemble_structure(thin), 6))
    for coarse, fine in pairwise(values):
        assert np.all(fine <= coarse * (1 + 1e-8))


@given(seeds, st.sampled_from([1e-3, 1e-5]))
@pytest.mark.spec("003-C62")
def test_slender_timoshenko_beams_are_euler_bernoulli_beams(seed: int, ratio: float) -> None:
    """P18: Φ → 0, no locking, with one element as with many; what is left is of order (height/length)²."""
    rng = np.random.default_rng(seed)
    length = rng.uniform(0.5, 3.0)
    section = Section.rectangle(ratio * length, rng.uniform(0.5, 2.0) * ratio * length)
    tips = []
    for theory in ("timoshenko", "euler-bernoulli"):
        frame = Frame("slender", gravity=0)
        frame.add_points(["A", "B"], [[0, 0, 0], [length, 0, 0]])
        frame.add_beam("b", "A", "B", section=section, material=STEEL, elements=int(rng.integers(1, 6)), theory=theory)
        frame.add_support("A", "fixed")
        tips.append(solve_static(assemble_structure(frame), {"B.z": 1.0}).displacement["B.z"])
    assert tips[1] == pytest.approx(length**3 / (3 * STEEL.E * section.I_z), rel=1e-6)
    assert tips[0] == pytest.approx(tips[1], rel=2 * ratio**2 + 1e-6)
    assert tips[0] > tips[1] * (1 - 1e-6)


@given(seeds)
def test_a_small_load_changes_the_frequencies_by_its_geometric_stiffness_only(seed: int) -> None:
    """dω²/dλ = φᵀ K_g φ (Rayleigh), against central differences of the prestressed structure."""
    model = assemble_structure(any_frame(seed))
    step = 1e-4 * find_buckling(model, "gravity", count=1).critical
    up, down = (prestress(model, {"gravity": s * step}).modes(1).frequencies[0] ** 2 for s in (1, -1))
    modes = model.modes(1)
    shape = modes.normalise("mass").shapes[:, 0].real
    slope = shape @ ((model.reduce(prestress(model, "gravity").K) - model.reduce(model.K)) @ shape)
    assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-3, abs=1e-6 * modes.frequencies[0] ** 2 / step)
