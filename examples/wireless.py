"""Wireless links: predict the delivery of links that nobody measured, and find receivers that
hear together.

Two networks: the 54 motes of the Intel lab, and 29 nodes of the ORBIT grid under five levels of
noise. A user is a sender, an item a receiver (at a level of noise), the value the part of the
packets that arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.validated import ValidatedDescent
from eventspace import KolmogorovEnsemble, KolmogorovPosterior
from eventspace.datasets.wireless import intel_lab, rutgers_orbit
from eventspace.metrics import mae, rmse
from examples import compare
from examples.compare import COLUMNS, Floats, Measure, Tool, wide_table
from examples.wireless_pictures import draw

__all__ = ["draw", "measure", "tables"]

SEEDS = (1, 2, 3)  # what is tried was settled with seed 0, which takes no part
GOOD = 0.5  # of the packets arrive: a link to build on
HEARS = 0.25  # a receiver hears a sender, in rules
PENALTIES = (0.3, 1.0, 3.0, 10.0)  # of the regression, scikit-learn's C
SWEEPS = {"n_warmup": 40, "n_draws": 40}  # fewer than by default: a minute for all
CHAINS: dict[str, Any] = {**SWEEPS, "n_chains": 4, "n_samples": 32, "random_state": 0}
N_RULES, N_ZONES = 30, 8
GAINS = ("reaches", "anyway", "agreement")


@dataclass(frozen=True)
class Links:
    """A network: one row per link (sender, receiver, noise, distance), and the nodes' places."""

    table: pd.DataFrame
    places: pd.DataFrame

    @property
    def bumps(self) -> pd.DataFrame:
        """Smooth functions of the place: bumps on a grid of 4 x 3, each about a cell wide."""
        at = self.places.to_numpy(dtype=np.float64)
        low, high = at.min(axis=0), at.max(axis=0)
        grid = np.stack(np.meshgrid(*(np.linspace(low[k], high[k], 4 - k) for k in (0, 1))), -1)
        away = np.linalg.norm(at[:, None] - grid.reshape(-1, 2), axis=2)
        width = 0.2 * np.max(high - low)
        return pd.DataFrame(np.exp(-0.5 * (away / width) ** 2), self.places.index).add_prefix("at ")


def intel() -> Links:
    """The Intel lab, without its gateway: its place is not published."""
    data = intel_lab()
    assert data.users is not None
    table = data.table[data.table["item"] != 0].assign(noise=0.0)
    return _links(table, table["item"], data.users[["x", "y"]])


def orbit() -> Links:
    """The ORBIT grid; a column and a row are a metre apart."""
    data = rutgers_orbit()
    assert data.users is not None
    assert data.items is not None
    noise = data.items["noise"].loc[data.table["item"]].to_numpy(dtype=np.float64)
    receiver = data.table["item"].str.split(" at ").str[0]
    return _links(data.table.assign(noise=noise), receiver, data.users[["column", "row"]])


def _links(table: pd.DataFrame, receiver: pd.Series, places: pd.DataFrame) -> Links:
    between = places.loc[table["user"]].to_numpy() - places.loc[receiver].to_numpy()
    far = np.linalg.norm(between, axis=1)
    return Links(
        table.assign(sender=table["user"], receiver=receiver, distance=far), places.astype(float)
    )


def path_loss(links: Links, *, offsets: bool = False, reverse: bool = False) -> Tool:
    """Logistic regression of delivery on the log of the distance and on the noise.

    ``offsets``: each sender and each receiver has its own. ``reverse``: what the link the other
    way delivers, where that is not hidden, is told too.
    """

    def features(table: pd.DataFrame, train: pd.DataFrame) -> Floats:
        columns = [np.log(table["distance"]), table["noise"] / 10]
        if offsets:
            nodes = links.places.index.to_numpy()
            columns += [(table[end] == node) for end in ("sender", "receiver") for node in nodes]
        if reverse:
            ends = ["receiver", "sender", "noise"]
            back = train.set_index(ends)["value"].reindex(
                pd.MultiIndex.from_frame(table[["sender", "receiver", "noise"]])
            )
            known, p = back.notna().to_numpy(), back.fillna(0.5).to_numpy()
            odds = np.log((p + 0.005) / (1.005 - p))
            columns += [known, odds, known * columns[0], known * columns[1]]
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])

    def regression(penalty: float) -> Tool:
        def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
            X, p = features(train, train), train["value"].to_numpy()
            both = np.repeat([1.0, 0.0], len(p))  # a chance counts in part as a one, a zero
            model = LogisticRegression(C=penalty, max_iter=2000)
            model.fit(np.vstack([X, X]), both, sample_weight=np.concatenate([p, 1 - p]))
            return np.asarray(model.predict_proba(features(pairs, train))[:, 1])

        return predict

    return compare.best_of(regression(penalty) for penalty in PENALTIES)


def both_ways(tool: Tool) -> Tool:
    """A node's row holds what it sends ("to") and what it hears ("from"): links go both ways.

    Each link then stands in the table twice, and is predicted twice: the mean is taken.
    """

    def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
        chance = tool(_twice(train), _twice(pairs))
        return np.asarray(chance.reshape(2, -1).mean(axis=0))

    return predict


def _twice(table: pd.DataFrame) -> pd.DataFrame:
    at = table["noise"].astype(str)
    sent = {"user": table["sender"], "item": "to " + table["receiver"].astype(str) + " at " + at}
    heard = {"user": table["receiver"], "item": "from " + table["sender"].astype(str) + " at " + at}
    return pd.concat([table.assign(**sent), table.assign(**heard)], ignore_index=True)


def posterior(links: Links, *, positions: bool = False) -> Tool:
    """The posterior of 8 or 24 events; its priors may know where nodes are."""

    def of(n_events: int) -> Tool:
        def predict(train: pd.DataFrame, pairs: pd.DataFrame) -> Floats:
            told: dict[str, Any] = {}
            if positions:
                bumps = links.bumps
                items = train.drop_duplicates("item")
                sends = items["item"].str.startswith("to")
                node = items["receiver"].where(sends, items["sender"])
                known = bumps.loc[node].assign(noise=items["noise"].to_numpy())
                known["sends"] = sends.to_numpy()
                told["user_attributes"] = bumps.rename_axis("user").reset_index()
                told["item_attributes"] = known.assign(item=items["item"].to_numpy())
            model = KolmogorovPosterior(n_events, **CHAINS)
            return np.asarray(model.fit(train[COLUMNS], **told).predict(pairs[["user", "item"]]))

        return predict

    return compare.best_of(of(n_events) for n_events in (8, 24))


def tools(links: Links) -> dict[str, Tool]:
    """All that are compared; those that complete a table see every link from both its ends."""
    single = ValidatedDescent((8, 16), indicator_penalty=(0.0,), random_state=0)
    return {
        "biases": both_ways(compare.biases()),
        "nearest neighbours": both_ways(compare.neighbours()),
        "matrix factorisation": both_ways(compare.factors()),
        "KolmogorovDescent, validated": both_ways(compare.estimator(single)),
        "KolmogorovEnsemble": both_ways(compare.estimator(KolmogorovEnsemble(random_state=0))),
        "KolmogorovPosterior": both_ways(posterior(links)),
        "path loss": path_loss(links),
        "path loss, offsets of nodes": path_loss(links, offsets=True),
        "path loss, offsets, reverse link": path_loss(links, offsets=True, reverse=True),
        "KolmogorovPosterior, positions": both_ways(posterior(links, positions=True)),
    }


def accuracy(truth: Floats, chance: Floats) -> float:
    """How often it is said rightly whether a link is good."""
    return float(((truth >= GOOD) == (chance >= GOOD)).mean())


def auc(truth: Floats, chance: Floats) -> float:
    """The chance that a good link is predicted higher than one that is not."""
    return float(roc_auc_score(truth >= GOOD, chance))


MEASURES: dict[str, Measure] = {"rmse": rmse, "mae": mae, "accuracy": accuracy, "auc": auc}


def rules(links: Links, seed: int) -> dict[str, Any]:
    """Senders that reach A also reach B: rules from half of the links, checked on the rest.

    Against as many pairs of receivers that lie closest, or that go together most in the half,
    both in the direction of their means, and against all pairs.
    """
    train, test = compare.hidden(links.table, 0.5, seed)
    model = KolmogorovPosterior(**CHAINS).fit(train[COLUMNS])
    found = model.rules(test[COLUMNS], top=N_RULES, min_evidence=5, like=HEARS)
    seen = wide_table(train)
    names = seen.columns.to_numpy()
    mean = seen.mean().to_numpy()
    upwards = np.argwhere(mean[:, None] < mean)
    places = links.places.loc[names].to_numpy()
    far = np.linalg.norm(places[upwards[:, 0]] - places[upwards[:, 1]], axis=1)
    together = seen.corr(min_periods=5).to_numpy()[tuple(upwards.T)]
    pairs = {
        "rules": found[["if_item", "then_item"]].to_numpy(),
        "most correlated": names[upwards[np.argsort(-np.nan_to_num(together))[:N_RULES]]],
        "closest": names[upwards[np.argsort(far)[:N_RULES]]],
        "all": names[upwards],
    }
    listed = found.assign(metres=_metres(links, found["if_item"], found["then_item"]))
    columns = ["if_item", "then_item", "probability", "metres", "users", "like_rate", "base_rate"]
    return {
        "gains": {name: evidence(test, some) for name, some in pairs.items()},
        "metres": {name: float(np.median(_metres(links, *some.T))) for name, some in pairs.items()},
        "listed": [
            [None if np.isnan(x) else x for x in row]
            for row in listed[columns].astype(float).round(4).to_numpy().tolist()
        ],
    }


def _metres(links: Links, ones: Any, others: Any) -> Floats:
    at = links.places
    return np.asarray(np.linalg.norm(at.loc[ones].to_numpy() - at.loc[others].to_numpy(), axis=1))


def evidence(table: pd.DataFrame, pairs: NDArray[Any]) -> dict[str, float]:
    """Over all senders with both links of a pair in a table: what comes of "A, so B".

    Of those who reach A, how many reach B; how many reach B anyway; how often B gets as much as A.
    """
    wide = wide_table(table)
    a, b = (wide[pairs[:, k]].to_numpy() for k in (0, 1))
    both = ~np.isnan(a) & ~np.isnan(b)
    reaching = both & (a >= HEARS)
    values = ((reaching & (b >= HEARS)).sum() / reaching.sum(), (b >= HEARS)[both].mean())
    return dict(zip(GAINS, map(float, (*values, (b >= a)[both].mean())), strict=True))


def more_noise_less_heard(links: Links, seed: int) -> dict[str, float]:
    """What is heard at some noise is heard at less: how sure is a posterior of half the entries?

    The probability of "r at more noise, so r at less", of its converse, and of "r at more noise,
    so another receiver at less", each a mean over all such pairs.
    """
    train, _ = compare.hidden(links.table, 0.5, seed)
    model = KolmogorovPosterior(8, **CHAINS).fit(train[COLUMNS])
    items = train.drop_duplicates("item").set_index("item").loc[list(model.observations_.item_ids)]
    holds = np.mean([_inside(bits) for _, bits in model.samples()], axis=0)
    noise, node = items["noise"].to_numpy(), items["receiver"].to_numpy()
    less, same = noise[:, None] > noise, node[:, None] == node
    cases = {"itself": less & same, "converse": less.T & same, "another": less & ~same}
    return {name: float(holds[case].mean()) for name, case in cases.items()}


def _inside(bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which set lies inside which."""
    return np.asarray((bits.astype(np.float64) @ ~bits.T) == 0)


def zones(links: Links) -> dict[str, Any]:
    """A model of few events that says what the posterior of all links says: who hears in each."""
    model = KolmogorovPosterior(**CHAINS).fit(links.table[COLUMNS]).to_model(N_ZONES)
    order = np.argsort(-model.pmf_mean_)
    return {
        "loss": model.loss_,
        "senders": np.array(model.observations_.user_ids.values).tolist(),
        "receivers": np.array(model.observations_.item_ids.values).tolist(),
        "pmf": model.pmf_[:, order].round(4).tolist(),
        "indicators": model.indicators_[:, order].astype(int).tolist(),
    }


def measure(seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """All figures; each list has one number per seed."""
    lab, grid = intel(), orbit()
    tasks = {"half": (lab, 0.5), "fifth": (lab, 0.8), "orbit": (grid, 0.5)}
    return {
        "seeds": list(seeds),
        "links": {"intel": len(lab.table), "orbit": len(grid.table)},
        "places": lab.places.reset_index().to_numpy().tolist(),
        "hidden": {
            name: compare.compare(tools(links), MEASURES, links.table, part, seeds)
            for name, (links, part) in tasks.items()
        },
        "rules": [rules(lab, seed) for seed in seeds],
        "noise": [more_noise_less_heard(grid, seed) for seed in seeds],
        "zones": zones(lab),
    }


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The tables of the page."""
    names = {"rmse": "-RMSE", "mae": "-MAE", "accuracy": "good: accuracy", "auc": "good: AUC"}
    hidden = {name: compare.markdown(rows, names) for name, rows in figures["hidden"].items()}
    kinds = {
        "rules": f"the first {N_RULES} rules",
        "most correlated": f"{N_RULES} most correlated pairs",
        "closest": f"{N_RULES} closest pairs",
        "all": "all pairs",
    }
    found = figures["rules"]
    gains = {
        said: {
            **{gain: [each["gains"][kind][gain] for each in found] for gain in GAINS},
            "metres": [each["metres"][kind] for each in found],
        }
        for kind, said in kinds.items()
    }
    said = ("reach B, if A", "reach B anyway", "B gets as much as A", "-median metres from A to B")
    columns = dict(zip((*GAINS, "metres"), said, strict=True))
    noise = {
        "r at more noise, so r at less": "itself",
        "the converse": "converse",
        "r at more noise, so another at less": "another",
    }
    probable = {
        said: {"probability": [each[kind] for each in figures["noise"]]}
        for said, kind in noise.items()
    }
    return {
        **hidden,
        "rules": compare.markdown(gains, columns, bold=False),
        "listed": _listed(found[0]["listed"][:10]),
        "noise": compare.markdown(probable, {"probability": "posterior probability"}, bold=False),
    }


def _listed(rows: list[list[Any]]) -> str:
    lines = [
        "| senders that reach | also reach | probability | metres apart | held-out senders "
        "| reach it, if the first | anyway |",
        "|---|---|---|---|---|---|---|",
    ]
    for a, b, probability, metres, senders, rate, base in rows:
        said = "-" if rate is None else f"{rate:.2f}"
        lines.append(
            f"| {a:.0f} | {b:.0f} | {probability:.2f} | {metres:.1f} | {senders:.0f} "
            f"| {said} | {base:.2f} |"
        )
    return "\n".join(lines)
