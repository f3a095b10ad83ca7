"""MovieLens 100K, u1, with all that is known: who the viewers are, what the films are, and when.

Every choice is made inside of u1's training part. The test part is predicted at the end, by what
was chosen. In u1 the viewers 1 to 462 are tested, by 38 % of their ratings. Validation is alike:
one half of the other viewers is tested by 38 % of theirs, then the other half.

When a rating was entered is taken as known, as in what is published. Others use the day. The second
also tells which ratings were entered together, before and after (``moments``).

    python -m benchmarks.side_information
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks import attributes
from benchmarks.data import Ratings, as_ratings, folder
from benchmarks.methods import Floats, Ours
from benchmarks.moments import Days, Moments, Times, errors_of_others, expected_errors
from benchmarks.timing import machine, publish, save, table
from eventspace import KolmogorovPosterior, Observations
from eventspace.metrics import rmse

FIRST_VIEWERS, TESTED = 462, 0.38  # of u1: who is tested, and by what share of their ratings
CHAINS = {"to choose": 8, "for u1": 32, "for errors": 2}
KEPT = 16  # draws of a chain
EVENTS = (24, 32, 40)
STARS = (1.0, 5.0)
LAWS: dict[str, Days | Moments] = {
    **{f"the day, {a:g}": Days(a) for a in (0.001, 0.003, 0.01)},
    **{
        f"the second, {a:g}, {s} s": Moments(a, s)
        for a in (0.1, 0.15, 0.2)
        for s in (30, 60, 120, 240)
    },
}

Told = Mapping[str, Any]  # attributes, as ``fit`` takes them


class Timed(NamedTuple):
    """Ratings, and when each was entered, in seconds."""

    ratings: Ratings
    times: Times

    def take(self, chosen: Any) -> Timed:
        rows = np.flatnonzero(chosen)
        return Timed(self.ratings.take(rows), self.times[rows])

    @property
    def moments(self) -> tuple[Any, Times]:
        return self.ratings.users, self.times

    def missed(self, stars: Floats) -> float:
        return rmse(self.ratings.values, np.clip(stars, *STARS))


class Setting(NamedTuple):
    """What a posterior is told beside the ratings, and its events."""

    told: Told
    n_events: int

    def fit(self, train: Ratings, n_chains: int) -> Ours:
        """Learn from ratings and attributes."""
        model = KolmogorovPosterior(
            self.n_events,
            n_chains=n_chains,
            n_samples=KEPT * n_chains,
            meets=False,
            random_state=0,
            verbose=False,
        )
        return Ours(model.fit(Observations.of(tuple(train), scale=STARS), **self.told))

    def errors(self, train: Ratings) -> Floats:
        """Of each rating, predicted by a model that has not seen it."""
        return errors_of_others(lambda part: self.fit(part, CHAINS["for errors"]), train)


def u1() -> tuple[Timed, Timed]:
    """GroupLens's split with its times: (train, test)."""
    base, test = (
        pd.read_csv(folder("movielens-100k") / f"u1.{part}", sep="\t", header=None)
        for part in ("base", "test")
    )
    return Timed(as_ratings(base), base[3].to_numpy()), Timed(as_ratings(test), test[3].to_numpy())


def like_u1(train: Timed, seed: int = 0) -> list[tuple[Timed, Timed]]:
    """Two splits of the training part: half of the viewers that u1 does not test, then the rest."""
    rng, users = np.random.default_rng(seed), train.ratings.users
    others = rng.permutation(np.unique(users[users > FIRST_VIEWERS]))
    splits = []
    for half in (others[::2], others[1::2]):
        held = np.isin(users, half) & (rng.random(len(users)) < TESTED)
        splits.append((train.take(~held), train.take(held)))
    return splits


def told_of() -> dict[str, Told]:
    """What may be told beside the ratings, by what it is called."""
    films, viewers = attributes.films_100k(), attributes.viewers_100k()
    more = attributes.viewers_100k(more=True)
    return {
        "ratings only": {},
        "genres, year": {"item_attributes": films},
        "age, sex": {"user_attributes": viewers},
        "genres, year, age, sex": {"item_attributes": films, "user_attributes": viewers},
        "the same, occupation, zip": {"item_attributes": films, "user_attributes": more},
    }


def best(errors: Mapping[str, Sequence[float]]) -> str:
    """Where the mean is least."""
    return min(errors, key=lambda name: float(np.mean(errors[name])))


class Choice(NamedTuple):
    """What validation has found, with the errors on its splits of all that was tried."""

    told: str
    n_events: int
    laws: list[str]  # the best of those that know the day, and of those that know the second
    tried: dict[str, list[float]]


def chosen(train: Timed) -> Choice:
    """Choose what is told, then the events, then the law of errors in time."""
    splits, tried, predicted = like_u1(train), dict[str, list[float]](), dict[str, list[Floats]]()

    def attempt(name: str, setting: Setting) -> None:
        predicted[name] = [
            setting.fit(part.ratings, CHAINS["to choose"])(held.ratings) for part, held in splits
        ]
        record(name, predicted[name])

    def record(name: str, stars: list[Floats]) -> None:
        tried[name] = [held.missed(x) for (_, held), x in zip(splits, stars, strict=True)]
        print(name, *(f"{error:.4f}" for error in tried[name]), flush=True)

    of = told_of()
    for told, attributes_told in of.items():
        attempt(told, Setting(attributes_told, EVENTS[0]))
    told = best(tried)
    by_events = {told: EVENTS[0]} | {f"{told}; {n} events": n for n in EVENTS[1:]}
    for name, n in list(by_events.items())[1:]:
        attempt(name, Setting(of[told], n))
    name = best({name: tried[name] for name in by_events})
    setting = Setting(of[told], by_events[name])
    errors = [setting.errors(part.ratings) for part, _ in splits]
    laws = {f"{name}; {law}": law for law in LAWS}
    for with_law, law in laws.items():
        record(
            with_law,
            [
                x + expected_errors(LAWS[law], (*part.moments, missed), held.moments)
                for x, missed, (part, held) in zip(predicted[name], errors, splits, strict=True)
            ],
        )
    found = [
        laws[best({name: tried[name] for name, law in laws.items() if isinstance(LAWS[law], kind)})]
        for kind in (Days, Moments)
    ]
    return Choice(told, setting.n_events, found, tried)


def main() -> None:
    """Choose, predict u1's test part, print and publish."""
    train, test = u1()
    choice = chosen(train)
    cores, rows = machine()["cores"], []

    def row(name: str, stars: Floats, wall: float, core: float) -> None:
        error = f"{test.missed(stars):.4f}"
        rows.append({f"u1, {CHAINS['for u1']} chains": name, "RMSE, stars": error,
                     f"s, {cores} cores": wall, "core s": core})  # fmt: skip

    for told in ("ratings only", choice.told):
        setting, start = Setting(told_of()[told], choice.n_events), clocks()
        stars = setting.fit(train.ratings, CHAINS["for u1"])(test.ratings)
        row(told, stars, *(clocks() - start))
    known = (*train.moments, setting.errors(train.ratings))
    spent = clocks() - start
    for law in choice.laws:
        expected = expected_errors(LAWS[law], known, test.moments)
        row(f"{choice.told}; {law}", stars + expected, *spent)
    tried = [
        {"validation, 8 chains": name, "first half": f"{a:.4f}", "second half": f"{b:.4f}",
         "mean": f"{(a + b) / 2:.4f}"}
        for name, (a, b) in choice.tried.items()
    ]  # fmt: skip
    print(table(rows), table(tried), sep="\n\n")
    save("side_information", {"u1": rows, "chosen": choice._asdict()})
    publish("side_information", table(rows))
    publish("side_information: validation", table(tried))


def clocks() -> Floats:
    """Seconds that have passed, and seconds of all cores together."""
    return np.array([time.perf_counter(), time.process_time()])


if __name__ == "__main__":
    main()
