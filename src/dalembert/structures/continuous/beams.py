"""Uniform straight beams, exactly (Genta 2012, app. B).

As a continuum operator, D[u] = f with homogeneous conditions at the ends:

    Euler-Bernoulli:  ρA ü + EI u″″ = f,     M = EI u″,  F = -EI u‴,  φ = u′
    Timoshenko:       ρA ü = (GA/χ)(u″ - φ′) + f,     ρI φ̈ = (GA/χ)(u′ - φ) + EI φ″.

Separation of variables, u = q(z) sin ωt, leaves an eigenvalue problem in z; its roots β give
ω = (β/l)² √(EI/ρA). The sign of ω² in eq. B.17 there is wrong, and eq. B.36 takes the first
instead of the second derivative in the modal stiffness ∫ EI q″² dz.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import positive_number, whole_number
from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.declare import instance
from dalembert.core.errors import DataError, ModelError, require_name, unknown_name
from dalembert.core.findings import Advice
from dalembert.linear import FrequencyResponse, SecondOrder
from dalembert.record import Record
from dalembert.structures.assembly.materials import Material
from dalembert.structures.assembly.materials import material as known_material
from dalembert.structures.assembly.sections import Section
from dalembert.structures.continuous import beam_harmonic
from dalembert.structures.continuous import end_conditions as end_names
from dalembert.structures.continuous import wittrick_williams as spectrum
from dalembert.structures.continuous.beam_modes import BeamModes, Numbers
from dalembert.structures.continuous.continuous_modes import MOST
from dalembert.structures.continuous.end_conditions import End
from dalembert.structures.continuous.modal_system import Loads, Places, modal_system, named_places
from dalembert.structures.continuous.wittrick_williams import HeldBeam

# Which of rotary inertia and shear a theory has.
THEORIES = {
    "euler-bernoulli": (False, False),
    "rayleigh": (True, False),
    "shear": (False, True),
    "timoshenko": (True, True),
}

_UNITS = {"displacement": "m", "slope": "rad", "moment": "N m", "shear force": "N"}

# Motions of a section and the force that belongs to each (Genta 2012, table B.1), with this package's beam axis x.
BEHAVIOURS = (
    ("axial", ("x",), ("Fx",)),
    ("torsion", ("rx",), ("Mx",)),
    ("bending in x-y", ("y", "rz"), ("Fy", "Mz")),
    ("bending in x-z", ("z", "ry"), ("Fz", "My")),
)


@frozen(init=False)
class Beam:
    """A uniform straight beam between two ends, bending in one plane; frozen.

    Parameters
    ----------
    length : float [m]
    section, material : Section and Material (or the name of one), or instead
    EI, rhoA : float
        Bending stiffness [N m²] and mass per length [kg/m].
    GA, rhoI : float, optional
        With ``EI, rhoA`` and a theory that needs them: shear stiffness GA/χ [N], rotary inertia ρI per length [kg m].
    left, right : "free", "clamped", "supported", "guided" or an End
    theory : "euler-bernoulli", "timoshenko", or one half of it: "rayleigh" (rotary inertia), "shear"
    direction : "y" or "z"
        Local axis along which a section deflects: "y" bends with I_z and shear_y, "z" with I_y and shear_z.

    Examples
    --------
    >>> beam = Beam(0.5, Section.rectangle(0.002, 0.03), "steel", left="clamped", right=End(mass=0.1))
    >>> beam.frequencies(2).round(2).tolist()
    [25.41, 204.25]
    """

    length: float
    EI: float
    rhoA: float
    GA: float
    rhoI: float
    left: End
    right: End
    theory: str
    direction: str
    section: Section | None
    material: Material | None
    provenance: Mapping[str, Any]
    _held: HeldBeam

    def __init__(
        self,
        length: float,
        section: Section | None = None,
        material: str | Material | None = None,
        *,
        EI: float | None = None,
        rhoA: float | None = None,
        GA: float | None = None,
        rhoI: float | None = None,
        left: str | End = "clamped",
        right: str | End = "free",
        theory: str = "euler-bernoulli",
        direction: str = "y",
    ) -> None:
        require_name("theory", theory, THEORIES, "a beam", error=ModelError)
        if section is not None:
            instance(Section)("section of a beam", section)
        if direction not in ("y", "z"):
            raise ModelError("unknown-choice", f"a beam deflects along its local 'y' or 'z', got {direction!r}.")
        rotary, shear = THEORIES[theory]
        stuff = None if material is None else known_material(material)
        given = {"EI": EI, "rhoA": rhoA, "GA": GA, "rhoI": rhoI}
        values = _stiffness(section, stuff, given, direction, rotary, shear)
        size = positive_number("length of a beam", length)
        both = (end_names.end(left, "left"), end_names.end(right, "right"))
        held = _without_dimension(size, values, both, rotary, shear)
        assign(
            self, length=size, EI=values["EI"], rhoA=values["rhoA"], GA=values["GA"] if shear else math.inf,
            rhoI=values["rhoI"] if rotary else 0.0, left=both[0], right=both[1], theory=theory, direction=direction,
            section=section, material=stuff, _held=held,
            provenance={"beam": theory, "left": both[0].text(), "right": both[1].text(), "length [m]": size},
        )  # fmt: skip

    @property
    def mass(self) -> float:
        """Mass of the beam itself, without the bodies at its ends [kg]."""
        return self.rhoA * self.length

    @property
    def slenderness(self) -> float:
        """α = l √(A/I) = length over radius of gyration; inf where rotary inertia is unknown or left out."""
        if self.section is not None:
            inertia = self.section.I_z if self.direction == "y" else self.section.I_y
            return self.length * math.sqrt(self.section.area / inertia)
        return self.length * math.sqrt(self.rhoA / self.rhoI) if self.rhoI else math.inf

    def frequencies(self, count: int = 5) -> FloatArray:
        """The ``count`` lowest natural frequencies [rad/s], rigid-body modes (0) included."""
        b = spectrum.eigenvalues(whole_number("count", count, 1, MOST), self._held)
        return b**2 * math.sqrt(self.EI / (self.rhoA * self.length**4))

    def modes(self, count: int = 5, *, normalised: str = "largest") -> BeamModes:
        """The ``count`` lowest modes; scaled to ``"largest"`` deflection 1 or unit modal ``"mass"``."""
        numbers = Numbers(self.length, self.EI, self.rhoA)
        modes = BeamModes(self._held, numbers, whole_number("count", count, 1, MOST), provenance=self.provenance)
        return modes.normalise(normalised)

    def system(
        self,
        modes: int = 5,
        *,
        forces_at: Places = None,
        moments_at: Places = None,
        distributed: Loads = None,
        base: bool = False,
        outputs_at: Places = None,
        quantity: str = "displacement",
        damping: float | Sequence[float] = 0.0,
        static_correction: bool = False,
    ) -> SecondOrder:
        """The beam as a SecondOrder in ``modes`` mass-normalised modal coordinates, with named inputs and outputs.

        Parameters
        ----------
        modes : int
            How many of the lowest modes, rigid-body modes included.
        forces_at, moments_at : mapping of input names to places [m], or places (named ``force@0.3``)
        distributed : mapping of input names to functions of z (n,) that give the load per length for input 1 [N/m]
        base : bool
            Add the input ``base``, the acceleration of a base that carries both ends; deflections are relative to it.
        outputs_at : mapping of output names to places or (place, quantity) pairs, or places (named ``u@0.3``)
            The modal coordinates when left out.
        quantity : "displacement", "velocity", "acceleration", "absolute acceleration", "slope", "moment", "shear force"
            Output at places that name none.
        damping : damping ratio of all modes, or one per mode
        static_correction : bool
            Add the static contribution of the modes left out (displacements and slopes under forces and moments).

        Examples
        --------
        >>> beam = Beam(1.0, EI=1.0, rhoA=1.0)
        >>> tip = beam.system(3, forces_at={"push": 1.0}, outputs_at={"tip": 1.0}, static_correction=True)
        >>> tip.frequency_response([0.0], kind="output").values.real.round(9).ravel().tolist()
        [0.333333333]
        """
        static = self._static if static_correction else None
        return modal_system(
            self.modes(modes), forces_at=forces_at, moments_at=moments_at, distributed=distributed, base=base,
            outputs_at=outputs_at, quantity=quantity, damping=damping, static=static,
        )  # fmt: skip

    def response(
        self, inputs: Record | Mapping[str, Any], *, times: ArrayLike | None = None, modes: int = 20,
        hold: str = "first", **about: Any,
    ) -> Record:  # fmt: skip
        """Motion from rest under loads and base motion that vary in time, by modal superposition (Duhamel's integral).

        Exact in time for the retained modes where the inputs are linear between samples (``hold="first"``) or constant
        (``hold="zero"``).

        Parameters
        ----------
        inputs : Record or mapping of input names to constants, arrays, functions of time or records
        times : (N,) [s], needed with a mapping
        modes : int
        **about
            ``forces_at``, ``moments_at``, ``distributed``, ``base``, ``outputs_at``, ``quantity``, ``damping``,
            ``static_correction`` as for :meth:`system`.
        """
        return self.system(modes, **about).response(inputs, times=times, hold=hold)

    def frequency_response(
        self, frequencies: ArrayLike, *, forces_at: Places = None, moments_at: Places = None, outputs_at: Places = None,
        loss_factor: float | None = None,
    ) -> FrequencyResponse:  # fmt: skip
        """Exact complex amplitudes per unit harmonic force or moment, without modes.

        Parameters
        ----------
        frequencies : (nf,) [rad/s]; 0 is the static deflection
        forces_at, moments_at : mapping of input names to places [m], or places
        outputs_at : mapping of output names to places or (place, quantity) pairs, or places
            Quantities: displacement, slope, moment, shear force (just right of a load that sits at the same place).
        loss_factor : float, optional
            η of E (1 + iη); that of the material when left out.
        """
        eta = loss_factor if loss_factor is not None else self.material.loss_factor if self.material else 0.0
        forces, moments = named_places(forces_at, "force"), named_places(moments_at, "moment")
        outputs = {
            name: value if isinstance(value, tuple) else (value, "displacement")
            for name, value in named_places(outputs_at, "u").items()
        }
        for name, (_, what) in outputs.items():
            if what not in beam_harmonic.FIELDS:
                raise DataError(
                    "unknown-name", unknown_name("quantity", what, beam_harmonic.FIELDS, f"output {name!r}")
                )
        w = np.atleast_1d(np.asarray(frequencies, dtype=np.float64))
        places = [place for place, _ in outputs.values()]
        pages = [self._harmonic(w, eta, "force", z, places) for z in forces.values()]
        pages += [self._harmonic(w, eta, "moment", z, places) for z in moments.values()]
        fields = [beam_harmonic.FIELDS[what] for _, what in outputs.values()]
        values = np.stack([page[:, fields, range(len(fields))] for page in pages], axis=2)
        return FrequencyResponse(
            w, values, [*forces, *moments], list(outputs),
            input_units={**dict.fromkeys(forces, "N"), **dict.fromkeys(moments, "N m")},
            output_units={name: _UNITS[what] for name, (_, what) in outputs.items()},
            provenance={**self.provenance, "method": "exact harmonic solution", "loss factor": eta},
        )  # fmt: skip

    def _harmonic(self, w: FloatArray, eta: float, kind: str, at: float, places: Sequence[float]) -> ComplexArray:
        """Fields (nf, 4, places) in SI per N or N m."""
        size = self.length
        soft: ComplexArray = np.full(len(w), 1.0 + 1j * eta, dtype=np.complex128)
        along = np.array([at, *places], dtype=np.float64) / size
        if not ((along >= 0.0) & (along <= 1.0)).all():
            raise DataError(
                "out-of-range", f"places along this beam lie between 0 and {size:g} m; got {[at, *places]}."
            )
        lam: ComplexArray = self.rhoA * np.square(w) * size**4 / (self.EI * soft)
        fields = beam_harmonic.response(lam, soft, self._held, kind, float(along[0]), along[1:])
        unit = (size**2 if kind == "force" else size) / (
            self.EI * soft
        )  # one newton, or newton metre, without dimension
        back = np.stack([size * unit, unit, self.EI * soft / size * unit, self.EI * soft / size**2 * unit], axis=1)
        scaled: ComplexArray = fields * back[:, :, None]
        return scaled

    def _static(self, what: str, z: float, kind: str, at: float) -> float:
        fields = self._harmonic(np.zeros(1), 0.0, kind, at, [z])
        return float(fields[0, beam_harmonic.FIELDS[what], 0].real)

    def table(self) -> str:
        """The beam in a few lines."""
        lines = [
            f"{self.theory} beam of {self.length:g} m; left {self.left.text()}; right {self.right.text()}",
            f"  EI   {self.EI:.6g} N m²",
            f"  ρA   {self.rhoA:.6g} kg/m",
        ]
        if self.rhoI:
            lines.append(f"  ρI   {self.rhoI:.6g} kg m")
        if not math.isinf(self.GA):
            lines.append(f"  GA/χ {self.GA:.6g} N")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def _stiffness(
    section: Section | None, stuff: Material | None, given: Mapping[str, float | None], direction: str, rotary: bool,
    shear: bool,
) -> dict[str, float]:  # fmt: skip
    """EI, rhoA, rhoI, GA/χ from a section and a material, or as given."""
    named = [name for name, value in given.items() if value is not None]
    if section is not None or stuff is not None:
        if section is None or stuff is None or named:
            raise ModelError(
                "conflicting-arguments",
                "a beam is described by a section and a material, or by EI and rhoA (with rhoI, GA), not by a mix; "
                f"got section {section!r}, material {stuff!r}, and {', '.join(named) or 'no numbers'}.",
            )
        along_y = direction == "y"
        inertia, chi = (section.I_z, section.shear_y) if along_y else (section.I_y, section.shear_z)
        if stuff.density <= 0.0:
            raise DataError("no-mass", f"material {stuff.name!r} has no density; a continuous beam needs mass.")
        return {
            "EI": positive_number("E I of a beam", stuff.E * inertia), "rhoA": stuff.density * section.area,
            "rhoI": stuff.density * inertia, "GA": stuff.G * section.area / chi if chi else math.inf,
        }  # fmt: skip
    needed = ["EI", "rhoA"] + ["rhoI"] * rotary + ["GA"] * shear
    missing = [name for name in needed if given[name] is None]
    if missing:
        raise ModelError(
            "missing-argument",
            f"this beam needs {', '.join(missing)}.",
            Advice("Give a section and a material, or these numbers."),
        )
    values = {name: positive_number(f"{name} of a beam", value) for name, value in given.items() if value is not None}
    return {"rhoI": 0.0, "GA": math.inf, **values}


def _without_dimension(
    length: float, values: Mapping[str, float], both: tuple[End, End], rotary: bool, shear: bool
) -> HeldBeam:
    EI, rhoA = values["EI"], values["rhoA"]
    left, right = both
    mass, bend = rhoA * length, EI / length**3
    return HeldBeam(
        r2=values["rhoI"] / (rhoA * length**2) if rotary else 0.0,
        s2=EI / (values["GA"] * length**2) if shear else 0.0,
        kt=(left.spring / bend, right.spring / bend),
        kr=(left.rotational_spring * length / EI, right.rotational_spring * length / EI),
        mu=(left.mass / mass, right.mass / mass),
        iota=(left.inertia / (mass * length**2), right.inertia / (mass * length**2)),
    )
