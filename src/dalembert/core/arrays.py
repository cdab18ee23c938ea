"""Types of arrays, and dataclasses whose fields and arrays cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, dataclass_transform

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.intp]
Int64Array = NDArray[np.int64]  # tables that native code reads
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]
# A stored matrix: FloatArray, or scipy.sparse.csc_array in a sparse system (SciPy has no types of its own).
Matrix = Any


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True)
def frozen(cls: Any = None, /, *, init: bool = True) -> Any:
    """A frozen dataclass whose arrays are read-only and whose mappings cannot be changed, also after unpickling.

    Fields are given by keyword. A class that computes its fields has ``init=False`` and sets them with `assign`.

    Examples
    --------
    >>> @frozen
    ... class Shape:
    ...     values: FloatArray
    >>> Shape(values=np.zeros(2)).values[0] = 1.0
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    if cls is None:
        return partial(frozen, init=init)
    wrapped: Any = dataclass(frozen=True, eq=False, repr=False, kw_only=True, init=init)(cls)
    if init:
        fill = wrapped.__init__

        @wraps(fill)
        def construct(self: object, **fields: Any) -> None:
            fill(self, **fields)
            assign(self, **vars(self))

        wrapped.__init__ = construct
    for name, function in (("__getstate__", plain_state), ("__setstate__", _set_state)):
        if name not in vars(cls):
            setattr(wrapped, name, function)
    return wrapped


def assign(instance: object, **fields: Any) -> None:
    """Set fields of an instance of a `frozen` class, for its ``__init__``."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        elif hasattr(value, "indptr"):  # sparse by columns or rows, without loading SciPy
            for array in (value.data, value.indices, value.indptr):
                array.setflags(write=False)
        elif isinstance(value, Mapping):
            value = MappingProxyType(dict(value))
        object.__setattr__(instance, name, value)


def plain_state(self: object) -> dict[str, Any]:
    """Fields of an instance of a `frozen` class, for pickling."""
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()}


def _set_state(self: object, state: dict[str, Any]) -> None:
    assign(self, **state)
