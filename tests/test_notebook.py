"""In a notebook, models, rules and the rest show themselves."""

from __future__ import annotations

import html
from typing import Any

import pytest
from sklearn import config_context

from eventspace import KolmogorovDescent, KolmogorovEnsemble, KolmogorovModel


@pytest.mark.parametrize("kind", [KolmogorovDescent, KolmogorovEnsemble, KolmogorovModel])
def test_a_model_shows_its_parameters_and_its_summary(kind, ratings) -> None:
    model = kind(n_events=3, random_state=0)
    assert not model._repr_mimebundle_()["text/html"].endswith("</pre>")
    model.fit(ratings)
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    assert shown["text/html"].endswith(f"<pre>{html.escape(model.summary())}</pre>")
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
