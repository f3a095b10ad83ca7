"""The page in a real browser: what each view shows, and how one gets from one to another."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from eventspace import KolmogorovDescent
from eventspace.report import budget
from tests.page.conftest import HOSTILE, Visit

VIEWS = [
    "events",
    "event/2",
    "lattice",
    "lattice/3",
    "rules",
    "items",
    "item/3",
    "users",
    "user/5",
    "you",
    "ask",
    "compare/5/2",
    "fit",
]
RATED = re.compile(r"\(rated (.*)\)")


def names(page) -> Any:
    return page.evaluate("eventspace.space.names")


def number_of(page, item) -> Any:
    return names(page).index(budget.name_of(item))


def column(page, k: int, table: str = "main table") -> Any:
    return (
        page.locator(f"{table} >> nth=0").locator(f"tbody tr td:nth-child({k})").all_inner_texts()
    )


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens(visit, view) -> None:
    page = visit.go(view)
    assert page.locator("main h2").count() == 1
    assert page.locator("nav [aria-current=page]").count() == 1
    assert "Films & <more>" in page.title()


def test_hostile_titles_are_text(visit) -> None:
    page = visit.go("items")
    for title in HOSTILE[:-1]:
        page.goto(f"{visit.address}#/item/{number_of(page, title)}")
        page.wait_for_function("title => document.title.startsWith(title.slice(0, 5))", arg=title)
        assert page.locator("main h2 bdi").evaluate("e => e.textContent") == title
        assert page.locator("main h2 bdi *").count() == 0
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    hebrew = page.locator("main h2 bdi")
    visit.go(f"item/{number_of(page, HOSTILE[3])}")
    assert hebrew.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"


def test_search_by_keyboard_leads_to_the_item(visit) -> None:
    page = visit.go("events")
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Find an item")
    assert field.evaluate("e => e === document.activeElement")
    page.keyboard.type("film 1")
    options = page.get_by_role("listbox", name="Find an item").get_by_role("option")
    assert field.get_attribute("aria-expanded") == "true"
    found = options.all_inner_texts()
    assert len(found) == 10
    assert all("Film 1" in text for text in found)
    page.keyboard.press("ArrowDown")
    second = options.nth(1)
    assert second.get_attribute("aria-selected") == "true"
    assert field.get_attribute("aria-activedescendant") == second.get_attribute("id")
    wanted = second.locator("bdi").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(f"main h2:has-text('{wanted}')")
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.keyboard.press("/")
    page.keyboard.type("no such film")
    assert "Nothing of that name" in page.locator("#search li").inner_text()
    page.keyboard.press("Escape")
    assert field.get_attribute("aria-expanded") == "false"


def test_an_item_shows_what_the_order_says(visit, model) -> None:
    order = model.order()
    page = visit.go("items")
    for item in ("Film 03", "Film 17"):
        at = number_of(page, item)
        for above, wanted in ((True, order.consequents(item)), (False, order.antecedents(item))):
            found = page.evaluate("([i, up]) => eventspace.related(i, up)", [at, above])
            assert sorted(names(page)[i] for i in found) == sorted(
                budget.name_of(other) for other in wanted["item"]
            )
    page = visit.go(f"item/{at}")
    page.get_by_label("Ratings, at least").fill("1")
    n = int((~order.consequents(item)["equivalent"]).sum())
    page.wait_for_selector(f"caption:has-text('It implies {n} item')")


def test_walking_from_item_to_item(visit, model) -> None:
    page = visit.go("items")
    antecedents = model.order().antecedents
    start = next(i for i in model.item_ids_ if (~antecedents(i)["equivalent"]).any())
    page = visit.go(f"item/{number_of(page, start)}")
    page.get_by_label("Ratings, at least").fill("1")
    link = page.locator("table", has_text="Implied by").locator("tbody a").first
    wanted = link.inner_text()
    link.click()
    heading = "name => document.querySelector('main h2').textContent === name"
    page.wait_for_function(heading, arg=wanted)
    page.go_back()
    page.wait_for_function(heading, arg=budget.name_of(start))
    assert page.locator("main h2").inner_text() == budget.name_of(start)


@pytest.mark.parametrize("least", [1, 32])
def test_the_lattice_is_the_hasse_diagram(visit, model, least) -> None:
    page = visit.go("lattice")
    found = page.evaluate(
        """least => eventspace.hasse(eventspace.classesWith(least)).map(
             ([lower, upper]) => [eventspace.headOf(lower), eventspace.headOf(upper)])""",
        least,
    )
    wanted = model.order(least).hasse()
    pairs = {
        (budget.name_of(a), budget.name_of(b))
        for a, b in zip(wanted["lower_item"], wanted["upper_item"], strict=True)
    }
    assert {(names(page)[a], names(page)[b]) for a, b in found} == pairs
    assert pairs


def test_the_lattice_is_walked_by_keyboard_and_zoomed(visit) -> None:
    page = visit.go("lattice")
    classes = page.evaluate("eventspace.space.nClasses")
    assert page.locator(".box").count() == min(classes, 40)
    assert page.locator(".box[tabindex='0']").count() == 1
    page.locator(".box[tabindex='0']").focus()
    before = page.evaluate("document.activeElement.dataset.class")
    moved = False
    for key in ("ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        moved |= page.evaluate("document.activeElement.dataset.class") != before
    assert moved
    chosen = page.locator(".box.chosen")
    assert chosen.get_attribute("aria-pressed") == "true"
    head = chosen.locator("title").evaluate("e => e.textContent")
    assert page.locator(".panel h3").inner_text() == head
    shape = page.locator(".diagram > g")
    transform = shape.get_attribute("transform")
    page.get_by_role("button", name="Zoom in").click()
    assert shape.get_attribute("transform") != transform
    page.locator(".box.chosen").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('Lattice around')")
    assert page.locator(".box.chosen title").evaluate("e => e.textContent") == head


def test_the_lattice_around_an_item_names_it(visit, model) -> None:
    classes = model.order().classes()
    head = classes.loc[classes["size"] > 1, "item"].iloc[0]
    others = model.order().consequents(head)
    other = budget.name_of(others[others["equivalent"]]["item"].iloc[0])
    page = visit.go("lattice")
    visit.go(f"lattice/{names(page).index(other)}")
    assert page.locator(".box.chosen title").evaluate("e => e.textContent") == other
    assert page.locator(".panel h3").inner_text() == other


def test_the_lattice_is_dragged_and_clicked(visit) -> None:
    page = visit.go("lattice")
    shape, area = page.locator(".diagram > g"), page.locator(".diagram").bounding_box()
    before = shape.get_attribute("transform")
    x, y = area["x"] + 8, area["y"] + 120
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y - 30, steps=4)
    page.mouse.up()
    assert shape.get_attribute("transform") != before
    other = page.locator(".box:not(.chosen)").first.get_attribute("data-class")
    page.locator(f".box[data-class='{other}']").click()
    assert page.locator(".box.chosen").get_attribute("data-class") == other
    page.get_by_role("combobox", name="Find an item in the lattice").fill("Film 07")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('Lattice around Film 07')")


def test_pages_of_a_table_turn_by_keyboard(visit) -> None:
    page = visit.go("items")
    first = column(page, 1)
    button = page.get_by_role("button", name="Next")
    button.press("Enter")
    assert not set(first) & set(column(page, 1))
    assert button.evaluate("e => e === document.activeElement")
    assert button.get_attribute("aria-disabled") == "true"
    assert "26\u201340 of 40" in page.locator(".pager").inner_text()


def test_a_user_is_explained_as_the_model_does(visit, model) -> None:
    page = visit.go("users")
    who = page.evaluate("eventspace.data.users.name")
    for user, item in ((3, "Film 05"), (17, "Film 20"), (41, HOSTILE[0])):
        why = model.explain(who[user], item)
        at = number_of(page, item)
        found = page.evaluate(
            "([u, i]) => eventspace.explain(eventspace.personOf(u), i)", [user, at]
        )
        assert found["probability"] == pytest.approx(why.probability, abs=1e-6)
        assert found["population"] == pytest.approx(why.population, abs=1e-6)
        events = why.events
        true = events[events["comes_true"]]
        assert sorted(d for d, _ in found["comesTrue"]) == sorted(true["event"])
        rules = [(names(page)[r["other"]], r["kind"], r["speaks"]) for r in found["rules"]]
        kinds = {"equivalent": 0, "implies": 1, "implied": 2}
        assert sorted(rules) == sorted(
            (budget.name_of(rule.other_item), kinds[rule.kind], rule.speaks)
            for rule in why.rules.itertuples()
        )


def test_what_speaks_for_an_item_is_rated_at_or_above_the_middle(visit, model) -> None:
    middle = sum(model.observations_.scale) / 2
    sides = {"For": 0, "Against": 0}
    for user in (1, 4, 9):
        page = visit.go(f"user/{user}")
        panel = page.get_by_role("complementary", name="Why this prediction")
        for button in page.get_by_role("button", name="Why").all()[:12]:
            button.press("Enter")
            for side in sides:
                cited = panel.locator(f"h4:text('{side} it, from') + ul li").all_inner_texts()
                rated = [float(found[1]) for text in cited if (found := RATED.search(text))]
                assert all((value >= middle) == (side == "For") for value in rated)
                sides[side] += len(rated)
    assert min(sides.values()) > 0


def test_events_are_called_by_their_labels(visit, model) -> None:
    page, labels = visit.go("events"), model.events()["label"].tolist()
    labels = [budget.name_of(label) for label in labels]
    assert page.locator(".cards .label").all_text_contents() == labels
    assert page.locator(".cards h3 a").nth(2).get_attribute("title") == labels[2]
    page = visit.go("item/0")
    titles = [piece.get_attribute("title") for piece in page.locator(".strip span").all()]
    assert [title.partition("%: ")[2] for title in titles] == labels
    page = visit.go("users")
    heaviest = page.locator("td .event").first.inner_text().removeprefix("Event ")
    assert page.locator("td.told").first.text_content() == labels[int(heaviest)]


def test_a_users_predictions_and_why(visit, model) -> None:
    page = visit.go("user/4")
    who = page.evaluate("eventspace.data.users.name[4]")
    page.get_by_label("Ratings of an item, at least").fill("1")
    page.wait_for_timeout(300)
    best = model.recommend(who, 12)
    shown = [
        float(text.rstrip("%")) / 100 for text in column(page, 2, "table:has-text('not rated')")
    ]
    assert shown == pytest.approx(best["probability"].tolist(), abs=1e-3)
    button = page.locator("table", has_text="not rated").get_by_role("button", name="Why").nth(1)
    item = button.get_attribute("aria-label")
    button.press("Enter")
    panel = page.get_by_role("complementary", name="Why this prediction")
    assert panel.locator("h3").inner_text() == item
    assert page.evaluate("document.activeElement.tagName") == "H3"
    assert f"{shown[1]:.1%}" in panel.inner_text()
    page.get_by_role("combobox", name="Ask about any item").fill("Film 11")
    page.keyboard.press("Enter")
    assert panel.locator("h3").inner_text() == "Why Film 11?"


def test_the_fit_is_shown_in_numbers_too(visit, model) -> None:
    page = visit.go("fit")
    text = page.locator("main").inner_text()
    assert f"{model.proved_.sum()} of 40 (100.0%)" in text
    assert page.get_by_role("img", name="Calibration").count() == 1
    page.locator("summary", has_text="The numbers").first.click()
    costs = column(page, 2, "figure table")
    assert [float(cost.replace(",", "")) for cost in costs] == pytest.approx(
        model.history_, rel=1e-5
    )


@pytest.mark.parametrize("shape", [(3, 1), (1, 1), (4, 3)])
@pytest.mark.parametrize("n_events", [1, 40])
def test_small_models_have_pages(browser, tmp_path, shape, n_events) -> None:
    table = np.arange(shape[0] * shape[1]).reshape(shape) % 2
    model = KolmogorovDescent(n_events, random_state=0, n_jobs=1, n_init=1).fit(table)
    views = ["events", "event/0", "lattice", "lattice/0", "rules", "item/0", "user/0", "fit"]
    views += ["you", "ask", "compare", "compare/you"]
    with Visit(browser, model.report(tmp_path / "small.html")) as visit:
        for view in views:
            assert visit.go(view).locator("main h2").inner_text()


def test_an_address_that_ends_elsewhere_shows_the_first_view(visit) -> None:
    visit.page.goto(f"{visit.address}#elsewhere")
    assert visit.page.locator("main h2").inner_text() == "Events"


def test_a_page_without_users_says_so(browser, model, tmp_path) -> None:
    with Visit(browser, model.report(tmp_path / "nobody.html", users=[])) as visit:
        page = visit.go("users")
        assert "written without users" in page.locator("main").inner_text()
        visit.go("event/1")
        visit.go("user/3")  # there is none: the first view is shown
        assert page.locator("main h2").inner_text() == "Events"


def test_a_page_without_a_title_is_headed_with_its_file(browser, model, tmp_path) -> None:
    with Visit(browser, model.report(tmp_path / "my films.html")) as visit:
        page = visit.go("fit")
        assert page.locator("h1").inner_text() == "my films"
        assert (
            page.locator("#subtitle").inner_text().startswith("5 events · 60 users · 40 items · ")
        )
        lead = page.locator("main .lead").inner_text()
        assert "report(path, held_out) in Python" in lead
        assert "--evidence FILE on the command line" in lead


@pytest.mark.parametrize(
    ("view", "field", "drawn"),
    [
        ("item/3", "Ratings, at least", "main > .columns"),
        ("lattice/3", "Ratings, at least", ".stage"),
        ("user/5", "Ratings of an item, at least", "main .split tbody"),
        ("items", "Name contains", "main tbody"),
        ("users", "Name contains", "main tbody"),
        ("ask", "Expression", "main [role=status]"),
        ("compare/3/4", "Ratings of an item, at least", "main > .results"),
        ("rules", "Users who like both, at least", "main tbody"),
    ],
)
def test_five_quick_keys_draw_once(visit, view, field, drawn) -> None:
    page = visit.go(view)
    page.locator(drawn).first.evaluate(
        """target => {
          window.drawn = 0;
          new MutationObserver((records) => (window.drawn += records.length))
            .observe(target, { childList: true });
        }"""
    )
    page.get_by_label(field, exact=True).evaluate(
        """input => {
          for (const text of ['1', '12', '1', '', '2']) {
            input.value = text;
            input.dispatchEvent(new Event('input', { bubbles: true }));
          }
        }"""
    )
    page.wait_for_timeout(600)
    assert page.evaluate("window.drawn") == 1
