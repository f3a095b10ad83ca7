"""Times as they are written, and times that would make a model forget all it knows."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from eventspace import KolmogorovDescent, Observations
from eventspace.data.forgetting import _respelt
from eventspace.data.readers.tables import table_of
from eventspace.data.times import ranked_times
from tests.command import in_process

DAYS = ["2020-01-01", "2020-12-31", "2021-12-31", "2021-12-31"]  # a year apart, but for the last
SECONDS = [float(pd.Timestamp(day).timestamp()) for day in DAYS]


def table(times: Any, name: str = "timestamp") -> pd.DataFrame:
    rows = {"user": [0, 0, 1, 1], "item": [0, 1, 0, 1], "value": [0.1, 0.9, 0.8, 0.2]}
    return pd.DataFrame(rows).assign(**{name: times})


def one(time: Any, name: str = "timestamp") -> pd.DataFrame:
    return pd.DataFrame({"user": [0], "item": [1], "value": [0.5], name: [time]})


@pytest.fixture
def model() -> KolmogorovDescent:
    seen = Observations.of(table(SECONDS), half_life="365D")
    return KolmogorovDescent(2, random_state=0).fit(seen)


@pytest.mark.parametrize(
    "times",
    [
        DAYS,
        [f"{day}T00:00:00Z" for day in DAYS],
        [DAYS[0], *(f"{day} 00:00" for day in DAYS[1:])],
        pd.Series(DAYS, dtype="string"),
        [dt.date.fromisoformat(day) for day in DAYS],
        pd.Series([dt.datetime.fromisoformat(day) for day in DAYS], dtype=object),
        pd.to_datetime(DAYS).astype("datetime64[s]"),
    ],
    ids=["text", "UTC", "mixed", "string", "date", "datetime", "datetime64"],
)
def test_dates_may_be_text_and_objects(times, tmp_path) -> None:
    rows = table(times)
    rows.to_csv(tmp_path / "t.csv", index=False)
    for data in (rows, pl.from_pandas(rows), tmp_path / "t.csv"):
        seen = Observations.of(data, half_life="365D")
        assert_allclose(seen.by_user.weight, [0.25, 0.5, 1, 1], rtol=1e-6)
        assert ranked_times(table_of(data), None).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("bad", ["31.12.2021", "2021-13-01", "20211231", "1640908800", "x", 5])
def test_what_is_no_date_is_named_with_its_row(bad, tmp_path) -> None:
    rows = table([*DAYS[:2], bad, DAYS[3]])
    with pytest.raises(ValueError, match=f"time of row 2 in column 'timestamp' is {bad!r}: write"):
        Observations.of(rows, half_life="365D")
    rows.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=f"time of line 4 in column 'timestamp' is '{bad}': write"):
        Observations.of(tmp_path / "t.csv", half_life="365D")


@pytest.mark.parametrize(
    ("unit", "factor"), [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)]
)
def test_parts_of_seconds_beside_a_duration_are_refused(unit, factor, model) -> None:
    remedy = f"If it is in {unit}, divide by {factor:.0f}, or make the column dates"
    with pytest.raises(ValueError, match=f"row [02] .* after the year 2100, .*{remedy}"):
        Observations.of(table(np.array(SECONDS) * factor), half_life="365D")
    before = model.fitted_
    with pytest.raises(ValueError, match=f"time of row 0 in column 'timestamp' .*{remedy}"):
        model.update(one(SECONDS[-1] * factor))
    assert model.fitted_ is before
    own = Observations.of(table(np.array(SECONDS) * 1e3), half_life=365 * 86400e3)
    assert_allclose(own.by_user.weight, [0.25, 0.5, 1, 1], rtol=1e-6)


def test_a_half_life_beside_dates_needs_a_unit() -> None:
    for life in (365, "365", np.float32(365)):
        with pytest.raises(ValueError, match="has no unit, and the times are dates: write '365D'"):
            Observations.of(table(DAYS), half_life=life)


def test_what_is_no_half_life_is_refused_as_such_beside_dates_too() -> None:
    for life in (0, float("nan"), "-1", 10**400):
        with pytest.raises(ValueError, match="is no time after which a rating counts half"):
            Observations.of(table(DAYS), half_life=life)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ([20190501, 20200101, 20201231, 20211231], "20211231. .* it is 1970-08-22"),
        (np.array(SECONDS) // 86400, "18992. .* it is 1970-01-01"),
        (np.array(SECONDS) // 60, "27348480. .* it is 1970-11-13"),
        ([2018, 2019, 2020, 2021], "2021. .* it is 1970-01-01"),
        ([3.5, 4, 4.5, 5], "5. .* it is 1970-01-01"),
        (np.array(SECONDS) - 1e12, "-998359091200. .* it is before year 1"),
    ],
    ids=["yyyymmdd", "days", "minutes", "years", "stars", "ancient"],
)
def test_numbers_beside_a_duration_are_seconds_since_1970(times, told, tmp_path, capsys) -> None:
    """In another unit hardly any rating would fade. A half-life without a unit is the way out."""
    rows = table(times)
    said = rf"row [23] in column 'timestamp', the newest, is {told}: make .*dates, or multiply"
    for life, seconds in (("365D", 365 * 86400), (dt.timedelta(1), 86400)):
        with pytest.raises(ValueError, match=rf"{said}.*unit: half_life={seconds} if"):
            Observations.of(rows, half_life=life)
    assert Observations.of(rows, half_life=365 * 86400).n_observed == 4
    rows.to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", tmp_path / "t.csv", "-o", tmp_path / "m", "--half-life", "365D"]
    done = in_process([*fit, "--time", "timestamp"], capsys, code=2)
    assert "state a half-life without a unit: --half-life 31536000 if" in done.err
    assert not (tmp_path / "m").exists()


def test_an_update_in_another_unit_says_what_its_times_would_be() -> None:
    """Numbers are refused. A table that was read with a half-life of its own is warned of."""
    seen = Observations.of(table(DAYS), half_life="3652D")
    model = KolmogorovDescent(2, random_state=0).fit(seen)
    before = model.fitted_
    for time, told, count in (
        (20211231, "1970-08-22", "0.028 at most"),
        (-61680341885, "0015-06-06", "less than a millionth"),
        (-1e14, "before year 1", "less than a millionth"),
    ):
        said = (
            rf"newest, is {time:.15g}, which as seconds since 1970 is {told}\. The model has half"
        )
        with pytest.raises(ValueError, match=said):
            model.update(one(time))
        assert model.fitted_ is before
        said = rf"\({told} as seconds since 1970\): these ratings count {count}"
        own = Observations.of(one(time), scale=(0, 1), half_life=3652 * 86400)
        with pytest.warns(UserWarning, match=f"is {time:.15g} {said}"):
            clone(model).fit(seen).update(own)


def test_a_half_life_without_a_unit_is_told_to_be_seconds_where_the_times_are() -> None:
    """Whether few ratings still count, or all others would be refused."""
    hint = r"look like seconds since 1970, so the half-life of 365 is in .* write '365D' if it is"
    rows = pd.DataFrame({"user": range(1000), "item": 0, "value": 0.5})
    steady = rows.assign(time=1.2e9 + 1000.0 * np.arange(1000))
    for life in (365, "365"):
        with pytest.warns(UserWarning, match=rf"is 2008-01-22\. .* like 0\.18 new ones\. .*{hint}"):
            Observations.of(steady, half_life=life)
    evenings = rows.assign(time=np.where(np.arange(1000) < 995, 1.2e9, 1.3e9))
    with pytest.raises(ValueError, match=rf"millionth\..*{hint}.*Else correct .*than 6\.08333 min"):
        Observations.of(evenings, half_life=365)
    own = evenings.assign(time=evenings["time"] / 1e3)
    with pytest.raises(ValueError, match=r"millionth\. Correct the time, .*-life than 365\."):
        Observations.of(own, half_life=365)
    with pytest.raises(ValueError, match=r"millionth\. Correct the time, .*-life than 2 days\."):
        Observations.of(evenings, half_life=172800)


def test_one_late_date_does_not_make_the_others_count_for_nothing() -> None:
    typo = table([*DAYS[:3], "2071-12-31"])
    with pytest.raises(
        ValueError, match=r"row 3 .* is 2071-12-31\. Beside it the other 3 .*than 365 days"
    ):
        Observations.of(typo, half_life="365D")
    assert Observations.of(typo, half_life="3650D").n_observed == 4
    with pytest.raises(ValueError, match=r"row 3 .* is 2199-01-01, after the year 2100"):
        Observations.of(table([*DAYS[:3], "2199-01-01"]), half_life="9999D")
    steady = pd.DataFrame({"user": range(500), "item": 0, "value": 0.5, "time": range(500)})
    with pytest.warns(UserWarning, match="the 499 older ratings count like 1 new ones") as caught:
        Observations.of(steady, half_life=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Observations.of(steady, half_life=4)


def test_an_update_does_not_make_all_that_is_known_count_for_nothing(model) -> None:
    late = one("2071-12-31")
    said = r"2071-12-31\. Beside it all that is known .*half-life 365 days, now 2021-12-31"
    with pytest.raises(ValueError, match=f"The time of row 0 in column 'timestamp' is {said}"):
        model.update(late)
    with pytest.raises(ValueError, match=f"The newest time is {said}"):
        model.update(Observations.of(late, scale=(0, 1), half_life="365D"))
    with pytest.raises(ValueError, match="is 2199-01-01, after the year 2100"):
        model.update(one("2199-01-01"))
    with pytest.raises(
        ValueError, match=r"Beside it all.*If it is in milliseconds, divide by 1000"
    ):
        model.update(one(4.2e12))
    mixed = pd.concat([one("2001-01-01"), one("2001-01-02"), one("2022-12-31")])
    model.update(mixed.assign(user=[7, 8, 9]))  # ratings may come late
    assert model.observations_.forgetting.words == "half-life 365 days, now 2022-12-31"


def test_an_update_beside_which_all_that_is_known_hardly_counts_is_warned_of(
    tmp_path, capsys
) -> None:
    """As after a long silence. A seventh half-life leaves less than a hundredth."""
    now = Observations.of(table(DAYS[-1:] * 4), half_life="30D")
    model = KolmogorovDescent(2, random_state=0).fit(now)
    model.save(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.update(one("2022-06-29"))  # six half-lives
    said = (
        r"The newest time is 2023-01-25\. Beside it the ratings of the model count like 0\.0082 "
        r"new ones\. Before, it had half-life 30 days, now 2022-06-29\. If .* is wrong, go back"
    )
    with pytest.warns(UserWarning, match=said) as caught:
        model.update(one("2023-01-25"))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    one("2022-09-01").to_csv(tmp_path / "t.csv", index=False)
    done = in_process(["update", tmp_path / "m", tmp_path / "t.csv"], capsys)
    assert "Beside it the ratings of the model count like 0.014 new ones." in done.err


def test_a_rating_of_many_trials_fades_as_one(model) -> None:
    rows = table([SECONDS[-1]] * 4).assign(successes=[100, 900, 800, 200], trials=1000)
    seen = Observations.of(rows.drop(columns="value"), half_life="30D")
    model = KolmogorovDescent(2, random_state=0).fit(seen)
    late = one("2022-09-01").assign(successes=1, trials=2).drop(columns="value")
    with pytest.warns(UserWarning, match="the ratings of the model count like 0.014 new ones"):
        model.update(late)


def test_the_future_is_refused_where_all_that_is_known_would_hardly_count(
    model, tmp_path, capsys
) -> None:
    """A rating of next year is a mistake, or generated: then the model is of the future, too."""
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    said = "2035-12-31. Beside it all that is known would count less than a hundredth"
    with pytest.raises(ValueError, match=rf"row 0 .* is {said} .* in the future\. Correct it, or"):
        model.update(one("2035-12-31"))
    one("2035-12-31").to_csv(tmp_path / "t.csv", index=False)
    done = in_process(["update", tmp_path / "m", tmp_path / "t.csv"], capsys, code=2)
    assert f"is {said}" in done.err
    assert (tmp_path / "m").read_bytes() == before
    days = ["2080-01-01", "2081-01-01", "2082-01-01", "2083-01-01"]
    generated = Observations.of(table(days), half_life="365D")
    model = KolmogorovDescent(2, random_state=0).fit(generated)
    with pytest.warns(UserWarning, match=r"is 2093-01-01\. Beside it the ratings of the model"):
        model.update(one("2093-01-01"))
    own = Observations.of(table([0.0, 1, 2, 3]), half_life=0.1e9)  # of a start of its own
    model = KolmogorovDescent(2, random_state=0).fit(own)
    with pytest.warns(UserWarning, match=r"Beside it the ratings of the model"):
        model.update(one(1.9e9))


def test_an_update_says_what_to_do_about_its_times(model, tmp_path, capsys) -> None:
    with pytest.raises(ValueError, match=r"named like the time; .*Name that .*'timestamp'\.$"):
        model.update(one(SECONDS[-1], "when"))
    wide = pd.DataFrame(np.full((2, 6), 0.5), columns=[f"item{k}" for k in range(6)])
    with pytest.raises(ValueError, match="need times: pass a long table"):
        model.update(wide)
    path = tmp_path / "m"
    model.save(path)
    done = in_process(["info", path, "--json"], capsys)
    clock = model.observations_.forgetting
    assert json.loads(done.out).items() >= clock._asdict().items()
    one(SECONDS[-1], "when").to_csv(tmp_path / "t.csv", index=False)
    done = in_process(["update", path, tmp_path / "t.csv"], capsys, code=2)
    assert "Say which holds it: --time NAME." in done.err
    done = in_process(["fit", tmp_path / "t.csv", "-o", path, "--time", "when"], capsys, code=2)
    assert "--time when is for ratings that fade: state --half-life too." in done.err
    KolmogorovDescent(2, random_state=0).fit(table(SECONDS)).save(path)
    done = in_process(["update", path, tmp_path / "t.csv", "--time", "when"], capsys, code=2)
    assert "the ratings of this model do not fade" in done.err


@pytest.mark.parametrize(
    ("life", "words"),
    [
        ("1w", "7 days"),
        ("36H", "1.5 days"),
        ("1 d 12 h", "1.5 days"),
        ("1h", "1 hour"),
        ("P1DT12H", "1.5 days"),
        ("1 days 12:00:00", "1.5 days"),
        ("90T", "1.5 hours"),
        ("90MIN", "1.5 hours"),
        ("90s", "1.5 minutes"),
        (0.5, "0.5"),
    ],
)
def test_the_clock_is_told_in_words(life, words) -> None:
    times = [SECONDS[-1]] * 4 if isinstance(life, str) else [1.0, 2.0, 2.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = Observations.of(table(times), half_life=life)
    now = "2021-12-31" if isinstance(life, str) else "2"
    assert f", half-life {words}, now {now}, scale" in repr(seen)
    summary = KolmogorovDescent(2, random_state=0).fit(seen).summary()
    assert f"half-life {words}, now {now}" in summary
    with pytest.raises(ValueError, match=f"is {words}, not '3D': leave half_life out"):
        Observations.of(seen, half_life="3D")


def test_units_are_spelt_so_that_no_version_of_pandas_warns_of_them() -> None:
    spelt = {"90MIN": "90min", "1 H 5 MS": "1 h 5 ms", "2US": "2us", "2NS": "2ns", "2d": "2D"}
    assert {life: _respelt(life) for life in spelt} == spelt
    assert _respelt("3 Minutes") == "3 Minutes"


def test_the_times_of_rows_that_are_dropped_do_not_matter(model) -> None:
    """Those without a value, or of weight zero."""
    dropped = table([*DAYS[:3], "2071-12-31"]).assign(weight=[1.0, 1, 1, 0])
    seen = Observations.of(dropped, half_life="365D")
    assert seen.forgetting is not None
    assert seen.forgetting.now == pd.Timestamp(DAYS[2]).timestamp()
    late = pd.concat([one("2022-01-31"), one("2199-12-31").assign(value=np.nan)])
    with pytest.warns(UserWarning, match="1 of 2"):
        model.update(late)


def test_most_ratings_may_lie_long_ago_if_not_nearly_all_do() -> None:
    """As those of one winter beside the next, or all but the last day's by a wrong unit."""
    rows = pd.DataFrame({"user": range(1000), "item": 0, "value": 0.5, "time": 0.0})
    rows.loc[980:, "time"] = 1000.0
    with pytest.warns(UserWarning, match="the 980 older ratings count like 1.2e-35 new ones"):
        assert Observations.of(rows, half_life=7).n_observed == 1000
    days = rows.assign(time=1.7e9 + 86400 * (np.arange(1000) // 20))  # 20 on the last day
    with pytest.warns(UserWarning, match="write '365D' if it is in days"):
        Observations.of(days, half_life=365)
    stale = rows.assign(time=np.where(rows.index < 10, 0.0, 1000.0))
    assert Observations.of(stale, half_life=7).n_observed == 1000  # ten that are stale are usual
    rows.loc[980:990, "time"] = 0.0
    with pytest.raises(ValueError, match="Beside it and 8 more the other 991 ratings, until 0"):
        Observations.of(rows, half_life=7)


def test_dates_are_told_as_dates_whenever_they_were() -> None:
    rows = table(["1950-01-01", "1950-02-01", "1950-03-01", "1969-01-01"])
    with pytest.raises(ValueError, match=r"is 1969-01-01\. .*until 1950-03-01, .* than 30 days"):
        Observations.of(rows, half_life="30D")
    far = table(np.array([*DAYS[:3], "9999-12-31"], "datetime64[s]"))
    with pytest.raises(ValueError, match="is 9999-12-31, after the year 2100"):
        Observations.of(far, half_life="365D")
