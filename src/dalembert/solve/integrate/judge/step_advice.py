"""Advice to a run of very many explicit steps: its regularised friction or a fast vibration makes them short."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from dalembert.core.errors import SimulationWarning
from dalembert.core.findings import Advice, Argument, Call
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.solve.integrate.judge.vibrations import find_fastest_vibration
from dalembert.solve.integrate.method import Method


class StepAdvice:
    """Monitors the number of steps of one run. `text` is the advice, which is given once."""

    def __init__(self, method: Method, end: float) -> None:
        self.method, self.end = method, end
        self.text = ""
        self.vibrations_seen = False

    def look(
        self,
        eqs: EquationsOfMotion,
        where: Mapping[str, tuple[int, int]],
        before: Array,
        block: Array,
        many_steps: int = 10_000,
    ) -> None:
        """The states of one block, after the state before it.

        Judged ten times before that many: how many steps one call makes depends on the machine.

        many_steps : steps after which a run with regularised friction or fast vibrations gets advice: a second of work.
        """
        if self.text or self.method.step is not None or not self.method.explicit:
            return
        accepted, rejected = (where[name][0] for name in ("accepted", "rejected"))
        made = np.append(before[accepted] + before[rejected], block[:, accepted] + block[:, rejected])
        due = np.flatnonzero((np.diff(made // (many_steps // 10)) > 0) & (made[1:] >= many_steps))
        for k in due:
            self._advise(eqs, {name: block[k, a:b] for name, (a, b) in where.items()}, block[k], int(made[k + 1]))

    def _advise(self, eqs: EquationsOfMotion, part: Mapping[str, Array], x: Array, steps: int) -> None:
        smooth = [d for d in eqs.dry if d.speed is not None]
        rates = eqs.kernel("measures")(part["q"], part["v"], eqs.p, x[0])[1]
        slow = [d for d in smooth if d.measure < 0 or abs(rates[d.measure]) <= 10 * (d.speed or 0.0)]
        if slow and not self.text:
            names = ", ".join(f"{d.name!r} (speed {d.speed:g})" for d in slow)
            leave = Advice("In joints, leave {} out: sticking and sliding are exact then.", Argument("speed"))
            warning = SimulationWarning(
                "stiff-friction",
                f"{steps} steps until t = {x[0]:.6g} s of {self.end:g} s: regularised friction {names} is stiff where "
                "it hardly slides.",
                Advice("Use {}.", Argument("method", Call("da.Rosenbrock"))),
                *([leave] if slow[0].coordinate else []),
                where={"time": float(x[0])},
                evidence={"steps": steps},
            )
            self.text = str(warning)
            warnings.warn(warning, stacklevel=6)
        if not self.text and not self.vibrations_seen:
            self.vibrations_seen = True
            self._advise_of_vibrations(eqs, part, x, steps)

    def _advise_of_vibrations(self, eqs: EquationsOfMotion, part: Mapping[str, Array], x: Array, steps: int) -> None:
        found = find_fastest_vibration(eqs, part["q"], part["v"], part["z"], float(x[0]))
        if found is None or not found.limits(float(x[1])):
            return
        fast, slow = found.omega / (2 * np.pi), found.lowest / (2 * np.pi)
        warning = SimulationWarning(
            "fast-vibration",
            f"{steps} steps until t = {x[0]:.6g} s of {self.end:g} s: explicit steps of {x[1]:.1e} s follow the "
            f"vibration of the flexible body {found.body!r} at {fast:.4g} Hz (the lowest is at {slow:.4g} Hz).",
            Advice("Use {}, with a step that your motion allows.", Argument("method", Call("da.GeneralizedAlpha"))),
            Advice("Or make fast modes quasi-static by {} of the body.", Argument("cutoff_hz")),
            where={"time": float(x[0]), "body": found.body},
            evidence={"steps": steps, "frequency": fast, "lowest": slow},
        )
        self.text = str(warning)
        warnings.warn(warning, stacklevel=7)
