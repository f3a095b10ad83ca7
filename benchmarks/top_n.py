"""Top-N: of all unseen items, are those first that a user will rate and like?

Peers rank by their own scores. Their options are chosen on a fifth of the training part; ours have
none to choose. ``python -m benchmarks.top_n`` measures and writes the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import data
from benchmarks.data import Ratings
from benchmarks.timing import publish, save, table
from eventspace import KolmogorovModel, Observations

N = 10
LIKE = 4.0
LARGE = 200_000  # ratings
Scores = NDArray[Any]  # users x items
Method = Callable[[sparse.csr_matrix], Scores]


class Split(NamedTuple):
    """A training and a test part, with all users and items numbered."""

    train: Ratings
    test: Ratings
    like: float  # the least value of the test part that should be found

    @property
    def shape(self) -> tuple[int, int]:
        both = self.train, self.test
        return tuple(  # type: ignore[return-value]
            1 + max(int(getattr(part, name).max()) for part in both) for name in ("users", "items")
        )

    def matrix(self, least: float) -> sparse.csr_matrix:
        """Ones where the training part has at least this value."""
        kept = self.train.values >= least
        where = self.train.users[kept], self.train.items[kept]
        return sparse.csr_matrix((np.ones(kept.sum(), np.float32), where), shape=self.shape)

    def inner(self, seed: int = 0) -> Split:
        """The training part, a fifth of it to choose options on."""
        return halves(self.train, seed, self.like)

    def quality(self, scores: Scores) -> tuple[float, float]:
        """NDCG and recall at N, means over the users with something to be found."""
        seen = self.matrix(-np.inf)
        wanted = np.zeros(self.shape, dtype=np.bool_)
        good = self.test.values >= self.like
        wanted[self.test.users[good], self.test.items[good]] = True
        known = np.asarray(seen.sum(axis=0))[0] > 0
        users = np.flatnonzero(wanted.any(axis=1))
        discount, ndcg, recall = 1 / np.log2(np.arange(2, N + 2)), [], []
        for user in users:
            row = np.where(known, scores[user], -np.inf)
            row[seen.indices[seen.indptr[user] : seen.indptr[user + 1]]] = -np.inf
            best = np.argsort(-row, kind="stable")[:N]
            hits, n = wanted[user, best], int(wanted[user].sum())
            ndcg.append((hits @ discount) / discount[:n].sum())
            recall.append(hits.sum() / n)
        return float(np.mean(ndcg)), float(np.mean(recall))


def popularity(seen: sparse.csr_matrix) -> Scores:
    return np.tile(np.asarray(seen.sum(axis=0)), (seen.shape[0], 1))


def ease(seen: sparse.csr_matrix, penalty: float) -> Scores:
    """Steck (2019), in closed form."""
    gram = (seen.T @ seen).toarray().astype(np.float64)
    gram[np.diag_indices(len(gram))] += penalty
    inverse = np.linalg.inv(gram)
    weights = -inverse / np.diag(inverse)
    weights[np.diag_indices(len(weights))] = 0.0
    return np.asarray(seen @ weights.astype(np.float32))


def of_implicit(seen: sparse.csr_matrix, name: str, **options: Any) -> Scores:
    """A model of implicit's: ALS, BPR."""
    from implicit.cpu import als, bpr

    kind = {"als": als.AlternatingLeastSquares, "bpr": bpr.BayesianPersonalizedRanking}[name]
    model = kind(random_state=0, num_threads=0, **options)
    model.fit(seen, show_progress=False)
    return np.asarray(model.user_factors @ model.item_factors.T)


def item_knn(seen: sparse.csr_matrix, neighbours: int) -> Scores:
    """implicit's nearest neighbours of items, by cosines."""
    from implicit.nearest_neighbours import CosineRecommender

    model = CosineRecommender(K=neighbours)
    model.fit(seen, show_progress=False)
    return np.asarray((seen @ model.similarity).todense())


def of_cornac(seen: sparse.csr_matrix, **options: Any) -> Scores:
    """A variational autoencoder (VAECF), the best of Cornac's that we tried beside its EASE."""
    from cornac.data import Dataset
    from cornac.models import VAECF

    entries = seen.tocoo()
    rows = zip(entries.row.tolist(), entries.col.tolist(), np.ones(entries.nnz), strict=True)
    train = Dataset.build(list(rows))
    model = VAECF(seed=0, verbose=False, **options).fit(train)
    found = np.zeros(seen.shape, np.float32)
    items = np.array(list(train.iid_map))
    for user, at in train.uid_map.items():
        found[user, items] = model.score(at)
    return found


def of_lenskit(seen: sparse.csr_matrix, features: int, penalty: float, weight: float) -> Scores:
    """LensKit's ALS of implicit feedback."""
    from lenskit.als import ImplicitMFScorer
    from lenskit.data import from_interactions_df

    entries = seen.tocoo()
    train = from_interactions_df(pd.DataFrame({"user_id": entries.row, "item_id": entries.col}))
    model = ImplicitMFScorer(
        embedding_size=features, regularization=penalty, weight=weight, epochs=15
    )
    model.train(train)
    found = np.zeros(seen.shape, np.float32)
    users, items = train.users.ids(), train.items.ids()
    found[np.ix_(users, items)] = (
        np.asarray(model.user_embeddings) @ np.asarray(model.item_embeddings).T
    )
    return found


def grid(method: Callable[..., Scores], **options: list[Any]) -> dict[str, Method]:
    """A method with each of its options."""
    found: dict[str, Method] = {}
    for chosen in itertools.product(*options.values()):
        named = dict(zip(options, chosen, strict=True))
        said = ", ".join(f"{name} {value}" for name, value in named.items())
        found[said] = partial(method, **named)
    return found


def peers(ranks: list[int], large: bool) -> dict[str, dict[str, Method]]:
    """Of each peer the options to choose from; on a large table those that take minutes are out."""
    penalties, alphas = [0.1, 3.0, 10.0, 30.0], [1.0, 5.0]
    als: dict[str, list[Any]] = {
        "factors": ranks,
        "regularization": penalties,
        "alpha": alphas,
        "iterations": [15],
    }
    found: dict[str, dict[str, Method]] = {
        "popularity": {"": popularity},
        "item KNN (implicit)": grid(item_knn, neighbours=[20, 50, 100, 200]),
        "BPR (implicit)": grid(
            partial(of_implicit, name="bpr"),
            factors=ranks[:2],
            learning_rate=[0.01, 0.05],
            regularization=[0.01, 0.1],
            iterations=[100],
        ),
        "ALS (implicit)": grid(partial(of_implicit, name="als", iterations=15), **als),
        "ALS (LensKit)": grid(
            of_lenskit, features=ranks[:1], penalty=[0.1, 1.0, 5.0], weight=[1.0, 5.0]
        ),
        "VAECF (Cornac)": grid(of_cornac, k=[50], n_epochs=[100], beta=[0.2, 1.0]),
        "EASE": grid(ease, penalty=[50.0, 100.0, 200.0, 400.0, 800.0, 1600.0]),
    }
    return {name: of for name, of in found.items() if not large or "VAECF" not in name}


def ours(split: Split, estimator: Any, **recommend: Any) -> Scores:
    """What an estimator recommends, the first of each user, with all its defaults."""
    model = estimator.fit(Observations.of(tuple(split.train)))
    return _scores(split, model.recommend(n=N, **recommend))


def ours_of_visits(split: Split, estimator: Any) -> Scores:
    """The same where only visits are known."""
    visits = Observations.of((split.train.users, split.train.items), missing="no")
    return _scores(split, estimator.fit(visits).recommend(n=N))


def _scores(split: Split, best: Any) -> Scores:
    found = np.full(split.shape, -np.inf)
    rank = best.groupby("user").cumcount().to_numpy()
    found[best["user"].astype(int), best["item"].astype(int)] = -rank
    return found


def best_options(
    split: Split, ranks: list[int], inputs: tuple[float, ...]
) -> Iterator[tuple[str, str, float, Method]]:
    """Of each peer the options that do best on a fifth of the training part."""
    inner = split.inner()
    large = len(inner.train.users) > LARGE
    for name, options in peers(ranks, large).items():
        tried = []
        for least in inputs if name != "popularity" else inputs[:1]:
            seen = inner.matrix(least)
            for said, method in options.items():
                tried.append((inner.quality(method(seen))[0], said, least, method))
        _, said, least, method = max(tried, key=lambda one: one[0])
        print(f"  {name}: {said}, values from {least:g}", flush=True)
        yield name, said, least, method


def measured(
    splits: list[Split], ranks: list[int], inputs: tuple[float, ...], own: dict[str, Any]
) -> list[dict[str, Any]]:
    """Quality and time of every method, means over the splits."""
    methods: dict[str, tuple[str, Callable[[Split], Scores]]] = {}
    for name, said, least, method in best_options(splits[0], ranks, inputs):
        methods[name] = said, partial(_of_peer, method, least)
    methods |= {name: ("defaults", method) for name, method in own.items()}
    rows = []
    for name, (said, rank) in methods.items():
        found, seconds = [], []
        for split in splits:
            began = perf_counter()
            scores = rank(split)
            seconds.append(perf_counter() - began)
            found.append(split.quality(scores))
        ndcg, recall = np.mean(found, axis=0).tolist()
        each = [round(one[0], 4) for one in found]
        rows.append({"method": name, "options": said, "ndcg": ndcg, "recall": recall,
                     "seconds": float(np.median(seconds)), "ndcg of each": each})  # fmt: skip
        print(f"  {name:34} {ndcg:.4f} {recall:.4f}  {np.median(seconds):.1f} s {each}", flush=True)
    return rows


def _of_peer(method: Method, least: float, split: Split) -> Scores:
    return method(split.matrix(least))


def halves(ratings: Ratings, seed: int, like: float) -> Split:
    """Four fifths to learn from."""
    held = np.random.default_rng(seed).random(len(ratings.users)) < 0.2
    train, test = (ratings.take(np.flatnonzero(mask)) for mask in (~held, held))
    return Split(train, test, like)


def groceries() -> Ratings:
    bought = pd.read_csv(data.folder("groceries") / "transactions.csv")
    codes = [pd.factorize(bought[name])[0].astype(np.int32) for name in ("transaction", "item")]
    return Ratings(codes[0], codes[1], np.ones(len(bought), np.float32))


def tables(quick: bool) -> dict[str, Callable[[], list[dict[str, Any]]]]:
    rated, both = (-np.inf,), (-np.inf, LIKE)
    default, stars = KolmogorovModel(random_state=0), KolmogorovModel(random_state=0, meets=False)
    model = {"eventspace, KolmogorovModel()": partial(ours, estimator=default)}
    by_stars = {"KolmogorovModel(), by stars alone": partial(ours, estimator=stars)}
    visits = {
        "eventspace, KolmogorovModel()": partial(ours_of_visits, estimator=default),
        "KolmogorovModel(), its 16 events alone": partial(ours_of_visits, estimator=stars),
    }
    n = 1 if quick else 5
    films = [Split(*data.movielens_100k(k), LIKE) for k in range(1, n + 1)]
    all_films = [Split(*data.movielens_100k(k), -np.inf) for k in range(1, n + 1)]
    return {
        "ML-100K, u1 to u5": lambda: measured(films, [16, 32, 64], both, {**model, **by_stars}),
        "ML-1M, 80/20": lambda: measured(
            [halves(data.movielens_1m(), 0, LIKE)], [32, 64, 128], both, model
        ),
        "ML-100K, who rated what": lambda: measured(all_films, [16, 32, 64], rated, visits),
        "groceries": lambda: measured(
            [halves(groceries(), seed, 0.0) for seed in range(min(n, 3))],
            [16, 32, 64],
            rated,
            visits,
        ),
    }


def main() -> None:
    """Measure, or with names only these tables; ``--quick``: one split of each."""
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    quick = "--quick" in sys.argv
    figures = {}
    for name, measure in tables(quick).items():
        if not wanted or any(name.startswith(one) for one in wanted):
            print(name, flush=True)
            figures[name] = measure()
    if quick or wanted:
        return
    save("top_n", figures)
    for name, rows in figures.items():
        publish(f"top_n: {name}", table([_told(row) for row in rows]))


def _told(row: dict[str, Any]) -> dict[str, str]:
    return {
        "method": row["method"],
        "NDCG@10": f"{row['ndcg']:.4f}",
        "recall@10": f"{row['recall']:.4f}",
        "seconds": f"{row['seconds']:.1f}",
        "options": row["options"],
    }


if __name__ == "__main__":
    main()
