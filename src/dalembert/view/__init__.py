"""Pictures: plots of every result, animations of records; reports to read."""

from dalembert.view.animation import animate
from dalembert.view.door import plot
from dalembert.view.reporting import report

__all__ = ["animate", "plot", "report"]
