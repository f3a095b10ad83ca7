"""The law of the next user: what one who was never asked, and meets two items, thinks of both.

For two items it is a table of four chances: likes both, the one, the other, neither. The model
gives what is expected of it. The users who rated both are counted on top. So the table has a
Dirichlet law, whose parameters are the expected table, worth some users, plus the counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr

from eventspace._base.jit import njit
from eventspace._base.types import Floats, Positions
from eventspace.rules.likes import Float32s, Likes
from eventspace.rules.pairs import Sums, Workspace, compare

STRENGTH = 100.0  # users that the model is worth at most: chosen on validation users
LEARNT_FROM = 4  # users that make it worth one
AT_LARGE = 20.0  # users at large who stand beside those that rated both
OF_ITEM = 50.0  # ratings that the model's mean chance of an item is worth, against its own
LEARNT_ON = 200  # items whose pairs tell how much the model understates
LEAST_USERS = 5  # of these pairs
SLOPES = np.linspace(0.5, 3.0, 26)
LEVEL = 0.9  # of all intervals
Z = 1.644854  # which a normal law reaches beyond on either side once in twenty


class Law(NamedTuple):
    """The parameters of Dirichlet's law of each of some pairs, "if" before "then"."""

    both: Floats
    only_if: Floats
    only_then: Floats
    neither: Floats

    def swapped(self) -> Law:
        """The same pairs the other way round."""
        return Law(self.both, self.only_then, self.only_if, self.neither)

    @property
    def support(self) -> Floats:
        """P[likes both]."""
        return self.both / sum(self)

    @property
    def confidence(self) -> Floats:
        """P[likes then | likes if]."""
        return self.both / (self.both + self.only_if)

    @property
    def base(self) -> Floats:
        """P[likes then]."""
        return (self.both + self.only_then) / sum(self)

    @property
    def gain(self) -> Floats:
        """P[likes then | likes if] - P[likes then]."""
        return self.confidence - self.base

    @property
    def gain_error(self) -> Floats:
        """The standard deviation of the gain.

        The gain is (1 - a)(b - c), where a = P[if], b = P[then | if] and c = P[then | not if] have
        independent Beta laws: their variances, times the squares of the derivatives.
        """
        liked, not_liked = self.both + self.only_if, self.only_then + self.neither
        a, b, c = liked / (liked + not_liked), self.confidence, self.only_then / not_liked
        return np.sqrt(
            np.square(1 - a) * (_variance(b, liked) + _variance(c, not_liked))
            + np.square(b - c) * _variance(a, liked + not_liked)
        )

    @property
    def lift(self) -> Floats:
        """P[likes then | likes if] / P[likes then]."""
        return self.confidence / self.base

    @property
    def certainty(self) -> Floats:
        """How many standard deviations the gain is away from none."""
        return self.gain / self.gain_error

    @property
    def gain_low(self) -> Floats:
        """The lower end of the gain's interval."""
        return self.gain - Z * self.gain_error

    def measures(self) -> dict[str, Floats]:
        """The columns of a table of rules."""
        tail, gain, error = (1 - LEVEL) / 2, self.gain, Z * self.gain_error
        low, high = (betaincinv(self.both, self.only_if, x) for x in (tail, 1 - tail))
        return {
            "confidence": self.confidence,
            "confidence_low": np.minimum(low, self.confidence),  # a mean may be beyond an end
            "confidence_high": np.maximum(high, self.confidence),
            "base": self.base,
            "gain": gain,
            "gain_low": gain - error,
            "gain_high": gain + error,
            "lift": self.lift,
            "support": self.support,
        }


def _variance(mean: Floats, strength: Floats) -> Floats:
    """That of a Beta law."""
    return mean * (1 - mean) / (strength + 1)


@dataclass(frozen=True, eq=False)
class NextUser:
    """What is learnt once of a table: items' offsets, and how much the model understates."""

    likes: Likes
    at_large: Float32s  # items x users: the chances of likes
    mean: Floats  # of these, for each item
    offset: Floats  # of items, in log-odds: what their ratings say beyond the model
    slope: float  # that log odds ratios of the model are multiplied by
    moments: tuple[Floats, Floats]  # of items: mean and variance of the values
    strength: float  # users that the model is worth

    @classmethod
    def learn(cls, likes: Likes, at_large: Float32s) -> NextUser:
        """From the ratings of a table."""
        n = np.diff(likes.item_ptr).astype(np.float64)
        value, liked, chance, _ = likes.item_sums().T
        mean_chance = np.where(n > 0, chance / np.maximum(n, 1), 0.5)
        mean_chance = np.clip(mean_chance, 1e-3, 1 - 1e-3)
        share = (liked.sum() + 1) / (n.sum() + 2)
        shift = logit(share) - logit(np.clip(chance.sum() / max(n.sum(), 1), 1e-3, 1 - 1e-3))
        expected = expit(logit(mean_chance) + shift)
        offset = logit((liked + OF_ITEM * expected) / (n + OF_ITEM)) - logit(mean_chance)
        items = np.repeat(np.arange(len(n)), n.astype(np.int64))
        mean = value / np.maximum(n, 1)
        squares = np.bincount(items, np.square(likes.item_facts[:, 0] - mean[items]), len(n))
        variance = (squares + OF_ITEM * squares.sum() / n.sum()) / (n + OF_ITEM)
        strength = min(STRENGTH, np.count_nonzero(np.diff(likes.ptr)) / LEARNT_FROM)
        found = cls(likes, at_large, at_large.mean(axis=1), offset, 1.0, (mean, variance), strength)
        return replace(found, slope=found._learnt_slope())

    def _learnt_slope(self) -> float:
        """The slope with which the pairs of some items are likeliest."""
        n_items = self.likes.n_items
        rated = np.flatnonzero(np.diff(self.likes.item_ptr) >= LEAST_USERS)
        some = np.random.default_rng(0).permutation(rated)[:LEARNT_ON]
        room = Workspace(n_items)
        room.wanted[:] = True
        total = np.zeros(len(SLOPES))
        for item in np.sort(some).tolist():
            others, sums = compare(self.likes, item, room)
            enough = sums.users >= LEAST_USERS
            others, sums = others[enough], Sums(*(part[enough] for part in sums))
            total += _likelihoods(*self._expected(item, others, sums), *sums[:4], SLOPES)
        return float(SLOPES[np.argmax(total)]) if total.any() else 1.0

    def law(self, item: int, others: Positions, sums: Sums) -> Law:
        """The law of an item ("if") with each of some others ("then")."""
        p, q, log_odds = self._expected(item, others, sums)
        both = joint(p, q, np.exp(self.slope * log_odds))
        return self.dirichlet(both, p, q, *sums[:4])

    def _expected(self, item: int, others: Positions, sums: Sums) -> tuple[Floats, Floats, Floats]:
        """What the model expects: the chances of the two, and the log of their odds ratio."""
        n = sums.users + AT_LARGE
        together = self.at_large[others] @ self.at_large[item] / self.at_large.shape[1]
        both = (sums.chance_both + AT_LARGE * together) / n
        p = (sums.chance + AT_LARGE * self.mean[item]) / n
        q = (sums.chance_other + AT_LARGE * self.mean[others]) / n
        log_odds = np.log(both * (1 - p - q + both) / ((p - both) * (q - both)))
        return (
            expit(logit(p) + self.offset[item]),
            expit(logit(q) + self.offset[others]),
            log_odds,
        )

    def dirichlet(
        self,
        both: Floats,
        p: Floats,
        q: Floats,
        users: Any,
        like: Any,
        like_other: Any,
        like_both: Any,
    ) -> Law:
        """The expected table, worth some users, and the counts.

        Where the model is worth less than it could be, a part of half a user stands in each cell.
        """
        m = self.strength
        vague = (1 - m / STRENGTH) / 2
        return Law(
            vague + m * both + like_both,
            vague + m * (p - both) + like - like_both,
            vague + m * (q - both) + like_other - like_both,
            vague + m * (1 - p - q + both) + users - like - like_other + like_both,
        )

    def agreement(self, item: int, others: Positions, sums: Sums) -> tuple[Floats, Floats]:
        """P[the item's value is at most the other's], ties half; and what is beyond the means.

        Values have a normal law. Its covariance is that of the model's chances and that of the
        values, over the users who rated both, weighted like the tables of likes; without it there
        are only the means.
        """
        n, m, (_, variance) = sums.users, self.strength, self.moments
        chances = sums.p_both / n - sums.p * sums.p_other / n**2
        values = sums.value_both / n - sums.value * sums.value_other / n**2
        covariance = (m * chances + n * values) / (m + n)
        apart, counted = (sums.p_other - sums.p) / n, sums.value_other - sums.value
        difference = (m * apart + counted) / (m + n)
        total = variance[item] + variance[others]
        most = 0.95 * np.sqrt(variance[item] * variance[others])
        rest = np.maximum(total - 2 * np.minimum(covariance, most), 1e-12)
        agreement = ndtr(difference / np.sqrt(rest))
        return agreement, agreement - ndtr(difference / np.sqrt(np.maximum(total, 1e-12)))


@njit(cache=True, nogil=True)
def joint(p: Any, q: Any, odds: Any) -> Any:
    """The chance of both of two, from the chance of each and the odds ratio (Plackett's law)."""
    both = np.empty_like(p)
    for k in range(p.size):
        apart = odds[k] - 1.0
        if abs(apart) < 1e-9:
            both[k] = p[k] * q[k]
            continue
        t = 1.0 + (p[k] + q[k]) * apart
        root = np.sqrt(max(t * t - 4.0 * odds[k] * apart * p[k] * q[k], 0.0))
        found = 2.0 * odds[k] * p[k] * q[k] / (t + root)
        least, most = max(0.0, p[k] + q[k] - 1.0), min(p[k], q[k])
        both[k] = min(max(found, least + 1e-6 * (most - least)), most - 1e-6 * (most - least))
    return both


@njit(cache=True, nogil=True)
def _likelihoods(
    p: Any,
    q: Any,
    log_odds: Any,
    users: Any,
    like: Any,
    like_other: Any,
    like_both: Any,
    slopes: Any,
) -> Any:
    """The log likelihood of the counts, for each of some slopes."""
    total = np.zeros(slopes.size)
    for s in range(slopes.size):
        both = joint(p, q, np.exp(slopes[s] * log_odds))
        for k in range(p.size):
            total[s] += (
                like_both[k] * np.log(both[k])
                + (like[k] - like_both[k]) * np.log(p[k] - both[k])
                + (like_other[k] - like_both[k]) * np.log(q[k] - both[k])
                + (users[k] - like[k] - like_other[k] + like_both[k])
                * np.log(1.0 - p[k] - q[k] + both[k])
            )
    return total
