"""Machines of the library as systems in symbols, with the parameters, inputs and sensors of their files."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.symbolic import System

GRAVITY = 9.81


def four_bar() -> System:
    """Absolute angles of three rods; the loop closes at the second bearing."""
    s = da.symbolic.System("four-bar", gravity=(0, -GRAVITY))
    theta, beta, gamma = (s.coordinate(n, "rad", d) for n, d in (("A.angle", np.pi / 2), ("beta", 0.3), ("gamma", 1.2)))
    crank, coupler, rocker, base = (
        s.parameter(n, v, "m") for n, v in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5), ("base", 0.7))
    )
    line = s.parameter("line_mass", 1.0, "kg/m")
    torque = s.input("torque", "N m")
    bend = (crank * da.cos(theta), crank * da.sin(theta))
    tip = (bend[0] + coupler * da.cos(beta), bend[1] + coupler * da.sin(beta))
    pin = (base + rocker * da.cos(gamma), rocker * da.sin(gamma))
    middles = ((bend[0] / 2, bend[1] / 2), ((bend[0] + tip[0]) / 2, (bend[1] + tip[1]) / 2),
               ((base + pin[0]) / 2, pin[1] / 2))  # fmt: skip
    for name, length, angle, place in zip(
        ("crank", "coupler", "rocker"), (crank, coupler, rocker), (theta, beta, gamma), middles, strict=True
    ):
        s.add_body(name, line * length, line * length**3 / 12, place, angle=angle)
    s.add_generalized_force("motor", theta, torque)
    s.constrain([tip[0] - pin[0], tip[1] - pin[1]], "C")
    s.add_output("encoder", theta, "rad")
    for name, place in (("O", (0, 0)), ("B", bend), ("C", tip), ("D", (base, 0))):
        s.add_point(name, place)
    s.add_line("O", "B", "C", "D")
    return s


def slider_crank() -> System:
    """Angles of crank and rod, place of the piston."""
    s = da.symbolic.System("slider-crank", gravity=(0, -GRAVITY))
    theta, beta = s.coordinate("A.angle", "rad", np.pi / 6), s.coordinate("beta", "rad", -0.15)
    x = s.coordinate("guide.displacement", "m", 0.2)
    crank, rod, mass = s.parameter("crank", 0.05, "m"), s.parameter("rod", 0.16, "m"), s.parameter("piston_mass", 0.4)
    torque, gas = s.input("torque"), s.input("gas")
    bend = (crank * da.cos(theta), crank * da.sin(theta))
    s.add_body("crank", 1.5, 0.01, (0, 0), angle=theta)
    middle = (bend[0] + rod / 2 * da.cos(beta), bend[1] + rod / 2 * da.sin(beta))
    s.add_body("rod", 0.5, 0.5 * rod**2 / 12, middle, angle=beta)
    s.add_particle("piston", mass, (x, 0))
    s.add_generalized_force("motor", theta, torque)
    s.add_generalized_force("gas", x, -gas)
    s.constrain(bend[0] + rod * da.cos(beta) - x, "along")
    s.constrain(bend[1] + rod * da.sin(beta), "across")
    s.add_output("stroke", x, "m")
    for name, place in (("O", (0, 0)), ("B", bend), ("piston", (x, 0))):
        s.add_point(name, place)
    s.add_line("O", "B", "piston")
    return s


def cart_pendulum() -> System:
    """Minimal coordinates: place of the cart, angle of the rod from the rail."""
    s = da.symbolic.System("cart-pendulum", gravity=(0, -GRAVITY))
    x, theta = s.coordinate("rail.displacement", "m"), s.coordinate("hinge.angle", "rad", -80 * np.pi / 180)
    cart, rod = s.parameter("cart_mass", 2.0, "kg"), s.parameter("rod_mass", 0.3, "kg")
    length, drag = s.parameter("length", 0.6, "m"), s.parameter("drag", 0.1, "N s/m")
    push = s.input("push", "N")
    s.add_particle("cart", cart, (x, 0))
    tip = (x + length * da.cos(theta), length * da.sin(theta))
    s.add_body("rod", rod, rod * length**2 / 12, ((x + tip[0]) / 2, tip[1] / 2), angle=theta)
    s.add_dissipation(drag * s.rate(x) ** 2 / 2, "drag")
    s.add_generalized_force("push", x, push)
    s.add_output("place", x, "m")
    s.add_output("angle", theta, "rad")
    s.add_point("cart", (x, 0))
    s.add_point("tip", tip)
    s.add_line("cart", "tip")
    return s
