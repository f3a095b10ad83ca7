"""A fitted posterior: what many draws say, and whether they agree."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from eventspace._base.types import Bits, Floats
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.newcomers import news
from eventspace.fitted.average import FittedAverage
from eventspace.fitted.fit import PosteriorFit
from eventspace.fitted.summary import Summary, summary_of_posterior
from eventspace.fitting.settings import checked_engine
from eventspace.sampling.chain import Chain
from eventspace.sampling.diagnostics import effective_size, split_rhat
from eventspace.sampling.joint_law import Joint
from eventspace.sampling.newcomers import Newcomers
from eventspace.sampling.priors import Laws
from eventspace.sampling.priors.noise import NoisePrior
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.settings import SamplingSettings


class FittedPosterior(FittedAverage):
    """The mean of draws from the posterior."""

    record: PosteriorFit
    settings: SamplingSettings

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: over the events of all samples.

        If chains are weighed, one law per group of chains; else one convex solve per sample. The
        items must be the model's own.
        """
        fit = self.record
        if not fit.covariance.size:
            return super().transform(X)
        by_user = self.aligned(X).with_unit_weight(fit.observations.mean_weight).by_user
        rated = fit.observations.by_user.rated
        law = NoisePrior.around(1.0 / np.square(fit.noise[rated]))
        found = []
        for (pmf, chances, _), covariance in zip(fit.parts(), fit.covariance, strict=True):
            centres = np.tile(pmf[rated].mean(axis=0), (len(by_user.ptr) - 1, 1))
            joint = Joint(by_user, chances, checked_engine(self.settings), self.settings.verbose)
            found.append(joint.settle(covariance, centres, law).pmf)
        return np.tile(np.hstack(found), fit.n_samples // len(found)) / fit.n_samples

    def fold_in(self, X: Any, *, user_attributes: Any = None, item_attributes: Any = None) -> Self:
        """The model with the new users and the new items of a table, and the rest as it was.

        Each entry needs a new user and a known item, or a known user and a new item. A known item
        that nobody had rated is taken as a new one. Attributes are read for new users and items
        only.
        """
        fit, new = self.record, news(self.record.observations, X)
        of_users, of_items = fit.attributes
        of_users = of_users.extended(user_attributes, new.merged.user_ids, "user_attributes")
        of_items = of_items.extended(item_attributes, new.merged.item_ids, "item_attributes")
        unit = fit.observations.mean_weight
        scaled = new._replace(
            entries=new.entries.with_unit_weight(unit), merged=new.merged.with_unit_weight(unit)
        )
        sampler = Sampler.of(self.settings, of_users, of_items)
        laws = Laws(fit.concentration, fit.user_spread**2, fit.item_spread**2)
        newcomers = Newcomers(scaled, sampler, laws, 1.0 / np.square(fit.noise))
        weighed = fit.parts() if len(fit.covariance) else []
        groups = newcomers.weigh(weighed, fit.covariance, fit.seed)
        rngs = self.new_generators(new.merged)

        def draw(k: int, pmf: Floats, bits: Bits) -> Chain:
            if groups:
                return newcomers.draw_weighed(groups[k % len(groups)], pmf, bits, rngs[k])
            return newcomers.draw(pmf, bits, rngs[k])

        found = self.in_each_sample("fold in", draw)
        variance = np.mean([1.0 / chain.precision[len(fit.pmf) :] for chain in found], axis=0)
        left_open = np.zeros(new.merged.n_users - len(fit.pmf))
        if groups:
            left_open = np.mean([users.variance for users, _ in groups], axis=0)
        return self.grown(
            new,
            [chain.pmf for chain in found],
            [chain.indicators > 0.5 for chain in found],
            np.sqrt(variance),
            open=np.append(fit.open, left_open),
            user_attributes=of_users.values,
            item_attributes=of_items.values,
        )

    def diagnostics(self) -> DataFrame:
        """R-hat and effective sample size of the cost and of predictions: a DataFrame.

        R-hat near one says that the chains agree. Usually they do not quite: each finds its own
        events and keeps them, however long it runs. The average over chains predicts well. If R-hat
        is far above one, more chains help, longer chains hardly. For the predictions of some
        observed entries, the median and the worst (95 %) are given, as the chains draw them.
        """
        cost, watched = self.record.cost, self.record.watched
        rhat, size = split_rhat(watched), effective_size(watched)
        columns = {
            "quantity": ["cost", "predictions, median", "predictions, worst 5 %"],
            "rhat": np.array(
                [split_rhat(cost), np.median(rhat), np.quantile(rhat, 0.95, method="higher")]
            ),
            "effective_size": np.array(
                [effective_size(cost), np.median(size), np.quantile(size, 0.05)]
            ),
        }
        return data_frame(columns, self.observations.library)

    def to_arviz(self) -> Any:
        """What the chains drew, for ArviZ: a DataTree, or InferenceData before its version 1.

        Its group ``posterior`` has what does not depend on how events are numbered: the ``cost`` of
        each draw, and each draw's ``prediction`` of some observed entries. In ``constant_data`` are
        posterior means: the ``noise`` of users, ``concentration``, ``user_spread`` and
        ``item_spread``. It needs the extra ``arviz``.
        """
        from eventspace.fitted.inference_data import inference_data

        return inference_data(self.record)

    def summary(self) -> Summary:
        """What was drawn, how well it fits, and whether the chains agree, in a few lines."""
        return summary_of_posterior(self.record)
