"""Made tables: planted models, their drift in time, and fading wireless links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eventspace._base.checks import check_number, check_whole
from eventspace._base.errors import UserError
from eventspace._base.types import Floats
from eventspace.datasets.dataset import Dataset

CITATION = "Made by eventspace.datasets.generators."
LICENCE = "Nobody's."
REFERENCE = 1.0  # metres: the distance at which the signal is ``snr_at_one`` above the noise


def planted(
    n_users: int = 200,
    n_items: int = 100,
    n_events: int = 4,
    *,
    density: float = 0.5,
    noise: float = 0.1,
    per_item: float | None = None,
    exponent: float = 0.0,
    concentration: float = 0.7,
    random_state: int = 0,
) -> Dataset:
    """A Kolmogorov model's chances, some observed, with noise.

    Indicators are drawn at random, bit by bit with the chance ``density``, none of them empty or
    full. PMFs have a Dirichlet law with ``concentration`` per event. About ``per_item`` ratings of
    each item are observed (None: all). If ``exponent`` is above zero, some users and items have
    more than others: their activity falls as a power of their rank. ``noise`` is the standard
    deviation around the chance, cut off at 0 and 1. ``truth`` has "pmf" and "indicators".
    """
    check_whole("n_users", n_users, 1)
    check_whole("n_items", n_items, 1)
    check_whole("n_events", n_events, 2, 64)
    check_number("noise", noise)
    check_number("exponent", exponent)
    if not 0.0 < density < 1.0:
        raise UserError("must lie between 0 and 1.", parameter="density", value=density)
    rng = np.random.default_rng(random_state)
    pmf = rng.dirichlet(np.full(n_events, concentration), n_users)
    bits = _indicators(rng, n_items, n_events, density)
    seen = _seen(rng, n_users, n_items, per_item, exponent)
    return Dataset(
        f"planted, {n_events} events",
        _observed(rng, pmf @ bits.T, seen, noise),
        (0.0, 1.0),
        CITATION,
        LICENCE,
        truth=_truth(pmf, bits),
    )


def drifting(
    n_times: int = 5, *, step: float = 0.1, moving: float = 0.0, **settings: Any
) -> list[Dataset]:
    """A planted model at several times: users change their minds, and items their sets.

    From one time to the next, each PMF moves by the fraction ``step`` towards a new one, and the
    part ``moving`` of the items, chosen at random, get new sets. The other settings are those of
    `planted`. The observed entries are drawn again at each time.
    """
    check_whole("n_times", n_times, 1)
    for name, value in (("step", step), ("moving", moving)):
        if not 0.0 <= value <= 1.0:
            raise UserError("must lie between 0 and 1.", parameter=name, value=value)
    seed = settings.pop("random_state", 0)
    now = planted(**settings, random_state=seed)
    pmf, bits = (now.truth[name].to_numpy(dtype=np.float64) for name in ("pmf", "indicators"))
    rng = np.random.default_rng([seed, 1])
    concentration = settings.get("concentration", 0.7)
    times = [now]
    for k in range(1, n_times):
        pmf = (1 - step) * pmf + step * rng.dirichlet(
            np.full(pmf.shape[1], concentration), len(pmf)
        )
        if moving:
            others = np.flatnonzero(rng.random(len(bits)) < moving)
            bits = bits.copy()
            bits[others] = _indicators(
                rng, len(others), bits.shape[1], settings.get("density", 0.5)
            )
        per_item, exponent = settings.get("per_item"), settings.get("exponent", 0.0)
        seen = _seen(rng, len(pmf), len(bits), per_item, exponent)
        table = _observed(rng, pmf @ bits.T, seen, settings.get("noise", 0.1))
        truth = _truth(pmf, bits)
        times.append(
            Dataset(f"{now.name}, time {k}", table, now.scale, CITATION, LICENCE, truth=truth)
        )
    return times


def fading_links(
    n_senders: int = 40,
    n_receivers: int = 40,
    *,
    side: float = 100.0,
    path_loss: float = 3.0,
    shadowing: float = 6.0,
    snr_at_one: float = 65.0,
    threshold: float = 5.0,
    n_packets: int = 200,
    random_state: int = 0,
) -> Dataset:
    """The share of the packets that arrive over wireless links, by Monte Carlo.

    Nodes lie at random in a square of ``side`` metres. The mean signal-to-noise ratio in decibels
    is ``snr_at_one`` at one metre and falls by ``10 path_loss`` for ten times the distance; a
    normal term with the standard deviation ``shadowing`` is each link's own. Each packet fades by
    Rayleigh's law (its power is exponential) and arrives if it is above ``threshold``. ``truth``
    has "chance", exp(-threshold / mean), senders x receivers; users and items have their places.
    """
    for name, value in (("n_senders", n_senders), ("n_receivers", n_receivers)):
        check_whole(name, value, 1)
    check_whole("n_packets", n_packets, 1)
    rng = np.random.default_rng(random_state)
    senders, receivers = (rng.uniform(0, side, (n, 2)) for n in (n_senders, n_receivers))
    distance = np.linalg.norm(senders[:, None] - receivers, axis=2)
    decibels = snr_at_one - 10 * path_loss * np.log10(np.maximum(distance, REFERENCE) / REFERENCE)
    decibels += rng.normal(0, shadowing, decibels.shape)
    mean, least = 10 ** (decibels / 10), 10 ** (threshold / 10)
    arrived = np.zeros(mean.shape)
    for _ in range(n_packets):
        arrived += rng.exponential(mean) > least
    users, items = _names("sender", n_senders), _names("receiver", n_receivers)
    u, i = np.indices(mean.shape)
    return Dataset(
        "fading links",
        _table(u.ravel(), i.ravel(), (arrived / n_packets).ravel(), users, items),
        (0.0, 1.0),
        CITATION,
        LICENCE,
        users=pd.DataFrame(senders, users.rename("user"), ["x", "y"]),
        items=pd.DataFrame(receivers, items.rename("item"), ["x", "y"]),
        truth={"chance": pd.DataFrame(np.exp(-least / mean), users, items)},
    )


def _indicators(rng: np.random.Generator, n: int, n_events: int, density: float) -> Floats:
    bits = rng.random((n, n_events)) < density
    while (trivial := (bits.all(axis=1) | ~bits.any(axis=1))).any():
        bits[trivial] = rng.random((trivial.sum(), n_events)) < density
    return bits.astype(np.float64)


def _seen(
    rng: np.random.Generator, n_users: int, n_items: int, per_item: float | None, exponent: float
) -> NDArray[np.bool_]:
    """Which entries are observed: of the more active more."""
    if per_item is None:
        return np.ones((n_users, n_items), dtype=np.bool_)
    if not 0 < per_item <= n_users:
        allowed = f"between 0 and n_users={n_users}"
        raise UserError(f"must lie {allowed}.", parameter="per_item", value=per_item)
    active, popular = (
        rng.permutation(np.arange(1, n + 1) ** -exponent) for n in (n_users, n_items)
    )
    chance = np.outer(active, popular)
    low, high = 0.0, per_item * n_items / chance.max() * len(active) + 1.0 / chance.min()
    for _ in range(100):  # a factor with which the expected number is right, none above one
        factor = 0.5 * (low + high)
        few = np.minimum(factor * chance, 1.0).sum() < per_item * n_items
        low, high = (factor, high) if few else (low, factor)
    return np.asarray(rng.random(chance.shape) < np.minimum(high * chance, 1.0))


def _observed(
    rng: np.random.Generator, chance: Floats, seen: NDArray[np.bool_], noise: float
) -> pd.DataFrame:
    u, i = np.nonzero(seen)
    value = np.clip(chance[u, i] + rng.normal(0, noise, len(u)), 0.0, 1.0)
    return _table(u, i, value, _names("user", len(chance)), _names("item", chance.shape[1]))


def _table(
    u: NDArray[np.int64], i: NDArray[np.int64], value: Floats, users: pd.Index, items: pd.Index
) -> pd.DataFrame:
    return pd.DataFrame({"user": users[u], "item": items[i], "value": value})


def _truth(pmf: Floats, bits: Floats) -> dict[str, pd.DataFrame]:
    return {
        "pmf": pd.DataFrame(pmf, _names("user", len(pmf))),
        "indicators": pd.DataFrame(bits > 0.5, _names("item", len(bits))),
    }


def _names(what: str, n: int) -> pd.Index:
    return pd.Index([f"{what} {k}" for k in range(n)])
