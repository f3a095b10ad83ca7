"""What is recommended: many users at once, by the chance to meet and like."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, load
from eventspace._base.codes import unpack
from eventspace.baselines import BiasModel, PopularityModel
from eventspace.engines import engine
from eventspace.fitting.meetings import N_EVENTS, N_MODELS, Meetings, Met, next_chance
from eventspace.rules.likes import ChanceOfLike

QUICK = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "random_state": 0, "verbose": False}


def ratings(seed: int = 0) -> pd.DataFrame:
    """People who meet what is popular among their kind, and rate it."""
    rng = np.random.default_rng(seed)
    kind, popular = rng.integers(2, size=60), rng.permutation(np.linspace(0.05, 0.9, 30))
    meets = rng.random((60, 30)) < popular * np.where(np.arange(30) % 2 == kind[:, None], 1, 0.3)
    users, items = np.nonzero(meets)
    value = 1 + rng.integers(5, size=len(users))
    return pd.DataFrame({"user": [f"u{u}" for u in users], "item": items, "rating": value})


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return ratings()


@pytest.fixture(scope="module", params=[KolmogorovModel, KolmogorovPosterior])
def model(request, table):
    return request.param(3, **QUICK).fit(table)


def test_the_chance_is_the_product(model, table) -> None:
    best = model.recommend("u3", 30)
    assert list(best.columns) == ["item", "chance", "meets", "likes", "probability", "ratings"]
    assert_allclose(best["chance"], best["meets"] * best["likes"], rtol=1e-6)
    assert (np.diff(best["chance"]) <= 0).all()
    seen = set(table.loc[table["user"] == "u3", "item"])
    assert not seen & set(best["item"])
    assert len(best) == 30 - len(seen)
    p = model.predict(("u3", best["item"]))
    assert_allclose(best["probability"], p, atol=1e-9)
    u = list(model.user_ids_).index("u3")
    fit = model.fitted_.record
    cut = (model.liked_from_ - 1.5) / 4  # between the least like and the value below it
    assert_allclose(best["likes"], np.clip(ndtr((p - cut) / fit.spread[u]), 5e-3, 0.995), rtol=1e-4)
    met = [list(model.item_ids_).index(item) for item in best["item"]]
    M = fit.meetings.chances(np.array([u]))[0, met]
    assert_allclose(best["meets"], 2 * np.maximum(M, 0.02) ** 1.8, rtol=1e-5)


def test_the_chance_to_meet_is_learnt(model, table) -> None:
    """Popular items of one's own kind are likelier met than the rest."""
    meetings = model.fitted_.record.meetings
    assert meetings.weights.shape[1] == N_MODELS * N_EVENTS
    assert_allclose(meetings.mass.sum(), 1, rtol=1e-4)
    assert (meetings.mass >= 0).all()
    p = meetings.chances(np.arange(len(model.user_ids_)))
    met = table.pivot_table(index="user", columns="item", values="rating").notna()
    met = met.loc[list(model.user_ids_), list(model.item_ids_)].to_numpy()
    assert p[met].mean() > p[~met].mean() + 0.3
    population = meetings.chances(np.array([-1]))[0]
    assert np.corrcoef(population, met.mean(axis=0))[0, 1] > 0.95


def test_the_weights_of_meetings(table) -> None:
    seen = KolmogorovModel(2, **QUICK, meets=False).fit(table).observations_
    met = Met.of(seen)
    assert (met.by_user.value == 1).all()
    assert_allclose(Met.of(seen, 0.5).by_user.value, (1 + seen.by_user.value) / 2)
    weight = (seen.by_user.sizes + 5.0) ** -0.5
    ratio = met.by_item.missing / weight
    assert_allclose(ratio, ratio[0])
    assert_allclose(met.by_item.weight, met.by_item.missing[met.by_item.index], rtol=1e-6)


def test_weights_are_those_of_ridge_regression(model) -> None:
    """min over w of |y_u - B w|^2 + 20 |w - mass|^2 for each model, y half a yes at the least."""
    seen, meetings = model.observations_, model.fitted_.record.meetings
    again = meetings.solved(seen, np.array([3, 7]), np.arange(0), engine("cpu", 1))
    assert_allclose(again.weights, meetings.weights, atol=1e-7)
    y = np.zeros((seen.n_users, seen.n_items))
    users = np.repeat(np.arange(seen.n_users), seen.by_user.sizes)
    y[users, seen.by_user.index] = 0.5 + 0.5 * seen.by_user.value
    for k, (weights, bits) in enumerate(models_of(meetings)):
        mass, B = meetings.mass[64 * k :][:64] * np.float64(N_MODELS), bits.astype(float)
        wanted = mass + np.linalg.solve(B.T @ B + 20 * np.eye(64), B.T @ (y - B @ mass).T).T
        assert_allclose(weights, wanted, atol=1e-5)


def test_chances_are_between_0_and_1() -> None:
    weights = np.full((4, 64), np.array([[-1], [0.01], [0.5], [2]]) / 64, np.float32)
    mass = np.full(64, 1 / 64, np.float32)
    meetings = Meetings(weights, np.full((1, 1), 2**64 - 1, np.uint64), mass)
    found = meetings.chances(np.array([0, 1, 2, 3, -1]))[:, 0]
    assert_allclose(found, [0, 0.01, 0.5, 1, 1.51 / 4], rtol=1e-5)
    wanted = [2 * 0.02**1.8, 2 * 0.02**1.8, 2 * 0.5**1.8, 1, 2 * (1.51 / 4) ** 1.8]
    assert_allclose(next_chance(found), wanted, rtol=1e-5)


def test_chances_are_those_of_pairs_held_out(table) -> None:
    """Of what is not met, a fifth of all meetings come next: as many as the chances say."""
    held = np.random.default_rng(1).random(len(table)) < 0.2
    model = KolmogorovModel(3, **QUICK).fit(table[~held])
    met = np.zeros((len(model.user_ids_), len(model.item_ids_)), np.bool_)
    seen = model.observations_.by_user
    met[np.repeat(np.arange(len(met)), seen.sizes), seen.index] = True
    p = next_chance(model.fitted_.record.meetings.chances(np.arange(len(met))))[~met]
    rate = held.sum() / len(p)
    assert 0.4 * rate < p.mean() < 1.5 * rate


def test_who_has_met_nothing_is_as_the_population(model, table) -> None:
    fitted = model.fitted_.update((["zed"] * 2, [0, 1], [5, 4]))
    fitted = fitted.update(forget=(["zed"] * 2, [0, 1]))
    best = fitted.recommend(["zed", "nobody"], 30, unknown="population", seen=True)
    wide = best.pivot(index="item", columns="user", values="meets")
    assert_allclose(wide["zed"], wide["nobody"], rtol=0.05)  # zed was one of 61
    wide = table.pivot_table(index="user", columns="item", values="rating")
    wide.loc["empty"] = np.nan
    other = type(model)(3, **QUICK).fit(wide).fitted_.record.meetings
    assert_allclose(
        other.chances(np.array([len(wide) - 1])), other.chances(np.array([-1])), rtol=1e-3
    )


def test_reasons_begin_with_what_many_have_met(model) -> None:
    """The share of an item that few have met is drawn to that of all."""
    fitted, record = model.fitted_, model.fitted_.record
    seen, user = record.observations, 3
    met = seen.by_user.index[seen.by_user.ptr[user] : seen.by_user.ptr[user + 1]]
    item = int(np.setdiff1d(np.arange(30), met)[0])
    base, of_others = record.meetings.together(item, met)
    ratings = seen.by_item.sizes[met]
    order = np.argsort(-(of_others - base) * ratings / (ratings + 20), kind="stable")
    wanted = [seen.item_ids[met[k]] for k in order[:3] if of_others[k] > base]
    found = fitted.explain(seen.user_ids[user], seen.item_ids[item]).meeting.reasons
    assert [other for other, _ in found] == wanted


def test_many_at_once_are_each_alone(model) -> None:
    users = ["u5", "u1", "u9"]
    together = model.recommend(users, 4)
    for user in users:
        own = together[together["user"] == user].drop(columns="user").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, model.recommend(user, 4), rtol=1e-5)
    assert list(together["user"].unique()) == users
    everybody = model.recommend(n=2)
    assert list(everybody["user"].unique()) == list(model.user_ids_)
    assert len(model.recommend([], 2)) == 0
    for column in (np.array(users), pd.Series(users), pd.Index(users)):
        assert model.recommend(column, 4).equals(together)


def test_candidates_exclusions_and_evidence(model, table) -> None:
    some = model.recommend("u3", 30, candidates=[1, 2, 3], seen=True)
    assert set(some["item"]) == {1, 2, 3}
    assert 2 not in set(model.recommend("u3", 30, exclude=[2, 77], seen=True)["item"])
    pairs = pd.DataFrame({"user": ["u3", "nobody"], "item": [2, 2]})
    both = model.recommend(["u3", "u5"], 30, exclude=pairs, seen=True)
    assert 2 not in set(both.loc[both["user"] == "u3", "item"])
    assert 2 in set(both.loc[both["user"] == "u5", "item"])
    assert both.equals(model.recommend(["u3", "u5"], 30, exclude=(["u3"], [2]), seen=True))
    everything = model.recommend("u3", 30, seen=True)
    for unknown in ((["zz"], [2]), ["2", "x"], 77):
        with pytest.warns(UserWarning, match="knows none of the .* to exclude") as caught:
            assert model.recommend("u3", 30, exclude=unknown, seen=True).equals(everything)
        assert caught[0].filename == __file__
    one = model.recommend("u3", 30, exclude=[2], seen=True)
    for same in (2, {2}, pd.Series([2]), pd.Index([2]), np.array([2])):
        assert model.recommend("u3", 30, exclude=same, seen=True).equals(one)
    counts = table["item"].value_counts()
    often = model.recommend("u3", 30, min_evidence=15, seen=True)
    assert set(often["item"]) == set(counts[counts >= 15].index)
    assert len(model.recommend("u3", min_evidence=1000)) == 0


def test_unknown_users_are_answered_by_the_population(model) -> None:
    best = model.recommend(["new", "u3"], 3, unknown="population")
    assert list(best["user"]) == ["new"] * 3 + ["u3"] * 3
    p = model.predict(("new", best["item"][:3]), unknown="population")
    assert_allclose(best["probability"][:3], p, atol=1e-9)
    spread = model.fitted_.record.spread
    law = ChanceOfLike.of(model.observations_, spread, model.liked_from_)
    typical = np.sqrt(np.mean(np.square(spread)))
    likes = np.clip(ndtr((p - law.cut) / typical), 5e-3, 0.995)
    assert_allclose(best["likes"][:3], likes, rtol=1e-4)
    alone = model.recommend("new", 3, unknown="population")
    assert alone["item"].tolist() == list(best["item"][:3])


def test_switched_off(model, table, tmp_path) -> None:
    by_likes = model.recommend("u3", 5, meets=False)
    assert list(by_likes.columns) == ["item", "probability", "ratings"]
    assert (np.diff(by_likes["probability"]) <= 0).all()
    off = type(model)(3, **QUICK, meets=False).fit(table)
    assert not off.fitted_.record.meetings
    assert_allclose(off.predict(), model.predict(), atol=1e-12)
    assert off.recommend("u3", 5).equals(by_likes)
    assert off.explain("u3", 0).meeting is None
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").recommend("u3", 5).equals(model.recommend("u3", 5))


def test_a_full_table_says_nothing_about_meeting() -> None:
    full = KolmogorovModel(2, **QUICK).fit(np.random.default_rng(0).random((10, 6)))
    assert not full.fitted_.record.meetings


def test_newcomers_meet_what_those_like_them_meet(model, table) -> None:
    """A new user with the ratings of u3 is about as likely to meet the rest; so is a new item."""
    own = table[table["user"] == "u3"].assign(user="new")
    bought = table[table["item"] == 0].assign(item=99)
    fitted = model.fitted_.update(pd.concat([own, bought]))
    meetings, n_old = fitted.record.meetings, len(model.user_ids_)
    at = list(fitted.user_ids).index
    p = meetings.chances(np.array([at("new"), at("u3")]))[:, :30]
    assert np.corrcoef(p)[0, 1] > 0.9
    items = list(fitted.item_ids).index
    everyone = meetings.chances(np.arange(n_old))
    assert np.corrcoef(everyone[:, items(0)], everyone[:, items(99)])[0, 1] > 0.8
    # what came with little is solved again with more
    first = model.fitted_.update(bought.iloc[:1])
    later = first.update(bought.iloc[1:])
    found = later.record.meetings.chances(np.arange(n_old))
    assert_allclose(found[:, items(99)].mean(), everyone[:, items(99)].mean(), rtol=0.5)
    known = model.fitted_.update(table.iloc[:1].assign(rating=3))
    if isinstance(model, KolmogorovModel):  # the known keep theirs until the next fit
        assert known.record.met_weights is model.fitted_.record.met_weights


def test_ties_go_to_what_was_rated_more(table) -> None:
    flat = KolmogorovDescent.from_parts(np.ones((60, 1)), np.ones((30, 1)), table)
    best = flat.recommend("u3", 30, seen=True)
    assert (np.diff(best["ratings"]) <= 0).all()


def test_the_likes_threshold_moves(model) -> None:
    strict, mild = (model.recommend("u3", 5, like=like)["likes"].mean() for like in (5, 2))
    assert strict < mild


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": ["u3", "zz"]}, r"does not know 1 of these users: 'zz'.*unknown='population'"),
        ({"user": "zz"}, r"The model knows no user 'zz'\..*unknown='population'"),
        ({"user": "u3", "candidates": []}, "candidates is empty"),
        ({"user": "u3", "candidates": [77]}, "does not know 1 of these items: 77"),
        ({"user": "u3", "n": 0}, "n=0 must be"),
        ({"user": "u3", "meets": 3}, "meets=3"),
        ({"user": "u3", "unknown": "x"}, "unknown='x'"),
        ({"user": "u3", "like": 99}, "like=99 makes nothing a like"),
        ({"user": pd.DataFrame({"user": ["u3"]})}, "user is a table"),
        ({"user": "u3", "exclude": pd.DataFrame({"a": [1], "b": [2], "c": [3]})}, "holds no pairs"),
        ({"user": "u3", "exclude": {"u3": [2]}}, "holds no pairs: pass"),
        ({"user": "u3", "exclude": (2, 4)}, "holds no pairs: pass"),
    ],
)
def test_mistakes(model, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        model.recommend(**options)


def test_explanations_say_why_one_would_meet_it(model, table) -> None:
    item = model.recommend("u3", 1)["item"][0]
    why = model.explain("u3", item)
    best = model.recommend("u3", 1)
    assert why.meeting.chance == pytest.approx(best["meets"][0], abs=1e-6)
    own = set(table.loc[table["user"] == "u3", "item"])
    for other, share in why.meeting.reasons:
        assert other in own
        assert share > why.meeting.base
    assert f"u3 meets it next with a chance of {why.meeting.chance:.1%}" in str(why)


def models_of(meetings):
    """The weights and bits of each of the models."""
    n = meetings.codes.shape[1]
    bits = unpack(meetings.codes, 64 * n)
    return [
        (meetings.weights[:, k : k + 64] * np.float64(n), bits[:, k : k + 64])
        for k in range(0, 64 * n, 64)
    ]


def test_who_meets_another_by_enumeration(model) -> None:
    meetings = model.fitted_.record.meetings
    base, of_others = meetings.together(2, np.array([0, 5]))
    both = one = rate = 0.0
    for k, (_, bits) in enumerate(models_of(meetings)):
        mass = meetings.mass[64 * k :][:64]
        rate += mass @ bits[2]
        both, one = both + mass @ (bits[2] & bits[5]), one + mass @ bits[5]
    assert base == pytest.approx(rate, rel=1e-5)
    assert of_others[1] == pytest.approx(both / one, rel=1e-5)
    p = sum(weights @ bits.T for weights, bits in models_of(meetings)) / meetings.codes.shape[1]
    assert_allclose(meetings.chances(np.arange(3)), np.clip(p[:3], 0, 1), atol=1e-5)


def test_baselines_rank_as_they_predict(table) -> None:
    biases = BiasModel().fit(table)
    best = biases.recommend(["u3", "u5"], 4, unit="original")
    assert list(best.columns) == ["user", "item", "value", "ratings"]
    popular = PopularityModel().fit(table).recommend("u3", 30, seen=True)
    assert (np.diff(popular["ratings"]) <= 0).all()


def test_similar_items_are_liked_together(model, table) -> None:
    found = model.similar_items(0, 5)
    assert (np.diff(found["correlation"]) <= 0).all()
    liked = table.assign(like=table["rating"] >= model.liked_from_)
    wide = liked.pivot_table(index="user", columns="item", values="like")
    for row in found.itertuples():
        both = wide[[0, row.item]].dropna()
        assert row.users == len(both) >= 5
        assert row.like_both == (both.sum(axis=1) == 2).sum()
        rule = model.rules(item=0, min_evidence=0, top=None, fold=False)
        same = rule[(rule["if_item"] == 0) & (rule["then_item"] == row.item)]
        if len(same):
            assert row.confidence == pytest.approx(same["confidence"].iloc[0])
            assert row.base == pytest.approx(same["base"].iloc[0])
    with pytest.raises(ValueError, match="knows no item 'x'"):
        model.similar_items("x")


def test_similar_users_have_like_chances(model, table) -> None:
    found = model.similar_users("u3", 5, min_evidence=2)
    p = dict(zip(model.user_ids_, model.predict(), strict=True))
    for row in found.itertuples():
        r = np.corrcoef(p["u3"], p[row.user])[0, 1]
        assert row.correlation == pytest.approx(r, abs=1e-6)
        a, b = (
            table[table["user"] == user].set_index("item")["rating"] for user in ("u3", row.user)
        )
        apart = (a - b).dropna().abs()
        assert row.items == len(apart) >= 2
        assert row.apart == pytest.approx(apart.mean(), rel=1e-5)
    assert "u3" not in set(found["user"])
