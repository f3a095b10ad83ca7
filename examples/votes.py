"""Roll calls: predict votes that were hidden, read blocs as events, find votes that imply others.

The 16 key votes of the House in 1984, and the 109th Senate. A user is a legislator, an item a roll
call, the value 1 for yea and 0 for nay. Baskets of a grocery, where only a yes is ever seen, are in
examples/baskets.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.validated import ValidatedDescent
from eventspace import KolmogorovEnsemble, KolmogorovPosterior
from eventspace.datasets import Dataset
from eventspace.datasets.votes import house_votes_84, senate_109
from eventspace.metrics import brier_score
from examples import compare
from examples.baskets import N_RULES, SORTED_BY, measure_baskets
from examples.compare import COLUMNS, Floats, Measure, Tool
from examples.ideal_points import IdealPoints, ideal_points
from examples.votes_pictures import draw

__all__ = ["draw", "measure", "tables"]

SEEDS = (1, 2, 3)  # what is tried was settled with seed 0, which takes no part
LOPSIDED = 0.025  # a smaller minority than this part, and a roll call takes no part, as is usual
SURE = 0.005  # for the log loss, chances are cut off at this distance from 0 and 1
PENALTIES = (1.0, 3.0, 10.0, 30.0)  # of ideal points
SWEEPS = {"n_warmup": 40, "n_draws": 40}  # fewer than by default: a minute for all
CHAINS: dict[str, Any] = {**SWEEPS, "n_chains": 4, "n_samples": 32, "random_state": 0}
BLOCS = {"house": 5, "senate": 5}
FIRST, EVIDENCE = 50, 5  # rules that are compared, and how many must say yea to both
LISTED = ["if_item", "then_item", "confidence", "confidence_low", "confidence_high", "base",
          "held_out_users", "held_out_confidence", "held_out_base"]  # fmt: skip


def house() -> Dataset:
    """The House of 1984."""
    return house_votes_84()


def senate() -> Dataset:
    """The Senate of 2005 and 2006, without lopsided roll calls."""
    data = senate_109()
    yeas = data.table.groupby("item")["value"].transform("mean")
    contested = data.table[np.minimum(yeas, 1 - yeas) >= LOPSIDED].reset_index(drop=True)
    return Dataset(
        data.name, contested, data.scale, data.citation, data.licence, data.users, data.items
    )


def log_loss(truth: Floats, chance: Floats) -> float:
    """The mean surprise at what came, in nats."""
    chance = np.clip(chance, SURE, 1 - SURE)
    return float(-np.mean(np.log(np.where(truth > 0.5, chance, 1 - chance))))


def accuracy(truth: Floats, chance: Floats) -> float:
    """How often the likelier vote was cast."""
    return float(((chance >= 0.5) == (truth > 0.5)).mean())


MEASURES: dict[str, Measure] = {
    "accuracy": accuracy,
    "log_loss": log_loss,
    "brier": brier_score,
}


def party_share(data: Dataset) -> Tool:
    """What part of the party says yea to the roll call, one yea and one nay added."""
    party = parties(data)

    def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
        of_train, of_pairs = (party.loc[table["user"]].to_numpy() for table in (train, pairs))
        votes = (
            train.assign(party=of_train).groupby(["party", "item"])["value"].agg(["sum", "size"])
        )
        counts = votes.reindex(pd.MultiIndex.from_arrays([of_pairs, pairs["item"]])).fillna(0.0)
        return ((counts["sum"] + 1) / (counts["size"] + 2)).to_numpy()

    return predict


def parties(data: Dataset) -> pd.Series:
    """The party of each legislator."""
    assert data.users is not None
    return data.users["party"]


def tools(data: Dataset) -> dict[str, Tool]:
    """All that are compared; what has to be chosen is chosen by log loss."""

    def best_ideal(*dims: int) -> Tool:
        return compare.best_of((ideal_points(n, p) for n in dims for p in PENALTIES), log_loss)

    single = ValidatedDescent(indicator_penalty=(0.0,), random_state=0)
    posteriors = (compare.estimator(KolmogorovPosterior(n, **CHAINS)) for n in (8, 16))
    return {
        "the party's share of yeas": party_share(data),
        "principal components": compare.factors(log_loss),
        "ideal points, one dimension": best_ideal(1),
        "ideal points, up to three": best_ideal(1, 2, 3),
        "KolmogorovDescent, validated": compare.estimator(single),
        "KolmogorovEnsemble": compare.estimator(KolmogorovEnsemble(random_state=0)),
        "KolmogorovPosterior": compare.best_of(posteriors, log_loss),
    }


def blocs(data: Dataset, n_events: int) -> dict[str, Any]:
    """A model of few events that says what an ensemble of all votes says, beside the parties."""
    model = KolmogorovEnsemble(random_state=0).fit(data.table[COLUMNS]).to_model(n_events)
    order = np.argsort(-model.pmf_mean_)
    pmf, sets = model.pmf_[:, order], model.indicators_[:, order]
    members = pd.Index(model.observations_.user_ids.values)
    party = parties(data).loc[members].to_numpy()
    heaviest = pmf.argmax(axis=1)
    right = [np.unique(party[heaviest == d], return_counts=True)[1].max() for d in set(heaviest)]
    points = IdealPoints(1, 1.0).fit(data.table)
    place = pd.Series(points.points[:, 0], points.users).loc[members]
    return {
        "loss": model.loss_,
        "members": [str(member) for member in members],
        "party": [str(each) for each in party],
        "point": place.round(3).tolist(),
        "pmf": pmf.round(4).tolist(),
        "items": [str(item) for item in model.observations_.item_ids],
        "indicators": sets.astype(int).tolist(),
        "with_party": float(sum(right) / len(party)),
        "by_point": _by_point(place.to_numpy(), party),
    }


def _by_point(place: Floats, party: Any) -> float:
    """How many are on their party's side of the best cut of the line."""
    is_first = party[np.argsort(place)] == party[np.argmin(place)]
    left = np.cumsum(is_first) + (~is_first).sum() - np.cumsum(~is_first)
    return float(max(left.max(), len(party) - left.min()) / len(party))


def rules(data: Dataset, seed: int) -> dict[str, Any]:
    """Yea to A, so yea to B: rules from half of the legislators, and what the others did.

    Against as many pairs by what is counted in that half.
    """
    train, test = compare.halves(data.table, seed)
    model = KolmogorovPosterior(**CHAINS).fit(train[COLUMNS])
    found: Any = model.rules(test[COLUMNS], top=FIRST, min_evidence=EVIDENCE)
    counted = compare.counted_rules(compare.wide_table(train), 1.0, EVIDENCE)
    kinds = {
        "rules": found,
        **{by: compare.folded(counted, by, len(found)) for by in ("gain", "confidence", "lift")},
        "all": counted,
    }
    others = compare.wide_table(test)
    return {
        "gains": {
            name: {"said": float(some["confidence"].mean())} | compare.held_out(others, some, 1.0)
            for name, some in kinds.items()
        },
        "found": len(found),
        "surely": float((found["q_value"] < 0.05).mean()),
        "named": {
            name: len({*kinds[name]["if_item"], *kinds[name]["then_item"]})
            for name in ("rules", "gain")
        },
        "listed": found[LISTED].head(6).round(4).astype(object).to_numpy().tolist(),
    }


def measure(seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """All figures; each list has one number per seed."""
    chambers = {"house": (house(), 0.25), "senate": (senate(), 0.5)}
    calls = senate().items
    assert calls is not None
    found = {name: [rules(data, seed) for seed in seeds] for name, (data, _) in chambers.items()}
    named = {item for each in found["senate"] for rule in each["listed"] for item in rule[:2]}
    return {
        "seeds": list(seeds),
        "votes": {name: len(data.table) for name, (data, _) in chambers.items()},
        "hidden": {
            name: compare.compare(tools(data), MEASURES, data.table, part, seeds)
            for name, (data, part) in chambers.items()
        },
        "blocs": {name: blocs(data, BLOCS[name]) for name, (data, _) in chambers.items()},
        "rules": found,
        "calls": {
            item: f"{calls['bill'][item]}, {shorten(calls['description'][item], 90)}"
            for item in sorted(named)
        },
        "baskets": [measure_baskets(seed) for seed in seeds],
    }


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The tables of the page."""
    names = {"accuracy": "accuracy", "log_loss": "-log loss", "brier": "-Brier score"}
    kinds = {
        "rules": "rules of the posterior",
        "gain": "as many pairs, by counted gain",
        "confidence": "as many pairs, by counted confidence",
        "lift": "as many pairs, by counted lift",
        "all": "all pairs",
    }
    columns = {
        "said": "yea to B, if to A: said",
        "confidence": "held out",
        "base": "yea to B anyway",
        "lift": "held-out lift",
    }
    written = {}
    for chamber in ("house", "senate"):
        written[chamber] = compare.markdown(figures["hidden"][chamber], names)
        found = figures["rules"][chamber]
        gains = {
            said: {key: [each["gains"][kind][key] for each in found] for key in columns}
            for kind, said in kinds.items()
        }
        written[f"{chamber} rules"] = compare.markdown(gains, columns, bold=False)
        written[f"{chamber} tested"] = _tested(found)
        written[f"{chamber} listed"] = _listed(found[0]["listed"], figures["calls"])
        written[f"{chamber} blocs"] = _blocs(figures["blocs"][chamber])
        written[f"{chamber} parties"] = _parties(figures["blocs"][chamber])
    return {**written, **_baskets(figures["baskets"])}


def _listed(rows: list[list[Any]], calls: dict[str, str]) -> str:
    lines = ["| of those who say yea to | so many say yea to | said | of all | held-out voters "]
    lines[0] += "| yea, if to the first | of all |"
    lines.append("|---" * 7 + "|")
    for a, b, said, low, high, of_all, voters, rate, base in rows:
        first, then = (calls.get(item, item) for item in (a, b))
        lines.append(
            f"| {first} | {then} | {said:.2f} [{low:.2f}, {high:.2f}] | {of_all:.2f} | {voters} "
            f"| {rate:.2f} | {base:.2f} |"
        )
    return "\n".join(lines)


def _tested(found: list[dict[str, Any]]) -> str:
    surely = np.mean([each["surely"] for each in found])
    named = {of: np.mean([each["named"][of] for each in found]) for of in ("rules", "gain")}
    return (
        f"Of the rules, {surely:.0%} have q < 0.05 among those held out. A list of "
        f"{np.mean([each['found'] for each in found]):.0f} rules names {named['rules']:.0f} roll "
        f"calls, as many pairs by counted gain name {named['gain']:.0f}."
    )


def _blocs(found: dict[str, Any]) -> str:
    pmf, party = np.array(found["pmf"]), np.array(found["party"])
    names = [name for name in dict.fromkeys(sorted(found["party"])) if (party == name).sum() > 1]
    lines = ["| event | " + " | ".join(f"mass, {name}" for name in names) + " | yea in it to |"]
    lines.append("|---" * (len(names) + 2) + "|")
    sets = np.array(found["indicators"])
    for d in range(pmf.shape[1]):
        masses = " | ".join(f"{pmf[party == name, d].mean():.2f}" for name in names)
        lines.append(f"| {d} | {masses} | {sets[:, d].sum()} of {len(sets)} |")
    return "\n".join(lines)


def _parties(found: dict[str, Any]) -> str:
    n = len(found["members"])
    return (
        f"Guess a member's party from the heaviest event: {found['with_party']:.1%} of {n} are "
        f"right. Cut the line of ideal points in two where it is best: {found['by_point']:.1%}."
    )


def _baskets(found: list[dict[str, Any]]) -> dict[str, str]:
    kinds = {"proved": f"{N_RULES} rules that the model proves"}
    for by in SORTED_BY:
        kinds[f"model, {by}"] = f"{N_RULES} rules of the model, by {by}"
        kinds[f"counted, {by}"] = f"{N_RULES} association rules, by {by}"
    rules = {
        said: {
            "said": [each["said"][kind] for each in found],
            **{key: [each["rules"][kind][key] for each in found] for key in ("confidence", "lift")},
        }
        for kind, said in kinds.items()
    }
    tools = {
        tool: {"found": [each["completion"][tool] for each in found]}
        for tool in found[0]["completion"]
    }
    columns = {"said": "confidence said", "confidence": "held out", "lift": "held-out lift"}
    return {
        "baskets rules": compare.markdown(rules, columns, bold=False),
        "baskets": compare.markdown(tools, {"found": "among the ten shown"}),
    }
