"""Integrals along an element whose section varies."""

from __future__ import annotations

import numpy as np

from dalembert.structures.beams.elements import gauss
from dalembert.structures.beams.taper import GAUSS_POINTS, TaperedElements


def test_an_element_of_threefold_height_is_integrated_to_1e_10() -> None:
    # ∫ ds/h⁴ = 13 with h from 1 to 1/3; 11 points have an error of 6e-10, 12 of 6e-11
    EA = ((1.0 - gauss(GAUSS_POINTS)[0] / 1.5) ** 4)[None]
    names = ("GJ", "EI_y", "EI_z", "rhoA", "rhoI_y", "rhoI_z", "rhoI_p")
    none = dict.fromkeys(("shear_y", "shear_z"), np.zeros_like(EA))
    K = TaperedElements(np.ones(1), {"EA": EA, **none, **dict.fromkeys(names, np.ones_like(EA))}).stiffness()[0]
    assert abs(13.0 * K[0, 0] - 1.0) < 1e-10
