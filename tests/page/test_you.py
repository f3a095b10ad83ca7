"""Someone rates in the page: their PMF, predictions and reasons are those that Python finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, KolmogorovModel, Observations
from eventspace.pmf import Pairwise
from eventspace.report import budget
from tests.page.conftest import PHONE, Visit
from tests.page.test_views import column, names

# the PMF and the chances of all items for raters, each [[item, value], ...], as the page has them
SOLVE = """raters => raters.map((ratings) => {
  const pmf = eventspace.newPmf(new Map(ratings));
  return [pmf, eventspace.space.names.map((_, i) => eventspace.chancesUnder(pmf)(i))];
})"""


def raters(model: Any, n: int, seed: int = 0) -> list[dict[Any, float]]:
    """Random ratings by 1, 2, ... items, then of nearly all; values anywhere on the scale."""
    rng = np.random.default_rng(seed)
    items, (low, high) = list(model.item_ids_), model.observations_.scale
    sizes = [*range(1, n), len(items) - 3]
    return [
        {
            items[i]: round(float(rng.uniform(low, high)), rng.integers(4))
            for i in rng.permutation(len(items))[:size]
        }
        for size in sizes
    ]


def table_of(people: list[dict[Any, float]]) -> pd.DataFrame:
    rows = [(f"new {k:02}", i, v) for k, own in enumerate(people) for i, v in own.items()]
    return pd.DataFrame(rows, columns=["user", "item", "rating"])


def solved_alike(page: Any, model: Any, people: list[dict[Any, float]]) -> None:
    """The page's PMFs and predictions are those of ``transform``, to 1e-6."""
    pmf = model.transform(table_of(people))
    place = {name: i for i, name in enumerate(names(page))}
    given = [[[place[budget.name_of(i)], v] for i, v in own.items()] for own in people]
    found, chances = zip(*page.evaluate(SOLVE, given), strict=True)
    np.testing.assert_allclose(found, pmf, atol=1e-6)
    order = [place[budget.name_of(i)] for i in model.item_ids_]
    np.testing.assert_allclose(np.array(chances)[:, order], model.inverse_transform(pmf), atol=1e-6)


def test_ratings_give_the_pmf_of_transform(visit, model) -> None:
    solved_alike(visit.page, model, raters(model, 12))


def test_ratings_give_the_pmf_of_transform_in_the_default_model(
    browser, default_model, tmp_path
) -> None:
    with Visit(browser, default_model.report(tmp_path / "page.html")) as visit:
        solved_alike(visit.page, default_model, raters(default_model, 12))


@pytest.mark.parametrize(
    "settings",
    [
        {"pmf_penalty": 0.0},
        {"pmf_penalty": 0.3, "pmf_prior": "zero"},
        {"pmf_solver": Pairwise(tol=1e-3)},
        {"pmf_solver": Pairwise(tol=1e-12, max_steps=3)},
        {"n_events": 40, "n_init": 1},
        {"indicators": "shared"},
    ],
)
def test_every_kind_of_descent_is_solved_alike(browser, films, tmp_path, settings) -> None:
    model = KolmogorovDescent(**{"n_events": 5, "random_state": 0, "n_jobs": 1} | settings)
    model.fit(films)
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        solved_alike(visit.page, model, raters(model, 6))


@pytest.mark.parametrize("missing", ["no", 0.3])
@pytest.mark.parametrize("kind", [KolmogorovModel, KolmogorovDescent])
def test_where_what_is_missing_says_no(browser, films, tmp_path, kind, missing) -> None:
    visits = Observations.of(films[films["rating"] >= 3][["user", "item"]], missing=missing)
    model = kind(5, random_state=0, n_jobs=1).fit(visits)
    people = [dict.fromkeys(own, 1.0) for own in raters(model, 6)]
    people[0] = dict.fromkeys(people[1], 0.0)
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        solved_alike(visit.page, model, people)


def test_mass_on_an_event_that_never_occurred(browser, tmp_path) -> None:
    """Nobody gives mass to the last two events; who rates in the page may."""
    rng = np.random.default_rng(0)
    pmf = np.hstack([rng.dirichlet(np.ones(2), 20), np.zeros((20, 2))])
    sets = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]]) > 0
    seen = pd.DataFrame(pmf @ sets.T, columns=list("abcde"))
    model = KolmogorovDescent.from_parts(pmf, sets, seen)
    people = [{"d": 1.0, "a": 0.0}, {"d": 1.0, "e": 1.0, "b": 0.0}, {"b": 1.0}]
    assert model.transform(table_of(people))[:, 2:].max() > 0.1
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        solved_alike(visit.page, model, people)


def percents(texts: list[str]) -> list[float]:
    return [float(text.rstrip("%")) / 100 for text in texts]


def rate(page: Any, item: str, value: str) -> None:
    page.get_by_role("button", name=f"Rate {item} {value}", exact=True).press("Enter")


def test_who_rates_sees_at_once_what_follows(visit, model) -> None:
    page = visit.go("you")
    assert "Without ratings" in page.locator("main").inner_text()
    first, second = page.locator(".rating li bdi").all_inner_texts()[:2]
    rate(page, first, "5")
    rate(page, second, "1")
    page.get_by_role("combobox", name="Find an item to rate").fill("Film 17")
    page.keyboard.press("Enter")
    assert "Rate Film 17" in page.evaluate("document.activeElement.ariaLabel")
    rate(page, "Film 17", "4")
    rate(page, second, "2")  # another value takes its place
    long = {budget.name_of(item): item for item in model.item_ids_}
    own = {long[first]: 5.0, long[second]: 2.0, "Film 17": 4.0}
    pmf = model.transform(table_of([own]))
    np.testing.assert_allclose(percents(column(page, 2, ".pmf")), np.sort(pmf[0])[::-1], atol=6e-4)
    page.get_by_label("Ratings of an item, at least").fill("1")
    page.wait_for_timeout(300)
    chances = model.inverse_transform(pmf)[0]
    unrated = [p for item, p in zip(model.item_ids_, chances, strict=True) if item not in own]
    listed = column(page, 2, "table:has-text('not rated')")
    best = np.sort(unrated)[::-1][:12]
    np.testing.assert_allclose(percents(listed), best, atol=6e-4)
    button = page.locator("table", has_text="not rated").get_by_role("button", name="Why").first
    item = button.get_attribute("aria-label").removeprefix("Why ").removesuffix("?")
    button.press("Enter")
    panel = page.get_by_role("complementary", name="Why this prediction")
    assert f"{best[0]:.1%}" in panel.inner_text()
    assert "3 ratings by you" in panel.inner_text()
    cited = panel.locator("h4:text('For it, from what you have rated') + ul li bdi")
    speaking = [i for i, value in own.items() if value > 3]
    implying = [i for i in speaking if model.event(i) <= model.event(long[item])]
    assert sorted(cited.all_text_contents()) == sorted(map(budget.name_of, implying)) != []


def test_a_rating_is_taken_back(visit) -> None:
    page = visit.go("you")
    first = page.locator(".rating li bdi").first.inner_text()
    pressed = page.locator(".rating [aria-pressed=true]")
    before = page.locator(".pmf").inner_text()
    rate(page, first, "1")
    assert pressed.inner_text() == "1"
    assert page.locator(".pmf").inner_text() != before
    visit.go("events")
    visit.go("you")  # it is kept as long as the page is open
    rate(page, first, "1")
    assert pressed.count() == 0
    assert page.locator(".pmf").inner_text() == before
    rate(page, first, "3")
    page.get_by_role("button", name="Start again").click()
    assert pressed.count() == 0
    page.reload()
    assert pressed.count() == 0


def test_other_items_are_offered_till_all_were(visit) -> None:
    page = visit.go("you")
    offered = page.locator(".rating li bdi")
    kept = offered.nth(2).inner_text()
    page.locator(".rating li").nth(2).locator("button").last.click()
    seen = set(offered.all_text_contents())
    for _ in range(4):
        page.get_by_role("button", name="Other items").click()
        assert offered.first.inner_text() == kept
        assert offered.count() == 9
        seen |= set(offered.all_text_contents())
    assert seen == set(names(page))


@pytest.mark.parametrize(
    ("values", "offered"), [([0.0, 1.0], ["no", "yes"]), ([1.0, 3.0, 7.0], ["1", "3", "7"])]
)
def test_the_values_of_the_table_are_offered(browser, tmp_path, values, offered) -> None:
    table = np.random.default_rng(0).choice(values, (12, 6))
    model = KolmogorovDescent(2, random_state=0, n_init=1).fit(table)
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        page = visit.go("you")
        assert page.locator(".rating li").first.locator("button").all_inner_texts() == offered


def test_many_values_are_typed(browser, tmp_path) -> None:
    table = np.random.default_rng(0).random((30, 6)).round(3)
    model = KolmogorovDescent(3, random_state=0, n_init=1).fit(table)
    low, high = model.observations_.scale
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        page = visit.go("you")
        before = page.locator(".pmf").inner_text()
        field = page.get_by_label("Rate 3, from")
        field.fill(str(high + 1))  # beyond the scale: no rating
        assert page.locator(".pmf").inner_text() == before
        field.fill(str((low + 3 * high) / 4))
        pmf = model.transform(np.array([[np.nan] * 3 + [(low + 3 * high) / 4] + [np.nan] * 2]))
        assert f"{pmf.max():.1%}" in page.locator(".pmf").inner_text()


def test_a_page_without_users_takes_ratings(browser, model, tmp_path) -> None:
    with Visit(browser, model.report(tmp_path / "nobody.html", users=[])) as visit:
        page = visit.go("you")
        page.locator(".value").nth(1).click()
        assert page.locator(".rating [aria-pressed=true]").count() == 1
        page = visit.go("ask")
        assert "for you" in page.locator("main .facts").inner_text()
        assert visit.go("compare").locator("main h2").inner_text() == "Events"


def test_on_a_phone_the_values_of_an_item_stand_in_a_line(browser, written) -> None:
    with Visit(browser, written, **PHONE) as visit:
        page = visit.go("you")
        tops = page.locator(".rating li").first.locator("button")
        assert len({box.bounding_box()["y"] for box in tops.all()}) == 1
