"""What a page holds is what the model says; what does not fit is left out, and said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from eventspace import KolmogorovDescent, KolmogorovEnsemble
from eventspace.metrics import reliability_curve, rmse
from eventspace.report import budget
from eventspace.report.assembly import SCRIPTS, page
from eventspace.report.contents import PMF_UNIT, contents
from tests.page.conftest import HOSTILE


def of(model, X=None, **options):
    options = {"title": "", "tags": None, "users": None, "restarts": 0} | options
    return contents(model.fitted_, X, **options)


def data_in(text: str) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_items_are_the_best_known_first_with_their_sets(model) -> None:
    items = of(model)["items"]
    names = [str(id_) for id_ in model.item_ids_]
    places = [
        names.index(name) if name in names else names.index("x" * 300) for name in items["name"]
    ]
    ratings = np.diff(model.observations_.by_item.ptr)
    assert items["ratings"] == ratings[places].tolist() == sorted(items["ratings"], reverse=True)
    sets = [int(items["codes"][c], 16) for c in items["class"]]
    assert sets == model.codes_[places, 0].tolist()


def test_the_classes_are_those_of_the_order(model) -> None:
    items = of(model)["items"]
    classes = model.order().classes()
    found = [items["name"][items["class"].index(c)] for c in range(len(items["codes"]))]
    assert found == [budget.name_of(item) for item in classes["item"]]
    assert np.bincount(items["class"]).tolist() == classes["size"].tolist()


@pytest.mark.parametrize(("restarts", "tested"), [(0, False), (2, False), (0, True)])
def test_rules_are_the_models(model, held_out, restarts, tested) -> None:
    X = held_out if tested else None
    whole = of(model, X, restarts=restarts)
    wanted = model.rules(X, top=budget.RULES, restarts=restarts)
    assert 0 < len(wanted) < budget.RULES
    assert wanted["inclusion"].notna().all() == (restarts > 0)
    assert ("q_value" in wanted) == tested
    found = pd.DataFrame(whole["rules"])
    assert list(found.columns) == list(wanted.columns)
    for side in ("if_item", "then_item"):
        found[side] = [whole["items"]["name"][i] for i in found[side]]
        wanted[side] = wanted[side].map(budget.name_of)
    found = found.astype(wanted.dtypes)
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-4)
    assert {type(n) for n in whole["rules"]["users"]} == {int}  # counts lose no digits


def test_what_a_like_is(model) -> None:
    assert of(model)["like"] == pytest.approx(model.liked_from_) == 4
    same = KolmogorovDescent.from_parts(np.ones((2, 1)), np.ones((3, 1)), np.full((2, 3), 0.5))
    assert of(same)["like"] is None  # no value is above the mean


def test_rules_of_many_items_are_those_of_the_best_known(model, monkeypatch) -> None:
    monkeypatch.setattr(budget, "RULE_ITEMS", 10)
    monkeypatch.setattr(budget, "RULES", 7)
    whole = of(model)
    assert len(whole["rules"]["if_item"]) == 7
    assert max(whole["rules"]["if_item"] + whole["rules"]["then_item"]) < 10
    assert any(
        "among the 10 items with the most ratings, the first 7" in note for note in whole["notes"]
    )


def test_events_are_the_models(model) -> None:
    whole = of(model)
    events, wanted = whole["events"], model.events()
    np.testing.assert_allclose(events["mass"], wanted["mass"], rtol=1e-4)
    assert events["items"] == wanted["items"].tolist()
    assert events["label"] == [budget.name_of(label) for label in wanted["label"]]
    for side in ("likes", "dislikes"):
        for found, items in zip(events[side], wanted[side], strict=True):
            first = [whole["items"]["name"][i] for i in found[: len(items)]]
            assert first == [budget.name_of(item) for item in items]


def test_tags_name_the_events_and_items_still_tell_them(model) -> None:
    tags = {item: "short" if len(str(item)) < 20 else "long|wordy" for item in model.item_ids_}
    tagged, plain = of(model, tags=tags)["events"], of(model)["events"]
    assert tagged["label"] == model.events(tags)["label"].tolist() != plain["label"]
    assert tagged["likes"] == plain["likes"]


def test_users_have_their_pmfs_and_ratings(model) -> None:
    whole = of(model)
    users, seen = whole["users"], model.observations_
    assert len(users["name"]) == seen.n_users
    assert users["ratings"] == sorted(np.diff(seen.by_user.ptr).tolist(), reverse=True)
    names = [budget.name_of(item) for item in model.item_ids_]
    for u, name in enumerate(users["name"]):
        at = seen.user_ids.positions([name])[0]
        np.testing.assert_allclose(
            np.array(users["pmf"][u]) / PMF_UNIT, model.pmf_[at], atol=0.51 / PMF_UNIT
        )
        own = slice(*seen.by_user.ptr[at : at + 2])
        rated = {names[i] for i in seen.by_user.index[own]}
        assert {whole["items"]["name"][i] for i in users["items"][u]} == rated
        assert sorted(users["values"][u]) == pytest.approx(
            sorted(seen.from_unit(seen.by_user.value[own]).tolist())
        )


def test_users_may_be_chosen_or_left_out(model) -> None:
    chosen = of(model, users=["user 7", "user 3"])
    assert chosen["users"]["name"] == ["user 7", "user 3"]
    assert "Of 60 users the page holds 2, as asked for." in chosen["notes"]
    assert of(model, users=[])["users"]["name"] == []
    with pytest.raises(ValueError, match=r"'nobody'.*report\(users=...\) wants the model's own"):
        of(model, users=["nobody"])


def test_what_does_not_fit_is_left_out_and_said(model, monkeypatch) -> None:
    monkeypatch.setattr(budget, "ITEM_TEXT", 200)
    monkeypatch.setattr(budget, "USER_NUMBERS", 500)
    whole = of(model)
    n = len(whole["items"]["name"])
    assert 0 < n < 40
    assert sum(map(len, whole["items"]["name"])) <= 200
    assert f"Of 40 rated items the page holds the {n} with the most ratings" in whole["notes"][0]
    u = len(whole["users"]["name"])
    assert 0 < u < 60
    assert whole["notes"][1].startswith(f"Of 60 users the page holds {u}, from those with the most")
    assert whole["notes"][1].endswith("in Python, report(path, users=[...]) chooses others.")
    counts = whole["users"]["ratings"]
    everyone = np.diff(model.observations_.by_user.ptr)
    assert (counts[0], counts[-1]) == (everyone.max(), everyone.min())
    for side in ("likes", "dislikes"):
        assert all(i < n for items in whole["events"][side] for i in items)
    assert all(i < n for items in whole["users"]["items"] for i in items)


def test_the_fit_is_that_of_the_model(model, films) -> None:
    fit = of(model)["fit"]
    seen = model.observations_
    u, i, p = seen.coo()
    predicted = np.clip(model.predict()[u, i], 0, 1)
    part = fit["parts"]["training data"]
    assert part["rmse"] == pytest.approx(rmse(p, predicted))
    assert seen.scale == (1, 5)
    assert part["rmse_in_unit"] == pytest.approx(4 * part["rmse"])
    curve = reliability_curve(p, predicted)
    assert part["count"] == curve["count"].tolist()
    np.testing.assert_allclose(part["truth"], curve["truth"], atol=1e-4)
    assert np.sum(part["cells"]) == part["entries"] == part["used"] == len(films)
    assert part["observed"] == [0, 0.25, 0.5, 0.75, 1]
    assert fit["history"] == pytest.approx(model.history_.tolist())
    assert fit["proved"] == model.proved_.sum()
    assert fit["parameters"]["n_events"] == "5"


def test_held_out_data_are_compared_too(model, films) -> None:
    held_out = films.iloc[::7].assign(rating=lambda frame: 6 - frame["rating"])
    new = pd.DataFrame({"user": ["stranger"], "item": ["Film 03"], "rating": [6.0]})
    fit = of(model, pd.concat([held_out, new]))["fit"]
    part = fit["parts"]["held-out data"]
    assert part["entries"] == len(held_out)  # the new user is not known
    assert part["rmse"] > fit["parts"]["training data"]["rmse"]
    rules = of(model, held_out)["rules"]
    assert rules["users"] == of(model)["rules"]["users"]
    assert max(rules["held_out_users"]) < max(rules["users"])


def test_many_entries_are_sampled(model, monkeypatch) -> None:
    monkeypatch.setattr(budget, "ENTRIES", 100)
    part = of(model)["fit"]["parts"]["training data"]
    assert part["used"] == np.sum(part["cells"]) == 100 < part["entries"]


def test_values_of_many_kinds_are_put_in_parts() -> None:
    table = np.random.default_rng(0).random((30, 12))
    part = of(KolmogorovDescent(3, random_state=0).fit(table))["fit"]["parts"]["training data"]
    assert len(part["observed"]) == 20
    assert np.sum(part["cells"]) == 360


def test_unrated_items_and_more_users_than_ratings_are_no_trouble() -> None:
    table = np.array([[1.0, 0.0, np.nan], [0.5, 1.0, np.nan], [np.nan, np.nan, np.nan]])
    model = KolmogorovDescent(2, random_state=0).fit(table)
    whole = of(model)
    assert whole["items"]["name"] == ["0", "1"]
    assert len(whole["users"]["name"]) == 2
    assert whole["notes"] == ["Items without ratings (1) are left out: they have no sets."]


def test_any_library_of_tables_will_do(films) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(
        pl.from_pandas(films[films["item"].str.len() < 9])
    )
    whole = of(model)
    assert len(whole["rules"]["if_item"]) == len(model.rules(top=None)) > 0


def test_a_title_cannot_leave_its_place(written, model) -> None:
    text = written.read_text(encoding="utf-8")
    data = data_in(text)
    assert text.count("</script>") == 2
    assert "<title>Films &amp; &lt;more&gt;</title>" in text
    assert data["title"] == "Films & <more>"
    assert {budget.name_of(title) for title in HOSTILE} <= set(data["items"]["name"])
    assert "\u2028" not in text
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//|@import|url\(""", text)


def test_very_long_names_keep_their_ends() -> None:
    one, other = ("x" * 300 + f" part {k}" for k in (1, 2))
    assert budget.name_of(one) != budget.name_of(other)
    assert len(budget.name_of(one)) == budget.NAME
    assert budget.name_of("x" * budget.NAME) == "x" * budget.NAME


def test_half_a_character_is_shown_as_a_question_mark() -> None:
    assert b"half ?" in page({"title": "half \ud83d"})


def test_a_hundred_thousand_items_fit_ten_megabytes(many_items, tmp_path) -> None:
    file = many_items.report(tmp_path / "many.html")
    assert file.stat().st_size < 10_000_000
    data = data_in(file.read_text(encoding="utf-8"))
    assert len(data["items"]["name"]) == 100_000
    assert any("among the 1,000 items" in note for note in data["notes"])


def test_an_average_is_compressed(films, tmp_path) -> None:
    ensemble = KolmogorovEnsemble(n_events=3, n_models=2, random_state=0).fit(films)
    file = ensemble.report(tmp_path / "average.html", n_events=4, title="An average")
    data = data_in(file.read_text(encoding="utf-8"))
    assert len(data["events"]["mass"]) == 4
    assert data["fit"]["loss"] > 0
    assert data["fit"]["expected"] > data["fit"]["loss"]
    assert 0 <= data["fit"]["same_bits"] <= 1
    assert -1 <= data["fit"]["same_pmf"] <= 1
    assert 1 <= data["fit"]["effective"] <= 4
    assert data["fit"]["history"] == []


def test_too_many_events_have_a_remedy(tmp_path) -> None:
    pmf = np.full((2, 70), 1 / 70)
    model = KolmogorovDescent.from_parts(pmf, np.eye(3, 70) > 0, np.full((2, 3), 0.5))
    with pytest.raises(ValueError, match=r"has 70 events, too many to read.*to_model\(16\)\.$"):
        model.report(tmp_path / "no.html")


@pytest.mark.parametrize("script", SCRIPTS)
def test_lines_of_javascript_can_be_read(script) -> None:
    text = (files("eventspace.report") / script).read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if len(line) > 120] == []


def test_a_missing_folder_is_named_before_anything_is_done(model, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder to write to"):
        model.report(tmp_path / "nowhere" / "films.html")


def test_the_page_is_the_same_each_time(model, written, tmp_path) -> None:
    again = model.report(tmp_path / "again.html", title="Films & <more>")
    assert again.read_bytes() == written.read_bytes()


def test_the_report_is_imported_only_to_write_one() -> None:
    code = "import sys, eventspace.estimators.descent; sys.exit('eventspace.report' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
