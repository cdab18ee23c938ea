"""Inertia, strain and elastic force of a bending link that turns, against the integrals over its elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.linkages import EquivalentRigidLinks
from dalembert.structures import Frame, Material, Section

LENGTH, COUNT = 0.8, 2
ANGLE, RATE, ACCELERATION = 0.7, 5.0, 11.0
GAUGE = 0.55  # [m] along the link, in the second element
HEIGHT, WIDTH = 0.004, 0.02
YOUNG, DENSITY = 70e9, 2700.0


def turning_rod() -> EquivalentRigidLinks:
    section, metal = Section.rectangle(HEIGHT, WIDTH), Material("metal", E=YOUNG, density=DENSITY)
    frame = Frame("rod", planar=True)
    frame.add_points(["root", "middle", "tip"], [[0, 0], [LENGTH / 2, 0], [LENGTH, 0]])
    for k, (a, b) in enumerate((("root", "middle"), ("middle", "tip"))):
        frame.add_beam(f"beam{k + 1}", a, b, section=section, material=metal, theory="euler-bernoulli", rotary=False)
    m = da.Mechanism("rod", planar=True, gravity=0)
    rod = m.add_body("rod", mass=1, inertia=1, center=(0, 0), angle=ANGLE)
    m.add_revolute("A", m.ground.at(0, 0), rod.at(0, 0))
    return EquivalentRigidLinks(m, beams={"rod": frame}, gauges={"strain": ("rod", GAUGE)})


def shape_functions(xi: float, length: float) -> np.ndarray:
    """(2, 6) displacements along and across an element at ξ = x/l."""
    bend = [1 - 3 * xi**2 + 2 * xi**3, length * (xi - 2 * xi**2 + xi**3), 3 * xi**2 - 2 * xi**3,
            length * (xi**3 - xi**2)]  # fmt: skip
    return np.array([[1 - xi, 0, 0, xi, 0, 0], [0, bend[0], bend[1], 0, bend[2], bend[3]]])


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def node_turns(angle: float) -> np.ndarray:
    """T (6, 6): displacements of both ends from the world's axes to the element's."""
    T = np.eye(6)
    T[:2, :2] = T[3:5, 3:5] = turn(angle).T
    return T


def rigid_motions() -> tuple[np.ndarray, np.ndarray]:
    """S (9,) of all nodes and its change with the angle."""
    e, n = turn(ANGLE).T
    places = np.linspace(0.0, LENGTH, COUNT + 1)
    return np.concatenate([[*(x * n), 1.0] for x in places]), np.concatenate([[*(-x * e), 0.0] for x in places])


def columns(names: tuple[str, ...]) -> list[int]:
    """Places of the free displacements among those of all nodes."""
    ways = {"x": 0, "y": 1, "rz": 2}
    nodes = {"root": 0, "middle": 1, "tip": 2}
    return [3 * nodes[name.split(".")[1]] + ways[name.split(".")[2]] for name in names]


@pytest.mark.spec("004-C33")
@pytest.mark.spec("004-C35")
def test_inertia_forces_are_the_integral_of_the_virtual_work_of_the_elements() -> None:
    """p̈ = R N T (r̈ + ü) + 2 (Ṙ N T + R N Ṫ) u̇ and δp = R N T (δr + δu), integrated by four Gauss points each.

    Displacements are zero: the terms of u times rates, which are dropped, vanish.
    """
    eqs = da.equations(turning_rod())
    n, free = len(eqs.elastic), columns(eqs.elastic)
    random = np.random.default_rng(2)
    rates, accelerations = random.normal(size=n), random.normal(size=n)
    S, slope = rigid_motions()
    motions = np.zeros((9, n + 1))
    motions[free, np.arange(n)] = 1.0
    motions[:, n] = S
    u_rates, total = np.zeros(9), np.zeros(9)
    u_rates[free] = rates
    total[free] = accelerations
    total += S * ACCELERATION + slope * RATE**2
    length = LENGTH / COUNT
    R, T, h = turn(ANGLE), node_turns(ANGLE), 1e-6
    R_rate = RATE * (turn(ANGLE + h) - turn(ANGLE - h)) / (2 * h)
    T_rate = RATE * (node_turns(ANGLE + h) - node_turns(ANGLE - h)) / (2 * h)
    expected: Any = np.zeros(n + 1)
    for element in range(COUNT):
        at = slice(3 * element, 3 * element + 6)
        for x, weight in zip(*np.polynomial.legendre.leggauss(4), strict=True):
            N = shape_functions((1 + x) / 2, length)
            acceleration = R @ N @ T @ total[at] + 2 * (R_rate @ N @ T + R @ N @ T_rate) @ u_rates[at]
            expected += 0.5 * length * weight * DENSITY * HEIGHT * WIDTH * (R @ N @ T @ motions[at]).T @ acceleration
    q = np.r_[np.zeros(n), ANGLE]
    v, a = np.r_[rates, RATE], np.r_[accelerations, ACCELERATION]
    M = eqs.kernel("inertia")(q, eqs.p, 0.0)[0]
    force = eqs.kernel("forces")(q, v, [], [], eqs.p, 0.0, [])[0]
    # central differences of a turn over 1e-6 rad: 1e-10 of their value
    assert M @ a - force == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


@pytest.mark.spec("004-C33")
@pytest.mark.spec("004-C63")
def test_strains_are_those_of_the_shape_functions_in_the_axes_of_the_link() -> None:
    """ε = B T u: curvature N'' of the element's axes, and the elastic energy is its square along the beam."""
    eqs = da.equations(turning_rod())
    n, free = len(eqs.elastic), columns(eqs.elastic)
    u = np.zeros(9)
    u[free] = 1e-4 * np.random.default_rng(4).normal(size=n)
    state = eqs.state(q=np.r_[u[free], ANGLE])
    length, T = LENGTH / COUNT, node_turns(ANGLE)

    def strains(element: int, xi: float) -> tuple[float, float]:
        """Stretch and curvature."""
        b = [12 * xi - 6, (6 * xi - 4) * length, 6 - 12 * xi, (6 * xi - 2) * length]
        local = T @ u[3 * element : 3 * element + 6]
        return (local[3] - local[0]) / length, float(b @ local[[1, 2, 4, 5]]) / length**2

    found = eqs.kernel("outputs")(state.q, state.v, np.zeros(eqs.nv), [], [], [], eqs.p, 0.0)[0]
    assert found[eqs.outputs.index["strain"]] == pytest.approx(strains(1, (GAUGE - length) / length)[1], rel=1e-12)
    energy = 0.0
    for element in range(COUNT):
        for x, weight in zip(*np.polynomial.legendre.leggauss(2), strict=True):
            stretch, curvature = strains(element, (1 + x) / 2)
            energy += 0.25 * length * weight * YOUNG * HEIGHT * WIDTH * (stretch**2 + HEIGHT**2 / 12 * curvature**2)
    assert eqs.kernel("energy")(state.q, state.v, [], eqs.p, 0.0)[1] == pytest.approx(energy, rel=1e-10)
