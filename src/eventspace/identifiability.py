"""Whether the events of a model are the only ones that explain it, and whether they come back.

Let P = theta psi', users x items. The rows of theta are PMFs. The columns of psi are the events'
profiles: which items come true in each. P alone determines the events, up to their order, if

1. the profiles are affinely independent: no event is a mixture of others, so theta is unique given
   psi. This needs at least D - 1 distinct sets of items;
2. the PMFs span all mixtures: theta has full rank, so the affine hull of the profiles is the affine
   hull of P's rows;
3. no other vertex of the cube {0, 1}^items lies in that hull. Then every explanation with the same
   number of events has these profiles.

The third is certain if each event has an item that comes true in it alone (the model is separable).
Otherwise the 2^(D - 1) candidates are searched. The first condition is necessary. The others are
sufficient together, but not necessary: if a user is in one event alone, the event's profile is a
row of P, and no mixture of others is a vertex. So events that each have such a user are unique too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from eventspace._base.codes import pack
from eventspace._base.errors import UserError, UserTypeError
from eventspace._base.types import Bits, Floats
from eventspace.baselines.vertices import IN_THE_HULL, affine_hull, nearest_vertices
from eventspace.logic.inclusion import Classes, below

MOST_EVENTS = 21  # beyond it the candidates are not looked through
SPANNED = 1e-6  # a singular value of the PMFs below this part of the greatest is none


class Identifiability(NamedTuple):
    """What `identifiability` found. Events that never occur are left aside."""

    n_events: int
    n_sets: int  # distinct sets of items
    independent: bool  # 1: no event is a mixture of others
    spanned: bool  # 2: the PMFs span all mixtures
    separable: bool  # each event has an item of its own
    alone: bool | None  # 3: no other vertex in the hull; None: not looked at
    pure: bool  # each event has a user who is in it alone

    @property
    def unique(self) -> bool | None:
        """Whether the events are the only ones, up to their order; None if that is not known."""
        if not self.independent:
            return False
        return (self.pure or (self.spanned and self.alone)) or None

    def __str__(self) -> str:
        why = f"over {MOST_EVENTS} events" if self.independent else "events are mixtures"
        said = {True: "yes", False: "no", None: f"not looked at ({why})"}
        unique = {True: "yes", False: "no", None: "not known"}[self.unique]
        return (
            f"{self.n_events} events that occur, {self.n_sets} distinct sets of items\n"
            f"  no event is a mixture of others   {said[self.independent]}\n"
            f"  PMFs span all mixtures            {said[self.spanned]}\n"
            f"  each event has its own item       {said[self.separable]}\n"
            f"  no other events in their hull     {said[self.alone]}\n"
            f"  each event has its own user       {said[self.pure]}\n"
            f"  unique up to order                {unique}"
        )


def identifiability(model: Any) -> Identifiability:
    """Whether the chances of a fitted model have no other explanation with as many events.

    This is about the model's own chances, all known exactly. Missing or noisy data only make it
    harder. `stability` shows what the data support.
    """
    check_is_fitted(model)
    if not hasattr(model, "order"):
        raise UserTypeError(
            f"A {type(model).__name__} proves nothing: events are those of a KolmogorovDescent."
        )
    space = model.order().space
    occurring = space.pmf.max(axis=0) > 0
    rated = space.ratings > 0
    profiles = np.unique(model.indicators_[rated][:, occurring], axis=0).astype(np.float64)
    pmf = space.pmf[:, occurring]
    n_events = pmf.shape[1]
    hull = affine_hull(profiles.T, n_events)
    independent = len(hull.chosen) == n_events - 1
    sizes = np.linalg.svd(pmf, compute_uv=False)
    spanned = len(pmf) >= n_events and bool(sizes[-1] > SPANNED * sizes[0])
    own = profiles.sum(axis=1) == 1
    separable = bool((profiles[own].any(axis=0)).all())
    alone: bool | None = separable or None
    if not separable and independent and n_events <= MOST_EVENTS:
        _, distance = nearest_vertices(hull, n_events + 1)
        alone = bool(len(distance) <= n_events or distance[n_events] > IN_THE_HULL)
    pure = bool((pmf.max(axis=0) >= 1 - IN_THE_HULL).all())
    return Identifiability(n_events, len(profiles), independent, spanned, separable, alone, pure)


def match_events(indicators: Bits, others: Bits) -> NDArray[np.int64]:
    """The order of the events of ``others`` in which most bits agree (the Hungarian method).

    Compare ``others[:, match_events(indicators, others)]`` with ``indicators``.
    """
    indicators, others = np.asarray(indicators), np.asarray(others)
    if indicators.shape != others.shape:
        raise UserError(
            f"Indicators of shapes {indicators.shape} and {others.shape} cannot be matched: as "
            "many items and events are needed in both."
        )
    a, b = indicators.astype(np.float64), others.astype(np.float64)
    agreement = a.T @ b + (1 - a).T @ (1 - b)
    _, match = linear_sum_assignment(agreement, maximize=True)
    return np.asarray(match)


class Stability(NamedTuple):
    """What `stability` found: means over all pairs of models, one is perfect."""

    bits: float  # the share of the items' bits that agree after events are matched
    pmf: float  # one less half the distance (total variation) of PMFs, after the same matching
    order: float  # inclusions that both have, over those that either has; needs no matching
    n_models: int


def stability(models: Iterable[Any]) -> Stability:
    """How much fits of the same data agree: restarts, resamples, other seeds.

    The models need the same users and items, and the same number of events. Items without ratings
    are ignored. Agreement of the inclusions matters more than agreement of the bits: rules are read
    from inclusions, and these do not depend on the names of events.
    """
    models = list(models)
    if len(models) < 2:
        raise UserError(f"Stability is that of several models, {len(models)} were given.")
    first = models[0]
    for model in models:
        check_is_fitted(model)
        if not np.isin(model.indicators_, (0, 1)).all():
            raise UserError(f"The indicators of a {type(model).__name__} are no sets.")
        same = np.array_equal(model.user_ids_, first.user_ids_)
        if not (same and np.array_equal(model.item_ids_, first.item_ids_)):
            raise UserError("The models were not fitted to the same users and items.")
    rated = first.observations_.by_item.rated
    bits = [model.indicators_[rated].astype(bool) for model in models]
    found = [_agreement(bits[a], models[a].pmf_, bits[b], models[b].pmf_)
             for a, b in combinations(range(len(models)), 2)]  # fmt: skip
    same_bits, same_pmf, same_order = np.mean(found, axis=0).tolist()
    return Stability(same_bits, same_pmf, same_order, len(models))


def _agreement(bits: Bits, pmf: Floats, others: Bits, other_pmf: Floats) -> tuple[float, ...]:
    match = match_events(bits, others)
    same_bits = float((bits == others[:, match]).mean())
    distance = 0.5 * np.abs(pmf - other_pmf[:, match]).sum(axis=1).mean()
    one, two = n_inclusions(bits), n_inclusions(others)
    both = n_inclusions(np.hstack([bits, others]))  # inside in one and in the other
    return same_bits, float(1.0 - distance), both / max(one + two - both, 1)


def n_inclusions(bits: Bits) -> int:
    """The number of ordered pairs of different items, the first set inside the second."""
    classes = Classes(pack(bits))
    return int((below(classes) * classes.sizes).sum()) - len(bits)
