"""The command that compares models."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, KolmogorovEnsemble, Observations, evaluate
from eventspace.cli import evaluating
from eventspace.evaluation import rivals
from eventspace.splits import long_table
from tests.command import Done, in_process, in_terminal

SMALL = ["--kind", "descent", "--events", 3]


@pytest.fixture
def run(capsys):
    return lambda *arguments, **options: in_process(["evaluate", *arguments], capsys, **options)


@pytest.fixture
def csv(ratings, tmp_path) -> Path:
    path: Path = tmp_path / "ratings.csv"
    when = np.random.default_rng(0).permutation(len(ratings))
    ratings.assign(when=when).to_csv(path, index=False)
    return path


def frame(done: Done) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(done.out))


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found.drop(columns="seconds"), expected.drop(columns="seconds"))


def test_it_says_what_python_says(csv, ratings, run) -> None:
    models = {"KolmogorovDescent": KolmogorovDescent(3, random_state=5), **rivals(5)}
    expected = evaluate(ratings, models, random_state=5, like=3.0, n=4, test_size=0.3)
    options = [*SMALL, "--seed", 5, "--like", 3, "--top", 4, "--test-size", 0.3, "--threads", 1]
    assert_same(frame(run(csv, *options)), expected)


def test_folds_and_kinds(csv, ratings, run) -> None:
    models = {
        "KolmogorovDescent": KolmogorovDescent(3, random_state=0),
        "KolmogorovEnsemble": KolmogorovEnsemble(3, random_state=0),
        **rivals(),
    }
    expected = evaluate(ratings, models, cv=2)
    assert_same(
        frame(run(csv, "--kind", "descent, ensemble", "--events", 3, "--folds", 2)), expected
    )
    assert expected["coverage"].notna().sum() == 2


def test_one_of_ours_is_compared_by_default(csv, monkeypatch, run) -> None:
    made = []

    def quick(kind: str, *_: object, **__: object) -> KolmogorovDescent:
        made.append(kind)
        return KolmogorovDescent(2)

    monkeypatch.setattr(evaluating, "made", quick)
    assert frame(run(csv))["model"].tolist() == ["KolmogorovModel", *rivals()]
    assert made == ["model"]


def test_by_time_and_by_names_of_columns(ratings, tmp_path, run) -> None:
    path = tmp_path / "odd.csv"
    times = pd.date_range("2020-01-01", periods=len(ratings)).to_series().sample(frac=1)
    odd = ratings.set_axis(["who", "what", "stars"], axis=1).assign(on=times.to_numpy())
    odd.to_csv(path, index=False)
    models = {"KolmogorovDescent": KolmogorovDescent(3, random_state=0), **rivals()}
    seen = Observations.of(ratings, scale=(0, 6))
    rank = long_table(seen).merge(ratings.assign(on=times.to_numpy()), on=["user", "item"])["on"]
    expected = evaluate(seen, models, by="time", time=rank)
    names = ["--user", "who", "--item", "what", "--value", "stars", "--scale", "0,6"]
    assert_same(frame(run(path, *SMALL, *names, "--by", "time", "--time", "on")), expected)


def test_every_format(csv, tmp_path, run) -> None:
    rows = json.loads(run(csv, *SMALL, "--json").out)
    assert [row["model"] for row in rows] == ["KolmogorovDescent", *rivals()]
    assert rows[0]["coverage"] is None
    assert rows[0]["rmse"] > 0
    path = tmp_path / "scores.parquet"
    assert f"written: {path}" in run(csv, *SMALL, "--output", path).err
    assert pd.read_parquet(path)["rmse"][0] == rows[0]["rmse"]


def test_a_person_sees_one_row_per_model(csv) -> None:
    code, seen = in_terminal("evaluate", csv, *SMALL, NO_COLOR="1")
    assert code == 0
    assert seen.count("│ BiasModel") == 1
    assert "coverage: of intervals of 90 %" in seen
    assert "±" not in seen
    code, seen = in_terminal("evaluate", csv, *SMALL, "--folds", 2, NO_COLOR="1")
    assert seen.count("│ BiasModel") == 1
    assert seen.count("±") == 5 * 6  # five models; no coverage


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "time"], "No column is named like the time; the columns are 'user', 'item'"),
        (["--by", "time"], "Say which holds it: --time NAME."),
        (
            ["--by", "time", "--time", "item"],
            "The time of line 2 in column 'item' is 'i0': write it as",
        ),
        (["--by", "users"], "--by: 'users' is not one of 'entries', 'time'"),
        (["--time", "when"], "--time when is for a split by time. Say --by time."),
        (["--folds", 2, "--test-size", 0.3], "--test-size is for one split"),
        (["--folds", 2, "--by", "time", "--time", "when"], "--folds makes random folds"),
        (["--folds", 1], "--folds: 1 is no whole number of at least 2"),
        (["--test-size", 1], "--test-size: 1 is no finite number between 0 and 1"),
        (["--kind", "modle"], "--kind: 'modle' is none of model, posterior"),
        (["--like", "nan"], "--like nan must be a number"),
    ],
)
def test_mistakes_are_told_in_one_line(csv, run, options, message) -> None:
    err = run(csv, *SMALL, *options, code=2).err
    assert len(err.splitlines()) == 1
    assert message in err


def test_times_are_not_for_streams_and_wide_tables(ratings, tmp_path, run) -> None:
    err = run("-", *SMALL, "--by", "time", code=2, stdin=ratings.to_csv(index=False).encode()).err
    assert "--by time reads the table twice: name a file" in err
    path = tmp_path / "wide.csv"
    ratings.pivot(index="user", columns="item", values="rating").to_csv(path)
    err = run(path, *SMALL, "--by", "time", code=2).err
    assert "--by time needs a column of times, and this is a wide table" in err


def test_a_table_of_which_nothing_can_be_held_out(tmp_path, run) -> None:
    path = tmp_path / "few.csv"
    path.write_text("user,item,rating\nann,Alien,1\nbob,Heat,5\n")
    err = run(path, *SMALL, code=2).err
    assert "Nothing of the 2 entries can be held out" in err
    assert "Take a larger --test-size, or a larger table." in err
