"""The page for everyone: by keyboard and screen reader, dark, on a phone, with very many items."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from tests.page.conftest import Visit
from tests.page.test_views import VIEWS


def luminance(colour: str) -> float:
    parts = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def colours(page, selector: str) -> Any:
    """Of a text: its own, and that of what it stands on."""
    return page.locator(selector).first.evaluate(
        """e => {
          let ground = e;
          const colour = () => getComputedStyle(ground).backgroundColor;
          while (colour() === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
          return [getComputedStyle(e).color, colour()];
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
    page = visit.go(view)
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
    visit = Visit(browser, written, color_scheme=scheme)
    page = visit.go("events")
    ground = luminance(colours(page, "body")[1])
    assert ground < 0.05 if scheme == "dark" else ground > 0.8
    for view, texts in {
        "events": ["main .lead", ".card h4", ".card .quiet", "nav a", ".card li a"],
        "rules": ["th button", "td", "td a", ".field label", "#theme"],
        "lattice": [".panel .quiet", ".button"],
    }.items():
        visit.go(view)
        for text in texts:
            assert contrast(*colours(page, text)) >= 4.5, (view, text)
    assert visit.faults == []


def test_the_colours_can_be_chosen(browser, written) -> None:
    visit = Visit(browser, written, color_scheme="light")
    page = visit.page
    button = page.locator("#theme")
    light = colours(page, "body")[1]
    for label, dark in (("Light", False), ("Dark", True), ("Auto", False)):
        button.click()
        assert label in button.inner_text()
        assert (colours(page, "body")[1] != light) == dark
    assert visit.faults == []


@pytest.mark.parametrize("view", VIEWS)
def test_on_a_phone_nothing_sticks_out(browser, written, view) -> None:
    visit = Visit(browser, written, viewport={"width": 390, "height": 844}, has_touch=True)
    page = visit.go(view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("main *, header *")]
          .filter((e) => !e.closest(".scroll, .canvas, .unseen, nav, [hidden]"))
          .filter((e) => e.getBoundingClientRect().right > 391)
          .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert beyond == []
    assert page.locator("nav a").count() == 6
    assert visit.faults == []


def test_a_hundred_thousand_items_stay_quick(browser, many_items, tmp_path) -> None:
    """However many there are, few are on the screen: that is what keeps the page quick."""
    file = many_items.report(tmp_path / "many.html")
    visit = Visit(browser, file)
    page = visit.page
    page.get_by_role("combobox", name="Find an item").fill("item 0777")
    page.get_by_role("option").nth(9).wait_for()
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('Item 0777')")
    for view in (
        "lattice",
        "lattice/0",
        "lattice/99999",
        "rules",
        "items",
        "users",
        "user/0",
        "fit",
    ):
        visit.go(view)
    visit.go("items")
    page.locator("th", has_text="item").get_by_role("button").click()
    assert page.locator("tbody tr").first.inner_text().startswith("Item 000000")
    assert page.locator("main *").count() < 2_000
    assert (
        "Rules in the table are those among the 1,000 items" in page.locator("footer").inner_text()
    )
    assert visit.faults == []
