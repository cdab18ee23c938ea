"""Observers and controllers as object files: read byte by byte for every processor, linked and run for this one."""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import Channels
from dalembert.expressions.machine_code import objects
from dalembert.expressions.machine_code.objects import TARGETS, emit_object
from dalembert.files.export.object_export import ObjectExport, export_object
from dalembert.loop.interfaces import Law
from tests.helpers.findings import raises
from tests.helpers.loops import CART_GAINS, CART_READS, gain_law, integral_law, predictor_law
from tests.helpers.repetitions import few

pytest.importorskip("llvmlite")

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")
LINUX = platform.system() == "Linux"
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler (cc, gcc or clang) on this machine")
A = np.array([[1.0, 0.1], [-0.2, 0.9]])
B = np.array([[0.0], [0.1]])
C = np.array([[1.0, 0.0]])
D = np.array([[0.0]])
L = np.array([[0.5], [0.3]])
K = np.array([[1.2, 0.8]])
MATHEMATICS = {"sin", "cos", "tan", "sqrt", "exp", "log", "floor", "ceil", "trunc", "pow", "atan2", "fabs", "sincos"}

ARM, X86_64, AARCH64, RISCV = 40, 62, 183, 243  # machine numbers of ELF
MACHINES = {  # bits, machine
    "x86-64": (64, X86_64), "aarch64": (64, AARCH64), "armv7": (32, ARM), "cortex-m4": (32, ARM),
    "cortex-m7": (32, ARM), "riscv32": (32, RISCV), "riscv64": (64, RISCV),
}  # fmt: skip


# --- what is exported -------------------------------------------------------------------------------------------------


def plant() -> da.StateSpace:
    return da.StateSpace(A, B, C, D, 0.1, states=["x", "v"], inputs=["u"], outputs=["y"], units={"y": "mm"})


def regulator() -> Any:
    return da.control.lqr(plant(), Q=1.0, R=0.1)


def output_feedback() -> Any:
    return da.control.OutputFeedback(regulator(), da.control.kalman_gain(plant(), Q=1e-2, R=1e-2))


def kalman() -> Any:
    return da.estimate.Kalman(plant(), Q=1e-3, R=1e-2, P0=1.0)


@lru_cache(maxsize=1)
def swinging() -> da.EquationsOfMotion:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(0.6))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, 0.3))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_sensor("encoder", da.angle("hinge"))
    return da.equations(m)


def extended_kalman() -> Any:
    return da.estimate.ExtendedKalman(swinging(), outputs=["encoder"], Q=1e-6, R=1e-4, P0=1e-2, dt=0.01)


STEPS: list[Callable[[], Any]] = [regulator, output_feedback, kalman, extended_kalman]
steps = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)


# --- a small reader of ELF --------------------------------------------------------------------------------------------


class Elf(NamedTuple):
    bits: int
    machine: int
    kind: int
    flags: int
    sections: dict[str, bytes]
    symbols: dict[str, tuple[int, int]]  # of global ones: type and section


def text_at(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def read_elf(data: bytes) -> Elf:
    assert data[:4] == b"\x7fELF" and data[5] == 1, "ELF, lower bytes first"
    wide = data[4] == 2
    kind, machine = struct.unpack_from("<2H", data, 16)
    start = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)[0]
    flags = struct.unpack_from("<I", data, 48 if wide else 36)[0]
    size, count, names = struct.unpack_from("<3H", data, 58 if wide else 46)
    rows = [struct.unpack_from("<2I4Q2I" if wide else "<8I", data, start + k * size) for k in range(count)]
    sections, symbols = {}, {}
    for name, section_kind, _, _, offset, length, link, _ in rows:
        sections[text_at(data, rows[names][4] + name)] = b"" if section_kind == 8 else data[offset : offset + length]
        if section_kind != 2:
            continue
        for at in range(offset, offset + length, 24 if wide else 16):
            if wide:
                label, info, _, section = struct.unpack_from("<I2BH", data, at)
            else:
                label, _, _, info, _, section = struct.unpack_from("<3I2BH", data, at)
            if info >> 4:  # not local
                symbols[text_at(data, rows[link][4] + label)] = (info & 15, section)
    return Elf(64 if wide else 32, machine, kind, flags, sections, symbols)


def arm_attributes(section: bytes) -> dict[int, int | str]:
    """Build attributes of the whole file (Arm IHI 0045, "Addenda to, and Errata in, the ABI")."""
    at = 1 + 4 + len(b"aeabi\0") + 1 + 4  # version, length, vendor, tag of the file, length
    found: dict[int, int | str] = {}
    while at < len(section):
        tag, at = section[at], at + 1
        if tag in (4, 5, 65, 67):  # texts
            found[tag] = text_at(section, at)
            at = section.index(b"\0", at) + 1
        else:
            assert section[at] < 128
            found[tag], at = section[at], at + 1
    return found


def object_of(export: ObjectExport) -> Elf:
    return read_elf((export.folder / f"{export.name}.o").read_bytes())


def is_run_time(name: str, target: str) -> bool:
    """A function of the compiler's run-time library for doubles in software."""
    return {"cortex-m4": name.startswith("__aeabi_d"), "riscv32": name.startswith("__") and "df" in name}.get(
        target, False
    )


# --- every processor --------------------------------------------------------------------------------------------------


@steps
@pytest.mark.parametrize("target", list(MACHINES))
def test_an_object_has_the_machine_the_functions_and_few_needs(
    tmp_path: Path, step: Callable[[], Any], target: str
) -> None:
    export = da.export_object(step(), tmp_path, target=target, name="loop1")
    found = object_of(export)
    assert (found.bits, found.machine) == MACHINES[target] and found.kind == 1  # relocatable
    exported = {name for name, (kind, section) in found.symbols.items() if section}
    wanted = {"loop1_init", "loop1_step"}
    header = (tmp_path / "loop1.h").read_text()
    wanted |= {"loop1_drive"} if "loop1_drive(" in header else set()
    assert exported == wanted
    assert all(found.symbols[name][0] == 2 for name in exported)  # functions
    needed = {name for name, (_, section) in found.symbols.items() if not section}
    assert needed == set(export.needs)
    assert all(name in MATHEMATICS or is_run_time(name, target) for name in needed), needed
    assert TARGETS[target].title in header
    readme = (tmp_path / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in needed)
    assert ("software" in readme) == ("software" in header) == (target in ("cortex-m4", "riscv32"))
    assert {path.name for path in export.files} == {"loop1.o", "loop1.h", "loop1_test.c", "README.md"}
    assert all(path.is_file() for path in export.files)


@pytest.mark.parametrize(
    ("target", "floating"), [("cortex-m4", 6), ("cortex-m7", 8), ("armv7", 4)]
)  # FPv4 and VFPv4-D16, FPv5-D16, VFPv3-D16
def test_objects_for_arm_pass_doubles_in_registers_of_doubles(tmp_path: Path, target: str, floating: int) -> None:
    export = export_object(extended_kalman(), tmp_path, target=target)
    found = arm_attributes(object_of(export).sections[".ARM.attributes"])
    assert found[28] == 1, "Tag_ABI_VFP_args"
    assert found[10] == floating, "Tag_FP_arch"
    assert found.get(27, 0) == (1 if target == "cortex-m4" else 0), "Tag_ABI_HardFP_use: single precision only"
    assert target == "armv7" or found[5] == target, "Tag_CPU_name"


def test_objects_for_risc_v_have_the_convention_of_the_target(tmp_path: Path) -> None:
    compressed, doubles = 1, 4
    small = object_of(export_object(kalman(), tmp_path / "32", target="riscv32"))
    large = object_of(export_object(kalman(), tmp_path / "64", target="riscv64"))
    assert (small.flags, large.flags) == (compressed, compressed | doubles)


def test_a_processor_with_doubles_needs_no_run_time_library(tmp_path: Path) -> None:
    export = export_object(extended_kalman(), tmp_path, target="cortex-m7")
    assert set(export.needs) <= {"sin", "cos"}
    assert "sqrt" not in export.needs


@pytest.mark.parametrize("target", few(list(TARGETS), 2))
def test_the_same_step_gives_the_same_bytes(tmp_path: Path, target: str) -> None:
    first = export_object(extended_kalman(), tmp_path / "1", target=target)
    second = export_object(extended_kalman(), tmp_path / "2", target=target)
    for one, other in zip(first.files, second.files, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_work_space_is_static_and_its_size_is_given(tmp_path: Path) -> None:
    export = export_object(kalman(), tmp_path, target="cortex-m7", name="k")
    data = (tmp_path / "k.o").read_bytes()
    found = objects._sections(data)
    writable = sum(s.size for s in found if s.flags & 1)
    assert export.work_bytes <= writable <= export.work_bytes + 64  # alignment
    assert export.memory_bytes == 8 * 5 and f"{export.work_bytes} bytes" in (tmp_path / "README.md").read_text()
    assert "ObjectExport('k' for cortex-m7" in repr(export)


# --- this machine -----------------------------------------------------------------------------------------------------


def run_test(export: ObjectExport) -> tuple[int, str]:
    """Exit code and output of the test program."""
    assert CC is not None
    program = [f"{export.name}_test.c", f"{export.name}.o", "-o", "check", "-lm"]
    subprocess.run([CC, *FLAGS, *program], cwd=export.folder, check=True)
    done = subprocess.run(["./check"], cwd=export.folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


HERE = ["native", *(["x86-64"] if LINUX and platform.machine() == "x86_64" else [])]
HERE += ["aarch64"] if LINUX and platform.machine() == "aarch64" else []


@needs_compiler
@steps
@pytest.mark.parametrize("target", HERE)
def test_an_object_for_this_machine_has_the_bits_of_the_reference(
    tmp_path: Path, step: Callable[[], Any], target: str
) -> None:
    code, text = run_test(export_object(step(), tmp_path, target=target))
    assert code == 0, text
    assert "12 steps, largest relative difference 0.00e+00" in text


@needs_compiler
def test_laws_with_and_without_memory_and_references_run(tmp_path: Path) -> None:
    predictor = predictor_law(A, B, C, D, L, K, 0.1, (0.1, 0.2), (["u"], ["y"]))
    for k, law in enumerate((integral_law(0.05), gain_law(CART_GAINS, CART_READS, ["force"], 0.02), predictor)):
        code, text = run_test(export_object(law, tmp_path / str(k)))
        assert code == 0 and "0.00e+00" in text, text
    assert "void lqg_drive(const lqg_state *state" in (tmp_path / "2" / "lqg.h").read_text()


@needs_compiler
def test_a_matrix_graph_that_has_no_flat_form_runs(tmp_path: Path) -> None:
    """A table and a switch: loops and 64-bit indices."""
    grid = np.linspace(-1, 1, 9)
    table = ca.interpolant("table", "linear", [grid.tolist()], np.sin(grid).tolist())
    x = ca.SX.sym("x", 12)
    switch = ca.Function.conditional("switch", [ca.Function("a", [x], [2 * x])], ca.Function("b", [x], [x - 1]))
    y, m, r = ca.MX.sym("y"), ca.MX.sym("m", 12), ca.MX.sym("r", 0)
    after = switch(y > 0, m) + table(y)
    function = ca.Function("law", [y, m, r, ca.MX.sym("q", 0), ca.MX.sym("t")], [ca.sum1(after), after])
    names = [f"m{i}" for i in range(12)]
    law = Law("graph", ("y",), ("u",), function, 0.1, state=Channels(names, [""] * 12), start=tuple(range(12)))
    code, text = run_test(export_object(law, tmp_path / "here"))
    assert code == 0 and "0.00e+00" in text, text
    for target in MACHINES:
        export = export_object(law, tmp_path / target, target=target)
        allowed = {"trunc", "__aeabi_d2lz", "__fixdfdi"}
        assert all(name in allowed or is_run_time(name, target) for name in export.needs), export.needs


@needs_compiler
def test_a_wrong_object_fails_its_test(tmp_path: Path) -> None:
    export = export_object(integral_law(0.05), tmp_path, name="pi")
    other = export_object(integral_law(0.051), tmp_path / "other", name="pi")
    shutil.copy(other.folder / "pi.o", export.folder / "pi.o")
    assert run_test(export)[0] == 1


@needs_compiler
def test_the_output_may_overlap_what_is_read(tmp_path: Path) -> None:
    x, m, r = ca.SX.sym("x", 2), ca.SX.sym("m", 0), ca.SX.sym("r", 0)
    swap = ca.Function("law", [x, m, r, ca.SX.sym("p", 0), ca.SX.sym("t")], [ca.vertcat(x[1], x[0]), m])
    export_object(Law("swap", ("a", "b"), ("u", "v"), swap, 0.1), tmp_path, name="swap")
    (tmp_path / "main.c").write_text(
        '#include "swap.h"\nint main(void) {\n  swap_state s;\n  double x[2] = {1, 2};\n  swap_init(&s);\n'
        "  swap_step(&s, x, 0, 0.0, x);\n  return !(x[0] == 2 && x[1] == 1);\n}\n"
    )
    assert CC is not None
    subprocess.run([CC, *FLAGS, "main.c", "swap.o", "-o", "check"], cwd=tmp_path, check=True)
    assert subprocess.run(["./check"], cwd=tmp_path, check=False).returncode == 0


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_mistakes_are_reported_before_a_file_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with raises(da.errors.DataError, "unknown-choice", "'z80'", *(repr(name) for name in TARGETS)):
        export_object(regulator(), folder, target="z80")
    with raises(da.errors.DataError, "bad-name"):
        export_object(regulator(), folder, name="1st")
    with raises(da.errors.ModelError, "wrong-type"):
        export_object(3.0, folder)
    x, p = ca.MX.sym("x"), ca.MX.sym("p")
    root = ca.rootfinder("root", "newton", ca.Function("f", [x, p], [x**3 - p]))
    y, m, r, q, t = ca.MX.sym("y"), ca.MX.sym("m", 0), ca.MX.sym("r", 0), ca.MX.sym("q", 0), ca.MX.sym("t")
    law = Law("root", ("y",), ("u",), ca.Function("law", [y, m, r, q, t], [root(1.0, y), m]), 0.1)
    with raises(da.errors.ModelError, "no-machine-code", "da.export_c"):
        export_object(law, folder)
    assert not folder.exists()


def test_without_llvm_the_error_names_the_package_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "llvm", lambda: None)
    with raises(da.errors.MissingExtraError, "missing-extra", "llvmlite", "da.export_c"):
        export_object(regulator(), tmp_path)


def test_a_processor_that_this_llvm_lacks_is_reported() -> None:
    x = ca.SX.sym("x")
    absent = objects.Processor("vax", "VAX", "vax-unknown-none-elf", "")
    with raises(da.errors.DataError, "not-supported", "VAX"):
        emit_object(ca.Function("f", [x], [x, x]), "f", absent, start=[0.0])


def test_help_and_reference_list_every_target() -> None:
    from dalembert.app.commands import export as command

    page = (Path(__file__).parents[4] / "docs" / "how-to" / "lqg.md").read_text("utf-8")
    source = Path(command.__file__).read_text("utf-8")
    for name in TARGETS:
        assert f'"{name}"' in str(export_object.__doc__) and f"| `{name}` |" in page and name in source
