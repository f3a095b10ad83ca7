"""The Rules view in a real browser: what it says, shows, filters, draws and gives away."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent
from eventspace.report import budget
from tests.page.conftest import Visit
from tests.page.test_views import column, names, number_of

ALWAYS = ["if", "kind", "then", "like it", "anyway", "gain", "gain at least", "users"]
TESTED = ["found", "found anyway", "cases", "q"]
SIGNS = {"implies": "⇒", "equivalent": "⇔", "soft": "⇝"}
SHOWN = 25


def rules_of(model, X=None) -> pd.DataFrame:
    """The rules as the page has them."""
    found: pd.DataFrame = model.rules(X, top=budget.RULES)
    return found.assign(
        **{side: found[side].map(budget.name_of) for side in ("if_item", "then_item")}
    )


def heads(page) -> list[str]:
    labels = page.locator("main table >> nth=0").locator("thead th").all_text_contents()
    return [" ".join(label.split()) for label in labels]


def shown(page, label: str) -> Any:
    """What a column of the first table says, row by row."""
    return column(page, heads(page).index(label) + 1)


def percents(page, label: str) -> list[float]:
    texts = [text.split("%")[0] for text in shown(page, label)]
    return [float("nan" if text == "\u2013" else text) / 100 for text in texts]


def wait_for_count(page, n: int) -> None:
    page.wait_for_function(
        "n => document.querySelector('main [role=status]').textContent.startsWith(`${n} rule`)",
        arg=int(n),
    )


def choose(page, kind: str = "", text: str = "", both: int = 0) -> None:
    page.get_by_label("Kind").select_option(kind)
    page.get_by_label("Items with the text").fill(text)
    page.get_by_label("Users who like both, at least").fill(str(both))


def saved(page) -> pd.DataFrame:
    """What the page gives away."""
    with page.expect_download() as started:
        page.get_by_role("button", name="Export CSV").click()
    return pd.read_csv(io.StringIO(started.value.path().read_text(encoding="utf-8")))


def dots(page, title: str) -> pd.DataFrame:
    """The rules of a picture: where they are, how large, and what is said of each."""
    found = (
        page.locator("figure", has_text=title)
        .locator("circle.rule")
        .evaluate_all(
            """all => all.map((dot) => ({
          x: Number(dot.getAttribute('cx')), y: Number(dot.getAttribute('cy')),
          r: Number(dot.getAttribute('r')), words: dot.textContent,
        }))"""
        )
    )
    return pd.DataFrame(found)


def lies_on_a_scale(places: Any, numbers: Any) -> bool:
    """Whether places are those of the numbers along an axis."""
    slope, start = np.polyfit(numbers, places, 1)
    return bool(abs(slope) > 1 and np.abs(slope * numbers + start - places).max() < 0.1)


def test_it_says_what_a_rule_is(visit) -> None:
    text = visit.go("rules").locator("main").inner_text()
    assert "of those who like the first item, so many like the second; of all, so many" in text
    assert "the next user who meets both" in text
    assert "A like is 4 or more." in text
    assert "90% interval" in text
    assert "⇒ and ⇔ are proved by this model, ⇝ is not" in text
    assert "held-out" not in text
    assert visit.page.get_by_role("checkbox").count() == 0


def test_rules_are_shown_in_the_models_order(visit, model) -> None:
    page, wanted = visit.go("rules"), rules_of(model)
    assert heads(page) == ALWAYS
    count = page.locator("main [role=status]")
    assert count.inner_text() == f"{len(wanted):,} rules of {len(wanted):,} on this page"
    first = wanted[:SHOWN]
    assert not first["gain"].is_monotonic_decreasing  # varied
    assert set(first["kind"]) == {"implies", "equivalent"}
    for label, key in (("if", "if_item"), ("then", "then_item")):
        assert [text.split() for text in shown(page, label)] == [
            text.split() for text in first[key]
        ]
    assert shown(page, "kind") == first["kind"].map(SIGNS).tolist()
    for label, key in {
        "like it": "confidence",
        "anyway": "base",
        "gain": "gain",
        "gain at least": "gain_low",
    }.items():
        assert percents(page, label) == pytest.approx(first[key].tolist(), abs=0.00501)
    users = [[int(n) for n in re.findall(r"\d+", text)] for text in shown(page, "users")]
    assert users == first[["like_both", "like_if", "users"]].to_numpy().tolist()


def test_the_band_is_the_interval_and_the_tick_the_base(visit, model) -> None:
    page, wanted = visit.go("rules"), rules_of(model)[:SHOWN]
    bars = page.locator("main .interval .bar").evaluate_all(
        """bars => bars.map((bar) => {
          const all = bar.getBoundingClientRect();
          const [band, tick] = [...bar.children].map((e) => e.getBoundingClientRect());
          return [band.left, band.right, tick.left].map((x) => (x - all.left) / all.width);
        })"""
    )
    ends = wanted[["confidence_low", "confidence_high", "base"]].to_numpy()
    np.testing.assert_allclose(bars, ends, atol=0.03)  # a band has some width in any case
    told = [re.findall(r"\d+", text) for text in shown(page, "like it")]
    np.testing.assert_allclose(
        [[int(low), int(high)] for _, low, high in told], 100 * ends[:, :2], atol=0.51
    )


def test_a_column_sorts_down_then_up_then_not(visit, model) -> None:
    page, wanted = visit.go("rules"), rules_of(model)
    first = shown(page, "if")
    for label, key in (("users", "like_both"), ("gain at least", "gain_low")):
        header = page.locator("th", has=page.get_by_role("button", name=label, exact=True))
        button = header.get_by_role("button")
        for direction, down in (("descending", True), ("ascending", False)):
            button.press("Enter")
            assert header.get_attribute("aria-sort") == direction
            numbers = sorted(wanted[key], reverse=down)[:SHOWN]
            if label == "users":
                assert [int(text.split()[0]) for text in shown(page, label)] == numbers
            else:
                assert percents(page, label) == pytest.approx(numbers, abs=0.00501)
        button.press("Enter")
        assert header.get_attribute("aria-sort") == "none"
        assert shown(page, "if") == first


def test_rules_are_filtered_and_exported(visit, model) -> None:
    page, wanted = visit.go("rules"), rules_of(model)
    proved = wanted["kind"] != "soft"
    for kind, keeps in {
        "proved": proved,
        "not proved ⇝": ~proved,
        "implies ⇒": wanted["kind"] == "implies",
        "equivalent ⇔": wanted["kind"] == "equivalent",
    }.items():
        page.get_by_label("Kind").select_option(label=kind)
        assert 0 < keeps.sum() < len(wanted)
        wait_for_count(page, keeps.sum())
        assert shown(page, "kind") == wanted["kind"][keeps].map(SIGNS).tolist()[:SHOWN]
        assert len(dots(page, "What the rules gain")) == keeps.sum()

    choose(page, "implies", "FILM 1", 5)
    here = wanted["if_item"].str.contains("Film 1") | wanted["then_item"].str.contains("Film 1")
    kept = wanted[(wanted["like_both"] >= 5) & (wanted["kind"] == "implies") & here]
    assert 0 < len(kept) < (here & (wanted["kind"] == "implies")).sum()
    wait_for_count(page, len(kept))
    table, kept = saved(page), kept.replace(r"^=", "'=", regex=True).reset_index(drop=True)
    pd.testing.assert_frame_equal(table, kept, check_dtype=False, rtol=1e-4)

    choose(page, text="no such film")
    page.wait_for_selector("td:has-text('No rule passes the filters.')")


def test_what_the_rules_gain_is_drawn(visit, model) -> None:
    page, wanted = visit.go("rules"), rules_of(model)
    assert page.locator("figure").count() == 1
    found = dots(page, "What the rules gain")
    assert lies_on_a_scale(found["x"], wanted["base"])
    assert lies_on_a_scale(found["y"], wanted["confidence"])
    assert np.all(np.diff(found["r"][wanted["like_both"].argsort(kind="stable")]) >= 0)
    assert found["words"][0].endswith(f"{wanted['like_both'][0]} users like both")
    assert page.locator("circle.rule").nth(0).evaluate("e => (e.dispatchEvent(new Event('click')))")
    page.wait_for_function("() => location.hash.startsWith('#/item/')")
    assert page.evaluate("location.hash") == f"#/item/{number_of(page, wanted['if_item'][0])}"


def test_held_out_data_test_the_rules(visit_tested, model, held_out) -> None:
    page, wanted = visit_tested.go("rules"), rules_of(model, held_out)
    assert "found in the held-out ratings" in page.locator("main .lead").inner_text()
    assert heads(page) == ALWAYS + TESTED
    first = wanted[:SHOWN]
    assert first["held_out_confidence"].isna().any()
    for label, key in {"found": "held_out_confidence", "found anyway": "held_out_base"}.items():
        assert percents(page, label) == pytest.approx(first[key].tolist(), abs=0.00501, nan_ok=True)
    assert [int(n) for n in shown(page, "cases")] == first["held_out_like_if"].tolist()
    q = first["q_value"]
    assert q.between(0.01, 0.09).any()
    assert percents(page, "q") == pytest.approx(q.tolist(), abs=0.00501)
    assert percents(page, "q")[q.argmin()] == pytest.approx(q.min(), abs=0.000501)

    page.get_by_label("holds on held-out data (q < 5%)").check()
    kept = wanted[wanted["q_value"] < 0.05]
    assert 0 < len(kept) < SHOWN
    wait_for_count(page, len(kept))
    table = saved(page)
    assert table["q_value"].tolist() == pytest.approx(kept["q_value"].tolist(), rel=1e-4)
    page.get_by_label("holds on held-out data (q < 5%)").uncheck()
    wait_for_count(page, len(wanted))
    assert (
        saved(page)["held_out_confidence"].isna().sum() == (wanted["held_out_like_if"] == 0).sum()
    )


def test_what_was_promised_and_found_is_drawn(visit_tested, model, held_out) -> None:
    page, wanted = visit_tested.go("rules"), rules_of(model, held_out)
    known = wanted[wanted["held_out_like_if"] > 0].reset_index(drop=True)
    assert 0 < len(known) < len(wanted)
    found = dots(page, "Promised and found")
    assert lies_on_a_scale(found["x"], known["confidence"])
    assert lies_on_a_scale(found["y"], known["held_out_confidence"])
    assert np.all(np.diff(found["r"][known["held_out_like_if"].argsort(kind="stable")]) >= 0)

    figure = page.locator("figure", has_text="Promised and found")
    figure.locator("summary").click()
    rows = figure.locator("tbody tr").all_inner_texts()
    parts = pd.DataFrame(
        [[float(text.strip("%")) for text in row.split("\t")] for row in rows],
        columns=["promised", "found", "cases", "rules"],
    )
    cases = known["held_out_like_if"]
    assert 5 <= len(parts) <= 10
    assert len(parts) == figure.locator("rect.second").count()
    assert parts["promised"].is_monotonic_increasing
    assert parts["cases"].sum() == cases.sum()
    assert parts["rules"].sum() == len(known)
    assert parts["cases"].max() < 2 * cases.sum() / 10
    for name, key in (("promised", "confidence"), ("found", "held_out_confidence")):
        mean = np.average(parts[name], weights=parts["cases"])
        assert mean == pytest.approx(100 * np.average(known[key], weights=cases), abs=0.051)


def test_inclusion_is_shown_where_it_is_known(browser, model, tmp_path) -> None:
    wanted = model.rules(top=budget.RULES, restarts=2)["inclusion"].sort_values()
    with Visit(browser, model.report(tmp_path / "page.html", restarts=2)) as visit:
        page = visit.go("rules")
        assert heads(page) == [*ALWAYS, "inclusion"]
        for down in (True, False):
            page.get_by_role("button", name="inclusion", exact=True).click()
            share = wanted[::-1] if down else wanted
            assert percents(page, "inclusion") == share.tolist()[:SHOWN]
    assert 0 == wanted.min() < wanted.max() == 1


def test_the_rules_of_an_item_are_on_its_page(visit, model) -> None:
    page, wanted = visit.go("rules"), rules_of(model)
    sides = wanted[["if_item", "then_item"]]
    own = wanted[(sides == "Film 05").any(axis=1)].sort_values("gain", ascending=False)
    assert len(own) > 3
    visit.go(f"item/{number_of(page, 'Film 05')}")
    table = page.locator("table", has_text="Rules of the table with this item")
    rows = table.locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => [0, 2].map((k) => row.cells[k].textContent))"
    )
    assert rows == own[["if_item", "then_item"]].to_numpy().tolist()[:10]
    assert set(names(page)) >= {name for row in rows for name in row}


def test_a_model_without_rules_says_so(browser, tmp_path) -> None:
    model = KolmogorovDescent.from_parts(
        np.full((2, 3), 1 / 3), np.eye(3) > 0, np.full((2, 3), 1 / 3)
    )
    assert len(model.rules(top=None)) == 0
    with Visit(browser, model.report(tmp_path / "none.html")) as visit:
        text = visit.go("rules").locator("main").inner_text()
    assert "There is no rule to list" in text
    assert "filters" not in text
    assert "A like is" not in text  # nothing is one
