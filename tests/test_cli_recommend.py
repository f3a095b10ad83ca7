"""The JSON of recommend, similar and explain, of a table with holes."""

from __future__ import annotations

import json

import pytest

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
MEETING = "chance population base reasons"


@pytest.fixture
def run(capsys):
    """What a command writes as JSON."""
    return lambda *arguments: json.loads(in_process([*arguments, "--json"], capsys).out)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    ratings().to_csv(folder / "ratings.csv", index=False)
    done = piped("fit", folder / "ratings.csv", "-o", folder / "m", *QUICK)
    assert done.code == 0, done.err
    return folder / "m"


def test_the_keys_of_lists(path, run) -> None:
    commands = {
        "recommend": ["recommend", path, "u3"],
        "similar --item": ["similar", path, "--item", 0],
        "similar --user": ["similar", path, "--user", "u3"],
    }
    for name, arguments in commands.items():
        assert list(run(*arguments)[0]) == LISTS[name].split()


def test_explain_says_why_one_would_meet_it(path, run) -> None:
    model = load(path)
    item = model.recommend("u3", 1)["item"][0]
    told = run("explain", path, "u3", item)["meeting"]
    meeting = model.explain("u3", item).meeting
    assert meeting is not None
    assert list(told) == MEETING.split()
    for name in ("chance", "population", "base"):
        assert told[name] == pytest.approx(getattr(meeting, name))
    assert [tuple(reason.values()) for reason in told["reasons"]] == list(meeting.reasons)
    assert list(told["reasons"][0]) == ["other_item", "chance"]


def test_the_page_has_the_keys_of_json() -> None:
    said = PAGE.read_text(encoding="utf-8").partition("\n## JSON\n")[2].partition("\n## ")[0]
    for keys in (*LISTS.values(), "meeting other_item", MEETING):
        assert all(f"`{key}`" in said for key in keys.split())
