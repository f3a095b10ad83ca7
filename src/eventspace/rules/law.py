"""The law of the next user: what one who was never asked, and meets two items, thinks of both.

For two items it is a table of four chances: likes both, the one, the other, neither. The model
gives what is expected of it. The users who rated both are counted on top. So the table has a
Dirichlet law, whose parameters are the expected table, worth some users, plus the counts. How many
users the model is worth is learnt for each pair: many where it foresaw the counts, few where not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr

from eventspace._base.jit import njit
from eventspace._base.types import Floats, Positions
from eventspace.rules.likes import Float32s, Likes
from eventspace.rules.pairs import Sums

STRENGTHS = np.array([80.0, 240.0, 720.0])  # users that the model may be worth
MANY = 400  # users of a table; the model of fewer is worth less
AT_LARGE = 20.0  # users at large who stand beside those that rated both
OF_ITEM = 50.0  # ratings that the model's mean chance of an item is worth, against its own
COVARIANCE = 50.0  # users that the model's covariance of two items is worth
APART = 20.0  # and the rest of what is known of the values of two items apart
NEVER = 1e-6  # no chance of the next user is nearer to 0 or 1
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
        independent Beta laws.
        """
        liked, not_liked = self.both + self.only_if, self.only_then + self.neither
        a, b, c = liked / (liked + not_liked), self.confidence, self.only_then / not_liked
        of_a, of_difference = (
            _variance(a, liked + not_liked),
            _variance(b, liked) + _variance(c, not_liked),
        )
        return np.sqrt((np.square(1 - a) + of_a) * of_difference + np.square(b - c) * of_a)

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
    """What is learnt once of a table: what the likes of each item say beyond the model."""

    likes: Likes
    at_large: Float32s  # items x users: the chances of likes
    mean: Floats  # of these, for each item
    offset: Floats  # of items, in log-odds: what their ratings say beyond the model
    variance: Floats  # of items: that of their values
    worth: float  # what the model of this table is worth: 1, or less for one of few users
    graded: bool  # whether there are values between the least and the greatest

    @classmethod
    def learn(cls, likes: Likes, at_large: Float32s) -> NextUser:
        """From the ratings of a table."""
        n = likes.n_raters
        value, liked, chance, _ = likes.totals.T
        mean_chance = np.where(n > 0, chance / np.maximum(n, 1), 0.5)
        mean_chance = np.clip(mean_chance, 1e-3, 1 - 1e-3)
        share = (liked.sum() + 1) / (n.sum() + 2)
        shift = logit(share) - logit(np.clip(chance.sum() / max(n.sum(), 1), 1e-3, 1 - 1e-3))
        expected = expit(logit(mean_chance) + shift)
        offset = logit((liked + OF_ITEM * expected) / (n + OF_ITEM)) - logit(mean_chance)
        items = np.repeat(np.arange(len(n)), np.diff(likes.item_ptr))
        centred = likes.item_facts[:, 0] - (value / np.maximum(n, 1))[items]
        squares = np.bincount(items, np.square(centred), len(n))
        variance = (squares + OF_ITEM * squares.sum() / n.sum()) / (n + OF_ITEM)
        worth = min(1.0, np.count_nonzero(np.diff(likes.ptr)) / MANY)
        mean = at_large.mean(axis=1, dtype=np.float64)
        graded = not np.isin(likes.facts[:, 0], (0.0, 1.0)).all()
        return cls(likes, at_large, mean, offset, variance, worth, graded)

    def law(self, item: int, others: Positions, sums: Sums) -> Law:
        """The law of an item ("if") with each of some others ("then")."""
        n = sums.users + AT_LARGE
        both = (sums.chance_both + AT_LARGE * together(self.at_large, item, others)) / n
        p = (sums.chance + AT_LARGE * self.mean[item]) / n
        q = (sums.chance_other + AT_LARGE * self.mean[others]) / n
        odds = both * (1 - p - q + both) / ((p - both) * (q - both))
        p, q = (
            np.clip(expit(logit(chance) + self.offset[at]), NEVER, 1 - NEVER)
            for chance, at in ((p, item), (q, others))
        )
        return self.dirichlet(joint(p, q, odds), p, q, *sums[:4])

    def dirichlet(
        self,
        both: Floats,
        p: Floats,
        q: Floats,
        users: Any,
        like: Any,
        like_other: Any,
        like_both: Any,
        share: float = 1.0,
    ) -> Law:
        """The expected table, worth some users, and the counts.

        Where the model is worth less than it could be, a part of half a user stands in each cell.
        Of a ``share`` of the users it knows as much less.
        """
        expected = np.array([both, p - both, q - both, 1 - p - q + both])
        counts = np.empty_like(expected)
        counts[0], counts[1], counts[2] = like_both, like - like_both, like_other - like_both
        counts[3] = users - like - like_other + like_both
        worth = self.worth * share
        strength = learnt_strength(expected, counts, worth * STRENGTHS)
        return Law(*((1 - worth) / 2 + strength * expected + counts))

    def agreement(self, item: int, others: Positions, sums: Sums) -> tuple[Floats, Floats]:
        """P[the item's value is at most the other's], ties half; and what is beyond the means.

        Values have a normal law. Its covariance, its variances and the difference of its means are
        those of the users who rated both, and each is shrunk: the first and the last towards the
        model's, the variances towards the items'. Without covariance there are only the means. Of
        yes and no the means say it all.
        """
        n = sums.users
        covariance = self._shrunk(
            _covariance(n, sums.value, sums.value_other, sums.value_both),
            _covariance(n, sums.p, sums.p_other, sums.p_both),
            n,
            COVARIANCE,
        )
        apart = self._shrunk(
            (sums.value_other - sums.value) / n, (sums.p_other - sums.p) / n, n, APART
        )
        if not self.graded:
            return (1 + apart) / 2, np.zeros_like(apart)
        one = _covariance(n, sums.value, sums.value, sums.value_square)
        other = _covariance(n, sums.value_other, sums.value_other, sums.other_square)
        one = self._shrunk(one, self.variance[item], n, APART)
        other = self._shrunk(other, self.variance[others], n, APART)
        total = np.maximum(one + other, 1e-12)
        most = 0.95 * np.sqrt(np.maximum(one * other, 0.0))
        rest = np.maximum(total - 2 * np.minimum(covariance, most), 1e-12)
        agreement = ndtr(apart / np.sqrt(rest))
        return agreement, agreement - ndtr(apart / np.sqrt(total))

    def _shrunk(self, found: Floats, expected: Any, n: Floats, strength: float) -> Floats:
        """What n users say, and what is expected, which is worth some users."""
        m = self.worth * strength
        return np.asarray((m * expected + n * found) / (m + n))


def _covariance(n: Floats, x: Floats, y: Floats, xy: Floats) -> Floats:
    """From sums over n users."""
    return xy / n - x * y / n**2


@njit(cache=True, nogil=True)
def learnt_strength(expected: Any, counts: Any, strengths: Any) -> Any:
    """How many users the expected table of each pair is worth; tables are cells x pairs.

    Each of some strengths m is as probable as it makes the counts (the Dirichlet-multinomial law).
    With n counts the mean of the table is m / (m + n) the expected one. That part is averaged over
    the strengths, and the strength with which it is the average is returned.
    """
    found = np.empty(expected.shape[1])
    log = np.empty(strengths.size)
    for k in range(found.size):
        n = 0.0
        for cell in range(4):
            n += counts[cell, k]
        for s in range(strengths.size):
            log[s] = math.lgamma(strengths[s]) - math.lgamma(strengths[s] + n)
            for cell in range(4):
                m = strengths[s] * expected[cell, k]
                log[s] += math.lgamma(m + counts[cell, k]) - math.lgamma(m)
        most = log.max()
        weights, counted = 0.0, 0.0
        for s in range(strengths.size):
            weight = math.exp(log[s] - most)
            weights += weight
            counted += weight / (strengths[s] + n)
        found[k] = weights / counted - n
    return found


@njit(cache=True, nogil=True)
def together(at_large: Any, item: int, others: Any) -> Any:
    """The mean chance that the users at large like an item and another, for each of some others."""
    found, n = np.empty(others.size), at_large.shape[1]
    for k in range(others.size):
        total = 0.0
        for user in range(n):
            total += np.float64(at_large[item, user]) * np.float64(at_large[others[k], user])
        found[k] = total / n
    return found


@njit(cache=True, nogil=True)
def joint(p: Any, q: Any, odds: Any) -> Any:
    """The chance of both of two, from the chance of each and the odds ratio (Plackett's law)."""
    both = np.empty_like(p)
    for k in range(p.size):
        apart = odds[k] - 1.0
        t = 1.0 + (p[k] + q[k]) * apart
        root = np.sqrt(max(t * t - 4.0 * odds[k] * apart * p[k] * q[k], 0.0))
        found = 2.0 * odds[k] * p[k] * q[k] / (t + root)
        least, most = max(0.0, p[k] + q[k] - 1.0), min(p[k], q[k])
        both[k] = min(max(found, least + 1e-6 * (most - least)), most - 1e-6 * (most - least))
    return both
