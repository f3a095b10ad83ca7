"""What inclusions are worth, the paper's rules, on held-out ratings: MovieLens 100K, split u4.

They are found on the training ratings and checked on the held-out ones, against pairs of items that
have the same means. What rules are worth to other users: benchmarks/held_out_users.py.

    python -m reproduction.rules [--quick]
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.timing import machine, table
from eventspace import KolmogorovDescent, Observations
from reproduction import movielens

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Rows = list[dict[str, Any]]

PAGE = Path(__file__).parents[1] / "docs" / "rules-on-held-out-ratings.md"
PENALTIES = {4: 10.0, 8: 30.0, 16: 60.0, 24: 60.0}  # fixed, near what validation picks in table 2
LIKE = 4
FLOORS = (5, 20, 50)  # users who rated both, in training
AGREEMENT, GAIN = "added to agreement", "added to like over base rate"


class Ratings:
    """Training ratings as tables of items by items, held-out ones as pairs of a user's ratings.

    Rules are a table of weights, items by items: 1 for a rule, or in what part of the fits it is.
    """

    def __init__(self, train: data.Ratings, test: data.Ratings) -> None:
        self.observations = Observations.of(tuple(train), scale=(1, 5))
        self.items = pd.Index(self.observations.item_ids.values)
        stars = np.zeros((int(train.users.max()) + 1, len(self.items)))
        stars[train.users, self.items.get_indexer(train.items)] = train.values
        rated, likes = stars > 0, stars >= LIKE
        self.rated_both = rated.T.astype(float) @ rated
        mean, like_rate = (
            stars.sum(axis=0) / rated.sum(axis=0),
            likes.sum(axis=0) / rated.sum(axis=0),
        )
        self.ordered = mean[:, None] <= mean
        difference = np.floor((mean - mean[:, None]) / 0.1)
        consequent = np.broadcast_to(np.floor(like_rate / 0.05), difference.shape)
        evidence = np.floor(np.log2(np.maximum(self.rated_both, 1)))
        keys = np.stack([difference, consequent, evidence], axis=-1).reshape(-1, 3)
        alike = np.unique(keys, axis=0, return_inverse=True)[1]
        self.alike = alike.reshape(difference.shape)  # the same number for pairs with the same keys
        at = self.items.get_indexer(test.items)
        held = pd.DataFrame({"user": test.users, "item": at, "stars": test.values})[at >= 0]
        pairs = held.merge(held, on="user")
        self.user = np.unique(pairs["user"], return_inverse=True)[1]
        self.pair = pairs["item_x"].to_numpy(), pairs["item_y"].to_numpy()
        one, other = pairs["stars_x"], pairs["stars_y"]
        like, like_then = one >= LIKE, other >= LIKE
        facts = [one <= other, one < other, like, like_then, like & like_then, one > 0]
        self.facts = np.column_stack(facts).astype(float)

    def positions(self, rules: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        if_item, then_item = rules["if_item"], rules["then_item"]
        return self.items.get_indexer(if_item), self.items.get_indexer(then_item)

    def weights(self, rules: pd.DataFrame) -> Floats:
        weights = np.zeros(self.ordered.shape)
        weights[self.positions(rules)] = 1
        return weights

    def counts(self, weights: Floats) -> Floats:
        """By user, over rules: in how many held-out cases each of the facts holds."""
        facts = pd.DataFrame(self.facts * weights[self.pair][:, None])
        return facts.groupby(self.user).sum().to_numpy()

    def null(self, weights: Floats, pool: Marks) -> Floats:
        """The chance of every pair, if as many are drawn at random from those of the pool alike."""
        pool = pool & ~np.eye(len(pool), dtype=bool)
        group = self.alike[pool]
        share = np.bincount(group, weights[pool]) / np.maximum(np.bincount(group), 1)
        drawn = np.zeros(weights.shape)
        drawn[pool] = share[group]
        return drawn

    def drawn(self, null: Floats, users: NDArray[np.int64]) -> Floats:
        """Counts over pairs drawn at random, once for each row of how often every user counts."""
        rng = np.random.default_rng(0)
        possible = np.flatnonzero(null[self.pair])
        facts, user = self.facts[possible], self.user[possible]
        flat = np.ravel_multi_index(self.pair, null.shape)[possible]
        pair, pair_of_case = np.unique(flat, return_inverse=True)
        chance = null.ravel()[pair]
        counts = [
            ((rng.random(len(pair)) < chance)[pair_of_case] * often[user]) @ facts
            for often in users
        ]
        return np.array(counts)


class Added(NamedTuple):
    """A difference to the null in points, and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"


class Experiment:
    """Checks lists of rules; intervals are over users and pairs, drawn again and again."""

    def __init__(self, ratings: Ratings, resamples: int) -> None:
        self.ratings = ratings
        n = int(ratings.user.max()) + 1
        self.draws = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), resamples)

    def row(self, fits: list[Floats], pool: Marks) -> dict[str, Any]:
        """The rules of some fits as a line of a table, the null in brackets."""
        ratings, weights = self.ratings, np.mean(fits, axis=0)
        null = ratings.null(weights, pool)
        counts = ratings.counts(weights)
        found, expected = rates(counts.sum(axis=0)), rates(ratings.counts(null).sum(axis=0))
        spread = rates(self.draws @ counts) - rates(ratings.drawn(null, self.draws))
        low, high = np.nanpercentile(spread, [2.5, 97.5], axis=1)
        added = [Added(*(100 * of)) for of in np.column_stack([found - expected, low, high])]
        two_way = np.mean([(fit * fit.T).sum() / fit.sum() for fit in fits])
        among = np.mean([(ratings.null(fit, pool) * fit).sum() / fit.sum() for fit in fits])
        row: dict[str, Any] = {
            "rules": round(weights.sum()),
            "equivalences": f"{two_way:.0%}",
            "null: rules themselves": f"{among:.0%}",
        }
        row["as the means"] = f"{(weights * ratings.ordered).sum() / weights.sum():.1%}"
        row["held-out cases"] = round(counts[:, -1].sum())
        for k, name in enumerate(["agreement, ties half", "as stated", "like rate", "base rate"]):
            row[name] = f"{found[k]:.3f} ({expected[k]:.3f})"
        return row | {AGREEMENT: added[0], GAIN: added[4]}


def rates(counts: Floats) -> Floats:
    """Agreement with ties half and as stated, like rate, base rate, the one over the other."""
    le, lt, like, like_then, like_both, both = counts.T
    like_rate, base_rate = like_both / like, like_then / both
    return np.array([(le + lt) / 2 / both, le / both, like_rate, base_rate, like_rate - base_rate])


def titles_of_films() -> pd.Series[str]:
    """The films' titles, with the id where two have the same."""
    titles = movielens.films()["title"]
    with_id = titles + " [" + titles.index.astype(str) + "]"
    return titles.mask(titles.duplicated(keep=False), with_id)


def fitted(observations: Observations, n_events: int, seed: int) -> KolmogorovDescent:
    penalty = PENALTIES[n_events]
    return KolmogorovDescent(n_events, pmf_penalty=penalty, random_state=seed).fit(observations)


def inclusions(model: KolmogorovDescent, test: data.Ratings) -> pd.DataFrame:
    """All proved rules of items that enough users rated both, with the held-out counts."""
    rules: Any = model.rules(
        tuple(test), like=LIKE, proved=True, min_evidence=0, top=None, fold=False
    )
    return pd.DataFrame(rules[rules["users"] >= FLOORS[0]])


def maximal(train: data.Ratings, test: data.Ratings, titles: pd.Series[str], n_events: int) -> Rows:
    """The items that come true in every event, of a model of R/5 as the paper has it."""
    model = fitted(Observations.of(tuple(train), scale="max"), n_events, 0)
    rows = []
    for item in np.sort(model.order().maximal()):
        seen, held = train.values[train.items == item], test.values[test.items == item]
        row = {"film": titles[item], "ratings": len(seen), "mean": f"{seen.mean():.2f}"}
        held_mean = f"{held.mean():.2f}" if len(held) else "-"
        rows.append(row | {"held-out ratings": len(held), "held-out mean": held_mean})
    return rows


def main(quick: bool) -> None:
    """Run it all and write the page; a quick run only prints it."""
    train, test = movielens.split(4)
    ratings = Ratings(train, test)
    titles = titles_of_films()
    experiment = Experiment(ratings, 50 if quick else 200)
    sizes, seeds, shown = ([8], range(1), 8) if quick else (list(PENALTIES), range(3), 16)
    every, converse = Rows(), Rows()
    for n_events in sizes:
        models = [fitted(ratings.observations, n_events, seed) for seed in seeds]
        found = [inclusions(model, test) for model in models]
        weights = [ratings.weights(rules) for rules in found]
        for rules, of_fit in zip(found, weights, strict=True):
            if rules["held_out_users"].sum() != ratings.counts(of_fit)[:, -1].sum():
                raise RuntimeError("model.rules counts other held-out users than this script")
        for floor in FLOORS:
            pool = ratings.rated_both >= floor
            fits, start = [w * pool for w in weights], {"D": n_events, "users": floor}
            every.append(start | experiment.row(fits, pool))
            converse.append(start | experiment.row([w.T for w in fits], pool))
            print(table(every[-1:]).splitlines()[-1], flush=True)
    tops = maximal(train, test, titles, shown)
    held = test.values[np.isin(titles[test.items], [row["film"] for row in tops])]
    of_tops = f"{len(held)} of mean {held.mean():.2f}; of all: {test.values.mean():.2f}."
    sections: list[tuple[str, str, Rows]] = [
        ("All inclusions", ALL + verdict(every), every),
        ("The converse", CONVERSE + verdict(converse), converse),
        (f"The maximal items, D = {shown}, seed 0", MAXIMAL + of_tops, tops),
    ]
    about = machine()
    where = [f"{about['date']}, {about['cores']} cores", f"Python {about['versions']['python']}"]
    where += [f"{name} {version(name)}" for name in ("eventspace", "numpy")]
    intro = INTRO.format(
        verdict=in_short(every),
        sizes=", ".join(f"{n} ({PENALTIES[n]:g})" for n in sizes),
        seeds=len(seeds),
        resamples=len(experiment.draws),
        where=", ".join(where),
    )
    parts = [f"## {title}\n\n{text}\n\n{table(rows)}\n" for title, text, rows in sections]
    if quick:
        print("\n".join([intro, *parts]))
    else:
        PAGE.write_text("\n".join([intro, *parts]))


def verdict(rows: Rows) -> str:
    """What the intervals of a table say, in words."""
    said = []
    for column in (AGREEMENT, GAIN):
        added = [row[column] for row in rows]
        above, below = sum(a.low > 0 for a in added), sum(a.high < 0 for a in added)
        said.append(
            f"- {column}: from {min(added).value:+.1f} to {max(added).value:+.1f} points; the "
            f"interval lies above zero in {above} of {len(rows)} rows, below it in {below}."
        )
    return "\n\n" + "\n".join(said)


def in_short(every: Rows) -> str:
    """The verdict of the page: what inclusions add to the means."""
    points = {
        column: "{:+.1f} to {:+.1f}".format(
            *(pick(row[column] for row in every).value for pick in (min, max))
        )
        for column in (AGREEMENT, GAIN)
    }
    return (
        f"> **Verdict.** Inclusions hold on held-out ratings, but the items' mean ratings explain "
        f"most of it.\n> Beyond the means they add {points[AGREEMENT]} points to agreement and "
        f"{points[GAIN]} points to the like rate\n> over the base rate. Inclusion is a proof, and "
        "no filter: rules that are ordered by what they\n> gain are worth more, "
        "[on users that were never asked](rules-on-held-out-users.md)."
    )


INTRO = """# The paper's rules on held-out ratings

{verdict}

`python -m reproduction.rules` writes this page. Rules, here inclusions, are found on u4.base of
MovieLens 100K and checked on u4.test. Numbers of events, with the penalty that validation picks:
{sizes}. Fits have at
most 20 iterations, and ratings from 1 to 5 are read as 0 to 1. The tables are means over {seeds}
seed(s). A like is 4 stars or more. ({where}.)

A *case* is a rule and a user with held-out ratings of both its items. All rates are over cases.

- *Agreement*: how often if_item got at most the stars of then_item. This is what an inclusion says
  of the chances. Ties count half, or, in the column "as stated", as agreement.
- *Like rate*: the share of cases that like then_item, among those that like if_item.
- *Base rate*: the same share among all cases.
- *As the means*: the share of rules that only repeat the order of the two items' mean ratings in
  training.

Figures in brackets are those of the **null**, which knows nothing but means. It draws the same
number of pairs at random, among pairs that are alike in training: the same floor of evidence, the
same difference of mean ratings (to 0.1 stars), the same like rate of then_item (to 0.05) and about
as many users who rated both (to a factor of 2). The figure is the mean over all such draws. *Added*
is the difference to the null in points. Its 95 % interval is a bootstrap: {resamples} times, other
held-out users are drawn (not rules, which share users), and another null. The fits stay the same.
What is added to the like rate is counted over the base rate, for the rules and for the null.
"""
ALL = """What are inclusions worth, and what do they add to the means? *Users* is the least number
of users who rated both items in training. Equivalent items count as rules both ways. Where many of
the null's pairs are rules themselves, little can be added."""
CONVERSE = """Does the direction in which the paper prints its rules (`convention="paper"`) hold?
These are the same inclusions, if_item and then_item exchanged."""
MAXIMAL = """The paper calls items maximally influential if they come true in every event. These are
from a model of R/5, as in the paper. Their held-out ratings: """


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
