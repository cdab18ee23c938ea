"""Steps of observers and controllers as C99 for a microcontroller: no heap, no input or output, fixed sizes.

Of a step, a folder gets ``NAME.h`` (types, sizes, names and units), ``NAME.c`` (the interface), ``NAME_kernel.c`` (the
step, as CasADi writes it), ``NAME_test.c`` (reference steps computed here; returns 0 where the C code agrees), a
``Makefile`` and a ``README.md``. Equations of motion, and derivations of them, are written by `c_equations`.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import write_text
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument
from dalembert.equations import Channels, EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.files.export import c_texts
from dalembert.files.export.c_equations import equations_texts
from dalembert.files.export.equation_functions import Name, NamedFunction, default_functions, named_functions
from dalembert.loop.interfaces import Law, ObserverStep
from dalembert.mechanics import equations
from dalembert.record import Record

MX = ca.MX
REALS = {"double": ("1e-9", 8), "float": ("1e-3", 4)}  # relative agreement asked of one step, bytes
VECTORS = 12
MEASURED = 0.8  # share of the sensors with a value, in samples of the test program: samples with and without gaps
C_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main"
)
# Copies of no numbers, which CasADi writes with a number for a pointer: newer compilers refuse that.
EMPTY = re.compile(r"\bcasadi_copy\([^;,]*, 0, [^;]*\);")
HEAP = re.compile(r"\b(malloc|calloc|realloc|free|alloca)\s*\(")


@dataclass(frozen=True)
class CArgument:
    """One array of the C function: its name, its meaning, and whether it is a single number."""

    name: str
    channels: Channels
    meaning: str
    scalar: bool = False

    @property
    def size(self) -> int:
        return 1 if self.scalar else len(self.channels)


@dataclass(frozen=True, eq=False)
class CStep:
    """What is exported: a kernel (memory, inputs...) -> (memory after, output)."""

    kind: str
    name: str
    title: str
    kernel: ca.Function
    inputs: tuple[CArgument, ...]
    output: CArgument
    memory: Channels
    start: Array
    dt: float | None
    drives_first: bool  # the output needs nothing that is read


@dataclass(frozen=True)
class CExport:
    """The files written, and the static memory the step needs [bytes]."""

    folder: Path
    name: str
    files: tuple[Path, ...]
    memory_bytes: int
    work_bytes: int

    def __repr__(self) -> str:
        names = ", ".join(path.name for path in self.files)
        return (
            f"CExport({self.name!r} in {str(self.folder)!r}: {names}; state {self.memory_bytes} bytes, work "
            f"{self.work_bytes} bytes)"
        )


def export_c(
    step: object,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    dt: float | None = None,
    real: str = "double",
    example: Record | None = None,
    functions: Iterable[Name] | None = None,
) -> CExport:
    """Write the step of an observer or of a controller, or functions of equations of motion, as C99.

    Parameters
    ----------
    step : a sampled controller (with ``law()``, or a `Law`), a sampled observer (with ``observer_step(dt)``, or an
        `ObserverStep`), equations of motion, or a derivation of them.
    folder : where the files go; made if it is not there.
    name : prefix of everything in C; by default the law's or observer's own.
    dt : sampling interval of an observer that has none of its own [s].
    real : "double" or "float".
    example : a run to take the inputs of the test program's reference steps from (``da.simulate`` with this very loop);
        by default they are random around zero. Units in the header come from it, too.
    functions : of equations, what to write: "inverse" (inputs that make accelerations), "mass_matrix", "forward"
        (accelerations), parts of the equations such as "forces", and in joint coordinates functions of `da.tree`, with
        a place where they need one: ("jacobian", "tool.tip"). All parts of the equations when left out.

    Returns
    -------
    CExport with the paths of the files. ``make -C folder test`` builds and runs the test program.
    """
    DataError.when(real not in REALS, "unknown-choice", f"real must be 'double' or 'float', got {real!r}.")
    eqs = equations_of(step)
    if eqs is not None:
        arguments = [key for key, value in (("dt", dt), ("example", example)) if value is not None]
        arguments += ["real"] * (real != "double")
        if arguments:
            raise DataError(
                "ineffective-argument",
                f"equations have no step, and are written in doubles: {arguments[0]} has no meaning.",
            )
        chosen = default_functions(eqs) if functions is None else named_functions(eqs, functions)
        return write_equations(eqs, folder, name, chosen)
    problem = "a step is one function: functions are those of equations."
    DataError.when(functions is not None, "ineffective-argument", problem)
    what = with_units(read_step(step, dt), example)
    prefix = identifier(what.name) if name is None else check_name(name)
    target = make_folder(folder)
    code, work = generate_code(what, prefix, real)
    vectors = reference_steps(what, example)
    texts = {
        f"{prefix}.h": c_texts.header(what, prefix, real),
        f"{prefix}.c": c_texts.interface(what, prefix, work),
        f"{prefix}_kernel.c": code,
        f"{prefix}_test.c": c_texts.test_program(what, prefix, vectors, REALS[real][0]),
        "Makefile": c_texts.makefile(prefix, code),
        "README.md": c_texts.readme(what, prefix, real, work),
    }
    for file, text in texts.items():
        write_text(target / file, text)
    size = REALS[real][1]
    bytes_of_work = size * work["w"] + 4 * work["iw"] + 8 * (work["arg"] + work["res"])
    return CExport(target, prefix, tuple(target / file for file in texts), size * len(what.memory), bytes_of_work)


def equations_of(given: object) -> EquationsOfMotion | None:
    """Equations of motion, or those of a derivation; None for anything else."""
    if isinstance(given, EquationsOfMotion):
        return given
    return None if equations.dispatch(type(given)) is equations.dispatch(object) else equations(given)


def write_equations(
    eqs: EquationsOfMotion, folder: str | os.PathLike[str], name: str | None, functions: Sequence[NamedFunction]
) -> CExport:
    prefix = identifier(eqs.name) if name is None else check_name(name)
    texts = equations_texts(eqs, prefix, functions)
    target = make_folder(folder)
    for file, text in texts.items():
        write_text(target / file, text)
    return CExport(target, prefix, tuple(target / file for file in texts), 0, 0)


def make_folder(folder: str | os.PathLike[str]) -> Path:
    root = take_path("folder", folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError("not-writable", f"the folder {str(folder)!r} cannot be made ({error.strerror}).") from None
    return root


# --- exported functions ---------------------------------------------------------------------------------------------


def read_step(given: object, dt: float | None) -> CStep:
    if hasattr(given, "law") and not isinstance(given, (Law, ObserverStep)):
        given = given.law()
    elif hasattr(given, "observer_step") and not isinstance(given, (Law, ObserverStep)):
        given = given.observer_step(dt if dt is not None else getattr(given, "dt", None))
    if isinstance(given, Law):
        return _of_law(given)
    if isinstance(given, ObserverStep):
        return _of_observer(given)
    raise ModelError(
        "wrong-type",
        "an export takes a controller (with law()), an observer (with observer_step(dt)), a Law or an ObserverStep; "
        f"got {type(given).__name__}.",
    )


def with_units(step: CStep, run: Record | None) -> CStep:
    """The step with units from a run, where its names have none of their own."""
    if run is None:
        return step
    units = run.units

    def unit(name: str, own: str) -> str:
        candidates = (name, f"measured.{name}", f"estimate.{name}", f"reference.{name}")
        return own or next((units[n] for n in candidates if n in units), "")

    def label(a: CArgument) -> CArgument:
        pairs = zip(a.channels.names, a.channels.units, strict=True)
        return replace(a, channels=Channels(a.channels.names, [unit(name, unit_) for name, unit_ in pairs]))

    return replace(step, inputs=tuple(label(a) for a in step.inputs), output=label(step.output))


def _of_law(law: Law) -> CStep:
    problem = f"law {law.name!r} acts continuously; a step needs a sampling interval."
    ModelError.when(law.dt is None, "not-sampled", problem, Advice("Give the law {} [s].", Argument("dt")))
    reads = CArgument("reads", Channels(law.reads, [""] * len(law.reads)), "outputs that the law reads")
    references = CArgument("references", law.references, "references")
    time = CArgument("t", Channels(["t"], ["s"]), "time", scalar=True)
    m, y = MX.sym("memory", len(law.state)), MX.sym("reads", len(law.reads))
    r, t = MX.sym("references", len(law.references)), MX.sym("t")
    u, after = law.function(y, m, r, ca.DM(np.array(law.parameters, dtype=float)), t)
    kernel = ca.Function("step", [m, y, r, t], [_dense(after, len(law.state)), _dense(u, len(law.drives))])
    return CStep(
        "law", law.name, f"control law {law.name!r}", kernel, (reads, references, time),
        CArgument("u", Channels(law.drives, [""] * len(law.drives)), "inputs to hold until the next step"),
        law.state, np.array(law.start, dtype=float), law.dt, not law.direct,
    )  # fmt: skip


def _of_observer(w: ObserverStep) -> CStep:
    problem = f"observer {w.name!r} is continuous; a step needs a sampling interval."
    ModelError.when(w.dt is None, "not-sampled", problem, Advice("Give {} [s].", Argument("dt")))
    observer = Channels(w.known, [""] * len(w.known))
    reads = Channels(w.reads, [""] * len(w.reads))
    inputs = (
        CArgument("u_before", observer, "inputs held since the last step"),
        CArgument("u_now", observer, "inputs that act while the sensors are read"),
        CArgument("y", reads, "sensors"),
        CArgument("measured", reads, "1 where a sensor has a new reading, else 0"),
        CArgument("t", Channels(["t"], ["s"]), "time", scalar=True),
        CArgument("dt", Channels(["dt"], ["s"]), "time since the last step, 0 at the first", scalar=True),
    )
    m = MX.sym("memory", len(w.state))
    symbols = [MX.sym(a.name, a.size) for a in inputs]
    numbers = ca.DM(np.array(w.parameters, dtype=float))
    after, estimate = w.function(m, *symbols[:4], numbers, *symbols[4:])
    kernel = ca.Function("step", [m, *symbols], [_dense(after, len(w.state)), _dense(estimate, len(w.gives))])
    return CStep(
        "observer", w.name, f"observer {w.name!r}", kernel, inputs, CArgument("estimate", w.gives, "the estimate"),
        w.state, np.array(w.start, dtype=float), w.dt, False,
    )  # fmt: skip


def _dense(value: object, size: int) -> Any:
    return ca.densify(value) if size else MX(0, 1)


# --- names ----------------------------------------------------------------------------------------------------------


def identifier(text: str) -> str:
    """A C name from any text."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "step"
    return f"step_{name}" if name[0].isdigit() or name in C_WORDS.split() else name


def check_name(name: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name) or name in C_WORDS.split():
        raise DataError(
            "bad-name", f"name must be a C identifier of at most 41 characters (letters, digits, _), got {name!r}."
        )
    return name


# --- code -----------------------------------------------------------------------------------------------------------


def generate_code(what: CStep, prefix: str, real: str) -> tuple[str, dict[str, int]]:
    """Text of the kernel and sizes of its work arrays."""
    kernel = flat(what.kernel, f"{prefix}_kernel")
    options = {"with_header": False, "casadi_real": real, "casadi_int": "int", "verbose_runtime": False}
    generator = ca.CodeGenerator(f"{prefix}_kernel.c", options)
    with tempfile.TemporaryDirectory() as work, redirect_stderr(io.StringIO()):  # CasADi warns there; reported below
        try:
            generator.add(kernel)
            generator.generate(work + os.sep)
            code = (Path(work) / f"{prefix}_kernel.c").read_text(encoding="utf-8")
        except RuntimeError as error:
            code = f"#error {str(error).strip().splitlines()[-1]}"
    failed = re.search(r"#error\s*(.*)", code)
    if failed:
        raise ModelError(
            "no-c-code",
            f"{what.title} holds an operation that has no C code ({failed.group(1).strip()}). Iterations of variable "
            "length and solvers of other libraries have none; a fixed number of steps and factorizations do.",
        )
    problem = f"{what.title} needs memory from the heap, which a microcontroller may not have."
    ModelError.when(HEAP.search(code), "no-c-code", problem)
    sizes = {"arg": kernel.sz_arg(), "res": kernel.sz_res(), "iw": kernel.sz_iw(), "w": kernel.sz_w()}
    return c_texts.QUIET + EMPTY.sub(";", code), sizes


def flat(function: ca.Function, name: str) -> ca.Function:
    """One plain expression where that is possible and not too long; it needs the least memory."""
    try:
        kernel = function.expand()
        if kernel.n_instructions() <= c_texts.LONG:  # about a line of C each
            symbols = kernel.sx_in()
            return ca.Function(name, symbols, [ca.densify(e) for e in kernel.call(symbols)], {"cse": True})
    except RuntimeError:  # something in it has no scalar form
        pass
    symbols = [MX.sym(function.name_in(i), function.size1_in(i)) for i in range(function.n_in())]
    return ca.Function(name, symbols, function.call(symbols))


# --- reference steps --------------------------------------------------------------------------------------------------


def reference_steps(what: CStep, example: Record | None) -> list[list[Array]]:
    """Per step: memory before, inputs, memory after, output; every step continues from the previous one."""
    kernel = Kernel(what.kernel)
    memory = what.start.copy()
    steps: list[list[Array]] = []
    for inputs in _random(what) if example is None else _take_from_run(what, example):
        after, output = kernel(memory, *inputs)
        if not (np.isfinite(after).all() and np.isfinite(output).all()):
            raise DataError(
                "not-finite",
                f"{what.title} gives values that are not finite for the inputs of the test program.",
                Advice("Give a run to take them from with {}.", Argument("example")),
            )
        steps.append([memory, *inputs, after, output])
        memory = after
    return steps


def _random(what: CStep) -> list[list[Array]]:
    random = np.random.default_rng(0)
    steps = []
    for k in range(VECTORS):
        row = []
        for a in what.inputs:
            if a.name == "t":
                row.append(np.array([k * float(what.dt or 0.0)]))
            elif a.name == "dt":
                row.append(np.array([0.0 if k == 0 else float(what.dt or 0.0)]))
            elif a.name == "measured":
                row.append((random.uniform(size=a.size) < MEASURED).astype(float))
            else:
                row.append(0.1 * random.standard_normal(a.size))
        steps.append(row)
    return steps


def _take_from_run(what: CStep, run: Record) -> list[list[Array]]:
    count = min(VECTORS, len(run))
    DataError.when(count < 2, "too-few-samples", "the example must be a run with at least two samples.")
    names = set(run.names)

    def channel(name: str, prefixes: Sequence[str]) -> Array:
        for candidate in (*(f"{p}.{name}" for p in prefixes), name):
            if candidate in names:
                return np.asarray(run[candidate])
        raise DataError("unknown-name", f"the example has no channel {name!r}, which {what.title} needs.")

    steps = []
    for k in range(count):
        row = []
        for a in what.inputs:
            if a.scalar:
                row.append(np.array([run.time[k] if a.name == "t" else run.time[k] - run.time[max(k - 1, 0)]]))
            elif a.name == "measured":
                row.append(np.ones(a.size))
            else:
                prefixes = {"references": ("reference",), "u_before": (), "u_now": ()}.get(
                    a.name, ("estimate", "measured")
                )
                at = max(k - 1, 0) if a.name in ("u_before", "u_now") else k
                row.append(np.array([channel(name, prefixes)[at] for name in a.channels.names]))
        steps.append(row)
    return steps
