"""Machines with stiff coordinates, written by hand: judges of slow and fast models."""

from __future__ import annotations

from typing import Any

import casadi as ca

import dalembert as da
from dalembert.equations import equations_from_expressions

SX = ca.SX


def elastic_joint(**values: float) -> da.EquationsOfMotion:
    """A motor (1 kg m²) that turns a load (0.5 kg m²) through a spring: motor angle and twist, both linear."""
    angle, twist, rate, twist_rate = (SX.sym(name) for name in ("angle", "twist", "angle.rate", "twist.rate"))
    u, k, d = SX.sym("torque"), SX.sym("stiffness"), SX.sym("damping")
    numbers = {"stiffness": 400.0, "damping": 0.0, **values}
    return equations_from_expressions(
        "elastic joint", q=[angle, twist], v=[rate, twist_rate], u=[u], p=[k, d], M=SX([[1.5, 0.5], [0.5, 0.5]]),
        f=ca.vertcat(u, -k * twist - d * twist_rate), parameter_values=numbers,
    )  # fmt: skip


def flexible_arm(stiffness: float = 1.0, coupled: Any = None, gravity: float = 9.81) -> da.EquationsOfMotion:
    """Two links in a vertical plane, each three masses on a rod that bends by one shape (x²) and one (x³ - x²).

    coupled : constant matrix T (4, 4) of other fast coordinates y, x = T y; their stiffness is full.
    """
    names = [f"bend{k}" for k in range(4)]
    q, v = SX.sym("q", 6), SX.sym("v", 6)
    bends = q[2:] if coupled is None else ca.DM(coupled) @ q[2:]
    soft = [SX.sym(name) for name in ("first.angle", "second.angle", *names)]
    rates = [SX.sym(f"{one.name()}.rate") for one in soft]
    u, factor, load = ca.vertcat(SX.sym("torque1"), SX.sym("torque2")), SX.sym("stiffness"), SX.sym("load")
    place, turn = SX.zeros(2), SX(0)
    kinetic = potential = SX(0)
    for link in (0, 1):
        turn = turn + q[link]
        R = ca.vertcat(ca.horzcat(ca.cos(turn), -ca.sin(turn)), ca.horzcat(ca.sin(turn), ca.cos(turn)))
        a, b = bends[2 * link], bends[2 * link + 1]

        def shape(x: float, a: Any = a, b: Any = b) -> Any:
            return a * x**2 + b * (x**3 - x**2)

        for x in (0.15, 0.3, 0.4):
            mass = 0.2 + (load if (link, x) == (1, 0.4) else 0.0)
            point = place + R @ ca.vertcat(x, shape(x))
            speed = ca.jtimes(point, q, v)
            kinetic += 0.5 * mass * ca.dot(speed, speed)
            potential += mass * gravity * point[1]
        potential += 0.5 * factor * (30.0 * a**2 + 400.0 * b**2)
        place = place + R @ ca.vertcat(0.4, shape(0.4))
        turn = turn + 0.8 * a + (3 * 0.16 - 0.8) * b
    M = ca.hessian(kinetic, v)[0]
    force = ca.gradient(kinetic - potential, q) - ca.jtimes(ca.gradient(kinetic, v), q, v)
    M, force, potential = ca.substitute(
        [M, force + ca.vertcat(u, SX.zeros(4)), potential], [q, v], [ca.vertcat(*soft), ca.vertcat(*rates)]
    )
    return equations_from_expressions(
        "flexible arm", q=soft, v=rates, u=u, p=[factor, load], M=M, f=force, potential=potential,
        parameter_values={"stiffness": stiffness, "load": 0.1},
    )  # fmt: skip
