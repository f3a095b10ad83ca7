"""Mixtures of cell types and of tissues: real ones, and some made from real profiles."""

from __future__ import annotations

import numpy as np
import pandas as pd

from eventspace.datasets import methylation_houseman, methylation_liu50, shen_orr
from examples.mixing import Floats, Mixture, nonnegative

NOISE = 0.055  # of a site: the RMSE of NNLS on Liu's blood
SIMULATED, SPREAD, LIKE_BLOOD = "Simulated", "Made, spread", "Made, like blood"
TISSUES, BLOOD = "Tissues", "Whole blood"


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """Samples x sites."""
    return table.pivot_table(index="user", columns="item", values="value")


def simulated() -> Mixture:
    """Houseman's 250 subjects, the 250 sites in which four types differ, true proportions."""
    data = methylation_houseman()
    proportions, profiles = data.truth["pmf"], data.truth["profiles"]
    samples = wide(data.table).loc[proportions.index, profiles.index]
    return Mixture(SIMULATED, samples, proportions, profiles)


def whole_blood() -> Mixture:
    """Liu's 50 samples, the 326 sites of the reference; the proportions are NNLS's estimate."""
    data = methylation_liu50()
    samples, profiles = wide(data.table), data.truth["reference"]
    profiles = profiles[profiles.index.isin(samples.columns)]
    samples = samples[profiles.index]
    estimate = nonnegative(samples.to_numpy(), profiles.to_numpy())
    proportions = pd.DataFrame(estimate, samples.index, profiles.columns)
    return Mixture(BLOOD, samples, proportions, profiles)


def made(name: str, proportions: Floats, profiles: pd.DataFrame, seed: int) -> Mixture:
    """Real profiles mixed in known proportions, with noise."""
    noise = np.random.default_rng(seed).normal(0.0, NOISE, (len(proportions), len(profiles)))
    values = np.clip(proportions @ profiles.to_numpy().T + noise, 0.0, 1.0)
    samples = pd.DataFrame(values, columns=profiles.index)
    return Mixture(name, samples, pd.DataFrame(proportions, columns=profiles.columns), profiles)


def tissues() -> Mixture:
    """Shen-Orr's liver, brain and lung, mixed by pipette; the reference are the pure samples."""
    data = shen_orr()
    proportions = data.truth["pmf"]
    samples = wide(data.table).loc[proportions.index]
    is_pure = proportions > 0.999
    reference = {name: samples[is_pure[name]].mean() for name in proportions}
    pure = tuple(samples.index[is_pure.any(axis=1)])
    return Mixture(TISSUES, samples, proportions, pd.DataFrame(reference), pure)


def mixtures(seed: int) -> list[Mixture]:
    """All of them; a seed makes new noise, and where they are spread new proportions."""
    blood = whole_blood()
    profiles = blood.profiles
    even = np.random.default_rng(1000 + seed).dirichlet(np.ones(profiles.shape[1]), 50)
    return [
        simulated(),
        made(SPREAD, even, profiles, seed),
        made(LIKE_BLOOD, blood.proportions.to_numpy(), profiles, seed),
        tissues(),
        blood,
    ]
