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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eventspace._base.records import Record, plain
from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.data.observations import Observations
from eventspace.engines.workbench import Workbench
from eventspace.sampling.priors.bits import BitPrior, Regressions
from eventspace.sampling.priors.features import Features
from eventspace.sampling.priors.inclinations import Inclinations
from eventspace.sampling.priors.noise import RATE, NoisePrior
from eventspace.sampling.priors.pmfs import PmfPrior


class Beforehand(NamedTuple):
    """What is said of the priors before anything is learnt."""

    concentration: float | None  # of PMFs around their centres; None: drawn along
    informed: bool  # whether priors know who rated what, and the attributes
    user_attributes: Floats  # users x attributes, of mean zero; there may be none
    item_attributes: Floats

    def user_features(self, seen: Observations, bench: Workbench) -> Features:
        """What regressions are told of users, given indicators."""
        return self._features(seen.by_user, self.user_attributes, bench)

    def item_features(self, seen: Observations, bench: Workbench) -> Features:
        """What regressions are told of items, given PMFs."""
        return self._features(seen.by_item, self.item_attributes, bench)

    def _features(self, entries: Entries, attributes: Floats, bench: Workbench) -> Features:
        # where what is missing says no, who rated is no news
        told = self.informed and (not entries.missing.size or attributes.shape[1] > 0)
        return Features(entries, attributes, bench, told)


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
    def of(
        cls,
        beforehand: Beforehand,
        seen: Observations,
        n_events: int,
        bench: Workbench,
        chains: tuple[int, ...] = (),
    ) -> Priors:
        """The priors of a chain that begins, or of some side by side: the shape of their number."""
        of_users = beforehand.user_features(seen, bench)
        of_items = beforehand.item_features(seen, bench)
        inclined_users, inclined_items = (
            Inclinations.none((*chains, n), n_events) for n in (seen.n_users, seen.n_items)
        )
        for inclined in (inclined_users, inclined_items):
            inclined.of_each = bench.hold(inclined.of_each)
        given = beforehand.concentration
        concentration = np.full(chains, float(n_events) if given is None else given)
        return cls(
            BitPrior(of_items, Regressions(of_items.number(n_events), n_events), inclined_items),
            PmfPrior(of_users, inclined_users, concentration, is_given=given is not None),
            NoisePrior(np.full(chains, RATE)),
        )

    def state(self, fetch: Callable[[Any], Any]) -> Record:
        """What the next sweep begins with."""
        of_users, of_items = self.pmfs.inclinations, self.bits.inclinations
        return {
            "inclined_users": fetch(of_users.of_each),
            "inclined_items": fetch(of_items.of_each),
            "user_variance": np.asarray(of_users.variance),
            "item_variance": np.asarray(of_items.variance),
            "concentration": np.asarray(self.pmfs.concentration),
            "rate": np.asarray(self.noise.rate),
            "weights": self.bits.regressions.weights,
        }

    def restore(self, state: Record, bench: Workbench) -> None:
        """Go back to where ``state`` was asked for."""
        fresh = self.state(bench.fetch)
        # regressions have weights for each chain once they have learnt
        fresh["weights"] = np.broadcast_to(
            fresh["weights"], (*fresh["rate"].shape, *fresh["weights"].shape)
        )
        known = {name: plain(state[name], like) for name, like in fresh.items()}
        of_users, of_items = self.pmfs.inclinations, self.bits.inclinations
        of_users.of_each = bench.hold(known["inclined_users"])
        of_items.of_each = bench.hold(known["inclined_items"])
        of_users.variance, of_items.variance = known["user_variance"], known["item_variance"]
        self.pmfs.concentration, self.noise.rate = known["concentration"], known["rate"]
        self.bits.regressions.weights = known["weights"]

    def laws(self, chain: tuple[int, ...] = ()) -> Laws:
        """The numbers of the last sweep, of one of several chains."""
        of_users, of_items = self.pmfs.inclinations, self.bits.inclinations
        numbers = self.pmfs.concentration, of_users.variance, of_items.variance
        return Laws(*(float(np.asarray(number)[chain]) for number in numbers))
