"""DNA methylation: which cell types a sample consists of, and at which sites each is methylated.

A sample of tissue is a mixture of cell types (its PMF), and in one type a CpG site is nearly always
or nearly never methylated (its set). What is measured, the part of the molecules that are
methylated at a site, is then the mass of a set: a Kolmogorov model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import table
from eventspace import KolmogorovDescent
from eventspace.identifiability import match_events
from examples.mixing import (
    Floats,
    Mixture,
    blind,
    collect,
    matched,
    mean_and_spread,
    scored,
    with_reference,
)
from examples.mixture_models import (
    apart,
    found_bits,
    held_out_by_events,
    in_the_reference,
    of_the_model,
)
from examples.mixture_pictures import draw_profiles, draw_proportions
from examples.mixtures import BLOOD, LIKE_BLOOD, SIMULATED, SPREAD, TISSUES, mixtures

SEEDS = range(5)
MEANS = "everyone the true mean"
LINEAGES = {"myeloid": ["Mono", "Neutro", "Eosino"], "lymphoid": ["B", "NK", "CD4T", "CD8T"]}
TWO = "Whole blood, two lineages"
OURS, LOOSENED = "KolmogorovDescent", "KolmogorovDescent, then loosened"
GIVEN, SCALED = "HypercubeModel, given the reference", "NMF, profiles scaled first"
SHOWN = ("NNLS", OURS, LOOSENED, SCALED)
PICTURED = (SIMULATED, SPREAD, LIKE_BLOOD, TISSUES, TWO)


def measure() -> dict[str, Any]:
    """The figures."""
    scores: dict[str, list[dict[str, dict[str, float]]]] = {}
    figures: dict[str, Any] = {"seeds": list(SEEDS), "facts": {}, "pictures": {}, "bits": []}
    for seed in SEEDS:
        for mixture in mixtures(seed):
            estimates, model = estimated(mixture, seed)
            found = scored(mixture, estimates)
            scores.setdefault(mixture.name, []).append(found)
            if mixture.name == BLOOD:
                lineages = two_lineages(mixture)
                halves = {n: matched(e, lineages.proportions.to_numpy())
                          for n, e in blind(mixture, 2, seed)[0].items()}  # fmt: skip
                halves["NNLS, summed"] = lineages.proportions.to_numpy()
                scores.setdefault(TWO, []).append(scored(lineages, halves))
            if mixture.name == SPREAD:
                figures["bits"].append(found_bits(mixture, model).mean(axis=0).round(4).tolist())
            if seed != SEEDS[0]:
                continue
            figures["facts"][mixture.name] = of_the_model(mixture, model, SEEDS)
            figures["pictures"][mixture.name] = pictured(mixture, estimates)
            if mixture.name == SPREAD:
                figures["map"] = mapped(mixture, model)
            if mixture.name == BLOOD:
                figures["pictures"][TWO] = pictured(lineages, halves)
                figures["apart"] = apart(mixture.profiles)
                figures["first_rules"] = in_the_reference(mixture, model)
                figures["events"] = held_out_by_events(mixture)
    return {**figures, "scores": {name: collect(runs) for name, runs in scores.items()}}


def pictured(mixture: Mixture, estimates: dict[str, Floats]) -> dict[str, list[str]]:
    """What a picture shows of it."""
    kept = mixture.scored
    shown = {name: rows(estimates[name][kept]) for name in SHOWN if name in estimates}
    return {"types": mixture.types, "true": rows(mixture.proportions.to_numpy()[kept]), **shown}


def estimated(mixture: Mixture, seed: int) -> tuple[dict[str, Floats], KolmogorovDescent]:
    """Proportions by every method, the blind ones matched; and the blind Kolmogorov model."""
    truth = mixture.proportions.to_numpy()
    unnamed, model = blind(mixture, truth.shape[1], seed)
    means = np.tile(truth[mixture.scored].mean(axis=0), (len(truth), 1))
    return {
        **with_reference(mixture),
        **{name: matched(estimate, truth) for name, estimate in unnamed.items()},
        MEANS: means,
    }, model


def two_lineages(mixture: Mixture) -> Mixture:
    """The same samples, the proportions and profiles of cell types put together by lineage."""
    sums = {name: mixture.proportions[types].sum(axis=1) for name, types in LINEAGES.items()}
    means = {name: mixture.profiles[types].mean(axis=1) for name, types in LINEAGES.items()}
    return Mixture(TWO, mixture.samples, pd.DataFrame(sums), pd.DataFrame(means))


def rows(values: Floats) -> list[str]:
    """One line per row, so that the figures can be read."""
    return [" ".join(f"{value:.3f}" for value in row) for row in values]


def mapped(mixture: Mixture, model: KolmogorovDescent) -> dict[str, Any]:
    """The reference and the sets, the events in the order that agrees best with it."""
    reference = mixture.profiles.to_numpy()
    order = match_events(reference > 0.5, model.indicators_)
    bits = model.indicators_[:, order].astype(np.float64)
    return {"types": mixture.types, "reference": rows(reference), "sets": rows(bits)}


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """What the page says, by its marked places."""
    scores, facts = figures["scores"], figures["facts"]
    columns = [SIMULATED, SPREAD, LIKE_BLOOD, TISSUES, BLOOD]

    def by_method(shown: Callable[[dict[str, list[float]]], str], methods: list[str]) -> str:
        return table(
            [
                {"": method, **{name: shown(scores[name][method]) for name in columns}}
                | ({BLOOD: "taken as true"} if method == "NNLS" else {})
                for method in methods
            ]
        )

    def errors(of: dict[str, list[float]]) -> str:
        return f"{np.mean(of['mae']):.3f}, {np.mean(of['correlation']):.2f}"

    methods = list(scores[SIMULATED])
    without = [method for method in methods if method != MEANS]
    return {
        "verdict": verdict(figures),
        "data": table([
            {
                "": name, "samples": fact["samples"], "sites": fact["sites"],
                "types": fact["types"],
                "profiles below 0.1 or above 0.9": f"{fact['near binary']:.0%}",
                "NNLS's weights add up to": f"{fact['sums'][0]:.2f} to {fact['sums'][1]:.2f}",
                "least spread of a type": f"{fact['least spread']:.3f}",
            }
            for name, fact in facts.items()
        ]),
        "rmse": by_method(lambda of: mean_and_spread(of["rmse"]), methods),
        "others": by_method(errors, without),
        "lineages": table([
            {
                "": method,
                "RMSE": "taken as true" if "NNLS" in method else mean_and_spread(of["rmse"]),
                "correlation": "" if "NNLS" in method else mean_and_spread(of["correlation"]),
                "myeloid, mean": mean_and_spread(of["first"]),
            }
            for method, of in scores[TWO].items()
        ]),
        "penalties": table([
            {
                "": name, "chosen": f"{fact['penalty']:.3g}",
                **{
                    f"RMSE at {at}": f"{rmse:.3f}"
                    for at, rmse in zip(
                        ("0", "1", "the chosen one"), fact["rmse by penalty"], strict=True
                    )
                },
            }
            for name, fact in facts.items()
        ]),
        "events": table([
            {"events": "held-out RMSE", **{n: f"{e:.4f}" for n, e in figures["events"].items()}}
        ]),
        "unique": table([
            {
                "": name,
                "truth unique": "yes" if fact["truth unique"] else "no",
                "model unique": "yes" if fact["model unique"] else "no",
                "bits that come back": f"{fact['bits again']:.2f}",
                "inclusions that come back": f"{fact['order again']:.2f}",
                "bits as in the reference": f"{fact['bits']:.2f}",
            }
            for name, fact in facts.items()
        ]),
        "types": table([
            {
                "": name, "to a mixture of the others": f"{distance:.3f}",
                "bits as in the reference": mean_and_spread(list(bits), 2),
            }
            for (name, distance), bits in zip(
                figures["apart"].items(), np.transpose(figures["bits"]).tolist(), strict=True
            )
        ]),
        "rules": table([
            {
                "": name, "rules": f"{fact['rules']:,}", "hold": f"{fact['hold']:.0%}",
                "surely gain": f"{fact['gain']:,}", "of them hold": f"{fact['gain and hold']:.0%}",
                "of all pairs": f"{fact['base']:.0%}",
                "of pairs in the order of the means": f"{fact['by means']:.0%}",
            }
            for name, fact in facts.items()
        ]),
        "first": table(figures["first_rules"]),
    }  # fmt: skip


def verdict(figures: dict[str, Any]) -> str:
    """The sentences at the top, with their figures."""
    means = {
        name: {method: float(np.mean(of["rmse"])) for method, of in scores.items()}
        for name, scores in figures["scores"].items()
    }

    def against(name: str) -> str:
        nmf = min(rmse for method, rmse in means[name].items() if method.startswith("NMF"))
        return f"{means[name][LOOSENED]:.3f} against {nmf:.3f}"

    def left_binary(name: str) -> str:
        return f"{means[name][OURS]:.3f}"

    made = figures["facts"][SPREAD]
    blood = figures["facts"][BLOOD]
    return (
        f"- **With a reference it is a tie.** Given the profiles, `HypercubeModel` and NNLS find "
        f"the same (RMSE of the proportions {means[SIMULATED][GIVEN]:.3f} against "
        f"{means[SIMULATED]['NNLS']:.3f} on simulated data, {means[LIKE_BLOOD][GIVEN]:.3f} against "
        f"{means[LIKE_BLOOD]['NNLS']:.3f} on mixtures like blood). A reference rounded to zeros "
        f"and ones is worse, unless its sites are clear markers.\n"
        f"- **Blind, from the same starts, it is as good as NMF.** A Kolmogorov model whose sets "
        f"are then loosened to numbers has {against(SIMULATED)} on simulated data, "
        f"{against(SPREAD)} and {against(LIKE_BLOOD)} on mixtures of real profiles, and "
        f"{against(TISSUES)} on Shen-Orr's tissues. With binary sets it has "
        f"{left_binary(SIMULATED)}, {left_binary(SPREAD)}, {left_binary(LIKE_BLOOD)} and "
        f"{left_binary(TISSUES)}.\n"
        f"- **No method here can tell seven cell types blind in blood** (the mean for everyone has "
        f"{means[LIKE_BLOOD][MEANS]:.3f}). Believe rules between sites only where proportions "
        f"are spread: there {made['hold']:.0%} hold in the reference "
        f"({made['base']:.0%} of all pairs do), in whole blood {blood['hold']:.0%}; of those "
        f"that surely gain, {blood['gain and hold']:.0%}."
    )


def draw(figures: dict[str, Any], folder: Path) -> None:
    """True against estimated proportions; and the reference beside the sets."""
    rmse = {
        name: {method: float(np.mean(of["rmse"])) for method, of in scores.items()}
        for name, scores in figures["scores"].items()
    }
    shown = {name: figures["pictures"][name] for name in PICTURED}
    draw_proportions(shown, rmse, folder / "methylation-proportions.png")
    draw_profiles(figures["map"], folder / "methylation-profiles.png")
