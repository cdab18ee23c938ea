"""Pictures: plots of every result, animations of records."""

from dalembert.view.animation import animate
from dalembert.view.door import plot

__all__ = ["animate", "plot"]
