"""What a like is, and how likely the model finds one: for every rating, and at large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from eventspace._base.cached import cached_property
from eventspace._base.checks import is_real
from eventspace._base.errors import UserError
from eventspace._base.types import Floats
from eventspace.data.entries import Entries, transpose
from eventspace.data.factors import dot_products
from eventspace.data.observations import Observations

ROUNDING = 1e-6
LEAST = 5e-3  # no chance is nearer to 0 or 1
SAMPLED = 256  # users who stand for all, the more probably the more they rated

BLOCK = 4096  # items at a time

Float32s = NDArray[np.float32]


def liked_from(seen: Observations, like: Any) -> float:
    """The least value that is a like: as said, or the least observed one above the mean."""
    if like is None:
        value = seen.by_user.value
        n = seen.n_users * seen.n_items if seen.missing else max(len(value), 1)
        above = value[value > value.sum(dtype=np.float64) / n]
        if not above.size:
            return math.inf
        digits = 6 - math.ceil(math.log10(seen.scale[1] - seen.scale[0]))  # beyond the rounding
        return round(float(seen.from_unit(above.min())), digits)
    if not is_real(like) or math.isnan(like):
        raise UserError("must be a number, in the unit of the table.", parameter="like", value=like)
    lowest, highest = seen.scale
    if not lowest < like <= highest:
        raise UserError(
            f"makes {'nothing' if like > lowest else 'everything'} a like: values run from "
            f"{lowest:g} to {highest:g}.",
            parameter="like",
            value=like,
        )
    return float(like)


def lowest_like(seen: Observations, like: float) -> np.float32:
    """The least like from 0 to 1; a little less, since values are rounded."""
    return np.float32(seen.to_unit(like) - ROUNDING)


@dataclass(frozen=True, eq=False)
class Everyone:
    """All users, of whom each says of every item whether it comes true: the missing say no.

    Sums of the model's chances over all users are products of small matrices.
    """

    theta: Floats  # users x events; without events where the model has not seen the table
    psi: Floats  # items x events

    @property
    def n_users(self) -> int:
        """How many users there are."""
        return len(self.theta)

    def chances(self, item: int) -> Floats:
        """Those of all users."""
        return np.asarray(np.clip(self.theta @ self.psi[item], LEAST, 1 - LEAST))

    @cached_property
    def total(self) -> Floats:
        """The sum of each item's chances."""
        return np.asarray(self.psi @ self.theta.sum(axis=0))

    @cached_property
    def _gram(self) -> Floats:
        return np.asarray(self.theta.T @ self.theta)

    def together(self, item: int, others: NDArray[Any]) -> Floats:
        """The sums of the products of an item's chances and those of some others."""
        return np.asarray(self.psi[others] @ (self._gram @ self.psi[item]))


@dataclass(frozen=True, eq=False)
class Likes:
    """The ratings of a table by user and by item, each with what is to be counted of it."""

    ptr: NDArray[np.int64]  # of users
    index: NDArray[np.int32]
    facts: Float32s  # of each rating: its value, whether it is a like, and the model's chances
    item_ptr: NDArray[np.int64]
    item_index: NDArray[np.int32]
    item_facts: Float32s
    everyone: Everyone | None = None  # where what is missing says no

    @classmethod
    def of(
        cls,
        seen: Observations,
        like: float,
        facts: list[Float32s] | None = None,
        factors: tuple[Floats, Floats] | None = None,
    ) -> Likes:
        """``like`` is the least value that is one, in the unit of the table.

        ``facts`` are the model's chances of each rating, by user, and ``factors`` those of all
        chances: none for a table that the model has not seen.
        """
        threshold = lowest_like(seen, like)
        by_user = seen.by_user
        nothing = np.zeros(by_user.value.size, dtype=np.float32)
        liked = (by_user.value >= threshold).astype(np.float32)
        columns = [by_user.value, liked, *(facts or [nothing, nothing])]
        by_item = [_by_item(by_user, column, seen.n_items) for column in columns]
        return cls(
            by_user.ptr,
            by_user.index,
            np.column_stack(columns),
            seen.by_item.ptr,
            seen.by_item.index,
            np.column_stack(by_item),
            Everyone(*(factors or _nothing_said(seen))) if seen.missing else None,
        )

    @property
    def n_items(self) -> int:
        """How many items the table has."""
        return len(self.item_ptr) - 1

    @cached_property
    def totals(self) -> Floats:
        """The sums of all the facts over the ratings of each item: items x facts."""
        items = np.repeat(np.arange(self.n_items), np.diff(self.item_ptr))
        sums: list[Any] = [np.bincount(items, fact, self.n_items) for fact in self.item_facts.T]
        if self.everyone is not None:
            sums[2] = sums[3] = self.everyone.total
        return np.column_stack(sums)

    @property
    def n_raters(self) -> Floats:
        """How many users say what they think of each item."""
        stored = np.diff(self.item_ptr).astype(np.float64)
        return stored if self.everyone is None else np.full_like(stored, self.everyone.n_users)

    def raters(self, item: int) -> tuple[NDArray[Any], Float32s]:
        """The users who rated an item, in their order, and the facts of their ratings."""
        own = slice(self.item_ptr[item], self.item_ptr[item + 1])
        users, facts = self.item_index[own], self.item_facts[own]
        if self.everyone is None:
            return users, facts
        of_all = np.zeros((self.everyone.n_users, facts.shape[1]), dtype=np.float32)
        of_all[:, 2:] = self.everyone.chances(item)[:, None]
        of_all[users, :2] = facts[:, :2]
        return np.arange(self.everyone.n_users), of_all


def _nothing_said(seen: Observations) -> tuple[Floats, Floats]:
    """Factors that give every chance as 0."""
    return np.zeros((seen.n_users, 1)), np.zeros((seen.n_items, 1))


def _by_item(by_user: Entries, column: Float32s, n_items: int) -> Float32s:
    """A fact of each rating, in the order by item."""
    return transpose(by_user._replace(value=column), n_items).value


@dataclass(frozen=True, eq=False)
class ChanceOfLike:
    """P[a value is a like | the chance p]: for yes and no it is p, else that of a normal law."""

    cut: float  # where values begin to be likes: between the least of them and the next one
    spread: Floats  # of users: the standard deviation of a value around its chance
    yes_or_no: bool

    @classmethod
    def of(cls, seen: Observations, spread: Floats, like: float) -> ChanceOfLike:
        """The law of a table's values."""
        value, threshold = seen.by_user.value, lowest_like(seen, like)
        below = value[value < threshold]
        cut = float(threshold + (below.max() if below.size else threshold)) / 2
        yes_or_no = bool(np.isin(value, (0.0, 1.0)).all() and 0 < threshold <= 1)
        if seen.missing and not np.isin(value, (0.0, 1.0)).all():
            raise UserError(
                "Rules of a table in which what is missing says no are for yes and no: values "
                "between them are not liked or disliked."
            )
        return cls(cut, np.maximum(spread, LEAST), yes_or_no)

    def __call__(self, p: Floats, users: NDArray[Any]) -> Float32s:
        """The chances of likes."""
        chance = p if self.yes_or_no else ndtr((p - self.cut) / self.spread[users])
        return np.clip(chance, LEAST, 1 - LEAST).astype(np.float32)


def likes_of(
    seen: Observations, factors: tuple[Floats, Floats], spread: Floats, like: float
) -> tuple[Likes, Float32s]:
    """The ratings of a table with the model's chances, and the chances of some users at large.

    ``factors`` are those of the chances: users x events and items x events. The chances at large
    are items x users; who these are does not depend on the seed of the model.
    """
    theta, psi = factors
    law = ChanceOfLike.of(seen, spread, like)
    users, items, _ = seen.coo()
    p = np.clip(dot_products(theta, psi, users, items), 0.0, 1.0)
    found = Likes.of(seen, like, [law(p, users), p.astype(np.float32)], factors)
    sizes = seen.by_user.counts()
    n = min(SAMPLED, int(np.count_nonzero(sizes)))
    some = np.random.default_rng(0).choice(len(sizes), n, replace=False, p=sizes / sizes.sum())
    at_large = np.empty((len(psi), n), dtype=np.float32)
    for block in range(0, len(psi), BLOCK):
        p = np.clip(psi[block : block + BLOCK] @ theta[some].T, 0.0, 1.0)
        at_large[block : block + BLOCK] = law(p, some)
    return found, at_large
