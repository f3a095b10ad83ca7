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
N_RULES, EVIDENCE, N_ZONES = 30, 3, 8  # so many senders must reach both
LISTED = ["if_item", "then_item", "confidence", "confidence_low", "confidence_high", "base",
          "metres", "held_out_like_if", "held_out_confidence", "held_out_base"]  # fmt: skip


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
    """Senders that reach A also reach B: rules from half of the senders, and what the others do.

    Against as many pairs of receivers by counted gain in that half, that go together most there, or
    that lie closest, the last two in the direction of their means, and against all pairs.
    """
    train, test = compare.halves(links.table, seed)
    model = KolmogorovPosterior(**CHAINS).fit(train[COLUMNS])
    found: Any = model.rules(test[COLUMNS], top=N_RULES, min_evidence=EVIDENCE, like=HEARS)
    seen, others = wide_table(train), wide_table(test)
    names, mean = seen.columns.to_numpy(), seen.mean().to_numpy()
    a, b = np.nonzero(mean[:, None] < mean)
    upwards = pd.DataFrame({"if_item": names[a], "then_item": names[b]})
    upwards["together"] = seen.corr(min_periods=5).to_numpy()[a, b]
    kinds = {
        "rules": found,
        "counted": compare.folded(compare.counted_rules(seen, HEARS, EVIDENCE), "gain", N_RULES),
        "most correlated": upwards.nlargest(N_RULES, "together"),
        "closest": upwards.assign(metres=_metres(links, upwards)).nsmallest(N_RULES, "metres"),
        "all": upwards,
    }
    listed = found.assign(metres=_metres(links, found))[LISTED].astype(float).round(4)
    return {
        "gains": {
            name: {
                **compare.held_out(others, some, HEARS),
                "metres": float(np.median(_metres(links, some))),
            }
            for name, some in kinds.items()
        },
        "said": {name: float(kinds[name]["confidence"].mean()) for name in ("rules", "counted")},
        "surely": float((found["q_value"] < 0.05).mean()),
        "listed": [[None if np.isnan(x) else x for x in row] for row in listed.to_numpy().tolist()],
    }


def _metres(links: Links, pairs: pd.DataFrame) -> Floats:
    ones, others = (links.places.loc[pairs[side]].to_numpy() for side in ("if_item", "then_item"))
    return np.asarray(np.linalg.norm(ones - others, axis=1))


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
        "counted": f"{N_RULES} pairs by counted gain",
        "most correlated": f"{N_RULES} most correlated pairs",
        "closest": f"{N_RULES} closest pairs",
        "all": "all pairs",
    }
    found = figures["rules"]
    columns = {
        "confidence": "reach B, if A",
        "base": "reach B anyway",
        "metres": "median metres from A to B",
    }
    gains = {
        said: {key: [each["gains"][kind][key] for each in found] for key in columns}
        for kind, said in kinds.items()
    }
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
        "tested": _tested(found),
        "listed": _listed(found[0]["listed"][:10]),
        "noise": compare.markdown(probable, {"probability": "posterior probability"}, bold=False),
    }


def _tested(found: list[dict[str, Any]]) -> str:
    said = {kind: np.mean([each["said"][kind] for each in found]) for kind in ("rules", "counted")}
    return (
        f"The rules say {said['rules']:.2f} on average, counting says {said['counted']:.2f}. Of "
        f"the rules, {np.mean([each['surely'] for each in found]):.0%} have q < 0.05 among the "
        "held-out senders."
    )


def _listed(rows: list[list[Any]]) -> str:
    lines = [
        "| of senders that reach | so many reach | said | of all | metres apart "
        "| held-out senders that reach the first | of them, reach the second | of all |",
        "|---" * 8 + "|",
    ]
    for a, b, said, low, high, of_all, metres, senders, rate, base in rows:
        held_out = "-" if rate is None else f"{rate:.2f}"
        lines.append(
            f"| {a:.0f} | {b:.0f} | {said:.2f} [{low:.2f}, {high:.2f}] | {of_all:.2f} "
            f"| {metres:.1f} | {senders:.0f} | {held_out} | {base:.2f} |"
        )
    return "\n".join(lines)
