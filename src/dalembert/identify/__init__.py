"""Identification: from measured or simulated records to spectra, modes, state-space models and physical matrices.

Every function takes one :class:`~dalembert.record.Record` or a sequence of them (repeated tests, joined without mixing
their transients) and returns a frozen result with names, units and provenance.
"""

from dalembert.identify.ambient import Decays, correlation_decays, decay_era, free_decays, ibrahim, next_era
from dalembert.identify.auto_identify import auto
from dalembert.identify.auto_result import AutoIdentified
from dalembert.identify.bounds import ModalBounds, cramer_rao, deviations, intervals
from dalembert.identify.collinearity import mean_phase, modal_phase_collinearity, phase_deviation
from dalembert.identify.damping_fit import ProportionalDamping, proportional_damping
from dalembert.identify.data import Data, IdentificationWarning, read_data
from dalembert.identify.eigensystem import era, era_dc, hankel_matrix, okid_era
from dalembert.identify.family import Affine
from dalembert.identify.fit_machine import fit
from dalembert.identify.fitted import FittedMachine
from dalembert.identify.frf import Coherence, FrfEstimate, coherence, frf
from dalembert.identify.gain_fit import observer_gain
from dalembert.identify.hammer import HammerWindows, hammer_windows
from dalembert.identify.identified import Identified
from dalembert.identify.markov import Markov, markov
from dalembert.identify.observer_markov import ObserverMarkov, okid
from dalembert.identify.order import OrderChoice, suggest_order
from dalembert.identify.physical_model import physical
from dalembert.identify.prepare import average, bandpass, cut, decimate, detrend, highpass, lowpass, trim
from dalembert.identify.quality import Fit, Residuals
from dalembert.identify.refinement import refine
from dalembert.identify.repair import Repair, hampel, repair
from dalembert.identify.spectra import Spectra, spectra
from dalembert.identify.ssi import ssi_cov, ssi_data
from dalembert.identify.stable_poles import Stabilization, Tolerances, stabilization
from dalembert.identify.structured_fit import StructuredFit, refine_structured
from dalembert.identify.structured_model import StructuredModel, Unknown
from dalembert.identify.subspace import cva, moesp, n4sid
from dalembert.identify.synchronise import Synchronised, delay, shift, synchronise
from dalembert.identify.updated import Updated
from dalembert.identify.updating import update

__all__ = [
    "auto",
    "AutoIdentified",
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
    "Spectra",
    "spectra",
    "Coherence",
    "coherence",
    "FrfEstimate",
    "frf",
    "HammerWindows",
    "hammer_windows",
    "Markov",
    "markov",
    "mean_phase",
    "modal_phase_collinearity",
    "phase_deviation",
    "Identified",
    "Fit",
    "Residuals",
    "refine",
    "cramer_rao",
    "deviations",
    "intervals",
    "ModalBounds",
    "StructuredModel",
    "Unknown",
    "StructuredFit",
    "refine_structured",
    "ObserverMarkov",
    "okid",
    "era",
    "era_dc",
    "hankel_matrix",
    "okid_era",
    "observer_gain",
    "Decays",
    "correlation_decays",
    "decay_era",
    "free_decays",
    "ibrahim",
    "next_era",
    "physical",
    "ProportionalDamping",
    "proportional_damping",
    "OrderChoice",
    "ssi_cov",
    "ssi_data",
    "Stabilization",
    "Tolerances",
    "stabilization",
    "cva",
    "moesp",
    "n4sid",
    "fit",
    "FittedMachine",
    "update",
    "Updated",
    "Affine",
    "suggest_order",
]
