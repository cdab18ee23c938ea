"""LLVM code of a program: one text for scalars, the same text with vectors for machines in lanes.

Every operation has the bits of CasADi's interpreter: no contraction, no reordering, the same functions of the system's
mathematical library. Straight code is cut into pieces, which pass values through the work array, so that the time to
compile grows with the size and the values of a piece stay in registers and in the first cache.

    loop(table, count)    table : pointers to arguments, results and work, then the stride of each argument and result
                          in numbers per lane; the routine is called `count` times, and each pointer moves by its stride

With lanes an array is (nonzeros, lanes), and there is another entry function,

    rows(table, count)    the routine is evaluated for `count` rows (at least as many as lanes) of arguments and results
                          as they are without lanes; numbers are put into lanes behind the work of the routine
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from dalembert.expressions.machine_code.llvm_functions import define_erfinv, define_table, literal
from dalembert.expressions.machine_code.llvm_loops import Loops, fixed_arguments, vector_type, wide_name
from dalembert.expressions.machine_code.program import (
    BINARY,
    VECTOR,
    Address,
    Apply,
    CallRoutine,
    Choose,
    Copy,
    DenseProduct,
    Gather,
    Interpolation,
    Program,
    Repeat,
    Routine,
    Statement,
    Straight,
    StraightCall,
    operations,
)
from dalembert.expressions.machine_code.sharing import find_writers

LONG = 1000  # lines of statements after which another piece begins
PIECE = 250  # instructions; the values of a longer piece leave the registers and the first cache

ARITHMETIC = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul", ca.OP_DIV: "fdiv"}
COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
# functions with an intrinsic that is a call of the system's library, or one exact instruction
INTRINSIC = operations("SQRT SIN COS TAN ASIN ACOS ATAN SINH COSH TANH EXP LOG FABS FLOOR CEIL POW ATAN2 COPYSIGN") | {
    ca.OP_CONSTPOW: "pow"
}
LIBRARY = operations("ASINH ACOSH ATANH ERF LOG1P EXPM1 HYPOT FMOD REMAINDER")


class LlvmCode:
    """Text of a program.  lanes : machines at once.  loop : with a function `loop`; its table has 64-bit addresses."""

    def __init__(self, program: Program, lanes: int = 1, *, loop: bool = True) -> None:
        self.program, self.lanes = program, lanes
        self.type = vector_type(lanes)
        self.text: list[str] = []
        self.declared: dict[str, str] = {}
        self.count = 0
        self.lines: list[str] = []
        for k, values in enumerate(program.constants):
            self.constant(f"c{k}", values)
        self.fixed: frozenset[int] = frozenset()  # arguments that are equal in all evaluations of a vector
        self.loops = Loops(self)
        statements = [s for r in program.routines if isinstance(r.body, tuple) for s in r.body]
        self.loops.define_shared(statements)
        repeats = [s for s in statements if isinstance(s, Repeat) and s.together > 1 and lanes == 1]
        wide = {wide_name(s): s for s in repeats}
        single = _find_called(program)
        for routine in program.routines:
            own = [s for s in wide.values() if s.routine is routine]
            for statement in own:
                self._wide(statement)
            if not own or routine.name in single:
                self._routine(routine)
        if loop:
            self._loop(program.main)
            if lanes > 1:
                self._rows(program.main)

    def source(self) -> str:
        return "\n".join([*self.declared.values(), *self.text])

    # -- pieces of text ----------------------------------------------------------------------------------------------
    def constant(self, name: str, values: Sequence[float], *, lanes: int | None = None) -> None:
        width = self.lanes if lanes is None else lanes
        items = ", ".join(f"double {literal(v)}" for v in values for _ in range(width))
        self.text.append(f"@{name} = internal constant [{len(values) * width} x double] [{items}], align 64")

    def put(self, code: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {code}")
        return name

    def splat(self, value: float, width: int) -> str:
        return literal(value) if width == 1 else f"splat (double {literal(value)})"

    def operation(self, op: int, x: str, y: str, width: int) -> str:
        """The value of a scalar operation on `width` numbers at once."""
        kind = vector_type(width)
        if op in ARITHMETIC:
            return self.put(f"{ARITHMETIC[op]} {kind} {x}, {y}")
        simple = {ca.OP_SQ: "fmul {0} {1}, {1}", ca.OP_TWICE: "fadd {0} {1}, {1}", ca.OP_NEG: "fneg {0} {1}"}.get(op)
        if simple is not None:
            return self.put(simple.format(kind, x))
        zero, one = self.splat(0.0, width), self.splat(1.0, width)
        if op == ca.OP_INV:
            return self.put(f"fdiv {kind} {one}, {x}")
        if op in INTRINSIC:
            return self._intrinsic(INTRINSIC[op], [x, y] if op in BINARY else [x], width)
        if op in LIBRARY or op == ca.OP_ERFINV:
            name = LIBRARY.get(op, "dalembert_erfinv")
            return self.each(name, [x, y] if op in BINARY else [x], width)
        if op in (ca.OP_ASSIGN, ca.OP_LIFT):
            return x

        def where(test: str, a: str, b: str, then: str, other: str) -> str:
            mask = "i1" if width == 1 else f"<{width} x i1>"
            found = self.put(f"fcmp {test} {kind} {a}, {b}")
            return self.put(f"select {mask} {found}, {kind} {then}, {kind} {other}")

        if op in COMPARISON:
            return where(COMPARISON[op], x, y, one, zero)
        if op == ca.OP_NOT:
            return where("oeq", x, zero, one, zero)
        if op in (ca.OP_AND, ca.OP_OR):
            right = where("une", y, zero, one, zero)
            return where("une", x, zero, *((right, zero) if op == ca.OP_AND else (one, right)))
        if op == ca.OP_IF_ELSE_ZERO:
            return where("une", x, zero, y, zero)
        if op == ca.OP_SIGN:
            return where("olt", x, zero, self.splat(-1.0, width), where("ogt", x, zero, one, x))
        if op in (ca.OP_FMAX, ca.OP_FMIN):  # of two equal numbers the first; a number rather than a NaN
            larger = where("ogt" if op == ca.OP_FMAX else "olt", y, x, y, x)
            return where("uno", x, x, y, larger)
        raise NotImplementedError(op)

    def _intrinsic(self, name: str, operands: list[str], width: int) -> str:
        kind = vector_type(width)
        full = f"llvm.{name}.{'' if width == 1 else f'v{width}'}f64"
        self.declared[full] = f"declare {kind} @{full}({', '.join([kind] * len(operands))})"
        return self.put(f"call {kind} @{full}({', '.join(f'{kind} {v}' for v in operands)})")

    def each(self, name: str, operands: list[str], width: int) -> str:
        """A function of the library, number by number."""
        if name == "dalembert_erfinv":
            define_erfinv(self)
        else:
            self.declared[name] = f"declare double @{name}({', '.join(['double'] * len(operands))})"
        if width == 1:
            return self.put(f"call double @{name}({', '.join(f'double {v}' for v in operands)})")
        kind, result = vector_type(width), "undef"
        for j in range(width):
            parts = [self.put(f"extractelement {kind} {v}, i32 {j}") for v in operands]
            value = self.put(f"call double @{name}({', '.join(f'double {v}' for v in parts)})")
            result = self.put(f"insertelement {kind} {result}, double {value}, i32 {j}")
        return result

    def address(self, place: Address) -> str:
        base = f"@c{place.which}" if place.base == "c" else "%w" if place.base == "w" else f"%{place.base}{place.which}"
        return self.offset(base, place.offset)

    def offset(self, base: str, entries: int | str) -> str:
        """Address of an entry, each of all lanes."""
        if entries == 0:
            return base
        return self.put(f"getelementptr {self.type}, ptr {base}, i64 {entries}")

    def load(self, base: str, width: int) -> str:
        return self.put(f"load {vector_type(width)}, ptr {base}, align 8")

    def store(self, value: str, base: str, width: int) -> None:
        self.lines.append(f"store {vector_type(width)} {value}, ptr {base}, align 8")

    def spread(self, value: str, several: int) -> str:
        """One number in every part of a vector."""
        if several == 1:
            return value
        kind = vector_type(several)
        first = self.put(f"insertelement {kind} undef, double {value}, i32 0")
        return self.put(f"shufflevector {kind} {first}, {kind} undef, <{several} x i32> zeroinitializer")

    def copy(self, out: str, source: str, count: int) -> None:
        self.loops.copy(out, source, count)

    def define(self, name: str, routine: Routine, lines: Sequence[str]) -> None:
        parameters = ", ".join(f"ptr noalias {p}" for p in pointers_of(routine))
        self.text += [f"define internal void @{name}({parameters}) noinline nounwind {{", *lines, "ret void", "}"]

    # -- routines ----------------------------------------------------------------------------------------------------
    def _routine(self, routine: Routine) -> None:
        self.lines = []
        if isinstance(routine.body, Straight):
            self._straight(routine, routine.body)
        elif isinstance(routine.body, Interpolation):
            define_table(self, routine, routine.body)
        else:
            self._statements(routine, routine.body)

    def _statements(self, routine: Routine, body: Sequence[Statement]) -> None:
        names: list[str] = []

        def cut() -> None:
            names.append(f"{routine.name}.{len(names)}")
            self.define(names[-1], routine, self.lines)
            self.lines = []

        for statement in body:
            self._statement(statement)
            if len(self.lines) > LONG:
                cut()
        if not names:
            self.define(routine.name, routine, self.lines)
            return
        cut()
        self._call_pieces(routine, names)

    def _call_pieces(self, routine: Routine, names: Sequence[str]) -> None:
        passed = ", ".join(f"ptr {p}" for p in pointers_of(routine))
        self.define(routine.name, routine, [f"call void @{name}({passed})" for name in names])

    def _straight(self, routine: Routine, code: Straight) -> None:
        count = len(code.operation)
        crossing = _crossing(code, PIECE)
        operations, outs = code.operation.tolist(), code.out.tolist()
        firsts, seconds = code.first.tolist(), code.second.tolist()
        constants = code.constant.tolist()
        literals: dict[int, str] = {}  # registers with a constant: known in every piece
        inputs: dict[int, tuple[int, int]] = {}  # registers with an input: read again where a piece needs it
        width, kind = self.lanes, self.type
        names: list[str] = []
        for start in range(0, max(count, 1), PIECE):
            self.lines = []
            values: dict[int, str] = {}

            lines = self.lines

            def value(register: int, values: dict[int, str] = values) -> str:
                """A register that this piece reads for the first time."""
                found = literals.get(register)
                if found is None:
                    place = inputs.get(register)
                    base = ("%w", register) if place is None else (f"%a{place[0]}", place[1])
                    if place is not None and place[0] in self.fixed:
                        number = self.load(self.put(f"getelementptr double, ptr {base[0]}, i64 {base[1]}"), 1)
                        found = self.spread(number, width)
                    else:
                        found = self.load(self.offset(*base), width)
                values[register] = found
                return found

            for k in range(start, min(start + PIECE, count)):
                op, out, first = operations[k], outs[k], firsts[k]
                if op == ca.OP_CONST:
                    inputs.pop(out, None)
                    literals[out] = values[out] = self.splat(constants[k], width)
                    continue
                if op == ca.OP_INPUT:
                    literals.pop(out, None)
                    inputs[out] = (first, seconds[k])
                    values.pop(out, None)
                    continue
                if op == ca.OP_CALL:
                    call = code.calls[k]
                    given = [values.get(r) or value(r) for r in call.inputs]
                    for register, result in self._inner_call(code, call, given):
                        literals.pop(register, None)
                        inputs.pop(register, None)
                        values[register] = result
                    continue
                x = values.get(first) or value(first)
                if op == ca.OP_OUTPUT:
                    self.store(x, self.offset(f"%r{out}", seconds[k]), width)
                    continue
                word = ARITHMETIC.get(op)
                if word is not None:  # most operations: written here, without a call
                    second = seconds[k]
                    y = values.get(second) or value(second)
                    self.count += 1
                    result = f"%v{self.count}"
                    lines.append(f"{result} = {word} {kind} {x}, {y}")
                else:
                    y = (values.get(seconds[k]) or value(seconds[k])) if op in BINARY else ""
                    result = self.operation(op, x, y, width)
                literals.pop(out, None)
                inputs.pop(out, None)
                values[out] = result
                if crossing[k]:
                    self.store(result, self.offset("%w", out), width)
            names.append(routine.name if count <= PIECE else f"{routine.name}.{len(names)}")
            self.define(names[-1], routine, self.lines)
        if count > PIECE:
            self._call_pieces(routine, names)

    def _inner_call(self, code: Straight, call: StraightCall, given: list[str]) -> list[tuple[int, str]]:
        """A call inside scalar code: its numbers are passed through the work array, above the registers."""
        starts = np.cumsum([code.registers, *call.routine.inputs, *call.routine.outputs]).tolist()
        for j, number in enumerate(given):
            self.store(number, self.offset("%w", code.registers + j), self.lanes)
        self.call(call.routine.name, [self.offset("%w", start) for start in starts])
        results = []
        for j, register in enumerate(call.outputs):
            if register >= 0:
                number = self.load(self.offset("%w", code.registers + len(given) + j), self.lanes)
                self.store(number, self.offset("%w", register), self.lanes)
                results.append((register, number))
        return results

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Apply):
            self.loops.apply(statement)
        elif isinstance(statement, Copy):
            self.copy(self.address(statement.out), self.address(statement.source), statement.count)
        elif isinstance(statement, Gather):
            self.loops.gather(statement)
        elif isinstance(statement, DenseProduct):
            self.loops.product(statement)
        elif isinstance(statement, CallRoutine):
            places = [self.address(p) for p in (*statement.inputs, *statement.outputs)]
            self.call(statement.routine.name, [*places, self.offset("%w", statement.work)])
        elif isinstance(statement, Repeat):
            self.loops.repeat(statement)
        else:
            self._choose(statement)

    def _wide(self, s: Repeat) -> None:
        """Straight code that takes vectors of evaluations."""
        assert isinstance(s.routine.body, Straight)
        self.lanes, self.type, self.fixed = VECTOR, vector_type(VECTOR), fixed_arguments(s)
        self._straight(replace(s.routine, name=wide_name(s)), s.routine.body)
        self.lanes, self.type, self.fixed = 1, vector_type(1), frozenset()

    def call(self, name: str, addresses: Sequence[str]) -> None:
        self.lines.append(f"call void @{name}({', '.join(f'ptr {a}' for a in addresses)})")

    # -- choices -----------------------------------------------------------------------------------------------------
    def _choose(self, s: Choose) -> None:
        """One case is called; with lanes every case that some lane needs, on all lanes; each lane selects its own."""
        index = self.load(self.address(s.index), self.lanes)
        inputs, outputs = [self.address(p) for p in s.inputs], [self.address(p) for p in s.outputs]
        work = self.offset("%w", s.work)
        if self.lanes == 1:
            self._choose_one(s, index, [*inputs, *outputs, work])
            return
        sizes = s.cases[-1].outputs
        total = sum(sizes)
        kind, mask = self.type, f"<{self.lanes} x i1>"
        held = self.put(f"alloca [{max(total, 1)} x {kind}], align 64")
        starts = np.cumsum([0, *sizes]).tolist()
        own = [self.offset(held, start) for start in starts[:-1]]
        targets = [[self.offset(out, j) for j in range(size)] for out, size in zip(outputs, sizes, strict=True)]
        last = len(s.cases) - 1
        known, whole = self.splat(0.0, self.lanes), self._whole(index)
        self.count += 1
        n = self.count
        for k, case in enumerate(s.cases):
            if k < last:
                chosen = self.put(f"fcmp oeq {kind} {whole}, {self.splat(float(k), self.lanes)}")
                one = self.put(f"select {mask} {chosen}, {kind} {self.splat(1.0, self.lanes)}, {kind} {known}")
                known = one
            else:
                chosen = self.put(f"fcmp oeq {kind} {known}, {self.splat(0.0, self.lanes)}")
            bits = self.put(f"bitcast {mask} {chosen} to i{self.lanes}")
            some = self.put(f"icmp ne i{self.lanes} {bits}, 0")
            self.lines += [f"br i1 {some}, label %case{n}.{k}, label %other{n}.{k}", f"case{n}.{k}:"]
            self.call(case.name, [*inputs, *own, work])
            for source, places in zip(own, targets, strict=True):
                for j, place in enumerate(places):
                    new, old = self.load(self.offset(source, j), self.lanes), self.load(place, self.lanes)
                    self.store(self.put(f"select {mask} {chosen}, {kind} {new}, {kind} {old}"), place, self.lanes)
            self.lines += [f"br label %other{n}.{k}", f"other{n}.{k}:"]

    def _whole(self, index: str) -> str:
        """The index as a whole number towards zero, as the interpreter converts it."""
        full = f"llvm.trunc.{'' if self.lanes == 1 else f'v{self.lanes}'}f64"
        self.declared[full] = f"declare {self.type} @{full}({self.type})"
        return self.put(f"call {self.type} @{full}({self.type} {index})")

    def _choose_one(self, s: Choose, index: str, addresses: list[str]) -> None:
        self.count += 1
        n = self.count
        last = len(s.cases) - 1
        whole = self._whole(index)
        for k in range(last):
            test = self.put(f"fcmp oeq double {whole}, {literal(float(k))}")
            self.lines += [f"br i1 {test}, label %case{n}.{k}, label %other{n}.{k}", f"case{n}.{k}:"]
            self.call(s.cases[k].name, addresses)
            self.lines += [f"br label %chosen{n}", f"other{n}.{k}:"]
        self.call(s.cases[last].name, addresses)
        self.lines += [f"br label %chosen{n}", f"chosen{n}:"]

    # -- the entry ---------------------------------------------------------------------------------------------------
    def _table(self, main: Routine) -> tuple[list[str], list[str]]:
        """Addresses and strides."""
        pointers = len(main.inputs) + len(main.outputs)
        self.lines = []

        def field(k: int, kind: str) -> str:
            return self.put(f"load {kind}, ptr {self.put(f'getelementptr i64, ptr %table, i64 {k}')}, align 8")

        return [field(k, "ptr") for k in range(pointers + 1)], [field(pointers + 1 + k, "i64") for k in range(pointers)]

    def _loop(self, main: Routine) -> None:
        bases, strides = self._table(main)

        def once(k: str) -> None:
            moved = [
                self.offset(base, self.put(f"mul i64 {k}, {stride}"))
                for base, stride in zip(bases[:-1], strides, strict=True)
            ]
            self.call(main.name, [*moved, bases[-1]])

        self.loops.count("%count", once)
        self.text += ["define void @loop(ptr %table, i64 %count) {", *self.lines, "ret void", "}"]

    def _rows(self, main: Routine) -> None:
        """The last group begins earlier if the count is no multiple of the lanes; shared arguments are put in once."""
        (*bases, work), strides = self._table(main)
        sizes, loops = (*main.inputs, *main.outputs), self.loops
        starts = np.cumsum([max(main.work, 1), *sizes]).tolist()
        packed = [self.offset(work, start) for start in starts[:-1]]
        last = self.put(f"sub i64 %count, {self.lanes}")

        def places(i: int, first: str) -> list[str]:
            rows = [first, *(self.put(f"add i64 {first}, {j}") for j in range(1, self.lanes))]
            at = [self.put(f"mul i64 {row}, {strides[i]}") for row in rows]
            return [self.put(f"getelementptr double, ptr {bases[i]}, i64 {x}") for x in at]

        def group(k: str) -> None:
            late, begins = self.put(f"icmp ugt i64 {k}, {last}"), self.put(f"icmp eq i64 {k}, 0")
            first = self.put(f"select i1 {late}, i64 {last}, i64 {k}")
            for i, size in enumerate(main.inputs):
                moves = self.put(f"icmp ne i64 {strides[i]}, 0")
                wanted = self.put(f"or i1 {moves}, {begins}")
                self.count += 1
                n = self.count
                self.lines += [f"br i1 {wanted}, label %fill{n}, label %full{n}", f"fill{n}:"]
                at = places(i, first)
                loops.each(size, lambda e, i=i, at=at: loops.put(packed[i], e, at))  # type: ignore[misc]
                self.lines += [f"br label %full{n}", f"full{n}:"]
            self.call(main.name, [*packed, work])
            for i, size in enumerate(main.outputs, len(main.inputs)):
                at = places(i, first)
                loops.each(size, lambda e, i=i, at=at: loops.take(packed[i], e, at))  # type: ignore[misc]

        loops.count("%count", group, self.lanes)
        self.text += ["define void @rows(ptr %table, i64 %count) {", *self.lines, "ret void", "}"]


def _find_called(program: Program) -> set[str]:
    """Routines that are called one evaluation at a time."""
    called = {program.main.name}
    for routine in program.routines:
        body = routine.body
        if isinstance(body, Straight):
            called |= {call.routine.name for call in body.calls.values()}
        for s in body if isinstance(body, tuple) else ():
            if isinstance(s, CallRoutine) or (isinstance(s, Repeat) and s.together == 1):
                called.add(s.routine.name)
            elif isinstance(s, Choose):
                called |= {case.name for case in s.cases}
    return called


def pointers_of(routine: Routine) -> list[str]:
    return [f"%a{i}" for i in range(len(routine.inputs))] + [f"%r{i}" for i in range(len(routine.outputs))] + ["%w"]


def _crossing(code: Straight, piece: int) -> list[bool]:
    """For every instruction, whether a later piece reads its result from the work array."""
    count = len(code.operation)
    crossing = np.zeros(count, dtype=bool)
    if count <= piece:
        return crossing.tolist()
    op, steps = code.operation, np.arange(count)
    one = steps[~np.isin(op, (ca.OP_CONST, ca.OP_INPUT, ca.OP_CALL))]
    two = steps[np.isin(op, tuple(BINARY))]
    passed = [(k, register) for k, call in code.calls.items() for register in call.inputs]
    at = np.concatenate([one, two, np.array([k for k, _ in passed], dtype=np.int64)])
    registers = [code.first[one], code.second[two], np.array([register for _, register in passed], dtype=np.int64)]
    source = find_writers(code, at, np.concatenate(registers))
    made = (source >= 0) & ~np.isin(op[source], (ca.OP_CONST, ca.OP_INPUT, ca.OP_CALL))  # results of calls are there
    crossing[source[made & (source // piece != at // piece)]] = True
    return crossing.tolist()
