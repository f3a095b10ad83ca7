"""Changes made to observations: spliced into both orders, as if all had been read anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from eventspace import KolmogorovDescent, Observations
from eventspace.data.factors import squared_error
from eventspace.data.updates import read_update
from tests import naive

QUICK = settings(deadline=None)  # the first call compiles
PAIRS = st.tuples(st.integers(0, 5), st.integers(0, 5))
CELLS = st.dictionaries(PAIRS, st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=20)
Cells = dict[tuple[int, int], float]


def triples(cells: Cells, weights: bool) -> tuple[Any, ...]:
    users, items = np.array(list(cells)).reshape(-1, 2).T
    values = np.array(list(cells.values()))
    return (users, items, values, 1 + values) if weights else (users, items, values)


def assert_same(found: Observations, expected: Observations) -> None:
    assert found.user_ids == expected.user_ids
    assert found.item_ids == expected.item_ids
    for order in ("by_user", "by_item"):
        for one, other in zip(getattr(found, order), getattr(expected, order), strict=True):
            assert_array_equal(one, other)
            assert one.dtype == other.dtype


def test_weights_stay_with_their_entries_when_a_row_is_emptied() -> None:
    users, items = [0, 1, 1, 2], [0, 0, 1, 1]
    known = Observations.of((users, items, [0.1, 0.5, 0.9, 0.3], [1.0, 2.0, 3.0, 4.0]))
    now = read_update(known, None, ([0], [0])).now
    assert now.by_user.weight.tolist() == [2.0, 3.0, 4.0]
    assert now.by_item.weight.tolist() == [2.0, 3.0, 4.0]


def test_an_array_has_no_ids() -> None:
    with pytest.raises(ValueError, match="rows and columns of an array have no ids"):
        read_update(Observations.of(np.random.default_rng(0).random((3, 2))), np.eye(2), None)


@QUICK
@given(CELLS, CELLS, st.data(), st.booleans(), st.booleans())
def test_a_splice_is_what_reading_anew_gives(
    first: Cells, second: Cells, data: st.DataObject, weighted: bool, more_weighted: bool
) -> None:
    known = Observations.of(triples(first, weighted), scale=(0, 1))
    gone = data.draw(st.lists(st.sampled_from(sorted(first)), unique=True))
    forget = tuple(np.array(gone).reshape(-1, 2).T) if gone else None
    change = read_update(known, triples(second, more_weighted), forget)
    left = {pair: value for pair, value in first.items() if pair not in gone} | second
    rows = {pair: (value, 1.0) for pair, value in first.items() if pair not in gone}
    if weighted:
        rows = {pair: (value, 1 + value) for pair, (value, _) in rows.items()}
    rows |= {pair: (v, 1 + v if more_weighted else 1.0) for pair, v in second.items()}
    u, i = np.array(list(left)).T
    values, weights = np.array(list(rows.values())).T
    table = (u, i, values, weights) if weighted or more_weighted else (u, i, values)
    ids = {"users": change.now.user_ids, "items": change.now.item_ids}
    assert_same(change.now, Observations.of(table, scale=(0, 1), **ids))
    assert change.now.scale == known.scale
    named = {*second, *gone}
    assert {change.now.user_ids[k] for k in change.users} == {u for u, _ in named}
    assert {change.now.item_ids[k] for k in change.items} == {i for _, i in named}


@QUICK
@given(CELLS, CELLS, st.booleans())
def test_a_change_and_its_reverse_change_nothing(
    first: Cells, second: Cells, weighted: bool
) -> None:
    known = Observations.of(triples(first, weighted), scale=(0, 1))
    users, items = {u for u, _ in first}, {i for _, i in first}
    known_ids = {pair: v for pair, v in second.items() if pair[0] in users and pair[1] in items}
    if not known_ids:
        return
    there = read_update(known, triples(known_ids, weighted), None).now
    new = [pair for pair in known_ids if pair not in first]
    back = {pair: first[pair] for pair in known_ids if pair in first}
    table = triples(back, weighted) if back else None
    forget = tuple(np.array(new).T) if new else None
    assert_same(read_update(there, table, forget).now, known)


@QUICK
@given(CELLS, CELLS, st.booleans(), st.integers(0, 2**16))
def test_the_error_is_summed_over_what_has_moved(
    first: Cells, second: Cells, weighted: bool, seed: int
) -> None:
    known = Observations.of(triples(first, weighted), scale=(0, 1))
    change = read_update(known, triples(second, weighted), None)
    rng = np.random.default_rng(seed)
    pmf = rng.dirichlet(np.ones(3), change.now.n_users)
    psi = rng.random((change.now.n_items, 3)) < 0.5
    old = pmf[: known.n_users].copy(), psi[: known.n_items].copy()
    pmf[change.users] = rng.dirichlet(np.ones(3), len(change.users))
    psi[change.items] = ~psi[change.items]
    expected = total_error(change.now, pmf, psi)
    assert change.error(total_error(known, *old), old, (pmf, psi)) == pytest.approx(expected)


def total_error(seen: Observations, pmf: Any, psi: Any) -> float:
    weight = seen.by_user.weight if seen.weighted else np.ones(seen.n_observed)
    return naive.cost(pmf, psi, *seen.coo(), weight)


def test_the_last_value_of_a_pair_holds() -> None:
    known = Observations.of((["ann", "bob"], ["Heat", "Heat"], [0.2, 0.4]))
    now = read_update(known, (["ann", "ann"], ["Heat", "Heat"], [0.6, 0.8]), None).now
    assert_array_equal(now.by_item.value, np.float32([0.8, 0.4]))
    now = read_update(known, (["ann"], ["Heat"], [0.6]), (["ann"], ["Heat"])).now
    assert_array_equal(now.by_item.value, np.float32([0.6, 0.4]))


@pytest.mark.parametrize(
    ("table", "forget", "message"),
    [
        (None, None, "nothing to update: pass a table of ratings, or pairs to forget="),
        (None, ("ann", "Up"), "forget holds a pair without a rating: user 'ann', item 'Up'"),
        (None, (["bob", "eve"], "Heat"), "forget holds a pair without a rating: user 'eve'"),
        (None, np.eye(2), "forget holds no pairs"),
        (None, (["ann", "bob", "bob"], ["Heat", "Heat", "Up"]), "would leave no rating at all"),
        ((["ann"], ["Heat"], [7.0]), None, "outside the scale"),
    ],
)
def test_changes_that_cannot_be_made_are_named(table: Any, forget: Any, message: str) -> None:
    known = Observations.of((["ann", "bob", "bob"], ["Heat", "Heat", "Up"], [1, 2, 5]))
    with pytest.raises(ValueError, match=message):
        read_update(known, table, forget)


def test_new_ids_that_are_known_but_for_their_kind_are_warned_of() -> None:
    table = pd.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "p": [0.0, 1, 1, 0]})
    model = KolmogorovDescent(2, random_state=0).fit(table)
    said = r"^The new user '1', and 1 more like it, are not the known user 1: a number and a text"
    with pytest.warns(UserWarning, match=said) as caught:
        model.update(table.assign(user=["1", "2", "3", "4"]))
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_the_error_is_right_after_a_heavy_rating_is_replaced() -> None:
    """What is left of a great sum by subtraction is rounding."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(np.ones((12, 8)))
    values, weights = rng.random(96), np.ones(96)
    weights[5] = 1e24
    model = KolmogorovDescent(2, random_state=0).fit((users, items, values, weights))
    model.update(([users[5]], [items[5]], [0.5], [1.0]))
    u, i, p = model.observations_.coo()
    error = np.square(p - (model.pmf_ @ model.indicators_.T)[u, i]).sum()
    assert model.error_ == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("heavy", [(1e24, 1e16, 1e8), (1e28, 1e21, 1e14)])
def test_the_error_is_right_after_heavy_users_have_gone_one_by_one(heavy: Any) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        u, i = np.nonzero(np.ones((30, 10)))
        weight = np.ones(300)
        for user, of_user in enumerate(heavy):
            weight[u == user] = of_user
        model = KolmogorovDescent(3, random_state=0).fit((u, i, rng.random(300), weight))
        for user in range(3):
            model.update(forget=(u[u == user], i[u == user]))
        fit = model.fitted_.record
        expected = squared_error(fit.observations, fit.pmf, fit.indicators)
        assert fit.error == pytest.approx(expected, rel=1e-6)
