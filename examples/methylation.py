"""DNA methylation: which cell types a sample consists of, and at which sites each is methylated.

A sample of tissue is a mixture of cell types (its PMF), and in one type a CpG site is nearly always
or nearly never methylated (its set). What is measured, the part of the molecules that are
methylated at a site, is then the mass of a set: a Kolmogorov model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import table
from eventspace import KolmogorovModel, KolmogorovModelCV
from eventspace.identifiability import identifiability, match_events, stability
from examples.mixing import (
    Floats,
    Mixture,
    blind,
    collect,
    from_random_starts,
    loosened,
    matched,
    mean_and_spread,
    score,
    with_reference,
)
from examples.mixture_pictures import draw_profiles, draw_proportions
from examples.mixtures import BLOOD, LIKE_BLOOD, SIMULATED, SPREAD, TISSUES, mixtures

SEEDS = range(5)
MEANS = "everyone the true mean"
LINEAGES = {"myeloid": ["Mono", "Neutro", "Eosino"], "lymphoid": ["B", "NK", "CD4T", "CD8T"]}
TWO = "Whole blood, two lineages"
OURS, LOOSENED, NNM = "KolmogorovModel", "KolmogorovModel, then loosened", "HypercubeModel (NNM)"
GIVEN, SCALED = "HypercubeModel, given the reference", "NMF, profiles scaled first"
SHOWN = ("NNLS", OURS, LOOSENED, SCALED)
PICTURED = (SIMULATED, SPREAD, LIKE_BLOOD, TISSUES, TWO)


def measure() -> dict[str, Any]:
    """The figures."""
    scores: dict[str, list[dict[str, dict[str, float]]]] = {}
    figures: dict[str, Any] = {"seeds": list(SEEDS), "facts": {}, "pictures": {}}
    for seed in SEEDS:
        for mixture in mixtures(seed):
            estimates, model = estimated(mixture, seed)
            found = scored(mixture, estimates)
            scores.setdefault(mixture.name, []).append(found)
            if mixture.name == BLOOD:
                lineages = two_lineages(mixture)
                halves = {n: matched(e, lineages.proportions.to_numpy())
                          for n, e in blind(mixture, 2, seed)[0].items()}  # fmt: skip
                scores.setdefault(TWO, []).append(scored(lineages, halves))
            if seed != SEEDS[0]:
                continue
            figures["facts"][mixture.name] = of_the_model(mixture, model)
            figures["pictures"][mixture.name] = pictured(mixture, estimates)
            if mixture.name == SPREAD:
                figures["map"] = mapped(mixture, model)
            if mixture.name == BLOOD:
                figures["pictures"][TWO] = pictured(lineages, halves)
                figures["first_rules"] = in_the_reference(mixture, model)
                figures["events"] = held_out_by_events(mixture)
    return {**figures, "scores": {name: collect(runs) for name, runs in scores.items()}}


def scored(mixture: Mixture, estimates: dict[str, Floats]) -> dict[str, dict[str, float]]:
    """How far off each method is."""
    truth, kept = mixture.proportions.to_numpy(), mixture.scored
    return {
        name: {**score(estimate[kept], truth[kept]), "first": float(estimate[kept, 0].mean())}
        for name, estimate in estimates.items()
    }


def pictured(mixture: Mixture, estimates: dict[str, Floats]) -> dict[str, list[str]]:
    """What a picture shows of it."""
    kept = mixture.scored
    shown = {name: rows(estimates[name][kept]) for name in SHOWN if name in estimates}
    return {"types": mixture.types, "true": rows(mixture.proportions.to_numpy()[kept]), **shown}


def estimated(mixture: Mixture, seed: int) -> tuple[dict[str, Floats], KolmogorovModel]:
    """Proportions by every method, the blind ones matched; and the blind Kolmogorov model."""
    truth = mixture.proportions.to_numpy()
    by_eye, model = blind(mixture, truth.shape[1], seed)
    means = np.tile(truth[mixture.scored].mean(axis=0), (len(truth), 1))
    return {
        **with_reference(mixture),
        **{name: matched(estimate, truth) for name, estimate in by_eye.items()},
        MEANS: means,
    }, model


def two_lineages(mixture: Mixture) -> Mixture:
    """The same samples, the proportions and profiles of cell types put together by lineage."""
    sums = {name: mixture.proportions[types].sum(axis=1) for name, types in LINEAGES.items()}
    means = {name: mixture.profiles[types].mean(axis=1) for name, types in LINEAGES.items()}
    return Mixture(TWO, mixture.samples, pd.DataFrame(sums), pd.DataFrame(means))


def of_the_model(mixture: Mixture, model: KolmogorovModel) -> dict[str, Any]:
    """What is unique, what comes back, which penalty held-out entries want, which rules hold."""
    n_types = len(mixture.types)
    seen, reference = model.observations_, mixture.profiles.to_numpy() > 0.5
    truth = KolmogorovModel.from_parts(mixture.proportions.to_numpy(), reference, seen)
    again = stability([from_random_starts(seen, n_types, seed) for seed in SEEDS])
    chosen = KolmogorovModelCV(n_types, indicator_penalty=0.0, cv=0.1, random_state=0).fit(seen)
    order = match_events(reference, model.indicators_)
    penalty = float(chosen.best_params_["pmf_penalty"])
    return {
        "samples": int(mixture.scored.sum()),
        "sites": len(reference),
        "types": n_types,
        "near binary": float((np.abs(mixture.profiles.to_numpy() - 0.5) > 0.4).mean()),
        "least spread": float(mixture.proportions[mixture.scored].std(ddof=0).min()),
        "truth unique": identifiability(truth).unique,
        "model unique": identifiability(model).unique,
        "bits again": again.bits,
        "order again": again.order,
        "penalty": penalty,
        "rmse by penalty": [off(mixture, model, p) for p in (0.0, 1.0, penalty)],
        "bits": float((model.indicators_[:, order] == reference).mean()),
        **borne_out(mixture, model),
    }


def off(mixture: Mixture, model: KolmogorovModel, penalty: float) -> float:
    """The error of the loosened model, had the penalty been another."""
    estimate = matched(loosened(model, penalty).pmf_, mixture.proportions.to_numpy())
    return round(scored(mixture, {"": estimate})[""]["rmse"], 5)


def borne_out(mixture: Mixture, model: KolmogorovModel) -> dict[str, float]:
    """How many of the proved rules hold in the rounded reference, and of all pairs of sites."""
    bits = mixture.profiles.to_numpy() > 0.5
    holds = np.asarray((bits[:, None] <= bits[None]).all(axis=2))
    pairs = ~np.eye(len(bits), dtype=bool)
    mean = mixture.samples.mean().to_numpy()
    rules = model.rules(top=None, fold=False)
    sites = mixture.profiles.index
    first, second = (sites.get_indexer(rules[side]) for side in ("if_item", "then_item"))
    return {
        "rules": len(rules),
        "hold": float(holds[first, second].mean()),
        "base": float(holds[pairs].mean()),
        "by means": float(holds[pairs & (mean[:, None] <= mean[None])].mean()),
    }


def in_the_reference(mixture: Mixture, model: KolmogorovModel) -> list[dict[str, str]]:
    """The first rules, with the cell types in which the reference is methylated."""
    on = mixture.profiles > 0.5
    found = []
    for rule in model.rules(top=6).itertuples():
        first, second = on.loc[rule.if_item], on.loc[rule.then_item]
        found.append(
            {
                "whoever is methylated at": str(rule.if_item),
                "is methylated at": str(rule.then_item),
                "the first, in the reference": ", ".join(on.columns[first]),
                "the second": ", ".join(on.columns[second]),
                "holds there": "yes" if (first <= second).all() else "no",
            }
        )
    return found


def held_out_by_events(mixture: Mixture) -> dict[str, float]:
    """The RMSE of held-out entries for several numbers of events."""
    sizes = (2, 3, 4, 5, 6, 7, 8, 10, 12)
    search = KolmogorovModelCV(
        sizes, pmf_penalty=1.0, indicator_penalty=0.0, cv=0.1, n_init=3, n_iter=50, random_state=0
    ).fit(mixture.observations())
    errors = search.cv_results_["mean_rmse"].round(4).tolist()
    return dict(zip(map(str, sizes), errors, strict=True))


def rows(values: Floats) -> list[str]:
    """A line a row, so that the figures can be read."""
    return [" ".join(f"{value:.3f}" for value in row) for row in values]


def mapped(mixture: Mixture, model: KolmogorovModel) -> dict[str, Any]:
    """The reference and the sets, the events in the order that agrees best with it."""
    reference = mixture.profiles.to_numpy()
    order = match_events(reference > 0.5, model.indicators_)
    bits = model.indicators_[:, order].astype(np.float64)
    return {"types": mixture.types, "reference": rows(reference), "sets": rows(bits)}


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """What the page says, by its marked places."""
    scores, facts = figures["scores"], figures["facts"]
    columns = [SIMULATED, SPREAD, LIKE_BLOOD, TISSUES, BLOOD]

    def cell(name: str, method: str, *measures: str) -> str:
        if name == BLOOD and method == "NNLS":
            return "taken as true"
        return ", ".join(mean_and_spread(scores[name][method][what]) for what in measures)

    def by_method(*measures: str) -> str:
        methods = list(scores[SIMULATED])
        if "correlation" in measures:
            methods.remove(MEANS)
        return table(
            [{"": m, **{name: cell(name, m, *measures) for name in columns}} for m in methods]
        )

    return {
        "verdict": verdict(figures),
        "data": table([
            {
                "": name, "samples": fact["samples"], "sites": fact["sites"],
                "types": fact["types"],
                "profiles below 0.1 or above 0.9": f"{fact['near binary']:.0%}",
                "least spread of a type": f"{fact['least spread']:.3f}",
            }
            for name, fact in facts.items()
        ]),
        "rmse": by_method("rmse"),
        "others": by_method("mae", "correlation"),
        "lineages": table([
            {
                "": method, "RMSE": mean_and_spread(of["rmse"]),
                "correlation": mean_and_spread(of["correlation"]),
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
        "rules": table([
            {
                "": name, "rules": f"{fact['rules']:,}", "hold": f"{fact['hold']:.0%}",
                "of all pairs": f"{fact['base']:.0%}",
                "of pairs in the order of the means": f"{fact['by means']:.0%}",
            }
            for name, fact in facts.items()
        ]),
        "first": table(figures["first_rules"]),
    }  # fmt: skip


def verdict(figures: dict[str, Any]) -> str:
    """The sentences at the top, with their figures."""

    def rmse(name: str, method: str) -> str:
        return f"{np.mean(figures['scores'][name][method]['rmse']):.3f}"

    def against(name: str) -> str:
        return f"{rmse(name, LOOSENED)} against {rmse(name, SCALED)}"

    rules = figures["facts"]
    return (
        f"**With a reference, a tie.** Given the profiles as they are, `HypercubeModel` finds what "
        f"NNLS finds (RMSE of the proportions {rmse(SIMULATED, GIVEN)} against "
        f"{rmse(SIMULATED, 'NNLS')} on simulated data, {rmse(LIKE_BLOOD, GIVEN)} against "
        f"{rmse(LIKE_BLOOD, 'NNLS')} on mixtures like blood). A reference rounded to zeros and "
        f"ones is worse by far unless the sites are clear markers.\n\n"
        f"**Blind, better than NMF on methylation and worse on Shen-Orr's tissues.** A "
        f"Kolmogorov model whose sets are then loosened to numbers: {against(SIMULATED)} on "
        f"simulated data, {against(SPREAD)} and {against(LIKE_BLOOD)} on mixtures of real "
        f"profiles; but {against(TISSUES)} on the tissues. With its sets left binary it has "
        f"{rmse(SIMULATED, OURS)}, {rmse(SPREAD, OURS)}, {rmse(LIKE_BLOOD, OURS)} and "
        f"{rmse(TISSUES, OURS)}.\n\n"
        f"**Seven cell types cannot be told blind in blood**, by any method here: all are further "
        f"off than the mean for everyone ({rmse(LIKE_BLOOD, MEANS)}). Its two lineages can. And of "
        f"the rules between sites {rules[SPREAD]['hold']:.0%} hold in the reference where "
        f"proportions are spread, but {rules[BLOOD]['hold']:.0%} in blood "
        f"({rules[BLOOD]['base']:.0%} of all pairs do)."
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
