"""The engine room: CasADi expressions, native evaluation, the C build and its cache.

Nobody else touches buffers, code generation or compilers. A `Kernel` is one native function with
NumPy arrays at its border; a `Quantity` is a number that may stay symbolic in a model.

Interpreted (CasADi's virtual machine) by default. A kernel made with ``compiled=True`` is built with the
system's C compiler; any other kernel uses C when a build of the same content is already in the cache.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError

Array = NDArray[np.float64]
pi = math.pi

FLAGS = ("-O1", "-fPIC", "-shared")
CACHE_LOOKUP_LIMIT = 100_000  # instructions; above it looking for a cached build costs more than it may save
CACHE_LOOKUP_CHARACTERS = 20_000_000


# --- quantities of a model that may stay symbolic ------------------------------------------------------------------


class Quantity:
    """A number of a model that may stay symbolic: a named parameter, or arithmetic on parameters.

    It is data, not mathematics: a small tree of operation names, evaluated with numbers or with expressions.

    Examples
    --------
    >>> half = Quantity.parameter("length", 0.3) / 2
    >>> half.value
    0.15
    """

    __slots__ = ("arguments", "operation")

    def __init__(self, operation: str, *arguments: Any) -> None:
        self.operation = operation
        self.arguments = arguments

    @classmethod
    def parameter(cls, name: str, value: float) -> Quantity:
        return cls("parameter", name, float(value))

    @property
    def value(self) -> float:
        """The number it stands for, with every parameter at its own value."""
        return float(self.evaluate({}))

    def parameters(self) -> dict[str, float]:
        """Names and values of the parameters it depends on."""
        if self.operation == "parameter":
            return {self.arguments[0]: self.arguments[1]}
        found: dict[str, float] = {}
        for argument in self.arguments:
            if isinstance(argument, Quantity):
                found.update(argument.parameters())
        return found

    def evaluate(self, symbols: Mapping[str, Any]) -> Any:
        if self.operation == "parameter":
            name, value = self.arguments
            return symbols.get(name, value)
        args = [a.evaluate(symbols) if isinstance(a, Quantity) else a for a in self.arguments]
        return _OPERATIONS[self.operation](*args)

    def __repr__(self) -> str:
        if self.operation == "parameter":
            return str(self.arguments[0])
        return f"{self.operation}({', '.join(map(repr, self.arguments))})"

    def __add__(self, other: Any) -> Quantity:
        return Quantity("+", self, other)

    def __radd__(self, other: Any) -> Quantity:
        return Quantity("+", other, self)

    def __sub__(self, other: Any) -> Quantity:
        return Quantity("-", self, other)

    def __rsub__(self, other: Any) -> Quantity:
        return Quantity("-", other, self)

    def __mul__(self, other: Any) -> Quantity:
        return Quantity("*", self, other)

    def __rmul__(self, other: Any) -> Quantity:
        return Quantity("*", other, self)

    def __truediv__(self, other: Any) -> Quantity:
        return Quantity("/", self, other)

    def __rtruediv__(self, other: Any) -> Quantity:
        return Quantity("/", other, self)

    def __pow__(self, other: Any) -> Quantity:
        return Quantity("**", self, other)

    def __neg__(self) -> Quantity:
        return Quantity("neg", self)

    def __float__(self) -> float:
        return self.value


def _is_symbolic(x: Any) -> bool:
    return isinstance(x, (ca.SX, ca.MX, ca.DM))


def _function(name: str, casadi_function: Callable[..., Any], numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        if any(isinstance(a, Quantity) for a in args):
            return Quantity(name, *args)
        if any(_is_symbolic(a) for a in args):
            return casadi_function(*args)
        return numpy_function(*args)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"``{name}`` of a number, an array, a parameter or an expression."
    _OPERATIONS[name] = apply
    return apply


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "neg": lambda a: -a,
}
sin = _function("sin", ca.sin, np.sin)
cos = _function("cos", ca.cos, np.cos)
tan = _function("tan", ca.tan, np.tan)
asin = _function("asin", ca.asin, np.arcsin)
acos = _function("acos", ca.acos, np.arccos)
atan = _function("atan", ca.atan, np.arctan)
atan2 = _function("atan2", ca.atan2, np.arctan2)
sinh = _function("sinh", ca.sinh, np.sinh)
cosh = _function("cosh", ca.cosh, np.cosh)
tanh = _function("tanh", ca.tanh, np.tanh)
exp = _function("exp", ca.exp, np.exp)
log = _function("log", ca.log, np.log)
sqrt = _function("sqrt", ca.sqrt, np.sqrt)
sign = _function("sign", ca.sign, np.sign)
absolute = _function("absolute", ca.fabs, np.abs)
minimum = _function("minimum", ca.fmin, np.minimum)
maximum = _function("maximum", ca.fmax, np.maximum)
where = _function("where", ca.if_else, np.where)
where.__doc__ = "``where(condition, a, b)``: a where the condition holds, else b; use it instead of ``if`` on t."


def table(x: Sequence[float], y: Sequence[float]) -> Callable[[Any], Any]:
    """Piecewise linear function through the points (x, y), continued with its end slopes."""
    xs = np.asarray(x, dtype=float)
    ys = np.asarray(y, dtype=float)
    if xs.ndim != 1 or xs.shape != ys.shape or len(xs) < 2:
        raise ModelError(f"a table needs two lists of equal length, at least 2 points; got {xs.shape} and {ys.shape}.")
    if not np.all(np.diff(xs) > 0) or not np.all(np.isfinite(ys)):
        raise ModelError("a table needs strictly increasing x and finite y.")
    slopes = np.diff(ys) / np.diff(xs)

    def evaluate(value: Any) -> Any:
        result = ys[0] + slopes[0] * (value - xs[0])
        for knot, change in zip(xs[1:-1], np.diff(slopes), strict=True):
            result = result + change * maximum(value - knot, 0.0)
        return result

    return evaluate


def of_time(function: Callable[[Any], Any], what: str) -> tuple[Any, Any]:
    """Call a user's function of time once with a symbol; return (symbol, expression)."""
    t = ca.SX.sym("t")
    return t, call_user(function, what, t)


def call_user(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """Call a user's function with symbols; turn its failures into a `ModelError` that names it."""
    try:
        return function(*arguments)
    except ModelError:
        raise
    except Exception as error:  # any failure of foreign code is the user's to read
        text = str(error)
        if "truth value" in text.lower() or "__bool__" in text or "boolean" in text.lower():
            raise ModelError(
                f"{what} branches on a symbol. It is called once with symbolic arguments: "
                "write da.where(condition, a, b) instead of `if`."
            ) from error
        raise ModelError(
            f"{what} could not be called with symbolic arguments ({type(error).__name__}: {text.splitlines()[0] if text else ''}). "
            "Use da.sin, da.exp, da.where, ... instead of math or numpy functions."
        ) from error


# --- native evaluation -----------------------------------------------------------------------------------------------


class Kernel:
    """A native function of arrays, evaluated through buffers (about 1 µs per call instead of 90 µs).

    Parameters
    ----------
    function : casadi.Function with dense vector inputs.
    compiled : True builds C now (or takes it from the cache); False uses C only if the cache has it.
    """

    def __init__(self, function: ca.Function, *, compiled: bool = False, native: ca.Function | None = None) -> None:
        self.function = function
        self.compiled = compiled
        if native is None:
            found = build([function]) if compiled else cached_build([function])
            native = None if found is None else found[0]
        self.engine = "C" if native is not None else "virtual machine"
        self.native = native if native is not None else function
        self._bind(self.native)
        self._maps: dict[int, Kernel] = {}

    def _bind(self, native: ca.Function) -> None:
        self._inputs = [np.zeros(native.nnz_in(i)) for i in range(native.n_in())]
        self._outputs = [np.zeros(native.nnz_out(i)) for i in range(native.n_out())]
        self._scatter = []
        for i in range(native.n_out()):
            sparsity = native.sparsity_out(i)
            dense = sparsity.is_dense()
            positions = None if dense else np.asarray(sparsity.find(), dtype=np.intp)
            self._scatter.append((sparsity.shape, positions))
        self._buffer, self._run = native.buffer()
        for i, array in enumerate(self._inputs):
            self._buffer.set_arg(i, memoryview(array))
        for i, array in enumerate(self._outputs):
            self._buffer.set_res(i, memoryview(array))

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "compiled": self.compiled}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["function"], compiled=state["compiled"])  # type: ignore[misc]

    def raw(self, *arguments: Any) -> list[Array]:
        """Nonzeros of every output, as views that the next call overwrites."""
        for slot, value in zip(self._inputs, arguments, strict=True):
            if slot.size:
                slot[:] = value
        self._run()
        return self._outputs

    def __call__(self, *arguments: Any) -> list[Array]:
        """Dense outputs: vectors as (n,), matrices as (rows, columns)."""
        results = []
        for values, (shape, positions) in zip(self.raw(*arguments), self._scatter, strict=True):
            if positions is None:
                full = values.copy()
            else:
                full = np.zeros(shape[0] * shape[1])
                full[positions] = values
            results.append(full if shape[1] == 1 else full.reshape(shape, order="F"))
        return results

    def sparse(self, index: int, *arguments: Any) -> Any:
        """One output as a scipy.sparse matrix."""
        from scipy.sparse import csc_matrix

        sparsity = self.native.sparsity_out(index)
        values = self.raw(*arguments)[index].copy()
        return csc_matrix((values, sparsity.row(), sparsity.colind()), shape=sparsity.shape)

    def many(self, *arguments: Any) -> list[Array]:
        """Evaluate a batch: every argument (batch, n) or (n,) for all alike; outputs (batch, rows[, columns])."""
        arrays = [np.asarray(a, dtype=float) for a in arguments]
        batch = max(a.shape[0] for a in arrays if a.ndim == 2)
        mapped = self._maps.get(batch)
        if mapped is None:
            if len(self._maps) > 8:
                self._maps.clear()
            mapped = Kernel.__new__(Kernel)
            mapped.function = self.native.map(batch)
            mapped._bind(mapped.function)
            self._maps[batch] = mapped
        for slot, value, i in zip(mapped._inputs, arrays, range(len(arrays)), strict=True):
            size = self._inputs[i].size
            if size:
                slot.reshape(batch, size)[:] = value
        mapped._run()
        results = []
        for values, (shape, positions) in zip(mapped._outputs, self._scatter, strict=True):
            size = shape[0] * shape[1]
            if positions is None:
                full = values.copy().reshape(batch, size)
            else:
                full = np.zeros((batch, size))
                full[:, positions] = values.reshape(batch, -1)
            results.append(full if shape[1] == 1 else full.reshape(batch, shape[1], shape[0]).transpose(0, 2, 1))
        return results


# --- the C build and its cache -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def compiler() -> str | None:
    """Path of the C compiler in use, or None. The environment variable ``CC`` is honoured."""
    for candidate in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if candidate and (found := shutil.which(candidate)):
            return found
    return None


def cache_folder() -> Path | None:
    """Private per-user folder of compiled kernels, or None where none can be made safely."""
    base = os.environ.get("DALEMBERT_CACHE")
    if base is None:
        root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        base = str(Path(root) / "dalembert")
    folder = Path(base)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None  # somebody else could put code there
    return folder


def kernel_family(functions: Sequence[ca.Function], *, compiled: bool = False) -> list[Kernel]:
    """Kernels of several functions that share their inner functions, built into one library."""
    natives = build(functions) if compiled else cached_build(functions)
    if natives is None:
        return [Kernel(f, native=f) for f in functions]
    return [Kernel(f, compiled=True, native=n) for f, n in zip(functions, natives, strict=True)]


def content_key(functions: Sequence[ca.Function]) -> str:
    digest = hashlib.sha256()
    machine = os.uname().machine if hasattr(os, "uname") else ""
    digest.update(repr((ca.__version__, FLAGS, sys.platform, machine)).encode())
    for function in functions:
        digest.update(function.serialize().encode())
    return digest.hexdigest()


def _load(folder: Path, key: str, names: Sequence[str]) -> list[ca.Function] | None:
    library = folder / f"{key}.so"
    seal = folder / f"{key}.sha256"
    try:
        if seal.read_text() != hashlib.sha256(library.read_bytes()).hexdigest():
            return None  # a broken or foreign file is never loaded
    except OSError:
        return None
    return [ca.external(name, str(library)) for name in names]


def _cache_is_empty(folder: Path) -> bool:
    return next(folder.glob("*.so"), None) is None


def cached_build(functions: Sequence[ca.Function]) -> list[ca.Function] | None:
    """The compiled form of these very functions, if the cache has it."""
    folder = cache_folder()
    if folder is None or _cache_is_empty(folder):
        return None
    text = [f.serialize() for f in functions if not f.is_a("SXFunction") or f.n_instructions() <= CACHE_LOOKUP_LIMIT]
    if len(text) < len(functions) or sum(map(len, text)) > CACHE_LOOKUP_CHARACTERS:
        return None
    return _load(folder, content_key(functions), [f.name() for f in functions])


def build(functions: Sequence[ca.Function]) -> list[ca.Function] | None:
    """Compile functions with the system's C compiler, through the cache. None where that is impossible."""
    tool = compiler()
    if tool is None:
        warnings.warn("no C compiler found: running on CasADi's virtual machine (see da.doctor()).", stacklevel=3)
        return None
    key = content_key(functions)
    names = [f.name() for f in functions]
    folder = cache_folder()
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="dalembert-"))
    found = _load(folder, key, names)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(dir=folder) as work:
        generator = ca.CodeGenerator("kernel.c", {"with_header": False, "casadi_real": "double"})
        for function in functions:
            generator.add(function)
        generator.generate(work + os.sep)
        library = Path(work) / "kernel.so"
        command = [tool, *FLAGS, str(Path(work) / "kernel.c"), "-o", str(library), "-lm"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            last = result.stderr.strip().splitlines()[-1:]
            warnings.warn(f"the C compiler {tool} failed ({last}); using the virtual machine.", stacklevel=3)
            return None
        seal = Path(work) / "seal"
        seal.write_text(hashlib.sha256(library.read_bytes()).hexdigest())
        os.replace(library, folder / f"{key}.so")
        os.replace(seal, folder / f"{key}.sha256")
    return _load(folder, key, names)


def doctor() -> str:
    """What this installation computes with: CasADi, compiler, cache.

    Examples
    --------
    >>> print(doctor())  # doctest: +ELLIPSIS
    dalembert ...
    """
    from dalembert import __version__

    folder = cache_folder()
    count = len(list(folder.glob("*.so"))) if folder is not None else 0
    tool = compiler()
    return "\n".join(
        [
            f"dalembert {__version__}, Python {sys.version.split()[0]}, CasADi {ca.__version__}, NumPy {np.__version__}",
            f"C compiler: {tool or 'none'}",
            f"cache: {folder if folder is not None else 'none (no private folder could be made)'} ({count} builds)",
            "engine: interpreted by default; "
            + ("C on eqs.compiled() or a cache hit" if tool else "no C compiler, so always CasADi's virtual machine"),
        ]
    )
