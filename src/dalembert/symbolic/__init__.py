"""Readable equations: systems in symbols, formalisms of analytical mechanics, and equations as text."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.symbolic.convert import from_sympy as from_sympy
    from dalembert.symbolic.convert import to_sympy as to_sympy
    from dalembert.symbolic.system import System as System

__all__ = attach(__name__)
