"""Equations of motion as a Python module that needs NumPy only.

The module has names and units of everything, one function per line of

    q̇ = N v + n ,   M v̇ = f + Aᵀ λ ,   A v̇ = b ,   φ(q,t) = 0 ,   ż = g ,   y = h

and, from them, ``accelerations`` and ``state_rate``, which an integrator takes. Arguments are one state, or arrays with
a state per column: every statement is an operation of NumPy on entries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any

import casadi as ca

from dalembert.core.arguments import take_path
from dalembert.core.atomic_files import write_text
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.equations import ARGUMENTS, Channels, EquationsOfMotion
from dalembert.expressions.machine_code.program import Untranslatable
from dalembert.expressions.source_text import PYTHON, read_values, write_values
from dalembert.mechanics import equations

FRICTION_PASSES, FRICTION_TOLERANCE = 50, 1e-9


@dataclass(frozen=True)
class ModulePart:
    """One function of the module: its name there, its results and what they are."""

    function: str  # of the equations
    name: str
    results: tuple[str, ...]
    meaning: str


FUNCTIONS = (
    ModulePart("kinematics", "kinematics", ("N", "n"), "N, n of q' = N v + n."),
    ModulePart("inertia", "inertia", ("M",), "Mass matrix M."),
    ModulePart("forces", "forces", ("f",), "Forces f, with Coriolis and centrifugal ones."),
    ModulePart("rows", "rows", ("A", "b"), "Constraint rows A v' = b."),
    ModulePart(
        "position", "position", ("phi",), "Residuals of holonomic constraints, zero where the joints are closed."
    ),
    ModulePart("rates", "rates", ("c",), "Rates of the residuals, and residuals at velocity level."),
    ModulePart("internal", "internal", ("g",), "Rates of the internal states, z' = g."),
    ModulePart("outputs", "outputs", ("y",), "Outputs of the sensors, at accelerations a and multipliers lam."),
    ModulePart("energy", "energy", ("T", "V"), "Kinetic and potential energy [J]."),
)
RESERVED = frozenset(
    {"np", "q", "v", "z", "u", "p", "t", "a", "lam", "N", "n", "M", "f", "A", "b", "phi", "c", "g", "y", "T", "V"}
    | {"COORDINATES", "SPEEDS", "INTERNAL", "INPUTS", "OUTPUTS", "ROWS", "PARAMETERS", "VALUES", "_zeros"}
    | {"accelerations", "state_rate", *(function.name for function in FUNCTIONS)}
)


def export_python(model: object, path: str | os.PathLike[str]) -> Path:
    """Write equations of motion as a Python module that needs NumPy and nothing else.

    Parameters
    ----------
    model : a derivation, equations of motion, or any argument of `da.equations`.
    path : the file, ``NAME.py``; written whole or not at all.

    Returns
    -------
    The path. The module has one function per part of the equations (``inertia``, ``forces``, ``rows``, ...),
    ``accelerations`` and ``state_rate(t, x, u, p)`` for an integrator, names with units, and the values of parameters.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dalembert as da
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = da.export_python(da.equations(da.read_model("pendulum")), Path(folder) / "pendulum.py")
    ...     print(file.name, "import numpy as np" in file.read_text())
    pendulum.py True
    """
    target = take_path("path", path)
    problem = f"a Python module is a file NAME.py, got {target.name!r}."
    ModelError.when(target.suffix != ".py", "bad-name", problem, where={"path": path})
    write_text(target, python_module(model))
    return target


def python_module(model: object) -> str:
    """Text of the module."""
    eqs = model if isinstance(model, EquationsOfMotion) else equations(model)
    names = Identifiers(eqs)
    parts = [_head(eqs)]
    for function in FUNCTIONS:
        if eqs.functions[function.function].nnz_out() or function.function in ("kinematics", "inertia", "forces"):
            parts.append(_function(eqs, function, names))
    return "\n\n\n".join([*parts, _accelerations(eqs), _state_rate(eqs)]) + "\n"


class Identifiers:
    """Names of entries as Python identifiers: no two alike, none that means something else in the module."""

    def __init__(self, eqs: EquationsOfMotion) -> None:
        groups = {
            "q": eqs.coordinates.names, "v": eqs.speeds.names, "z": eqs.internal.names, "u": eqs.inputs.names,
            "p": eqs.parameters.names, "a": [f"{name}_rate" for name in eqs.speeds.names],
            "lam": [f"lam_{row.owner}_{row.number + 1}" for row in eqs.rows],
        }  # fmt: skip
        reserved = set(RESERVED)
        self.entries: dict[str, list[str]] = {"t": ["t"]}
        for group, names in groups.items():
            self.entries[group] = [_identifier(name, reserved) for name in names]


def _identifier(text: str, taken: set[str]) -> str:
    plain = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "value"
    # x1, x2, ... are names of common parts
    if plain[0].isdigit() or iskeyword(plain) or plain in RESERVED or re.fullmatch(r"x\d+", plain):
        plain = f"{plain}_" if not plain[0].isdigit() else f"_{plain}"
    name, count = plain, 2
    while name in taken:
        name, count = f"{plain}_{count}", count + 1
    taken.add(name)
    return name


# --- texts ----------------------------------------------------------------------------------------------------------


def _head(eqs: EquationsOfMotion) -> str:
    from dalembert import __version__

    rows = [(row.owner, row.level) for row in eqs.rows]
    values = ", ".join(map(repr, eqs.parameter_values))
    tables = [
        _table("COORDINATES", "coordinates q", eqs.coordinates),
        _table("SPEEDS", "speeds v", eqs.speeds),
        _table("INTERNAL", "internal states z", eqs.internal),
        _table("INPUTS", "inputs u", eqs.inputs),
        _table("OUTPUTS", "outputs y", eqs.outputs),
        _dictionary("PARAMETERS", "parameters p: value", zip(eqs.parameters.names, eqs.parameter_values, strict=True)),
        _lines("ROWS", "(", ")", "constraint rows: owner and level", [repr(row) for row in rows]),
        f"VALUES = np.array([{values}])  # of the parameters",
    ]
    return (
        f'"""Equations of motion of {_quote(eqs.name)}. Written by dalembert {__version__}; needs NumPy only.\n\n'
        "    q' = N v + n,   M v' = f + A' lam,   A v' = b,   z' = g,   y = h\n\n"
        "Arguments are arrays of one state, or with a state per column. SI units and radians.\n"
        '"""\n\nimport numpy as np\n\n' + "\n".join(tables) + "\n\n\n" + _ZEROS
    )


_ZEROS = '''def _zeros(shape, *arguments):
    """Zeros of a result, for one state or for a state per column."""
    return np.zeros(shape + np.broadcast_shapes(*(np.shape(one) for one in arguments)))'''


def _quote(name: str) -> str:
    return repr(name).replace("\\", "\\\\").replace('"""', "'")


def _table(name: str, meaning: str, channels: Channels) -> str:
    return _dictionary(name, f"{meaning}: unit", zip(channels.names, channels.units, strict=True))


def _dictionary(name: str, meaning: str, pairs: Any) -> str:
    return _lines(name, "{", "}", meaning, [f"{key!r}: {value!r}" for key, value in pairs])


def _lines(name: str, opening: str, closing: str, meaning: str, entries: Sequence[str]) -> str:
    inside = "".join(f"\n    {entry}," for entry in entries)
    return f"{name} = {opening}  # {meaning}{inside}\n{closing}" if entries else f"{name} = {opening}{closing}"


def _signature(arguments: Sequence[str], eqs: EquationsOfMotion) -> str:
    """Arguments as Python declares them; those that a model does not have may be left out."""
    sizes = {"z": eqs.nz, "u": eqs.nu, "lam": len(eqs.rows)}
    texts = []
    for name in arguments:
        default = {"p": "VALUES", "t": "0.0"}.get(name, "()" if sizes.get(name, 1) == 0 else None)
        texts.append(name if default is None else f"{name}={default}")
    # an argument without a default may not follow one that has it
    last = max((k for k, text in enumerate(texts) if "=" not in text), default=-1)
    return ", ".join(name if k < last else text for k, (name, text) in enumerate(zip(arguments, texts, strict=True)))


def _function(eqs: EquationsOfMotion, one: ModulePart, names: Identifiers) -> str:
    function = eqs.functions[one.function]
    arguments = ARGUMENTS[one.function].split()
    try:
        values = read_values(function)
        used = {v.arguments for v in values.values if v.operation == ca.OP_INPUT}
        targets, shapes = [], []
        for k, result in enumerate(one.results):
            rows, columns = function.size_out(k)
            i, j = function.sparsity_out(k).get_triplet()
            scalar = one.function == "energy"
            matrix = columns != 1 or result in ("M", "N", "A")
            shapes.append("()" if scalar else f"({rows}, {columns})" if matrix else f"({rows},)")
            places = [f"[{a}, {b}]" if matrix else f"[{a}]" for a, b in zip(i, j, strict=True)]
            targets.append([f"{result}[()]" if scalar else f"{result}{place}" for place in places])
        statements = write_values(values, PYTHON, [names.entries[name] for name in arguments], targets)
    except Untranslatable as error:
        raise ModelError(
            "no-python-code", f"{one.name} of {eqs.name!r} holds {error}, which has no Python code.",
            Advice("Write C with {}.", Call("da.export_c")), where={"function": one.function},
        ) from error  # fmt: skip
    sized = [name for name in arguments if name != "t" and len(names.entries[name])]
    lines = [f"{name} = np.asarray({name}, dtype=float)" for name in sized if any(g == name for g in arguments)]
    for g, name in enumerate(arguments):
        if name != "t":
            entries = sorted(e for argument, e in used if argument == g)
            lines += [f"{names.entries[name][e]} = {name}[{e}]" for e in entries]
    columns_of = ", ".join([*(f"{name}[0]" for name in sized), "t"] if "t" in arguments else [f"{n}[0]" for n in sized])
    lines += [f"{r} = _zeros({shape}, {columns_of})" for r, shape in zip(one.results, shapes, strict=True)]
    lines += [*statements, f"return {', '.join(one.results)}"]
    body = "".join(f"    {line}\n" for line in lines).rstrip()
    return f'def {one.name}({_signature(arguments, eqs)}):\n    """{one.meaning}"""\n{body}'


def _accelerations(eqs: EquationsOfMotion) -> str:
    arguments = _signature(["q", "v", "z", "u", "p", "t"], eqs)
    if not eqs.rows:
        return f'''def accelerations({arguments}):
    """Accelerations a = v'; the multipliers are none."""
    M = np.moveaxis(inertia(q, p, t), (0, 1), (-2, -1))
    f = np.moveaxis(forces(q, v, z, u, p, t), 0, -1)
    return np.moveaxis(np.linalg.solve(M, f[..., None])[..., 0], -1, 0), ()'''
    depends = eqs.functions["forces"].jac_sparsity(0, 6).nnz() > 0
    passes = (
        f"""    for _ in range({FRICTION_PASSES}):  # forces that depend on the reactions
        f = np.moveaxis(forces(q, v, z, u, p, t, np.moveaxis(lam, -1, 0)), 0, -1)
        found = (inverse @ np.concatenate([f, b], axis=-1)[..., None])[..., 0]
        change, a, lam = np.max(np.abs(found[..., {eqs.nv}:] - lam)), found[..., :{eqs.nv}], found[..., {eqs.nv}:]
        if change <= {FRICTION_TOLERANCE!r} * max(1.0, np.max(np.abs(lam))):
            break
    else:
        raise ArithmeticError("forces and reactions do not settle on common values")
"""
        if depends
        else f"""    f = np.moveaxis(forces(q, v, z, u, p, t, np.moveaxis(lam, -1, 0)), 0, -1)
    found = (inverse @ np.concatenate([f, b], axis=-1)[..., None])[..., 0]
    a, lam = found[..., :{eqs.nv}], found[..., {eqs.nv}:]
"""
    )
    return f'''def accelerations({arguments}):
    """Accelerations a = v' and multipliers lam; of redundant rows, the multipliers of least norm."""
    M = np.moveaxis(inertia(q, p, t), (0, 1), (-2, -1))
    A, b = rows(q, v, z, u, p, t)
    A, b = np.moveaxis(A, (0, 1), (-2, -1)), np.moveaxis(b, 0, -1)
    M = np.broadcast_to(M, A.shape[:-2] + M.shape[-2:])
    zero = np.zeros(A.shape[:-2] + (A.shape[-2], A.shape[-2]))
    inverse = np.linalg.pinv(np.block([[M, -np.swapaxes(A, -1, -2)], [A, zero]]), rcond=1e-12)
    lam = np.zeros(b.shape)
{passes}    return np.moveaxis(a, -1, 0), np.moveaxis(lam, -1, 0)'''


def _state_rate(eqs: EquationsOfMotion) -> str:
    nq, nv = eqs.nq, eqs.nv
    arguments = _signature(["u", "p"], eqs)
    listed = "q, v, z, u, p, t"
    internal = [f"g = internal({listed}, lam)"] if eqs.nz else []
    parts = ["np.einsum('ij...,j...->i...', N, v) + n", "a", *(["g"] if eqs.nz else [])]
    lines = [
        "x = np.asarray(x, dtype=float)",
        f"q, v, z = x[:{nq}], x[{nq}:{nq + nv}], x[{nq + nv}:]",
        "N, n = kinematics(q, p, t)",
        f"a, {'lam' if eqs.nz else '_'} = accelerations({listed})",
        *internal,
        f"return np.concatenate([{', '.join(parts)}])",
    ]
    body = "".join(f"    {line}\n" for line in lines).rstrip()
    return (
        f'def state_rate(t, x, {arguments}):\n    """Rate of the state x = (q, v, z), as scipy.integrate.solve_ivp '
        f'takes it."""\n{body}'
    )
