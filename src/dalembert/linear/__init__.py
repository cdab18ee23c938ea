"""The linear world: second-order and state-space systems, their modes."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.linear.eigen.classify import Classification as Classification
    from dalembert.linear.eigen.output_shapes import modes_at_outputs as modes_at_outputs
    from dalembert.linear.eigen.roots import Roots as Roots
    from dalembert.linear.eigen.stability import Stability as Stability
    from dalembert.linear.families.campbell import campbell as campbell
    from dalembert.linear.families.root_locus import root_locus as root_locus
    from dalembert.linear.families.track_eigenvalues import AxisCrossing as AxisCrossing
    from dalembert.linear.families.track_eigenvalues import CriticalSpeed as CriticalSpeed
    from dalembert.linear.families.track_eigenvalues import EigenvalueBranches as EigenvalueBranches
    from dalembert.linear.families.track_eigenvalues import track_eigenvalues as track_eigenvalues
    from dalembert.linear.families.validity import Validity as Validity
    from dalembert.linear.fit_uncertain import fit_uncertain as fit_uncertain
    from dalembert.linear.modes import Modes as Modes
    from dalembert.linear.responses.duhamel import duhamel as duhamel
    from dalembert.linear.responses.duhamel import impulse_function as impulse_function
    from dalembert.linear.responses.duhamel import release_function as release_function
    from dalembert.linear.responses.fourier import FourierSeries as FourierSeries
    from dalembert.linear.responses.fourier import PeriodicResponse as PeriodicResponse
    from dalembert.linear.responses.fourier import fourier_series as fourier_series
    from dalembert.linear.responses.fourier import periodic_response as periodic_response
    from dalembert.linear.responses.frequency_response import FrequencyResponse as FrequencyResponse
    from dalembert.linear.responses.harmonic import frequency_response as frequency_response
    from dalembert.linear.responses.harmonic import harmonic_response as harmonic_response
    from dalembert.linear.responses.modal import energy_damping as energy_damping
    from dalembert.linear.responses.modal import equivalent_viscous as equivalent_viscous
    from dalembert.linear.responses.modal import modal_damping as modal_damping
    from dalembert.linear.responses.modal import rayleigh_coefficients as rayleigh_coefficients
    from dalembert.linear.responses.superposition import frequency_grid as frequency_grid
    from dalembert.linear.responses.superposition import modal_frequency_response as modal_frequency_response
    from dalembert.linear.responses.time_response import free_response as free_response
    from dalembert.linear.responses.time_response import impulse_response as impulse_response
    from dalembert.linear.responses.time_response import response as response
    from dalembert.linear.responses.time_response import step_response as step_response
    from dalembert.linear.second_order import SecondOrder as SecondOrder
    from dalembert.linear.state_space import StateSpace as StateSpace
    from dalembert.linear.transforms.balanced_truncation import BalancedTruncation as BalancedTruncation
    from dalembert.linear.transforms.forms import controllability_matrix as controllability_matrix
    from dalembert.linear.transforms.forms import observability_matrix as observability_matrix
    from dalembert.linear.transforms.forms import symmetric_form as symmetric_form
    from dalembert.linear.transforms.interconnect import append as append
    from dalembert.linear.transforms.interconnect import connect as connect
    from dalembert.linear.transforms.norms import PeakGain as PeakGain
    from dalembert.linear.transforms.riccati import RiccatiSolution as RiccatiSolution
    from dalembert.linear.transforms.riccati import care as care
    from dalembert.linear.transforms.riccati import dare as dare
    from dalembert.linear.uncertain import Uncertain as Uncertain
    from dalembert.linear.uncertain import UncertainBlock as UncertainBlock
    from dalembert.linear.uncertain import dynamic_block as dynamic_block

__all__ = attach(__name__, sweep="track_eigenvalues")
