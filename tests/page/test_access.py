"""The page for everyone: by keyboard and screen reader, dark, on a phone, with very many items."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Any

import pytest

from tests.page.conftest import PHONE, Visit
from tests.page.test_views import VIEWS


def luminance(colour: str) -> float:
    parts = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def colours(page, selector: str) -> Any:
    """Of a text: its own, and that of what it stands on; in a picture, of the box behind it."""
    return page.locator(selector).first.evaluate(
        """e => {
          const style = getComputedStyle(e);
          const solid = (c) => c !== 'none' && c !== 'rgba(0, 0, 0, 0)';
          let [ground, faint] = [e, false];
          const behind = () => ground.querySelector?.(':scope > rect');
          const colour = () =>
            behind() ? getComputedStyle(behind()).fill : getComputedStyle(ground).backgroundColor;
          for (let p = e; p; p = p.parentElement) faint ||= getComputedStyle(p).opacity !== '1';
          while (!solid(colour())) ground = ground.parentElement;
          return [faint ? colour() : e.ownerSVGElement ? style.fill : style.color, colour()];
        }"""
    )


def test_the_first_key_skips_to_the_content(visit) -> None:
    page = visit.go("rules")
    page.evaluate("document.activeElement.blur()")
    page.reload()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    assert page.locator("main h2").inner_text() == "Rules"


@pytest.mark.parametrize("view", VIEWS)
def test_everything_has_a_name_and_tables_are_tables(visit, view) -> None:
    all_is_named(visit.go(view))


def test_tested_rules_are_named_and_have_their_numbers(visit_tested) -> None:
    page = visit_tested.go("rules")
    all_is_named(page)
    assert page.get_by_role("img", name="Promised and found").count() == 1
    charts_have_numbers(page)


def all_is_named(page) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select, [role=button], svg")]
          .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))
          .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("thead th:not([scope=col])").count() == 0
    assert page.locator("h1").count() == 1
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((e) => Number(e.tagName[1]))"
    )
    assert all(b - a <= 1 for a, b in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible_in_light_and_dark(browser, written, scheme) -> None:
    boxes = [
        f".box{kind} {text}" for kind in ("", ".chosen", ".faint") for text in (".who", ".what")
    ]
    with Visit(browser, written, color_scheme=scheme) as visit:
        page = visit.go("events")
        ground = luminance(colours(page, "body")[1])
        assert ground < 0.05 if scheme == "dark" else ground > 0.8
        for view, texts in {
            "events": ["main .lead", ".card h4", ".card .quiet", "nav a", ".card li a"],
            "rules": ["th button", "td", "td a", ".field label", "#theme", "svg .axis", "svg text"],
            "lattice": [".panel .quiet", ".button", ".rank", *boxes],
            "fit": ["svg .key", "svg text"],
            "you": [
                "[aria-pressed=true]",
                "[aria-pressed=false]",
                ".card ol .figure",
                ".pmf .words",
            ],
            "compare/3/4": [".pair th", ".pair .number", "td .under"],
            "ask": [".symbol", ".mistake", "mark"],
        }.items():
            visit.go(view)
            if view == "lattice":
                page.locator(".box").nth(7).click()  # neither the largest nor the smallest
            if view == "you":
                page.locator(".value").nth(2).click()
            if view == "ask":
                page.get_by_label("Expression").fill("Film 03 & & Film 04")
                page.wait_for_selector("mark")
            for text in texts:
                assert contrast(*colours(page, text)) >= 4.5, (view, text)


def test_the_colours_can_be_chosen(browser, written) -> None:
    with Visit(browser, written, color_scheme="light") as visit:
        page = visit.page
        button = page.locator("#theme")
        light = colours(page, "body")[1]
        for label, dark in (("Light", False), ("Dark", True), ("Auto", False)):
            button.click()
            assert label in button.inner_text()
            assert (colours(page, "body")[1] != light) == dark


@pytest.mark.parametrize("view", VIEWS)
def test_on_a_phone_nothing_sticks_out(browser, written, view) -> None:
    with Visit(browser, written, **PHONE) as visit:
        page = visit.go(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        beyond = page.evaluate(
            """() => [...document.querySelectorAll("main *, header *")]
              .filter((e) => !e.closest(".scroll, .canvas, .unseen, nav, [hidden]"))
              .filter((e) => e.getBoundingClientRect().right > 391)
              .map((e) => e.outerHTML.slice(0, 80))"""
        )
        assert beyond == []
        assert page.locator("nav a").count() == 8


@pytest.mark.parametrize("view", ["rules", "items", "users", "user/5"])
def test_on_a_phone_every_column_can_be_reached(browser, tested, view) -> None:
    with Visit(browser, tested, **PHONE) as visit:
        page = visit.go(view)
        last = page.locator("main .scroll").first.locator("thead th").last
        hidden = page.locator("main .scroll :is(th, td)").evaluate_all(
            "cells => cells.filter((e) => getComputedStyle(e).display === 'none').length"
        )
        assert hidden == 0
        last.scroll_into_view_if_needed()
        place = last.bounding_box()
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 390


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_a_rule_is_read_without_scrolling_sideways(browser, tested, width) -> None:
    settings = PHONE | {"viewport": {"width": width, "height": 800}}
    with Visit(browser, tested, **settings) as visit:
        for view in ("rules", "item/3"):
            page = visit.go(view)
            table = page.locator("main table.rules")
            assert table.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
            row = table.locator("tbody tr").first
            places = [cell.bounding_box() for cell in row.locator("td").all()]
            assert all(p["x"] >= 14 and p["x"] + p["width"] <= width - 14 for p in places)
            overlaps = [
                (a, b)
                for a, b in combinations(places, 2)
                if a["x"] < b["x"] + b["width"] - 1
                and b["x"] < a["x"] + a["width"] - 1
                and a["y"] < b["y"] + b["height"] - 1
                and b["y"] < a["y"] + a["height"] - 1
            ]
            assert overlaps == []
            said = row.locator("td.number").evaluate_all(
                "cells => cells.map((e) => getComputedStyle(e, '::before').content)"
            )
            heads = table.locator("thead th.number button").all_text_contents()
            assert [text.strip('"') for text in said] == heads
            assert row.get_by_role("cell").count() == table.get_by_role("columnheader").count()


def test_columns_are_called_by_their_names(visit_tested) -> None:
    visit, page = visit_tested, visit_tested.go("rules")
    for label in (
        "if",
        "then",
        "like it",
        "anyway",
        "gain",
        "gain at least",
        "users",
        "found",
        "q",
    ):
        assert page.get_by_role("button", name=label, exact=True).count() == 1
    assert page.get_by_role("columnheader", name="kind", exact=True).count() == 1
    assert page.locator("td.kind").get_by_role("img", name="proved").count() == 25
    visit.go("user/5")
    assert page.get_by_role("columnheader", name="why", exact=True).count() == 2


@pytest.mark.parametrize("view", VIEWS)
def test_every_chart_has_its_numbers_or_says_where_they_are(visit, view) -> None:
    page = visit.go(view)
    charts_have_numbers(page)
    assert page.locator("figure").count() == {"rules": 1, "fit": 3}.get(view, 0)


def charts_have_numbers(page) -> None:
    for figure in page.locator("figure").all():
        assert figure.locator("svg[role=img]").count() == 1
        told = "numbers are in the table above" in figure.locator("svg").get_attribute("aria-label")
        assert told != (figure.locator("details table").count() > 0)


def test_a_hundred_thousand_items_are_not_drawn(browser, many_items, tmp_path) -> None:
    """However many there are, few are on the screen: that is what keeps the page quick."""
    file = many_items.report(tmp_path / "many.html")
    with Visit(browser, file) as visit:
        page = visit.page
        page.get_by_role("combobox", name="Find an item").fill("item 0777")
        page.get_by_role("option").nth(9).wait_for()
        assert page.get_by_role("option").count() == 10
        page.keyboard.press("Enter")
        page.wait_for_selector("h2:has-text('Item 0777')")
        for view in [*VIEWS, "lattice/99999", "item/99999"]:
            visit.go(view)
            assert page.locator("tbody").evaluate_all(
                "all => Math.max(0, ...all.map((body) => body.rows.length))"
            ) <= max(25, many_items.n_events)
            assert page.locator("main *:not(figure *)").count() < 1_500, view
            assert page.locator("figure *").count() < 6_500, view
        visit.go("items")
        page.locator("th", has_text="item").get_by_role("button").click()
        assert page.locator("tbody tr").first.inner_text().startswith("Item 000000")
        kept = "Rules in the table are those among the 1,000 items"
        assert kept in page.locator("footer").inner_text()
