"""A fitted ensemble: what descents from many starts say together."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from eventspace._base.codes import pack, unpack
from eventspace._base.randomness import streams
from eventspace._base.types import Bits, Floats
from eventspace.data.updates import read_update
from eventspace.fitted.average import FittedAverage
from eventspace.fitted.fit import EnsembleFit, as_the_population, padded
from eventspace.fitted.summary import Summary, summary_of_ensemble
from eventspace.fitting.compression import Part
from eventspace.fitting.half_steps import FreeIndicators
from eventspace.fitting.settings import checked_engine
from eventspace.indicators import Exact


class FittedEnsemble(FittedAverage):
    """The mean of models from different starts."""

    record: EnsembleFit

    def update(self, X: Any = None, *, forget: Any = None) -> Self:
        """The model with the ratings of a table, and without the pairs in ``forget``.

        Users and items may be known or new. A value for a pair that is rated already replaces it.
        ``forget`` holds pairs, as in :meth:`predict`, whose ratings go. In each model the new users
        of these ratings are solved for, then the items, exactly, then all of these users. The
        noise of new users is the typical one.
        """
        fit, change = self.record, read_update(self.record.observations, X, forget)
        seen, users, items = change.now, change.users, change.items
        engine = checked_engine(self.settings).with_threads(1)
        solve = FreeIndicators(engine, Exact(), fit.indicator_penalty)
        by_user, by_item = seen.by_user.taken(users), seen.by_item.taken(items)

        def moved(k: int, part: Part, rng: np.random.Generator) -> tuple[Floats, Bits]:
            pmf = padded(part.pmf, seen.n_users)
            codes = padded(pack(part.chances > 0.5)[:, 0], seen.n_items)
            codes[change.new_items] = 0  # which tells nothing of users
            new = change.new_users
            pmf[new] = self.new_pmfs(seen.by_user.taken(new), part.pmf, codes)
            codes[items] = solve(by_item, pmf, codes[items], streams(rng, len(items))).codes
            bits = unpack(codes[items, None], pmf.shape[1])
            pmf[users] = self.new_pmfs(by_user, part.pmf, codes)
            as_the_population(pmf, users, seen.by_user.rated)
            return pmf[users], bits[:, None]

        pmfs, bits = zip(*self.in_each_part(seen, moved), strict=True)
        typical = np.sqrt(np.mean(np.square(fit.noise)))
        return self.revised(change, pmfs, bits, noise=padded(fit.noise, seen.n_users, typical))

    def summary(self) -> Summary:
        """What was fitted, how well, and how well it predicts, in a few lines of text."""
        return summary_of_ensemble(self.record)
