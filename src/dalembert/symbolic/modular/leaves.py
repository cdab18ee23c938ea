"""Leaves to build from: bodies, particles, wheels, spheres, bars and motors.

Rigid bodies have velocities of their mass centre in axes of space and angular velocities in their own axes
(Newton and Euler): m v̇ = f ,  I ω̇ = τ - ω × I ω. Numbers given to a leaf become its parameters; expressions are used
unchanged. A wheel is a knife edge that rolls without slip on the plane z = 0, z downwards, in angles of heading, lean
and spin (z, x, y).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from dalembert.core.errors import ModelError
from dalembert.symbolic.modular.algebra.rotations import (
    angular_velocity,
    quaternion_rotation,
    quaternion_spin,
    rotation_matrix,
    unskew,
)
from dalembert.symbolic.modular.parts import Assembly, Leaf, ModularPart

SX = ca.SX
DOWN = (0.0, 0.0, -9.81)
INERTIA = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
AXES = ("x", "y", "z")


def rigid_body(
    name: str,
    *,
    mass: Any = 1.0,
    inertia: Sequence[Any] = (1.0, 1.0, 1.0),
    coordinates: str = "quaternion",
    redundant: bool = False,
    gravity: Sequence[float] = DOWN,
    frame: str = "body",
) -> Leaf:
    """A free rigid body.

    Parameters
    ----------
    inertia : Ixx, Iyy, Izz, and where given Ixy, Ixz, Iyz, elements of the matrix about the mass centre, body axes
    coordinates : ``"none"``; ``"position"`` (x, y, z); ``"quaternion"`` (with qt, qx, qy, qz, qt the scalar); or a
        sequence of axes such as ``"zxy"``, with the angles ``psi``, ``phi``, ``theta`` in this order
    redundant : the rates of the angles are velocities too, with three constraints between them and ω
    gravity : acceleration [m/s²]
    frame : ``"body"``, or ``"space"`` for the angular velocity; the latter needs a quaternion
    """
    leaf = Leaf(name)
    m = number(leaf, "mass", mass, "kg")
    v = ca.vertcat(*(leaf.add_velocity(f"v{k}", "m/s") for k in AXES))
    w = ca.vertcat(*(leaf.add_velocity(f"w{k}", "rad/s") for k in AXES))
    matrix = inertia_matrix(leaf, inertia)
    pull = ca.vertcat(*gravity)
    if coordinates != "none":
        r = ca.vertcat(*(leaf.add_coordinate(k, "m", rate=v[i]) for i, k in enumerate(AXES)))
        leaf.add_potential(-m * ca.dot(pull, r))
        pull = SX.zeros(3)
    R = SX.eye(3)
    if coordinates == "quaternion":
        R = _add_quaternion(leaf, w, frame)
    elif coordinates not in ("none", "position"):
        add_angles(leaf, coordinates, w, redundant)
    if frame == "space":
        if coordinates != "quaternion":
            raise ModelError("conflicting-arguments", "angular velocity in axes of space needs a quaternion.")
        matrix = R @ matrix @ R.T
    add_newton_euler(leaf, m, matrix, v, w, pull)
    return leaf


def add_newton_euler(leaf: ModularPart, m: Any, inertia: Any, v: Any, w: Any, pull: Any) -> None:
    """Inertia forces and gravity of one body along its velocities."""
    rate_v = ca.vertcat(*(leaf.rate(v[k]) for k in range(3)))
    rate_w = ca.vertcat(*(leaf.rate(w[k]) for k in range(3)))
    force = m * pull - m * rate_v
    torque = -(inertia @ rate_w) - ca.cross(w, inertia @ w)
    for k in range(3):
        leaf.add_force(force[k], v[k])
        leaf.add_force(torque[k], w[k])


def _add_quaternion(leaf: Leaf, w: Any, frame: str) -> Any:
    symbols: dict[str, Any] = {}
    q = ca.vertcat(*(SX.sym(f"q{k}") for k in ("x", "y", "z", "t")))
    rates = quaternion_spin(q, frame).T @ w / 4
    for k in ("t", "x", "y", "z"):  # scalar first, as blocks of Euler parameters are
        symbols[k] = leaf.add_coordinate(f"q{k}")
    quaternion = ca.vertcat(symbols["x"], symbols["y"], symbols["z"], symbols["t"])
    for i, k in enumerate(("x", "y", "z", "t")):
        leaf.own.rates[f"q{k}"] = ca.substitute(rates[i], q, quaternion)
    leaf.constrain(ca.sumsqr(quaternion) - 1, "unit quaternion")
    if frame == "body":
        leaf.own.quaternions.append(("qt", "wx"))
    return quaternion_rotation(quaternion)


def add_angles(leaf: Leaf, sequence: str, w: Any, redundant: bool) -> Any:
    """Three angles psi, phi, theta about the axes of a sequence; returns the rotation matrix."""
    names = ("psi", "phi", "theta")
    angles = [leaf.add_coordinate(k, "rad") for k in names]
    W = angular_velocity(sequence, angles)
    rates = ca.vertcat(*(leaf.rate(k) for k in names))
    for k, axis in enumerate(AXES):
        gap = w[k] - W[k, :] @ rates
        if redundant:
            leaf.constrain(gap, f"w{axis}")
        else:
            leaf.relate(gap, f"w{axis}")
    return rotation_matrix(sequence, angles)


def planar_body(
    name: str,
    *,
    mass: Any = 1.0,
    inertia: Any = 1.0,
    nodes: int = 0,
    centre: tuple[int, int, Any, Any] = (1, 2, 0.5, 0.0),
    gravity: Sequence[float] = (0.0, -9.81),
) -> Leaf:
    """A body in the plane: velocities vx, vy, w of its mass centre, coordinates x, y, angle, or nodes.

    Parameters
    ----------
    nodes : number of nodes; 0 for x, y, angle. Node k has coordinates ``pkx``, ``pky``, whose rates are velocities too.
    centre : nodes i and j, and γ, ρ of the mass centre: r_i + γ (r_j - r_i) + ρ ẑ × (r_j - r_i)
    """
    leaf = Leaf(name)
    m, J = number(leaf, "mass", mass, "kg"), number(leaf, "inertia", inertia, "kg m²")
    v = [leaf.add_velocity("vx", "m/s"), leaf.add_velocity("vy", "m/s")]
    w = leaf.add_velocity("w", "rad/s")
    if nodes == 0:
        place = [leaf.add_coordinate(k, "m", rate=v[i]) for i, k in enumerate(("x", "y"))]
        leaf.add_coordinate("angle", "rad", rate=w)
    else:
        place = _add_nodes(leaf, nodes, centre, v, w)
    leaf.add_potential(-m * (gravity[0] * place[0] + gravity[1] * place[1]))
    for k in range(2):
        leaf.add_force(-m * leaf.rate(v[k]), v[k])
    leaf.add_force(-J * leaf.rate(w), w)
    return leaf


def _add_nodes(leaf: Leaf, nodes: int, centre: tuple[int, int, Any, Any], v: list[Any], w: Any) -> list[Any]:
    i, j, gamma, rho = centre
    if nodes < 2 or not (1 <= i <= nodes and 1 <= j <= nodes and i != j):
        raise ModelError("out-of-range", f"a body needs two nodes at least, and two of them for its centre: {centre}.")
    gamma, rho = number(leaf, "gamma", gamma), number(leaf, "rho", rho)
    p = [[leaf.add_coordinate(f"p{k + 1}{c}", "m") for c in ("x", "y")] for k in range(nodes)]
    along = [p[j - 1][c] - p[i - 1][c] for c in range(2)]
    for a in range(nodes):
        for b in range(a):
            length = leaf.add_parameter(f"length {b + 1}-{a + 1}", 1.0, "m")
            leaf.constrain(sum((p[a][c] - p[b][c]) ** 2 for c in range(2)) - length**2, f"distance {b + 1}-{a + 1}")
    middle = [p[i - 1][0] + gamma * along[0] - rho * along[1], p[i - 1][1] + gamma * along[1] + rho * along[0]]
    for k in range(nodes):
        turned = [-(p[k][1] - middle[1]), p[k][0] - middle[0]]
        for c, axis in enumerate(("x", "y")):
            leaf.constrain(leaf.rate(f"p{k + 1}{axis}") - v[c] - w * turned[c], f"node {k + 1}{axis}")
    leaf.choose("vx", "vy", "w")
    return middle


def particle(name: str, *, mass: Any = 1.0, gravity: Sequence[float] = DOWN) -> Leaf:
    """A point mass with coordinates x, y, z."""
    leaf = Leaf(name)
    m = number(leaf, "mass", mass, "kg")
    r = [leaf.add_coordinate(k, "m") for k in AXES]
    for k in range(3):
        leaf.add_force(-m * leaf.rate(r[k], 2), leaf.rate(r[k]))
    leaf.add_potential(-m * sum((gravity[k] * r[k] for k in range(3)), SX(0)))
    return leaf


def dc_motor(
    name: str, *, torque: Any = 0.1, back: Any = None, inertia: Any = 1e-4, friction: Any = 0.0,
    inductance: Any = 0.01, resistance: Any = 1.0,
) -> Leaf:  # fmt: skip
    """A motor with shaft speed w, armature current i and the input ``voltage``.

    torque : torque constant [N m/A].  back : of the back electromotive force [V s/rad], the same when left out.
    """
    leaf = Leaf(name)
    w, i = leaf.add_velocity("w", "rad/s"), leaf.add_velocity("i", "A")
    k = number(leaf, "k", torque, "N m/A")
    ke = k if back is None else number(leaf, "ke", back, "V s/rad")
    J, b = number(leaf, "I", inertia, "kg m²"), number(leaf, "b", friction, "N m s/rad")
    L, R = number(leaf, "L", inductance, "H"), number(leaf, "R", resistance, "Ohm")
    voltage = leaf.add_input("voltage", "V")
    leaf.add_force(k * i - J * leaf.rate(w) - b * w, w)
    leaf.add_force(voltage - L * leaf.rate(i) - R * i - ke * w, i)
    return leaf


def rolling_wheel(
    name: str, *, radius: Any, mass: Any = 1.0, axial: Any = 1.0, radial: Any = 0.5,
    gravity: Sequence[float] = (0.0, 0.0, 9.81), driven: bool = False,
) -> Leaf:  # fmt: skip
    """A thin wheel that rolls without slip on the plane z = 0, z downwards; independent theta', phi', psi'.

    axial, radial : moments of inertia about the axle and across it [kg m²].
    driven : the input ``torque`` acts about the axle; rolling forward has theta' < 0.
    """
    leaf = Leaf(name)
    m, r = number(leaf, "mass", mass, "kg"), number(leaf, "radius", radius, "m")
    Ia, Ir = number(leaf, "axial", axial, "kg m²"), number(leaf, "radial", radial, "kg m²")
    v = ca.vertcat(*(leaf.add_velocity(f"v{k}", "m/s") for k in AXES))
    w = ca.vertcat(*(leaf.add_velocity(f"w{k}", "rad/s") for k in AXES))
    p = [leaf.add_coordinate(k, "m", rate=v[i]) for i, k in enumerate(AXES)]
    add_angles(leaf, "zxy", w, redundant=True)
    psi, phi = leaf["psi"], leaf["phi"]
    d_psi, d_phi, d_theta = (leaf.rate(k) for k in ("psi", "phi", "theta"))
    c, s = ca.cos, ca.sin
    leaf.constrain(v[0] + r * (d_theta * c(psi) + d_phi * s(psi) * c(phi) + d_psi * c(psi) * s(phi)), "no slip x")
    leaf.constrain(v[1] - r * (d_phi * c(psi) * c(phi) - d_theta * s(psi) - d_psi * s(psi) * s(phi)), "no slip y")
    leaf.constrain(p[2] + r * c(phi), "contact")
    add_newton_euler(leaf, m, ca.diag(ca.vertcat(Ir, Ia, Ir)), v, w, SX.zeros(3))
    leaf.add_potential(-m * sum((gravity[k] * p[k] for k in range(3)), SX(0)))
    if driven:
        leaf.add_input("torque", "N m", on="wy")
    leaf.choose("theta.rate", "phi.rate", "psi.rate")
    return leaf


def rolling_sphere(
    name: str, *, radius: Any, mass: Any = 1.0, surface: Callable[[Any, Any, Any], Any], share: float = 0.4,
    gravity: Sequence[float] = DOWN,
) -> Leaf:  # fmt: skip
    """A sphere that rolls without slip on a surface; x, y, z are the point of contact.

    surface : function of x, y, z that is zero on the surface and grows outwards.  share : inertia over m r².
    Velocities: of the centre, and ω in axes of space; the orientation is a quaternion.
    """
    leaf = Leaf(name)
    m, r = number(leaf, "mass", mass, "kg"), number(leaf, "radius", radius, "m")
    v = ca.vertcat(*(leaf.add_velocity(f"v{k}", "m/s") for k in AXES))
    w = ca.vertcat(*(leaf.add_velocity(f"w{k}", "rad/s") for k in AXES))
    p = ca.vertcat(*(leaf.add_coordinate(k, "m") for k in AXES))
    gap = SX(surface(p[0], p[1], p[2]))
    slope = ca.gradient(gap, p)
    normal = slope / ca.norm_2(slope)
    rates = ca.vertcat(*(leaf.rate(k) for k in AXES))
    moving = rates + r * ca.jtimes(normal, p, rates)
    for k, axis in enumerate(AXES):
        leaf.relate(moving[k] - v[k], f"centre {axis}")
    _add_quaternion(leaf, w, "space")
    leaf.constrain(gap, "surface")
    slip = v - r * ca.cross(w, normal)
    for k, axis in enumerate(AXES):
        leaf.constrain(slip[k], f"no slip {axis}")
    add_newton_euler(leaf, m, share * m * r**2 * SX.eye(3), v, w, SX.zeros(3))
    pull = ca.vertcat(*gravity)
    leaf.add_potential(-m * ca.dot(pull, p + r * normal))
    leaf.choose("wx", "wy", "wz")
    return leaf


def thin_bar(name: str, *, mass: Any = 1.0, inertia: Any = 1.0, gravity: Sequence[float] = (0.0, 0.0, 9.81)) -> Leaf:
    """A bar along its own x axis without inertia about it, in angles psi, phi, theta about z, y, x."""
    leaf = Leaf(name)
    m, Ir = number(leaf, "mass", mass, "kg"), number(leaf, "inertia", inertia, "kg m²")
    v = ca.vertcat(*(leaf.add_velocity(f"v{k}", "m/s") for k in AXES))
    w = ca.vertcat(*(leaf.add_velocity(f"w{k}", "rad/s") for k in AXES))
    p = [leaf.add_coordinate(k, "m", rate=v[i]) for i, k in enumerate(AXES)]
    add_angles(leaf, "zyx", w, redundant=True)
    add_newton_euler(leaf, m, ca.diag(ca.vertcat(0, Ir, Ir)), v, w, SX.zeros(3))
    leaf.add_potential(-m * sum((gravity[k] * p[k] for k in range(3)), SX(0)))
    leaf.choose("vx", "vy", "vz", "psi.rate", "phi.rate", "theta.rate")
    return leaf


def inertia_matrix(leaf: Leaf, inertia: Sequence[Any]) -> Any:
    """The matrix of three or six elements, parameters of the leaf."""
    if len(inertia) not in (3, 6):
        raise ModelError("wrong-shape", f"an inertia has three or six elements, got {len(inertia)}.")
    elements = {key: number(leaf, key, value, "kg m²") for key, value in zip(INERTIA, inertia, strict=False)}
    xy, xz, yz = (elements.get(key, SX(0)) for key in INERTIA[3:])
    return ca.vertcat(
        ca.horzcat(elements["Ixx"], xy, xz), ca.horzcat(xy, elements["Iyy"], yz), ca.horzcat(xz, yz, elements["Izz"])
    )


def number(leaf: Leaf, name: str, value: Any, unit: str = "") -> Any:
    """A parameter of the leaf for a number; an expression is returned unchanged."""
    return value if isinstance(value, SX) else leaf.add_parameter(name, value, unit)


def attach_body(assembly: Assembly, name: str, place: Any, R: Any) -> None:
    """Give the velocities of a rigid body without coordinates: its mass centre is at ``place``, its axes are R."""
    v, w = (ca.vertcat(*(assembly[f"{name}.{s}{k}"] for k in AXES)) for s in ("v", "w"))
    moving = v - assembly.differentiate(place)
    turning = w - unskew(R.T @ assembly.differentiate(R))
    for k, axis in enumerate(AXES):
        assembly.constrain(moving[k], f"{name} v{axis}")
        assembly.constrain(turning[k], f"{name} w{axis}")
