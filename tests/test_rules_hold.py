"""Do rules hold for users who were never asked? On people who are drawn like those of the fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovModel, Observations
from eventspace.rules.law import Law

N_USERS, N_ITEMS, N_EVENTS = 500, 40, 5
LIKE = 4


def people(seed: int, n_users: int, psi) -> pd.DataFrame:
    """Stars of users with tastes, who have rated half of the items."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(N_EVENTS, 0.4), n_users)
    stars = np.clip(
        np.round(1.2 + 3.6 * theta @ psi.T + rng.normal(0, 0.8, (n_users, N_ITEMS))), 1, 5
    )
    stars[rng.random(stars.shape) < 0.5] = np.nan
    names = [f"i{i}" for i in range(N_ITEMS)]
    return pd.DataFrame(stars, columns=names, index=[f"u{seed}-{u}" for u in range(n_users)])


@pytest.fixture(scope="module")
def tested() -> pd.DataFrame:
    """All rules of a model, promised and found among four times as many others."""
    psi = np.random.default_rng(0).random((N_ITEMS, N_EVENTS)) < 0.5
    train, others = people(1, N_USERS, psi), people(2, 4 * N_USERS, psi)
    model = KolmogorovModel(8, n_chains=3, n_warmup=10, n_draws=10, random_state=0)
    model.fit(Observations.from_wide(train, scale=(1, 5)))
    return model.rules(others, top=None, fold=False, like=LIKE)


def test_what_is_promised_is_found(tested) -> None:
    assert len(tested) > 200
    cases = tested["held_out_like_if"].to_numpy()
    promised, found = (tested[c].to_numpy() for c in ("confidence", "held_out_confidence"))
    bins = np.digitize(promised, [0.5, 0.6, 0.7, 0.8, 0.9])
    checked = 0
    for one in range(6):
        mine = bins == one
        if cases[mine].sum() >= 2_000:
            apart = np.average(found[mine] - promised[mine], weights=cases[mine])
            assert abs(apart) < 0.06, (one, apart)
            checked += 1
    assert checked >= 3
    gain = tested["held_out_confidence"] - tested["held_out_base"]
    assert np.average(gain - tested["gain"], weights=cases) == pytest.approx(0, abs=0.03)


def test_intervals_hold_what_others_say(tested) -> None:
    """The others' shares have errors of their own, which are small: there are many others."""
    cases = tested["held_out_like_if"].to_numpy()
    p = tested["held_out_confidence"].to_numpy()
    slack = 1.64 * np.sqrt(p * (1 - p) / cases)
    low, high = tested["confidence_low"] - slack, tested["confidence_high"] + slack
    assert ((p >= low) & (p <= high)).mean() > 0.85


def test_the_model_tells_more_than_the_counts(tested) -> None:
    cases, p = (tested[c].to_numpy() for c in ("held_out_like_if", "held_out_confidence"))

    def loss(promised) -> float:
        return -float(
            np.average(p * np.log(promised) + (1 - p) * np.log(1 - promised), weights=cases)
        )

    counts = [tested[c] for c in ("like_both", "like_if", "like_then", "users")]
    both, like, then, users = (count.to_numpy() for count in counts)
    smoothed = [(both + k * then / users) / (like + k) for k in (1, 2, 5, 10, 20, 50, 100)]
    assert loss(tested["confidence"].to_numpy()) < min(map(loss, smoothed))


def test_the_order_is_better_than_that_of_counts(tested) -> None:
    cases = tested["held_out_like_if"]
    found = (tested["held_out_confidence"] - tested["held_out_base"]) * cases
    cells = [
        tested["like_both"],
        tested["like_if"] - tested["like_both"],
        tested["like_then"] - tested["like_both"],
        tested["users"] - tested["like_if"] - tested["like_then"] + tested["like_both"],
    ]
    counted = pd.Series(Law(*(cell.to_numpy() + 0.5 for cell in cells)).gain_low)
    n = len(tested) // 5
    ours, theirs = tested.index[:n], counted.sort_values(ascending=False).index[:n]
    assert found[ours].sum() / cases[ours].sum() > found[theirs].sum() / cases[theirs].sum()


def test_most_rules_pass_the_test_where_there_are_many_others(tested) -> None:
    sure = tested[tested["gain_low"] > 0.1]
    assert (sure["q_value"] < 0.05).mean() > 0.9
    weak = tested[(tested["held_out_confidence"] <= tested["held_out_base"])]
    assert (weak["q_value"] > 0.5).all()
