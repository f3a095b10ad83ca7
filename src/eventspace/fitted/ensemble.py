"""A fitted ensemble: what descents from many starts say together."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from eventspace._base.codes import pack, unpack
from eventspace._base.randomness import streams
from eventspace._base.types import Bits, Floats
from eventspace.data.newcomers import news
from eventspace.fitted.average import FittedAverage
from eventspace.fitted.fit import EnsembleFit
from eventspace.fitted.summary import Summary, summary_of_ensemble
from eventspace.fitting.half_steps import FreeIndicators
from eventspace.fitting.settings import checked_engine
from eventspace.indicators import Exact


class FittedEnsemble(FittedAverage):
    """The mean of models from different starts."""

    record: EnsembleFit

    def fold_in(self, X: Any) -> Self:
        """The model with the new users and the new items of a table, and the rest as it was.

        Each entry needs a new user and a known item, or a known user and a new item. A known item
        that nobody had rated is taken as a new one. A new user is a convex solve in each model, a
        new item an exact one; the noise of new users is the typical one.
        """
        fit, new = self.record, news(self.record.observations, X)
        engine = checked_engine(self.settings).with_threads(1)
        solve = FreeIndicators(engine, Exact(), fit.indicator_penalty)
        rngs, by_item = self.new_generators(new.merged), new.entries.by_item.taken(new.items)
        by_user = new.entries.by_user.rows(new.n_users)

        def fold(k: int, pmf: Floats, bits: Bits) -> tuple[Floats, Bits]:
            pmf = np.vstack([pmf, self.new_pmfs(by_user, k, pmf, bits)])
            codes = np.zeros(new.merged.n_items, dtype=np.uint64)
            codes[: len(bits)] = pack(bits)[:, 0]
            seeds = streams(rngs[k], len(new.items))
            found = solve(by_item, pmf, codes[new.items], seeds)
            codes[new.items] = found.codes
            return pmf, unpack(codes[:, None], bits.shape[1])

        found = self.in_each_sample("fold in", fold)
        pmfs, bits = zip(*found, strict=True)
        typical = np.sqrt(np.mean(np.square(fit.noise)))
        noise = np.full(new.merged.n_users - len(fit.pmf), typical)
        return self.grown(new, pmfs, bits, noise)

    def summary(self) -> Summary:
        """What was fitted, how well, and how well it predicts, in a few lines of text."""
        return summary_of_ensemble(self.record)
