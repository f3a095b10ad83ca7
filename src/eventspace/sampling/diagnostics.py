"""Whether chains have converged, and how many independent draws they are worth."""

from __future__ import annotations

import numpy as np

from eventspace._base.types import Floats


def split_rhat(draws: Floats) -> Floats:
    """R-hat of chains x draws (x quantities), each chain cut in two (Gelman et al., 2013).

    The square root of the variance over all draws to that within half-chains: one where they agree.
    """
    halves = _halves(np.asarray(draws, dtype=np.float64))
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between
    flat = within <= 0
    ratio = np.divide(pooled, within, out=np.ones_like(pooled), where=~flat)
    return np.asarray(np.where(flat & (between > 0), np.inf, np.sqrt(ratio)))


def effective_size(draws: Floats) -> Floats:
    """The effective sample size of chains x draws (x quantities), all chains together.

    By autocorrelations over the half-chains' pooled variance, summed in pairs while these are
    positive and falling (Geyer, 1992).
    """
    halves = _halves(np.asarray(draws, dtype=np.float64))
    m, n = halves.shape[:2]
    flat = halves.reshape(m, n, -1)
    within = flat.var(axis=1, ddof=1).mean(axis=0)
    pooled = (n - 1) / n * within + flat.mean(axis=1).var(axis=0, ddof=1)
    covariance = _autocovariance(flat).mean(axis=0)  # lags x quantities
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within - covariance * n / (n - 1)) / pooled
    correlation = np.where(pooled > 0, correlation, 0.0)
    correlation[0] = 1.0
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.cumprod(pairs > 0, axis=0), pairs, 0.0), axis=0)
    size = m * n / np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(max(m * n, 10)))
    return np.asarray(size.reshape(halves.shape[2:]))


def _halves(draws: Floats) -> Floats:
    n = draws.shape[1] // 2
    if n < 2:
        raise ValueError(f"{draws.shape[1]} draws a chain are too few: 4 are needed.")
    return np.concatenate([draws[:, :n], draws[:, -n:]])


def _autocovariance(chains: Floats) -> Floats:
    """Chains x lags x quantities, by the fast Fourier transform."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * n, axis=1)
    power = np.abs(spectrum) ** 2
    return np.asarray(np.fft.irfft(power, n=2 * n, axis=1)[:, :n] / n)
