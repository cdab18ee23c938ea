"""Nonlinear Kalman filters of other packages on the chain of ``benchmarks.filters``, each as its guide shows it.

The first sample corrects the start, every other is predicted to first. Exact Jacobians by hand where a package takes
none of its own (filterpy, Stone Soup); dynamax differentiates with JAX, in 64 bits, after its compilation.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.filters import CUBIC, DAMPING, DT, P0, PEER_SAMPLES, STIFFNESS, Chain, R, pick_samples
from benchmarks.harness import Emit, cpu_time, repeats

JAX_SAMPLES = 20_000


def measured(run: Callable[[], Any], samples: int, emit: Emit, **more: Any) -> None:
    """Microseconds per sample of ``run() -> estimates (samples, states)``."""
    cpu, estimates = cpu_time(run)
    times = [cpu, *(cpu_time(run)[0] for _ in range(repeats(cpu) - 1))]
    emit({"us": 1e6 * min(times) / samples, "repeats": len(times), "estimates": pick_samples(estimates), **more})


def filterpy_ekf(task: dict[str, Any], emit: Emit) -> None:
    from filterpy.kalman import ExtendedKalmanFilter

    chain = Chain(task["states"])
    y, H, seen = chain.record(PEER_SAMPLES), chain.H, chain.seen

    class Filter(ExtendedKalmanFilter):  # type: ignore[misc]
        def predict_x(self, u: Any = 0) -> None:
            self.F = chain.step_slope(self.x)
            self.x = chain.step(self.x)

    def run() -> Any:
        f = Filter(chain.states, 3)
        f.x, f.P, f.Q, f.R = np.zeros(chain.states), P0 * np.eye(chain.states), chain.Q, R * np.eye(3)
        estimates = np.empty((len(y), chain.states))
        for k, sample in enumerate(y):
            if k:
                f.predict()
            f.update(sample, lambda x: H, lambda x: x[seen])
            estimates[k] = f.x
        return estimates

    measured(run, len(y), emit)


def filterpy_ukf(task: dict[str, Any], emit: Emit) -> None:
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    chain = Chain(task["states"])
    y, seen = chain.record(PEER_SAMPLES), chain.seen

    def run() -> Any:
        points = MerweScaledSigmaPoints(chain.states, alpha=1.0, beta=2.0, kappa=0.0)
        f = UnscentedKalmanFilter(
            chain.states, 3, DT, fx=lambda x, dt: chain.step(x), hx=lambda x: x[seen], points=points
        )
        f.x, f.P, f.Q, f.R = np.zeros(chain.states), P0 * np.eye(chain.states), chain.Q, R * np.eye(3)
        f.sigmas_f = points.sigma_points(f.x, f.P)
        estimates = np.empty((len(y), chain.states))
        for k, sample in enumerate(y):
            if k:
                f.predict()
            f.update(sample)
            estimates[k] = f.x
        return estimates

    measured(run, len(y), emit)


def pykalman_ukf(task: dict[str, Any], emit: Emit) -> None:
    from pykalman import AdditiveUnscentedKalmanFilter

    chain = Chain(task["states"])
    y, seen = chain.record(PEER_SAMPLES), chain.seen

    def run() -> Any:
        f = AdditiveUnscentedKalmanFilter(
            chain.step, lambda x: x[seen], chain.Q, R * np.eye(3), np.zeros(chain.states), P0 * np.eye(chain.states)
        )
        return np.asarray(f.filter(y)[0])

    measured(run, len(y), emit)


def _stonesoup(task: dict[str, Any], emit: Emit, kind: str) -> None:
    from datetime import datetime, timedelta

    from stonesoup.models.measurement.linear import LinearGaussian
    from stonesoup.models.transition.base import TransitionModel
    from stonesoup.predictor.kalman import ExtendedKalmanPredictor, UnscentedKalmanPredictor
    from stonesoup.types.detection import Detection
    from stonesoup.types.hypothesis import SingleHypothesis
    from stonesoup.types.prediction import GaussianStatePrediction
    from stonesoup.updater.kalman import ExtendedKalmanUpdater, UnscentedKalmanUpdater

    chain = Chain(task["states"])
    y = chain.record(PEER_SAMPLES)

    class Transition(TransitionModel):  # type: ignore[misc]
        @property
        def ndim_state(self) -> int:
            return chain.states

        def function(self, state: Any, noise: Any = False, **_: Any) -> Any:
            return type(state.state_vector)(chain.step(np.asarray(state.state_vector, dtype=float)))  # one or many

        def jacobian(self, state: Any, **_: Any) -> Any:
            return chain.step_slope(np.asarray(state.state_vector, dtype=float).ravel())

        def covar(self, **_: Any) -> Any:
            return chain.Q

        def rvs(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        def pdf(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    sensor = LinearGaussian(ndim_state=chain.states, mapping=chain.seen, noise_covar=R * np.eye(3))
    rule = {"alpha": 1.0, "beta": 2.0, "kappa": 0.0} if kind == "ukf" else {}
    # without it rounding makes the covariance of the extended filter ever less symmetric, until it is lost
    symmetric = {"force_symmetric_covariance": True}
    predictor = (UnscentedKalmanPredictor if kind == "ukf" else ExtendedKalmanPredictor)(Transition(), **rule)
    updater = (UnscentedKalmanUpdater if kind == "ukf" else ExtendedKalmanUpdater)(sensor, **rule, **symmetric)
    start = datetime(2000, 1, 1)

    def run() -> Any:
        state: Any = GaussianStatePrediction(np.zeros((chain.states, 1)), P0 * np.eye(chain.states), timestamp=start)
        estimates = np.empty((len(y), chain.states))
        for k, sample in enumerate(y):
            now = start + timedelta(seconds=k * DT)
            if k:
                state = predictor.predict(state, timestamp=now)
            state = updater.update(SingleHypothesis(state, Detection(sample[:, None], timestamp=now)))
            estimates[k] = np.asarray(state.state_vector, dtype=float).ravel()
        return estimates

    measured(run, len(y), emit)


def stonesoup_ekf(task: dict[str, Any], emit: Emit) -> None:
    _stonesoup(task, emit, "ekf")


def stonesoup_ukf(task: dict[str, Any], emit: Emit) -> None:
    _stonesoup(task, emit, "ukf")


def _dynamax(task: dict[str, Any], emit: Emit, kind: str) -> None:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # one thread, as everybody
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from dynamax.nonlinear_gaussian_ssm import (
        ParamsNLGSSM,
        UKFHyperParams,
        extended_kalman_filter,
        unscented_kalman_filter,
    )

    chain = Chain(task["states"])
    n, seen = chain.masses, jnp.array(chain.seen)

    def rate(x: Any) -> Any:
        q, v = x[:n], x[n:]
        padded = jnp.pad(q, 1)
        bend = padded[:-2] - 2.0 * q + padded[2:]
        return jnp.concatenate([v, STIFFNESS * bend - DAMPING * v - CUBIC * q**3])

    def step(x: Any) -> Any:
        k1 = rate(x)
        k2 = rate(x + DT / 2 * k1)
        k3 = rate(x + DT / 2 * k2)
        k4 = rate(x + DT * k3)
        return x + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    parameters = ParamsNLGSSM(
        initial_mean=jnp.zeros(chain.states),
        initial_covariance=P0 * jnp.eye(chain.states),
        dynamics_function=step,
        dynamics_covariance=jnp.array(chain.Q),
        emission_function=lambda x: x[seen],
        emission_covariance=R * jnp.eye(3),
    )
    wanted = ["filtered_means", "filtered_covariances"]  # what a run of ours keeps, too

    @jax.jit  # type: ignore[untyped-decorator]
    def filtered(y: Any) -> Any:
        if kind == "ekf":
            found = extended_kalman_filter(parameters, y, output_fields=wanted)
        else:
            found = unscented_kalman_filter(parameters, y, UKFHyperParams(1.0, 2.0, 0.0), output_fields=wanted)
        return found.filtered_means, found.filtered_covariances

    y = jnp.array(chain.record(JAX_SAMPLES))
    begin = time.perf_counter()
    jax.block_until_ready(filtered(y))
    built = time.perf_counter() - begin
    measured(lambda: jax.block_until_ready(filtered(y))[0], len(y), emit, compile_s=built)


def dynamax_ekf(task: dict[str, Any], emit: Emit) -> None:
    _dynamax(task, emit, "ekf")


def dynamax_ukf(task: dict[str, Any], emit: Emit) -> None:
    _dynamax(task, emit, "ukf")
