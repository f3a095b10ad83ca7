"""The package concepts reads our contexts, and finds in them the order that we find."""

from __future__ import annotations

import warnings

import pytest

from eventspace import KolmogorovDescent
from tests.fits import fitted

pytestmark = pytest.mark.whole


@pytest.fixture
def concepts():
    with warnings.catch_warnings():  # of its own age
        warnings.simplefilter("ignore")
        return pytest.importorskip("concepts", reason="the extra 'hosts' is not installed")


def test_its_lattice_is_our_order(ratings, concepts, tmp_path) -> None:
    model = fitted(KolmogorovDescent(3, random_state=0), ratings)
    path = str(tmp_path / "films.cxt")
    table = model.order().context(path)
    context = concepts.Context.fromfile(path, frmat="cxt", encoding="utf-8")
    assert list(context.objects) == table.index.tolist()
    assert list(context.properties) == table.columns.tolist()
    assert [list(row) for row in context.bools] == table.to_numpy().tolist()
    implied = {item: set(model.order().consequents(item)["item"]) for item in table.index}
    for item, others in implied.items():
        have_all, _ = context[[item]]  # the items that have all the attributes of this one
        assert set(have_all) - {item} == others
    by_objects = {concept.intent for concept in context.lattice if concept.objects}
    assert len(by_objects) == len(model.order().classes())
