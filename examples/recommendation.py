"""MovieLens 100K, from raw ratings to recommendations that say why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from benchmarks.timing import table
from benchmarks.validated import ValidatedDescent
from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations
from eventspace.baselines import BiasModel
from eventspace.datasets import Dataset, movielens_100k
from eventspace.metrics import coverage, mae, ndcg_at, precision_at, recall_at, rmse
from examples.compare import counted_rules, folded, halves, held_out, wide_table

Floats = NDArray[np.float64]

SPLIT = "u2"
LIKE, TOP = 4, 10
FACTORS, NEIGHBOURS = 20, 40  # usual values, not tuned
EVENTS = 16
USER, WELL_RATED = 13, 50
N_RULES, EVIDENCE = 100, 20  # so many users must like both
LISTED = ["if_item", "then_item", "confidence", "confidence_low", "confidence_high", "base",
          "held_out_like_if", "held_out_confidence", "held_out_base", "q_value"]  # fmt: skip
RECOMMENDED = "the likeliest to be met and liked (`recommend`)"
SEED = 0


class Films:
    """Ratings by title, the learning part and the part held out, and the films' genres."""

    def __init__(self) -> None:
        learnt, held = movielens_100k(f"{SPLIT}.base"), movielens_100k(f"{SPLIT}.test")
        assert learnt.items is not None
        titles = learnt.items["title"]
        shared = titles.duplicated(keep=False)
        titles = titles.mask(shared, titles + " #" + titles.index.astype(str))
        self.scale = learnt.scale
        self.train, self.test = (_with_titles(part, titles) for part in (learnt, held))
        self.genres = learnt.items["genres"].set_axis(titles)
        self.observations = Observations.from_long(self.train, scale=self.scale)

    def stars(self, model: Any) -> Floats:
        """What a model of ours predicts for the part held out."""
        found = model.predict(self.test, unit="original", unknown="population")
        return np.asarray(found, dtype=np.float64)


def _with_titles(part: Dataset, titles: pd.Series[str]) -> pd.DataFrame:
    return part.table.assign(item=part.table["item"].map(titles))


def residuals(films: Films) -> tuple[Floats, Floats]:
    """What biases predict, users x items, and what the ratings are beyond that, zero if missing."""
    seen = films.observations
    biases = np.asarray(BiasModel().fit(seen).predict(unit="original"))
    u, i, p = seen.coo()
    rest = np.zeros(biases.shape)
    rest[u, i] = seen.from_unit(p) - biases[u, i]
    return biases, rest


def by_factors(films: Films) -> Floats:
    """scikit-learn's truncated SVD of what biases leave over."""
    biases, rest = residuals(films)
    svd = TruncatedSVD(FACTORS, random_state=SEED)
    return _looked_up(films, biases + svd.inverse_transform(svd.fit_transform(rest)))


def by_neighbours(films: Films) -> Floats:
    """Biases, and the mean of what they leave over for the likest items that the user has rated."""
    biases, rest = residuals(films)
    alike = similar(rest)
    weight = (rest != 0) @ alike.T
    shift = np.divide(rest @ alike.T, weight, out=np.zeros_like(weight), where=weight > 0)
    return _looked_up(films, biases + shift)


def similar(table: Floats) -> Floats:
    """The cosine of each item, in the rows, with its nearest; zero elsewhere."""
    near = NearestNeighbors(n_neighbors=NEIGHBOURS + 1, metric="cosine").fit(table.T)
    distance, index = near.kneighbors(table.T)
    alike = np.zeros((table.shape[1], table.shape[1]))
    np.put_along_axis(alike, index[:, 1:], np.maximum(1 - distance[:, 1:], 0), axis=1)
    return alike


def _looked_up(films: Films, found: Floats) -> Floats:
    """The numbers of the entries held out; the mean of all for a film that nobody has rated."""
    seen = films.observations
    u, i = seen.user_ids.positions(films.test["user"]), seen.item_ids.positions(films.test["item"])
    stars = np.where((u < 0) | (i < 0), films.train["value"].mean(), found[u, i])
    return np.clip(stars, *films.scale)


def scores(films: Films, stars: Floats) -> dict[str, float]:
    """Errors in stars, and how good the order of each user's held-out films is."""
    truth, users = films.test["value"], films.test["user"]
    return {
        "RMSE": rmse(truth, stars),
        "MAE": mae(truth, stars),
        "NDCG at 10": ndcg_at(truth, stars, users, n=TOP),
        "liked, of the first 10": precision_at(truth, stars, users, n=TOP, like=LIKE),
        "first 10, of the liked": recall_at(truth, stars, users, n=TOP, like=LIKE),
    }


def from_all_films(films: Films, p: Floats) -> float:
    """Of each user's ten best films that are not in the learning part, how many held-out likes."""
    users, items = films.observations.user_ids, films.observations.item_ids
    liked = films.test[films.test["value"] >= LIKE]
    u, i = users.positions(liked["user"]), items.positions(liked["item"])
    known = (u >= 0) & (i >= 0)
    hits = np.zeros(p.shape, dtype=np.bool_)
    hits[u[known], i[known]] = True
    values = np.array(p, dtype=np.float64)
    values[users.positions(films.train["user"]), items.positions(films.train["item"])] = -np.inf
    best = np.argpartition(-values, TOP, axis=1)[:, :TOP]
    some = hits.any(axis=1)
    return float(np.take_along_axis(hits, best, axis=1)[some].mean())


def picked(films: Films, model: Any) -> Floats:
    """One for the films that a model recommends to each user, users x items."""
    best, seen = model.recommend(n=TOP, like=LIKE), films.observations
    marks = np.zeros((seen.n_users, seen.n_items))
    marks[seen.user_ids.positions(best["user"]), seen.item_ids.positions(best["item"])] = 1.0
    return marks


def measure() -> dict[str, Any]:
    """Fit, predict, recommend and explain."""
    films = Films()
    single = ValidatedDescent((EVENTS,), indicator_penalty=(0.2,), random_state=SEED)
    posterior = KolmogorovPosterior(n_chains=4, random_state=SEED).fit(films.observations)
    few = posterior.to_model(EVENTS)
    models = {
        "BiasModel": BiasModel().fit(films.observations),
        "KolmogorovDescent, validated": single.fit(films.observations),
        "KolmogorovPosterior, 4 chains": posterior,
        f"its to_model({EVENTS})": few,
    }
    peers: dict[str, Callable[[Films], Floats]] = {
        "truncated SVD (scikit-learn)": by_factors,
        "nearest items (scikit-learn)": by_neighbours,
    }
    found = {name: scores(films, predict(films)) for name, predict in peers.items()}
    found |= {name: scores(films, films.stars(model)) for name, model in models.items()}
    interval = posterior.predict_interval(films.test, unit="original", unknown="population")
    likely, count = posterior.predict(), np.diff(films.observations.by_item.ptr)
    rated = np.zeros(likely.shape)
    rated[films.observations.coo()[:2]] = 1.0
    svd = TruncatedSVD(FACTORS, random_state=SEED)
    return {
        "seeds": [SEED],
        "entries": [len(films.train), len(films.test)],
        "scores": found,
        "covered": coverage(films.test["value"], interval["low"], interval["high"]),
        "loss": float(few.loss_ or 0.0),
        "from all films": {
            "the most rated films": from_all_films(films, np.broadcast_to(count, likely.shape)),
            "the likeliest to be liked": from_all_films(films, likely),
            RECOMMENDED: from_all_films(films, picked(films, posterior)),
            "nearest items, by who rated what": from_all_films(films, rated @ similar(rated).T),
            "truncated SVD of who rated what": from_all_films(
                films, svd.inverse_transform(svd.fit_transform(rated))
            ),
        },
        **_read(few, films),
        **rules(films),
    }


def rules(films: Films) -> dict[str, Any]:
    """Who likes A likes B: rules from half of the users, and what the others like.

    Against as many pairs by counted gain in that half.
    """
    learnt, others = halves(pd.concat([films.train, films.test]), SEED)
    model = KolmogorovModel(EVENTS, random_state=SEED).fit(learnt)
    found: Any = model.rules(others, top=N_RULES, min_evidence=EVIDENCE, like=LIKE)
    counted = folded(counted_rules(wide_table(learnt), LIKE, EVIDENCE), "gain", len(found))
    kinds = {"rules of the model": found, "pairs by counted gain": counted}
    said, true = ["confidence", "gain"], wide_table(others)
    return {
        "others": others["user"].nunique(),
        "tried": {
            f"{len(some)} {name}": {
                "said": some[said].mean().to_dict(), "held out": held_out(true, some, LIKE)
            }
            for name, some in kinds.items()
        },
        "surely": int((found["q_value"] < 0.05).sum()),
        "rules": found[LISTED].head(8).astype(object).to_dict("records"),
    }  # fmt: skip


def _read(model: KolmogorovDescent, films: Films) -> dict[str, Any]:
    """What there is to read: events, and one recommendation with its reasons."""
    events: Any = model.events(films.genres)
    best = model.recommend(USER, 5, min_evidence=WELL_RATED, unit="original")
    why = str(model.explain(USER, best["item"].iloc[0], films.genres))
    seen = films.test[films.test["user"] == USER].set_index("item")["value"]
    return {
        "events": [
            {"event": int(row.event), "mass": float(row.mass), "label": str(row.label)}
            for row in events.itertuples()
        ],
        "recommended": [
            {"film": str(item), "stars": float(value), "held out": _or_none(seen.get(item))}
            for item, value in zip(best["item"], best["value"], strict=True)
        ],
        "why": why,
    }


def _or_none(value: Any) -> float | None:
    return None if value is None else float(value)


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """What the page shows."""
    shown = [
        {"of those who like": r["if_item"], "so many like": r["then_item"],
         "said": f"{r['confidence']:.0%} [{r['confidence_low']:.0%}, {r['confidence_high']:.0%}]",
         "of all": f"{r['base']:.0%}", "held-out users who like the first": r["held_out_like_if"],
         "of them, like the second": f"{r['held_out_confidence']:.0%}",
         "of all held out": f"{r['held_out_base']:.0%}",
         "q": f"{r['q_value']:.3f}" if r["q_value"] >= 0.001 else "< 0.001"}
        for r in figures["rules"]
    ]  # fmt: skip
    return {
        "scores": table(
            [
                {"": name} | {what: f"{value:.3f}" for what, value in row.items()}
                for name, row in figures["scores"].items()
            ]
        ),
        "verdict": verdict(figures),
        "all": table(
            [{"ten films for each user": name, "held-out likes among them": f"{value:.1%}"}
             for name, value in figures["from all films"].items()]
        ),
        "events": table(
            [{"event": row["event"], "mass": f"{row['mass']:.1%}", "label": row["label"]}
             for row in figures["events"][:8]]
        ),
        "rules": table(shown),
        "tried": table(
            [{"": name, "confidence said": f"{of['said']['confidence']:.1%}",
              "held out": f"{of['held out']['confidence']:.1%}",
              "gain said": f"{of['said']['gain']:.1%}",
              "gain held out": f"{of['held out']['confidence'] - of['held out']['base']:.1%}"}
             for name, of in figures["tried"].items()]
        ) + f"\n\nOf the {N_RULES} rules, {figures['surely']} have q < 0.05 among the "
        f"{figures['others']} held-out users.",
        "recommended": table(
            [{"film": row["film"], "predicted stars": f"{row['stars']:.1f}",
              "held-out stars": "-" if row["held out"] is None else f"{row['held out']:g}"}
             for row in figures["recommended"]]
        ),
        "why": f"```text\n{figures['why']}\n```",
    }  # fmt: skip


def verdict(figures: dict[str, Any]) -> str:
    """In a few sentences, by the figures."""
    error = {name: row["RMSE"] for name, row in figures["scores"].items()}
    posterior, few = "KolmogorovPosterior, 4 chains", f"its to_model({EVENTS})"
    peer = min((name for name in error if "scikit" in name), key=error.__getitem__)
    ranked = figures["from all films"]
    likely, ours = ranked["the likeliest to be liked"], ranked[RECOMMENDED]
    best = max((name for name in ranked if name != RECOMMENDED), key=ranked.__getitem__)
    single = "KolmogorovDescent, validated"
    return (
        f"**Ratings are predicted well**: RMSE {error[posterior]:.3f} stars. Biases have "
        f"{error['BiasModel']:.3f}, and the better of two quick peers, {peer}, {error[peer]:.3f}; "
        "tuned packages are in the [benchmarks](benchmarks.md#accuracy). "
        f"**Compressed into one readable model of {EVENTS} events, it has {error[few]:.3f}**. A "
        f"model fitted directly to the ratings has {error[single]:.3f}, no better than that peer. "
        f"**Of ten films that `recommend` picks out of all, {ours:.0%} are held-out likes**, "
        f"against {ranked[best]:.0%} for {best}. By predicted stars alone it would be "
        f"{likely:.0%}: what people watch is another question than what they like."
    )


def draw(figures: dict[str, Any], folder: Path) -> None:
    """The errors of all methods."""
    import matplotlib.pyplot as plt

    from eventspace.plots.axes import COLOURS, QUIET

    found = figures["scores"]
    names = sorted(found, key=lambda name: -found[name]["RMSE"])
    figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
    values = [found[name]["RMSE"] for name in names]
    ours = ["Kolmogorov" in name or "to_model" in name for name in names]
    ax.scatter(values, names, color=[COLOURS[0] if own else QUIET for own in ours], s=60)
    for k, value in enumerate(values):
        ax.text(value + 0.004, k, f"{value:.3f}", va="center", fontsize=9)
    ax.set(xlim=(min(values) - 0.01, max(values) + 0.02), xlabel="held-out RMSE, stars")
    ax.grid(axis="y", color=QUIET, alpha=0.25)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    figure.savefig(folder / "recommendation.png", dpi=120)
    plt.close(figure)
