"""Types of arrays, and objects whose attributes and arrays cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
# A stored matrix: FloatArray, or scipy.sparse.csc_array in a sparse system (SciPy has no types of its own).
Matrix = Any


class Frozen:
    """Attributes set once by :meth:`_freeze`; arrays read-only, also after unpickling."""

    def _freeze(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            elif scipy.sparse.issparse(value):
                for array in (value.data, value.indices, value.indptr):
                    array.setflags(write=False)
            elif isinstance(value, Mapping):
                value = MappingProxyType(dict(value))
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}; make a new one instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._freeze(**state)
