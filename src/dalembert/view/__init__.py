"""Pictures of records: plots and animations."""

from dalembert.view.animation import animate
from dalembert.view.plots import plot

__all__ = ["animate", "plot"]
