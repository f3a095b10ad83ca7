"""Rules against formulas in plain NumPy, and against a search that tries every pair."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from eventspace import KolmogorovDescent, Observations
from eventspace.fitted.model import _SEED
from eventspace.rules import law, mining
from tests import naive

LIKE = 3.5
MEASURES = (
    "confidence",
    "confidence_low",
    "confidence_high",
    "base",
    "gain",
    "gain_low",
    "gain_high",
    "lift",
    "support",
)


def random_model(seed: int, n_events: int = 4, n_items: int = 9, n_users: int = 12):
    """A model with given parts, so that inclusions, equals, empty and full sets abound."""
    rng = np.random.default_rng(seed)
    psi = rng.random((n_items, n_events)) < rng.choice([0.2, 0.5, 0.8], n_items)[:, None]
    psi[-1] = psi[0]
    psi[1], psi[2] = False, True
    theta = rng.dirichlet(np.full(n_events, 0.3), n_users) + 1e-9
    if n_events > 1:
        theta[:, 0] = 0  # an event that never occurs
    theta /= theta.sum(axis=1, keepdims=True)
    seen = rng.random((n_users, n_items)) < 0.6
    seen[-1] = False  # a user without ratings
    seen[:, 3] = False  # an item without ratings
    seen[0, 0] = True
    taste = theta @ psi.T + rng.normal(0, 0.15, (n_users, n_items))
    stars = np.clip(np.round(1 + 4 * taste), 1, 5)
    stars[~seen] = np.nan
    stars[0, 0], stars[1, 0] = 1, 5  # the scale
    table = pd.DataFrame(
        stars, columns=[f"i{i}" for i in range(n_items)], index=[f"u{u}" for u in range(n_users)]
    )
    return KolmogorovDescent.from_parts(theta, psi, table), theta, psi, table


def pairs(frame) -> list[tuple[str, str]]:
    return list(zip(frame["if_item"], frame["then_item"], strict=True))


def everything(model, **options):
    """All pairs that somebody rated both, proved or not, both ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mining.Miner, "told", lambda self, rules: np.ones(len(rules), dtype=bool))
        return model.rules(
            **{"top": None, "fold": False, "min_evidence": 0, "like": LIKE} | options
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4, 9, 33, 64]))
def test_every_pair_and_every_measure(seed, n_events) -> None:
    model, theta, psi, table = random_model(seed, n_events)
    stars = (table.to_numpy() - 1) / 4
    p = theta @ psi.T
    rated = ~np.isnan(stars)
    square = np.where(rated, stars - p, 0) ** 2
    sizes = rated.sum(axis=1)
    spread = np.sqrt((square.sum(axis=1) + 10 * square[rated].mean()) / (sizes + 10))
    like = (LIKE - 1) / 4
    chance = naive.chance_of_like(p, stars, spread, like)
    offset = naive.offsets(chance, stars, like)
    found = everything(model).set_index(["if_item", "then_item"])
    together = {
        (f"i{i}", f"i{j}")
        for i, j in itertools.permutations(range(len(psi)), 2)
        if (rated[:, i] & rated[:, j]).any()
    }
    assert set(found.index) == together
    occurs = theta.max(axis=0) > 1e-12
    for (a, b), row in found.iterrows():
        i, j = int(a[1:]), int(b[1:])
        expected = naive.next_user(chance, stars, like, offset, i, j)
        both, only_if, only_then, _ = expected
        total, liked = sum(expected), both + only_if
        confidence, base = both / liked, (both + only_then) / total
        assert_allclose(row["confidence"], confidence, rtol=1e-4, atol=1e-5)
        assert_allclose(row["base"], base, rtol=1e-4, atol=1e-5)
        assert_allclose(row["gain"], confidence - base, rtol=1e-3, atol=1e-5)
        assert_allclose(row["lift"], confidence / base, rtol=1e-4, atol=1e-4)
        assert_allclose(row["support"], both / total, rtol=1e-4, atol=1e-5)
        low, high = stats.beta(both, only_if).interval(0.9)
        interval = [min(low, confidence), max(high, confidence)]
        assert_allclose(
            row[["confidence_low", "confidence_high"]].tolist(), interval, rtol=1e-3, atol=1e-5
        )
        agreement = naive.agreement(p, stars, i, j)
        assert_allclose(
            row[["agreement", "agreement_gain"]].tolist(), agreement, rtol=1e-4, atol=1e-5
        )
        x, y = stars[rated[:, i] & rated[:, j]][:, [i, j]].T
        assert row["users"] == len(x)
        likes = [(x >= like).sum(), (y >= like).sum(), ((x >= like) & (y >= like)).sum()]
        assert row[["like_if", "like_then", "like_both"]].tolist() == likes
        inside = not (psi[i] & ~psi[j] & occurs).any() and (psi[i] & occurs).any()
        equal = inside and not (psi[j] & ~psi[i] & occurs).any()
        assert row["kind"] == ("equivalent" if equal else "implies" if inside else "soft")
        assert math.isnan(row["inclusion"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.5, 200), min_size=4, max_size=4))
def test_the_interval_of_the_gain_is_that_of_dirichlets_law(parameters) -> None:
    drawn = np.random.default_rng(0).dirichlet(parameters, 40_000).T
    gains = drawn[0] / (drawn[0] + drawn[1]) - (drawn[0] + drawn[2])
    found = law.Law(*(np.array([a]) for a in parameters))
    assert_allclose(found.gain_error[0], gains.std(), rtol=0.03)
    assert_allclose(found.gain[0], gains.mean(), atol=0.02)
    if min(parameters) > 3:
        assert_allclose(found.gain_low[0], np.quantile(gains, 0.05), atol=0.03)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.05, 20))
def test_the_joint_chance_has_the_margins_and_the_odds_ratio(p, q, odds) -> None:
    both = law.joint(*(np.array([x]) for x in (p, q, odds)))[0]
    assert max(0, p + q - 1) < both < min(p, q)
    found = both * (1 - p - q + both) / ((p - both) * (q - both))
    assert_allclose(found, odds, rtol=1e-3)


def test_a_model_is_worth_more_where_it_foresaw_the_counts() -> None:
    expected = np.array([[0.4, 0.2, 0.1, 0.3]] * 3).T
    foreseen, other = [40.0, 20.0, 10.0, 30.0], [10.0, 50.0, 30.0, 10.0]
    counts = np.array([foreseen, other, [0.0] * 4]).T
    found = law.learnt_strength(expected, counts, law.STRENGTHS)
    assert found[0] > 1.5 * found[2]  # where nothing is counted, all strengths are alike
    assert found[1] == pytest.approx(80, rel=0.01)
    assert found[2] == pytest.approx(3 / (1 / law.STRENGTHS).sum())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4), st.sampled_from(mining.SORTS[:-1]))
def test_listed_are_the_rules_that_gain_and_that_the_counts_affirm(seed, evidence, sort) -> None:
    model, *_ = random_model(seed, n_items=12, n_users=80)
    options = {"top": None, "like": LIKE, "min_evidence": evidence, "sort": sort}
    every = everything(model, sort=sort)
    affirmed = every["like_both"] * every["users"] > every["like_if"] * every["like_then"]
    wanted = every[affirmed & (every["gain_low"] > 0) & (every["like_both"] >= evidence)]
    if sort == "agreement_gain":
        wanted = every[(every["agreement_gain"] > 0) & (every["users"] >= evidence)]
    found = model.rules(fold=False, **options)
    assert set(pairs(found)) == set(pairs(wanted))
    assert found[sort].is_monotonic_decreasing
    values = wanted.set_index(["if_item", "then_item"])[sort]
    folded = model.rules(**options)
    assert {frozenset(pair) for pair in pairs(folded)} == {frozenset(p) for p in pairs(wanted)}
    assert len(folded) == len({frozenset(pair) for pair in pairs(wanted)})
    for a, b in pairs(folded):  # the better of the two directions
        assert values[a, b] >= values.get((b, a), -math.inf) - 1e-12


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_all_that_is_proved_is_listed_on_demand(seed) -> None:
    model, *_ = random_model(seed, n_items=12)
    every = everything(model)
    wanted = every[every["kind"] != "soft"]
    found = model.rules(proved=True, top=None, fold=False, min_evidence=0, like=LIKE)
    assert set(pairs(found)) == set(pairs(wanted))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(mining.SORTS[:-1]), st.integers(1, 10))
def test_the_first_rules_are_the_head_of_all(seed, sort, top) -> None:
    model, *_ = random_model(seed, n_items=12, n_users=80)
    options = {"sort": sort, "min_evidence": 0, "like": LIKE, "fold": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mining, "POOL", 0)
        patch.setattr(mining, "BLOCK", 1)
        first = model.rules(top=top, **options)
    pd.testing.assert_frame_equal(first, model.rules(top=None, **options).head(top))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_a_list_prefers_items_that_it_has_not_named(seed, top) -> None:
    model, *_ = random_model(seed, n_items=14, n_users=80)
    options = {"min_evidence": 0, "like": LIKE}
    rest = model.rules(top=None, **options)
    value = dict(zip(pairs(rest), rest["gain"], strict=True))
    expected: list = []
    named: set = set()
    while value and len(expected) < top:  # the greatest, one after the other
        best = max(value, key=lambda pair: value[pair] * 0.95 ** len(named & set(pair)))
        expected.append(best)
        named |= set(best)
        del value[best]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mining, "POOL", 0)
        patch.setattr(mining, "BLOCK", 1)
        assert pairs(model.rules(top=top, **options)) == expected


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_rules_of_an_item_are_those_that_name_it(seed) -> None:
    model, *_ = random_model(seed)
    every = everything(model)
    named = every[(every["if_item"] == "i0") | (every["then_item"] == "i0")]
    found = everything(model, item="i0")
    assert len(found) == len(named)
    both = named.merge(found, on=["if_item", "then_item"])
    assert len(both) == len(named)
    for name in MEASURES:
        assert_allclose(both[f"{name}_x"], both[f"{name}_y"], rtol=1e-9)


def test_rules_follow_a_model_that_changes(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    before, alien = everything(model), model.event("i0")
    both = list(pairs(before)[0])
    model.update(pd.DataFrame({"user": ["new"] * 2, "item": both, "rating": [2, 4]}))
    after = everything(model).set_index(["if_item", "then_item"])["users"]
    assert after[tuple(both)] == before["users"][0] + 1
    with pytest.raises(ValueError, match="fitted again or updated"):
        _ = alien <= model.event("i0")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_stream_gives_the_same_rules(seed, fold) -> None:
    model, *_ = random_model(seed, n_users=80)
    options = {"fold": fold, "min_evidence": 0, "like": LIKE}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eventspace.rules.telling._BLOCK", 3)
        patch.setattr(mining, "BLOCK", 2)
        blocks = list(model.iter_rules(**options))
    every = model.rules(top=None, **options)
    assert sum(map(len, blocks)) == len(every)
    if not blocks:
        return
    assert all(len(block) >= 3 for block in blocks[:-1])
    columns = ["if_item", "then_item"]
    streamed = pd.concat(blocks).sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(
        streamed, every.sort_values(columns, ignore_index=True), check_exact=True
    )


def test_threads_do_not_matter(ratings) -> None:
    found = [
        KolmogorovDescent(3, random_state=0, n_jobs=n).fit(ratings).rules(top=None, min_evidence=0)
        for n in (1, 3)
    ]
    pd.testing.assert_frame_equal(found[0], found[1], check_exact=True)


def test_the_toy_example_of_the_paper_in_both_conventions() -> None:
    """supp(psi_1) lies inside supp(psi_2): 1 implies 2. The paper prints the converse."""
    p = pd.DataFrame([[0.3, 0.5], [0.1, 0.2]], index=["user 1", "user 2"], columns=["1", "2"])
    theta = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    model = KolmogorovDescent.from_parts(theta, [[0, 1, 0], [1, 1, 0]], p)
    assert_allclose(model.predict(), p)
    options = {"proved": True, "min_evidence": 0}
    ours = model.rules(**options).iloc[0]
    assert (ours["if_item"], ours["then_item"], ours["kind"]) == ("1", "2", "implies")
    paper = model.rules(convention="paper", **options).iloc[0]
    assert (paper["if_item"], paper["then_item"], paper["kind"]) == ("2", "1", "converse")
    assert_allclose(paper["agreement"], 1 - ours["agreement"])
    assert_allclose(paper["support"], ours["support"])
    assert_allclose(paper["base"] * ours["confidence"] / paper["confidence"], ours["base"])
    same = KolmogorovDescent.from_parts(theta, [[0, 1, 0], [0, 1, 0]], p)
    assert same.rules(convention="paper", **options).iloc[0]["kind"] == "equivalent"
    one, two = model.event("1"), model.event("2")
    assert one <= two
    assert_allclose(one.given(two).probability("user 1"), 0.6)  # not 1, as the paper says
    assert two.given(one).probability("user 1") == 1


def test_agreement_is_what_a_normal_law_says() -> None:
    """Two correlated columns: the second is higher, and known to be so from the first."""
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(2), 4_000)
    psi = np.array([[1, 0], [1, 0], [0, 1]], dtype=bool)
    x = theta[:, 0] * 0.5 + 0.1
    y = x + 0.1 + rng.normal(0, 0.05, len(x))
    table = pd.DataFrame({"x": x, "y": y, "z": theta[:, 1]}).clip(0, 1)
    seen = Observations.from_wide(table, scale=(0, 1))
    model = KolmogorovDescent.from_parts(theta, psi, seen)
    found = everything(model, like=0.5).set_index(["if_item", "then_item"])
    row, back = found.loc[("x", "y")], found.loc[("y", "x")]
    counted = (table["x"] <= table["y"]).mean()
    alone = (table["x"].to_numpy() <= rng.permutation(table["y"])).mean()
    assert_allclose(row["agreement"], counted, atol=0.02)
    assert_allclose(row["agreement_gain"], counted - alone, atol=0.03)
    assert_allclose(back["agreement"], 1 - row["agreement"])
    assert found.loc[("x", "z")]["agreement_gain"] < 0


def test_of_yes_and_no_the_means_say_it_all() -> None:
    rng = np.random.default_rng(0)
    likes = rng.random((2_000, 1)) < [0.3, 0.5]
    table = pd.DataFrame(likes.astype(float), columns=["x", "y"])
    theta = np.column_stack([1 - likes.mean(axis=1), likes.mean(axis=1)])
    model = KolmogorovDescent.from_parts(theta, [[0, 1], [0, 1]], table)
    row = everything(model, like=1.0).set_index(["if_item", "then_item"]).loc[("x", "y")]
    x, y = table["x"], table["y"]
    assert_allclose(row["agreement"], ((x < y) + (x == y) / 2).mean(), atol=0.01)
    assert row["agreement_gain"] == 0


def test_likes_of_a_narrow_scale_far_from_zero() -> None:
    table = pd.DataFrame(1_000_000.0 + np.array([[1, 5, 4], [2, 5, 1]]))
    model = KolmogorovDescent(1, random_state=0).fit(Observations.from_wide(table))
    assert model.liked_from_ == 1_000_004


def test_threads_may_ask_for_different_likes(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    asked = [3, 4, 5] * 8
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda like: model.rules(like=like, min_evidence=0), asked))
    for like, table in zip(asked, found, strict=True):
        pd.testing.assert_frame_equal(table, model.rules(like=like, min_evidence=0))


def test_other_users_test_the_rules_and_change_none() -> None:
    model, *_ = random_model(4)
    held_out = pd.DataFrame(
        {
            "user": ["a", "a", "b", "b", "c", "c", "d"],
            "item": ["i0", "i8", "i0", "i8", "i0", "i8", "i0"],
            "rating": [5, 4, 2, 1, 5, 6, 1],  # beyond the scale of the training data
        }
    )
    trained, tested = everything(model), everything(model, X=held_out)
    pd.testing.assert_frame_equal(trained, tested[trained.columns])
    row = tested.set_index(["if_item", "then_item"]).loc[("i0", "i8")]
    assert (row["held_out_users"], row["held_out_like_if"]) == (3, 2)
    assert (row["held_out_confidence"], row["held_out_base"]) == (1, 2 / 3)
    assert_allclose(row["p_value"], 1 / 3)
    other = tested[(tested["if_item"] != "i0") & (tested["then_item"] != "i0")].iloc[0]
    assert other["held_out_users"] == 0
    assert other[["held_out_confidence", "held_out_base"]].isna().all()
    assert (other["p_value"], other["q_value"]) == (1, 1)


def test_likes_of_a_table_with_another_scale_are_not_lost(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    high = ratings[ratings["rating"] >= model.liked_from_]
    assert high["rating"].min() == model.liked_from_
    others = high.assign(user="other " + high["user"].astype(str))
    tested = everything(model, X=others, like=None)
    known = tested[tested["held_out_users"] > 0]
    assert len(known) > 5
    assert (known["held_out_base"] == 1).all()


def test_a_table_in_another_unit_is_doubted(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    with pytest.warns(UserWarning, match="nothing in the table reaches 3.5") as caught:
        model.rules(ratings.assign(rating=ratings["rating"] / 5), like=3.5)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="has a value of 100, where the model knows 1 to 5"):
        model.rules(ratings.assign(rating=ratings["rating"] * 20), like=3.5)


def test_ratings_that_were_learnt_from_are_no_test(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    others = ratings.assign(user="other " + ratings["user"].astype(str))
    mixed = pd.concat([ratings.iloc[:7], others])
    with pytest.warns(UserWarning, match=f"7 of the {len(mixed):,} ratings of the table are among"):
        model.rules(mixed)
    model.rules(others)  # the others' rows have no such numbers
    wide = ratings.pivot(index="user", columns="item", values="rating")
    array = wide.to_numpy()
    of_array = KolmogorovDescent(3, random_state=0).fit(array)
    of_array.rules(np.random.default_rng(0).permutation(array))  # same numbers, other users
    with pytest.warns(UserWarning, match="no test"):
        of_array.rules(array)


@pytest.mark.parametrize(("like", "said"), [(9, "nothing"), (1, "everything"), (-1, "everything")])
def test_a_like_lies_on_the_scale(ratings, like, said) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    with pytest.raises(ValueError, match=f"makes {said} a like: values run from 1 to 5"):
        model.rules(like=like)


def test_a_like_is_above_the_mean_unless_said_otherwise(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    above = ratings["rating"][ratings["rating"] > ratings["rating"].mean()].min()
    assert model.liked_from_ == above
    pd.testing.assert_frame_equal(everything(model, like=None), everything(model, like=above))
    assert not everything(model, like=None).equals(everything(model, like=above + 1))


def test_the_least_evidence_depends_on_the_number_of_users() -> None:
    few, *_ = random_model(1, n_items=14, n_users=61)  # one of them without ratings
    options = {"top": None, "like": LIKE, "proved": True}
    found = [few.rules(min_evidence=n, **options) for n in ("auto", 3, 0)]
    pd.testing.assert_frame_equal(found[0], found[1])
    assert len(found[0]) < len(found[2])


def test_inclusion_is_the_part_of_restarts_in_which_the_rule_holds(ratings) -> None:
    model = KolmogorovDescent(6, n_init=1, n_iter=3, random_state=5).fit(ratings)
    found = everything(model, restarts=4)
    fits = [
        KolmogorovDescent(6, n_init=1, n_iter=3, random_state=_SEED + k).fit(ratings)
        for k in range(4)
    ]
    for row in found.itertuples():
        both = [(fit.event(row.if_item), fit.event(row.then_item)) for fit in fits]
        assert row.inclusion == np.mean([a.probability() > 0 and a <= b for a, b in both])
    assert found["inclusion"].between(0.2, 0.8).any()
    assert everything(model, restarts=4, sort="inclusion")["inclusion"].is_monotonic_decreasing


def test_proved_rules_hold_for_every_user(ratings) -> None:
    model = KolmogorovDescent(4, random_state=1).fit(ratings)
    p = pd.DataFrame(model.predict(), index=model.user_ids_, columns=model.item_ids_)
    found = model.rules(proved=True, top=None, fold=False, min_evidence=0)
    assert len(found) > 5
    for row in found.itertuples():
        assert (p[row.if_item] <= p[row.then_item] + 1e-9).all()


def test_the_table_is_of_the_callers_library(ratings) -> None:
    pl = pytest.importorskip("polars")
    found = KolmogorovDescent(3, random_state=0).fit(pl.from_pandas(ratings)).rules()
    assert isinstance(found, pl.DataFrame)
    assert found["if_item"].dtype == pl.String


def test_no_rules_are_an_empty_table() -> None:
    table = pd.DataFrame([[0.2, 0.9], [0.8, 0.1]], index=["a", "b"], columns=["x", "y"])
    model = KolmogorovDescent.from_parts([[0.2, 0.8], [0.9, 0.1]], [[1, 0], [0, 1]], table)
    found = model.rules()
    assert len(found) == 0
    assert {"if_item", "then_item", "gain_low", "confidence", "users"} <= set(found.columns)
    tested = model.rules(table.rename(index={"a": "c", "b": "d"}), conditions=2)
    assert len(tested) == 0
    assert "q_value" in tested.columns


def test_values_that_are_all_equal_have_no_likes() -> None:
    table = pd.DataFrame([[3.0, 3.0], [3.0, 3.0]], index=["a", "b"], columns=["x", "y"])
    seen = Observations.from_wide(table, scale=(1, 5))
    model = KolmogorovDescent.from_parts([[1.0]] * 2, [[1]] * 2, seen)
    assert model.liked_from_ == math.inf
    assert len(model.rules(min_evidence=0)) == 0
    assert np.isfinite(everything(model, like=None)[list(MEASURES)].to_numpy()).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item": "i77"}, "knows no item 'i77': did you mean"),
        ({"item": "i3"}, "Item 'i3' has no ratings, so that its set is not known"),
        ({"top": 0}, "top=0 must be a whole number of at least 1"),
        ({"sort": "best"}, "sort='best' is unknown; allowed are 'gain'"),
        ({"min_evidence": -1}, "min_evidence=-1 must be a whole number"),
        ({"conditions": 4}, "conditions=4 must be a whole number from 1 to 3"),
        ({"like": "4"}, "like='4' must be a number"),
        ({"sort": "inclusion"}, "sort='inclusion' needs restarts=10"),
        ({"convention": "paper"}, "restates proved rules: it needs proved=True"),
        ({"convention": "paper", "proved": True, "conditions": 2}, "rules with one condition"),
        ({"like": math.nan}, "like=nan must be a number"),
        ({"X": "i1"}, r"'i1' is an item, not a table: rules\(item='i1'\)"),
        ({"X": (["a"], ["Alien"], [3])}, "None of the items of the table is one of the model's"),
        ({"restarts": -1}, "restarts=-1 must be"),
        ({"convention": "new"}, "convention='new' is unknown; allowed are 'model', 'paper'"),
    ],
)
def test_mistakes_are_named(options, message) -> None:
    model, *_ = random_model(0)
    with pytest.raises(ValueError, match=message) as caught:
        model.rules(**options)
    assert "\n" not in str(caught.value)
