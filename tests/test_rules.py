"""Rules against a search that tries every pair and every user."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from eventspace import KolmogorovDescent
from eventspace.fitted.model import _SEED
from eventspace.logic.space import SHRINKAGE
from eventspace.rules import mining
from eventspace.rules.measures import log_chance, wilson

LIKE = 3.5


def random_model(seed: int, n_events: int = 4, n_items: int = 9, empty: bool = True):
    """A model with given parts, so that inclusions, equals, empty and full sets abound."""
    rng = np.random.default_rng(seed)
    n_users = 12
    psi = rng.random((n_items, n_events)) < rng.choice([0.2, 0.5, 0.8], n_items)[:, None]
    psi[-1] = psi[0]
    if empty:
        psi[1], psi[2] = False, True
    theta = rng.dirichlet(np.ones(n_events), n_users)
    if n_events > 1:
        theta[:, 0] = 0  # an event that never occurs
    theta /= theta.sum(axis=1, keepdims=True)
    seen = rng.random((n_users, n_items)) < 0.6
    seen[-1] = False  # a user without ratings
    seen[:, 3] = False  # an item without ratings
    seen[0, 0] = True
    stars = rng.integers(1, 6, (n_users, n_items)).astype(float)
    stars[~seen] = np.nan
    table = pd.DataFrame(
        stars, columns=[f"i{i}" for i in range(n_items)], index=[f"u{u}" for u in range(n_users)]
    )
    return KolmogorovDescent.from_parts(theta, psi, table), theta, psi, table


def naive_rules(theta, psi, table, min_evidence, min_support, min_confidence) -> dict:
    """Every ordered pair of rated items, with its measures, in plain Python."""
    mean_pmf = theta[table.notna().any(axis=1)].mean(axis=0)
    stars = table.to_numpy()
    p = (stars - np.nanmin(stars)) / (np.nanmax(stars) - np.nanmin(stars))
    mean = np.nanmean(p)
    item_mean = np.nansum(p - mean, axis=0) / (np.sum(~np.isnan(p), axis=0) + 5)
    rest = p - mean - item_mean
    user_mean = np.nansum(rest, axis=1) / (np.sum(~np.isnan(p), axis=1) + 5)
    rest = rest - user_mean[:, None]
    found = {}
    for j, i in itertools.permutations(range(len(psi)), 2):
        both = ~np.isnan(stars[:, j]) & ~np.isnan(stars[:, i])
        n = int(both.sum())
        p_j, p_i = mean_pmf @ psi[j], mean_pmf @ psi[i]
        support = mean_pmf @ (psi[j] & psi[i])
        occurs = mean_pmf > 1e-12
        inside = not (psi[j] & ~psi[i] & occurs).any()
        if n < min_evidence or support <= 0 or support < min_support:
            continue
        if not inside and (min_confidence == 1 or support < min_confidence * p_j):
            continue
        x, y = stars[both, j], stars[both, i]
        ex, ey = rest[both, j], rest[both, i]
        scale = math.sqrt((ex @ ex) * (ey @ ey))
        correlation = ex @ ey / scale if scale > 0 else 0.0
        a, b, k = ((s & occurs).sum() for s in (psi[j], psi[i], psi[j] & psi[i]))
        chance = stats.hypergeom.sf(k - 1, occurs.sum(), b, a)
        equal = inside and not (psi[i] & ~psi[j] & occurs).any()
        found[f"i{j}", f"i{i}"] = {
            "kind": "equivalent" if equal else "implies" if inside else "soft",
            "antecedent support": p_j,
            "consequent support": p_i,
            "support": support,
            "confidence": support / p_j,
            "lift": support / p_j / p_i,
            "leverage": support - p_j * p_i,
            "conviction": math.inf if inside else (1 - p_i) / (1 - support / p_j),
            "users": n,
            "agreement": np.mean(x <= y),
            "like_rate": np.mean(y[x >= LIKE] >= LIKE) if (x >= LIKE).any() else math.nan,
            "base_rate": np.mean(y >= LIKE),
            "correlation": correlation,
            "chance": chance,
            "surprise": -math.log10(chance) * max(correlation, 0) * n / (n + SHRINKAGE),
        }
    return found


def pairs(frame) -> list[tuple[str, str]]:
    return list(zip(frame["if_item"], frame["then_item"], strict=True))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([1.0, 0.9, 0.5]),
    st.sampled_from([1, 2, 4, 9, 33, 64]),
)
def test_every_rule_and_every_measure(
    seed, min_evidence, min_support, min_confidence, n_events
) -> None:
    model, theta, psi, table = random_model(seed, n_events)
    options = {
        "min_evidence": min_evidence,
        "min_support": min_support,
        "min_confidence": min_confidence,
    }
    expected = naive_rules(theta, psi, table, **options)
    found = model.rules(top=None, fold=False, like=LIKE, **options)
    assert set(pairs(found)) == set(expected)
    assert len(found) == len(expected)
    for row in found.to_dict("records"):
        naive = expected[row["if_item"], row["then_item"]]
        assert row["kind"] == naive.pop("kind")
        for name, value in naive.items():
            assert_allclose(row[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
    assert found["surprise"].is_monotonic_decreasing


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_folding_keeps_the_best_of_each_pair_of_classes_and_nothing_that_follows(
    seed, min_evidence
) -> None:
    model, _, psi, _ = random_model(seed, n_items=14)
    everything = model.rules(top=None, fold=False, min_evidence=min_evidence)
    folded = model.rules(top=None, min_evidence=min_evidence)
    sets = {f"i{i}": frozenset(np.flatnonzero(row[1:])) for i, row in enumerate(psi)}
    best: dict = {}
    equivalent: dict = {}
    above: dict = {}
    for row in everything.itertuples():
        lower, upper = sets[row.if_item], sets[row.then_item]
        if row.kind == "equivalent":
            equivalent.setdefault(row.if_item, row.surprise)
        else:
            best.setdefault((lower, upper), row.surprise)
            above.setdefault(lower, set()).add(upper)
    expected = {
        (lower, upper): value
        for (lower, upper), value in best.items()
        if not any(lower < between < upper for between in above[lower])
    }
    implications = folded[folded["kind"] == "implies"]
    kept = {
        (sets[row.if_item], sets[row.then_item]): row.surprise for row in implications.itertuples()
    }
    assert kept == expected
    assert len(implications) == len(expected)
    joined = folded[folded["kind"] == "equivalent"]
    classes = {sets[item] for item in joined["if_item"]}
    assert classes == {sets[item] for item in equivalent}
    assert len(joined) == len(classes)
    for row in joined.itertuples():
        assert row.surprise == max(
            equivalent[item] for item in equivalent if sets[item] == sets[row.if_item]
        )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(mining.SORTS[:-1]), st.integers(1, 10))
def test_the_first_rules_are_the_head_of_all(seed, sort, top) -> None:
    model, *_ = random_model(seed)
    options = {"sort": sort, "min_confidence": 0.6}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mining, "POOL", 0)
        first = model.rules(top=top, **options)
    everything = model.rules(top=None, **options)
    pd.testing.assert_frame_equal(first, everything.head(top))
    assert everything[sort].is_monotonic_decreasing


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_rules_of_an_item_are_those_that_name_it(seed) -> None:
    model, *_ = random_model(seed)
    everything = model.rules(top=None, fold=False, min_confidence=0.7)
    named = everything[(everything["if_item"] == "i0") | (everything["then_item"] == "i0")]
    found = model.rules(item="i0", top=None, fold=False, min_confidence=0.7)
    assert len(found) == len(named)
    both = named.merge(found, on=["if_item", "then_item"])
    assert len(both) == len(named)
    for name in ("agreement", "like_rate", "base_rate", "surprise", "confidence"):
        assert_allclose(both[f"{name}_x"], both[f"{name}_y"], rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_rules_of_an_item_are_folded_on_both_sides(seed) -> None:
    model, _, psi, _ = random_model(seed, n_items=14)
    sets = {f"i{i}": frozenset(np.flatnonzero(row[1:])) for i, row in enumerate(psi)}
    everything = model.rules(item="i0", top=None, fold=False)
    above = [sets[b] for a, b in pairs(everything) if a == "i0" and sets[b] != sets[a]]
    below = [sets[a] for a, b in pairs(everything) if b == "i0" and sets[b] != sets[a]]
    folded = model.rules(item="i0", top=None)
    kept = pairs(folded[folded["kind"] == "implies"])
    assert sorted(map(sorted, (sets[b] for a, b in kept if a == "i0"))) == sorted(
        map(sorted, {s for s in above if not any(t < s for t in above)})
    )
    assert sorted(map(sorted, (sets[a] for a, b in kept if b == "i0"))) == sorted(
        map(sorted, {s for s in below if not any(t > s for t in below)})
    )
    equal = {b for a, b in pairs(everything) if a == "i0" and sets[a] == sets[b]}
    assert pairs(folded[folded["kind"] == "equivalent"]) == [
        pair for pair in pairs(folded) if pair[1] in equal
    ]
    assert {b for _, b in pairs(folded) if b in equal} == equal


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_soft_rules_are_one_a_pair_of_classes(seed) -> None:
    model, _, psi, _ = random_model(seed, n_items=14)
    code = {f"i{i}": tuple(row[1:]) for i, row in enumerate(psi)}
    everything = model.rules(top=None, fold=False, min_confidence=0.4)
    folded = model.rules(top=None, min_confidence=0.4)
    soft = [(code[a], code[b]) for a, b in pairs(folded[folded["kind"] == "soft"])]
    assert len(soft) == len(set(soft))
    all_soft = pairs(everything[everything["kind"] == "soft"])
    assert set(soft) == {(code[a], code[b]) for a, b in all_soft}


def test_rules_follow_a_model_that_changes(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    before, alien = model.rules(top=None), model.event("i0")
    both = list(pairs(before)[0])
    model.fold_in(pd.DataFrame({"user": ["new"] * 2, "item": both, "rating": [2, 4]}))
    assert_allclose(model.event(both[0]).probability("new"), model.predict((["new"], both[:1]))[0])
    after = model.rules(top=None).set_index(["if_item", "then_item"])["users"]
    assert after[tuple(both)] == before["users"][0] + 1
    model.set_params(random_state=9).fit(ratings.assign(rating=6 - ratings["rating"]))
    assert not before.equals(model.rules(top=None))
    with pytest.raises(ValueError, match="fitted again or folded"):
        _ = alien <= model.event("i0")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_stream_gives_the_same_rules(seed, fold) -> None:
    model, *_ = random_model(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eventspace.rules.proving._BLOCK", 3)
        blocks = list(model.iter_rules(fold=fold))
    everything = model.rules(top=None, fold=fold)
    assert sum(map(len, blocks)) == len(everything)
    if not blocks:
        return
    assert all(len(block) >= 3 for block in blocks[:-1])
    columns = ["if_item", "then_item"]
    streamed = pd.concat(blocks).sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(
        streamed, everything.sort_values(columns, ignore_index=True), check_exact=True
    )


def test_the_toy_example_of_the_paper_in_both_conventions() -> None:
    """supp(psi_1) lies inside supp(psi_2): 1 implies 2. The paper prints the converse."""
    p = pd.DataFrame([[0.3, 0.5], [0.1, 0.2]], index=["user 1", "user 2"], columns=["1", "2"])
    theta = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    model = KolmogorovDescent.from_parts(theta, [[0, 1, 0], [1, 1, 0]], p)
    assert_allclose(model.predict(), p)
    ours = model.rules().iloc[0]
    assert (ours["if_item"], ours["then_item"], ours["kind"]) == ("1", "2", "implies")
    assert (ours["confidence"], ours["agreement"]) == (1, 1)
    paper = model.rules(convention="paper").iloc[0]
    assert (paper["if_item"], paper["then_item"], paper["kind"]) == ("2", "1", "converse")
    assert_allclose(paper["confidence"], 0.2 / 0.35)
    assert paper["agreement"] == 0
    same = KolmogorovDescent.from_parts(theta, [[0, 1, 0], [0, 1, 0]], p)
    both_ways = same.rules(convention="paper").iloc[0]
    assert (both_ways["kind"], both_ways["confidence"]) == ("equivalent", 1)
    one, two = model.event("1"), model.event("2")
    assert one <= two
    assert_allclose(one.given(two).probability("user 1"), 0.6)  # not 1, as the paper says
    assert two.given(one).probability("user 1") == 1


def test_held_out_evidence_changes_only_the_evidence() -> None:
    model, *_ = random_model(4)
    held_out = pd.DataFrame(
        {
            "user": ["a", "a", "b", "b", "c"],
            "item": ["i0", "i8", "i0", "i8", "i0"],
            "rating": [5, 4, 2, 9, 1],  # beyond the scale of the training data
        }
    )
    options = {"top": None, "fold": False, "like": 4}
    trained, tested = model.rules(**options), model.rules(held_out, **options)
    assert pairs(trained) == pairs(tested)
    pd.testing.assert_series_equal(trained["surprise"], tested["surprise"])
    row = tested.set_index(["if_item", "then_item"]).loc[("i0", "i8")]
    assert (row["users"], row["agreement"], row["base_rate"], row["like_rate"]) == (2, 0.5, 1, 1)
    other = tested[(tested["if_item"] != "i0") & (tested["then_item"] != "i0")].iloc[0]
    assert other["users"] == 0
    assert other[["agreement", "like_rate", "base_rate"]].isna().all()
    assert (other["like_low"], other["like_high"]) == (0, 1)


def test_a_table_in_another_unit_is_doubted(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    with pytest.warns(UserWarning, match="nothing in the table reaches 3.5"):
        model.rules(ratings.assign(rating=ratings["rating"] / 5), like=3.5)


def test_rules_can_be_sorted_by_stability(ratings) -> None:
    found = KolmogorovDescent(6, n_iter=3, random_state=5).fit(ratings)
    assert found.rules(sort="stability", restarts=3)["stability"].is_monotonic_decreasing


def test_a_like_is_above_the_mean_unless_said_otherwise(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    above = ratings["rating"][ratings["rating"] > ratings["rating"].mean()].min()
    pd.testing.assert_frame_equal(model.rules(), model.rules(like=above))
    assert not model.rules().equals(model.rules(like=above + 1))
    table = pd.DataFrame({"user": list("aabb"), "item": list("xyxy"), "rating": [1, 3, 3, 5]})
    few = KolmogorovDescent.from_parts([[1.0]] * 2, [[1]] * 2, table).rules(top=None, fold=False)
    at_the_mean = few[few["if_item"] == "y"].iloc[0]  # a's 3 is no like of y, nor b's 3 of x
    assert (at_the_mean["base_rate"], at_the_mean["like_rate"]) == (0, 0)


def test_stability_is_the_part_of_restarts_in_which_the_rule_holds(ratings) -> None:
    model = KolmogorovDescent(6, n_init=1, n_iter=3, random_state=5).fit(ratings)
    found = model.rules(top=None, fold=False, restarts=4)
    fits = [
        KolmogorovDescent(6, n_init=1, n_iter=3, random_state=_SEED + k).fit(ratings)
        for k in range(4)
    ]
    for row in found.itertuples():
        both = [(fit.event(row.if_item), fit.event(row.then_item)) for fit in fits]
        held = [
            a.probability() > 0 and (a == b if row.kind == "equivalent" else a <= b)
            for a, b in both
        ]
        assert row.stability == np.mean(held)
    plain = model.rules(top=None, fold=False).set_index(["if_item", "then_item"])["surprise"]
    found = found.set_index(["if_item", "then_item"])
    assert_allclose(found["surprise"], (plain * found["stability"])[found.index], atol=1e-12)
    assert found["stability"].between(0.2, 0.8).any()


def test_proved_rules_hold_for_every_user(ratings) -> None:
    model = KolmogorovDescent(4, random_state=1).fit(ratings)
    p = pd.DataFrame(model.predict(), index=model.user_ids_, columns=model.item_ids_)
    found = model.rules(top=None, fold=False)
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
    assert {"if_item", "then_item", "surprise", "confidence", "users"} <= set(found.columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item": "i77"}, "knows no item 'i77': did you mean"),
        ({"item": "i3"}, "Item 'i3' has no ratings, so that its set is not known"),
        ({"top": 0}, "top=0 must be a whole number of at least 1"),
        ({"sort": "best"}, "sort='best' is unknown; allowed are 'surprise'"),
        ({"min_evidence": 0}, "min_evidence=0 must be a whole number"),
        ({"min_support": -1}, "min_support=-1 must be a finite number"),
        ({"min_confidence": 1.5}, "min_confidence=1.5 is a probability"),
        ({"min_support": 2}, "min_support=2 is a probability"),
        ({"like": "4"}, "like='4' must be a number"),
        ({"sort": "stability"}, "sort='stability' needs restarts=10"),
        ({"convention": "paper", "min_confidence": 0.5}, "restates proved rules"),
        ({"convention": "paper", "sort": "confidence"}, "proved rules all have 1"),
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


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 64), st.data())
def test_chance_is_the_tail_of_the_hypergeometric_law(n_events, data) -> None:
    a, b = (data.draw(st.integers(0, n_events)) for _ in range(2))
    k = data.draw(st.integers(max(0, a + b - n_events), min(a, b)))
    found = log_chance(n_events, np.array([a]), np.array([b]), np.array([k]))[0]
    assert_allclose(found, np.log10(stats.hypergeom.sf(k - 1, n_events, b, a)), atol=1e-9)


@given(st.integers(1, 500), st.data())
def test_wilson_is_scipys(trials, data) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(np.array([successes]), np.array([trials]))
    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert_allclose([low[0], high[0]], [expected.low, expected.high], atol=1e-6)
