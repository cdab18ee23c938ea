"""Sums of filtered signals by moments of blocks, against filters that run sample by sample."""

from dataclasses import replace
from functools import partialmethod

import numpy as np
import pytest
import scipy.linalg
from scipy.signal import lfilter

from dalembert.identify.likelihood import modal_likelihood as likelihood
from dalembert.identify.likelihood.filter_sums import Moments
from dalembert.identify.likelihood.likelihood_search import LikelihoodSearch
from dalembert.identify.likelihood.modal_likelihood import ModalModel
from dalembert.identify.subspace import input_matrices

# a mode, one that hardly decays, one that dies at once, a slow real one
POLES = np.array([-0.01 + 0.3j, -1e-9 + 2.0j, -3.0 + 0.0j, -0.001 + 0.0j])
DECAYING = np.array([-0.01 + 0.3j, -0.002 + 2.0j, -3.0 + 0.0j, -0.001 + 0.0j])


def noise(count, channels, seed=0):
    return np.random.default_rng(seed).standard_normal((count, channels))


@pytest.mark.parametrize("count", [5, 255, 256, 257, 1000, 3000])
def test_sums_over_a_record_are_those_of_running_filters(count):
    u, y = noise(count, 3), noise(count, 2, 1)
    w, more, t = np.hstack([u, y]), np.vstack([u, np.zeros((1, 3))]).astype(complex), np.arange(count + 1)
    found = Moments(u, y).sums(POLES, derivatives=True)
    for j, pole in enumerate(POLES):
        f = lfilter([0.0, 1.0], [1.0, -np.exp(pole)], more, axis=0)
        d = lfilter([0.0, 1.0], [1.0, -np.exp(pole)], f, axis=0)
        h, dh = np.exp(pole * t), t * np.exp(pole * (t - 1))
        for got, true in (
            (found.fw, f[:-1].T @ w), (found.hw, h[:-1] @ w), (found.f_end, f[-1]), (found.h_end, h[-1]),
            (found.df_w, d[:-1].T @ w), (found.dh_w, dh[:-1] @ w), (found.df_end, d[-1]), (found.dh_end, dh[-1]),
        ):  # fmt: skip
            assert np.abs(got[j] - true).max() <= 1e-11 * max(1.0, np.abs(true).max())


def test_chunks_of_blocks_add_up_to_the_same(monkeypatch):
    u, y = noise(3000, 2), noise(3000, 1, 1)
    whole = Moments(u, y).sums(POLES, derivatives=True)
    monkeypatch.setattr(Moments, "chunks", partialmethod(Moments.chunks, chunk=1))
    parts = Moments(u, y).sums(POLES, derivatives=True)
    for name in ("fw", "hw", "f_end", "df_w", "dh_w", "df_end"):
        assert np.abs(getattr(whole, name) - getattr(parts, name)).max() < 1e-11 * np.abs(getattr(whole, name)).max()


def some_model(nu, ny, segments, poles=DECAYING):
    rng = np.random.default_rng(3)
    real = poles.imag == 0.0

    def numbers(*shape):
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    weights, C = numbers(4, nu + segments), numbers(ny, 4)
    weights[real], C[:, real] = weights[real].real, C[:, real].real
    direct = np.arange(nu) != 1
    return ModalModel(poles, real, weights, C, rng.standard_normal((ny, nu)) * direct, direct)


@pytest.mark.parametrize("nu", [0, 1, 3])
def test_products_by_moments_are_those_of_all_samples(nu):
    lengths = (700, 90)
    u, y = tuple(noise(n, nu, n) for n in lengths), tuple(noise(n, 2, n + 1) for n in lengths)
    model = some_model(nu, 2, 2)
    slow = likelihood.products_from_samples(model, u, y)
    quick = likelihood.products_from_moments(model, [Moments(*pair) for pair in zip(u, y, strict=True)])
    for name in ("zz", "zu", "uu", "ze", "ue", "ee"):
        a, b = getattr(slow, name), getattr(quick, name)
        assert a.shape == b.shape
        assert np.abs(a - b).max(initial=0.0) <= 1e-11 * np.abs(a).max(initial=1.0)


@pytest.mark.parametrize("poles", [DECAYING, POLES], ids=["decaying", "undamped"])
@pytest.mark.parametrize("size", [1e-6, 0.1])
def test_residuals_small_or_large_are_those_of_all_samples(size, poles):
    u = noise(2000, 1)
    model = replace(some_model(1, 2, 1, poles), weights=np.ones((4, 2), dtype=complex))
    x = np.array([lfilter([0.0, 1.0], [1.0, -np.exp(p)], u[:, 0] + 0j) + np.exp(p * np.arange(2000)) for p in poles])
    y = (model.C @ x).real.T + u @ model.D.T
    e = size * np.abs(y).max() * noise(2000, 2, 5)
    total = LikelihoodSearch((u,), (y + e,), full=True, start=True).products(model).ee
    assert np.abs(total - e.T @ e).max() < 1e-9 * np.trace(e.T @ e)


@pytest.mark.parametrize("predicted", [False, True])
def test_regressors_of_the_input_matrices_have_the_same_products(predicted):
    turns = [0.99 * np.array([[np.cos(w), np.sin(w)], [-np.sin(w), np.cos(w)]]) for w in (0.3, 2.0)]
    shape = noise(6, 6, 7)
    A = shape @ scipy.linalg.block_diag(*turns, 0.5, -0.999) @ np.linalg.inv(shape)
    C, K = noise(3, 6, 8), noise(6, 3, 9) if predicted else None
    modal = input_matrices.find_filters(A)
    u, y, scales = noise(2000, 2), noise(2000, 3, 1), np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    slow = sum(block.T @ block for block in input_matrices._regressors(u, y, scales, modal, A, C, K))
    assert np.abs(modal.products(u, y, scales, C, K) - slow).max() < 1e-12 * np.abs(slow).max()
