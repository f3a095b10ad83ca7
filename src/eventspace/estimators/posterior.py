"""The posterior: many models drawn by Gibbs sampling, averaged into one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eventspace._base.checks import check_choice, check_whole, is_real, is_whole
from eventspace._base.codes import WORD
from eventspace._base.errors import UserError
from eventspace._base.types import Bits, Floats
from eventspace.data.attributes import Attributes, read_attributes
from eventspace.data.frames import data_frame
from eventspace.data.invariants import MOST_SAMPLES
from eventspace.data.newcomers import news
from eventspace.data.observations import Observations, to_learn_from
from eventspace.estimators.average import Average, Folded
from eventspace.fitted.summary import Summary
from eventspace.fitting.settings import checked_threads
from eventspace.sampling.chain import NOISE_SHAPE, Laws
from eventspace.sampling.diagnostics import effective_size, split_rhat
from eventspace.sampling.newcomers import Group, Newcomers
from eventspace.sampling.sampler import Draws, Sampler, mean_laws
from eventspace.sampling.samples import Kept, keep
from eventspace.sampling.weighing import Joint

FEW_CHAINS, MANY_CHAINS = 8, 24
FEW_ENTRIES = 2000  # below it many chains cost little


class KolmogorovPosterior(Average):
    """The posterior mean of Kolmogorov models: itself one, with the events of all draws.

    Chains draw PMFs, indicators and each user's noise in turn from their conditional laws, with
    priors that know who rated what, and what a user, or an item, is inclined to in general; what
    these expect is fitted anew in each sweep. The draws that are kept, stacked side by side and
    their PMFs divided by their number, are one model with ``n_events * n_samples`` events: every
    prediction, event and explanation of a single model holds for it, word by word. Chains find
    different events; at the end each user's PMF is taken over those of all chains together (see
    ``weigh``).

    Parameters
    ----------
    n_events : int, default 24
        D, the number of elementary events of a draw, 1 to 64.
    concentration : float or "auto", default "auto"
        How closely PMFs follow their centres: they have Dirichlet laws with so many pseudo-counts,
        at least 0.2 an event. "auto" draws it along with the rest.
    informed : bool, default True
        Whether the priors of an item's bits know who rated it and how many did, and that of a
        user's PMF which items were rated.
    weigh : bool, default True
        Whether each user weighs the events of all chains at the end, with a law that is learnt from
        all users. Chains are taken together, in groups of the same size, as far as there are four
        users for each of their events, and 256 events at most; with fewer than twenty ratings a
        user, one draw a chain, or a group of one, nothing is weighed. Draws that are keep their
        indicators, but share their PMFs.
    n_chains : int or "auto", default "auto"
        Independent chains, each from a descent of its own. "auto": 24 for tables of less than 2,000
        entries, where they take less than a minute, else 8.
    n_warmup : int, default 60
        Sweeps of each chain that are thrown away.
    n_draws : int, default 90
        Sweeps of each chain after that.
    n_samples : int, default 128
        At most so many of all draws are kept, evenly thinned, at least one of each chain: this
        bounds the memory.
    n_jobs : int or None, default -1
        Threads, over which the chains are spread. The result does not depend on it.
    random_state : int, RandomState or None, default None
        The same number gives the same posterior.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Attributes
    ----------
    pmf_ : array of users x (samples x events)
        The PMFs of all kept draws, divided by their number.
    codes_ : uint64 array of items x words
        The indicators of all kept draws, packed.
    n_together_ : int
        How many chains users weigh together; 1 where there are too few users, or ratings, to learn
        how.
    n_samples_ : int
        How many samples the model is made of: each a draw of one chain, or of so many together.
    concentration_ : float
        The posterior mean of the concentration.
    user_spread_, item_spread_ : float
        How much users, and items, differ in what they are inclined to: standard deviations. An
        item's inclination is added to the log-odds of all its bits; by a user's, the centre of the
        PMF leans to the events in which much comes true (the log of an event's mass by so much for
        a chance that is a quarter above the others'). The two are not to be compared.
    pmf_penalty_ : float
        The penalty around the mean PMF that is as strict as Dirichlet's laws, for
        :meth:`transform` where chains are not weighed, and for newcomers of :meth:`to_model`.
    noise_ : array of users
        The posterior mean of each user's noise: a standard deviation, in probability, for an
        observation of mean weight.
    open_ : array of users
        The variance of a user's chances, mean over the items, that the ratings leave open given the
        events; zero where chains are not weighed.
    covariance_ : array of groups x events x events
        That of the PMFs over the events of each group of chains; there are none if none is weighed.
    cost_ : array of chains x draws
        The squared error of each draw, for diagnostics.
    watched_ : array of chains x draws x entries
        The predictions of some observed entries in each draw, likewise.
    seed_ : int
        Of the chains, and of whatever is drawn later.
    user_attributes_, item_attributes_ : arrays of users, or items, x attributes
        What :meth:`fit` was told of them, with the names in ``user_attribute_names_`` and
        ``item_attribute_names_``; NaN where nothing is known.
    observations_ : Observations
        What was learnt from.
    """

    # what a file holds of a fit, beside its parameters and observations
    _SAVED_ARRAYS = (
        *("pmf_", "codes_", "noise_", "open_", "covariance_", "cost_", "watched_"),
        *("user_attributes_", "user_attribute_names_"),
        *("item_attributes_", "item_attribute_names_"),
    )
    _SAVED_NUMBERS = (
        *("error_", "n_samples_", "n_together_", "pmf_penalty_", "seed_"),
        *("concentration_", "user_spread_", "item_spread_"),
    )

    def __init__(
        self,
        n_events: int = 24,
        *,
        concentration: float | str = "auto",
        informed: bool = True,
        weigh: bool = True,
        n_chains: int | str = "auto",
        n_warmup: int = 60,
        n_draws: int = 90,
        n_samples: int = 128,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_events = n_events
        self.concentration = concentration
        self.informed = informed
        self.weigh = weigh
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.n_samples = n_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, user_attributes: Any = None, item_attributes: Any = None
    ) -> Self:
        """Draw from the posterior given a table: anything that ``Observations.of`` reads.

        What else is known of users and items, in numbers, may be told in tables of attributes: a
        DataFrame with the ids in its index, or in its first column. The rows of an array are in the
        order of first appearance in ``X``, which is seldom the one you think of.
        """
        self._check_parameters()
        observations = to_learn_from(X)
        of_users = read_attributes(user_attributes, observations.user_ids, "user_attributes")
        of_items = read_attributes(item_attributes, observations.item_ids, "item_attributes")
        if (of_users.names.size or of_items.names.size) and not self.informed:
            raise UserError("Attributes are for informed priors: leave them, or informed=True.")
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        sampler = self._sampler(of_users.standard(), of_items.standard())
        weighed = observations.with_unit_weight(mean_weight(observations))
        few = FEW_CHAINS if observations.n_observed >= FEW_ENTRIES else MANY_CHAINS
        n_chains = few if self.n_chains == "auto" else int(self.n_chains)
        if self.n_samples < n_chains:
            raise UserError(
                f"is too few: one is kept of each of {n_chains} chains.",
                parameter="n_samples",
                value=self.n_samples,
            )
        rngs = np.random.default_rng(self.seed_).spawn(n_chains)
        each = -(-self.n_draws // (self.n_samples // len(rngs)))  # one draw in so many is kept
        chains = sampler.sample(weighed, rngs, self.n_warmup, self.n_draws, each)
        self._keep(observations, chains, keep(chains, weighed, sampler, weigh=self.weigh))
        self._keep_attributes(of_users, of_items)
        return self

    def _sampler(self, of_users: Floats, of_items: Floats) -> Sampler:
        return Sampler(
            self.n_events,
            None if self.concentration == "auto" else float(self.concentration),
            bool(self.informed),
            of_users,
            of_items,
            checked_threads(self),
            self.verbose,
        )

    def _check_parameters(self) -> None:
        check_whole("n_events", self.n_events, 1, WORD)
        n_chains: Any = self.n_chains
        if n_chains != "auto" and not (is_whole(n_chains) and n_chains >= 1):
            raise UserError(
                "must be 'auto' or a whole number of at least 1.",
                parameter="n_chains",
                value=n_chains,
            )
        check_whole("n_warmup", self.n_warmup, 0)
        check_whole("n_draws", self.n_draws, 4)
        check_whole("n_samples", self.n_samples, 1, MOST_SAMPLES)
        check_choice("informed", self.informed, (True, False))
        check_choice("weigh", self.weigh, (True, False))
        checked_threads(self)
        concentration: Any = self.concentration
        if concentration != "auto" and not (is_real(concentration) and 0 <= concentration < np.inf):
            raise UserError(
                "must be 'auto' or a finite number of at least 0.",
                parameter="concentration",
                value=concentration,
            )

    def _keep(self, observations: Observations, chains: list[Draws], kept: Kept) -> None:
        self._stack(observations, kept.pmfs, kept.bits, kept.n_together)
        self.noise_, self.open_ = np.sqrt(kept.variance), kept.left_open
        self.covariance_ = kept.covariance
        laws = mean_laws(chains)
        self.concentration_ = laws.concentration
        self.user_spread_ = float(np.sqrt(laws.user_variance))
        self.item_spread_ = float(np.sqrt(laws.item_variance))
        rated = observations.by_user.rated
        mass = np.array([pmf[rated].mean(axis=0) for chain in chains for pmf in chain.pmf])
        variance = float(np.mean(mass * (1 - mass))) / (self.concentration_ + 1)  # of Dirichlet
        self.pmf_penalty_ = float(np.median(self.noise_)) ** 2 / max(variance, 1e-9)
        self.cost_ = np.array([chain.cost for chain in chains])
        self.watched_ = np.array([chain.watched for chain in chains])

    def _keep_attributes(self, of_users: Attributes, of_items: Attributes) -> None:
        self.user_attribute_names_, self.user_attributes_ = of_users
        self.item_attribute_names_, self.item_attributes_ = of_items

    def fold_in(self, X: Any, *, user_attributes: Any = None, item_attributes: Any = None) -> Self:
        """Add the new users and the new items of a table, without touching the rest.

        Each entry needs a new user and a known item, or a known user and a new item. A known item
        that nobody had rated is taken as a new one. Tables of attributes hold those of the new;
        of what is known already they are not read.
        """
        check_is_fitted(self)
        new = news(self.observations_, X)
        of_users = Attributes(self.user_attribute_names_, self.user_attributes_)
        of_items = Attributes(self.item_attribute_names_, self.item_attributes_)
        of_users = of_users.extended(user_attributes, new.merged.user_ids, "user_attributes")
        of_items = of_items.extended(item_attributes, new.merged.item_ids, "item_attributes")
        unit = mean_weight(self.observations_)
        scaled = new._replace(
            entries=new.entries.with_unit_weight(unit), merged=new.merged.with_unit_weight(unit)
        )
        sampler = self._sampler(of_users.standard(), of_items.standard())
        newcomers = Newcomers(scaled, sampler, self._laws(), 1.0 / np.square(self.noise_))
        groups = newcomers.weigh(self._groups(), self.covariance_, self.seed_)
        self._fold(new, partial(self._folded, newcomers, groups))
        left_open = np.zeros(new.merged.n_users - len(self.open_))
        if groups:
            left_open = np.mean([weighed.variance for weighed, _ in groups], axis=0)
        self.open_ = np.append(self.open_, left_open)
        self._keep_attributes(of_users, of_items)
        return self

    def _laws(self) -> Laws:
        return Laws(self.concentration_, self.user_spread_**2, self.item_spread_**2)

    def _unsaid(self, items: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(items < 0)  # the unrated are drawn, too: from what is expected of them

    def _folded(
        self,
        newcomers: Newcomers,
        groups: list[Group],
        k: int,
        pmf: Floats,
        bits: Bits,
        rng: np.random.Generator,
    ) -> Folded:
        """What is new in a sample, given all that was known there."""
        if groups:
            chain = newcomers.draw_weighed(groups[k % len(groups)], pmf, bits, rng)
        else:
            chain = newcomers.draw(pmf, bits, rng)
        return Folded(chain.pmf, chain.indicators > 0.5, 1.0 / chain.precision[len(pmf) :])

    def _groups(self) -> Iterator[tuple[Floats, Floats]]:
        """PMFs over the events of each group of chains, and the chance of each bit there."""
        n_groups, n = len(self.covariance_), self.pmf_.shape[1] // self.n_samples_
        bits = self.indicators_.reshape(len(self.codes_), self.n_samples_, n)
        for group in range(n_groups):
            pmf = self.pmf_[:, group * n : (group + 1) * n] * self.n_samples_
            yield pmf, bits[:, group::n_groups].mean(axis=1)

    def _left_open(self, users: NDArray[Any]) -> Floats:
        rated = self.observations_.by_user.rated
        left_open: Floats = np.append(self.open_, self.open_[rated].mean())[users]
        return left_open

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve a row and a sample.

        Gives rows x events, the events of all samples; the items must be the model's own.
        """
        check_is_fitted(self)
        if not self.covariance_.size:
            return super().transform(X)
        unit = mean_weight(self.observations_)
        by_user = self._aligned(X).with_unit_weight(unit).by_user
        rated = self.observations_.by_user.rated
        rate = NOISE_SHAPE / float(np.mean(1.0 / np.square(self.noise_[rated])))
        found = []
        for (pmf, chances), covariance in zip(self._groups(), self.covariance_, strict=True):
            centres = np.tile(pmf[rated].mean(axis=0), (len(by_user.ptr) - 1, 1))
            joint = Joint(by_user, chances, checked_threads(self), self.verbose)
            found.append(joint.settle(covariance, centres, rate).pmf)
        stacked: Floats = np.tile(np.hstack(found), self.n_samples_ // len(found))
        return stacked / self.n_samples_

    def diagnostics(self) -> Any:
        """R-hat and effective sample size of the cost and of predictions: a DataFrame.

        R-hat near one says that the chains agree. Usually they do not quite: each finds events of
        its own and stays with them, however long it runs, and the average over chains is what
        predicts well. Where R-hat is far above one, more chains help, longer ones hardly. Of the
        predictions of some observed entries, the median and the worst (95 %) are given, as the
        chains draw them.
        """
        check_is_fitted(self)
        cost_rhat, cost_size = float(split_rhat(self.cost_)), float(effective_size(self.cost_))
        rhat, size = split_rhat(self.watched_), effective_size(self.watched_)
        columns = {
            "quantity": ["cost", "predictions, median", "predictions, worst 5 %"],
            "rhat": np.array(
                [cost_rhat, np.median(rhat), np.quantile(rhat, 0.95, method="higher")]
            ),
            "effective_size": np.array([cost_size, np.median(size), np.quantile(size, 0.05)]),
        }
        return data_frame(columns, self.observations_.library)

    def summary(self) -> Summary:
        """What was drawn, how well it fits, and whether the chains agree, in a few lines."""
        check_is_fitted(self)
        seen = self.observations_
        chains, draws = self.cost_.shape
        rmse = float(np.sqrt(self.error_ / seen.total_weight))
        lo, hi = seen.scale
        rhat, size = split_rhat(self.watched_), effective_size(self.watched_)
        n_draws = self.n_samples_ * self.n_together_
        weighed = (
            f", {self.n_together_} together weighed by the users" if self.n_together_ > 1 else ""
        )
        return Summary(
            f"Posterior of Kolmogorov models: {n_draws} draws of "
            f"{self.pmf_.shape[1] // n_draws} events, {seen.n_users:,} users, "
            f"{seen.n_items:,} items\n"
            f"  observed     {seen.n_observed:,}, scale {lo:g} to {hi:g}\n"
            f"  fit          RMSE {rmse:.4f} in probability, {rmse * (hi - lo):.4f} in the "
            "original unit, on the training data\n"
            f"  PMFs         concentration {self.concentration_:.1f} around their centres\n"
            f"  noise        {np.median(self.noise_):.3f}, a user's median standard deviation\n"
            f"  chains       {chains} of {draws} draws{weighed}\n"
            f"  predictions  R-hat {np.median(rhat):.2f} (worst 5 %: "
            f"{np.quantile(rhat, 0.95, method='higher'):.2f}), worth {np.median(size):,.0f} "
            "independent draws"
        )


def mean_weight(observations: Observations) -> float:
    """What weights are measured in, so that noise is that of a typical observation."""
    return observations.total_weight / observations.n_observed
