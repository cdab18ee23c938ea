"""Solids: meshes, elements, stresses, and their structure.

The producer registers itself with `structure` when the description is loaded.
"""

from dalembert.structures.solid import producer as producer
