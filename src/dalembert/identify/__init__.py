"""Identification: from measured or simulated records to spectra, modes, state-space models and physical matrices.

Every function takes one :class:`~dalembert.record.Record` or a sequence of them (repeated tests, joined without mixing
their transients) and returns a frozen result with names, units and provenance.
"""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.identify.auto.auto import auto as auto
    from dalembert.identify.auto.choice import choose as choose
    from dalembert.identify.auto.result import AutoIdentified as AutoIdentified
    from dalembert.identify.likelihood.cramer_rao import ModalBounds as ModalBounds
    from dalembert.identify.likelihood.cramer_rao import cramer_rao as cramer_rao
    from dalembert.identify.likelihood.cramer_rao import deviations as deviations
    from dalembert.identify.likelihood.cramer_rao import intervals as intervals
    from dalembert.identify.likelihood.refine import refine as refine
    from dalembert.identify.machine.fit import fit as fit
    from dalembert.identify.machine.fitted import FittedMachine as FittedMachine
    from dalembert.identify.model.collinearity import mean_phase as mean_phase
    from dalembert.identify.model.collinearity import modal_phase_collinearity as modal_phase_collinearity
    from dalembert.identify.model.collinearity import phase_deviation as phase_deviation
    from dalembert.identify.model.identified import Identified as Identified
    from dalembert.identify.model.quality import Fit as Fit
    from dalembert.identify.model.quality import Residuals as Residuals
    from dalembert.identify.output_only.efdd import efdd as efdd
    from dalembert.identify.output_only.fdd import fdd as fdd
    from dalembert.identify.output_only.frequency_domain_modes import FrequencyDomainModes as FrequencyDomainModes
    from dalembert.identify.physical.physical import physical as physical
    from dalembert.identify.physical.proportional_damping import ProportionalDamping as ProportionalDamping
    from dalembert.identify.physical.proportional_damping import proportional_damping as proportional_damping
    from dalembert.identify.physical.rayleigh_quotients import RayleighQuotients as RayleighQuotients
    from dalembert.identify.physical.update import update as update
    from dalembert.identify.physical.updated import Updated as Updated
    from dalembert.identify.polyreference.plscf import plscf as plscf
    from dalembert.identify.polyreference.result import PolyreferenceModes as PolyreferenceModes
    from dalembert.identify.realization.decays import Decays as Decays
    from dalembert.identify.realization.decays import decay_era as decay_era
    from dalembert.identify.realization.decays import free_decays as free_decays
    from dalembert.identify.realization.era import era as era
    from dalembert.identify.realization.era_dc import era_dc as era_dc
    from dalembert.identify.realization.ibrahim import ibrahim as ibrahim
    from dalembert.identify.realization.markov_parameters import hankel_matrix as hankel_matrix
    from dalembert.identify.realization.next_era import correlation_decays as correlation_decays
    from dalembert.identify.realization.next_era import next_era as next_era
    from dalembert.identify.realization.observer_gain import observer_gain_from_markov as observer_gain_from_markov
    from dalembert.identify.realization.okid import ObserverMarkov as ObserverMarkov
    from dalembert.identify.realization.okid import okid as okid
    from dalembert.identify.realization.okid_era import okid_era as okid_era
    from dalembert.identify.records.data import Data as Data
    from dalembert.identify.records.data import read_data as read_data
    from dalembert.identify.records.prepare import average as average
    from dalembert.identify.records.prepare import bandpass as bandpass
    from dalembert.identify.records.prepare import cut as cut
    from dalembert.identify.records.prepare import decimate as decimate
    from dalembert.identify.records.prepare import detrend as detrend
    from dalembert.identify.records.prepare import highpass as highpass
    from dalembert.identify.records.prepare import lowpass as lowpass
    from dalembert.identify.records.prepare import trim as trim
    from dalembert.identify.records.repair import Repair as Repair
    from dalembert.identify.records.repair import hampel as hampel
    from dalembert.identify.records.repair import repair as repair
    from dalembert.identify.records.reporting import IdentificationWarning as IdentificationWarning
    from dalembert.identify.records.survey import Survey as Survey
    from dalembert.identify.records.survey import survey as survey
    from dalembert.identify.records.synchronise import Synchronised as Synchronised
    from dalembert.identify.records.synchronise import delay as delay
    from dalembert.identify.records.synchronise import shift as shift
    from dalembert.identify.records.synchronise import synchronise as synchronise
    from dalembert.identify.robot.excitation import excitation as excitation
    from dalembert.identify.robot.identified_robot import IdentifiedRobot as IdentifiedRobot
    from dalembert.identify.robot.robot import robot as robot
    from dalembert.identify.setups.merge_setups import merge_setups as merge_setups
    from dalembert.identify.setups.merged_modes import MergedModes as MergedModes
    from dalembert.identify.shapes.expand_shapes import MeasuredLink as MeasuredLink
    from dalembert.identify.shapes.expand_shapes import expand_shapes as expand_shapes
    from dalembert.identify.shapes.to_elastic import to_elastic as to_elastic
    from dalembert.identify.spectral.frf import Coherence as Coherence
    from dalembert.identify.spectral.frf import FrfEstimate as FrfEstimate
    from dalembert.identify.spectral.frf import coherence as coherence
    from dalembert.identify.spectral.frf import frf as frf
    from dalembert.identify.spectral.hammer import HammerWindows as HammerWindows
    from dalembert.identify.spectral.hammer import hammer_windows as hammer_windows
    from dalembert.identify.spectral.markov import Markov as Markov
    from dalembert.identify.spectral.markov import markov as markov
    from dalembert.identify.spectral.spectra import Spectra as Spectra
    from dalembert.identify.spectral.spectra import spectra as spectra
    from dalembert.identify.spectral.split_impacts import Impact as Impact
    from dalembert.identify.spectral.split_impacts import Impacts as Impacts
    from dalembert.identify.spectral.split_impacts import split_impacts as split_impacts
    from dalembert.identify.structured.model import StructuredModel as StructuredModel
    from dalembert.identify.structured.model import Unknown as Unknown
    from dalembert.identify.structured.parametric_system import Affine as Affine
    from dalembert.identify.structured.refine_structured import StructuredFit as StructuredFit
    from dalembert.identify.structured.refine_structured import refine_structured as refine_structured
    from dalembert.identify.subspace.cva import cva as cva
    from dalembert.identify.subspace.moesp import moesp as moesp
    from dalembert.identify.subspace.n4sid import n4sid as n4sid
    from dalembert.identify.subspace.ssi import ssi_cov as ssi_cov
    from dalembert.identify.subspace.ssi import ssi_data as ssi_data
    from dalembert.identify.subspace.stabilization import OrderChoice as OrderChoice
    from dalembert.identify.subspace.stabilization import Stabilization as Stabilization
    from dalembert.identify.subspace.stabilization import Tolerances as Tolerances
    from dalembert.identify.subspace.stabilization import stabilization as stabilization
    from dalembert.identify.subspace.stabilization import suggest_order as suggest_order

__all__ = attach(__name__)
