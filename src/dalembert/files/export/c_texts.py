"""The texts of a C export: header, interface, test program, Makefile, README."""

from __future__ import annotations

from typing import Any

import numpy as np

# Lines of a kernel above which compilers take very long with -O2: 230 000 lines (a filter of two flexible links in
# space) took GCC 12 more than four minutes, with -O1 two.
LONG = 100_000
QUIET = """/* Written by dalembert; do not edit. Not every kernel uses all its parameters. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
"""


def comment(text: str) -> str:
    """Text that cannot end a comment early."""
    return text.replace("*/", "* /").replace("\n", " ")


def _list_names(label: str, names: Any, units: Any) -> str:
    rows = [f"     [{k}] {n}{f' [{u}]' if u else ''}" for k, (n, u) in enumerate(zip(names, units, strict=True))]
    return comment(f"{label}") + ("".join("\n" + comment(row) for row in rows) if rows else " (none)")


def arguments(what: Any, prefix: str) -> str:
    """Arguments of the step, as C declares them."""
    parts = [f"{prefix}_state *state"]
    for a in what.inputs:
        parts.append(f"{prefix}_real {a.name}" if a.scalar else f"const {prefix}_real *{a.name}")
    parts.append(f"{prefix}_real *{what.output.name}")
    return ", ".join(parts)


def drive_arguments(prefix: str) -> str:
    return f"const {prefix}_state *state, const {prefix}_real *references, {prefix}_real t, {prefix}_real *u"


def header(what: Any, prefix: str, real: str, note: str = "") -> str:
    guard = f"{prefix.upper()}_H"
    lists = "\n".join(
        f"   {a.name}: {_list_names(a.meaning, a.channels.names, a.channels.units)}"
        for a in (*what.inputs, what.output)
    )
    sizes = "\n".join(
        f"#define {prefix.upper()}_{a.name.upper()} {a.size}" for a in (*what.inputs, what.output) if not a.scalar
    )
    drive = ""
    if what.drives_first:
        drive = f"""
/* u alone, from the state: drive with it first, then read the sensors and call {prefix}_step. */
void {prefix}_drive({drive_arguments(prefix)});
"""
    return f"""/* {comment(what.title)}, every {what.dt:g} s. Written by dalembert; do not edit.
{f"   {comment(note)}{chr(10)}" if note else ""}
{lists}
   state: {_list_names("memory", what.memory.names, what.memory.units)}
*/
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

typedef {real} {prefix}_real;

#define {prefix.upper()}_INTERVAL {what.dt!r} /* s */
#define {prefix.upper()}_MEMORY {len(what.memory)}
{sizes}

typedef struct {{
  {prefix}_real memory[{max(len(what.memory), 1)}];
}} {prefix}_state;

/* The state before the first step. */
void {prefix}_init({prefix}_state *state);

/* One step; arrays of size 0 may be NULL. Returns 0 if all went well. Not reentrant: the work space is static. */
int {prefix}_step({arguments(what, prefix)});
{drive}
#ifdef __cplusplus
}}
#endif

#endif
"""


def interface(what: Any, prefix: str, work: dict[str, int]) -> str:
    start = ", ".join(repr(float(x)) for x in what.start)
    init = (
        f"""  static const {prefix}_real start[] = {{{start}}};
  int i;
  for (i = 0; i < {prefix.upper()}_MEMORY; ++i) state->memory[i] = start[i];"""
        if len(what.memory)
        else "  state->memory[0] = 0;"
    )
    values = ["state->memory"] + [f"&{a.name}" if a.scalar else a.name for a in what.inputs]
    sets = "\n".join(f"  arg[{k}] = {value};" for k, value in enumerate(values))
    copy = (
        f"  if (!failed) for (i = 0; i < {prefix.upper()}_MEMORY; ++i) state->memory[i] = after[i];"
        if len(what.memory)
        else "  (void)i;"
    )
    drive = ""
    if what.drives_first:
        calls = ["state->memory", "0", "references", "&t"]
        lines = "\n".join(f"  arg[{k}] = {value};" for k, value in enumerate(calls))
        drive = f"""
void {prefix}_drive({drive_arguments(prefix)}) {{
{lines}
  res[0] = 0;
  res[1] = u;
  (void){prefix}_kernel(arg, res, iw, w, 0);
}}
"""
    return f"""/* {comment(what.title)}. Written by dalembert; do not edit. */
#include "{prefix}.h"

int {prefix}_kernel(const {prefix}_real **arg, {prefix}_real **res, int *iw, {prefix}_real *w, int mem);

static const {prefix}_real *arg[{max(work["arg"], 1)}];
static {prefix}_real *res[{max(work["res"], 1)}];
static int iw[{max(work["iw"], 1)}];
static {prefix}_real w[{max(work["w"], 1)}];
static {prefix}_real after[{max(len(what.memory), 1)}];

void {prefix}_init({prefix}_state *state) {{
{init}
}}

int {prefix}_step({arguments(what, prefix)}) {{
  int i = 0, failed;
{sets}
  res[0] = after;
  res[1] = {what.output.name};
  failed = {prefix}_kernel(arg, res, iw, w, 0);
{copy}
  return failed;
}}
{drive}"""


def _array(values: Any) -> str:
    numbers = [repr(float(x)) for x in np.reshape(values, -1)]
    return "{" + (", ".join(numbers) or "0") + "}"


def test_program(what: Any, prefix: str, steps: list[list[Any]], tolerance: str) -> str:
    labels = ["memory", *[a.name for a in what.inputs], "after", "output"]
    tables = []
    for k, label in enumerate(labels):
        width = max(len(steps[0][k]), 1)
        rows = ",\n  ".join(_array(step[k]) for step in steps)
        tables.append(f"static const {prefix}_real ref_{label}[{len(steps)}][{width}] = {{\n  {rows}\n}};")
    call = ", ".join(f"ref_{a.name}[k][0]" if a.scalar else f"ref_{a.name}[k]" for a in what.inputs)
    outputs, memory = what.output.size, len(what.memory)
    drive = ""
    if what.drives_first:
        drive = f"""
    {prefix}_drive(&state, ref_references[k], ref_t[k][0], output);
    worst = larger(worst, gap(output, ref_output[k], {outputs}));"""
    return f"""/* Steps computed by dalembert, against the C code. Returns 0 where they agree. Written by dalembert. */
#include <stdio.h>

#include "{prefix}.h"

{chr(10).join(tables)}

static double larger(double a, double b) {{ return a > b || a != a ? a : b; }}

/* Largest difference, relative to the largest entry (or 1). */
static double gap(const {prefix}_real *a, const {prefix}_real *b, int n) {{
  double size = 1.0, most = 0.0;
  int i;
  for (i = 0; i < n; ++i) {{
    double v = b[i] < 0 ? -(double)b[i] : (double)b[i];
    if (v > size) size = v;
  }}
  for (i = 0; i < n; ++i) {{
    double d = (double)a[i] - (double)b[i];
    d = d < 0 ? -d : d;
    most = larger(d, most);
  }}
  return most / size;
}}

int main(void) {{
  {prefix}_state state;
  {prefix}_real output[{max(outputs, 1)}] = {{0}};
  double worst = 0.0;
  int k, i;
  {prefix}_init(&state);
  worst = larger(worst, gap(state.memory, ref_memory[0], {memory}));
  for (k = 0; k < {len(steps)}; ++k) {{
    for (i = 0; i < {memory}; ++i) state.memory[i] = ref_memory[k][i];{drive}
    if ({prefix}_step(&state, {call}, output)) {{
      printf("{prefix}: step %d failed\\n", k);
      return 2;
    }}
    worst = larger(worst, gap(output, ref_output[k], {outputs}));
    worst = larger(worst, gap(state.memory, ref_after[k], {memory}));
  }}
  printf("{prefix}: {len(steps)} steps, largest relative difference %.2e\\n", worst);
  return worst <= {tolerance} ? 0 : 1;
}}
"""


def makefile(prefix: str, kernel: str) -> str:
    level = "-O1" if kernel.count("\n") > LONG else "-O2"
    return f"""CC ?= cc
CFLAGS ?= -std=c99 {level} -Wall -Wextra

test: {prefix}_test
	./{prefix}_test

{prefix}_test: {prefix}.c {prefix}_kernel.c {prefix}_test.c {prefix}.h
	$(CC) $(CFLAGS) {prefix}.c {prefix}_kernel.c {prefix}_test.c -o $@ -lm

clean:
	rm -f {prefix}_test

.PHONY: test clean
"""


def order_of_calls(what: Any, prefix: str) -> str:
    return (
        f"Every {what.dt:g} s: `{prefix}_drive` gives u from the state alone; let it act, read the sensors, then call "
        f"`{prefix}_step`."
        if what.drives_first
        else f"Every {what.dt:g} s: read, call `{prefix}_step`, let the new u act until the next step."
        if what.kind == "law"
        else f"Every {what.dt:g} s: read the sensors, call `{prefix}_step` with the inputs that were held and those "
        "that act now; dt is 0 at the first step."
    )


def readme(what: Any, prefix: str, real: str, work: dict[str, int]) -> str:
    return f"""# {prefix}: {what.title}

C99, type `{real}`, no heap, no input or output. State: {len(what.memory)} numbers. Static work space:
{work["w"]} numbers and {work["iw"]} integers. Needs the C library's mathematics (`-lm`) only.

1. `{prefix}_state state; {prefix}_init(&state);`
2. {order_of_calls(what, prefix)}

Names and units of every entry stand in `{prefix}.h`. `make test` compares {prefix} with steps computed beforehand.
To use it, take `{prefix}.h`, `{prefix}.c` and `{prefix}_kernel.c`.
"""
