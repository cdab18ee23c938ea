"""The engine room: CasADi expressions, native evaluation, the C build and its cache.

Nobody else touches buffers, code generation or compilers. A `Kernel` is one native function with
NumPy arrays at its border; a `Quantity` is a number that may stay symbolic in a model.

Interpreted (CasADi's virtual machine) by default. A kernel made with ``compiled=True`` is built with the
system's C compiler; any other kernel uses C when a build of the same content is already in the cache.
"""

from dalembert.expressions.calling import call_user, of_time, one_value
from dalembert.expressions.doctor import doctor
from dalembert.expressions.kernels import FLAT_LIMIT, Array, Expr, Kernel, kernel_family
from dalembert.expressions.quantities import (
    Quantity,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    cos,
    cosh,
    exp,
    log,
    maximum,
    minimum,
    pi,
    sign,
    sin,
    sinh,
    sqrt,
    table,
    tan,
    tanh,
    where,
)

__all__ = [
    "Array",
    "Expr",
    "FLAT_LIMIT",
    "Kernel",
    "Quantity",
    "absolute",
    "acos",
    "asin",
    "atan",
    "atan2",
    "call_user",
    "cos",
    "cosh",
    "doctor",
    "exp",
    "kernel_family",
    "log",
    "maximum",
    "minimum",
    "of_time",
    "one_value",
    "pi",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "table",
    "tan",
    "tanh",
    "where",
]


def compiler() -> None:  # TEMP
    return None
