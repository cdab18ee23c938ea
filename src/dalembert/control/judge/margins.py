"""Distance of a loop from instability: gain, phase, delay and disk margins, peaks of the sensitivities.

The loop transfer function L is closed by negative feedback: S = (I + L)⁻¹, T = L S. Per channel, the others closed:

    gain margins     k with 1 + k L(iω) = 0:  Im L = 0, Re L < 0;   the next below and above 1
    phase, delay     |L(iω)| = 1:  φ = arg L + π ;  φ / ω of the largest tolerated lag
    disk             α = 1 / ‖S - I/2‖∞: every complex factor from (2 - α)/(2 + α) to (2 + α)/(2 - α) (real ones), with
                     phases to ±2 atan(α/2), is tolerated, in gain and phase simultaneously

No frequency grid: |L| = 1 and Im L = 0 are found as imaginary eigenvalues of the pencils of 1 - L L˜ and L - L˜, and
refined; peaks are H∞ norms. A sampled loop is transformed by the bilinear map, which keeps its frequency response.
For all channels simultaneously (an independent factor at every input): the same disk from the largest singular value of
S - I/2, and the smallest singular value of I + L, 1 / ‖S‖∞.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import scipy.linalg

from dalembert.control.judge.law_loop import open_loop
from dalembert.control.plant import is_singular
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import checked, instance
from dalembert.core.errors import DalembertWarning, DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.results import cells, column, result, rows
from dalembert.core.tables import align_columns
from dalembert.linear import StateSpace
from dalembert.linear.eigen.roots import solve
from dalembert.linear.transforms.interconnect import close
from dalembert.linear.transforms.norms import PeakGain
from dalembert.loop.interfaces import Law

Loop = Annotated[StateSpace, instance(StateSpace), "loop transfer function, as many outputs as inputs"]


class DiskMargins:
    """Gain and phase margins of a disk of size α."""

    disk: float

    @property
    def disk_gain(self) -> tuple[float, float]:
        """Gain factors tolerated together with :attr:`disk_phase`."""
        return disk_gains(self.disk)

    @property
    def disk_phase(self) -> float:
        """± phase [rad] tolerated together with :attr:`disk_gain`."""
        return 2.0 * math.atan(0.5 * self.disk)


def _number(value: float) -> str:
    return "any" if math.isinf(value) else f"{value:.4g}"


def _range(pair: tuple[float, float]) -> str:
    return f"{_number(pair[0])} to {_number(pair[1])}"


def _peak(peak: PeakGain) -> str:
    return _number(peak.gain)


@result
class ChannelMargins(DiskMargins):
    """Margins of one channel with the others closed. Frequencies in rad/s, angles in rad, delay in s.

    gain : (low, high), factors between which the gain may change: 0 and ∞ where there is no limit.
    phase : ± tolerated angle; ∞ where |L| never is 1.  delay : largest tolerated additional delay.
    disk : α.  sensitivity, complementary : peaks of |S| and |T|.
    """

    name: str = column("channel")
    stable: bool
    gain: tuple[float, float] = column("gain", show=_range)
    gain_frequencies: tuple[float, float]
    phase: float = column("phase", "°", lambda phase: _number(math.degrees(phase)))
    phase_frequency: float
    delay: float = column("delay", "s", _number)
    delay_frequency: float
    crossovers: tuple[float, ...]
    disk: float = column("disk", show=_number)
    disk_frequency: float
    sensitivity: PeakGain = column("max |S|", show=_peak)
    complementary: PeakGain = column("max |T|", show=_peak)


@result
class Margins(DiskMargins):
    """Margins of a loop, per channel and for all channels simultaneously.

    Attributes
    ----------
    channels : tuple of ChannelMargins
    stable : whether the closed loop is stable; if not, all margins are 0.
    sensitivity, complementary : PeakGain of S and T, all channels.
    disk : α of all channels simultaneously; ``disk_gain``, ``disk_phase``: tolerated in every channel simultaneously.
    smallest_return_difference : least singular value of I + L over all frequencies.
    hidden : poles on the stability boundary that the loop does not contain; the margins are those of its minimal part.
    """

    channels: tuple[ChannelMargins, ...] = rows()
    stable: bool
    sensitivity: PeakGain
    complementary: PeakGain
    disk: float
    disk_frequency: float
    dt: float | None
    hidden: tuple[complex, ...]

    def __getitem__(self, name: str) -> ChannelMargins:
        require_name("channel", name, [channel.name for channel in self.channels])
        return next(channel for channel in self.channels if channel.name == name)

    @property
    def smallest_return_difference(self) -> float:
        """min over ω of the smallest singular value of I + L(iω): 1 / ‖S‖∞."""
        return 1.0 / self.sensitivity.gain if self.sensitivity.gain > 0.0 else math.inf

    def table(self) -> str:
        """One line per channel and one for all."""
        if not self.stable:
            return "the closed loop is not stable: it has no margins."
        head, lines = cells(self)
        if len(self.channels) > 1:
            peaks = [_number(self.disk), _peak(self.sensitivity), _peak(self.complementary)]
            phase = _number(math.degrees(self.disk_phase))
            lines.append(["all at once", _range(self.disk_gain), phase, "-", *peaks])
        return align_columns(head, lines)


def disk_gains(alpha: float) -> tuple[float, float]:
    """Real factors within the disk of size α."""
    if alpha >= 2.0:
        return 0.0, math.inf
    return (2.0 - alpha) / (2.0 + alpha), (2.0 + alpha) / (2.0 - alpha)


def margins(loop: Any, plant: Any = None) -> Margins:
    """Margins of a loop that is closed by negative feedback.

    Parameters
    ----------
    loop : StateSpace with as many outputs as inputs, or a StateFeedback or OutputFeedback
        A StateFeedback or OutputFeedback is opened at the driven inputs (``design.loop()``).
        Poles on the stability boundary that the loop does not contain (the angle of a speed loop) are left out, with
        a warning.
    plant : StateSpace or SecondOrder, with any other law as `loop` (`custom_law`, `pid`, a list of laws), which is
        linearized at the operating point of the plant.

    Examples
    --------
    >>> L = StateSpace([[0, 1, 0], [0, 0, 1], [0, -2, -3]], [0, 0, 1], [[1, 0, 0]])  # 1 / (s (s + 1) (s + 2))
    >>> found = margins(L).channels[0]
    >>> round(found.gain[1], 9), round(found.gain_frequencies[1], 9)
    (6.0, 1.414213562)
    """
    loop, hidden = minimal_loop(as_loop(loop, plant))
    S = sensitivity(loop)
    stable = S.is_stable
    channels = tuple(_channel(isolate_channel(loop, i), loop.inputs[i], stable) for i in range(loop.nu))
    disk = _shift_direct(S, -0.5).hinf_norm()
    return Margins(
        channels, stable=stable, sensitivity=S.hinf_norm(), complementary=complementary(loop).hinf_norm(),
        disk=1.0 / disk.gain if stable else 0.0, disk_frequency=disk.frequency, dt=loop.dt, hidden=hidden,
    )  # fmt: skip


def as_loop(loop: Any, plant: Any = None) -> StateSpace:
    """The loop of a design, or of a law around a plant, opened at the driven inputs."""
    if isinstance(loop, StateSpace) and plant is None:
        return loop
    if plant is not None:
        return open_loop(loop, plant)
    if hasattr(loop, "loop"):
        return loop.loop()  # type: ignore[no-any-return]
    advice = [Advice("Name the plant with {}.", Argument("plant"))] * (isinstance(loop, Law) or hasattr(loop, "law"))
    raise DataError(
        "wrong-type",
        f"a loop is a StateSpace, a StateFeedback, an OutputFeedback or a law with its plant, got "
        f"{type(loop).__name__}.",
        *advice,
    )


def minimal_loop(loop: StateSpace, same: float = 1e-6) -> tuple[StateSpace, tuple[complex, ...]]:
    """The loop without poles on the stability boundary that it does not contain, and these, with a warning.

    same : distance of a pole from one of the minimal part, and from the boundary, of max(1, |s|).
    """
    if loop.nu != loop.ny or loop.nu == 0 or sensitivity(loop).is_stable:
        return loop, ()
    part = loop.minimal()
    left = list(part.poles().values)
    hidden = []
    for pole in loop.poles().values:
        near = min(range(len(left)), key=lambda k: abs(left[k] - pole), default=None)
        if near is not None and abs(left[near] - pole) <= same * max(1.0, abs(pole)):
            left.pop(near)
        else:
            hidden.append(complex(pole))
    growth = [s.real if loop.dt is None else abs(s) - 1.0 for s in hidden]
    at_rest = tuple(s for s, rate in zip(hidden, growth, strict=True) if abs(rate) <= same * max(1.0, abs(s)))
    if not at_rest or max(growth) > same * max(map(abs, hidden)) or not sensitivity(part).is_stable:
        return loop, ()
    shown = ", ".join(f"{s.real:.4g}" if not s.imag else f"{s:.4g}" for s in at_rest)
    problem = f"the loop does not contain the poles {shown} of its parts; the margins are those without them."
    advice = Advice("What moves there stays as it is: feed it back too where it must not.")
    warnings.warn(DalembertWarning("not-minimal", problem, advice, evidence={"poles": at_rest}), stacklevel=3)
    return part.replace(inputs=loop.inputs, outputs=loop.outputs), at_rest


@checked
def sensitivity(loop: Loop) -> StateSpace:
    """S = (I + L)⁻¹, from a disturbance where the loop is opened to the remaining signal there."""
    m = loop.nu
    if m != loop.ny or m == 0:
        raise DataError("wrong-shape", f"a loop must have as many outputs as inputs; this one has {loop.ny} and {m}.")
    inverse = _inverse_direct(loop)
    return StateSpace(
        loop.A - loop.B @ inverse @ loop.C, loop.B @ inverse, -inverse @ loop.C, inverse, loop.dt,
        states=loop.states, inputs=loop.inputs, outputs=[f"S{i + 1}" for i in range(m)],
    )  # fmt: skip


@checked
def complementary(loop: Loop) -> StateSpace:
    """T = L (I + L)⁻¹ = I - S."""
    T = -_shift_direct(sensitivity(loop), -1.0)
    return T.replace(outputs=[f"T{i + 1}" for i in range(loop.nu)])


def _inverse_direct(loop: StateSpace) -> FloatArray:
    direct = np.eye(loop.nu) + loop.D
    if is_singular(direct):
        raise DataError(
            "singular-matrix",
            "the algebraic loop has no solution: I + D is singular. Add a lag or a delay of one sample.",
        )
    return np.asarray(np.linalg.inv(direct))


def _shift_direct(system: StateSpace, by: float) -> StateSpace:
    return system.replace(D=system.D + by * np.eye(system.nu))


def isolate_channel(loop: StateSpace, i: int) -> StateSpace:
    """The loop of channel i with the others closed."""
    m = loop.nu
    others = np.eye(m)
    others[i, i] = 0.0
    e = np.eye(m)[:, [i]]
    if m == 1:
        return loop
    return close(loop, -others, e, e.T, inputs=[loop.inputs[i]], outputs=[loop.outputs[i]], units={})


def _channel(loop: StateSpace, name: str, stable: bool) -> ChannelMargins:
    S = sensitivity(loop)
    disk = _shift_direct(S, -0.5).hinf_norm()
    respond = Response(loop)
    ups = crossings(respond, imaginary=True)
    values = [(w, respond(w)) for w in ups]
    factors = sorted((-1.0 / L.real, w) for w, L in values if L.real < 0.0 and math.isfinite(L.real))
    low, high = (0.0, math.nan), (math.inf, math.nan)
    for factor, w in factors:
        if factor <= 1.0:
            low = (factor, w)
    for factor, w in reversed(factors):
        if factor > 1.0:
            high = (factor, w)
    ones = crossings(respond, imaginary=False)
    lags = [(float((np.angle(respond(w)) + np.pi) % (2.0 * np.pi)), w) for w in ones]
    phase = min(((min(lag, 2.0 * np.pi - lag), w) for lag, w in lags), default=(math.inf, math.nan))
    delay = min(((lag / w, w) for lag, w in lags if w > 0.0), default=(math.inf, math.nan))
    if not stable:
        low, high, phase, delay = (1.0, low[1]), (1.0, high[1]), (0.0, phase[1]), (0.0, delay[1])
    return ChannelMargins(
        name, stable, (low[0], high[0]), (low[1], high[1]), *phase, *delay, tuple(ones),
        1.0 / disk.gain if stable else 0.0, disk.frequency, S.hinf_norm(), complementary(loop).hinf_norm(),
    )  # fmt: skip


class Response:
    """L(iω) of a channel, sampled loops by the bilinear map s = (z - 1)/(z + 1), ω = 2 atan(w)/dt."""

    def __init__(self, loop: StateSpace) -> None:
        self.loop, self.dt = loop, loop.dt
        A, B, C, D = loop.A, loop.B, loop.C, loop.D
        if self.dt is not None:
            right = np.eye(loop.nx) + A
            if is_singular(right):
                raise DataError(
                    "no-solution", "a pole of the loop is at z = -1, where its frequency response is infinite."
                )
            root = math.sqrt(2.0)
            A, B, C, D = (
                solve(right, A - np.eye(loop.nx)), root * solve(right, B), root * solve(right.T, C.T).T,
                D - C @ solve(right, B),
            )  # fmt: skip
        self.A, self.B, self.C, self.D = A, B, C, D

    def map_response(self, w: float) -> complex:
        """L at the frequency w of the map."""
        s = 1j * w * np.eye(len(self.A)) - self.A
        try:
            return complex((self.C @ np.linalg.solve(s, self.B) + self.D)[0, 0])
        except np.linalg.LinAlgError:
            return complex(math.inf)

    def __call__(self, omega: float) -> complex:
        """L at ω [rad/s]."""
        if math.isinf(omega):
            return complex(self.D[0, 0])
        if self.dt is None:
            return self.map_response(omega)
        half = 0.5 * omega * self.dt
        return self.map_response(math.tan(half))  # of π/2: 1.6e16

    def real_frequency(self, w: float) -> float:
        return w if self.dt is None else 2.0 * math.atan(w) / self.dt


def crossings(respond: Response, *, imaginary: bool, zero: float = 1e-12) -> list[float]:
    """Frequencies ω ≥ 0 [rad/s] where Im L = 0 (0 and the highest among them), or where |L| = 1.

    zero : frequency, of ‖A‖, that is 0: eigenvalues are rounded to n ε ‖A‖.
    """
    A, B, C, D = respond.A, respond.B, respond.C, float(respond.D[0, 0])
    n = len(A)
    nothing = np.zeros((n, n))
    if imaginary:
        f: Callable[[float], float] = lambda w: respond.map_response(w).imag  # noqa: E731
        pencil = np.block([[A, nothing, B], [nothing, -A.T, -C.T], [C, -B.T, np.zeros((1, 1))]])
    else:
        f = lambda w: math.log(max(abs(respond.map_response(w)), 1e-300))  # noqa: E731
        pencil = np.block([[A, nothing, B], [-C.T @ C, -A.T, -C.T * D], [D * C, B.T, np.array([[D * D - 1.0]])]])
    least = zero * (float(np.linalg.norm(A)) or 1.0)
    mass = np.diag([*np.ones(2 * n), 0.0])
    found: list[float] = []
    if n:
        values = scipy.linalg.eigvals(pencil, mass)
        values = values[np.isfinite(values)]
        for w in np.sort(values.imag[values.imag >= 0.0]):  # refinement decides which of them are on the axis
            root = _refine(f, float(w))
            if root is not None and not any(math.isclose(root, other) for other in found):
                found.append(root)
    result = [respond.real_frequency(w) for w in sorted(found) if w > least]
    if imaginary:  # at zero and at the highest frequency a response is real
        result = [0.0, *result, math.inf if respond.dt is None else math.pi / respond.dt]
    return result


def _refine(
    f: Callable[[float], float],
    w: float,
    bracket: float = 1e-4,  # half of the interval in which the sign must change, of ω: ten candidates' errors wide
    touch: float = 1e-6,  # |f(ω)| of a zero without change of sign, of |f| at the ends: rounding leaves √ε / bracket²
    nothing: float = 1e-10,  # |f(ω)| that is zero in any case (|L| = 1 everywhere): rounding is 1e-15
) -> float | None:
    """The zero of f next to w; None where there is none."""
    step = bracket * w
    low, high = f(max(w - step, 0.0)), f(w + step)
    if low * high < 0.0 and math.isfinite(low) and math.isfinite(high):
        from scipy.optimize import brentq  # slow to import

        return float(brentq(f, max(w - step, 0.0), w + step, xtol=1e-300, rtol=4 * float(np.finfo(float).eps)))
    scale = max(abs(low), abs(high))
    return w if abs(f(w)) <= touch * scale or abs(f(w)) < nothing else None
