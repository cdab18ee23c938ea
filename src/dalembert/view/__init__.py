"""Pictures: plots of every result, animations of records; reports to read."""

from dalembert.view.animation import animate
from dalembert.view.door import plot
from dalembert.view.reporting import report
from dalembert.view.themes import figure_style

__all__ = ["animate", "figure_style", "plot", "report"]
