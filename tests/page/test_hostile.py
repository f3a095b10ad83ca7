"""Whatever text comes from data or the address is shown as it is, and runs nothing."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent
from tests.command import in_process
from tests.page.conftest import HOSTILE, Visit
from tests.page.test_views import VIEWS, number_of

BREAKS = """<img src=x onerror="window.hacked = 1">'"</title></script><script>hacked = 1</script>"""


def shows_nothing_but_text(visit: Visit, *texts: str) -> None:
    """All views: these texts are in one of them, and none has become markup."""
    seen = ""
    for view in VIEWS:
        page = visit.go(view)
        seen += "".join(page.locator("header, main, footer").all_text_contents())
        assert page.locator("main :is(img, script, b, iframe)").count() == 0
        assert page.evaluate("window.hacked") is None
    for text in texts:
        assert text in seen


def hostile_frame(films: pd.DataFrame) -> pd.DataFrame:
    return films.assign(user=[f"{name} {BREAKS}" for name in films["user"]])


def test_users_tags_title_and_evidence(browser, films, tmp_path) -> None:
    table = hostile_frame(films)
    model = KolmogorovDescent(3, n_init=1, random_state=0).fit(table)
    tags = {
        item: f"{BREAKS} {k % 3}|<b>{k % 2}</b>" for k, item in enumerate(table["item"].unique())
    }
    stranger = pd.DataFrame({"user": [BREAKS], "item": [BREAKS + "?"], "rating": [3.0]})
    evidence = pd.concat([table[::5].assign(rating=lambda some: 6 - some["rating"]), stranger])
    file = model.report(tmp_path / "page.html", evidence, tags=tags, title=BREAKS)
    with Visit(browser, file) as visit:
        shows_nothing_but_text(visit, f"{BREAKS} 1", "<b>1</b>")
        page = visit.go("user/5")
        assert page.locator("h1").inner_text() == BREAKS
        assert page.locator("h2").inner_text().startswith("User user ")
        assert page.locator("h2").inner_text().endswith(BREAKS)


def test_titles_tags_and_evidence_of_the_command_line(browser, films, tmp_path, capsys) -> None:
    number = {title: 100 + k for k, title in enumerate(films["item"].unique())}
    table = hostile_frame(films).assign(item=films["item"].map(number))
    table.to_csv(tmp_path / "ratings.csv", index=False)
    known = pd.DataFrame({"item": number.values(), "title": number.keys(), "tags": BREAKS})
    known.to_csv(tmp_path / "films.csv", index=False)
    where, rating, about = (tmp_path / name for name in ("m", "ratings.csv", "films.csv"))
    told, named = tmp_path / "told.html", tmp_path / "named.html"
    for command in (
        ["fit", rating, "-o", where, "--events", 3],
        ["report", where, "-o", told, "--tags", about, "--evidence", rating],
        ["report", where, "-o", named, "--tags", about, "--titles", about],
    ):
        in_process(command, capsys)
    with Visit(browser, told) as visit:
        shows_nothing_but_text(visit, BREAKS)
        assert "held-out ratings" in visit.go("rules").locator("main").inner_text()
    with Visit(browser, named) as visit:
        shows_nothing_but_text(visit, BREAKS, HOSTILE[2])
        page = visit.go("items")
        visit.go(f"item/{number_of(page, HOSTILE[1])}")
        assert page.locator("main h2").inner_text() == HOSTILE[1]


@pytest.mark.parametrize(
    "view", ["__proto__", "constructor", "toString/1", "hasOwnProperty", "user/x", "%00", "a/b/c"]
)
def test_an_unknown_address_is_the_first_view(visit, view) -> None:
    page = visit.go(view)
    assert page.locator("main h2").inner_text() == "Events"
    assert page.locator("nav [aria-current=page]").inner_text() == "Events"


def test_no_exported_cell_is_a_formula(browser, tmp_path) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(1)", '=HYPERLINK("http://x", "y")', "\tx", "plain-1", "Ü=1"]
    sets = np.arange(1, 9)[:, None] >> np.arange(4) & 1 > 0
    pmf = np.random.default_rng(3).dirichlet(np.ones(4), 100)
    model = KolmogorovDescent.from_parts(pmf, sets, pd.DataFrame(pmf @ sets.T, columns=names))
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        page = visit.go("rules")
        with page.expect_download() as started:
            page.get_by_role("button", name="Export CSV").click()
        text = started.value.path().read_text(encoding="utf-8")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    wanted = model.rules(top=None)
    assert len(rows) == len(wanted) > 5
    found = {cell for row in rows for cell in row[:2]}
    assert found <= {name if name[0].isalpha() else f"'{name}" for name in names}
    assert any(cell.startswith("'=") for cell in found)
    for name in ("gain_low", "agreement_gain"):  # numbers stay numbers, below 0 or not
        numbers = [float(row[head.index(name)]) for row in rows]
        assert sorted(numbers) == pytest.approx(sorted(wanted[name]), rel=1e-4)
    assert min(numbers) < 0
