"""A fitted posterior: what many draws say, and whether they agree."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from eventspace._base.types import Floats
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.updates import read_update
from eventspace.fitted.average import FittedAverage
from eventspace.fitted.fit import PosteriorFit, padded
from eventspace.fitted.summary import Summary, summary_of_posterior
from eventspace.fitting.compression import Part
from eventspace.fitting.settings import checked_engine
from eventspace.sampling.diagnostics import effective_size, split_rhat
from eventspace.sampling.joint_law import Joint
from eventspace.sampling.priors import Laws
from eventspace.sampling.priors.noise import NoisePrior
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.settings import SamplingSettings
from eventspace.sampling.updating import Moved, Updating


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
            engine = checked_engine(self.settings)
            joint = Joint(by_user, by_user.counts(), chances, engine, self.settings.verbose)
            found.append(joint.settle(covariance, centres, law).pmf)
        return np.tile(np.hstack(found), fit.n_samples // len(found)) / fit.n_samples

    def update(
        self,
        X: Any = None,
        *,
        forget: Any = None,
        user_attributes: Any = None,
        item_attributes: Any = None,
    ) -> Self:
        """The model with the ratings of a table, and without the pairs in ``forget``.

        Users and items may be known or new. A value for a pair that is rated already replaces it.
        ``forget`` holds pairs, as in :meth:`predict`, whose ratings go. The new users of
        these ratings are drawn, then the items, given all their raters, then all of these users,
        given all that they have rated. Where chains are weighed, users are solved for and not
        drawn. Attributes are read for new users and items only.
        """
        fit, change = self.record, read_update(self.record.observations, X, forget)
        of_users, of_items = fit.attributes
        of_users = of_users.extended(user_attributes, change.now.user_ids, "user_attributes")
        of_items = of_items.extended(item_attributes, change.now.item_ids, "item_attributes")
        unit = fit.observations.mean_weight
        scaled = change._replace(
            known=change.known.with_unit_weight(unit), now=change.now.with_unit_weight(unit)
        )
        sampler = Sampler.of(self.settings, checked_engine(self.settings), of_users, of_items)
        laws = Laws(fit.concentration, fit.user_spread**2, fit.item_spread**2)
        updating = Updating(scaled, sampler, laws, 1.0 / np.square(fit.noise))
        n_each = fit.n_samples // fit.n_parts

        def moved(k: int, part: Part, rng: np.random.Generator) -> Moved:
            if not len(fit.covariance):
                return updating.draw(part.pmf, part.chances, rng)
            return updating.weigh(part.pmf, part.chances, fit.covariance[k], n_each, rng)

        found = self.in_each_part(change.now, moved)
        noise = padded(fit.noise, change.now.n_users)
        left_open = padded(fit.open, change.now.n_users)
        noise[change.users] = np.sqrt(np.mean([part.variance for part in found], axis=0))
        left_open[change.users] = np.mean([part.left_open for part in found], axis=0)
        return self.revised(
            change,
            [part.pmf for part in found],
            [part.bits for part in found],
            noise=noise,
            open=left_open,
            user_attributes=of_users.values,
            item_attributes=of_items.values,
            **fit.met_now(change.now, change.users, change.items, checked_engine(self.settings)),
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
