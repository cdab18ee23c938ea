"""Identification: from measured or simulated records to spectra, modes, state-space models and physical matrices.

Every function takes one :class:`~dalembert.record.Record` or a sequence of them (repeated tests, joined without mixing
their transients) and returns a frozen result with names, units and provenance.
"""

from dalembert.identify.data import Data, IdentificationWarning, read_data

__all__ = [
    "Data",
    "IdentificationWarning",
    "read_data",
]
