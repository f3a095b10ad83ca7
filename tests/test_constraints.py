from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from eventspace import KolmogorovDescent, Observations
from eventspace._base.codes import unpack
from eventspace.baselines import HypercubeModel
from eventspace.data.ids import Ids
from eventspace.datasets.generators import planted
from eventspace.engines.cpu import CPU
from eventspace.fitting.constraints import SharedIndicators
from eventspace.identifiability import identifiability
from eventspace.indicators import Exact
from tests import naive


@pytest.fixture
def mixture():
    """Forty users, thirty items, four events, no noise; a third of the entries are seen."""
    made = planted(40, 30, 4, noise=0.0, per_item=14, random_state=3)
    return made.table, made.truth["pmf"], made.truth["indicators"]


def weighted(table: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return table.assign(weight=rng.uniform(0.5, 2.0, len(table)))


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("with_weights", [False, True])
def test_a_shared_set_is_the_best_of_all_sets(mixture, penalty, with_weights) -> None:
    """Each indicator step is the least over all sets, given the PMFs of the last fit."""
    table = weighted(mixture[0]) if with_weights else mixture[0]
    settings = {"pmf_penalty": 0.5, "indicator_penalty": penalty, "random_state": 0}
    model = KolmogorovDescent(3, indicators="shared", **settings, n_iter=40, tol=0.0).fit(table)
    assert (model.codes_ == model.codes_[0]).all()
    assert model.proved_.all()
    assert (np.diff(model.history_) <= 1e-9).all()
    u, _, p = model.observations_.coo()
    w = model.observations_.by_user.weight if with_weights else np.ones(len(p))

    def cost(psi):
        error = np.square(model.pmf_[u] @ psi - p) @ w
        return error + penalty * model.observations_.n_items * psi.sum()

    best = min(cost(psi) for psi in naive.all_codes(3))
    assert cost(model.indicators_[0].astype(float)) == pytest.approx(best, rel=1e-6)


def test_a_shared_set_learns_the_mean_of_each_user_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((12, 7))
    table[rng.random(table.shape) < 0.3] = np.nan
    table[:, 0] = 0.5
    seen = Observations.of(table, scale=(0, 1))
    model = KolmogorovDescent(3, indicators="shared", pmf_penalty=0.0, random_state=0).fit(seen)
    means = np.nanmean(table, axis=1)
    np.testing.assert_allclose(model.predict(), np.tile(means[:, None], 7), atol=1e-4)
    assert identifiability(model).unique is False


def test_a_sequence_of_random_variables_is_a_table_with_one_item() -> None:
    p = np.array([0.1, 0.8, 0.35])
    table = pd.DataFrame({"user": ["a", "b", "c"], "item": "rain", "value": p})
    for n_events in (2, 3):  # "rain" and "no rain" are all that can be told apart
        for indicators in ("free", "shared"):
            model = KolmogorovDescent(
                n_events, indicators=indicators, pmf_penalty=0.0, random_state=0
            ).fit(Observations.of(table, scale=(0, 1)))
            np.testing.assert_allclose(model.predict()[:, 0], p, atol=1e-4)
            assert identifiability(model).unique is (n_events == 2)


def test_new_items_have_the_shared_set(mixture) -> None:
    table = mixture[0]
    model = KolmogorovDescent(3, indicators="shared", random_state=0).fit(table)
    code = model.codes_[0, 0]
    model.update(pd.DataFrame({"user": model.user_ids_[:3], "item": "new", "value": [0.0] * 3}))
    assert model.codes_[-1, 0] == code
    assert model.item_ids_[-1] == "new"


def test_one_hot_sets_have_one_event_each_also_the_new_ones(mixture) -> None:
    table = mixture[0]
    model = KolmogorovDescent(5, indicators="one-hot", random_state=0).fit(table)
    assert (model.indicators_.sum(axis=1) == 1).all()
    assert (np.diff(model.history_) <= 1e-9).all()
    new = pd.DataFrame({"user": model.user_ids_, "item": "new", "value": model.pmf_[:, 2]})
    model.update(Observations.of(new, scale=(0, 1)))
    assert model.indicators_[-1].tolist() == [False, False, True, False, False]


def test_given_indicators_are_kept_and_the_pmfs_recovered(mixture, tmp_path) -> None:
    table, pmf, indicators = mixture
    more = pd.concat([indicators[::-1], indicators[:1].rename(index={indicators.index[0]: "x"})])
    model = KolmogorovDescent(4, pmf_penalty=0.0, tol=0.0, n_iter=50)
    model.fit(table, indicators=more)  # in any order, with rows of other items
    assert model.given_ == "indicators"
    np.testing.assert_array_equal(model.indicators_, indicators.loc[model.item_ids_] > 0)
    np.testing.assert_allclose(model.pmf_, pmf.loc[model.user_ids_], atol=1e-3)
    model.save(tmp_path / "model")
    assert KolmogorovDescent.load(tmp_path / "model").given_ == "indicators"
    with pytest.raises(
        ValueError, match=r"restarts=2 would learn anew what was given to this fit \(indicators\)"
    ):
        model.rules(restarts=2)
    as_array = KolmogorovDescent(4, pmf_penalty=0.0, tol=0.0, n_iter=50)
    as_array.fit(table, indicators=indicators.loc[model.item_ids_].to_numpy())
    np.testing.assert_array_equal(as_array.pmf_, model.pmf_)


def test_given_pmfs_are_kept_and_the_sets_recovered(mixture) -> None:
    table, pmf, indicators = mixture
    model = KolmogorovDescent(4, pmf_penalty=0.7).fit(table, pmf=pmf[::-1])
    assert model.given_ == "pmf"
    np.testing.assert_array_equal(model.pmf_, pmf.loc[model.user_ids_])
    np.testing.assert_array_equal(model.indicators_, indicators.loc[model.item_ids_] > 0)
    assert model.error_ == pytest.approx(0.0, abs=1e-6)
    assert not model.gap_.any()


@pytest.mark.parametrize("full", [True, False])
def test_the_error_of_given_pmfs_is_theirs(mixture, full) -> None:
    table, pmf, _ = mixture
    rng = np.random.default_rng(0)
    if full:
        users, items = pmf.index, pd.unique(table["item"])
        table = pd.DataFrame({"user": users.repeat(len(items)), "item": np.tile(items, len(users))})
        table["value"] = rng.random(len(table))
    else:
        table = weighted(table)
    seen = Observations.of(table, scale=(0, 1))
    model = KolmogorovDescent(4).fit(seen, pmf=pmf)
    u, i, p = seen.coo()
    w = seen.by_user.weight if seen.weighted else np.ones(len(p))
    error = np.square(np.einsum("kd,kd->k", model.pmf_[u], model.indicators_[i]) - p) @ w
    assert model.error_ == pytest.approx(error, rel=1e-6)


def test_who_has_no_ratings_keeps_what_was_given(mixture) -> None:
    table, pmf, indicators = mixture
    users, items = list(pmf.index), list(indicators.index)
    seen = table[(table["user"] != users[3]) & (table["item"] != items[5])]
    seen = Observations.of(seen, users=users, items=items)
    model = KolmogorovDescent(4).fit(seen, pmf=pmf)
    np.testing.assert_array_equal(model.pmf_[3], pmf.loc[users[3]])
    model = KolmogorovDescent(4).fit(seen, indicators=indicators)
    expected = model.pmf_ @ indicators.loc[items[5]]
    np.testing.assert_allclose(model.predict()[:, 5], expected)
    new = pd.DataFrame({"user": "new", "item": items[4:7], "value": [0.5, 1.0, 0.0]})
    model.update(new)
    np.testing.assert_array_equal(model.indicators_, indicators > 0)


def test_a_reference_of_numbers_is_for_the_hypercube(mixture) -> None:
    table, pmf, indicators = mixture
    psi = 0.1 + 0.8 * indicators
    mixed = table.assign(value=0.1 + 0.8 * table["value"])
    seen = Observations.of(mixed, scale=(0, 1))
    model = HypercubeModel(4, pmf_penalty=0.0, tol=0.0, n_iter=50).fit(seen, indicators=psi)
    np.testing.assert_allclose(model.pmf_, pmf.loc[model.user_ids_], atol=1e-3)
    np.testing.assert_array_equal(model.indicators_, psi.loc[model.item_ids_])
    model = HypercubeModel(4, pmf_penalty=0.0).fit(seen, pmf=pmf)
    np.testing.assert_array_equal(model.pmf_, pmf.loc[model.user_ids_])
    np.testing.assert_allclose(model.indicators_, psi.loc[model.item_ids_], atol=0.01)
    with pytest.raises(ValueError, match=r"zeros and ones: round them, or let .*HypercubeModel"):
        KolmogorovDescent(4).fit(seen, indicators=psi)


def test_mistakes_are_answered(mixture) -> None:
    table, pmf, indicators = mixture
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"indicators": "common"}, {}, r"indicators='common' is unknown; allowed are 'free', "),
        ({}, {"pmf": pmf, "indicators": indicators}, r"both given, .*from_parts"),
        ({"n_events": 5}, {"pmf": pmf}, r"given pmf have 4 events, but n_events=5: set n_events=4"),
        ({}, {"indicators": indicators[1:]}, r"lack 1 of 30 rows, .* the first is that of 'item"),
        ({}, {"indicators": indicators * 2}, r"must be numbers from 0 to 1"),
        ({}, {"pmf": pmf * 0.5}, r"that of 'user \d+' adds up to 0.5.* Divide rounded ones by"),
        (
            {"indicators": "one-hot"},
            {"indicators": indicators},
            r"are not one-hot, which the model",
        ),
        ({"indicators": "shared"}, {"indicators": indicators}, r"are not shared, which the model"),
        ({}, {"pmf": pmf.to_numpy()[1:]}, r"an array needs 40 rows, one an id"),
    ]
    for settings, given, message in cases:
        with pytest.raises(ValueError, match=message):
            KolmogorovDescent(**({"n_events": 4} | settings)).fit(table, **given)
    with pytest.raises(TypeError, match=r"Given sets belong to fit\(table, indicators=...\)"):
        KolmogorovDescent(4, indicators=indicators).fit(table)


def test_tables_without_labels_are_read_row_by_row(mixture) -> None:
    _, pmf, indicators = mixture
    table = Observations.of(pmf.to_numpy() @ indicators.to_numpy().T, scale=(0, 1))
    psi = pd.DataFrame(indicators.to_numpy())
    expected = KolmogorovDescent(4).fit(table, indicators=indicators.to_numpy()).pmf_
    for given in (psi, sparse.csr_array(indicators.to_numpy())):
        np.testing.assert_array_equal(
            KolmogorovDescent(4).fit(table, indicators=given).pmf_, expected
        )


def test_the_summary_says_what_was_asked_for(mixture) -> None:
    table, pmf, indicators = mixture
    assert (
        "the same for all items" in KolmogorovDescent(4, indicators="shared").fit(table).summary()
    )
    assert "of one event each" in KolmogorovDescent(4, indicators="one-hot").fit(table).summary()
    given = KolmogorovDescent(4).fit(table, indicators=indicators)
    assert "given       indicators" in given.summary()
    assert given.proved_.all()
    assert "given       PMFs" in KolmogorovDescent(4).fit(table, pmf=pmf).summary()


def test_the_penalty_of_a_shared_set_is_that_of_all_items() -> None:
    """The set of one event is worth 0.3 an item: a penalty above it empties it."""
    values = np.full((6, 10), 0.3)
    values[0, 0] = 0.3001  # not all the same: such tables are refused
    table = Observations.of(values, scale=(0, 1))
    for penalty, size in ((0.02, 1), (0.6, 0)):
        model = KolmogorovDescent(
            2, indicators="shared", indicator_penalty=penalty, pmf_penalty=0.01, random_state=0
        ).fit(table)
        assert model.indicators_[0].sum() == size


@pytest.mark.parametrize("seed", range(10))
def test_a_shared_set_is_the_best_also_if_there_are_as_many_entries_as_users(seed: int) -> None:
    """Rolled into one row, they are no full row: users occur more than once, or not at all."""
    rng = np.random.default_rng(seed)
    users, items = np.array([0, 0, 1, 1, 2, 3]), np.array([0, 1, 0, 1, 0, 1])
    values, pmf = rng.random(6), rng.dirichlet(np.ones(3), 6)
    seen = Observations.of((users, items, values), scale=(0, 1), users=Ids(range(6)))
    step = SharedIndicators(CPU(), Exact(), 0.0)
    found = step(seen.by_item, pmf, np.zeros(2, np.uint64), np.zeros(2, np.uint64))
    sets = unpack(np.arange(8, dtype=np.uint64)[:, None], 3)
    costs = np.square(pmf[users] @ sets.T - values[:, None]).sum(axis=0)
    assert found.codes.tolist() == [int(np.argmin(costs))] * 2
