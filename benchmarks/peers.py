"""Other libraries' matrix factorisations behind one small interface, for the benchmarks.

A peer is ``prepare(users, items, values, rank) -> fit``: its own data structure is made in
``prepare``, outside of what is timed; ``fit()`` trains at that rank from a fixed start, with the
peer's defaults for everything else. For most that means all cores, which on a busy machine was up
to seven times slower than one: Cornac and scikit-learn therefore run with one thread as well.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_info, threadpool_limits

Array = NDArray[Any]


@dataclass(frozen=True)
class Factors:
    """r_ui = mean + b_u + b_i + p_u . q_i: what each of the peers fits."""

    user_ids: Array
    item_ids: Array
    mean: float
    user_bias: Array
    item_bias: Array
    P: Array
    Q: Array

    def predict(self, users: Array, items: Array, scale: tuple[float, float] = (1, 5)) -> Array:
        """Ratings, clipped to the scale; an unknown user or item adds nothing."""
        (u, user_known), (i, item_known) = _find(self.user_ids, users), _find(self.item_ids, items)
        bias = user_known * self.user_bias[u] + item_known * self.item_bias[i]
        product = np.einsum("nd,nd->n", self.P[u], self.Q[i]) * (user_known & item_known)
        ratings: Array = np.clip(self.mean + bias + product, *scale)
        return ratings


Fit = Callable[[], Factors]
Prepare = Callable[[Array, Array, Array, int], Fit]


def cornac_mf(
    users: Array, items: Array, values: Array, rank: int, threads: int | None = None
) -> Fit:
    """Stochastic gradient descent in Cython, 20 epochs, all cores."""
    from cornac.data import Dataset
    from cornac.models import MF

    (user_ids, u), (item_ids, i) = _codes(users), _codes(items)
    shapes = {"U": (len(user_ids), rank), "V": (len(item_ids), rank)}
    maps = ({id_: k for k, id_ in enumerate(ids)} for ids in (user_ids, item_ids))
    data = Dataset(len(user_ids), len(item_ids), *maps, (u, i, values.astype(np.float64)))

    def fit() -> Factors:
        # A seed would hold Cornac to one thread, so it is given its start instead, drawn as its own
        rng = np.random.default_rng(0)
        start = {k: rng.normal(0, 0.01, shape).astype(np.float32) for k, shape in shapes.items()}
        m = MF(k=rank, num_threads=threads or 0, init_params=start).fit(data)
        biases, factors = (m.u_biases, m.i_biases), (m.u_factors, m.i_factors)
        return Factors(user_ids, item_ids, m.global_mean, *biases, *factors)

    return fit


def surprise_svd(users: Array, items: Array, values: Array, rank: int) -> Fit:
    """Stochastic gradient descent in Cython, 20 epochs, one thread."""
    from surprise import SVD, Dataset, Reader

    (user_ids, u), (item_ids, i) = _codes(users), _codes(items)
    frame = pd.DataFrame({"user": u, "item": i, "rating": values})
    data = Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()
    inner_user = [data.to_inner_uid(k) for k in range(len(user_ids))]
    inner_item = [data.to_inner_iid(k) for k in range(len(item_ids))]

    def fit() -> Factors:
        m = SVD(n_factors=rank, random_state=0).fit(data)
        biases, factors = (m.bu[inner_user], m.bi[inner_item]), (m.pu[inner_user], m.qi[inner_item])
        return Factors(user_ids, item_ids, data.global_mean, *biases, *factors)

    return fit


def lenskit_biased_mf(
    users: Array, items: Array, values: Array, rank: int, epochs: int = 10
) -> Fit:
    """Biases, then alternating least squares in Rust, all cores."""
    from lenskit.als import BiasedMFScorer
    from lenskit.data import from_interactions_df
    from lenskit.training import TrainingOptions

    _lenskit_threads()
    frame = pd.DataFrame({"user_id": users, "item_id": items, "rating": values})
    data = from_interactions_df(frame)

    def fit() -> Factors:
        m = BiasedMFScorer(features=rank, epochs=epochs)
        m.train(data, TrainingOptions(rng=0))
        return Factors(data.users.ids(), data.items.ids(), m.bias.global_bias,
                       np.asarray(m.bias.user_biases), np.asarray(m.bias.item_biases),
                       np.asarray(m.user_embeddings), m.item_embeddings)  # fmt: skip

    return fit


def sklearn_nmf(
    users: Array, items: Array, values: Array, rank: int, threads: int | None = None
) -> Fit:
    """Coordinate descent, up to 200 sweeps, on the full table: what is missing is a bias model's.

    Its threads are those of BLAS. It knows no missing values: on the sparse table it would fit
    zeros.
    """
    from sklearn.decomposition import NMF

    (user_ids, u), (item_ids, i) = _codes(users), _codes(items)
    mean = float(values.mean())
    item_bias = _damped_mean(values - mean, i)
    user_bias = _damped_mean(values - mean - item_bias[i], u)
    full = np.clip(mean + user_bias[:, None] + item_bias, 1, 5, dtype=np.float32)
    full[u, i] = values

    def fit() -> Factors:
        m = NMF(n_components=rank, random_state=0)
        with warnings.catch_warnings(action="ignore"), threadpool_limits(threads, "blas"):
            W = m.fit_transform(full)
        # r_ui = w_u . h_i, written as mean + (w_u . h_i - mean) for the sake of unknown items
        P = np.pad(W, ((0, 0), (0, 1)), constant_values=1)
        Q = np.pad(m.components_.T, ((0, 0), (0, 1)), constant_values=-mean)
        return Factors(user_ids, item_ids, mean, 0 * user_bias, 0 * item_bias, P, Q)

    return fit


PEERS: dict[str, Prepare] = {
    "Cornac MF": cornac_mf,
    "Cornac MF, one thread": partial(cornac_mf, threads=1),
    "Surprise SVD": surprise_svd,
    "LensKit BiasedMF": lenskit_biased_mf,
    "scikit-learn NMF": sklearn_nmf,
    "scikit-learn NMF, one thread": partial(sklearn_nmf, threads=1),
}


def threads() -> dict[str, int]:
    """How many threads each of the peers uses on this machine."""
    from cornac.models import MF

    blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    counts = (MF().num_threads, 1, 1, _lenskit_threads(), max(blas, default=1), 1)
    return dict(zip(PEERS, counts, strict=True))


def _lenskit_threads() -> int:
    """Start LensKit's pool; that limits BLAS for the whole process, which is undone here."""
    from lenskit.parallel import get_parallel_config

    with threadpool_limits():
        return int(get_parallel_config().threads)


def _codes(ids: Array) -> tuple[Array, Array]:
    unique, codes = np.unique(ids, return_inverse=True)
    return unique, codes


def _find(ids: Array, wanted: Array) -> tuple[Array, Array]:
    rows = np.searchsorted(ids, wanted).clip(max=len(ids) - 1)
    return rows, ids[rows] == wanted


def _damped_mean(values: Array, groups: Array, damping: float = 5.0) -> Array:
    means: Array = np.bincount(groups, values) / (np.bincount(groups) + damping)
    return means
