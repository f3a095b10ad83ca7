"""What is expected of an item before its ratings are read, and of a user: learnt from the others.

Who rates an item says much about it, and so do the items that a user chooses to rate. The log-odds
of an item's bits are a logistic regression on its raters' PMFs and on how many they are; the centre
of a user's PMF is a linear regression on the indicators of the items rated, and on their number.
What else is known of them, their attributes, is told to these regressions too. Both are ridge
regressions, fitted anew in each sweep to the PMFs and indicators of that sweep. To each come
inclinations: an item's, which is added to the log-odds of all its bits, and a user's, by which the
centre leans to the events in which much comes true. A PMF is drawn from Dirichlet's law around its
centre, whose concentration is learnt as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, gammaln

from eventspace._base.types import Floats
from eventspace.data.entries import Entries
from eventspace.sampling.draw_pmfs import TINY
from eventspace.sampling.draw_slices import slice_draw
from eventspace.sampling.inclinations import MOST

RIDGE = 20.0  # of the items, on features of unit variance: twenty rows that say nothing
RIDGES = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # of the users, to choose from
ROUNDING = 1e-9  # what is smaller is not there
RIDGE_OF_CONSTANT = 0.1
LEAST_COUNT = 0.2  # of an event in the Dirichlet law of a PMF
MOST_CONCENTRATION = 1e4  # beyond it all PMFs are as good as their centres, and would freeze
LOG_ODDS_PER_CHANCE = 4.0  # around one half
WIDTH = 0.1  # of the first interval in which the log of a concentration is sought


def incidence(entries: Entries, n_columns: int) -> Any:
    """Who rated what, as a sparse matrix, each row over the square root of its number of ones."""
    sizes = entries.sizes
    ones = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return sparse.csr_array((ones, entries.index, entries.ptr), shape=(len(sizes), n_columns))


def features(rated: Any, of_other: Floats, attributes: Floats) -> Floats:
    """A constant, the log of the number of ratings, the sum of the others' deviations, attributes.

    The attributes are of mean zero already, as the deviations are.
    """
    sizes = np.log1p(np.diff(rated.indptr))
    deviations = rated @ (of_other - of_other.mean(axis=0))
    columns = np.hstack([(sizes - sizes.mean())[:, None], deviations, attributes])
    scale = np.sqrt(np.mean(np.square(columns), axis=0))
    columns[:, scale < ROUNDING] = 0.0
    return np.hstack([np.ones((len(sizes), 1)), columns / np.maximum(scale, ROUNDING)])


def _ridge(n: int, ridge: float) -> Floats:
    return np.array([RIDGE_OF_CONSTANT, *np.full(n - 1, ridge)])


class ItemPrior:
    """The log-odds of the bits; one step of each logistic regression a sweep."""

    def __init__(self, n_features: int, n_events: int) -> None:
        self.weights = np.zeros((n_features, n_events))

    def expected(self, X: Floats) -> Floats:
        """Log-odds of items that are inclined to nothing."""
        return np.clip(X @ self.weights, -MOST, MOST)

    def learn(
        self, X: Floats, indicators: Floats, known: NDArray[np.bool_], inclined: Floats
    ) -> None:
        """A step of the regressions, given the inclinations of all items; only the known count."""
        rows, psi = X[known], indicators[known]
        eta = rows @ self.weights + inclined[known, None]
        p = expit(eta)
        # the parabola that touches the log-likelihood here and lies below it everywhere (Jaakkola
        # and Jordan, 2000): its summit is never a step too far, as Newton's may be
        bend = np.where(np.abs(eta) > 1e-4, (p - 0.5) / np.where(eta == 0, 1.0, eta), 0.25)
        ridge = _ridge(X.shape[1], RIDGE)
        for d in range(psi.shape[1]):
            curvature = (rows * bend[:, d, None]).T @ rows
            slope = rows.T @ (psi[:, d] - p[:, d]) - ridge * self.weights[:, d]
            self.weights[:, d] += np.linalg.solve(curvature + np.diag(ridge), slope)


def log_likelihood_of_bits(indicators: Floats, log_odds: Floats, inclined: Floats) -> Floats:
    """Of each item's bits, up to a constant, with its inclination added to their log-odds."""
    found: Floats = inclined * indicators.sum(axis=1)
    found -= np.logaddexp(0.0, log_odds + inclined[:, None]).sum(axis=1)
    return found


def pmf_centres(Z: Floats, pmf: Floats, known: NDArray[np.bool_]) -> Floats:
    """The centres of all users' PMFs, each learnt from the other known ones.

    A user's own PMF is left out, or a centre would follow it wherever it goes; and the ridge is
    the one with which those left out are met best.
    """
    rows = Z[known]
    gram, linear = rows.T @ rows, rows.T @ pmf[known]
    best, least = np.empty_like(pmf), np.inf
    for ridge in RIDGES:
        inverse = np.linalg.inv(gram + np.diag(_ridge(Z.shape[1], ridge)))
        own = np.where(known, np.einsum("up,up->u", Z @ inverse, Z), 0.0)[:, None]
        centres = (Z @ (inverse @ linear) - own * pmf) / np.maximum(1 - own, ROUNDING)
        error = np.square(centres - pmf)[known].sum()
        if error < least:
            best, least = centres, error
    return best


def as_normal(concentration: float, centres: Floats) -> tuple[Floats, Floats]:
    """A and b of a normal law as wide as the Dirichlet laws around these centres are on average."""
    variance = float(np.mean(centres * (1 - centres))) / (concentration + 1)
    strict = 1.0 / max(variance, ROUNDING)
    return strict * np.eye(centres.shape[1]), strict * centres


def lean(indicators: Floats) -> Floats:
    """How much more comes true in each event than in others, in log-odds around one half."""
    rate = indicators.mean(axis=0)
    return np.asarray(LOG_ODDS_PER_CHANCE * (rate - rate.mean()))


def tilted(centres: Floats, inclined: Floats, towards: Floats) -> Floats:
    """Positive centres, leaning by each user's inclination; they sum to one."""
    found = centres * np.exp(inclined[:, None] * towards)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def pseudo_counts(concentration: float, centres: Floats) -> Floats:
    """The Dirichlet laws of PMFs around their centres."""
    return np.maximum(concentration * centres, LEAST_COUNT)


def log_dirichlet(counts: Floats, log_pmf: Floats) -> Floats:
    """The log of each PMF's density."""
    found: Floats = gammaln(counts.sum(axis=1))
    found += ((counts - 1) * log_pmf - gammaln(counts)).sum(axis=1)
    return found


def log_of(pmf: Floats) -> Floats:
    """Finite, also where there is no mass."""
    return np.asarray(np.log(np.maximum(pmf, TINY)))


def draw_concentration(
    concentration: float, centres: Floats, pmf: Floats, rng: np.random.Generator
) -> float:
    """Draw the concentration given the PMFs: beforehand, its log is normal around that of D."""
    log_pmf, n_events = log_of(pmf), pmf.shape[1]

    def log_density(x: float) -> float:
        if x > np.log(MOST_CONCENTRATION):
            return -np.inf
        of_users = log_dirichlet(pseudo_counts(float(np.exp(x)), centres), log_pmf)
        return float(of_users.sum() - 0.5 * (x - np.log(n_events)) ** 2)

    return float(np.exp(slice_draw(log_density, float(np.log(concentration)), WIDTH, rng)))
