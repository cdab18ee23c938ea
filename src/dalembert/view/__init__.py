"""Pictures: plots of every result, animations of records; reports to read."""

from dalembert.view.animation.animate import animate
from dalembert.view.plots.plot import plot
from dalembert.view.plots.themes import figure_style
from dalembert.view.reports.report import report

__all__ = ["animate", "figure_style", "plot", "report"]
