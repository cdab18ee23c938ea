"""LLVM code of built-in functions of CPython: a call costs little more than its computation.

`once` takes no arguments and evaluates at the addresses of its table. `direct` takes arrays and floats as CPython
passes them, checks that each is a contiguous vector of double precision numbers, and evaluates on their memory; other
arguments are passed to a function of Python. Both keep their table in a bytes object.
"""

from __future__ import annotations

import sys

from dalembert.expressions.machine_code.program import Routine

# bytes from the beginning of an array to its fields, in NumPy's binary interface
ARRAY_FIELDS = {"data": 16, "number": 24, "shape": 32, "strides": 40, "type": 56}
FLOAT_VALUE = 16  # of a float, to its number


def once_text() -> str:
    """once(table as bytes, nothing) -> None, as CPython calls a built-in function without arguments."""
    none = f"inttoptr (i64 {id(None)} to ptr)"
    count = ""
    if sys.version_info < (3, 12):  # later versions do not count references to None
        count = f"%n = load i64, ptr {none}, align 8\n%m = add i64 %n, 1\nstore i64 %m, ptr {none}, align 8\n"
    return f"""
define ptr @once(ptr %self, ptr %nothing) {{
%table = getelementptr i8, ptr %self, i64 32
call void @loop(ptr %table, i64 1)
{count}ret ptr {none}
}}
"""


def direct_text(main: Routine) -> str:
    """direct(table as bytes, arguments, their number) -> results.

    table : types of an array, of its numbers and of a float; first and last address of the results; the list of the
    results, the function for other arguments and that of CPython which calls it; addresses of results and of work.
    """
    lines: list[str] = []

    def put(name: str, code: str) -> str:
        lines.append(f"{name} = {code}")
        return name

    def field(name: str, base: str, offset: int, kind: str = "ptr") -> str:
        put(f"{name}.at", f"getelementptr i8, ptr {base}, i64 {offset}")
        return put(name, f"load {kind}, ptr {name}.at, align 4")

    names = ["array", "double", "float", "first", "last", "results", "other", "call"]
    for k, name in enumerate(names):
        field(f"%{name}", "%self", 32 + 8 * k, "i64" if k in (3, 4) else "ptr")
    found = [field(f"%result{j}", "%self", 32 + 8 * (len(names) + j)) for j in range(len(main.outputs) + 1)]
    put("%right.count", f"icmp eq i64 %count, {len(main.inputs)}")
    lines.append("br i1 %right.count, label %check0, label %elsewhere")
    given = []
    for i, size in enumerate(main.inputs):
        o, after = f"%argument{i}", f"check{i + 1}"
        lines.append(f"check{i}:")
        field(o, "%arguments", 8 * i)
        if size == 0:
            given.append(o)
            lines.append(f"br label %{after}")
            continue
        kind = field(f"{o}.kind", o, 8)
        is_array = put(f"{o}.is.array", f"icmp eq ptr {kind}, %array")
        other = f"number{i}" if size == 1 else "elsewhere"
        lines.append(f"br i1 {is_array}, label %array{i}, label %{other}")
        lines.append(f"array{i}:")
        data = field(f"{o}.data", o, ARRAY_FIELDS["data"])
        tests = [
            put(f"{o}.t0", f"icmp eq i32 {field(f'{o}.number', o, ARRAY_FIELDS['number'], 'i32')}, 1"),
            put(f"{o}.t1", f"icmp eq ptr {field(f'{o}.type', o, ARRAY_FIELDS['type'])}, %double"),
        ]
        shape, strides = (field(f"{o}.{name}", o, ARRAY_FIELDS[name]) for name in ("shape", "strides"))
        both = put(f"{o}.both", f"and i1 {tests[0]}, {tests[1]}")
        lines += [f"br i1 {both}, label %vector{i}, label %elsewhere", f"vector{i}:"]
        tests = [put(f"{o}.t2", f"icmp eq i64 {field(f'{o}.length', shape, 0, 'i64')}, {size}")]
        if size > 1:
            tests.append(put(f"{o}.t3", f"icmp eq i64 {field(f'{o}.stride', strides, 0, 'i64')}, 8"))
        begin = put(f"{o}.begin", f"ptrtoint ptr {data} to i64")
        end = put(f"{o}.end", f"add i64 {begin}, {8 * size}")
        before = put(f"{o}.before", f"icmp ule i64 {end}, %first")
        behind = put(f"{o}.behind", f"icmp uge i64 {begin}, %last")
        tests.append(put(f"{o}.apart", f"or i1 {before}, {behind}"))
        whole = tests[0]
        for k, test in enumerate(tests[1:]):
            whole = put(f"{o}.and{k}", f"and i1 {whole}, {test}")
        if size > 1:
            lines.append(f"br i1 {whole}, label %{after}, label %elsewhere")
            given.append(data)
            continue
        lines += [f"br i1 {whole}, label %have{i}, label %elsewhere", f"number{i}:"]
        is_float = put(f"{o}.is.float", f"icmp eq ptr {kind}, %float")
        value = put(f"{o}.value", f"getelementptr i8, ptr {o}, i64 {FLOAT_VALUE}")
        lines += [f"br i1 {is_float}, label %have{i}, label %elsewhere", f"have{i}:"]
        given.append(put(f"{o}.have", f"phi ptr [{data}, %vector{i}], [{value}, %number{i}]"))
        lines.append(f"br label %{after}")
    passed = ", ".join(f"ptr {x}" for x in [*given, *found])
    return "\n".join([
        "define ptr @direct(ptr %self, ptr %arguments, i64 %count) {",
        *lines,
        f"check{len(main.inputs)}:",
        f"call void @{main.name}({passed})",
        "%n = load i64, ptr %results, align 8",
        "%m = add i64 %n, 1",
        "store i64 %m, ptr %results, align 8",
        "ret ptr %results",
        "elsewhere:",
        "%answer = call ptr %call(ptr %other, ptr %arguments, i64 %count, ptr null)",
        "ret ptr %answer",
        "}",
        "",
    ])  # fmt: skip
