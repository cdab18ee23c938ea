"""Derivatives of the closed form by its deformations as its source writes them (Scaglioni 2016, appendix B).

Nodes turn by 1 + θ~. Written out here with the corrections that the equations need: the Coriolis term of (B.40) has the
factor 2, (B.44) is -(I8ᵀ + I8), sums of (B.48) run over three axes, and (B.51) is by rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from tests.helpers.flexible_arms import Arm, tilde
from tests.helpers.flexible_bodies import PointMasses
from tests.helpers.repetitions import few

STEP, TOLERANCE = 1e-5, 1e-7  # central differences: 1e-10 of third derivatives, rounding 1e-16/1e-5 of terms of 1e2


@dataclass(frozen=True)
class Invariants:
    """Integrals of a link; q : its deformation."""

    link: PointMasses
    q: Any

    def sum(self, pattern: str, *parts: Any) -> Any:
        return np.einsum(f"n,{pattern}", self.link.masses, *parts)

    def __post_init__(self) -> None:
        X, S = self.link.places, self.link.modes
        skew = np.stack([[tilde(x) for x in S[:, :, j]] for j in range(S.shape[2])])  # (modes, n, 3, 3)
        u = X + S @ self.q
        parts = {
            "S": S[1], "H": self.link.rotations[1], "u": u[1], "mass": self.link.masses.sum(),
            "moment": self.sum("ni->i", u), "I3": self.sum("nij->ij", S),
            "I5": self.sum("jnab,nbk->jak", skew, S), "J": -self.sum("nab,nbc->ac", *[np.stack([*map(tilde, u)])] * 2),
            "I8": self.sum("nab,jnbc->jac", np.stack([*map(tilde, X)]), skew),
            "I9": self.sum("jnab,knbc->jkac", skew, skew), "Gr": self.sum("nab,nbk->ak", np.stack([*map(tilde, u)]), S),
            "I11": self.sum("nak,nbl->abkl", S, S), "D": self.sum("na,nbk->abk", u, S),
        }  # fmt: skip
        self.__dict__.update(parts)


class AppendixB:
    """Derivatives at a state by one deformation: mode j of link i."""

    def __init__(self, arm: Arm, q: Any, rates: Any, x: da.tree.ClosedForm) -> None:
        self.arm, self.x, self.n = arm, x, len(arm.modes)
        self.eta = np.split(q[self.n :], np.cumsum(arm.modes)[:-1])
        self.links: list[Any] = [Invariants(link, eta) for link, eta in zip(arm.links, self.eta, strict=True)]
        self.A = [R for R, _ in arm.frames(q, linear=True)[:-1]]
        self.turns = [Rotation.from_rotvec(s * z).as_matrix() for s, z in zip(q, arm.axes, strict=False)]
        self.rates = rates[: self.n]
        spins = [A @ z * s for A, z, s in zip(self.A, arm.axes, self.rates, strict=True)]
        self.w = np.cumsum(spins, axis=0)

    def move(self, i: int, j: int) -> None:
        """dA of all links, dp from each to the next."""
        self.i, self.j = i, j
        own = self.links[i]
        self.dA = [np.zeros((3, 3)) for _ in range(self.n)]
        chain = self.A[i] @ tilde(own.H[:, j])
        for k in range(i + 1, self.n):
            self.dA[k] = chain @ self.turns[k]
            chain = self.dA[k] @ (np.eye(3) + tilde(self.links[k].H @ self.eta[k]))
        self.dp = [dA @ link.u for dA, link in zip(self.dA, self.links, strict=True)]
        self.dp[i] = self.dp[i] + self.A[i] @ own.S[:, j]

    def matrices(self) -> dict[str, Any]:
        """dPP⁻¹, dIIvv, dIIvq, dBBt, dBBq."""
        x, n = self.x, self.n
        d = {name: np.zeros_like(getattr(x, name)) for name in ("PP", "IIvv", "IIvq", "BBt", "BBq")}
        first = np.concatenate(([0], np.cumsum(self.arm.modes)))
        for k, (A, dA, link) in enumerate(zip(self.A, self.dA, self.links, strict=True)):
            rows, modes = slice(6 * k, 6 * k + 6), slice(first[k], first[k + 1])
            bent, j = k == self.i, self.j
            dJ = bent * -(link.I8[j] + link.I8[j].T + np.tensordot(link.I9[j] + link.I9[:, j], self.eta[k], (0, 0)))
            dc = bent * tilde(link.I3[:, j])
            dGr = bent * link.I5[j]
            turn = dA @ link.J @ A.T + A @ dJ @ A.T + A @ link.J @ dA.T
            c = tilde(link.moment)
            mixed = dA @ c @ A.T + A @ dc @ A.T + A @ c @ dA.T
            d["IIvv"][rows, rows] = np.block([[turn, mixed], [mixed.T, np.zeros((3, 3))]])
            d["IIvq"][rows, modes] = np.vstack((dA @ link.Gr + A @ dGr, dA @ link.I3))
            d["BBt"][rows, k] = [*dA @ self.arm.axes[k], 0, 0, 0]
            if k + 1 < n:
                below = slice(6 * k + 6, 6 * k + 12)
                d["BBq"][below, modes] = np.vstack((dA @ link.H, dA @ link.S))
                d["PP"][rows, below][:3, 3:] = -tilde(self.dp[k])
        d["inverse"] = -x.PP_inverse @ d.pop("PP") @ x.PP_inverse
        d["M1"] = d["inverse"] @ x.IIvv @ x.PP_inverse.T
        d["M1"] = d["M1"] + d["M1"].T + x.PP_inverse @ d["IIvv"] @ x.PP_inverse.T
        d["M6"] = d["IIvq"].T @ x.PP_inverse.T + x.IIvq.T @ d["inverse"].T
        return d

    def mass(self) -> Any:
        x, d = self.x, self.matrices()
        M6 = x.IIvq.T @ x.PP_inverse.T
        Mtt = d["BBt"].T @ x.M1 @ x.BBt
        Mtt = Mtt + Mtt.T + x.BBt.T @ d["M1"] @ x.BBt
        rows = d["M6"] + d["BBq"].T @ x.M1 + x.BBq.T @ d["M1"]
        Mqt = rows @ x.BBt + (M6 + x.BBq.T @ x.M1) @ d["BBt"]
        half = d["BBq"].T @ x.M1 @ x.BBq + d["M6"] @ x.BBq + M6 @ d["BBq"]
        return np.block([[Mtt, Mqt.T], [Mqt, half + half.T + x.BBq.T @ d["M1"] @ x.BBq]])

    def biases(self, by_rate: bool) -> tuple[Any, Any, Any]:
        """dVVp, dCCv and dCCf by the deformation or by its rate, without bending."""
        i, j, cross = self.i, self.j, np.cross
        VVp, CCv, CCf = [], [], []
        dw_below = np.zeros(3)
        for k, (A, z, link) in enumerate(zip(self.A, self.arm.axes, self.links, strict=True)):
            dA, s, bent = (0 * self.dA[k] if by_rate else self.dA[k]), self.rates[k], k == i
            own = self.links[i]
            dw = (i < k) * self.A[i] @ own.H[:, j] if by_rate else sum(
                self.dA[m] @ self.arm.axes[m] * self.rates[m] for m in range(k + 1))  # fmt: skip
            wp, vp = np.zeros(3), np.zeros(3)
            if k:
                w, p = self.w[k - 1], self.A[k - 1] @ self.links[k - 1].u
                wp = cross(dw_below, A @ z * s) + cross(w, dA @ z * s)
                vp = cross(dw_below, cross(w, p)) + cross(w, cross(dw_below, p))
                if by_rate and i == k - 1:
                    turn, slide = self.A[i] @ own.H[:, j], self.A[i] @ own.S[:, j]
                    wp = wp + cross(w, turn) + self.A[i] @ cross(own.H[:, j], z) * s
                    vp = vp + 2 * cross(w, slide)
                elif not by_rate:
                    vp = vp + cross(w, cross(w, self.dp[k - 1]))
            VVp += [wp, vp]
            wb, dwb = A.T @ self.w[k], dA.T @ self.w[k] + A.T @ dw
            J, c = link.J, link.moment
            turned, slid = -cross(wb, J @ wb), -cross(wb, cross(wb, c))
            dturned = -cross(dwb, J @ wb) - cross(wb, J @ dwb)
            dslid = -cross(dwb, cross(wb, c)) - cross(wb, cross(dwb, c))
            I8 = link.I8[j] + link.I8[j].T if bent else 0.0
            R = wb[:, None] * np.einsum("aak->k", link.D) - np.einsum("b,abk->ak", wb, link.D)
            dR = dwb[:, None] * np.einsum("aak->k", link.D) - np.einsum("b,abk->ak", dwb, link.D)
            df = dR.T @ wb + R.T @ dwb
            if bent and by_rate:
                dturned = dturned + I8 @ wb - cross(wb, link.Gr[:, j])
                dslid = dslid - 2 * cross(wb, link.I3[:, j])
                I11 = link.I11
                F = sum(wb[a] * (I11[b, c] - I11[c, b]) for a, b, c in ((0, 2, 1), (1, 0, 2), (2, 1, 0)))
                df = df - 2 * F[:, j]
            elif bent:
                dturned = dturned + cross(wb, I8 @ wb)
                dslid = dslid - cross(wb, cross(wb, link.I3[:, j]))
                dD = link.I11[:, :, j]
                df = df + (wb[:, None] * np.einsum("aak->k", dD) - np.einsum("b,abk->ak", wb, dD)).T @ wb
            CCv += [dA @ turned + A @ dturned, dA @ slid + A @ dslid]
            CCf.append(df)
            dw_below = dw
        return np.concatenate(VVp), np.concatenate(CCv), np.concatenate(CCf)

    def bias(self, by_rate: bool) -> Any:
        x, d = self.x, self.matrices()
        VVp, CCv, CCf = self.biases(by_rate)
        rows = x.IIvq.T @ x.PP_inverse.T + x.BBq.T @ x.M1
        pushed = x.M1 @ VVp - x.PP_inverse @ CCv
        Ct, Cq = x.BBt.T @ pushed, rows @ VVp - x.BBq.T @ x.PP_inverse @ CCv - CCf
        if not by_rate:
            still = x.M1 @ x.VVp - x.PP_inverse @ x.CCv
            moved = d["M1"] @ x.VVp - d["inverse"] @ x.CCv
            Ct = Ct + d["BBt"].T @ still + x.BBt.T @ moved
            Cq = Cq + d["M6"] @ x.VVp + d["BBq"].T @ still + x.BBq.T @ moved
        return np.concatenate((Ct, Cq))


def whole(x: da.tree.ClosedForm) -> tuple[Any, Any]:
    return np.block([[x.Mtt, x.Mtq], [x.Mtq.T, x.Mqq]]), np.concatenate((x.Ct, x.Cq))


@pytest.mark.spec("001-C41", "001-C42", "001-T9")
@pytest.mark.parametrize("bent", few([True, False]), ids=["mass", "mass and bias"])
def test_derivatives_by_deformations_are_those_of_the_appendix(bent: bool) -> None:
    """Of M at any deformation; of the bias where there is none."""
    arm = Arm(7, (2, 2, 2))
    eqs = da.equations(arm.m, coordinates="joint")
    rng = np.random.default_rng(7)
    n = len(arm.modes)
    q, v = rng.normal(size=eqs.nq), rng.normal(size=eqs.nv)
    if not bent:
        q[n:], v[n:] = 0.0, 0.0

    def form(dq: Any = 0.0, dv: Any = 0.0) -> da.tree.ClosedForm:
        return da.tree.closed_form(eqs, eqs.state(q + dq, v + dv), rotations="linear")

    own = AppendixB(arm, q, v, form())
    places = [(i, j) for i, count in enumerate(arm.modes) for j in range(count)]
    for column, (i, j) in enumerate(places, start=n):
        own.move(i, j)
        step = STEP * np.eye(eqs.nq)[column]
        (M, h), (M0, h0) = (whole(form(s * step)) for s in (1, -1))
        np.testing.assert_allclose(own.mass(), (M - M0) / (2 * STEP), rtol=0, atol=TOLERANCE)
        if not bent:
            np.testing.assert_allclose(own.bias(False), (h - h0) / (2 * STEP), rtol=0, atol=TOLERANCE)
            (_, h), (_, h0) = (whole(form(0.0, s * step)) for s in (1, -1))
            np.testing.assert_allclose(own.bias(True), (h - h0) / (2 * STEP), rtol=0, atol=TOLERANCE)
