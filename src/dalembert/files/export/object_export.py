"""Steps of observers and controllers as object files for a processor: no compiler, no heap, no input or output.

A folder gets ``NAME.o`` (the step as machine code), ``NAME.h`` (the C interface of `export_c`), ``NAME_test.c``
(reference steps computed here; returns 0 where the object agrees) and a ``README.md``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from dalembert.core.atomic_files import write_bytes, write_text
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.expressions.machine_code.objects import ObjectCode, Processor, emit_object, find_target
from dalembert.expressions.machine_code.program import Untranslatable
from dalembert.files.export import c_texts
from dalembert.files.export.c_export import (
    REALS,
    CStep,
    check_name,
    flat,
    identifier,
    make_folder,
    read_step,
    reference_steps,
    with_units,
)
from dalembert.record import Record

RUNTIME = ("__", "memcpy", "memset")  # functions of compilers; other functions are of the mathematical library


@dataclass(frozen=True)
class ObjectExport:
    """The files written, and the memory the step needs [bytes].

    needs : functions that the object takes from the mathematical library and from the compiler's run-time library.
    """

    folder: Path
    name: str
    target: str
    files: tuple[Path, ...]
    needs: tuple[str, ...]
    memory_bytes: int
    work_bytes: int
    code_bytes: int

    def __repr__(self) -> str:
        names = ", ".join(path.name for path in self.files)
        return (
            f"ObjectExport({self.name!r} for {self.target} in {str(self.folder)!r}: {names}; code {self.code_bytes} "
            f"bytes, state {self.memory_bytes} bytes, work {self.work_bytes} bytes)"
        )


def export_object(
    step: object,
    folder: str | os.PathLike[str],
    *,
    target: str = "native",
    name: str | None = None,
    dt: float | None = None,
    example: Record | None = None,
) -> ObjectExport:
    """Write the step of an observer or of a controller as an object file for a processor, without a compiler.

    Parameters
    ----------
    step : a sampled controller (with ``law()``, or a `Law`), or a sampled observer (with ``observer_step(dt)``, or an
        `ObserverStep`).
    folder : where the files go; made if it is not there.
    target : "cortex-m4", "cortex-m7", "armv7", "aarch64", "riscv32", "riscv64", "x86-64", or "native" for this machine.
    name : prefix of everything in C; by default the law's or observer's own.
    dt : sampling interval of an observer that has none of its own [s].
    example : a run to take the inputs of the test program's reference steps from (``da.simulate`` with this very loop);
        by default they are random around zero. Units in the header come from it, too.

    Returns
    -------
    ObjectExport with the paths of the files and the functions that the object takes from libraries. Numbers are
    doubles; for a processor without instructions for them `export_c` writes C with ``real="float"``.

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> plant = da.StateSpace([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]], [[1.0, 0.0]], [[0.0]], 0.1)
    >>> law = da.control.lqr(plant, Q=1.0, R=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = da.export_object(law, folder, target="cortex-m7", name="law")
    >>> [path.name for path in written.files], written.needs
    (['law.o', 'law.h', 'law_test.c', 'README.md'], ())
    """
    processor = find_target(target)
    what = with_units(read_step(step, dt), example)
    prefix = identifier(what.name) if name is None else check_name(name)
    what, code = machine_code(what, prefix, processor)
    vectors = reference_steps(what, example)
    root = make_folder(folder)
    texts = {
        f"{prefix}.h": c_texts.header(what, prefix, "double", header_note(prefix, processor)),
        f"{prefix}_test.c": c_texts.test_program(what, prefix, vectors, REALS["double"][0]),
        "README.md": readme(what, prefix, processor, code),
    }
    write_bytes(root / f"{prefix}.o", code.data)
    for file, text in texts.items():
        write_text(root / file, text)
    files = tuple(root / file for file in (f"{prefix}.o", *texts))
    return ObjectExport(
        root, prefix, processor.name, files, code.needs, 8 * len(what.memory), code.static_bytes, code.code_bytes
    )


def machine_code(what: CStep, prefix: str, target: Processor) -> tuple[CStep, ObjectCode]:
    """The step in the form that was translated, and its object: as one plain expression, else as a graph of calls."""
    scalars = [k for k, a in enumerate(what.inputs, 1) if a.scalar]
    drive = [k for k, a in enumerate(what.inputs, 1) if a.name in ("references", "t")] if what.drives_first else None
    problem: Untranslatable | None = None
    for kernel in (flat(what.kernel, f"{prefix}_kernel"), what.kernel):
        try:
            code = emit_object(kernel, prefix, target, start=what.start.tolist(), scalars=scalars, drive=drive)
        except Untranslatable as error:  # tables have no plain expression
            problem = error
        else:
            return replace(what, kernel=kernel), code
    raise ModelError(
        "no-machine-code",
        f"{what.title} holds {problem}, which has no machine code.",
        Advice("Write C with {}, and compile it for the target.", Call("da.export_c")),
    ) from problem


# --- texts ----------------------------------------------------------------------------------------------------------


def header_note(prefix: str, target: Processor) -> str:
    software = "" if target.hardware_doubles else " This processor computes doubles in software, which is slow."
    return f"The functions are in {prefix}.o, machine code for {target.title}.{software}"


def readme(what: CStep, prefix: str, target: Processor, code: ObjectCode) -> str:
    runtime = [name for name in code.needs if name.startswith(RUNTIME)]
    mathematics = [name for name in code.needs if name not in runtime]
    doors = [f"`{prefix}_init`", f"`{prefix}_step`", *([f"`{prefix}_drive`"] if what.drives_first else [])]
    software = (
        ""
        if target.hardware_doubles
        else "\nThis processor has no instructions for doubles: the compiler's run-time library computes them in "
        'software, which is slow.\nWhere it is too slow, export C with `real="float"` (`da.export_c`).\n'
    )
    return f"""# {prefix}: {what.title}

`{prefix}.o` is machine code for {target.title}, with the C interface of `{prefix}.h`. Numbers are doubles in IEEE 754
without contraction. No heap, no input or output.
{software}
| | |
|---|---|
| functions | {", ".join(doors)} |
| state | {len(what.memory)} numbers, memory of the caller |
| static work space | {code.static_bytes} bytes |
| code and constants | {code.code_bytes} bytes |
| from the mathematical library (`-lm`) | {_quote_names(mathematics)} |
| from the compiler's run-time library | {_quote_names(runtime)} |

1. `{prefix}_state state; {prefix}_init(&state);`
2. {c_texts.order_of_calls(what, prefix)}

Names and units of every entry stand in `{prefix}.h`. `{prefix}_test.c` compares the object with steps computed
beforehand; it prints the result and returns 0 where they agree:

    {target.compiler} {prefix}_test.c {prefix}.o -lm -o {prefix}_test

To use it, take `{prefix}.h` and `{prefix}.o`.
"""


def _quote_names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"
