"""The C build of native functions and its cache.

A build is named by the content of its functions and sealed by the hash of the library: a library that is not the
one its seal names is never loaded, nor is anything from a folder that somebody else could write to.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import casadi as ca
import numpy as np

from dalembert.core.errors import DalembertWarning
from dalembert.core.findings import Advice, Call

FLAGS = ("-O1", "-fPIC", "-shared")
CACHE_LOOKUP_LIMIT = 100_000  # instructions; above it looking for a cached build costs more than it may save
CACHE_LOOKUP_CHARACTERS = 20_000_000

_unloadable: list[str] = []  # builds of this process that could not be loaded: it stays with the virtual machine


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """Path of the C compiler in use, or None. The environment variable ``CC`` is honoured."""
    for candidate in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if candidate and (found := shutil.which(candidate)):
            return found
    return None


def cache_folder() -> Path | None:
    """Private per-user folder of compiled kernels, or None where none can be made safely."""
    try:
        base = os.environ.get("DALEMBERT_CACHE")
        if not base:
            root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
            base = str(Path(root) / "dalembert")
        folder = Path(base)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None  # somebody else could put code there
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


@lru_cache(maxsize=1)
def _folder_of_this_process() -> Path:
    """Where builds go when there is no cache; removed at exit."""
    folder = tempfile.mkdtemp(prefix="dalembert-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def content_key(functions: Sequence[ca.Function]) -> str:
    """Equal keys mean equal machine code: the functions, CasADi, the flags and the kind of machine."""
    digest = hashlib.sha256()
    machine = os.uname().machine if hasattr(os, "uname") else ""
    digest.update(repr((ca.__version__, FLAGS, sys.platform, machine)).encode())
    for function in functions:
        digest.update(function.serialize().encode())
    return digest.hexdigest()


def _library(folder: Path, key: str, digest: str) -> Path:
    """The library's name holds its own hash, so that two processes that build at once cannot mix their files."""
    return folder / f"{key}.{digest[:16]}.so"


def _load(folder: Path, key: str, names: Sequence[str]) -> list[ca.Function] | None:
    try:
        digest = (folder / f"{key}.sha256").read_text(encoding="ascii")
        library = _library(folder, key, digest)
        if digest != hashlib.sha256(library.read_bytes()).hexdigest():
            return None  # a broken or foreign file is never loaded
    except (OSError, ValueError):
        return None
    try:
        return [ca.external(name, str(library)) for name in names]
    except RuntimeError:  # a folder mounted noexec, or a compiler that writes something else
        (folder / f"{key}.sha256").unlink(missing_ok=True)
        if not _unloadable:
            warnings.warn(
                DalembertWarning(
                    "slow-engine",
                    f"a compiled library could not be loaded from {folder}: expressions are interpreted.",
                    Advice("Where programs may not run from that folder (a noexec mount), set DALEMBERT_CACHE."),
                ),
                stacklevel=4,
            )
        _unloadable.append(key)
        return None


def _has_builds(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(entry.name.endswith(".sha256") for entry in entries)


def cached_build(functions: Sequence[ca.Function]) -> list[ca.Function] | None:
    """The compiled form of these very functions, if the cache has it."""
    folder = cache_folder()
    if folder is None or not _has_builds(folder):
        return None
    text = [f.serialize() for f in functions if not f.is_a("SXFunction") or f.n_instructions() <= CACHE_LOOKUP_LIMIT]
    if len(text) < len(functions) or sum(map(len, text)) > CACHE_LOOKUP_CHARACTERS:
        return None
    return _load(folder, content_key(functions), [f.name() for f in functions])


def build(functions: Sequence[ca.Function]) -> list[ca.Function] | None:
    """Compile functions with the system's C compiler, through the cache. None where that is impossible."""
    key = content_key(functions)
    names = [f.name() for f in functions]
    folder = cache_folder()
    if folder is None:
        folder = _folder_of_this_process()
    found = _load(folder, key, names)
    if found is not None:
        return found
    if _unloadable:
        return None
    tool = compiler()
    if tool is None:
        warning = DalembertWarning(
            "slow-engine", "no C compiler found: expressions are interpreted.", Advice("See {}.", Call("da.doctor"))
        )
        warnings.warn(warning, stacklevel=3)
        return None
    with tempfile.TemporaryDirectory(dir=folder) as work:
        failure = _compile(tool, functions, Path(work))
        if failure:
            problem = f"the C compiler {tool} failed ({failure}): expressions are interpreted."
            warnings.warn(DalembertWarning("slow-engine", problem), stacklevel=3)
            return None
        library, seal = Path(work) / "kernel.so", Path(work) / "seal"
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        seal.write_text(digest, encoding="ascii")
        os.replace(library, _library(folder, key, digest))
        os.replace(seal, folder / f"{key}.sha256")
    return _load(folder, key, names)


def _compile(tool: str, functions: Sequence[ca.Function], work: Path) -> str:
    """Make kernel.so in the folder; returns what went wrong, or nothing."""
    generator = ca.CodeGenerator("kernel.c", {"with_header": False, "casadi_real": "double"})
    for function in functions:
        generator.add(function)
    generator.generate(str(work) + os.sep)
    command = [tool, *FLAGS, "kernel.c", "-o", "kernel.so", "-lm"]
    try:
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        return str(error)
    _, message = _wait(process)
    if process.returncode == 0 and (work / "kernel.so").exists():
        return ""
    return (message.strip().splitlines() or [f"exit code {process.returncode}, no library"])[-1]


def _wait(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Output of the compiler; after two seconds a terminal shows that it is at work."""
    try:
        return process.communicate(timeout=2.0)
    except subprocess.TimeoutExpired:
        if not sys.stderr.isatty():
            return process.communicate()
        from rich.console import Console

        with Console(stderr=True).status("compiling (once; the result is cached)"):
            return process.communicate()
    except BaseException:
        process.kill()
        raise


def doctor() -> str:
    """What this installation computes with: CasADi, compiler, cache.

    Examples
    --------
    >>> print(doctor())  # doctest: +ELLIPSIS
    dalembert ...
    """
    from dalembert import __version__

    folder = cache_folder()
    count = len(list(folder.glob("*.sha256"))) if folder is not None else 0
    tool = compiler()
    return "\n".join(
        [
            f"dalembert {__version__}, Python {sys.version.split()[0]}, "
            f"CasADi {ca.__version__}, NumPy {np.__version__}",
            f"C compiler: {tool or 'none'}",
            f"cache: {folder if folder is not None else 'none (no private folder could be made)'} ({count} builds)",
            "engine: interpreted by default; "
            + ("C on eqs.compiled() or a cache hit" if tool else "no C compiler, so always CasADi's virtual machine"),
        ]
    )
