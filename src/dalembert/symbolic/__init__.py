"""Readable equations: systems in symbols, formalisms of analytical mechanics, and equations as text."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.symbolic import modular as modular
    from dalembert.symbolic.analysis.linearization import SymbolicLinear as SymbolicLinear
    from dalembert.symbolic.analysis.linearization import linearize as linearize
    from dalembert.symbolic.analysis.noether import noether as noether
    from dalembert.symbolic.analysis.routh import RouthReduction as RouthReduction
    from dalembert.symbolic.analysis.routh import routh as routh
    from dalembert.symbolic.continuum import Continuum as Continuum
    from dalembert.symbolic.continuum import FieldEquation as FieldEquation
    from dalembert.symbolic.continuum import field_equation as field_equation
    from dalembert.symbolic.derivation import Conserved as Conserved
    from dalembert.symbolic.derivation import Derivation as Derivation
    from dalembert.symbolic.derivation import Step as Step
    from dalembert.symbolic.derivation import derive as derive
    from dalembert.symbolic.formalisms.boltzmann_hamel import boltzmann_hamel as boltzmann_hamel
    from dalembert.symbolic.formalisms.gauss import gauss as gauss
    from dalembert.symbolic.formalisms.gibbs_appell import gibbs_appell as gibbs_appell
    from dalembert.symbolic.formalisms.hamilton import hamilton as hamilton
    from dalembert.symbolic.formalisms.kane import kane as kane
    from dalembert.symbolic.formalisms.lagrange import euler_lagrange as euler_lagrange
    from dalembert.symbolic.formalisms.lagrange import lagrange as lagrange
    from dalembert.symbolic.formalisms.lagrange import lagrange_multipliers as lagrange_multipliers
    from dalembert.symbolic.formalisms.maggi import maggi as maggi
    from dalembert.symbolic.formalisms.newton_euler import newton_euler as newton_euler
    from dalembert.symbolic.formalisms.nielsen import nielsen as nielsen
    from dalembert.symbolic.formalisms.penalty import penalty as penalty
    from dalembert.symbolic.formalisms.udwadia_kalaba import udwadia_kalaba as udwadia_kalaba
    from dalembert.symbolic.formalisms.virtual_work import virtual_work as virtual_work
    from dalembert.symbolic.from_mechanism import from_mechanism as from_mechanism
    from dalembert.symbolic.parts import Orientation as Orientation
    from dalembert.symbolic.planar.derivation import PlanarDerivation as PlanarDerivation
    from dalembert.symbolic.planar.derivation import derive_linkage as derive_linkage
    from dalembert.symbolic.planar.producer import PlanarModel as PlanarModel
    from dalembert.symbolic.planar.to_system import to_system as to_system
    from dalembert.symbolic.quadratic import linearize_energies as linearize_energies
    from dalembert.symbolic.system import System as System
    from dalembert.symbolic.text.convert import from_sympy as from_sympy
    from dalembert.symbolic.text.convert import to_sympy as to_sympy

__all__ = attach(__name__)
