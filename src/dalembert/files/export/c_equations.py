"""Equations of motion as C99: one pure function per part of them, no heap, no work space, no input or output.

A folder gets ``NAME.h`` (sizes, names, units, declarations), ``NAME.c`` (the functions), ``NAME_test.c`` (reference
values computed here; returns 0 where the C code agrees), a ``Makefile`` and a ``README.md``. Matrices are dense, column
by column. The functions are reentrant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.errors import ModelError
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Kernel
from dalembert.expressions.machine_code.program import Untranslatable
from dalembert.expressions.source_text import C, read_values, write_values
from dalembert.files.export.c_texts import comment
from dalembert.files.export.equation_functions import NamedFunction

STATES = 5  # of the test program
AGREEMENT = 1e-10  # relative to the largest entry of a result
TITLES = {
    "q": "coordinates", "v": "speeds", "z": "internal states", "u": "inputs", "p": "parameters", "lam": "multipliers",
    "a": "accelerations", "tau": "efforts on the speeds",
}  # fmt: skip


@dataclass(frozen=True)
class CFunction:
    """One function: its declaration without the semicolon, its text, and how it is called and checked."""

    written: NamedFunction
    sizes: tuple[int, ...]  # of the results
    declaration: str
    text: str


def equations_texts(eqs: EquationsOfMotion, prefix: str, chosen: Sequence[NamedFunction]) -> dict[str, str]:
    """Texts of the files, by name."""
    functions = [_function(eqs, function, prefix) for function in chosen]
    return {
        f"{prefix}.h": _header(eqs, prefix, functions),
        f"{prefix}.c": _source(eqs, prefix, functions),
        f"{prefix}_test.c": _test_program(eqs, prefix, functions),
        "Makefile": _makefile(prefix),
        "README.md": _readme(eqs, prefix, functions),
    }


def _function(eqs: EquationsOfMotion, one: NamedFunction, prefix: str) -> CFunction:
    function, arguments = one.function, one.arguments
    symbols = [
        ["t"] if name == "t" else [f"{name}[{k}]" for k in range(function.numel_in(g))]
        for g, name in enumerate(arguments)
    ]
    targets, sizes = [], []
    for k, result in enumerate(one.results):
        rows, columns = function.size_out(k)
        sizes.append(rows * columns)
        i, j = function.sparsity_out(k).get_triplet()
        targets.append([f"{result}[{a + rows * b}]" for a, b in zip(i, j, strict=True)])
    try:
        values = read_values(function)
        statements = write_values(values, C, symbols, targets)
    except Untranslatable as error:
        raise ModelError(
            "no-c-code", f"{one.name} of {eqs.name!r} holds {error}, which has no C code.",
            where={"function": one.name},
        ) from error  # fmt: skip
    parameters = [f"double {name}" if name == "t" else f"const double *{name}" for name in arguments]
    declaration = f"void {prefix}_{one.name}({', '.join([*parameters, *(f'double *{r}' for r in one.results)])})"
    body = [f"  (void){name};" for name in arguments]
    for result, size, entries in zip(one.results, sizes, values.results, strict=True):
        if size > sum(not values.is_zero(k) for k in entries):
            body.append(f"  for (int i = 0; i < {size}; ++i) {result}[i] = 0.0;")
    body += [f"  {line}" for line in statements]
    return CFunction(one, tuple(sizes), declaration, f"{declaration} {{\n" + "\n".join(body) + "\n}")


def _names(eqs: EquationsOfMotion) -> dict[str, list[str]]:
    """Entries of every argument and result, in words."""

    def with_units(channels: Any) -> list[str]:
        return [f"{n} [{u}]" if u else n for n, u in zip(channels.names, channels.units, strict=True)]

    values = zip(eqs.parameters.names, eqs.parameter_values, strict=True)
    return {
        "q": with_units(eqs.coordinates), "v": with_units(eqs.speeds), "z": with_units(eqs.internal),
        "u": with_units(eqs.inputs),
        "p": [f"{name} = {value!r}" for name, value in values], "y": with_units(eqs.outputs),
        "a": [f"rate of {n}" for n in eqs.speeds.names],
        "lam": [f"{row.owner}, row {row.number + 1} ({row.level})" for row in eqs.rows],
    }  # fmt: skip


def _header(eqs: EquationsOfMotion, prefix: str, functions: Sequence[CFunction]) -> str:
    lists = "\n".join(
        f"   {key}: {TITLES.get(key, 'outputs')}\n" + "\n".join(f"     [{k}] {comment(e)}" for k, e in enumerate(each))
        for key, each in _names(eqs).items()
        if each
    )
    sizes = {"NQ": eqs.nq, "NV": eqs.nv, "NZ": eqs.nz, "NU": eqs.nu, "NP": len(eqs.parameters), "NY": eqs.ny}
    sizes["ROWS"] = len(eqs.rows)
    defines = "\n".join(f"#define {prefix.upper()}_{name} {size}" for name, size in sizes.items())
    declared = "\n\n".join(
        f"/* {comment(function.written.meaning)} */\n{function.declaration};" for function in functions
    )
    guard = f"{prefix.upper()}_H"
    return f"""/* Equations of motion of {comment(repr(eqs.name))}. Written by dalembert; do not edit.

     q' = N v + n,   M v' = f + A' lam,   A v' = b,   z' = g,   y = h

{lists}

   SI units and radians. Matrices are dense, column by column. The functions need no memory of their own: they are
   reentrant. Arrays of size 0 may be NULL.
*/
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

{defines}

{declared}

#ifdef __cplusplus
}}
#endif

#endif
"""


def _source(eqs: EquationsOfMotion, prefix: str, functions: Sequence[CFunction]) -> str:
    bodies = "\n\n".join(function.text for function in functions)
    return f"""/* Equations of motion of {comment(repr(eqs.name))}. Written by dalembert; do not edit. */
#include <math.h>

#include "{prefix}.h"

{bodies}
"""


def _test_program(eqs: EquationsOfMotion, prefix: str, functions: Sequence[CFunction]) -> str:
    random = np.random.default_rng(0)
    sizes = {"q": eqs.nq, "v": eqs.nv, "z": eqs.nz, "u": eqs.nu, "lam": len(eqs.rows), "a": eqs.nv, "tau": eqs.nv}
    sizes |= {"lam0": len(eqs.rows)} | _further_sizes(functions)
    states = []
    for _ in range(STATES):
        state = {name: random.uniform(-1.0, 1.0, size) for name, size in sizes.items()}
        state["q"] = eqs.state().q + 0.2 * state["q"]
        states.append({**state, "p": eqs.p, "t": random.uniform(0.0, 1.0, 1)})
    tables, checks = [], []
    used = {name for function in functions for name in function.written.arguments}
    for name in (name for name in states[0] if name in used):
        tables.append(_table(name, [state[name] for state in states]))
    for spec in functions:
        kernel = Kernel(spec.written.function)
        results = [kernel(*(state[name] for name in spec.written.arguments)) for state in states]
        arguments = ", ".join("t[k][0]" if name == "t" else f"{name}[k]" for name in spec.written.arguments)
        outputs = ", ".join(f"out{j}" for j in range(len(spec.sizes)))
        lines = [f"    double {', '.join(f'out{j}[{max(size, 1)}]' for j, size in enumerate(spec.sizes))};"]
        lines.append(f"    {prefix}_{spec.written.name}({arguments}, {outputs});")
        for j, size in enumerate(spec.sizes):
            table = f"{spec.written.name}_{spec.written.results[j]}"
            tables.append(_table(table, [np.reshape(values[j], -1, order="F") for values in results]))
            lines.append(f"    worst = larger(worst, gap(out{j}, {table}[k], {size}));")
        checks.append("  for (int k = 0; k < STATES; ++k) {\n" + "\n".join(lines) + "\n  }")
    return f"""/* Values computed by dalembert, against the C code. Returns 0 where they agree. Written by dalembert. */
#include <stdio.h>

#include "{prefix}.h"

#define STATES {STATES}

{chr(10).join(tables)}

static double larger(double a, double b) {{ return a > b || a != a ? a : b; }}

/* Largest difference, relative to the largest entry (or 1). */
static double gap(const double *a, const double *b, int n) {{
  double size = 1.0, most = 0.0;
  for (int i = 0; i < n; ++i) {{
    double v = b[i] < 0 ? -b[i] : b[i];
    if (v > size) size = v;
  }}
  for (int i = 0; i < n; ++i) {{
    double d = a[i] - b[i];
    most = larger(d < 0 ? -d : d, most);
  }}
  return most / size;
}}

int main(void) {{
  double worst = 0.0;
{chr(10).join(checks)}
  printf("{prefix}: {STATES} states, largest relative difference %.2e\\n", worst);
  return worst <= {AGREEMENT!r} ? 0 : 1;
}}
"""


def _further_sizes(functions: Sequence[CFunction]) -> dict[str, int]:
    """Of arguments that only functions of a tree have: wrenches on places."""
    return {
        name: function.written.function.numel_in(k)
        for function in functions
        for k, name in enumerate(function.written.arguments)
        if name not in (*TITLES, "t", "lam0")
    }


def _table(name: str, rows: Sequence[Any]) -> str:
    width = max(len(rows[0]), 1)
    texts = ["{" + (", ".join(repr(float(x)) for x in row) or "0") + "}" for row in rows]
    return f"static const double {name}[STATES][{width}] = {{\n  " + ",\n  ".join(texts) + "\n};"


def _makefile(prefix: str) -> str:
    return f"""CC ?= cc
CFLAGS ?= -std=c99 -O2 -Wall -Wextra

test: {prefix}_test
	./{prefix}_test

{prefix}_test: {prefix}.c {prefix}_test.c {prefix}.h
	$(CC) $(CFLAGS) {prefix}.c {prefix}_test.c -o $@ -lm

clean:
	rm -f {prefix}_test

.PHONY: test clean
"""


def _readme(eqs: EquationsOfMotion, prefix: str, functions: Sequence[CFunction]) -> str:
    rows = "\n".join(f"| `{prefix}_{function.written.name}` | {function.written.meaning} |" for function in functions)
    return f"""# {prefix}: equations of motion of {eqs.name!r}

C99, doubles, no heap, no work space, no input or output; the functions are reentrant. They need the C library's
mathematics (`-lm`) only. {eqs.nq} coordinates, {eqs.nv} speeds, {len(eqs.rows)} constraint rows, {eqs.nu} inputs,
{len(eqs.parameters)} parameters.

| function | result |
|---|---|
{rows}

Names, units and the values of the parameters stand in `{prefix}.h`. `make test` compares the functions with values
computed beforehand. To use them, take `{prefix}.h` and `{prefix}.c`.
"""
