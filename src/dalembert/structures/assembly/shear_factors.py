"""Cowper's shear factors χ, for which the shear angle is γ = χ F / (G A) (Cowper 1966).

χ is the reciprocal of the coefficient K in Cowper's paper. ν is Poisson's ratio.
Web and flange sections: h, ta height and thickness of the web (of one web in a box), b, t1 width and thickness of a
flange, n = b/h, and m the flange over the web area. For the I-section m = 2 b t1/(h ta), not b t1/(a ta) as table
B.3 of Genta 2012 seems to print; for the box m = b t1/(h ta), for the T likewise.
"""

from __future__ import annotations


def circle(nu: float) -> float:
    """Solid circle."""
    return (7 + 6 * nu) / (6 * (1 + nu))


def hollow_circle(m: float, nu: float) -> float:
    """Tube with m = (inner / outer diameter)²."""
    return ((7 + 6 * nu) * (1 + m) ** 2 + 4 * m * (5 + 3 * nu)) / (6 * (1 + nu) * (1 + m) ** 2)


def rectangle(nu: float) -> float:
    """Rectangle; Cowper's factor does not depend on its proportions."""
    return (12 + 11 * nu) / (10 * (1 + nu))


def ellipse(m: float, nu: float) -> float:
    """Ellipse with m = (b/a)², a the semi-axis along the shear force."""
    return (40 + 37 * nu + m * (16 + 10 * nu) + nu * m**2) / (12 * (1 + nu) * (3 + m))


def semicircle(nu: float) -> float:
    """Semicircle, force along its axis of symmetry.

    The table does not give the direction of the force; solving Cowper's flexure problem numerically gives
    1.30523 + 1.27149 ν along the axis of symmetry, so that is the printed case (its last digit is 0.1 % off).
    """
    return (1.305 + 1.273 * nu) / (1 + nu)


def semicircle_across(nu: float) -> float:
    """Semicircle, force along its diameter; not in the table: from the same numerical flexure problem."""
    return (7 / 6 + 1.07205 * nu) / (1 + nu)


def thin_tube(nu: float) -> float:
    """Thin-walled round tube."""
    return (4 + 3 * nu) / (2 * (1 + nu))


def thin_square_tube(nu: float) -> float:
    """Thin-walled square tube."""
    return (48 + 39 * nu) / (20 * (1 + nu))


def _p(m: float) -> float:
    return 12 + 72 * m + 150 * m**2 + 90 * m**3


def _q(m: float) -> float:
    return 11 + 66 * m + 135 * m**2 + 90 * m**3


def i_section(m: float, n: float, nu: float) -> float:
    """Thin-walled I, force along the web; m = 2 b t1/(h ta), n = b/h."""
    flanges = 30 * n**2 * m * (1 + m) + 5 * nu * n**2 * m * (8 + 9 * m)
    return (_p(m) + _q(m) * nu + flanges) / (10 * (1 + nu) * (1 + 3 * m) ** 2)


def box(m: float, n: float, nu: float) -> float:
    """Thin-walled box, force along the webs; m = b t1/(h ta), n = b/h."""
    flanges = 10 * n**2 * (m * (3 + nu) + 3 * m**2)
    return (_p(m) + _q(m) * nu + flanges) / (10 * (1 + nu) * (1 + 3 * m) ** 2)


def spar(m: float, nu: float) -> float:
    """Web between two concentrated flanges, force along the web; m = 2 A_flange/(h t)."""
    return (_p(m) + _q(m) * nu) / (10 * (1 + nu) * (1 + 3 * m) ** 2)


def t_section(m: float, n: float, nu: float) -> float:
    """Thin-walled T, force along the web; m = b t1/(h ta), n = b/h."""
    p = 12 + 96 * m + 276 * m**2 + 192 * m**3
    q = 11 + 88 * m + 248 * m**2 + 216 * m**3
    flange = 30 * n**2 * m * (1 + m) + 10 * nu * n**2 * m * (4 + 5 * m + m**2)
    return (p + q * nu + flange) / (10 * (1 + nu) * (1 + 4 * m) ** 2)
