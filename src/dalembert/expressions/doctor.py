"""What an installation computes with."""

from __future__ import annotations

import sys

import casadi as ca
import numpy as np

from dalembert.expressions.kernels import interpreted
from dalembert.expressions.native import llvm


def doctor() -> str:
    """What this installation computes with: CasADi, LLVM, and the functions that stay on the interpreter.

    Examples
    --------
    >>> print(doctor())  # doctest: +ELLIPSIS
    dalembert ...
    """
    from dalembert import __version__

    library = llvm()
    lines = [
        f"dalembert {__version__}, Python {sys.version.split()[0]}, CasADi {ca.__version__}, NumPy {np.__version__}"
    ]
    if library is None:
        lines.append("engine: CasADi's interpreter; for native code, 7 to 17 times faster, install llvmlite")
    else:
        version = ".".join(map(str, library.llvm_version_info))
        lines.append(f"engine: native code by LLVM {version} for {library.get_host_cpu_name()}")
    for name, reason in interpreted.items():
        lines.append(f"on the interpreter: {name} ({reason})")
    return "\n".join(lines)
