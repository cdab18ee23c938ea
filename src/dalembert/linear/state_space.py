"""State-space systems with names.

continuous (dt is None)   x' = A x + B u        y = C x + D u
discrete   (dt in s)      x[k+1] = A x[k] + B u[k]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import known_units, matrix, number_names, unique_names
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.declare import checked, count, not_negative
from dalembert.core.errors import DataError, require_extra, unknown_name
from dalembert.core.tables import display_latex, matrix_latex, matrix_lines
from dalembert.core.text import count_noun, list_names
from dalembert.linear.eigen import roots
from dalembert.linear.eigen.stability import Stability, judge_state_space
from dalembert.linear.modes import Modes
from dalembert.linear.responding import Responding
from dalembert.linear.transforms import balanced_truncation as balance
from dalembert.linear.transforms import forms, gramians, interconnect, norms, sampling

# A step of the staircase weaker than 1e-11, relative to A, is rounding: a change of states of condition 1e5 leaves that
# much of a zero.
Weakest = Annotated[float, not_negative, "a direction weaker than this, relative, is not reached or not seen"]
MarkovCount = Annotated[int, count(1, 10_000_000), "how many: 10 million of one input and output take 80 MB"]
Order = Annotated[int, count(), "number of states to keep"]
ErrorBound = Annotated[float, not_negative, "largest H-infinity error"]


@frozen(init=False)
class StateSpace(Responding):
    """The quadruple ``(A, B, C, D)`` and its sample time; frozen, arrays read-only.

    Parameters
    ----------
    A : (nx, nx)
        0 x 0 for a pure gain (:meth:`gain`).
    B : (nx, nu), optional
        No inputs when left out.
    C : (ny, nx), optional
        When left out the outputs are the states, under their own names.
    D : (ny, nu), optional
        Zero when left out.
    dt : float, optional
        Sample time [s]; ``None`` for continuous time.
    states, inputs, outputs : names, optional
        ``x1, x2, ...``, ``u1, ...`` and ``y1, ...`` when left out.
    units : mapping of a state, input or output name to its unit, optional
    provenance : mapping of plain values, optional

    Examples
    --------
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> cart.outputs
    ('position', 'speed')
    >>> cart.to_discrete(0.5).B.ravel().tolist()
    [0.125, 0.5]
    """

    form: ClassVar[str] = "state-space"
    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    dt: float | None
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    provenance: Mapping[str, Any]

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike | None = None,
        C: ArrayLike | None = None,
        D: ArrayLike | None = None,
        dt: float | None = None,
        *,
        states: str | Iterable[str] | None = None,
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        units: Mapping[str, str] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        where = "this StateSpace"
        A_ = matrix("A", A, None, None, "it must be square")
        if A_.shape[0] != A_.shape[1]:
            raise DataError("wrong-shape", f"A has shape {A_.shape}; it must be square.")
        nx = len(A_)
        B_ = np.zeros((nx, 0)) if B is None else matrix("B", B, nx, None, "one row per state", vector="column")
        C_ = np.eye(nx) if C is None else matrix("C", C, None, nx, "one column per state", vector="row")
        ny, nu = len(C_), B_.shape[1]
        D_ = (
            np.zeros((ny, nu))
            if D is None
            else matrix(
                "D", D, ny, nu, "one row per output, one column per input", vector="column" if nu == 1 else "row"
            )
        )
        state_names = unique_names("state", states, number_names("x", nx), where)
        input_names = unique_names("input", inputs, number_names("u", nu), where)
        default = state_names if C is None else number_names("y", ny)
        output_names = unique_names("output", outputs, default, where)
        assign(
            self, A=A_, B=B_, C=C_, D=D_, dt=sampling.sample_time(dt),
            states=state_names, inputs=input_names, outputs=output_names,
            units=known_units(units, state_names + input_names + output_names, where),
            provenance=provenance or {},
        )  # fmt: skip

    @property
    def nx(self) -> int:
        """Number of states."""
        return len(self.states)

    # Change by copy

    def replace(self, **changes: Any) -> StateSpace:
        """Copy with some arguments of :class:`StateSpace` changed; units of names that are gone are dropped."""
        names = ("states", "inputs", "outputs")
        fields = {name: getattr(self, name) for name in ("A", "B", "C", "D", "dt", *names, "provenance")} | changes
        if "units" not in changes:
            channels = {name for kind in names for name in ([fields[kind]] if isinstance(fields[kind], str)
                                                            else fields[kind] or ())}  # fmt: skip
            fields["units"] = {name: unit for name, unit in self.units.items() if name in channels}
        for name in changes:
            if name not in (*"ABCD", "dt", *names, "units", "provenance"):
                raise DataError(
                    "unknown-name", unknown_name("argument", name, set(fields) - set(changes), "StateSpace")
                )
        return StateSpace(**fields)

    @classmethod
    def gain(
        cls, D: ArrayLike, *, inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None
    ) -> StateSpace:
        """y = D u, without states; joins systems of any sample time. D : (ny, nu)."""
        D_ = matrix("D", D, None, None, "one row per output, one column per input")
        ny, nu = D_.shape
        return cls(np.zeros((0, 0)), np.zeros((0, nu)), np.zeros((ny, 0)), D_, inputs=inputs, outputs=outputs)

    @classmethod
    def from_first_order(cls, A1: ArrayLike, A2: ArrayLike, F: ArrayLike | None = None, **rest: Any) -> StateSpace:
        """Monic form of ``A1 x′ + A2 x = F u``: A = -A1⁻¹ A2, B = A1⁻¹ F.

        Parameters
        ----------
        A1, A2 : (nx, nx); F : (nx, nu), optional
            A singular A1 (algebraic equations among them) is refused.
        **rest
            C, D, names, units, provenance as for :class:`StateSpace`.
        """
        A, B = forms.monic(A1, A2, F)
        return cls(A, B, **rest)

    def select(
        self, *, inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None
    ) -> StateSpace:
        """Only these inputs and outputs, by name and in this order; all when left out."""
        return interconnect.select(self, inputs, outputs)

    def to_discrete(self, dt: float, method: str = "zoh", *, prewarp: float | None = None) -> StateSpace:
        """Sampled system.

        Parameters
        ----------
        dt : float
            Sample time [s].
        method : "zoh", "foh" or "tustin"
            Exact at the samples for inputs constant over each step; exact for inputs linear over each step
            (the state is then x less a multiple of u); or s = (2/dt)(z - 1)/(z + 1).
        prewarp : float, optional
            Frequency [rad/s] whose response Tustin keeps.
        """
        return sampling.to_discrete(self, dt, method, prewarp)

    def to_continuous(self, method: str = "zoh", *, prewarp: float | None = None) -> StateSpace:
        """The continuous system that, sampled, is this one: exact inverse of :meth:`to_discrete`.

        ``"zoh"`` takes the principal logarithm: poles with \\|Im λ\\| < π/dt. It refuses poles on the negative real
        axis, which no sampled continuous system has, and warns of poles that may be aliases.
        """
        return sampling.to_continuous(self, method, prewarp)

    def resample(self, dt: float) -> StateSpace:
        """The same system with another sample time [s], by zero-order holds."""
        return self.to_continuous().to_discrete(dt)

    def similarity(self, T: ArrayLike, states: str | Iterable[str] | None = None) -> StateSpace:
        """The system in the states z, x = T z: (T⁻¹ A T, T⁻¹ B, C T, D). T : (nx, nx), invertible."""
        return forms.similarity(self, T, states)

    def modal(self) -> StateSpace:
        """Real block-diagonal form: a block [[σ, ω], [-ω, σ]] per pair, real poles alone; ascending in modulus.

        A without a full set of eigenvectors (free mass, critical damping) is refused; :meth:`schur_form` remains.
        """
        return forms.real_modal(self)

    def modal_form(self) -> forms.ModalForm:
        """Complex diagonal form Λ, Ψ⁻¹ B, C Ψ."""
        return forms.modal_form(self)

    def schur_form(self) -> StateSpace:
        """Orthogonal change of states to block upper triangular A, blocks of size 1 (real poles) and 2 (pairs)."""
        return forms.schur_form(self)

    def balanced_form(self) -> StateSpace:
        """The system in states whose gramians are both diagonal and equal to the Hankel singular values."""
        return balance.balanced_form(self)

    def stable_split(self) -> tuple[StateSpace, StateSpace]:
        """Two systems whose sum is this one: the asymptotically stable part (with D), and the rest."""
        return forms.stable_split(self)

    @checked
    def kalman(self, *, tolerance: Weakest = 1e-11) -> forms.KalmanForm:
        """States split into controllable or not and observable or not."""
        return forms.kalman(self, tolerance)

    def minimal(self, *, tolerance: Weakest = 1e-11) -> StateSpace:
        """Without states that no input reaches or no output shows; the response from rest stays the same."""
        return self.kalman(tolerance=tolerance).minimal

    # Properties

    def poles(self) -> roots.Roots:
        """Eigenvalues of A with frequency, damping ratio and time constant; integrators exactly 0 (or z = 1)."""
        return roots.poles(self)

    def zeros(self) -> roots.Roots:
        """Finite invariant zeros, any number of inputs and outputs; of a minimal system the transmission zeros."""
        return roots.zeros(self)

    def modes(self) -> Modes:
        """Frequencies, damping ratios and shapes C Ψ at the outputs, the largest component 1.

        Pairs are listed once, real poles in rows of their own. A sampled system is converted by ln(z)/dt.
        """
        return roots.modes(self)

    @property
    def is_stable(self) -> bool:
        """Whether every pole is inside the stability boundary, by more than rounding: asymptotically stable."""
        return gramians.is_stable(self)

    def stability(self) -> Stability:
        """Verdict and reason, also for repeated poles on the boundary."""
        return judge_state_space(self)

    def dc_gain(self) -> FloatArray:
        """Steady response to a constant input, (ny, nu): D - C A⁻¹ B, sampled D + C (I - A)⁻¹ B."""
        return norms.dc_gain(self)

    @checked
    def markov(self, count: MarkovCount) -> FloatArray:
        """D, C B, C A B, ..., (count, ny, nu): of a sampled system its pulse response."""
        return forms.markov(self, count)

    def controllability_gramian(self) -> FloatArray:
        """P (nx, nx): A P + P Aᵀ + B Bᵀ = 0, sampled A P Aᵀ - P + B Bᵀ = 0."""
        L = gramians.controllability_factor(self)
        return L @ L.T

    def observability_gramian(self) -> FloatArray:
        """Q (nx, nx): Aᵀ Q + Q A + Cᵀ C = 0, sampled Aᵀ Q A - Q + Cᵀ C = 0."""
        L = gramians.observability_factor(self)
        return L @ L.T

    def hankel_values(self) -> FloatArray:
        """Hankel singular values, descending, (nx,)."""
        return balance.hankel_values(self)

    @checked
    def balanced_truncation(
        self, order: Order | None = None, *, tolerance: ErrorBound | None = None, match_dc: bool = False
    ) -> balance.BalancedTruncation:
        """Reduced system with an error bound.

        Parameters
        ----------
        order : int
            Number of states to keep; or
        tolerance : float
            the smallest order whose error bound (H-infinity norm) is below this.
        match_dc : bool
            Keep the static response of the removed states: same gain at frequency 0, with an addition to D.

        Only stable systems; with ``stable, rest = system.stable_split()`` reduce the first and add the rest.
        """
        return balance.balanced_truncation(self, order, tolerance, match_dc)

    def h2_norm(self) -> float:
        """Root mean square output under white noise of unit intensity on every input; infinite where there is none."""
        return norms.h2_norm(self)

    def hinf_norm(self) -> norms.PeakGain:
        """Largest gain over all frequencies and directions, and its frequency; infinite where a pole is unstable.

        A pole that no input reaches or no output shows counts as well: ``minimal()`` removes it.
        """
        return norms.hinf_norm(self)

    # Connection with other systems

    def series(self, second: StateSpace) -> StateSpace:
        """This system first, ``second`` driven by its outputs (in order); the same as ``second * self``."""
        return interconnect.series(self, second)

    def parallel(self, second: StateSpace) -> StateSpace:
        """Both driven by the same inputs, outputs added (in order); the same as ``self + second``."""
        return interconnect.parallel(self, second)

    def feedback(self, second: StateSpace | None = None, *, sign: int = -1) -> StateSpace:
        """Inputs u + sign·(output of ``second``, which is driven by the outputs of this one); unity when left out."""
        return interconnect.feedback(self, second, sign)

    def __add__(self, other: StateSpace) -> StateSpace:
        return interconnect.parallel(self, other) if isinstance(other, StateSpace) else NotImplemented

    def __sub__(self, other: StateSpace) -> StateSpace:
        return interconnect.parallel(self, other, -1.0) if isinstance(other, StateSpace) else NotImplemented

    def __neg__(self) -> StateSpace:
        return self.replace(C=-self.C, D=-self.D)

    def __mul__(self, other: StateSpace | float) -> StateSpace:
        """``G2 * G1`` as of transfer matrices: ``G1`` acts first; a number scales the outputs."""
        if isinstance(other, StateSpace):
            return interconnect.series(other, self)
        if isinstance(other, (int, float, np.integer, np.floating)) and np.isfinite(other):
            return self.replace(C=float(other) * self.C, D=float(other) * self.D)
        return NotImplemented

    __rmul__ = __mul__
    __array_ufunc__ = None  # a NumPy number times a system is a system

    # Exchange

    def to_control(self) -> Any:
        """``control.StateSpace`` of python-control with the same names."""
        control = require_extra("control", "control")
        return control.StateSpace(
            self.A, self.B, self.C, self.D, 0 if self.dt is None else self.dt,
            states=list(self.states), inputs=list(self.inputs), outputs=list(self.outputs),
            remove_useless_states=False,
        )  # fmt: skip

    @classmethod
    def from_control(cls, other: Any) -> StateSpace:
        """From a linear system of python-control, names included."""
        control = require_extra("control", "control")
        if not isinstance(other, control.StateSpace):
            if not isinstance(other, control.lti.LTI):
                raise DataError(
                    "wrong-type", f"from_control needs a linear system of python-control, got {type(other).__name__}."
                )
            try:
                other = control.ss(other)
            except (TypeError, ValueError, NotImplementedError) as error:
                raise DataError(
                    "not-proper",
                    f"python-control finds no state space of this {type(other).__name__}: {error}. Transfer functions "
                    "must be proper; those with several inputs or outputs are converted entry by entry (and joined by "
                    "connect).",
                ) from error
        if other.dt is True:
            raise DataError(
                "missing-argument",
                "this python-control system is sampled with an unknown time (dt = True); set its dt first.",
            )
        return cls(
            other.A, other.B, other.C, other.D, other.dt or None,
            states=other.state_labels, inputs=other.input_labels, outputs=other.output_labels,
            provenance={"from": "python-control"},
        )  # fmt: skip

    def to_scipy(self) -> Any:
        """``scipy.signal.StateSpace``, continuous or sampled, without names."""
        import scipy.signal  # slow to import

        matrices = (self.A, self.B, self.C, self.D)
        return scipy.signal.StateSpace(*matrices) if self.dt is None else scipy.signal.StateSpace(*matrices, dt=self.dt)

    @classmethod
    def from_scipy(cls, other: object, **names: Any) -> StateSpace:
        """From a ``scipy.signal`` lti or dlti system; ``states=``, ``inputs=``, ``outputs=``, ``units=`` as here."""
        import scipy.signal

        if not isinstance(other, (scipy.signal.lti, scipy.signal.dlti)):
            raise DataError(
                "wrong-type", f"from_scipy needs a scipy.signal lti or dlti system, got {type(other).__name__}."
            )
        dt = other.dt
        if dt is True:
            raise DataError(
                "missing-argument",
                "this scipy.signal system is sampled with an unknown time (dt = True); set its dt first.",
            )
        try:
            space = other.to_ss()
        except ValueError as error:
            raise DataError(
                "not-proper", f"scipy.signal finds no state space of this {type(other).__name__}: {error}"
            ) from error
        D = np.asarray(space.D).reshape(len(space.C), space.B.shape[1])
        return cls(space.A, space.B, space.C, D, dt, provenance={"from": "scipy.signal"}, **names)

    def _repr_latex_(self) -> str:
        after = "\\dot{x}" if self.dt is None else "x_{k+1}"
        lines = [f"{after} = A x + B u, \\qquad y = C x + D u"]
        return display_latex(
            lines + [matrix_latex(name, array) for name in "ABCD" if (array := getattr(self, name)).size]
        )

    def __repr__(self) -> str:
        time = "continuous" if self.dt is None else f"discrete, dt = {self.dt:g} s"
        sizes = ", ".join(count_noun(*size) for size in ((self.nx, "state"), (self.nu, "input"), (self.ny, "output")))
        lines = [f"StateSpace: {sizes}; {time}"]
        for kind, names in (("states", self.states), ("inputs", self.inputs), ("outputs", self.outputs)):
            if names:
                lines.append(f"  {kind.ljust(10)}  {list_names(names, self.units)}")
        for symbol, array, rows in (("A", self.A, self.states), ("B", self.B, self.states),
                                    ("C", self.C, self.outputs), ("D", self.D, self.outputs)):  # fmt: skip
            if array.size and (symbol == "A" or np.any(array)):
                lines += matrix_lines(symbol, array, rows)
        return "\n".join(lines)
