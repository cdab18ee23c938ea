"""Arms with bending links in joint coordinates: published figures, energy, pieces, prescribed joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.tree.algorithms import closed_form as algorithm
from dalembert.structures import Frame, Material, Section, flexible_body

# Arm of spring steel (Scaglioni 2016, section 3.2): free lengths that have the published frequencies of its links, the
# motor of the second joint at the tip of the first link.
LENGTHS, MOTOR = (0.440, 0.378), 0.5885
STEEL = Material("spring steel", E=200e9, density=7800.0)


def rod(length: float, tip_mass: float = 0.0) -> Any:
    """Three modes in the plane; the printed model has no stiffening."""
    frame = Frame("rod", planar=True)
    frame.add_points(["root", "tip"], [[0.0, 0.0], [length, 0.0]])
    frame.add_beam("rod", "root", "tip", section=Section.rectangle(0.004, 0.015), material=STEEL, elements=10)
    if tip_mass:
        frame.add_mass("motor", "tip", mass=tip_mass)
    return flexible_body(frame, basis="clamped", fixed="root", modes=3, stiffening=False)


def tudor(load: float, *, drivers: bool = False) -> da.Mechanism:
    m = da.Mechanism("tudor", planar=True)
    first = m.add_flexible_body("first", rod(LENGTHS[0], MOTOR))
    second = m.add_flexible_body("second", rod(LENGTHS[1]), position=(LENGTHS[0], 0.0))
    payload = m.add_body("load", mass=load, inertia=0.0, position=(sum(LENGTHS), 0.0))
    m.add_revolute("shoulder", m.ground.at(0.0, 0.0), first.at("root"))
    m.add_revolute("elbow", first.at("tip"), second.at("root"))
    m.add_fixed("grip", second.at("tip"), payload.at(0.0, 0.0))
    if drivers:
        for name in ("shoulder", "elbow"):
            m.add_driver(f"{name} motor", f"{name}.angle", lambda t: 0.3 * da.math.sin(4.0 * t))
    return m


@pytest.mark.spec("001-T9")
def test_links_have_the_published_frequencies() -> None:
    assert rod(LENGTHS[0], MOTOR).frequencies_hz == pytest.approx([4.733, 75.63, 241.8], rel=5e-3)
    assert rod(LENGTHS[1]).frequencies_hz == pytest.approx([22.90, 143.5, 401.8], rel=5e-3)


def free_fall(eqs: da.EquationsOfMotion, rtol: float) -> float:
    """Largest change of the energy [J] in 0.6 s of 3.84 J."""
    method = da.DormandPrince(rtol=rtol, atol=1e-3 * rtol)
    run = da.simulate(eqs, 0.6, method=method, every=0.01, progress=False)
    return float(np.ptp(run["energy"]))


@pytest.mark.slow
@pytest.mark.spec("001-C24", "001-T9")
@pytest.mark.filterwarnings("ignore::dalembert.core.errors.SimulationWarning")
def test_a_falling_arm_keeps_its_energy_and_loses_it_with_the_printed_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """The source's factor 1 of the Coriolis acceleration changes the energy by 1.06e-3 J, whatever the steps."""
    m = tudor(0.2)
    for form in ("recursive", "closed"):
        assert free_fall(da.equations(m, coordinates="joint", form=form), 1e-8) < 1e-5
    monkeypatch.setattr(algorithm, "CORIOLIS", 1.0)
    assert free_fall(da.equations(m, coordinates="joint", form="closed"), 1e-8) > 5e-4


@pytest.mark.parametrize(
    ("rotations", "torques"), [("exponential", (7.270, 1.796)), ("linear", (7.283, 1.808))], ids=["exact", "linear"]
)
def test_holding_torques_with_exact_and_with_linear_rotations(rotations: str, torques: tuple[float, float]) -> None:
    """400 g, stretched: (7.286, 1.811) N m unbent; nodes of the source turn by 1 + θ~, which lengthens the arm."""
    m = tudor(0.4)
    eqs = da.equations(m, coordinates="joint", form="closed", rotations=rotations)
    state = da.assemble(eqs, {"shoulder": 0.0, "elbow": 0.0}, elastic="static")
    held = da.forward_dynamics(eqs, state, accelerations={"shoulder": 0.0, "elbow": 0.0})
    assert [held.efforts[f"{name}.angle"] for name in ("shoulder", "elbow")] == pytest.approx(torques, abs=1e-3)


@pytest.mark.spec("001-C26")
def test_prescribed_joints_leave_the_elastic_rows_and_take_their_efforts_from_the_others() -> None:
    """Mqq η̈ = -Mtqᵀ θ̈ - De η̇ - Ke η - Cq; the drivers' efforts are those of the rows of the joints."""
    m = tudor(0.4, drivers=True)
    driven, free = da.equations(m, coordinates="joint"), da.equations(tudor(0.4), coordinates="joint")
    assert len(driven.rows) == 2
    start = da.assemble(driven, {"first.mode1": 0.01, "second.mode2": -0.003}, velocity={"second.mode1": 0.2}, t=0.3)
    solution = da.forward_dynamics(driven, start)
    x = da.tree.closed_form(free, free.state(start.q, start.v))
    theta = np.full(2, -0.3 * 16.0 * np.sin(4.0 * 0.3))
    q, rates = start.q[2:], start.v[2:]
    eta = -np.linalg.solve(x.Mqq, x.Mtq.T @ theta + x.De @ rates + x.Ke @ q + x.Cq)
    efforts = x.Mtt @ theta + x.Mtq @ eta + x.Ct
    names = [*x.joints, *x.modes]
    expected = np.concatenate((theta, eta))
    np.testing.assert_allclose([solution[n] for n in names], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    torques = [solution[f"{name} motor.effort"] for name in ("shoulder", "elbow")]
    np.testing.assert_allclose(torques, efforts, rtol=1e-9)


@pytest.mark.parametrize("index", [3, pytest.param(2, marks=pytest.mark.slow)])
def test_implicit_steps_of_the_recursion_are_of_second_order(index: int) -> None:
    """Driven joints are rows beside the tree; the steps resolve the modes up to 400 Hz."""
    eqs = da.equations(tudor(0.4, drivers=True), coordinates="joint")
    start = da.assemble(eqs, {}, elastic="static")

    def place(method: Any) -> Any:
        return da.simulate(eqs, 0.1, start=start, method=method, every=0.01, progress=False)["load.y"]

    exact = place(da.DormandPrince(rtol=1e-11, atol=1e-14))
    errors = [np.abs(place(da.GeneralizedAlpha(step=h, index=index)) - exact).max() for h in (1e-4, 5e-5)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)  # next terms are (2π 400 Hz h)² = 0.06 of it


AXES = ((0.0, 1.0, 0.0), (0.0, 0.6, 0.8))


def stiff_beam(pieces: int) -> da.EquationsOfMotion:
    """A bent arm whose second link is one flexible beam, or pieces of it that are welded together."""
    m = da.Mechanism("pieces")
    carrier: Any = m.ground.at(0, 0, 0)
    for k, count in enumerate((1, pieces)):
        for j in range(count):
            frame = Frame("piece")
            frame.add_points(["root", "tip"], [[0, 0, 0], [0.6 / count, 0, 0]])
            frame.add_beam("b", "root", "tip", section=Section.rectangle(0.03, 0.02), material="steel",
                           elements=8 // count)  # fmt: skip
            data = flexible_body(frame, basis="clamped", fixed="root", modes=1, stiffening=False)
            body = m.add_flexible_body(f"b{k}{j}", data)
            if j == 0:
                m.add_revolute(f"j{k}", carrier, body.at("root"), axis=AXES[k], axis_b=AXES[k])
            else:
                m.add_fixed(f"weld{j}", carrier, body.at("root"))
            carrier = body.at("tip")
    return da.equations(m, coordinates="joint")


@pytest.mark.spec("001-C29", "001-T9")
def test_a_link_cut_into_pieces_has_the_same_rigid_arm() -> None:
    """Columns of the welds are absent: BBt has six rows for every piece and a column for each hinge."""
    forms = []
    for pieces in (1, 4):
        eqs = stiff_beam(pieces)
        assert not eqs.rows
        state = da.assemble(eqs, {"j0": 0.4, "j1": 0.9}, velocity={"j0": 1.0, "j1": -2.0})
        forms.append(da.tree.closed_form(eqs, state))
    one, four = forms
    assert four.BBt.shape == (30, 2) and one.BBt.shape == (12, 2)
    np.testing.assert_allclose(four.Mtt, one.Mtt, rtol=0, atol=1e-12)
    np.testing.assert_allclose(four.Ct, one.Ct, rtol=0, atol=1e-11)  # weights of 80 N


@pytest.mark.slow
@pytest.mark.spec("001-C24", "001-C26")
@pytest.mark.parametrize("form", ["recursive", "closed"])
def test_a_spatial_arm_keeps_its_energy(form: str) -> None:
    """Three links that bend in two planes and twist, 5 s of free motion."""
    m = da.Mechanism("arm")
    carrier, axes = m.ground.at(0, 0, 0), ((0, 1, 0), (0, 0, 1), (0, 1, 0))
    for k, axis in enumerate(axes):
        frame = Frame("rod")
        frame.add_points(["root", "tip"], [[0, 0, 0], [0.5, 0, 0]])
        frame.add_beam("rod", "root", "tip", section=Section.rectangle(0.006, 0.01), material="aluminium", elements=6)
        frame.add_mass("end", "tip", mass=0.3, inertia=(0.01, 0.01, 0.01))
        data = flexible_body(frame, basis="clamped", fixed="root", modes=3)
        assert np.abs([data.node("tip").translation[1:].max(axis=1)]).min() > 0.1  # both planes
        assert np.abs(data.node("tip").rotation[0]).max() > 0.1  # torsion
        body = m.add_flexible_body(f"b{k}", data)
        m.add_revolute(f"j{k}", carrier, body.at("root"), axis=axis, axis_b=axis)
        carrier = body.at("tip")
    eqs = da.equations(m, coordinates="joint", form=form)
    start = da.assemble(eqs, {"j0": 0.3, "j1": 0.5, "j2": -0.4}, velocity={"j0": 1.0, "j1": 2.0})
    run = da.simulate(
        eqs, 5.0, start=start, method=da.DormandPrince(rtol=1e-10, atol=1e-13), every=0.05, progress=False
    )
    assert np.ptp(run["energy"]) < 1e-8 * np.ptp(run["energy.kinetic"])


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_equilibrium_finds_holding_torques_and_sag(coordinates: str) -> None:
    """400 g, stretched: torques of the bent arm, its tip at (0.8147, -0.0824) m."""
    eqs = da.equations(tudor(0.4), coordinates=coordinates)
    rest = da.equilibrium(eqs, hold={"shoulder": 0.0, "elbow": 0.0}, efforts=["shoulder", "elbow"])
    assert list(rest.efforts.values()) == pytest.approx([7.270, 1.796], abs=1e-3)
    assert (rest["load.x"], rest["load.y"]) == pytest.approx((0.8147, -0.0824), abs=1e-4)
