"""Expressions in the page: the probabilities that Python's ``query`` gives, and its mistakes."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest

from eventspace import KolmogorovDescent
from eventspace._base.codes import unpack
from eventspace.logic.algebra import Event, Expression
from eventspace.logic.expressions import ExpressionError
from eventspace.report import budget
from tests.page.conftest import HOSTILE, Visit
from tests.page.test_you import raters, table_of

ASK = """([texts, pmfs]) => texts.map((text) => {
  try {
    const set = eventspace.setOf(text);
    return pmfs.map((pmf) => eventspace.probabilityIn(set, pmf));
  } catch (error) {
    return error.message;
  }
})"""
# pieces of expressions that are often wrong
PIECES = [
    "Film 01", "Film 02", "Film-03", "Film 04 - Film 05", "&", "|", "^", "-", "~", "(", ")", " ",
    '"', "'", "\\", '"Film 06"', "'Film 07'", "and", "not Film 08", "or", "<=", "🎬", "\u3000",
    "\x85", "\ufeff", "\t", "--", "Film 09's", '"a \\" b"', "", "(1999)",
    "constructor", "__proto__",
]  # fmt: skip


def expression(rng: Random, items: list[str], depth: int = 4) -> str:
    """A random expression that is right: any operators, spaces, quotes and parentheses."""
    if depth == 0 or rng.random() < 0.2:
        item = rng.choice(items)
        if item.startswith("Film") and rng.random() < 0.5:
            return item
        quote = rng.choice("\"'")
        return quote + re.sub(rf"([{quote}\\])", r"\\\1", item) + quote
    if rng.random() < 0.2:
        return f"~{' ' * rng.randrange(2)}({expression(rng, items, depth - 1)})"
    sides = [expression(rng, items, depth - 1) for _ in range(2)]
    sides = [f"({side})" if rng.random() < 0.4 else side for side in sides]
    return f" {rng.choice('&|^-')} ".join(sides)


def blank(text: str) -> str:
    return re.sub(r"[\s\ufffd]", " ", text)


def probability(event: Event, pmf: Any) -> Any:
    """Of an event, under PMFs that give mass to what occurs only."""
    return pmf @ unpack(event.code[None], pmf.shape[1])[0]


def everybody(page: Any) -> list[list[float]]:
    return [
        page.evaluate("eventspace.space.mass"),
        *page.evaluate("eventspace.data.users.name.map((_, u) => eventspace.personOf(u).pmf)"),
    ]


def told_alike(page: Any, model: Any) -> None:
    """Hundreds of expressions, for the population, all users, and people who rate in the page."""
    rng = Random(1)
    items = [item for item in model.item_ids_ if len(item) < 200]
    texts = [expression(rng, items) for _ in range(300)]
    users = page.evaluate("eventspace.data.users.name")
    people = raters(model, 4)
    new = model.transform(table_of(people))
    found = np.array(page.evaluate(ASK, [texts, [*everybody(page), *new.tolist()]]))
    events = [model.query(text) for text in texts]
    wanted = np.column_stack(
        [
            [event.probability() for event in events],
            [event.probability(users) for event in events],
            [probability(event, new) for event in events],
        ]
    )
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert len(np.unique(wanted[:, 0].round(9))) > 20


def test_expressions_have_the_probabilities_of_query(visit, model) -> None:
    told_alike(visit.page, model)


def test_expressions_of_the_default_model(browser, default_model, tmp_path) -> None:
    with Visit(browser, default_model.report(tmp_path / "page.html")) as visit:
        told_alike(visit.page, default_model)


def test_more_than_32_events(browser, tmp_path) -> None:
    rng = np.random.default_rng(0)
    pmf = rng.dirichlet(np.full(64, 0.3), 20)
    pmf[:, [7, 40]] = 0  # which never occur
    pmf /= pmf.sum(axis=1, keepdims=True)
    sets = rng.random((6, 64)) < 0.5
    model = KolmogorovDescent.from_parts(pmf, sets, np.clip(pmf @ sets.T, 0, 1))
    texts = [expression(Random(seed), [str(i) for i in range(6)]) for seed in range(100)]
    with Visit(browser, model.report(tmp_path / "page.html")) as visit:
        found = visit.page.evaluate(ASK, [texts, everybody(visit.page)])
        for text, p in zip(texts, found, strict=True):
            users = [str(u) for u in visit.page.evaluate("eventspace.data.users.name")]
            wanted = model.query(text).probability([int(u) for u in users])
            np.testing.assert_allclose(p[1:], wanted, atol=1e-6)
            assert p[0] == pytest.approx(model.query(text).probability(), abs=1e-6)


def test_mistakes_are_those_of_query(visit, model) -> None:
    """Random texts: both take them or neither, for the same reason at the same place."""
    rng = Random(2)
    texts = ["".join(rng.choices(PIECES, k=rng.randrange(8))) for _ in range(2_000)]
    found = visit.page.evaluate(ASK, [texts, [everybody(visit.page)[0]]])
    right, unknown, wrong = 0, 0, 0
    for text, answer in zip(texts, found, strict=True):
        try:
            assert answer == [pytest.approx(model.query(text).probability(), abs=1e-6)], text
            right += 1
        except ExpressionError as error:
            said = str(error).partition("\n")[0]
            if "The model knows no item" in said:
                assert answer.startswith(said.partition("The model")[0] + "the page knows no item")
                unknown += 1
            else:  # blanks in a cited title are shown as spaces there
                assert blank(answer) == blank(said)
                wrong += 1
    assert min(right, unknown, wrong) > 50


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Flm 03", "At character 1: the page knows no item “Flm 03”: did you mean “Film 03”"),
        ("Film 03 and Film 04", 'For "and", "or", "not" write & | ~.'),
        ("Film 03-Film 04", "A minus needs a space on either side."),
        ("Film 03 <= Film 04", "What an item implies stands on its own page."),
        ("🎬🎬 & (Film 03", 'At character 6: this "(" is never closed.'),
        ("Film 03 (1999)", 'a "(" in a title needs quotes: "Film 03 (1999)".'),
        ("", "the expression is empty."),
        ("<img src=x onerror=alert(1)>", "expected one of & | ^ - before this"),
    ],
)
def test_a_mistake_is_shown_with_its_place(visit, text, said) -> None:
    page = visit.go("ask")
    page.get_by_label("Expression").fill(text)
    page.wait_for_selector("main .mistake")
    assert said in page.locator("main .mistake").inner_text()
    assert page.locator("main mark").count() == 1
    assert page.locator("main img").count() == 0
    assert not page.locator("main table").is_visible()


def test_anyone_is_answered(visit, model) -> None:
    page = visit.go("you")
    first = page.locator(".rating li bdi").first.inner_text()
    page.get_by_role("button", name=f"Rate {first} 5", exact=True).click()
    visit.go("ask")
    text = f"Film 03 - Film 04 | {''.join(Expression.of_item(HOSTILE[2]).texts())}"
    page.get_by_label("Expression").fill(text)
    event = model.query(text)
    page.wait_for_function(
        "p => document.querySelector('.large').textContent === p", arg=f"{event.probability():.2%}"
    )
    item = next(i for i in model.item_ids_ if budget.name_of(i) == first)
    mine = probability(event, model.transform(table_of([{item: 5.0}])))[0]
    assert f"{mine:.2%}" in page.locator("main .facts").inner_text()
    page.get_by_label("User's name contains").fill("user 17")
    page.wait_for_function("() => document.querySelectorAll('main tbody tr').length === 1")
    row = page.locator("main tbody tr").inner_text()
    assert f"{event.probability('user 17'):.2%}" in row


def test_items_and_operators_are_inserted(visit, model) -> None:
    page = visit.go("ask")
    field = page.get_by_label("Expression")
    field.fill("")
    for title in (HOSTILE[2], "Film 05"):
        page.get_by_role("combobox", name="Insert an item").fill(title)
        page.keyboard.press("Enter")
        if title != "Film 05":
            page.get_by_role("button", name="Insert and", exact=True).click()
            page.get_by_role("button", name="Insert not", exact=True).click()
    text = field.input_value()
    assert str(model.query(text)) == text == str(model.event(HOSTILE[2]) & ~model.event("Film 05"))
    wanted = f"{model.query(text).probability():.2%}"
    page.wait_for_function("p => document.querySelector('.large')?.textContent === p", arg=wanted)
