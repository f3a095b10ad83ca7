"""The diagram of the lattice: lines go around boxes, fingers scroll the page, faint is legible."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent
from tests.page.conftest import PHONE, Visit

# pairs of a line and a box that it passes behind although it is not one of its ends
BEHIND = """() => {
  const boxes = [...document.querySelectorAll('.box')].map((box) => {
    const { e: x, f: y } = box.transform.baseVal[0].matrix;
    const { width, height } = box.querySelector('rect').getBBox();
    return { c: box.dataset.class, x, y, width, height };
  });
  return [...document.querySelectorAll('.edge')].flatMap((edge) => {
    const { lower, upper } = edge.dataset;
    const others = boxes.filter(({ c }) => c !== lower && c !== upper);
    const hit = new Set();
    for (let at = 0; at < edge.getTotalLength(); at += 6) {
      const p = edge.getPointAtLength(at);
      for (const { c, x, y, width, height } of others)
        if (p.x > x && p.x < x + width && p.y > y && p.y < y + height) hit.add(c);
    }
    return [...hit].map((c) => `${lower}-${upper} behind ${c}`);
  });
}"""


@pytest.fixture(scope="session")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 70 items of 7 events, large sets and small: many lines pass many rows."""
    rng = np.random.default_rng(0)
    sets = rng.random((70, 7)) < rng.random((70, 1))
    pmf = rng.dirichlet(np.ones(7), 4)
    model = KolmogorovDescent.from_parts(pmf, sets, pmf @ sets.T)
    return model.report(tmp_path_factory.mktemp("dense") / "dense.html")


@pytest.mark.parametrize("settings", [{"viewport": {"width": 1280, "height": 900}}, PHONE])
@pytest.mark.parametrize("view", ["lattice", "lattice/7"])
def test_no_line_passes_behind_a_box(browser, dense, view, settings) -> None:
    with Visit(browser, dense, **settings) as visit:
        page = visit.go(view)
        if view == "lattice":
            page.get_by_label("Best-known classes").select_option("80")
            page.wait_for_function("() => document.querySelectorAll('.box').length > 40")
        edges = page.evaluate("eventspace.hasse(eventspace.classesWith(1)).length")
        found = page.locator(".edge").count()
        assert found == edges if view == "lattice" else 0 < found < edges
        assert page.evaluate(BEHIND) == []


def test_boxes_do_not_overlap_and_fill_their_rows(browser, dense) -> None:
    with Visit(browser, dense) as visit:
        page = visit.go("lattice")
        places = page.locator(".box").evaluate_all(
            "boxes => boxes.map((b) => b.transform.baseVal[0].matrix).map(({ e, f }) => [e, f])"
        )
    rows: dict[float, list[float]] = {}
    for x, y in places:
        rows.setdefault(y, []).append(x)
    assert max(map(len, rows.values())) >= 2
    for row in rows.values():
        assert all(b - a >= 158 for a, b in pairwise(sorted(row)))


def box_place(page) -> tuple[float, float]:
    """The middle of the diagram on the screen."""
    area = page.locator(".diagram").bounding_box()
    return area["x"] + area["width"] / 2, area["y"] + 150


def touch(session, kind: str, *points: tuple[float, float]) -> None:
    session.send(
        "Input.dispatchTouchEvent",
        {
            "type": kind,
            "touchPoints": [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)],
        },
    )


def test_one_finger_scrolls_the_page_and_two_move_the_diagram(browser, written) -> None:
    with Visit(browser, written, **PHONE) as visit:
        page = visit.go("lattice")
        session = visit.context.new_cdp_session(page)
        shape = page.locator(".diagram > g")
        before = shape.get_attribute("transform")
        x, y = box_place(page)
        touch(session, "touchStart", (x, y))
        for k in range(1, 9):
            touch(session, "touchMove", (x, y - 25 * k))
        touch(session, "touchEnd")
        page.wait_for_function("() => scrollY > 100")
        assert shape.get_attribute("transform") == before

        page.wait_for_timeout(1000)  # it rolls on for a while
        page.evaluate("scrollTo(0, 0)")
        touch(session, "touchStart", (x - 40, y), (x + 40, y))
        for k in range(1, 6):
            touch(session, "touchMove", (x - 40 - 9 * k, y + 9 * k), (x + 40 + 9 * k, y + 9 * k))
        touch(session, "touchEnd")
        after = shape.get_attribute("transform")
        assert after.partition("scale")[2] != before.partition("scale")[2]
        assert page.evaluate("scrollY") == 0


SERIES = [
    "Lord of the Rings: The Fellowship of the Ring, The (2001)",
    "Lord of the Rings: The Two Towers, The (2002)",
    "Lord of the Rings: The Return of the King, The (2003)",
    "Harry Potter and the Half-Blood Prince, Extended Edition I",
    "Harry Potter and the Half-Blood Prince, Extended Edition II",
    "Seven Samurai (1954)",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz 1",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz 2",
]


@pytest.mark.parametrize("settings", [{}, PHONE])
def test_parts_of_a_series_are_told_apart(browser, tmp_path, settings) -> None:
    """A title that does not fit is cut in the middle, and nothing is wider than its box."""
    sets = np.eye(len(SERIES)) > 0
    pmf = np.full((2, len(SERIES)), 1 / len(SERIES))
    model = KolmogorovDescent.from_parts(pmf, sets, pd.DataFrame(pmf @ sets.T, columns=SERIES))
    with Visit(browser, model.report(tmp_path / "series.html"), **settings) as visit:
        boxes = visit.go("lattice").locator(".box").all()
        shown = {}
        for box in boxes:
            title = box.locator("title").evaluate("e => e.textContent")
            lines = box.locator(".who")
            begin, _, end = "".join(lines.all_text_contents()).partition("…")
            shown[title] = begin, end
            squeezed = title.replace(" ", "")
            assert squeezed.startswith(begin.replace(" ", ""))
            assert squeezed.endswith(end.replace(" ", ""))
            room = box.locator("rect").bounding_box()["width"]
            assert all(line.bounding_box()["width"] < room for line in lines.all())
        assert len(set(shown.values())) == len(SERIES) == len(boxes)
        assert shown["Seven Samurai (1954)"] == ("Seven Samurai (1954)", "")
