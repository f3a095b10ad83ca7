"""Two people side by side: what they share, where they differ and where they agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eventspace.report import budget
from tests.page.test_views import column
from tests.page.test_you import percents, table_of


def people(page: Any, *at: int) -> list[str]:
    names: list[str] = page.evaluate("eventspace.data.users.name")
    return [names[u] for u in at]


def fact(page: Any, term: str) -> str:
    text: str = page.locator(".facts div", has_text=term).locator("dd").inner_text()
    return text


def test_two_users_are_compared_as_the_model_has_them(visit, model) -> None:
    page = visit.go("compare/3/8")
    who = people(page, 3, 8)
    assert page.locator("main h2").inner_text() == f"User {who[0]} and User {who[1]}"
    page.get_by_label("Ratings of an item, at least").fill("1")
    page.wait_for_timeout(300)
    users = list(model.user_ids_)
    one, other = model.pmf_[[users.index(name) for name in who]]
    assert fact(page, "mass in common") == f"{np.minimum(one, other).sum():.1%}"
    order = np.argsort(-np.abs(one - other), kind="stable")
    for pmf, k in ((one, 2), (other, 3)):
        shown = page.locator(f".pair tbody td:nth-child({k}) .number").all_inner_texts()
        np.testing.assert_allclose(percents(shown), pmf[order], atol=6e-4)

    p, q = model.predict()[[users.index(name) for name in who]]
    everyone = model.pmf_.mean(axis=0) @ model.indicators_.T
    assert fact(page, "mean difference of chances") == f"{np.abs(p - q).mean():.1%}"
    apart = np.sort(np.abs(p - q))[::-1][:10]
    signed = texts_of(page, "Where they differ most")
    np.testing.assert_allclose(np.abs(signed) / 100, apart, atol=6e-3)

    a, b = p - everyone, q - everyone
    agreement = np.where(a * b > 0, np.minimum(np.abs(a), np.abs(b)), 0)
    best = np.sort(agreement)[::-1][:10]
    np.testing.assert_allclose(
        np.abs(texts_of(page, "Where they agree most")) / 100, best, atol=6e-3
    )
    names = [budget.name_of(item) for item in model.item_ids_]
    rows = column(page, 1, "table:has-text('agree most')")
    first = names.index(rows[0])
    sign = np.sign(texts_of(page, "Where they agree most")[0])
    assert sign == np.sign(a[first]) == np.sign(b[first])


def texts_of(page: Any, caption: str) -> np.ndarray:
    texts = column(page, 4, f"table:has-text('{caption}')")
    return np.array([float(text.replace("\u2212", "-")) for text in texts])


def test_ratings_of_both_are_shown_and_compared(visit, films) -> None:
    page = visit.go("compare/0/1")
    one, other = (
        films[films["user"] == name].set_index("item")["rating"] for name in people(page, 0, 1)
    )
    both = (one - other).dropna().abs()
    assert fact(page, "items both have rated") == str(len(both))
    shown = float(fact(page, "mean difference of these ratings"))
    assert shown == pytest.approx(both.mean(), rel=1e-2)
    rated = page.locator("td .under").first.inner_text()
    assert rated.startswith("rated ")


def test_only_items_with_evidence_count(visit, films) -> None:
    page = visit.go("compare/0/1")
    sizes = films["item"].value_counts()
    least = int(sizes.median())
    page.get_by_label("Ratings of an item, at least").fill(str(least))
    page.wait_for_timeout(300)
    pager = page.locator(".table", has_text="differ most").locator(".pager").inner_text()
    assert f"of {int((sizes >= least).sum())}" in pager


def test_others_are_chosen_and_you_are_one_of_them(visit, model) -> None:
    page = visit.go("you")
    item = page.locator(".rating li bdi").first.inner_text()
    page.locator(".rating li").first.locator("button").last.click()
    page.get_by_role("link", name="Compare with a user").click()
    page.wait_for_selector("h2:has-text('You and User')")
    pmf = model.transform(
        table_of([{id_: 5.0 for id_ in model.item_ids_ if budget.name_of(id_) == item}])
    )
    assert f"{pmf.max():.1%}" in page.locator(".pair").inner_text()
    page.get_by_role("combobox", name="Another second user").fill("user 41")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('You and User user 41')")
    page.get_by_role("combobox", name="Another first user").fill("user 7")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('User user 7 and User user 41')")


@pytest.mark.parametrize("at", ["compare", "compare/0", "compare/x/y", "compare/99/-1"])
def test_whoever_is_not_there_is_someone_else(visit, at) -> None:
    page = visit.go(at)
    who = people(page, 0, 1)
    assert page.locator("main h2").inner_text() == f"User {who[0]} and User {who[1]}"


def test_a_user_leads_to_a_comparison(visit) -> None:
    page = visit.go("user/4")
    page.get_by_role("link", name="Compare with another user").click()
    page.wait_for_selector(f"h2:has-text('User {people(page, 4)[0]} and User')")
    assert page.url.endswith("#/compare/4")
