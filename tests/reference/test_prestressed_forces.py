"""Internal forces and stresses of prestressed structures, against beam-column theory.

Closed forms: Timoshenko & Gere, Theory of Elastic Stability, ch. 1 (compression) and Roark, table "ties" (tension),
of slender beams: EI v⁗ − N v″ = q, M = EI v″, shear in the plane of the turned section V = −M′.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.integrate import trapezoid

from dalembert.structures import (
    Frame,
    Section,
    Solid,
    assemble_structure,
    box_mesh,
    find_buckling,
    material,
    prestress,
    solve_static,
)

STEEL = material("steel")
SQUARE = Section.square(0.02)
EI = STEEL.E * SQUARE.I_z
EULER = np.pi**2 / 4 * EI  # cantilever of 1 m


def member(elements: int, *, length: float = 1.0, theory: str = "euler-bernoulli", section: Section = SQUARE,
           planar: bool = True) -> Frame:  # fmt: skip
    """A beam AB along x, not yet held."""
    frame = Frame("member", planar=planar, gravity=0)
    rest = (0.0,) if planar else (0.0, 0.0)
    frame.add_points(["A", "B"], [[0.0, *rest], [length, *rest]])
    up = None if planar else (0, 1, 0)
    frame.add_beam("b", "A", "B", section=section, material=STEEL, elements=elements, theory=theory, up=up)
    return frame


def cantilever(elements: int, **options: object) -> Frame:
    frame = member(elements, **options)  # type: ignore[arg-type]
    frame.add_support("A", "fixed")
    zeros = (0.0,) * (1 if options.get("planar", True) else 2)
    frame.add_force("P", "B", (-1.0, *zeros))
    frame.add_force("H", "B", (0.0, 300.0, *zeros[1:]))
    return frame


class TestACantileverAtSixtyPercentOfBuckling:
    """v = H/(P k) [k x − sin k x + tan k (cos k x − 1)] · (−1) for a force H at the tip."""

    P = 0.6 * EULER
    K = float(np.sqrt(P / EI))

    def closed(self, x):
        moment = 300.0 / self.K * (np.tan(self.K) * np.cos(self.K * x) - np.sin(self.K * x))
        shear = 300.0 * (np.tan(self.K) * np.sin(self.K * x) + np.cos(self.K * x))
        return moment, shear

    @pytest.mark.parametrize(("elements", "within"), [(32, 1e-7), (4, 5e-5), (1, 0.01)])
    def test_moment_and_shear_along_it(self, elements: int, within: float) -> None:
        solution = solve_static(prestress(assemble_structure(cantilever(elements)), {"P": self.P}), "H")
        x = np.linspace(0.0, 1.0, 101)
        found = solution.beam("b", x)
        moment, shear = self.closed(x)
        assert np.abs(found.M_z - moment).max() < within * moment.max()
        assert np.abs(found.V_y - shear).max() < within * shear.max()
        assert found.V_y[0] == pytest.approx(-solution.reaction["A.y"], rel=1e-10)
        assert found.M_z[0] == pytest.approx(-solution.reaction["A.rz"], rel=1e-10)
        assert np.abs(found.N).max() < 1e-9 * self.P  # to first order the load adds no axial force

    @pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
    def test_forces_at_the_clamp_are_the_reactions_in_space(self, theory: str) -> None:
        model = prestress(assemble_structure(cantilever(3, planar=False, theory=theory)), {"P": self.P})
        solution = solve_static(model, {"B.y": 200.0, "B.z": -90.0, "B.rx": 3.0})
        found = solution.beam("b", 2)
        start = [found.N[0], found.V_y[0], found.V_z[0], found.T[0], found.M_y[0], found.M_z[0]]
        assert np.allclose(start, -solution.reaction["A"], rtol=1e-9, atol=1e-7)

    def test_equilibrium_holds_on_the_bent_axis_of_a_beam_that_shears(self) -> None:
        """M = H (l − x) + P (v(l) − v(x)) whatever the theory of the beam: here five times as long as it is high."""
        model = assemble_structure(cantilever(4, length=0.1, theory="timoshenko"))
        P = 0.6 * find_buckling(model, "P").critical
        found = solve_static(prestress(model, {"P": P}), "H").beam("b", np.linspace(0.0, 0.1, 21))
        v = found.deflection[:, 1]
        assert found.M_z == pytest.approx(300.0 * (0.1 - found.x) + P * (v[-1] - v), abs=1e-12 * found.M_z.max())

    def test_it_bends_alike_in_both_planes(self) -> None:
        """Pressed and twisted: with the load, everything turns by a quarter about the axis."""
        model = prestress(
            assemble_structure(cantilever(2, planar=False, theory="timoshenko")), {"P": self.P, "B.rx": 2e3}
        )
        x = np.linspace(0.0, 1.0, 9)
        up, aside = (solve_static(model, {f"B.{way}": 300.0}).beam("b", x) for way in "yz")
        quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
        for one, other in (
            ((up.M_y, up.M_z), (aside.M_y, aside.M_z)),
            ((up.V_y, up.V_z), (aside.V_y, aside.V_z)),
            (up.deflection.T[1:], aside.deflection.T[1:]),
            (up.rotation.T[1:], aside.rotation.T[1:]),
        ):
            assert np.allclose(other, quarter @ one, rtol=0, atol=1e-11 * np.abs(one).max())

    def test_the_stress_is_that_of_moment_and_shear(self) -> None:
        solution = solve_static(prestress(assemble_structure(cantilever(32)), {"P": self.P}), "H")
        moment, _ = self.closed(0.0)
        assert solution.beam("b", [0.0]).highest[0] == pytest.approx(moment * 0.01 / SQUARE.I_z, rel=1e-5)
        with_it = solution.beam("b", [0.0], total=True)
        assert with_it.N[0] == pytest.approx(-self.P, rel=1e-9)
        assert with_it.lowest[0] == pytest.approx(-self.P / SQUARE.area - moment * 0.01 / SQUARE.I_z, rel=1e-5)

    def test_the_whole_load_on_the_prestressed_structure_gives_the_whole_state(self) -> None:
        solution = solve_static(prestress(assemble_structure(cantilever(32)), {"P": self.P}), {"P": self.P, "H": 1.0})
        found = solution.beam("b", [0.0, 0.5])
        assert pytest.approx([-self.P] * 2, rel=1e-9) == found.N
        assert found.M_z == pytest.approx(self.closed(np.array([0.0, 0.5]))[0], rel=1e-5)

    def test_it_survives_copying(self) -> None:
        model = copy.deepcopy(prestress(assemble_structure(cantilever(4)), {"P": self.P}))
        solution = solve_static(model, "H")
        assert solution.beam("b", 2).V_y[0] == pytest.approx(-solution.reaction["A.y"], rel=1e-10)


ENDS = {"clamped": (0, 1), "pinned": (0, 2), "guided": (1, 3)}  # derivatives of v that are zero


@pytest.mark.parametrize("axis", ["y", "z"])
@pytest.mark.parametrize("last", ENDS)
@pytest.mark.parametrize("share", [-0.6, 0.6, 5.0])
def test_moment_and_shear_of_other_ends_in_both_planes(last: str, share: float, axis: str) -> None:
    """Uniform load, first end clamped, share of π²EI/l² in tension: v = c·(1, x, e^(−kx), e^(k(x−1))) − q x²/2N.

    Cubic elements of length h miss EI v⁗ − N v″ by (k h)⁴/720: 1e-6 with 32 of them; asked for are 1e-4.
    """
    section, rotation = Section.rectangle(0.03, 0.02), {"y": "rz", "z": "ry"}[axis]
    frame = member(32, planar=False, section=section)
    held = {"clamped": f"{axis} {rotation}", "pinned": axis, "guided": rotation}[last]
    frame.add_support("A", "fixed")
    frame.add_support("B", f"rx {'z ry' if axis == 'y' else 'y rz'} {held}")
    q, stiff = -150.0, STEEL.E * (section.I_z if axis == "y" else section.I_y)
    frame.add_line_load("q", "b", (0, q, 0) if axis == "y" else (0, 0, q))
    N = share * np.pi**2 * stiff
    solution = solve_static(prestress(assemble_structure(frame), tension={"b": N}), "q")
    x = np.linspace(0.0, 1.0, 65)
    found = solution.beam("b", x)
    k = np.sqrt(complex(N / stiff))

    def derivative(order: int, x: np.ndarray) -> np.ndarray:
        straight = [0 * x + 1, x] if order == 0 else [0 * x, 0 * x + (order == 1)]
        return np.array([*straight, (-k) ** order * np.exp(-k * x), k**order * np.exp(k * (x - 1))])

    def load(order: int, x: float) -> float:
        return [-q * x**2 / 2 / N, -q * x / N, -q / N, 0.0][order]

    rows, right = [], []
    for place, orders in ((0.0, ENDS["clamped"]), (1.0, ENDS[last])):
        for order in orders:  # a guide carries no force across: EI v‴ − N v′ = EI v‴ = 0
            rows.append(derivative(order, np.float64(place)))
            right.append(-load(order, place))
    c = np.linalg.solve(rows, right)
    moment = stiff * (c @ derivative(2, x) - q / N).real
    shear = -stiff * (c @ derivative(3, x)).real
    M, V = (found.M_z, found.V_y) if axis == "y" else (-found.M_y, found.V_z)
    assert np.abs(M - moment).max() < 1e-4 * np.abs(moment).max()
    assert np.abs(V - shear).max() < 1e-4 * np.abs(shear).max()
    assert V[0] == pytest.approx(-solution.reaction[f"A.{axis}"], rel=1e-9)


class TestATie:
    """Pinned tie, tension N, uniform load q: M(x) = q/k² [1 − cosh k(x − l/2)/cosh(k l/2)], k² = N/EI."""

    LENGTH, ROD, Q = 4.0, Section.circle(0.02), 50.0

    @pytest.mark.parametrize(("N", "elements"), [(1e3, 4), (1e4, 4), (1e4, 16), (1e5, 16), (1e5, 64)])
    def test_its_stress(self, N: float, elements: int) -> None:
        """Cubic elements of length h miss the stiffness of EI v⁗ − N v″ by (k h)⁴/720 (Przemieniecki, § 15.3)."""
        frame = member(elements, length=self.LENGTH, section=self.ROD)
        frame.add_support(["A", "B"], "pinned")
        frame.add_line_load("q", "b", (0.0, -self.Q))
        solution = solve_static(prestress(assemble_structure(frame), tension={"b": N}), "q")
        x = np.linspace(0.0, self.LENGTH, 65)
        k = np.sqrt(N / (STEEL.E * self.ROD.I_z))
        moment = self.Q / k**2 * (1 - np.cosh(k * (x - 2.0)) / np.cosh(2.0 * k))
        bending = moment * 0.01 / self.ROD.I_z
        within = (k * self.LENGTH / elements) ** 4 / 720
        assert np.abs(solution.beam("b", x).highest - bending).max() < within * bending.max()
        total = solution.beam("b", x, total=True)
        assert np.abs(total.highest - N / self.ROD.area - bending).max() < within * bending.max()
        largest = solution.largest_stresses(total=True)["b"]
        assert largest == pytest.approx(N / self.ROD.area + bending.max(), rel=within)

    def test_a_bar_carries_no_shear_when_it_turns(self) -> None:
        """Two tight bars and a force across their joint: N v′ takes it, the bars stay without bending."""
        frame = Frame("ties", planar=True, gravity=0)
        frame.add_points(["A", "B", "C"], [[0, 0], [1, 0], [2, 0]])
        frame.add_bar("a", "A", "B", section=self.ROD, material=STEEL)
        frame.add_bar("b", "B", "C", section=self.ROD, material=STEEL)
        frame.add_support(["A", "C"], "pinned")
        solution = solve_static(prestress(assemble_structure(frame), tension={"a": 1e4, "b": 1e4}), {"B.y": -10.0})
        assert solution.displacement["B.y"] == pytest.approx(-10.0 / 2e4, rel=1e-9)
        found = solution.beam("a", 5)
        assert np.abs(found.V_y).max() < 1e-9
        assert np.abs(found.M_z).max() < 1e-9


class TestStability:
    def test_a_clamped_beam_between_walls_under_pressure_and_uniform_load(self) -> None:
        """Both ends clamped, 60 % of 4π²EI/l²: M(0) = q/k² (1 − (kl/2)/tan(kl/2)) (Timoshenko & Gere, art. 1.11)."""
        q, P = 100.0, 0.6 * 4 * np.pi**2 * EI
        frame = member(32)
        frame.add_support("A", "fixed")
        frame.add_support("B", "y rz")
        frame.add_force("P", "B", (-1.0, 0.0))
        frame.add_line_load("q", "b", (0.0, -q))
        k = np.sqrt(P / EI)
        x = np.linspace(0.0, 1.0, 65)
        found = solve_static(prestress(assemble_structure(frame), {"P": P}), "q").beam("b", x)
        u = k / 2
        # EI v⁗ + P v″ = −q, v = v′ = 0 at both ends
        moment = q / k**2 * (u * np.cos(k * (x - 0.5)) / np.sin(u) - 1.0)
        shear = q * u * np.sin(k * (x - 0.5)) / np.sin(u) / k
        assert np.abs(found.M_z - moment).max() < 1e-4 * np.abs(moment).max()
        assert np.abs(found.V_y - shear).max() < 1e-4 * np.abs(shear).max()

    def test_a_column_under_its_own_weight_balances_its_reactions(self) -> None:
        """The prestress varies along the elements: equilibrium on the bent column at every place."""
        frame = member(6)
        frame.add_support("A", "fixed")
        frame.add_line_load("w", "b", (-1000.0, 0.0))
        solution = solve_static(prestress(assemble_structure(frame), "w"), {"B.y": 20.0})
        x = np.linspace(0.0, 1.0, 13)
        found = solution.beam("b", x)
        assert found.V_y[0] == pytest.approx(-solution.reaction["A.y"], rel=1e-10)
        v = found.deflection[:, 1]
        fine = np.linspace(0.0, 1.0, 401)
        shape = np.interp(fine, *(lambda r: (r.x, r.deflection[:, 1]))(solution.beam("b", 401)))
        weight = 1000.0 * trapezoid((fine[None] >= x[:, None])
                                       * (shape[None] - v[:, None]), fine, axis=1)  # fmt: skip
        moment = 20.0 * (1.0 - x) + weight  # of the force and of the weight above
        assert np.abs(found.M_z - moment).max() < 2e-3 * moment.max()

    def test_lateral_prestress_bends_about_the_weak_axis_too(self) -> None:
        """A strip in pure bending M about its strong axis, turned by torque: E I_y w″ = −M φ, exact near buckling.

        Simply supported in bending and torsion (fork), end moments M = 60 % of π √(EI_y GJ)/l, torque t per length:
        φ = Σ of sines; with t sin(πx/l) one term, φ = t / (GJ (π/l)² (1 − 0.36)) sin, M_y = M φ.
        """
        strip = Section.rectangle(0.05, 0.004).without_shear()
        n, t = 16, 2.0
        frame = Frame("strip", gravity=0)
        names = [f"p{i}" for i in range(n + 1)]
        x = np.linspace(0.0, 1.0, n + 1)
        frame.add_points(names, np.stack([x, 0 * x, 0 * x], axis=1))
        for i in range(n):
            frame.add_beam(f"b{i}", names[i], names[i + 1], section=strip, material=STEEL, up=(0, 1, 0))
        frame.add_support(names[0], "x y z rx")
        frame.add_support(names[-1], "y z rx")
        model = assemble_structure(frame)
        GJ, EIy = STEEL.G * strip.J, STEEL.E * strip.I_y
        M = 0.6 * np.pi * np.sqrt(EIy * GJ)
        axes = solve_static(model, {"p8.y": 1.0}).beam("b0", 2).axes
        # consistent nodal torques of t sin(πx) on linear twist
        h = 1.0 / n
        share = t * np.sin(np.pi * x) * (2 - 2 * np.cos(np.pi * h)) / (np.pi**2 * h)
        tight = prestress(model, {"p0.rz": -M, f"p{n}.rz": M})
        solution = solve_static(tight, {f"{name}.rx": float(s) for name, s in zip(names[1:-1], share[1:-1])})
        phi = t / (GJ * np.pi**2 * (1 - 0.36))
        assert solution.displacement["p8.rx"] == pytest.approx(phi, rel=3e-3)
        middle = solution.beam("b8", [0.0])
        assert np.allclose(axes, np.eye(3))
        assert middle.M_y[0] == pytest.approx(M * solution.displacement["p8.rx"], rel=3e-3)

    def test_a_rigid_rotation_adds_no_forces_to_a_prestressed_frame(self) -> None:
        """A bent, twisted, stretched beam that turns as a whole on free supports keeps its section forces."""
        frame = member(2, planar=False, theory="timoshenko")
        model = assemble_structure(frame)
        load = {"B.x": 3e3, "B.y": 40.0, "B.z": -25.0, "B.rx": 12.0, "A.x": -3e3, "A.y": -40.0, "A.z": 25.0,
                "A.rx": -12.0, "A.ry": -25.0, "A.rz": -40.0}  # fmt: skip
        tight = prestress(model, load)
        theta = np.array([0.02, -0.03, 0.05])
        turned = model.rigid_motions()[:, 3:] @ theta
        from dalembert.structures.analysis.statics import StaticSolution

        found = StaticSolution(tight, turned, np.zeros(len(turned)), {}).beam("b", 7)
        before = solve_static(model, load, inertia_relief=True).beam("b", 7)
        for name in ("N", "V_y", "V_z", "T", "M_y", "M_z"):
            size = max(np.abs(before.N).max(), np.abs(before.M_z).max())
            assert np.abs(getattr(found, name)).max() < 1e-11 * size

    def test_forces_go_on_from_element_to_element_where_couples_were_inside(self) -> None:
        """Couples along the beam before; shapes of four terms between the ends leave 2e-6 of the largest moment."""
        frame = member(3, theory="timoshenko", planar=False)
        frame.add_support("A", "fixed")
        frame.add_line_load("m", "b", moment=(40.0, -60.0, 90.0))
        solution = solve_static(
            prestress(assemble_structure(frame), "m"), {"B.y": 200.0, "B.z": -90.0, "B.rx": 30.0, "B.ry": 10.0}
        )
        joints = np.array([1.0, 2.0]) / 3
        before, after = (solution.beam("b", joints * (1 + side * 1e-9)) for side in (-1, 1))
        for name in ("V_y", "V_z", "T", "M_y", "M_z"):
            assert np.abs(getattr(after, name) - getattr(before, name)).max() < 1e-5 * 200.0, name

    @pytest.mark.parametrize("planar", [True, False])
    def test_joints_of_a_prestressed_frame_are_in_balance(self, planar: bool) -> None:
        """Forces of both members at a corner, turned with their sections by θ × F₀, and the load add up to nothing."""
        frame = Frame("portal", planar=planar, gravity=0)
        places = [[0, 0, 0], [0.4, 3, 0.3], [4, 3.3, -0.2], [4.2, 0, 0.5]]
        frame.add_points(list("ABCD"), [place[: 2 if planar else 3] for place in places])
        for name, (start, end) in zip("lbr", ("AB", "BC", "DC")):
            frame.add_beam(name, start, end, section=Section.rectangle(0.1, 0.07), material=STEEL, elements=3,
                           up=None if planar else (0.2, 0.1, 1.0))  # fmt: skip
        frame.add_support(["A", "D"], "fixed")
        for point in "BC":
            frame.add_force("roof", point, (0, -1) if planar else (0, -1, 0))
        model = assemble_structure(frame)
        roof = {"roof": 0.6 * find_buckling(model, "roof").critical}
        load = {"B.x": 1000.0, "B.rz": 200.0, **({} if planar else {"B.z": 400.0, "B.rx": 50.0})}
        solution, before = solve_static(prestress(model, roof), load), solve_static(model, roof)
        ways = ("x", "y", "z", "rx", "ry", "rz")
        d = solution.displacement
        theta = np.array([0.0, 0.0, d["B.rz"]] if planar else [d[f"B.{way}"] for way in ways[3:]])

        def on_face(of, beam, end):
            found = of.beam(beam, 2)
            forces = np.array([getattr(found, n)[end] for n in ("N", "V_y", "V_z", "T", "M_y", "M_z")])
            return forces.reshape(2, 3) @ found.axes

        total = np.array([load.get(f"B.{way}", 0.0) for way in ways]).reshape(2, 3)
        for beam, end, sign in (("l", -1, -1), ("b", 0, 1)):
            total += sign * (on_face(solution, beam, end) + np.cross(theta, on_face(before, beam, end)))
        assert np.abs(total).max() < 1e-11 * np.abs(on_face(solution, "l", -1)).max()

    def test_prestress_in_two_steps_is_prestress_in_one(self) -> None:
        model = assemble_structure(cantilever(8))
        once = prestress(model, {"P": 0.5 * EULER})
        twice = prestress(prestress(model, {"P": 0.2 * EULER}), {"P": 0.3 * EULER})
        a, b = (solve_static(s, "H").beam("b", 9) for s in (once, twice))
        assert b.M_z == pytest.approx(a.M_z, rel=1e-9, abs=1e-9)
        a, b = (solve_static(s, "H").beam("b", 9, total=True) for s in (once, twice))
        assert b.lowest == pytest.approx(a.lowest, rel=1e-9)

    def test_a_hinge_stays_without_moment(self) -> None:
        """Cantilever with a hinged link to a roller: the release holds under prestress too."""
        frame = Frame("link", planar=True, gravity=0)
        frame.add_points(["A", "B", "C"], [[0, 0], [1, 0], [1.5, 0]])
        frame.add_beam("a", "A", "B", section=SQUARE, material=STEEL, elements=4)
        frame.add_beam("b", "B", "C", section=SQUARE, material=STEEL, releases={"start": "rz"})
        frame.add_support("A", "fixed")
        frame.add_support("C", "y")
        frame.add_force("P", "C", (-1.0, 0.0))
        model = assemble_structure(frame)
        factor = find_buckling(model, "P").critical
        solution = solve_static(prestress(model, {"P": 0.5 * factor}), {"B.y": 50.0})
        found, other = solution.beam("b", 5), solution.beam("a", 2)
        assert abs(found.M_z[0]) < 1e-9 * np.abs(other.M_z).max()
        assert abs(found.M_z[-1]) < 1e-9 * np.abs(other.M_z).max()
        assert other.M_z[0] == pytest.approx(-solution.reaction["A.rz"], rel=1e-9)
        assert other.V_y[0] == pytest.approx(-solution.reaction["A.y"], rel=1e-9)


def test_stresses_of_a_prestressed_solid_are_in_the_axes_that_turn_with_it() -> None:
    """Column of solid elements at 60 % of its buckling load: bending stress and the sum with the prestress."""
    solid = Solid("column", box_mesh((1.0, 0.05, 0.05), (16, 1, 2), kind="hex20"), STEEL, gravity=0)
    solid.add_support("x=0", "x")
    solid.add_support("x=0", "yz")
    solid.add_interface("tip", "x=1")
    solid.add_force("P", "tip", (-1.0, 0.0, 0.0))
    model = assemble_structure(solid)
    P = 0.6 * find_buckling(model, "P").critical
    k, H = 0.5 * np.pi * np.sqrt(0.6), 1000.0
    solution = solve_static(prestress(model, {"P": P}), {"tip.z": H})
    inertia, x = 0.05**4 / 12, 0.5
    moment = H / k * (np.tan(k) * np.cos(k * x) - np.sin(k * x))
    where = [0.5, 0.0, 0.05]
    mesh = solid.mesh
    point = int(np.argmin(np.linalg.norm(mesh.points - where, axis=1)))
    added, total = solution.stresses()[0], solution.stresses(total=True)[0]
    assert added.at_points[point, 0] == pytest.approx(-moment * 0.025 / inertia, rel=0.01)
    assert total.at_points[point, 0] == pytest.approx(-moment * 0.025 / inertia - P / 0.05**2, rel=0.01)
