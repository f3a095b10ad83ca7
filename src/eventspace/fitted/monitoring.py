"""New ratings against what a model expects of them: does it still fit, and who has moved?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eventspace._base.printable import shown
from eventspace._base.types import Bits, Floats
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.fitted.surprise import MOVED, Surprise

SURE = 0.95  # that the RMSE is in its interval
SLACK = 1.05  # times the expected RMSE is still as expected: models are a little optimistic
NAMED = 3
FEW = 10  # users say little of all users
LEAST_VARIANCE = 2.0**-48  # what float32 rounds a value by, squared: a fit may have no noise at all
MOST_VARIANCE = 0.25  # of any number in [0, 1]
MOST_WEIGHT = 100.0  # of a new rating beside the middle one's: more would speak for all others
MANY_TIMES = 10  # the expected RMSE: the reader needs no percentage


@dataclass(frozen=True)
class Monitoring:
    """What new ratings say of a model. As text, it is a few plain sentences.

    RMSEs are in the unit of the table. ``expected_rmse`` is what the model expects of these very
    ratings, ``rmse`` what was found, and ``low`` and ``high`` its interval (95 %, by users).
    ``moved`` is a DataFrame with the users and items whose ratings surprise most: ``kind``,
    ``id``, ``ratings``, ``rmse``, ``expected``, ``surprise`` (in standard deviations), ``p_value``
    and ``q_value``. Those with q < 0.05 have moved more than the others, but for
    one in twenty.
    """

    n_ratings: int  # of users and items that the model has ratings of
    n_others: int  # of new ones, which tell nothing about what was known
    rmse: float
    low: float
    high: float
    expected_rmse: float
    moved: DataFrame = field(repr=False)
    n_moved: tuple[int, int]  # users and items
    n_judged: tuple[int, int]
    names: tuple[str, ...]  # the first of those that have moved

    @property
    def refit_due(self) -> bool:
        """Whether errors are surely more than a twentieth greater than expected, of ten users."""
        return self.n_judged[0] >= FEW and self.low > SLACK * self.expected_rmse

    @property
    def can_tell(self) -> bool:
        """Whether a refit is due, or enough was judged to say no: half the ratings, ten users."""
        return self.refit_due or (self.n_ratings >= self.n_others and self.n_judged[0] >= FEW)

    def __str__(self) -> str:
        if not self.n_ratings + self.n_others:
            return "There are no new ratings."
        if not self.n_ratings:
            return (
                f"Of {_counted(self.n_others, 'rating')} none is of a user and an item that the "
                "model knows: they say nothing of how well it fits. Update takes them in. Fit "
                "again if newcomers are many."
            )
        are = "is" if self.n_others == 1 else "are"
        others = f"; {self.n_others:,} {are} of new users or items" if self.n_others else ""
        (users, items), (of_users, of_items) = self.n_moved, self.n_judged
        n_more = users + items - len(self.names)
        more = f" and {n_more:,} more" if n_more else ""
        who = f": {', '.join(self.names)}{more}" if self.names else ""
        judged = _counted(self.n_ratings, "rating")
        lines = [
            f"{judged} of users and items that the model knows{others}.",
            f"RMSE {self.rmse:.4g} [{self.low:.4g}, {self.high:.4g}], "
            f"expected {self.expected_rmse:.4g}.",
            f"{users:,} of {_counted(of_users, 'user')} and {items:,} of "
            f"{_counted(of_items, 'item')} have moved more than the others{who}.",
            self._verdict,
        ]
        return "\n".join(lines)

    @property
    def _verdict(self) -> str:
        if self.refit_due:
            if self.rmse > MANY_TIMES * self.expected_rmse:
                return "A refit is due: errors are far greater than expected."
            greater = self.rmse / self.expected_rmse - 1
            return f"A refit is due: errors are {greater:.0%} greater than expected."
        if self.can_tell:
            return "No refit is due: update takes these ratings in."
        unknown = "Whether a refit is due cannot be told:"
        if self.n_ratings < self.n_others:
            share = self.n_others / (self.n_ratings + self.n_others)
            return (
                f"{unknown} {share:.0%} of the ratings are of new users or items. Update takes "
                "them in. Fit again if newcomers are many."
            )
        return f"{unknown} the ratings are of {_counted(self.n_judged[0], 'user')} only."


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" + "s" * (n != 1)


def exactness(new: Observations) -> Floats:
    """The weights of new ratings as they are judged: what has faded is not less exact for that."""
    if new.fades or not new.weighted:
        return np.full(new.n_observed, new.mean_weight if new.fades else 1.0)
    weight = new.by_user.weight.astype(np.float64)
    return np.asarray(np.minimum(weight, MOST_WEIGHT * np.median(weight)))


def monitored(
    known: Observations,
    new: Observations,
    judged: Bits,
    predicted: Floats,
    variance: Floats,
    weight: Floats,
) -> Monitoring:
    """The entries of ``new`` that are ``judged``, beside their predictions and what these leave."""
    users, items, value = new.coo()
    users, items, value = users[judged], items[judged], value[judged]
    error = np.square(value - predicted)
    expected = np.clip(variance, LEAST_VARIANCE, MOST_VARIANCE)
    n, n_others, unit = len(error), new.n_observed - len(error), known.scale[1] - known.scale[0]
    weight = weight / weight.mean() if n else weight
    of_users, of_items = (Surprise.of(rows, error, expected, weight) for rows in (users, items))
    mse = float(weight @ error) / n if n else math.nan
    half = _half_interval(of_users.squares, of_users.weights)
    table, n_moved, names = _moved(known, of_users, of_items)
    return Monitoring(
        n,
        n_others,
        unit * math.sqrt(mse),
        unit * math.sqrt(max(mse - half, 0.0)),
        unit * min(math.sqrt(mse + half), 1.0),
        unit * math.sqrt(float(weight @ expected) / n) if n else math.nan,
        table,
        n_moved,
        (len(of_users.rows), len(of_items.rows)),
        names,
    )


def _half_interval(squares: Floats, weights: Floats) -> float:
    """Of sum(squares) / sum(weights), with users that come by chance; infinite for one user."""
    from scipy.special import stdtrit

    n = len(weights)
    if n < 2:
        return math.inf if n else math.nan
    apart = squares - squares.sum() / weights.sum() * weights
    error = float(np.sqrt(np.sum(apart**2) * n / (n - 1)) / weights.sum())
    return float(stdtrit(n - 1, (1 + SURE) / 2)) * error


def _moved(
    known: Observations, of_users: Surprise, of_items: Surprise
) -> tuple[DataFrame, tuple[int, int], tuple[str, ...]]:
    """Users and items by their surprise, how many of each have moved, and the first of these."""
    from scipy.special import ndtri

    both = [np.concatenate(parts) for parts in zip(of_users, of_items, strict=True)]
    _, n, weights, squares, expected, p, q = both
    order = np.lexsort((-n, p))
    n_users = len(of_users.rows)
    kind = np.repeat(["user", "item"], [n_users, len(p) - n_users])
    unit = known.scale[1] - known.scale[0]
    ids = [known.user_ids[u] for u in of_users.rows] + [known.item_ids[i] for i in of_items.rows]
    columns: dict[str, Any] = {
        "kind": kind[order],
        "id": [ids[k] for k in order],
        "ratings": n[order].astype(np.int64),
        "rmse": unit * np.sqrt(squares / weights)[order],
        "expected": unit * np.sqrt(expected / weights)[order],
        "surprise": -ndtri(np.clip(p, 1e-300, 1 - 1e-16))[order],
        "p_value": p[order],
        "q_value": q[order],
    }
    found = q < MOVED
    counts = int(found[:n_users].sum()), int(found[n_users:].sum())
    names = tuple(f"{kind[k]} {shown(ids[k])}" for k in order[found[order]][:NAMED])
    return data_frame(columns, known.library), counts, names
