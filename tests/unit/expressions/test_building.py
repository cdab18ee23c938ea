"""The C build and its cache: what is used, what is never loaded, what happens without a compiler."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DalembertWarning
from dalembert.expressions import Kernel, building
from tests.helpers.findings import warns

needs_compiler = pytest.mark.skipif(building.compiler() is None, reason="no C compiler on this machine")
needs_rights = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no POSIX rights on this machine")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "deep" / "cache"
    monkeypatch.setenv("DALEMBERT_CACHE", str(folder))
    return folder


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    building.compiler.cache_clear()
    yield
    building.compiler.cache_clear()


def function(factor: float = 2.0) -> ca.Function:
    x = ca.SX.sym("x", 2)
    return ca.Function("square", [x], [factor * x**2])


def check(kernel: Kernel, factor: float = 2.0) -> None:
    np.testing.assert_allclose(kernel([1.0, 3.0])[0], [factor, 9 * factor], rtol=1e-15)


@needs_compiler
def test_a_build_is_used_by_the_next_kernel_without_the_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Kernel(function()).engine == "virtual machine"
    check(Kernel(function(), compiled=True))
    monkeypatch.setattr(building, "_compile", lambda *_: pytest.fail("compiled again"))
    for compiled in (False, True):
        kernel = Kernel(function(), compiled=compiled)
        assert kernel.engine == "C"
        check(kernel)


@needs_compiler
def test_other_content_is_not_taken_from_the_cache(cache: Path) -> None:
    check(Kernel(function(2.0), compiled=True))
    other = Kernel(function(3.0))
    assert other.engine == "virtual machine"
    check(other, 3.0)


@needs_compiler
@pytest.mark.parametrize("broken", ["so", "sha256"])
@pytest.mark.parametrize("how", ["damaged", "emptied", "missing"])
def test_a_build_that_is_not_the_sealed_one_is_never_loaded(cache: Path, broken: str, how: str) -> None:
    Kernel(function(), compiled=True)
    (path,) = cache.glob(f"*.{broken}")
    if how == "missing":
        path.unlink()
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.unlink()  # the loaded library keeps its file
        path.write_bytes(bytes(content) if how == "damaged" else b"")
    kernel = Kernel(function())
    assert kernel.engine == "virtual machine"
    check(kernel)
    again = Kernel(function(), compiled=True)  # builds anew
    assert again.engine == "C"
    check(again)


@needs_compiler
def test_a_foreign_library_under_our_name_is_never_loaded(cache: Path) -> None:
    Kernel(function(2.0), compiled=True)
    Kernel(function(3.0), compiled=True)
    first, second = sorted(cache.glob("*.so"))
    content = second.read_bytes()
    first.unlink()
    first.write_bytes(content)
    engines = sorted(Kernel(function(factor)).engine for factor in (2.0, 3.0))
    assert engines == ["C", "virtual machine"]
    for factor in (2.0, 3.0):
        check(Kernel(function(factor)), factor)


@needs_rights
def test_the_cache_folder_is_private(cache: Path) -> None:
    assert building.cache_folder() == cache
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


@needs_rights
@needs_compiler
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_others_can_write_to_is_refused(cache: Path, mode: int) -> None:
    Kernel(function(), compiled=True)
    cache.chmod(mode)
    assert building.cache_folder() is None
    assert Kernel(function()).engine == "virtual machine"
    check(Kernel(function(), compiled=True))  # builds in a private folder of this process
    assert "no private folder" in da.doctor()


@needs_rights
def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "file" / "cache"))
    assert building.cache_folder() is None
    check(Kernel(function()))


def test_without_a_compiler_it_runs_on_the_virtual_machine_and_says_so(cache: Path, no_compiler: None) -> None:
    with warns(DalembertWarning, "slow-engine", "da.doctor"):
        kernel = Kernel(function(), compiled=True)
    assert kernel.engine == "virtual machine"
    check(kernel)
    assert "C compiler: none" in da.doctor()
    assert "virtual machine" in da.doctor()


def test_compiled_equations_without_a_compiler_still_run(cache: Path, no_compiler: None) -> None:
    m = da.Mechanism("pendulum", planar=True)
    m.add_revolute("hinge", m.ground.at(0, 0), m.add_body("rod", mass=1.0, inertia=da.rod(1.0)).at(-0.5, 0))
    eqs = da.equations(m)
    plain = da.simulate(eqs, 0.1, method=da.RK4(1e-2))
    with warns(DalembertWarning, "slow-engine", "da.doctor"):
        run = da.simulate(eqs.compiled(), 0.1, method=da.RK4(1e-2))
    np.testing.assert_array_equal(run["hinge.angle"], plain["hinge.angle"])
    assert run.statistics["engine"] == "virtual machine"


def test_a_compiler_that_fails_is_reported_and_done_without(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "cc-broken"
    tool.write_text("#!/bin/sh\necho 'no space on device' >&2\nexit 1\n")
    tool.chmod(0o700)
    monkeypatch.setenv("CC", str(tool))
    building.compiler.cache_clear()
    try:
        with warns(DalembertWarning, "slow-engine", "no space on device"):
            kernel = Kernel(function(), compiled=True)
    finally:
        building.compiler.cache_clear()
    assert kernel.engine == "virtual machine"
    check(kernel)
    assert not list(cache.glob("*.so"))


def test_a_library_that_cannot_be_loaded_is_done_without_and_said_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that writes junk; a folder that may not hold programs (noexec) fails in the same call."""
    tool = tmp_path / "cc-junk"
    tool.write_text("#!/bin/sh\necho junk > kernel.so\n")
    tool.chmod(0o700)
    monkeypatch.setenv("CC", str(tool))
    monkeypatch.setattr(building, "_unloadable", [])
    building.compiler.cache_clear()
    try:
        with warns(DalembertWarning, "slow-engine", "DALEMBERT_CACHE") as said:
            for compiled in (True, True, False):  # what is left in the cache is not tried again
                kernel = Kernel(function(), compiled=compiled)
                assert kernel.engine == "virtual machine"
                check(kernel)
    finally:
        building.compiler.cache_clear()
    assert len(said) == 1
    assert not list(cache.glob("*.sha256"))


@needs_compiler
def test_the_doctor_counts_builds_and_names_the_compiler(cache: Path) -> None:
    assert "(0 builds)" in da.doctor()
    Kernel(function(), compiled=True)
    report = da.doctor()
    assert "(1 builds)" in report
    assert str(building.compiler()) in report
    assert str(cache) in report


BUILD = """
import casadi as ca
from dalembert.expressions import Kernel
x = ca.SX.sym("x", 16)
kernel = Kernel(ca.Function("busy", [x], [ca.jacobian(ca.sin(x @ x.T), x)]), compiled=True)
print(kernel.engine, float(kernel(range(16))[0].sum()))
"""


@needs_compiler
def test_processes_that_build_the_same_at_once_agree(cache: Path) -> None:
    command = [sys.executable, "-c", BUILD]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = {process.communicate(timeout=120)[0].strip() for process in running}
    assert len(answers) == 1
    assert answers.pop().startswith("C ")
    assert len(list(cache.glob("*.sha256"))) == 1
    assert [path for path in cache.iterdir() if path.is_dir()] == []


@needs_compiler
def test_compiled_equations_agree_with_interpreted_ones(cache: Path) -> None:
    m = da.Mechanism("chain")
    place = m.ground.at(0, 0, 0)
    for k in range(3):
        body = m.add_body(f"b{k}", mass=1.0, inertia=da.box(1.0, 0.2, 0.1))
        m.add_revolute(f"j{k}", place, body.at(-0.5, 0, 0), axis=(0, 1, 0) if k % 2 else (0, 0, 1))
        place = body.at(0.5, 0, 0)
    eqs = da.equations(m)
    state = da.assemble(eqs, {"j0": 0.3, "j1": 0.2, "j2": -0.4}, velocity={"j0": 1.0})
    zero = np.zeros(0)
    for name, args in (
        ("rows", (state.q, state.v, zero, zero, eqs.p, 0.0)),
        ("measures", (state.q, state.v, eqs.p, 0.0)),
        ("forces", (state.q, state.v, zero, zero, eqs.p, 0.0, state.lam)),
    ):
        kernel = eqs.compiled().kernel(name)
        assert kernel.engine == "C"
        for ours, theirs in zip(kernel(*args), eqs.kernel(name)(*args), strict=True):
            # sums of up to about ten products of size ten at most: rounding of the compiler's contractions
            np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)
