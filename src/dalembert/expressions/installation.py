"""The engine of an installation."""

from __future__ import annotations

import sys

import casadi as ca
import numpy as np

from dalembert.expressions.kernels import interpreted
from dalembert.expressions.machine_code.native import llvm


def engine() -> str:
    """The engine of this installation, in a line."""
    library = llvm()
    if library is None:
        return "CasADi's interpreter; native code is 7 to 17 times faster: pip install llvmlite"
    version = ".".join(map(str, library.llvm_version_info))
    return f"native code by LLVM {version} for {library.get_host_cpu_name()}"


def doctor() -> str:
    """The engine of this installation, and the functions of this process that stay on the interpreter.

    Examples
    --------
    >>> print(doctor())  # doctest: +ELLIPSIS
    dalembert ...
    """
    from dalembert import __version__

    versions = f"Python {sys.version.split()[0]}, CasADi {ca.__version__}, NumPy {np.__version__}"
    lines = [f"dalembert {__version__}, {versions}", f"engine: {engine()}"]
    lines += [f"on the interpreter: {name} ({reason})" for name, reason in interpreted.items()]
    return "\n".join(lines)
