"""The files that are mutated: tiny models of every kind, fitted once and saved."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)

N_USERS, N_ITEMS = 12, 9
_WORDS = (
    "Alien",
    "Ünï",
    "",
    "a b",
    "日本",
    "x" * 40,
    "=1+1",
    "</script>",
    "\t",
    "Heat",
    "0",
    "é",
    "Z",
)


def save_all(folder: Path) -> list[Path]:
    """Save every seed into a folder, unless it is there: the same files for every worker."""
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, model in fitted():
                model.save(folder / f"{name}.eventspace")
        done.touch()
    return sorted(folder.glob("*.eventspace"))


def fitted() -> Iterator[tuple[str, Any]]:
    """Models by what is special about them."""
    users, items, p = table()
    stars = 1 + np.round(4 * p)
    ints = (users + 5, items * 3, stars)
    texts = (_named("user", users), _named("item", items), stars)
    single: dict[str, Any] = {"n_init": 1, "n_iter": 3, "random_state": 0, "n_jobs": 1}

    model = KolmogorovDescent(3, **single).fit(ints)
    yield "int-ids", model
    yield "text-ids", KolmogorovDescent(4, **single, indicator_solver="local").fit(texts)
    yield (
        "mixed-ids",
        KolmogorovDescent(3, **{**single, "n_jobs": -1}).fit((_mixed(users), *texts[1:])),
    )
    weights = 0.5 + users % 3
    yield "weighted", KolmogorovDescent(3, **single, pmf_prior="zero").fit((*texts[:2], p, weights))
    aged = pd.DataFrame({"user": users, "item": items, "value": stars, "time": 86400.0 * items})
    fading = Observations.of(aged, half_life=3 * 86400)
    yield "fading", KolmogorovDescent(3, **single).fit(fading)
    yield "shared", KolmogorovDescent(2, **single, indicators="shared").fit(ints)
    yield "one-hot", KolmogorovDescent(3, **single, indicators="one-hot").fit(ints)
    known = np.random.default_rng(1).random((N_ITEMS, 3)) < 0.5
    yield "given-indicators", KolmogorovDescent(3, **single).fit(ints, indicators=known * 1)
    yield "many-events", _many_events(ints)
    # of one user and one item nothing is known
    wide = np.full((5, 4), np.nan)
    wide[:4, :3] = np.arange(12).reshape(4, 3) / 11
    yield "unrated", KolmogorovDescent(2, **single).fit(wide)

    ensemble = KolmogorovEnsemble(
        3, n_models=3, n_iter=2, pmf_penalty=1.0, indicator_penalty=0.0, random_state=0, n_jobs=1
    )
    yield "ensemble", ensemble.fit(ints)
    drawn: dict[str, Any] = {"n_warmup": 2, "n_draws": 4, "random_state": 0, "n_jobs": 1}
    posterior = KolmogorovPosterior(3, n_chains=2, n_samples=4, **drawn).fit(texts)
    yield "posterior", posterior
    yield "compressed", posterior.to_model(3)
    yield "fading-model", KolmogorovModel(3, n_chains=2, **drawn).fit(fading)
    yield "one-part", KolmogorovModel("auto", n_chains=1, **drawn).fit(wide)
    ages = pd.DataFrame({"age": np.arange(N_USERS), "old": np.arange(N_USERS) % 2})
    lengths = pd.DataFrame({"length": np.linspace(0, 1, N_ITEMS)})
    yield (
        "attributes",
        KolmogorovPosterior(3, n_chains=2, n_samples=2, **drawn).fit(
            (users, items, stars), user_attributes=ages, item_attributes=lengths
        ),
    )
    yield "weighed", _weighed(drawn)


def table() -> tuple[Any, Any, Any]:
    """Users, items and chances of a small table that is not full."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), N_USERS) @ (rng.random((N_ITEMS, 3)) < 0.5).T
    seen = rng.random(p.shape) < 0.7
    seen[0] = seen[:, 0] = True
    order = rng.permutation(int(seen.sum()))
    users, items = (at[order] for at in np.nonzero(seen))
    # as appear first, so that attributes are in the order of the ids
    users, items = (pd.factorize(at)[0] for at in (users, items))
    return users, items, np.clip(p[seen][order], 0, 1)


def _named(what: str, at: Any) -> list[str]:
    return [f"{what} {_WORDS[k]}" if k % 2 else _WORDS[k] or what for k in at]


def _mixed(at: Any) -> list[Any]:
    ids = [1, "1", 2.5, ("a", 1), b"\xff", datetime.date(2020, 1, 1), True, "x", 7, -3, "é", 2**70]
    ids[6] = pd.Timestamp("2021-01-01 12:00")
    return [ids[k] for k in at]


def _many_events(triples: tuple[Any, Any, Any]) -> KolmogorovDescent:
    rng = np.random.default_rng(2)
    pmf = rng.dirichlet(np.ones(70), N_USERS)
    return KolmogorovDescent.from_parts(pmf, rng.random((N_ITEMS, 70)) < 0.5, triples)


def _weighed(drawn: dict[str, Any]) -> KolmogorovPosterior:
    """Chains that are taken together: for that there must be many ratings a user."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(2), 30) @ (rng.random((24, 2)) < 0.5).T
    posterior = KolmogorovPosterior(2, n_chains=2, n_samples=4, **drawn).fit(np.round(p, 2))
    assert posterior.n_together_ > 1
    return posterior
