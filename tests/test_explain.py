"""EventLabels of events and explanations of predictions."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from eventspace import KolmogorovDescent, Observations
from eventspace.logic import event_labels
from eventspace.logic.event_labels import EventLabels
from tests.test_rules import random_model


@pytest.fixture(scope="module")
def films():
    """Two tastes, a bit of noise: event 0 is action, event 1 is romance, everyone likes Jaws."""
    rng = np.random.default_rng(0)
    items = ["Speed", "Heat", "Ghost", "Emma", "Jaws", "Gigli"]
    tags = {
        "Speed": "Action",
        "Heat": "Action|Crime",
        "Ghost": ["Romance"],
        "Emma": ("Romance", "Drama"),
        "Jaws": math.nan,
    }
    psi = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0]])
    mass = rng.random(60)
    theta = np.column_stack([mass, 1 - mass])
    stars = 1 + 4 * np.clip(theta @ psi.T + rng.normal(0, 0.05, (60, 6)), 0, 1)
    stars[rng.random(stars.shape) < 0.3] = np.nan
    table = pd.DataFrame(stars, columns=items, index=[f"u{u}" for u in range(60)])
    return KolmogorovDescent.from_parts(theta, psi, table), tags


def test_labels_name_what_tells_events_apart(films) -> None:
    model, tags = films
    events = model.events()
    assert list(events["event"]) == [0, 1]
    assert_allclose(events["mass"], model.pmf_mean_)
    assert list(events["items"]) == [3, 3]
    assert events["label"][0] in (
        f"{events['breadth'][0]:.0%} come true: {a}, {b}; not {c}"
        for a, b in (("Speed", "Heat"), ("Heat", "Speed"))
        for c in ("Ghost", "Emma")
    )  # fmt: skip
    assert set(events["likes"][1]) == {"Ghost", "Emma"}
    assert set(events["dislikes"][1]) == {"Speed", "Heat"}
    tagged = model.events(tags)
    assert tagged["label"][0].endswith("% come true: Action, Crime; not Romance")
    assert tagged["likes"][1] == ["Romance", "Drama"]
    pd.testing.assert_frame_equal(tagged, model.events(pd.Series(tags)))


def test_slopes_are_the_t_statistics_of_ratings_on_mass() -> None:
    model, theta, _, table = random_model(1)
    p = model.observations_.to_unit(table.to_numpy())
    mean = np.nanmean(p)
    rest = p - mean - np.nansum(p - mean, axis=0) / (np.sum(~np.isnan(p), axis=0) + 5)
    rest -= (np.nansum(rest, axis=1) / (np.sum(~np.isnan(p), axis=1) + 5))[:, None]
    slopes = EventLabels(model.fitted_.space).slopes
    for i in range(p.shape[1]):
        raters = ~np.isnan(p[:, i])
        for d in range(theta.shape[1]):
            mass = theta[raters, d] - theta[raters, d].mean() if raters.any() else np.zeros(0)
            scale = math.sqrt(mass @ mass * np.nanmean(np.square(rest)))
            expected = mass @ rest[raters, i] / scale if scale > 1e-6 else 0.0
            assert_allclose(slopes[i, d], expected, atol=1e-4)


def test_an_explanation_adds_up(films) -> None:
    model, tags = films
    why = model.explain("u3", "Heat", tags)
    assert_allclose(why.probability, model.predict((["u3"], ["Heat"]))[0])
    assert_allclose(why.value, model.predict((["u3"], ["Heat"]), unit="original")[0])
    assert_allclose(why.population, model.event("Heat").probability())
    assert_allclose(why.events.loc[why.events["comes_true"], "mass"].sum(), why.probability)
    assert_allclose(why.events["mass"].sum(), 1)
    text = str(why)
    assert repr(why) == text
    assert f"u3 and Heat: {why.probability:.1%}, or {why.value:.2f} on the scale from 1 to" in text
    assert "Action, Crime; not Romance" in text
    assert f"{(model.observations_.by_user.ptr[4] - model.observations_.by_user.ptr[3])} " in text


def test_the_rules_of_an_explanation_bound_the_prediction(ratings) -> None:
    model = KolmogorovDescent(4, random_state=1).fit(ratings)
    seen = set(ratings.loc[ratings["user"] == "u2", "item"])
    kinds = set()
    middle = sum(model.observations_.scale) / 2
    for item in model.item_ids_:
        why = model.explain("u2", item)
        for row in why.rules.itertuples():
            assert row.other_item in seen
            other, own = model.event(row.other_item), model.event(item)
            kinds.add(row.kind)
            if row.kind == "equivalent":
                assert other == own
            elif row.kind == "implies":
                assert other < own
                assert float(row.probability) <= why.probability + 1e-9
            else:
                assert own < other
                assert float(row.probability) >= why.probability - 1e-9
            value: Any = row.value
            against = row.kind in ("equivalent", "implied") and value < middle
            favours = row.kind in ("equivalent", "implies") and value > middle
            assert row.speaks == ("for" if favours else "against" if against else "")
            cited = f"(u2 gave it {value:.3g})" in str(why)
            assert cited or not row.speaks or len(why.rules) > 3
    assert kinds == {"equivalent", "implies", "implied"}


CITED = re.compile(r"  (.*) \(u\d+ gave it (.*)\)")


@pytest.mark.parametrize("seed", range(4))
def test_no_line_cites_a_rating_on_the_wrong_side_of_the_middle(seed) -> None:
    """Of every pair: what speaks for it is rated above the middle, against it below."""
    model, _, _, table = random_model(seed)
    middle = sum(model.observations_.scale) / 2
    cited = {"For": 0, "Against": 0}
    left_out = 0
    for user in table.index:
        for item in table.columns[table.notna().any()]:
            why = model.explain(user, item)
            side = ""
            for line in str(why).splitlines():
                side = line.partition(" it, from what ")[0] if line[0] != " " else side
                found = CITED.fullmatch(line)
                if not found:
                    continue
                assert side in cited
                assert (float(found[2]) > middle) == (side == "For")
                assert float(found[2]) != middle
                assert ("implies it: at least" in line) <= (side == "For")
                assert ("it implies " in line and "at most" in line) <= (side == "Against")
                cited[side] += 1
            left_out += int((why.rules["speaks"] == "").sum())
    assert min(*cited.values(), left_out) > 0


def test_nearest_rules_and_heaviest_events_come_first(ratings) -> None:
    model = KolmogorovDescent(12, n_init=1, n_iter=4, random_state=1).fit(ratings)
    why = model.explain("u2", "i4")
    assert why.events["mass"].is_monotonic_decreasing
    masses = model.pmf_mean_[why.events["event"]]
    assert_allclose(why.events["population"], masses)
    own = model.event("i4")
    for _, rules in why.rules.groupby("kind"):
        distance = [(model.event(other) ^ own).probability() for other in rules["other_item"]]
        assert distance == sorted(distance)
    true = why.events[why.events["comes_true"]]
    if len(true) > 4:
        assert f"{true['mass'][4:].sum():.1%}  {len(true) - 4} more" in str(why)
    assert why.user_ratings == (ratings["user"] == "u2").sum()
    assert why.item_ratings == (ratings["item"] == "i4").sum()


def test_sets_of_all_or_no_events_explain_nothing() -> None:
    pmf, sets = np.full((2, 2), 0.5), np.array([[1, 0], [1, 0], [1, 1], [0, 0]])
    table = np.array([[0.5, 0.5, 1.0, 0.0], [0.5, 0.5, 1.0, 0.0]])
    why = KolmogorovDescent.from_parts(pmf, sets, table).explain(0, 0)
    assert list(why.rules["other_item"]) == [1]


def test_labels_agree_with_the_sets(ratings) -> None:
    model = KolmogorovDescent(5, random_state=1).fit(ratings)
    inside = dict(zip(model.item_ids_, model.indicators_, strict=True))
    events = model.events()
    assert events["likes"].map(len).sum() > 5
    for d in range(5):
        assert all(inside[item][d] for item in events["likes"][d])
        assert not any(inside[item][d] for item in events["dislikes"][d])


def test_tags_of_any_form_are_read() -> None:
    model, *_ = random_model(1)
    forms = {
        "i0": " A | B |",
        "i1": np.array(["A"]),
        "i2": pd.NA,
        "i4": ["B|C"],
        "i5": None,
        "i6": 7,
    }
    members: dict = {}
    for item, value in forms.items():
        for tag in event_labels._tags_of(value):
            members.setdefault(tag, []).append(item)
    assert members == {"A": ["i0", "i1"], "B": ["i0", "i4"], "C": ["i4"], 7: ["i6"]}
    twice = pd.Series(["A", "B"], index=["i0", "i0"])
    assert len(model.events(twice)) == 4
    assert (model.events()["items"] <= (np.diff(model.observations_.by_item.ptr) > 0).sum()).all()


def test_users_that_are_numbers_and_chances_read_well() -> None:
    model = KolmogorovDescent(2, random_state=0).fit(np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]))
    text = str(model.explain(1, 0))
    assert text.startswith("user 1 and item 0: ")
    assert "on the scale" not in text
    assert "; user 1 gave it 0.2." in text


def test_tables_are_of_the_callers_library(ratings) -> None:
    pl = pytest.importorskip("polars")
    model = KolmogorovDescent(3, random_state=0).fit(pl.from_pandas(ratings))
    why = model.explain("u1", "i2")
    for table in (model.events(), why.events, why.rules):
        assert isinstance(table, pl.DataFrame)


def test_mistakes_are_named() -> None:
    model, *_ = random_model(0)
    for user, item, message in (
        ("u77", "i0", "knows no user 'u77': did you mean 'u7'"),
        ("u0", "i3", "Item 'i3' has no ratings, so that its set is not known"),
        ("u0", "Alien", r"knows no item 'Alien'\."),
        ("u0", ["i0"], r"The id of one item is wanted, not \['i0'\]"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            model.explain(user, item)
        assert "\n" not in str(caught.value)
    for tags, message in (
        ("genres", "tags is a str: it maps items to tags"),
        (pd.DataFrame({"i0": [1]}), "tags is a DataFrame: it maps items to tags"),
        ({"Alien": "Horror"}, "tags has none of the model's items as a key, such as 'i0'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.events(tags)


def test_look_alikes_say_what_tells_them_apart() -> None:
    """Events 1 and 2 have the same label, but only the second has Heat."""
    table = pd.DataFrame(
        [[5, 5, 2, 1], [4, 5, 3, 2], [1, 2, 4, 4], [2, 1, 5, 5]],
        columns=["Alien", "Aliens", "Heat", "Fargo"],
        index=list("abcd"),
    )
    theta = [[0.0, 0.5, 0.5], [0.1, 0.45, 0.45], [0.9, 0.05, 0.05], [1.0, 0.0, 0.0]]
    psi = [[0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 0]]
    model = KolmogorovDescent.from_parts(theta, psi, Observations.from_wide(table))
    labels = list(model.events()["label"])
    assert labels[1].startswith("50% come true: ")
    assert labels[2].startswith("75% come true: ")
    taste = [label.partition(": ")[2] for label in labels]
    assert taste[1].removesuffix("; without Heat") == taste[2].removesuffix("; with Heat")
    assert len(set(taste)) == 3


def test_leanings_are_named_for_what_they_are() -> None:
    """The first of 40 items has a fifth of the ratings: an event without it is no leaning."""
    psi = np.ones((40, 6), dtype=bool)
    psi[:, 1] = psi[:, 4] = False
    psi[7, 4] = True
    psi[3, 2] = psi[4, 3] = psi[0, 5] = False
    theta = np.random.default_rng(0).dirichlet(np.ones(6), 50)
    p = theta @ psi.T
    p[5:, 1:] = np.nan
    model = KolmogorovDescent.from_parts(theta, psi, Observations.of(p, scale=(0, 1)))
    ratings = np.isfinite(p).sum(axis=0)
    events = model.events()
    assert_allclose(events["breadth"], ratings @ psi / ratings.sum())
    assert list(events["label"])[:5] == [
        "everything comes true",
        "nothing comes true",
        "nearly everything comes true; without 3",
        "nearly everything comes true; without 4",
        "nearly nothing comes true",
    ]
    assert events["label"][5].startswith("80% come true")


def test_ids_with_braces_and_escapes_are_named_as_they_are() -> None:
    users, items = ["\x1b[31m", "{0}", "{x}"], ["${a}", "{:d}", "{}"]  # sorted, as parts are
    pmf = np.array([[0.5, 0.5], [0.2, 0.8], [0.7, 0.3]])
    sets = np.array([[1, 0], [1, 0], [0, 1]])
    columns = (np.repeat(users, 3), np.tile(items, 3), (pmf @ sets.T).ravel())
    model = KolmogorovDescent.from_parts(pmf, sets, columns)
    assert "of {x}'s mass" in str(model.explain("{x}", "{}"))
    assert "\\x1b[31m and ${a}: 50.0%" in str(model.explain("\x1b[31m", "${a}"))
