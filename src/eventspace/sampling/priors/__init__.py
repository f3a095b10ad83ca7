"""What is expected of bits, PMFs and noise before the ratings are read: learnt from the others.

A prior (``interface``) is the law of one part of a chain's state, with a few numbers of its own. It
has one verb, ``draw``: draw or learn these numbers given the state, and give the law.

- ``bits``: the log-odds of an item's bits;
- ``pmfs``: the Dirichlet law of a user's PMF;
- ``noise``: the Gamma law of the users' precisions.

``features`` are what regressions are told, ``inclinations`` one number for each item or user.
Another prior is another file and another line of ``Priors.of``.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.data.observations import Observations
from eventspace.sampling.priors.bits import BitPrior, Regressions
from eventspace.sampling.priors.features import Features, features
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.interface import State
from eventspace.sampling.priors.noise import NoisePrior
from eventspace.sampling.priors.pmfs import PmfPrior, mean_centres, regressed_centres


class Beforehand(NamedTuple):
    """What is said of the priors before anything is learnt."""

    concentration: float | None  # of PMFs around their centres; None: drawn along
    informed: bool  # whether priors know who rated what, and the attributes
    user_attributes: Floats  # users x attributes, of mean zero; there may be none
    item_attributes: Floats

    def user_features(self, seen: Observations) -> Features:
        """What regressions are told of users, given indicators."""
        return self._features(seen.by_user, self.user_attributes)

    def item_features(self, seen: Observations) -> Features:
        """What regressions are told of items, given PMFs."""
        return self._features(seen.by_item, self.item_attributes)

    def _features(self, entries: Entries, attributes: Floats) -> Features:
        if not self.knows_of(entries, attributes):
            return lambda others: np.ones((len(attributes), 1))
        return partial(features, entries, attributes)

    def knows_of(self, entries: Entries, attributes: Floats) -> bool:
        """Whether anything is known of rows. Where what is missing says no, who rated is no news"""
        return self.informed and (not entries.missing.size or attributes.shape[1] > 0)


class Laws(NamedTuple):
    """What users, and items, have in common, and each draw has anew."""

    concentration: float  # of PMFs around their centres
    user_variance: float  # of their inclinations
    item_variance: float


class Priors(NamedTuple):
    """The priors of a chain."""

    bits: BitPrior
    pmfs: PmfPrior
    noise: NoisePrior

    @classmethod
    def of(cls, beforehand: Beforehand, seen: Observations, n_events: int) -> Priors:
        """The priors of a chain that begins."""
        of_users, of_items = beforehand.user_features(seen), beforehand.item_features(seen)
        n_features = of_items(np.zeros((seen.n_users, n_events))).shape[1]
        given = beforehand.concentration

        def centres(state: State) -> Floats:
            if not beforehand.knows_of(seen.by_user, beforehand.user_attributes):
                return mean_centres(state.pmf, state.known_users)
            return regressed_centres(of_users(state.indicators), state.pmf, state.known_users)

        concentration = float(n_events) if given is None else given
        inclined_users = Inclinations.none(seen.n_users, n_events)
        inclined_items = Inclinations.none(seen.n_items, n_events)
        return cls(
            BitPrior(of_items, Regressions(n_features, n_events), inclined_items),
            PmfPrior(centres, inclined_users, concentration, is_given=given is not None),
            NoisePrior(),
        )

    @property
    def laws(self) -> Laws:
        """The numbers of the last sweep."""
        of_users, of_items = self.pmfs.inclinations, self.bits.inclinations
        return Laws(self.pmfs.concentration, of_users.variance, of_items.variance)
