"""Neighbours: items that come true together beyond chance, users whose chances rise together."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventspace._base.checks import check_whole
from eventspace._base.types import Floats, Positions
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.observations import Observations
from eventspace.rules.law import Law, NextUser
from eventspace.rules.pairs import Sums, Workspace, compare

TINY = 1e-12


def similar_items(
    next_user: NextUser, seen: Observations, item: int, n: int, min_evidence: int
) -> DataFrame:
    """The items that the next user likes together with this one, by how far beyond chance."""
    check_whole("n", n, 1)
    check_whole("min_evidence", min_evidence, 1)
    room = Workspace(next_user.likes.n_items)
    room.wanted[:] = True
    others, sums = compare(next_user.likes, item, room)
    everybody = next_user.likes.everyone is not None  # has been asked of everything
    enough = (sums.like_both if everybody else sums.users) >= min_evidence
    others, sums = others[enough], Sums(*(part[enough] for part in sums))
    law = next_user.law(item, others, sums)
    correlation = _correlation(law)
    best = np.lexsort((others, -sums.users, -correlation))[:n]
    confidence, back = law.confidence, law.swapped().confidence
    columns = {
        "item": seen.item_ids.values[others[best]],
        "correlation": correlation[best],
        "confidence": confidence[best],
        "base": law.base[best],
        "back": back[best],
        "users": sums.users[best].astype(np.int64),
        "like_both": sums.like_both[best].astype(np.int64),
    }
    return data_frame(columns, seen.library)


def _correlation(law: Law) -> Floats:
    """Of the likes of two items: 0 for none beyond chance, 1 if one is liked with the other."""
    total = sum(law)
    both, one, other = law.both / total, (law.both + law.only_if) / total, law.base
    return np.asarray((both - one * other) / np.sqrt(one * (1 - one) * other * (1 - other)))


def similar_users(
    seen: Observations, theta: Floats, psi: Floats, user: int, n: int, min_evidence: int
) -> DataFrame:
    """The users whose chances, over the rated items, rise and fall with those of this one."""
    check_whole("n", n, 1)
    check_whole("min_evidence", min_evidence, 0)
    rated = psi[seen.by_item.rated]
    covariance = np.atleast_2d(np.cov(rated.T, bias=True))
    own = covariance @ theta[user]
    variance = np.einsum("ud,de,ue->u", theta, covariance, theta, optimize=True)
    scale = np.sqrt(np.maximum(variance * variance[user], TINY))
    correlation = np.clip((theta @ own) / scale, -1.0, 1.0)
    both, apart = _compared(seen, user)
    others = np.flatnonzero((both >= min_evidence) & seen.by_user.rated)
    others = others[others != user]
    best = others[np.lexsort((others, -both[others], -correlation[others]))[:n]]
    columns = {
        "user": seen.user_ids.values[best],
        "correlation": correlation[best],
        "items": both[best],
        "apart": apart[best],
    }
    return data_frame(columns, seen.library)


def _compared(seen: Observations, user: int) -> tuple[Positions, Any]:
    """With how many items each user has been asked as this one; the mean distance of the values."""
    users, items, p = seen.coo()
    own = np.full(seen.n_items, np.nan)
    mine = slice(seen.by_user.ptr[user], seen.by_user.ptr[user + 1])
    own[seen.by_user.index[mine]] = seen.by_user.value[mine]
    distance = np.abs(own[items] - p)
    known = ~np.isnan(distance)
    both = np.bincount(users[known], minlength=seen.n_users)
    total = np.bincount(users[known], distance[known], seen.n_users)
    lowest, highest = seen.scale
    apart = np.divide(total, both, out=np.full(seen.n_users, np.nan), where=both > 0)
    return both, apart * (highest - lowest)
