"""The jobs people come with, in the shell: visits, recommendations, neighbours."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from eventspace import load
from tests.command import in_process
from tests.test_recommend import ratings

QUICK = ["--events", "3", "--chains", "2", "--seed", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def model(folder):
    ratings().to_csv(folder / "ratings.csv", index=False)
    return folder / "m"


def read(captured: str) -> pd.DataFrame:
    return pd.DataFrame(json.loads(captured))


def ask(capsys, *arguments: object, code: int = 0):
    return in_process([*map(str, arguments)], capsys, code=code)


def test_jobs_on_ratings(folder, model, capsys) -> None:
    ask(capsys, "fit", folder / "ratings.csv", "-o", model, *QUICK)
    known = load(model)
    best = read(ask(capsys, "recommend", model, "u3", "u5", "--top", 3, "--json").out)
    assert list(best["user"]) == ["u3"] * 3 + ["u5"] * 3
    assert list(best["item"]) == list(known.recommend(["u3", "u5"], 3)["item"])
    everybody = read(ask(capsys, "recommend", model, "--top", 1, "--json").out)
    assert list(everybody["user"]) == list(known.user_ids)
    by_stars = read(ask(capsys, "recommend", model, "u3", "--no-meets", "--json").out)
    assert list(by_stars.columns) == ["user", "item", "probability", "ratings"]
    (folder / "some.csv").write_text("item\n1\n2\n3\n")
    some = ask(
        capsys, "recommend", model, "u3", "--candidates", folder / "some.csv", "--seen", "--json"
    )
    assert set(read(some.out)["item"]) == {1, 2, 3}
    others = ask(capsys, "recommend", model, "u3", "--exclude", folder / "some.csv", "--top", 30,
                 "--seen", "--json")  # fmt: skip
    assert not {1, 2, 3} & set(read(others.out)["item"])
    anyone = ask(capsys, "recommend", model, "zed", "--unknown", "population", "--json")
    assert set(read(anyone.out)["user"]) == {"zed"}
    items = read(ask(capsys, "similar", model, "--item", 0, "--top", 4, "--json").out)
    assert list(items["item"]) == list(known.similar_items(0, 4)["item"])
    users = read(ask(capsys, "similar", model, "--user", "u3", "--json").out)
    assert list(users["user"]) == list(known.similar_users("u3")["user"])
    for wrong in ([], ["--item", 0, "--user", "u3"]):
        told = ask(capsys, "similar", model, *wrong, code=2).err
        assert "similar wants --item ITEM or --user USER" in told


def test_one_text_id_among_numbers(folder, capsys) -> None:
    table = ratings().assign(user=lambda t: t["user"].str[1:])
    table.to_csv(folder / "numbers.csv", index=False)
    ask(capsys, "fit", folder / "numbers.csv", "-o", folder / "n", *QUICK)
    (folder / "more.csv").write_text("user,item,rating\n1,0,5\nx7,0,4\n")
    for _ in range(2):
        ask(capsys, "update", folder / "n", folder / "more.csv")
    assert len(load(folder / "n").user_ids) == table["user"].nunique() + 1
    assert len(read(ask(capsys, "recommend", folder / "n", 1, "x7", "--json").out)) == 20


def test_visits(folder, capsys) -> None:
    visits = ratings()[["user", "item"]]
    visits.to_csv(folder / "visits.csv", index=False)
    told = ask(capsys, "fit", folder / "visits.csv", "-o", folder / "v", code=2).err
    assert "No column is named like the value" in told
    assert "--missing no" in told
    ones = visits.assign(value=1)
    ones.to_csv(folder / "ones.csv", index=False)
    told = ask(capsys, "fit", folder / "ones.csv", "-o", folder / "v", code=2).err
    assert "All" in told
    assert "--missing no" in told
    told = ask(capsys, "fit", folder / "visits.csv", "-o", folder / "v", "--missing", "x", code=2)
    assert "--missing x says nothing" in told.err
    said = ask(capsys, "fit", folder / "visits.csv", "-o", folder / "v", "--missing", "no", *QUICK)
    assert "the others no" in said.out
    assert load(folder / "v").observations.missing == 1.0
    half = ["fit", folder / "ones.csv", "-o", folder / "w", "--missing", "0.5", "--no-meets"]
    ask(capsys, *half, *QUICK)
    assert load(folder / "w").observations.missing == 0.5
    assert not load(folder / "w").record.meetings
    (folder / "more.csv").write_text("user,item\nu3,0\nu3,1\nnew,2\n")
    ask(capsys, "update", folder / "v", folder / "more.csv", "-o", folder / "v2")
    assert load(folder / "v2").observations.n_users == load(folder / "v").observations.n_users + 1
    best = read(ask(capsys, "recommend", folder / "v", "u3", "--json").out)
    assert list(best.columns) == ["user", "item", "chance", "probability", "ratings"]
    rules = read(ask(capsys, "rules", folder / "v", "--json").out)
    assert (rules["users"] == 60).all()
