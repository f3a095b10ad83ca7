"""What a blind model of mixtures is worth: is it unique, does it come back, do its rules hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.validated import ValidatedDescent
from eventspace import KolmogorovDescent, Observations
from eventspace.baselines import HypercubeModel
from eventspace.identifiability import identifiability, match_events, stability
from examples.mixing import (
    ITERATIONS,
    Mixture,
    from_random_starts,
    loosened,
    matched,
    scored,
    weights_of,
)


def of_the_model(mixture: Mixture, model: KolmogorovDescent, seeds: range) -> dict[str, Any]:
    """What is unique, what comes back, which penalty held-out entries want, which rules hold."""
    n_types = len(mixture.types)
    seen, reference = model.observations_, mixture.profiles.to_numpy() > 0.5
    truth = KolmogorovDescent.from_parts(mixture.proportions.to_numpy(), reference, seen)
    again = stability([from_random_starts(seen, n_types, seed) for seed in seeds])
    chosen = ValidatedDescent((n_types,), indicator_penalty=(0.0,), random_state=0).fit(seen)
    sums = weights_of(mixture.samples.to_numpy(), mixture.profiles.to_numpy()).sum(axis=1)
    penalty = float(chosen.best_params_["pmf_penalty"])
    return {
        "samples": int(mixture.scored.sum()),
        "sites": len(reference),
        "types": n_types,
        "near binary": float((np.abs(mixture.profiles.to_numpy() - 0.5) > 0.4).mean()),
        "least spread": float(mixture.proportions[mixture.scored].std(ddof=0).min()),
        "sums": [float(of(sums[mixture.scored])) for of in (np.min, np.max)],
        "truth unique": identifiability(truth).unique,
        "model unique": identifiability(model).unique,
        "bits again": again.bits,
        "order again": again.order,
        "penalty": penalty,
        "rmse by penalty": [off(mixture, model, p) for p in (0.0, 1.0, penalty)],
        "bits": float(found_bits(mixture, model).mean()),
        **borne_out(mixture, model),
    }


def found_bits(mixture: Mixture, model: KolmogorovDescent) -> NDArray[np.bool_]:
    """Sites x types: whether the matched event has the rounded reference's bit."""
    reference = mixture.profiles.to_numpy() > 0.5
    order = match_events(reference, model.indicators_)
    return np.asarray(model.indicators_[:, order] == reference)


def apart(profiles: pd.DataFrame) -> dict[str, float]:
    """How far the profile of each type is from the nearest mixture of the others, as an RMSE."""
    distance = {}
    for name in profiles:
        others = profiles.drop(columns=name)
        model = HypercubeModel(others.shape[1], pmf_penalty=0.0, n_iter=ITERATIONS)
        model.fit(Observations.of(profiles[[name]].T, scale=(0.0, 1.0)), indicators=others)
        distance[str(name)] = float(np.sqrt(model.error_ / len(profiles)))
    return distance


def off(mixture: Mixture, model: KolmogorovDescent, penalty: float) -> float:
    """The error of the loosened model, had the penalty been another."""
    estimate = matched(loosened(model, penalty).pmf_, mixture.proportions.to_numpy())
    return round(scored(mixture, {"": estimate})[""]["rmse"], 5)


def borne_out(mixture: Mixture, model: KolmogorovDescent) -> dict[str, float]:
    """How many of the proved rules hold in the rounded reference, and of all pairs of sites.

    And of those rules that surely gain: high values at the first site go with high ones at the
    second.
    """
    bits = mixture.profiles.to_numpy() > 0.5
    holds = np.asarray((bits[:, None] <= bits[None]).all(axis=2))
    pairs = ~np.eye(len(bits), dtype=bool)
    mean = mixture.samples.mean().to_numpy()
    rules: Any = model.rules(top=None, proved=True, min_evidence=0, fold=False)
    sites = mixture.profiles.index
    first, second = (sites.get_indexer(rules[side]) for side in ("if_item", "then_item"))
    gain = (rules["gain_low"] > 0).to_numpy()
    return {
        "rules": len(rules),
        "hold": float(holds[first, second].mean()),
        "gain": int(gain.sum()),
        "gain and hold": float(holds[first, second][gain].mean()),
        "base": float(holds[pairs].mean()),
        "by means": float(holds[pairs & (mean[:, None] <= mean[None])].mean()),
    }


def in_the_reference(mixture: Mixture, model: KolmogorovDescent) -> list[dict[str, str]]:
    """The first proved rules, with the cell types in which the reference is methylated."""
    on = mixture.profiles > 0.5
    found = []
    first_rules: Any = model.rules(top=6, proved=True)
    for rule in first_rules.itertuples():
        first, second = on.loc[rule.if_item], on.loc[rule.then_item]
        found.append(
            {
                "types methylated at": str(rule.if_item),
                "are also methylated at": str(rule.then_item),
                "high at the second, if at the first": f"{rule.confidence:.0%}",
                "of all samples": f"{rule.base:.0%}",
                "the first, in the reference": ", ".join(on.columns[first]),
                "the second": ", ".join(on.columns[second]),
                "holds there": "yes" if (first <= second).all() else "no",
            }
        )
    return found


def held_out_by_events(mixture: Mixture) -> dict[str, float]:
    """The RMSE of held-out entries for several numbers of events."""
    sizes = (2, 3, 4, 5, 6, 7, 8, 10, 12)
    search = ValidatedDescent(
        sizes, pmf_penalty=(1.0,), indicator_penalty=(0.0,), n_init=3, n_iter=50, random_state=0
    ).fit(mixture.observations())
    return {str(n_events): round(error, 4) for (n_events, *_), error in search.errors_.items()}
