"""Object files of a step for other processors, emitted by LLVM: no compiler.

A step is a function (state, inputs...) -> (state after, output). Its object exports three C functions:

    void NAME_init(double *state)                                  the state before the first step
    int  NAME_step(double *state, inputs..., double *output)       one step, always 0
    void NAME_drive(const double *state, inputs..., double *output)  the output alone, on request

An input is a pointer to doubles, or one double by value. Work arrays are static memory of the object. A step reads its
inputs and the old state to the end before it writes the new state and the output, which may therefore overlap inputs.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.core.arguments import one_of
from dalembert.core.errors import DataError, MissingExtraError
from dalembert.core.findings import Advice, Call
from dalembert.expressions.machine_code.llvm_code import LlvmCode
from dalembert.expressions.machine_code.llvm_functions import literal
from dalembert.expressions.machine_code.native import _lock, llvm
from dalembert.expressions.machine_code.program import Routine
from dalembert.expressions.machine_code.reader import read

if TYPE_CHECKING:
    from llvmlite import binding  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Processor:
    """A processor and its calling convention.

    triple : as LLVM writes it, in four parts (with three, "eabihf" is read as a system, and floats are in software);
    empty for this machine. Systems with "musl" rather than "gnu": only functions of the C standard are called.
    features : extensions that the processor must have.  abi : name of the convention where the triple does not fix it.
    relocation : "pic" where programs may be loaded anywhere.  hardware_doubles : whether instructions compute them.
    compiler : a C compiler with the options that fit.
    """

    name: str
    title: str
    triple: str
    cpu: str
    features: str = ""
    abi: str = ""
    relocation: str = "static"
    hardware_doubles: bool = True
    compiler: str = "cc"


_CORTEX = "arm-none-eabi-gcc -mthumb -mfloat-abi=hard"
TARGETS = {
    target.name: target
    for target in (
        Processor("native", "this machine", "", "", relocation="pic"),
        Processor(
            "x86-64", "x86-64 (System V convention, SSE2)", "x86_64-unknown-linux-musl", "x86-64", relocation="pic",
            compiler="x86_64-linux-gnu-gcc",
        ),
        Processor(
            "aarch64", "Arm 64 bits (Armv8-A)", "aarch64-unknown-linux-musl", "generic", relocation="pic",
            compiler="aarch64-linux-gnu-gcc",
        ),
        Processor(
            "armv7", "Arm 32 bits (Armv7-A, hard-float convention, VFPv3-D16)", "armv7-unknown-linux-musleabihf",
            "generic", "+vfp3d16,-neon,-d32", relocation="pic", compiler="arm-linux-gnueabihf-gcc",
        ),
        Processor(
            "cortex-m4", "Arm Cortex-M4F (hard-float convention, FPv4-SP)", "thumbv7em-unknown-none-eabihf",
            "cortex-m4", hardware_doubles=False, compiler=f"{_CORTEX} -mcpu=cortex-m4 -mfpu=fpv4-sp-d16",
        ),
        Processor(
            "cortex-m7", "Arm Cortex-M7 (hard-float convention, FPv5-D16)", "thumbv7em-unknown-none-eabihf",
            "cortex-m7", compiler=f"{_CORTEX} -mcpu=cortex-m7 -mfpu=fpv5-d16",
        ),
        Processor(
            "riscv32", "RISC-V RV32IMAC (convention ilp32)", "riscv32-unknown-none-elf", "generic-rv32", "+m,+a,+c",
            "ilp32", hardware_doubles=False, compiler="riscv32-unknown-elf-gcc -march=rv32imac -mabi=ilp32",
        ),
        Processor(
            "riscv64", "RISC-V RV64GC (convention lp64d)", "riscv64-unknown-linux-musl", "generic-rv64",
            "+m,+a,+f,+d,+c", "lp64d", relocation="pic", compiler="riscv64-linux-gnu-gcc -march=rv64gc -mabi=lp64d",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class ObjectCode:
    """An object file.

    needs : functions it takes from the libraries of the target.  code_bytes : code and constants.
    static_bytes : work space.
    """

    data: bytes
    needs: tuple[str, ...]
    code_bytes: int
    static_bytes: int


def find_target(name: object) -> Processor:
    return TARGETS[one_of("target", name, list(TARGETS))]


def emit_object(
    function: ca.Function,
    name: str,
    target: Processor,
    *,
    start: Sequence[float],
    scalars: Collection[int] = (),
    drive: Sequence[int] | None = None,
) -> ObjectCode:
    """Object file of a step; raises `Untranslatable` where a part of it runs on the interpreter only.

    function : (state, inputs...) -> (state after, output), all dense.  name : prefix of the C functions.
    start : state before the first step.  scalars : inputs given by value.  drive : inputs of NAME_drive, if it is
    wanted; its output must not depend on the others.
    """
    library = _library()
    program = read(function)
    code = LlvmCode(program, loop=False)
    doors = _Doors(code, program.main, name, frozenset(scalars))
    doors.init(start)
    doors.step()
    if drive is not None:
        doors.drive(drive)
    with _lock:
        machine = _machine(library, target)
        module = library.parse_assembly(code.source())
        try:
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            data = machine.emit_object(module)
        finally:
            module.close()
    # object files other than ELF: all functions that the text declares
    declared = [key for key in code.declared if not key.startswith(("llvm.", "dalembert_"))]
    needs = undefined_symbols(data) if _is_elf(data) else declared
    size = _read_only_bytes(data) if _is_elf(data) else len(data)
    return ObjectCode(data, tuple(sorted(needs)), size, 8 * doors.static)


# -- LLVM ------------------------------------------------------------------------------------------------------------
def _library() -> Any:
    library = llvm()
    if library is None:
        raise MissingExtraError(
            "missing-extra",
            "an object file is made by LLVM, and the package llvmlite cannot be imported.",
            Advice("Run: pip install llvmlite"),
            Advice("Or write C with {}.", Call("da.export_c")),
        )
    return library


def _machine(library: Any, target: Processor) -> binding.TargetMachine:
    cpu, features = target.cpu, target.features
    if target.triple:
        library.initialize_all_targets()
        library.initialize_all_asmprinters()
    else:
        cpu, features = library.get_host_cpu_name(), library.get_host_cpu_features().flatten()
    try:
        found = library.Target.from_triple(target.triple or library.get_default_triple())
    except RuntimeError:
        raise DataError(
            "not-supported",
            f"the LLVM library of this installation has no code for {target.title}.",
            Advice("Write C with {}.", Call("da.export_c")),
            where={"argument": "target"},
        ) from None
    return found.create_target_machine(
        cpu=cpu, features=features, opt=2, reloc=target.relocation, codemodel="default", abiname=target.abi
    )


# -- C functions -----------------------------------------------------------------------------------------------------
class _Doors:
    """C functions around the main routine.  static : numbers of static memory taken so far."""

    def __init__(self, code: LlvmCode, main: Routine, name: str, scalars: frozenset[int]) -> None:
        self.code, self.main, self.name, self.scalars = code, main, name, scalars
        self.static = 0
        self.after, self.output = self._array("after", main.outputs[0]), self._array("output", main.outputs[1])
        self.work = self._array("work", main.work)
        self.values = {i: self._array(f"value{i}", 1) for i in sorted(scalars)}

    def _array(self, name: str, size: int) -> str:
        self.static += max(size, 1)
        self.code.text.append(f"@{name} = internal global [{max(size, 1)} x double] zeroinitializer, align 8")
        return f"@{name}"

    def _define(self, kind: str, door: str, inputs: Sequence[int], *, output: bool, result: str) -> None:
        parameters = ["ptr %state", *(f"{'double' if i in self.scalars else 'ptr'} %x{i}" for i in inputs)]
        parameters += ["ptr %output"] * output
        head = f"define {kind} @{self.name}_{door}({', '.join(parameters)}) nounwind {{"
        self.code.text += [head, *self.code.lines, result, "}"]
        self.code.lines = []

    def init(self, start: Sequence[float]) -> None:
        self.code.lines = []
        if len(start):
            items = ", ".join(f"double {literal(float(v))}" for v in start)
            self.code.text.append(f"@start = internal constant [{len(start)} x double] [{items}], align 8")
            self.code.copy("%state", "@start", len(start))
        else:  # C has no empty arrays: a state without memory has one number
            self.code.store(literal(0.0), "%state", 1)
        self._define("void", "init", [], output=False, result="ret void")

    def step(self) -> None:
        inputs = range(1, len(self.main.inputs))
        self._evaluate(inputs)
        self.code.copy("%state", self.after, self.main.outputs[0])
        self._define("i32", "step", inputs, output=True, result="ret i32 0")

    def drive(self, inputs: Sequence[int]) -> None:
        missing = max((n for i, n in enumerate(self.main.inputs) if i not in (0, *inputs)), default=0)
        self._evaluate(inputs, self._array("nothing", missing))
        self._define("void", "drive", inputs, output=True, result="ret void")

    def _evaluate(self, inputs: Collection[int], missing: str = "") -> None:
        self.code.lines = []
        pointers = ["%state"]
        for i in range(1, len(self.main.inputs)):
            if i not in inputs:
                pointers.append(missing)
            elif i in self.scalars:
                self.code.store(f"%x{i}", self.values[i], 1)
                pointers.append(self.values[i])
            else:
                pointers.append(f"%x{i}")
        passed = ", ".join(f"ptr {p}" for p in (*pointers, self.after, self.output, self.work))
        self.code.lines.append(f"call void @{self.main.name}({passed})")
        self.code.copy("%output", self.output, self.main.outputs[1])


# -- object files in ELF, lower bytes first --------------------------------------------------------------------------
_SYMBOLS, _WRITABLE, _LOADED = 2, 1, 2  # SHT_SYMTAB, SHF_WRITE, SHF_ALLOC


@dataclass(frozen=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int


def _is_elf(data: bytes) -> bool:
    return data[:4] == b"\x7fELF" and data[5] == 1


def _sections(data: bytes) -> list[_Section]:
    wide = data[4] == 2
    start = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)[0]
    size, count = struct.unpack_from("<2H", data, 58 if wide else 46)
    layout = "<2I4Q2I" if wide else "<8I"  # name, kind, flags, address, offset, size, link, info
    rows = (struct.unpack_from(layout, data, start + k * size) for k in range(count))
    return [_Section(row[1], row[2], row[4], row[5], row[6]) for row in rows]


def undefined_symbols(data: bytes) -> list[str]:
    """Names that an ELF object takes from elsewhere."""
    return [name for name, section in _symbols(data) if section == 0 and name]


def _symbols(data: bytes) -> Iterator[tuple[str, int]]:
    """Name and section of every symbol."""
    wide, sections = data[4] == 2, _sections(data)
    layout, size = ("<I2BH2Q", 24) if wide else ("<3I2BH", 16)
    for table in (s for s in sections if s.kind == _SYMBOLS):
        names = sections[table.link].offset
        for at in range(table.offset, table.offset + table.size, size):
            row = struct.unpack_from(layout, data, at)
            begin = names + row[0]
            yield data[begin : data.index(b"\0", begin)].decode("ascii"), row[3] if wide else row[5]


def _read_only_bytes(data: bytes) -> int:
    return sum(s.size for s in _sections(data) if s.flags & _LOADED and not s.flags & _WRITABLE)
