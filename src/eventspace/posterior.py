"""The posterior: many models drawn by Gibbs sampling, averaged into one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from eventspace.codes import WORD, pack, unpack
from eventspace.diagnostics import effective_size, split_rhat
from eventspace.engines.cpu import CPU, count_threads
from eventspace.entries import Entries
from eventspace.evidence import Evidence, held_out_evidence, liked_from
from eventspace.files import load_model, save_model
from eventspace.gibbs.sampler import Draws, Sampler
from eventspace.indicators import Exact
from eventspace.observations import Observations
from eventspace.parameters import check_choice, check_number, check_share, check_whole
from eventspace.pmf import Pairwise
from eventspace.posterior_rules import SORTS, PosteriorMiner
from eventspace.prediction import (
    UNITS,
    UNKNOWN,
    Prediction,
    Unit,
    Unknown,
    dot_products,
    positions,
    squared_error,
)
from eventspace.reasoning import Reasoning
from eventspace.summary import Summary
from eventspace.tables.frames import data_frame
from eventspace.tables.pairs import read_pairs

Floats = NDArray[np.float64]


class KolmogorovPosterior(Prediction, Reasoning, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The posterior mean of Kolmogorov models: itself one, with the events of all draws.

    Chains draw PMFs, indicators and each user's noise in turn from their conditional laws, with
    priors that know who rated what. The draws that are kept, stacked side by side and their PMFs
    divided by their number, are one model with ``n_events * n_samples`` events: every prediction,
    event and explanation of a single model holds for it, word by word.

    Parameters
    ----------
    n_events : int, default 16
        D, the number of elementary events of a draw, 1 to 64.
    pmf_penalty : float or "auto", default "auto"
        The precision of a PMF around its centre, in ratings of typical noise. "auto" takes the one
        of a few with which a short chain best predicts a held-out tenth of the entries.
    informed : bool, default True
        Whether the priors of an item's bits know who rated it and how many did, and that of a
        user's PMF which items were rated.
    n_chains : int, default 4
        Independent chains, each from a descent of its own.
    n_warmup : int, default 100
        Sweeps of each chain that are thrown away.
    n_draws : int, default 150
        Sweeps of each chain after that.
    n_samples : int, default 128
        How many of all draws are kept, evenly thinned: this bounds the memory.
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
    n_samples_ : int
        How many draws are kept.
    pmf_penalty_ : float
        The penalty that was used.
    noise_ : array of users
        The posterior mean of each user's noise: a standard deviation, in probability.
    cost_ : array of chains x draws
        The squared error of each draw, for diagnostics.
    watched_ : array of chains x draws x entries
        The predictions of some observed entries in each draw, likewise.
    observations_ : Observations
        What was learnt from.
    """

    # what a file holds of a fit, beside its parameters and observations
    _SAVED_ARRAYS = ("pmf_", "codes_", "noise_", "cost_", "watched_")
    _SAVED_NUMBERS = ("error_", "n_samples_", "pmf_penalty_")

    def __init__(
        self,
        n_events: int = 16,
        *,
        pmf_penalty: float | str = "auto",
        informed: bool = True,
        n_chains: int = 4,
        n_warmup: int = 100,
        n_draws: int = 150,
        n_samples: int = 128,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_events = n_events
        self.pmf_penalty = pmf_penalty
        self.informed = informed
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.n_samples = n_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw from the posterior given a table: anything that ``Observations.of`` reads."""
        self._check()
        observations = Observations.of(X)
        if not observations.n_observed:
            raise ValueError("Nothing is observed: there is no entry to learn from.")
        random = check_random_state(self.random_state)
        n_threads = count_threads(1 if self.n_jobs is None else self.n_jobs)
        sampler = Sampler(self.n_events, bool(self.informed), n_threads, self.verbose)
        if self.pmf_penalty == "auto":
            self.pmf_penalty_ = sampler.best_penalty(observations, random)
        else:
            self.pmf_penalty_ = float(self.pmf_penalty)
        rngs = np.random.default_rng(random.randint(2**31)).spawn(self.n_chains)
        each = max(1, -(-self.n_draws * self.n_chains // self.n_samples))  # one draw in so many
        chains = sampler.sample(
            observations, self.pmf_penalty_, rngs, self.n_warmup, self.n_draws, each
        )
        self._keep(observations, chains)
        return self

    def _check(self) -> None:
        check_whole("n_events", self.n_events, 1, WORD)
        check_whole("n_chains", self.n_chains, 1)
        check_whole("n_warmup", self.n_warmup, 0)
        check_whole("n_draws", self.n_draws, 4)
        check_whole("n_samples", self.n_samples, 1)
        if self.pmf_penalty != "auto":
            check_number("pmf_penalty", self.pmf_penalty)

    def _keep(self, observations: Observations, chains: list[Draws]) -> None:
        """Stack the draws into one model."""
        pmfs = [drawn for chain in chains for drawn in chain.pmf]
        codes = [drawn for chain in chains for drawn in chain.codes]
        precision = [drawn for chain in chains for drawn in chain.precision]
        self.n_samples_ = len(pmfs)
        self.observations_ = observations
        self.pmf_ = np.hstack(pmfs) / self.n_samples_
        bits = [unpack(drawn[:, None], self.n_events) for drawn in codes]
        self.codes_ = pack(np.hstack(bits))
        self.noise_ = np.sqrt(np.mean([1.0 / drawn for drawn in precision], axis=0))
        self.cost_ = np.array([chain.cost for chain in chains])
        self.watched_ = np.array([chain.watched for chain in chains])
        self.error_ = squared_error(observations, self.pmf_, self.indicators_)
        self.n_features_in_ = observations.n_items

    def samples(self) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
        """Each draw that was kept: its PMFs, users x events, and its indicators, items x events."""
        check_is_fitted(self)
        n, bits = self.pmf_.shape[1] // self.n_samples_, self.indicators_
        for k in range(self.n_samples_):
            events = slice(k * n, (k + 1) * n)
            yield self.pmf_[:, events] * self.n_samples_, bits[:, events]

    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        *,
        unit: Unit = "probability",
        unknown: Unknown = "error",
    ) -> Any:
        """Where an observation will lie: a DataFrame with a row a pair.

        ``mean``, ``std`` of the mean's posterior, and ``low`` and ``high``, between which a new
        value lies with probability ``level``: the posterior's spread and the user's own noise
        taken together, as a normal law cut off at the ends of the scale. ``X`` holds pairs, as in
        :meth:`predict`.
        """
        check_is_fitted(self)
        check_share("level", level)
        check_choice("unit", unit, UNITS)
        check_choice("unknown", unknown, UNKNOWN)
        pairs = read_pairs(X)
        if pairs is None:
            raise ValueError("An interval is for pairs: (users, items), or a DataFrame with both.")
        known = self.observations_
        users = positions(known.user_ids, pairs.users, "user", unknown)
        items = positions(known.item_ids, pairs.items, "item", unknown)
        mean, std = self._moments(users, items)
        noise = np.append(self.noise_, np.sqrt(np.mean(np.square(self.noise_))))[users]
        half = float(ndtri(0.5 + level / 2)) * np.hypot(std, noise)
        columns = {
            "mean": mean,
            "low": np.clip(mean - half, 0, 1),
            "high": np.clip(mean + half, 0, 1),
        }
        if unit == "original":
            columns = {name: known.from_unit(p) for name, p in columns.items()}
            std = std * (known.scale[1] - known.scale[0])
        return data_frame({"mean": columns["mean"], "std": std, **columns}, known.library)

    def _moments(self, users: NDArray[Any], items: NDArray[Any]) -> tuple[Floats, Floats]:
        """Mean and standard deviation over the draws of theta_u . psi_i; -1 is the population."""
        total, square = np.zeros(len(users)), np.zeros(len(users))
        rated = np.diff(self.observations_.by_user.ptr) > 0
        seen = np.diff(self.observations_.by_item.ptr) > 0
        for pmf, bits in self.samples():
            theta = np.vstack([pmf, pmf[rated].mean(axis=0)])
            psi = np.vstack([bits, bits[seen].mean(axis=0)])
            p = dot_products(theta, psi, users, items)
            total += p
            square += p * p
        mean = total / self.n_samples_
        return mean, np.sqrt(np.maximum(square / self.n_samples_ - mean * mean, 0.0))

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve a row and a draw.

        Gives rows x events, the events of all draws; the items must be the model's own.
        """
        check_is_fitted(self)
        return self._new_pmfs(self._aligned(X).by_user)

    def _new_pmfs(self, by_user: Entries) -> Floats:
        engine = CPU(Exact(), Pairwise(), 0.0, self.pmf_penalty_)
        n_users = len(by_user.ptr) - 1
        rated = np.diff(self.observations_.by_user.ptr) > 0
        found = []
        for pmf, bits in self.samples():
            mean = pmf[rated].mean(axis=0)
            start = np.tile(mean, (n_users, 1))
            solved = engine.update_pmfs(by_user, start, pack(bits)[:, 0], mean)
            solved.pmf[np.diff(by_user.ptr) == 0] = mean
            found.append(solved.pmf / self.n_samples_)
        return np.hstack(found)

    def fold_in(self, X: Any) -> Self:
        """Add the new users of a table, whose items the model knows, without touching the rest."""
        check_is_fitted(self)
        known = self.observations_
        new = Observations.of(X, scale=known.scale, users=known.user_ids, items=known.item_ids)
        if new.n_items > known.n_items:
            item = new.item_ids[known.n_items]
            raise ValueError(f"Item {item!r} is new: a posterior folds in users only; fit again.")
        if new.by_user.ptr[known.n_users]:
            user = new.user_ids[int(new.coo()[0][0])]
            raise ValueError(f"User {user!r} is known already: fit again to change what is known.")
        pmf = self._new_pmfs(new.by_user.rows(known.n_users))
        self.observations_ = known.merged(new)
        self.pmf_ = np.vstack([self.pmf_, pmf])
        typical = np.sqrt(np.mean(np.square(self.noise_)))
        self.noise_ = np.append(self.noise_, np.full(len(pmf), typical))
        self.error_ = squared_error(self.observations_, self.pmf_, self.indicators_)
        return self

    def inverse_transform(self, X: Any) -> Floats:
        """P[X_i = 1] of every item under each of the PMFs in ``X``: rows x items."""
        check_is_fitted(self)
        pmf = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if pmf.shape[1] != self.pmf_.shape[1]:
            raise ValueError(
                f"A PMF here has {self.pmf_.shape[1]} events, X has {pmf.shape[1]} columns."
            )
        p = np.zeros((len(pmf), len(self.codes_)))
        n = pmf.shape[1] // self.n_samples_
        for k, (_, bits) in enumerate(self.samples()):  # a draw at a time: all would be large
            p += pmf[:, k * n : (k + 1) * n] @ bits.T
        return p

    def _predict_positions(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        return self._moments(users, items)[0]

    def rules(
        self,
        X: Any = None,
        *,
        item: Any = None,
        top: int | None = 100,
        sort: str = "surprise",
        min_probability: float = 0.5,
        min_evidence: int = 1,
        like: float | None = None,
    ) -> Any:
        """Rules "whoever likes if_item likes then_item" with their posterior probability.

        A DataFrame as that of :meth:`KolmogorovModel.rules`, with ``probability``, the part of
        the draws in which the one set lies inside the other, at least ``min_probability``; the
        surprise is multiplied by it. The other options are as there.
        """
        check_is_fitted(self)
        check_whole("top", 1 if top is None else top, 1)
        check_choice("sort", sort, SORTS)
        check_share("min_probability", min_probability)
        check_whole("min_evidence", min_evidence, 1)
        seen = self.observations_
        threshold = liked_from(seen, like)
        samples = [pack(bits) for _, bits in self.samples()]
        evidence = Evidence(seen, threshold)
        miner = PosteriorMiner(
            self._space(), evidence, samples, sort, min_evidence, 0.0, min_probability, False
        )
        given = None if X is None else held_out_evidence(X, seen, threshold)
        return miner.table(item, top, given, self.verbose)

    def diagnostics(self) -> Any:
        """R-hat and effective sample size of the cost and of predictions: a DataFrame.

        R-hat near one says that the chains agree, above 1.1 that they do not: draw more. Of the
        predictions of some observed entries, the median and the worst (95 %) are given.
        """
        check_is_fitted(self)
        cost_rhat, cost_size = split_rhat(self.cost_), effective_size(self.cost_)
        rhat, size = split_rhat(self.watched_), effective_size(self.watched_)
        columns = {
            "quantity": ["cost", "predictions, median", "predictions, worst 5 %"],
            "rhat": np.array([float(cost_rhat), np.median(rhat), np.quantile(rhat, 0.95)]),
            "effective_size": np.array(
                [float(cost_size), np.median(size), np.quantile(size, 0.05)]
            ),
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
        return Summary(
            f"Posterior of Kolmogorov models: {self.n_samples_} draws of "
            f"{self.pmf_.shape[1] // self.n_samples_} events, {seen.n_users:,} users, "
            f"{seen.n_items:,} items\n"
            f"  observed     {seen.n_observed:,}, scale {lo:g} to {hi:g}\n"
            f"  fit          RMSE {rmse:.4f} in probability, {rmse * (hi - lo):.4f} in the "
            "original unit, on the training data\n"
            f"  noise        {np.median(self.noise_):.3f}, a user's median standard deviation\n"
            f"  chains       {chains} of {draws} draws\n"
            f"  predictions  R-hat {np.median(rhat):.2f} (worst 5 %: "
            f"{np.quantile(rhat, 0.95):.2f}), worth {np.median(size):,.0f} independent draws"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the posterior to one file, with the observations."""
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a posterior that :meth:`save` wrote."""
        return load_model(cls, path)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self.pmf_.shape[1])], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
