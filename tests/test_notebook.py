"""In a notebook, models, rules and the rest show themselves."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from sklearn import config_context

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
    load,
)
from tests.fits import fitted

EVIL = "<script>alert('&amp;')</script>"


class Tags(HTMLParser):
    """Which tags a text has; every one that opens is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def text_of(shown: str) -> str:
    """What a person reads."""
    return html.unescape(re.sub(r"<[^>]*>", "", shown))


@pytest.mark.parametrize("kind", [KolmogorovDescent, KolmogorovEnsemble, KolmogorovModel])
def test_a_model_shows_its_parameters_and_its_summary(kind, ratings) -> None:
    model = kind(n_events=3, random_state=0)
    assert not model._repr_mimebundle_()["text/html"].endswith("</pre>")
    model.fit(ratings)
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    assert shown["text/html"].endswith(model.fitted_._repr_html_())
    assert text_of(model.fitted_._repr_html_()) == model.summary()
    assert kind.__name__ in shown["text/html"]
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_rules_show_themselves_as_a_table(ratings) -> None:
    model = KolmogorovDescent(3, random_state=0).fit(ratings)
    rules: Any = model.rules()
    shown = rules._repr_html_()
    assert "<table" in shown
    for name in ("if_item", "then_item", "confidence"):
        assert f">{name}<" in shown
    assert str(rules["if_item"][0]) in shown
    assert repr(model.summary()) == str(model.summary())
    assert repr(model.explain("u0", "i0")) == str(model.explain("u0", "i0"))


def test_what_data_say_is_text_and_never_markup() -> None:
    table = ([EVIL, EVIL, "b", "b"], [EVIL, "Up", EVIL, "Up"], [1, 0, 0, 1])
    model = KolmogorovDescent(2, random_state=0).fit(table)
    for thing in (
        model.explain(EVIL, EVIL),
        model.event(EVIL),
        model.fitted_,
        Observations.of(table),
    ):
        shown: str = thing._repr_html_()
        assert Tags(shown).seen <= {"pre", "b", "div"}
        assert text_of(shown).startswith(repr(thing))


def test_a_loaded_model_shows_its_summary(ratings, tmp_path) -> None:
    fitted(KolmogorovDescent(3, random_state=0), ratings).save(tmp_path / "films.eventspace")
    model = load(tmp_path / "films.eventspace")
    assert text_of(model._repr_html_()) == model.summary() == repr(model)


def test_an_event_shows_the_events_within_it(ratings) -> None:
    model = fitted(KolmogorovDescent(3, random_state=0), ratings)
    event = model.event("i0")
    cells = re.findall(r'title="event (\d): ([\d.]+)%" style="([^"]*)"', event._repr_html_())
    assert [int(number) for number, _, _ in cells] == [0, 1, 2]
    assert [float(mass) for _, mass, _ in cells] == (100 * model.pmf_mean_).round(1).tolist()
    filled = ["background" in style for _, _, style in cells]
    assert filled == model.indicators_[model.item_ids_.tolist().index("i0")].tolist()
    assert np.any(filled)
    assert not np.all(filled)


def test_the_events_of_an_average_are_too_many_to_show(ratings) -> None:
    settings = {"n_chains": 2, "n_warmup": 5, "n_draws": 40, "n_samples": 40, "random_state": 0}
    event = fitted(KolmogorovPosterior(3, **settings), ratings).event("i0")
    assert text_of(event._repr_html_()) == repr(event)
    assert Tags(event._repr_html_()).seen == {"pre", "b"}


def test_observations_tell_how_full_the_table_is(ratings) -> None:
    shown = text_of(Observations.of(ratings)._repr_html_())
    of_users, of_items = ratings["user"].value_counts(), ratings["item"].value_counts()
    assert f"{len(ratings) / 600:.1%} of all pairs" in shown
    assert f"{of_users.median():.0f} for a user and {of_items.median():.0f} for an item" in shown
    nothings: list[Any] = [np.full((2, 3), np.nan), ([], [], [])]
    for nothing in nothings:
        assert "0.0% of all pairs" in Observations.of(nothing, scale=(0, 1))._repr_html_()
