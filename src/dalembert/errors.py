"""Errors and warnings of the package, and the findings that they carry: ``except da.errors.ModelError as error``."""

from dalembert.core.errors import (
    AssemblyError,
    ConvergenceError,
    DalembertError,
    DalembertWarning,
    DataError,
    FileFormatError,
    Interrupted,
    MissingExtraError,
    ModelError,
    ModelWarning,
    SimulationWarning,
)
from dalembert.core.findings import Advice, Argument, Call, Finding

__all__ = [
    "Advice", "Argument", "AssemblyError", "Call", "ConvergenceError", "DalembertError", "DalembertWarning",
    "DataError", "FileFormatError", "Finding", "Interrupted", "MissingExtraError", "ModelError", "ModelWarning",
    "SimulationWarning",
]  # fmt: skip
