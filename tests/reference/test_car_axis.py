"""P8, the car axis of the test set for initial value problems (index 3, moving constraint).

Two wheels' suspension points on a road: the left end stands still, the right end (x_b, y_b) = (√(L²-y_b²), r sin ωt)
moves, so the road is a bar of length L that turns about the origin by asin(y_b / L). The left mass slides on the bar's
normal through the origin, a rod of length L ties the right mass to it, a spring stands between each mass and its end of
the road. Mass ε² M / 2 each, stiffness 1, free length L₀, gravity 1.
"""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.equations import State

M, EPS, L, L0, R, W = 10.0, 1e-2, 1.0, 0.5, 0.1, 10.0
END = [0.0493455784275, 0.4969894602302, 1.0417425248854, 0.3739110272654]  # xl, yl, xr, yr at t = 3


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    mass = EPS**2 * M / 2
    m = da.Mechanism("car axis", planar=True, gravity=(0, -1))
    road = m.add_body("road", mass=1.0, inertia=1.0, position=(L / 2, 0))
    left = m.add_body("left", mass=mass, inertia=mass, position=(0, 0.5))  # points: nothing turns them
    right = m.add_body("right", mass=mass, inertia=mass, position=(1, 0.5))
    m.add_revolute("road end", m.ground.at(0, 0), road.at(-L / 2, 0))
    m.add_driver("bump", "road end.angle", lambda t: da.math.asin(R * da.sin(W * t) / L))
    m.add_point_on_line("guide", road.frame(-L / 2, 0, angle=da.math.pi / 2), left.at(0, 0))
    m.add_massless_rod("axis", left.at(0, 0), right.at(0, 0), length=L)
    m.add_spring("left spring", m.ground.at(0, 0), left.at(0, 0), stiffness=1.0, free_length=L0)
    m.add_spring("right spring", road.at(L / 2, 0), right.at(0, 0), stiffness=1.0, free_length=L0)
    return da.equations(m)


@pytest.fixture(scope="module")
def start(eqs: da.EquationsOfMotion) -> State:
    position = {"left.x": 0.0, "left.y": 0.5, "right.x": 1.0, "right.y": 0.5, "left.angle": 0.0, "right.angle": 0.0}
    velocity = {"left.x": -0.5, "left.y": 0.0, "right.x": -0.5, "right.y": 0.0, "left.angle": 0.0, "right.angle": 0.0}
    return da.assemble(eqs, position, velocity=velocity)


# the published digits are good to 1e-13; each method's local tolerance times its few thousand steps stays below 1e-9
@pytest.mark.parametrize(
    ("method", "tolerance"),
    [
        pytest.param(da.DormandPrince(rtol=1e-12, atol=1e-13), 1e-9, id="DormandPrince"),
        pytest.param(da.DormandPrince(order=5, rtol=1e-12, atol=1e-13), 1e-9, id="DormandPrince 5"),
        pytest.param(da.RK4(step=2.5e-4), 1e-9, id="RK4"),
        pytest.param(da.Rosenbrock(rtol=1e-11, atol=1e-11), 1e-9, id="Rosenbrock"),
        pytest.param(da.Sundials(rtol=1e-12, atol=1e-12), 1e-8, id="CVODES"),  # measured 7e-10
        pytest.param(da.Sundials(rtol=1e-11, atol=1e-11, solver="idas"), 1e-7, id="IDAS"),
        # second order: 2e-5 here, 5e-6 at half the step
        pytest.param(da.GeneralizedAlpha(step=2.5e-4), 4e-5, id="GeneralizedAlpha"),
    ],
)
def test_p8_car_axis_ends_where_published(
    eqs: da.EquationsOfMotion, start: State, method: da.RK4, tolerance: float
) -> None:
    run = da.simulate(eqs, 3.0, start=start, method=method, every=0.1)
    end = [run[name][-1] for name in ("left.x", "left.y", "right.x", "right.y")]
    assert end == pytest.approx(END, abs=tolerance)
    assert run["residual.position"].max() < 1e-12
