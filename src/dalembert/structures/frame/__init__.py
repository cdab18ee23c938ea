"""Frames of beams and bars as a user describes them, and their structure.

The producer registers itself with `structure` when the description is loaded.
"""

from dalembert.structures.frame import producer as producer
