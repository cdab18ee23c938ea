"""Solvers: they take equations of motion and nothing else."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.solve.constrained.solve import Baumgarte as Baumgarte
    from dalembert.solve.position.mobility import rank_report as rank_report
    from dalembert.solve.scales.singular_perturbation import singular_perturbation as singular_perturbation

__all__ = attach(__name__)
