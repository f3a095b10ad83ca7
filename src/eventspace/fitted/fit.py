"""A fit: the frozen record of what was learnt, and where it came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.codes import pack, unpack
from eventspace._base.types import Bits, Codes, Floats, Positions
from eventspace.data.attributes import Attributes
from eventspace.data.factors import squared_error, squared_errors, told_by_sums
from eventspace.data.observations import Observations
from eventspace.engines.protocol import Engine
from eventspace.fitting.compression import Part
from eventspace.fitting.descent import Descent
from eventspace.fitting.meetings import Meetings
from eventspace.pmf.population import population_centre

TINY = 1e-9  # a variance that is next to nothing
FEW = 10  # ratings that the errors of all users are worth, where one has few
MORE = 0.1  # of the mean variance of masses is added, for what the known users do not show


@dataclass(frozen=True, eq=False)
class Fit(ABC):
    """PMFs of users, sets of items, and the observations that they were learnt from."""

    observations: Observations  # ids, scale, and the ratings in both orders
    pmf: Floats  # theta: users x events
    codes: Codes  # psi, packed 64 events to a word: items x words
    error: float  # the (weighted) squared error over the observed entries

    estimator: ClassVar[str]  # the name of what learns such fits

    @property
    def n_events(self) -> int:
        """D."""
        return int(self.pmf.shape[1])

    @property
    def indicators(self) -> Bits:
        """psi: items x events, whether the item comes true in the event; unpacked when asked."""
        return unpack(self.codes, self.n_events)

    @property
    def factors(self) -> tuple[Floats, Floats]:
        """theta and psi as numbers, users x events and items x events: p is their product."""
        return self.pmf, self.indicators.astype(np.float64)

    @property
    def meetings(self) -> Meetings:
        """Who meets what, if it was learnt."""
        return Meetings.none(*self.observations.shape)

    def met_now(
        self, now: Observations, users: Positions, items: Positions, engine: Engine
    ) -> dict[str, Any]:
        """Who meets what, with some users and items solved anew."""
        return self.meetings.solved(now, users, items, engine).fields()

    @property
    @abstractmethod
    def spread(self) -> Floats:
        """Of users: the standard deviation of an observation around its predicted chance."""

    @cached_property
    def pmf_mean(self) -> Floats:
        """The mean PMF of the users with ratings: the population's."""
        return np.asarray(self.pmf[self.observations.by_user.rated].mean(axis=0))

    @cached_property
    def indicator_mean(self) -> Floats:
        """The mean indicator of the rated items: what part of them comes true in each event."""
        return np.asarray(self.indicators[self.observations.by_item.rated].mean(axis=0))

    @cached_property
    def unsaid(self) -> Bits:
        """The items of which the fit says nothing, so that the mean indicator stands in."""
        return np.asarray(~self.observations.by_item.rated)


@dataclass(frozen=True, eq=False)
class DescentFit(Fit):
    """One probability space, from a descent; one side of it, or both, may have been given."""

    history: Floats  # the cost after each iteration
    proved: Bits  # of items: whether the last solve was proved optimal
    gap: Floats  # of users: the duality gap of the last solve; infinite where there was none
    converged: bool  # whether the cost stood still before the iterations were done
    interrupted: bool  # whether Ctrl-C ended the descent
    given: str | None  # the side that was given: "pmf" or "indicators"

    estimator: ClassVar[str] = "KolmogorovDescent"

    @classmethod
    def of(
        cls, observations: Observations, descent: Descent, given: str | None = None
    ) -> DescentFit:
        """The end of a descent; events are numbered by their mass, or as they were given."""
        rated = observations.by_user.rated
        mass = population_centre(descent.pmf, rated, "mean")
        if given != "pmf":
            descent.pmf[~rated] = mass
        order = np.argsort(-mass, kind="stable") if given is None else np.arange(len(mass))
        bits, error = unpack(descent.codes[:, None], len(mass)), descent.error
        if descent.interrupted or not told_by_sums(observations, error):
            error = squared_error(observations, descent.pmf, bits)
        return cls(
            observations,
            np.ascontiguousarray(descent.pmf[:, order]),
            pack(bits[:, order]),
            error,
            np.array(descent.history),
            descent.proved,
            descent.gap,
            descent.converged,
            descent.interrupted,
            given,
        )

    @classmethod
    def of_parts(
        cls, observations: Observations, pmf: Floats, indicators: NDArray[Any]
    ) -> DescentFit:
        """PMFs and sets that were both given."""
        error = squared_error(observations, pmf, indicators)
        return cls(
            observations,
            pmf,
            pack(indicators.astype(np.bool_)),
            error,
            np.array([error]),
            np.zeros(observations.n_items, dtype=np.bool_),
            np.full(observations.n_users, np.inf),
            converged=False,
            interrupted=False,
            given=None,
        )

    @property
    def spread(self) -> Floats:
        """The root mean square of a user's errors, those of few ratings drawn to all users'."""
        seen = self.observations.with_unit_weight()
        errors = squared_errors(seen, *self.factors, weighted=seen.fades)
        counts = seen.by_user.counts(seen.fades)
        mean = errors.sum() / counts.sum()
        return np.asarray(np.sqrt((errors + FEW * mean) / (counts + FEW)))

    @property
    def n_iter(self) -> int:
        """Iterations of the descent."""
        return len(self.history)

    @property
    def of_given_parts(self) -> bool:
        """Whether both sides were given: nobody has solved for the users."""
        return bool(np.isinf(self.gap).any())

    @cached_property
    def unsaid(self) -> Bits:
        """Items without ratings, unless their sets were given."""
        return np.zeros(len(self.codes), np.bool_) if self.given == "indicators" else super().unsaid


@dataclass(frozen=True, eq=False)
class CompressedFit(Fit):
    """One probability space, which predicts nearly what an average predicts."""

    proved: Bits  # of items: whether the set is proved optimal, given the PMFs
    loss: float  # RMS of the difference from the average's predictions, weighted by ratings
    unsure: float  # how far the average itself may be from the truth: a standard deviation
    noise: Floats  # of users: a standard deviation, in probability
    same_bits: Floats  # of events: the share of the bits on which halves of the average agree
    same_pmf: Floats  # of events: the correlation of the masses that users give it in both halves
    n_learnt_users: int  # those after them came by updates, and tell nothing of what is expected
    n_learnt_items: int
    half_codes: Codes  # items x halves: the sets there; one group of chains has no halves
    interrupted: bool  # whether Ctrl-C ended the chains, or the compression
    met_weights: NDArray[np.float32]  # who meets what: users x events, none if it was not learnt
    met_codes: Codes  # items x words
    met_mass: NDArray[np.float32]  # events: the population's

    estimator: ClassVar[str] = "KolmogorovModel"

    @property
    def meetings(self) -> Meetings:
        """Who meets what."""
        return Meetings(self.met_weights, self.met_codes, self.met_mass)

    @property
    def spread(self) -> Floats:
        """The noise."""
        return self.noise

    @property
    def variance(self) -> float:
        """That of an observation around its chance."""
        return float(np.mean(np.square(self.noise[self.observations.by_user.rated])))

    @property
    def average_rmse(self) -> float:
        """What is expected of the average on new ratings, in probability."""
        return float(np.sqrt(self.variance + self.unsure**2))

    @property
    def expected_rmse(self) -> float:
        """What is expected on new ratings of these users and items, in probability."""
        return float(np.hypot(self.average_rmse, self.loss))

    @property
    def effective_events(self) -> Floats:
        """Of users: how many events of equal mass a PMF is worth, exp(entropy)."""
        logs = np.log(self.pmf, out=np.zeros_like(self.pmf), where=self.pmf > 0)
        return np.asarray(np.exp(-(self.pmf * logs).sum(axis=1)))

    @property
    def learnt_from_some(self) -> bool:
        """Whether users, and items, that it was learnt from have ratings."""
        seen = self.observations
        users = seen.by_user.rated[: self.n_learnt_users]
        return bool(users.any() and seen.by_item.rated[: self.n_learnt_items].any())

    @property
    def expected_user(self) -> tuple[Floats, Floats]:
        """For new users: a quadratic around the mean PMF, x'Gx - 2h'x, as strong as it should be.

        It is that of a normal law with the covariance of the known PMFs, and a little more.
        """
        learnt = slice(self.n_learnt_users)
        pmf = self.pmf[learnt][self.observations.by_user.rated[learnt]]
        covariance = np.atleast_2d(np.cov(pmf.T, bias=True))
        more = MORE * float(np.trace(covariance)) / self.n_events + TINY
        inverse = np.linalg.inv(covariance + more * np.eye(self.n_events))
        G = np.asarray(self.weighed_noise * inverse, dtype=np.float64)
        return G, G @ pmf.mean(axis=0)

    @property
    def expected_item(self) -> tuple[Floats, Floats]:
        """For new items: a quadratic around the mean item m, (x - m)'G(x - m), as G and Gm.

        Its strength is that with which known items keep to the mean one.
        """
        pmf, bits = self.pmf[: self.n_learnt_users], self.indicators[: self.n_learnt_items]
        bits = bits[self.observations.by_item.rated[: self.n_learnt_items]]
        square, mean = pmf.T @ pmf / len(pmf), bits.mean(axis=0)
        apart = bits - mean
        spread = float(np.einsum("id,de,ie->i", apart, square, apart).mean())
        G = self.weighed_noise / max(spread, TINY) * square
        return G, G @ mean

    @property
    def weighed_noise(self) -> float:
        """The variance of an observation, in the unit of the weights."""
        return self.observations.mean_weight * self.variance


@dataclass(frozen=True, eq=False)
class AverageFit(Fit):
    """Samples of a model side by side, their PMFs divided by their number."""

    n_samples: int
    n_together: int  # how many draws a sample is made of
    noise: Floats  # of users: a standard deviation, in probability
    pmf_penalty: float  # for new users of a sample
    seed: int  # of draws after the fit
    interrupted: bool  # whether Ctrl-C ended the fit

    @property
    def sample_events(self) -> list[slice]:
        """Where the events of each sample are."""
        n = self.n_events // self.n_samples
        return [slice(k * n, (k + 1) * n) for k in range(self.n_samples)]

    @property
    def left_open(self) -> Floats:
        """Of users: the variance of chances that is not seen between samples."""
        return np.zeros(len(self.pmf))

    @property
    def spread(self) -> Floats:
        """The noise, and what is left open."""
        return np.asarray(np.sqrt(np.square(self.noise) + self.left_open))

    @property
    def factors(self) -> tuple[Floats, Floats]:
        """Those of the parts, side by side."""
        parts = self.parts()
        theta = np.hstack([part.pmf for part in parts]) / len(parts)
        return theta, np.hstack([part.chances for part in parts])

    @property
    def n_parts(self) -> int:
        """How many different models are averaged."""
        return self.n_samples

    def parts(self) -> list[Part]:
        """The models that are averaged: samples that share their PMFs are one."""
        n, n_parts = self.n_events // self.n_samples, self.n_parts
        noise = float(np.mean(np.square(self.noise)))
        bits = self.indicators.reshape(len(self.codes), self.n_samples, n)
        return [
            Part(
                self.pmf[:, k * n : (k + 1) * n] * self.n_samples,
                bits[:, k::n_parts].mean(axis=1),
                noise,
            )
            for k in range(n_parts)
        ]


@dataclass(frozen=True, eq=False)
class EnsembleFit(AverageFit):
    """Descents from different starts."""

    indicator_penalty: float
    held_out_error: float  # of a few models, in the unit of the table; NaN: nothing was held out

    estimator: ClassVar[str] = "KolmogorovEnsemble"


@dataclass(frozen=True, eq=False)
class PosteriorFit(AverageFit):
    """Draws of the posterior.

    A sample is one draw of a chain, or one of each of ``n_together`` chains whose events users
    weigh together.
    """

    open: Floats  # of users: the variance of chances that the ratings leave open
    covariance: Floats  # groups x events x events: of the PMFs over the events of each group
    cost: Floats  # chains x draws: the squared error
    watched: Floats  # chains x draws x entries: some predictions
    user_attributes: Floats  # users x attributes, NaN where unknown
    user_attribute_names: NDArray[np.object_]
    item_attributes: Floats
    item_attribute_names: NDArray[np.object_]
    concentration: float  # of PMFs around their centres
    user_spread: float  # of the users' inclinations: a standard deviation
    item_spread: float
    met_weights: NDArray[np.float32]  # who meets what: users x events, none if it was not learnt
    met_codes: Codes  # items x words
    met_mass: NDArray[np.float32]  # events: the population's

    estimator: ClassVar[str] = "KolmogorovPosterior"

    @property
    def meetings(self) -> Meetings:
        """Who meets what."""
        return Meetings(self.met_weights, self.met_codes, self.met_mass)

    @cached_property
    def unsaid(self) -> Bits:
        """None: the unrated are drawn, too, from what is expected of them."""
        return np.zeros(len(self.codes), dtype=np.bool_)

    @property
    def left_open(self) -> Floats:
        """What the ratings leave open."""
        return self.open

    @property
    def attributes(self) -> tuple[Attributes, Attributes]:
        """What is known of users, and of items, beside their ratings."""
        return (
            Attributes(self.user_attribute_names, self.user_attributes),
            Attributes(self.item_attribute_names, self.item_attributes),
        )

    @property
    def n_parts(self) -> int:
        """Groups of chains; where these are not weighed, samples."""
        return len(self.covariance) or self.n_samples


def stacked(pmfs: Sequence[Floats], bits: Sequence[Bits]) -> tuple[Floats, Codes]:
    """Samples as one model: PMFs over the events of all, and codes."""
    return np.hstack(pmfs) / len(pmfs), pack(np.hstack(bits))


def padded(rows: NDArray[Any], n: int, with_: Any = 0) -> NDArray[Any]:
    """A copy with ``n`` rows, the new ones filled."""
    found = np.full((n, *rows.shape[1:]), with_, dtype=rows.dtype)
    found[: len(rows)] = rows
    return found


def as_the_population(pmf: Floats, users: Positions, rated: Bits) -> None:
    """Give those of the users who have no ratings the mean PMF of all who have."""
    bare = users[~rated[users]]
    if bare.size:
        pmf[bare] = pmf[rated].mean(axis=0)


def heaviest_first(fit: Fit) -> Positions:
    """The events by their mass in the population."""
    return np.argsort(-fit.pmf_mean, kind="stable")
