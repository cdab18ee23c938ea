"""Identification: from measured or simulated records to spectra, modes, state-space models and physical matrices.

Every function takes one :class:`~dalembert.record.Record` or a sequence of them (repeated tests, joined without mixing
their transients) and returns a frozen result with names, units and provenance.
"""

from dalembert.identify.collinearity import mean_phase, modal_phase_collinearity, phase_deviation
from dalembert.identify.data import Data, IdentificationWarning, read_data
from dalembert.identify.identified import Identified
from dalembert.identify.prepare import average, bandpass, cut, decimate, detrend, highpass, lowpass, trim
from dalembert.identify.quality import Fit, Residuals
from dalembert.identify.repair import Repair, hampel, repair
from dalembert.identify.synchronise import Synchronised, delay, shift, synchronise

__all__ = [
    "Data",
    "IdentificationWarning",
    "read_data",
    "average",
    "bandpass",
    "cut",
    "decimate",
    "detrend",
    "highpass",
    "lowpass",
    "trim",
    "Repair",
    "hampel",
    "repair",
    "Synchronised",
    "delay",
    "shift",
    "synchronise",
    "mean_phase",
    "modal_phase_collinearity",
    "phase_deviation",
    "Identified",
    "Fit",
    "Residuals",
]
