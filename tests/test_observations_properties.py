"""Observations against plain dictionaries, on whatever tables Hypothesis thinks of."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from eventspace import Observations
from tests.observing import content, probabilities

Cells = dict[tuple[Hashable, Hashable], float]
Row = tuple[Hashable, Hashable, float, float]

QUICK = settings(max_examples=100, deadline=None)

# as many kinds as people have; no True and 1.0, which are 1 to Python
KINDS = st.one_of(
    st.integers(-(2**66), 2**66),
    st.text(max_size=3),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)),
    st.floats(0.1, 0.9),
    st.frozensets(st.integers(0, 2)),
)
UNIT = st.floats(0, 1)
RATING = st.integers(-8, 8).map(lambda halves: halves / 2)
POSITION = st.integers(0, 6)


def cells(
    ids: st.SearchStrategy[Any], values: st.SearchStrategy[float]
) -> st.SearchStrategy[Cells]:
    return st.dictionaries(st.tuples(ids, ids), values, min_size=1, max_size=25)


def triples(data: Cells) -> tuple[list[Any], list[Any], list[float]]:
    return [user for user, _ in data], [item for _, item in data], list(data.values())


def unit(data: Cells) -> Cells:
    """What the scale "auto" is to make of the values."""
    lo, hi = min(data.values()), max(data.values())
    if lo >= 0 and hi <= 1:
        return data
    if lo == hi:
        lo, hi = min(lo, 0), max(hi, 0)
    return {pair: (value - lo) / (hi - lo) for pair, value in data.items()}


@QUICK
@given(cells(KINDS, UNIT))
def test_ids_of_any_hashable_kind(data: Cells) -> None:
    users, items, _ = triples(data)
    observed = Observations.of(triples(data))
    assert set(observed.user_ids) == set(users)
    assert set(observed.item_ids) == set(items)
    assert probabilities(observed) == pytest.approx(data, abs=1e-7)
    assert [observed.user_ids[k] for k in observed.user_ids.positions(users)] == users


@QUICK
@given(cells(POSITION, st.one_of(UNIT, RATING)))
def test_long_wide_sparse_and_triples_agree(data: Cells) -> None:
    users, items, values = triples(data)
    shape = max(users) + 1, max(items) + 1
    dense = np.full(shape, np.nan)
    dense[users, items] = values
    named = {"user": users, "item": items, "value": values}
    forms = [
        (users, items, values),
        pd.DataFrame(named),
        pl.DataFrame(named),
        dense,
        sparse.coo_array((values, (users, items)), shape=shape),
        sparse.coo_array((values, (users, items)), shape=shape).tocsc(),
    ]
    for form in forms:
        observed = Observations.of(form)
        assert probabilities(observed) == pytest.approx(unit(data), abs=1e-6)
    wide = pd.DataFrame(dense, index=range(shape[0]), columns=range(shape[1]))
    for frame in (wide, pl.from_pandas(wide.rename(columns=str))):
        observed = Observations.from_wide(frame)
        found = {(u, int(str(i))): p for (u, i), p in probabilities(observed).items()}
        assert found == pytest.approx(unit(data), abs=1e-6)
        assert (observed.n_users, observed.n_items) == shape


@QUICK
@given(cells(KINDS, RATING), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(data: Cells, random: Any) -> None:
    shuffled = list(data.items())
    random.shuffle(shuffled)
    first, second = Observations.of(triples(data)), Observations.of(triples(dict(shuffled)))
    assert first.scale == second.scale
    assert content(first) == content(second)


ROWS = st.lists(
    st.tuples(POSITION, POSITION, UNIT, st.floats(0.125, 8, width=32)), min_size=1, max_size=40
)


@QUICK
@given(ROWS, st.booleans())
def test_duplicates(rows: list[Row], weighted: bool) -> None:
    groups: dict[tuple[Hashable, Hashable], list[tuple[float, float]]] = defaultdict(list)
    for user, item, value, weight in rows:
        groups[user, item].append((value, weight if weighted else 1.0))
    columns = [list(column) for column in zip(*rows, strict=True)]
    data = tuple(columns if weighted else columns[:3])
    repeated = {pair: group for pair, group in groups.items() if len(group) > 1}
    if repeated:
        with pytest.raises(ValueError, match=f"; {len(repeated)} pairs in all occur"):
            Observations.of(data)
    else:
        Observations.of(data)
    last = content(Observations.of(data, duplicates="last"))
    assert last.keys() == groups.keys()
    mean = content(Observations.of(data, duplicates="mean"))
    assert mean.keys() == groups.keys()
    for pair, group in groups.items():
        total = sum(weight for _, weight in group)
        assert last[pair] == pytest.approx(group[-1], abs=1e-7)
        average = sum(value * weight for value, weight in group) / total
        assert mean[pair] == pytest.approx(
            (average, total if weighted else 1.0), rel=1e-6, abs=1e-7
        )


@QUICK
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.sampled_from(["auto", "explicit", "max"]),
)
def test_scale_there_and_back(values: list[float], option: str) -> None:
    if option == "max":
        values = [abs(value) for value in values]
    scale: Any = (min(values) - 1, max(values) + 1) if option == "explicit" else option
    observed = Observations.of((range(len(values)), [0] * len(values), values), scale=scale)
    lo, hi = observed.scale
    assert lo < hi
    p = observed.by_user.value
    assert p.min() >= 0
    assert p.max() <= 1
    assert observed.from_unit(p) == pytest.approx(np.array(values), abs=2e-6 * (hi - lo))
    assert observed.from_unit(observed.to_unit(values)) == pytest.approx(np.array(values), abs=1e-6)
    if option == "max":
        assert observed.to_unit(0) == 0


@QUICK
@given(
    st.dictionaries(
        st.tuples(POSITION, POSITION),
        st.tuples(st.one_of(UNIT, st.just(float("nan"))), st.sampled_from([0.0, 0.5, 1.0, 7.0])),
        min_size=1,
        max_size=25,
    )
)
@pytest.mark.filterwarnings("ignore:.*have no value")
def test_weights_and_missing_values(data: dict[tuple[int, int], tuple[float, float]]) -> None:
    users, items = [user for user, _ in data], [item for _, item in data]
    values, weights = [value for value, _ in data.values()], [weight for _, weight in data.values()]
    expected = {
        pair: (value, weight) for pair, (value, weight) in data.items() if weight and value == value
    }
    if not expected:
        with pytest.raises(ValueError, match="Nothing is observed"):
            Observations.of((users, items, values, weights))
        return
    observed = Observations.of((users, items, values, weights))
    found = content(observed)
    assert found.keys() == expected.keys()
    for pair, entry in expected.items():
        assert found[pair] == pytest.approx(entry, abs=1e-7)
    assert observed.total_weight == sum(weight for _, weight in expected.values())
    assert list(observed.user_ids) == sorted(set(users))


@QUICK
@given(cells(POSITION, UNIT), cells(POSITION, UNIT))
def test_known_ids(first: Cells, second: Cells) -> None:
    known = Observations.of(triples(first))
    fresh = {pair: value for pair, value in second.items() if pair not in first}
    if not fresh:
        return
    for data in (triples(fresh), Observations.of(triples(fresh))):
        new = Observations.of(data, users=known.user_ids, items=known.item_ids)
        assert list(new.user_ids)[: known.n_users] == list(known.user_ids)
        assert probabilities(new) == pytest.approx(fresh, abs=1e-7)
