"""Identification: from measured or simulated records to spectra, modes, state-space models and physical matrices.

Every function takes one :class:`~dalembert.record.Record` or a sequence of them (repeated tests, joined without mixing
their transients) and returns a frozen result with names, units and provenance.
"""

from dalembert.identify.collinearity import mean_phase, modal_phase_collinearity, phase_deviation
from dalembert.identify.data import Data, IdentificationWarning, read_data
from dalembert.identify.identified import Identified
from dalembert.identify.quality import Fit, Residuals

__all__ = [
    "Data",
    "IdentificationWarning",
    "read_data",
    "mean_phase",
    "modal_phase_collinearity",
    "phase_deviation",
    "Identified",
    "Fit",
    "Residuals",
]
