"""recommend, similar and explain of a table with holes, and --missing: as Python answers."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from eventspace import load
from tests.command import in_process, piped
from tests.help_texts import PAGE
from tests.test_recommend import ratings

QUICK = ["--events", 3, "--chains", 2, "--seed", 0]
LISTS = {
    "recommend": "user item chance meets likes probability ratings",
    "similar --item": "item correlation confidence base back users like_both",
    "similar --user": "user correlation items apart",
}


@pytest.fixture
def run(capsys):
    """What a command writes as JSON."""
    return lambda *arguments: json.loads(in_process([*arguments, "--json"], capsys).out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ratings, visits, and a model of either."""
    place, table = tmp_path_factory.mktemp("films"), ratings()
    table.to_csv(place / "ratings.csv", index=False)
    table[["user", "item"]].to_csv(place / "visits.csv", index=False)
    for name, options in (("ratings", []), ("visits", ["--missing", 0.5])):
        done = piped("fit", place / f"{name}.csv", "-o", place / name, *QUICK, *options)
        assert done.code == 0, done.err
    return place


def same(found: list[dict], expected: pd.DataFrame) -> None:
    assert_frame_equal(pd.DataFrame(found), expected, check_dtype=False)


def test_recommend(folder, tmp_path, run) -> None:
    path, model = folder / "ratings", load(folder / "ratings")
    found = run("recommend", path, "u3", "u5", "--top", 4)
    assert list(found[0]) == LISTS["recommend"].split()
    same(found, model.recommend(["u3", "u5"], 4))
    same(run("recommend", path, "--top", 1), model.recommend(n=1))
    some, listed = ["recommend", path, "u3", "--seen", "--top", 30], tmp_path / "some.csv"
    for text in ("item\n1\n2\n3\n", "1\n2\n3\n", "item,year\n1,1990\n2,1991\n3,1992\n"):
        listed.write_text(text)
        assert {row["item"] for row in run(*some, "--candidates", listed)} == {1, 2, 3}
        rest = {row["item"] for row in run(*some, "--exclude", listed)}
        assert rest == set(range(30)) - {1, 2, 3}
    by_stars = run("recommend", path, "u3", "--no-meets", "--min-evidence", 20)
    same(by_stars, model.recommend(["u3"], meets=False, min_evidence=20))
    new = run("recommend", path, "new", "--unknown", "population")
    same(new, model.recommend(["new"], unknown="population"))


def test_similar(folder, run) -> None:
    path, model = folder / "ratings", load(folder / "ratings")
    items = run("similar", path, "--item", 0, "--top", 3, "--min-evidence", 8)
    assert list(items[0]) == LISTS["similar --item"].split()
    same(items, model.similar_items(0, 3, min_evidence=8))
    users = run("similar", path, "--user", "u3", "--top", 3)
    assert list(users[0]) == LISTS["similar --user"].split()
    same(users, model.similar_users("u3", 3))
    for wrong in ([], ["--item", 0, "--user", "u3"]):
        done = piped("similar", path, *wrong)
        assert (done.code, "one of them" in done.err) == (2, True)


def test_explain_says_why_one_would_meet_it(folder, run) -> None:
    model = load(folder / "ratings")
    item = model.recommend("u3", 1)["item"][0]
    told = run("explain", folder / "ratings", "u3", item)["meeting"]
    meeting = model.explain("u3", item).meeting
    assert meeting is not None
    assert (told["chance"], told["population"]) == (meeting.chance, meeting.population)
    assert [tuple(reason.values()) for reason in told["reasons"]] == list(meeting.reasons)
    assert list(told["reasons"][0]) == ["other_item", "chance"]


def test_what_is_missing_says_no(folder, run) -> None:
    model = load(folder / "visits")
    assert model.observations.missing == 0.5
    found = run("rules", folder / "visits", "--top", 3)
    assert {row["users"] for row in found} == {60}
    done = piped("fit", folder / "visits.csv", "-o", folder / "m", "--missing", "never")
    assert (done.code, done.out) == (2, "")
    assert "--missing never says nothing: write unknown, no, or the weight" in done.err


def test_the_page_has_the_keys_of_json() -> None:
    said = PAGE.read_text(encoding="utf-8").partition("\n## JSON\n")[2].partition("\n## ")[0]
    for keys in (*LISTS.values(), "meeting reasons other_item chance"):
        assert all(f"`{key}`" in said for key in keys.split())
