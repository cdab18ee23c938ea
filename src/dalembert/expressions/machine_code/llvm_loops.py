"""LLVM code of loops: over the entries of vectors, over evaluations of a map, over entries of products and tables.

Without lanes several numbers are taken at once, in the parts of a vector. Element-wise statements that differ in their
addresses and lengths only are one function, called by all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.expressions.machine_code.program import VECTOR, Apply, DenseProduct, Gather, Repeat

if TYPE_CHECKING:
    from dalembert.expressions.machine_code.llvm_code import LlvmCode

UNROLLED = 8  # entries; longer element-wise operations are loops
FEW = 16  # entries that are gathered one by one; more in a loop over a table
SHARED = 4  # fewest element-wise statements of one form for a shared function: its call takes a few nanoseconds
Body = Callable[[Callable[[str], str], list[str], int], None]


def vector_type(width: int) -> str:
    return "double" if width == 1 else f"<{width} x double>"


def wide_name(s: Repeat) -> str:
    """Of a routine that takes several evaluations at once."""
    return ".".join([s.routine.name, "wide", *map(str, sorted(fixed_arguments(s)))])


def fixed_arguments(s: Repeat) -> frozenset[int]:
    return frozenset(i for i, (_, stride) in enumerate(s.inputs) if stride == 0)


class Loops:
    """Writes loops into the text of a program."""

    def __init__(self, code: LlvmCode) -> None:
        self.code = code
        self.shared: dict[Any, str] = {}

    @property
    def several(self) -> int:
        return VECTOR if self.code.lanes == 1 else 1

    def count(self, count: int | str, body: Callable[[str], None], step: int = 1) -> None:
        """body(k) for k = 0, step, ... below count (at least once)."""
        code = self.code
        code.count += 1
        n = code.count
        code.lines += [f"br label %before{n}", f"before{n}:", f"br label %loop{n}", f"loop{n}:"]
        # the phi names the block that ends the body, which a loop inside the body changes
        code.lines.append(f"%k{n} = phi i64 [0, %before{n}], [%next{n}, %end{n}]")
        body(f"%k{n}")
        code.lines += [
            f"br label %end{n}",
            f"end{n}:",
            f"%next{n} = add i64 %k{n}, {step}",
            f"%more{n} = icmp ult i64 %next{n}, {count}",
            f"br i1 %more{n}, label %loop{n}, label %after{n}",
            f"after{n}:",
        ]

    def each(self, count: int, body: Callable[[int | str], None]) -> None:
        """body(k) for all entries: one by one for a few, else in a loop."""
        if count > FEW:
            self.count(count, body)
        else:
            for k in range(count):
                body(k)

    # -- entries of vectors ------------------------------------------------------------------------------------------
    def over(self, sources: list[tuple[str, int]], count: int, body: Body) -> None:
        """body(address of the entry in an array, numbers there, their count) over `count` entries.

        One by one, or several at once in a loop; a number for all entries is loaded once.
        """
        code, several = self.code, self.several
        fixed = [code.load(base, code.lanes) if step == 0 else "" for base, step in sources]
        whole = count - count % several
        if (whole and several > 1) or whole > UNROLLED:
            spread = [code.spread(value, several) if value else "" for value in fixed]
            if whole > UNROLLED:
                self.count(whole, lambda k: self._at(sources, spread, k, several, body), several)
            else:
                for j in range(0, whole, several):
                    self._at(sources, spread, j, several, body)
        else:
            whole = 0
        for j in range(whole, count):
            self._at(sources, fixed, j, 1, body)

    def _at(self, sources: list[tuple[str, int]], known: list[str], first: int | str, several: int, body: Body) -> None:
        """The body at one entry, or at several from there on."""
        code = self.code
        width = several * code.lanes
        inputs = [known[i] or code.load(code.offset(base, first), width) for i, (base, _) in enumerate(sources)]
        body(lambda base: code.offset(base, first), inputs, width)

    def copy(self, out: str, source: str, count: int) -> None:
        code = self.code

        def put(target: str) -> Body:
            return lambda at, inputs, width: code.store(inputs[0], at(target), width)

        if count <= UNROLLED:
            self.over([(source, 1)], count, put(out))
            return
        if "copy" not in self.shared:
            self.shared["copy"] = "copy"
            self._define("copy", ["%x", "%y"], lambda: self._over_any([("%x", 1)], put("%y")))
        code.lines.append(f"call void @copy(ptr {source}, ptr {out}, i64 {count})")

    def _define(self, name: str, pointers: Sequence[str], write: Callable[[], None]) -> None:
        """A function of pointers and a number of entries, %n, beside the one that is being written."""
        code = self.code
        held, code.lines = code.lines, []
        write()
        given = ", ".join(f"ptr {p}" for p in pointers)
        code.text += [f"define internal void @{name}({given}, i64 %n) noinline nounwind {{", *code.lines]
        code.text += ["ret void", "}"]
        code.lines = held

    def apply(self, s: Apply) -> None:
        code = self.code
        sources = [(code.address(place), step) for place, step in s.inputs]
        targets = [code.address(place) for _, place in s.outputs]
        name = self.shared.get(_form(s))
        if name is None:
            self.over(sources, s.count, self._steps(s, targets))
            return
        pointers = ", ".join(f"ptr {base}" for base in [*(base for base, _ in sources), *targets])
        code.lines.append(f"call void @{name}({pointers}, i64 {s.count})")

    def _steps(self, s: Apply, targets: Sequence[str]) -> Body:
        code = self.code

        def steps(at: Callable[[str], str], inputs: list[str], width: int) -> None:
            values = list(inputs)
            for op, operands in s.steps:
                x, y = values[operands[0]], values[operands[-1]]
                values.append(code.operation(op, x, y, width))
            for (k, _), base in zip(s.outputs, targets, strict=True):
                code.store(values[k], at(base), width)

        return steps

    def define_shared(self, statements: Sequence[Any]) -> None:
        """Functions for forms of element-wise statements that occur often."""
        found = Counter(_form(s) for s in statements if isinstance(s, Apply))
        for s in statements:
            if not isinstance(s, Apply) or found[_form(s)] < SHARED or _form(s) is None or _form(s) in self.shared:
                continue
            name = self.shared[_form(s)] = f"apply{len(self.shared)}"
            sources = [(f"%x{i}", step) for i, (_, step) in enumerate(s.inputs)]
            targets = [f"%y{i}" for i in range(len(s.outputs))]
            pointers = [*(base for base, _ in sources), *targets]
            self._define(name, pointers, partial(self._over_any, sources, self._steps(s, targets)))

    def _over_any(self, sources: list[tuple[str, int]], body: Body) -> None:
        """Over %n entries, more than `UNROLLED`."""
        code, several = self.code, self.several
        fixed = [code.load(base, code.lanes) if step == 0 else "" for base, step in sources]
        spread = [code.spread(value, several) if value else "" for value in fixed]
        whole = code.put(f"and i64 %n, {-several}")
        self.count(whole, lambda k: self._at(sources, spread, k, several, body), several)
        if several == 1:
            return
        rest = code.put(f"sub i64 %n, {whole}")
        code.lines.append(f"br i1 {code.put(f'icmp eq i64 {rest}, 0')}, label %done, label %tail")
        code.lines.append("tail:")

        def last(k: str) -> None:
            self._at(sources, fixed, code.put(f"add i64 {k}, {whole}"), 1, body)

        self.count(rest, last)
        code.lines += ["br label %done", "done:"]

    def gather(self, s: Gather) -> None:
        code = self.code
        source, out = code.address(s.source), code.address(s.out)

        def move(entry: int | str, j: int | str) -> None:
            code.store(code.load(code.offset(source, entry), code.lanes), code.offset(out, j), code.lanes)

        if len(s.entries) <= FEW:
            for j, entry in enumerate(s.entries):
                move(entry, j)
            return
        code.count += 1
        table = f"@entries{code.count}"
        numbers = ", ".join(f"i32 {entry}" for entry in s.entries)
        code.text.append(f"{table} = internal constant [{len(s.entries)} x i32] [{numbers}], align 64")

        def one(k: str) -> None:
            entry = code.put(f"load i32, ptr {code.put(f'getelementptr i32, ptr {table}, i64 {k}')}, align 4")
            move(code.put(f"zext i32 {entry} to i64"), k)

        self.count(len(s.entries), one)

    # -- evaluations of a map ----------------------------------------------------------------------------------------
    def repeat(self, s: Repeat) -> None:
        code = self.code
        if s.together > 1 and code.lanes == 1:
            self._repeat_at_once(s)
            return
        pairs = [(code.address(p), stride) for p, stride in (*s.inputs, *s.outputs)]
        work = code.offset("%w", s.work)

        def emit_again(k: str) -> None:
            moved = []
            for base, stride in pairs:
                moved.append(base if stride == 0 else code.offset(base, code.put(f"mul i64 {k}, {stride}")))
            code.call(s.routine.name, [*moved, work])

        self.count(s.count, emit_again)

    def _repeat_at_once(self, s: Repeat) -> None:
        """Arguments are put into vectors, results taken out; the last group may begin earlier."""
        code, fixed = self.code, fixed_arguments(s)
        sizes = (*s.routine.inputs, *s.routine.outputs)
        starts = np.cumsum([s.work, *(VECTOR * size for size in sizes)]).tolist()
        packed = [code.offset("%w", start) for start in starts]
        places = [(code.address(p), stride) for p, stride in (*s.inputs, *s.outputs)]
        for i in fixed:
            packed[i] = places[i][0]

        def group(k: str) -> None:
            late = code.put(f"icmp ugt i64 {k}, {s.count - VECTOR}")
            first = code.put(f"select i1 {late}, i64 {s.count - VECTOR}, i64 {k}")
            at = [self._copies(*place, first) for place in places]
            for i, size in enumerate(s.routine.inputs):
                if i not in fixed:
                    self.each(size, lambda e, i=i: self.put(packed[i], e, at[i]))  # type: ignore[misc]
            code.call(wide_name(s), packed)
            for i, size in enumerate(s.routine.outputs, len(s.inputs)):
                self.each(size, lambda e, i=i: self.take(packed[i], e, at[i]))  # type: ignore[misc]

        self.count(s.count, group, VECTOR)

    def _copies(self, base: str, stride: int, first: str) -> list[str]:
        """Addresses of the numbers of each evaluation of a group."""
        code = self.code
        start = code.offset(base, code.put(f"mul i64 {first}, {stride}"))
        return [code.offset(start, j * stride) for j in range(VECTOR)]

    def put(self, base: str, entry: int | str, places: Sequence[str]) -> None:
        """The numbers at an entry of these places, as one vector."""
        code, kind, vector = self.code, vector_type(len(places)), "undef"
        for j, place in enumerate(places):
            number = code.load(code.put(f"getelementptr double, ptr {place}, i64 {entry}"), 1)
            vector = code.put(f"insertelement {kind} {vector}, double {number}, i32 {j}")
        code.store(vector, code.put(f"getelementptr {kind}, ptr {base}, i64 {entry}"), len(places))

    def take(self, base: str, entry: int | str, places: Sequence[str]) -> None:
        code, kind = self.code, vector_type(len(places))
        vector = code.load(code.put(f"getelementptr {kind}, ptr {base}, i64 {entry}"), len(places))
        for j, place in enumerate(places):
            number = code.put(f"extractelement {kind} {vector}, i32 {j}")
            code.store(number, code.put(f"getelementptr double, ptr {place}, i64 {entry}"), 1)

    # -- products ----------------------------------------------------------------------------------------------------
    def product(self, s: DenseProduct) -> None:
        """out += x y; entries of a column of `out` in vectors, each summed in the order of the inner index."""
        code, several = self.code, self.several
        out, x, y, lanes = code.address(s.out), code.address(s.x), code.address(s.y), code.lanes

        def block(column: str, row: int | str, width: int) -> None:
            at = code.put(f"mul i64 {column}, {s.rows}")
            place = code.offset(out, code.put(f"add i64 {at}, {row}"))
            total = code.put(f"alloca {vector_type(width * lanes)}, align 64")
            code.store(code.load(place, width * lanes), total, width * lanes)
            above = code.put(f"mul i64 {column}, {s.inner}")

            def inner(r: str) -> None:
                left = code.put(f"mul i64 {r}, {s.rows}")
                a = code.load(code.offset(x, code.put(f"add i64 {left}, {row}")), width * lanes)
                b = code.spread(code.load(code.offset(y, code.put(f"add i64 {above}, {r}")), lanes), width)
                term = code.put(f"fmul {vector_type(width * lanes)} {a}, {b}")
                old = code.load(total, width * lanes)
                code.store(code.put(f"fadd {vector_type(width * lanes)} {old}, {term}"), total, width * lanes)

            self.count(s.inner, inner)
            code.store(code.load(total, width * lanes), place, width * lanes)

        def one_column(column: str) -> None:
            whole = s.rows - s.rows % several
            if whole:
                self.count(whole, lambda row: block(column, row, several), several)
            for row in range(whole, s.rows):
                block(column, row, 1)

        # memory of the sums is taken once, before the loops
        first = len(code.lines)
        self.count(s.columns, one_column)
        inside = [line for line in code.lines[first:] if " = alloca " in line]
        code.lines[first:] = [*inside, *(line for line in code.lines[first:] if " = alloca " not in line)]


def _form(s: Apply) -> Any:
    """The common form of statements for one shared function; None where a function saves nothing."""
    if s.count <= UNROLLED or len(s.steps) < SHARED:
        return None
    return s.steps, tuple(step for _, step in s.inputs), tuple(k for k, _ in s.outputs)
