"""The order of items against a search over every pair."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from eventspace import KolmogorovDescent, Observations
from eventspace._base.codes import pack, unpack
from eventspace.logic import inclusion
from eventspace.logic.inclusion import Classes
from eventspace.logic.order import Order
from eventspace.logic.space import Space
from tests import naive

PAPER = [119, 814, 1188, 1190, 1290, 1393, 1462, 1486, 1494, 1530, 1590, 1638]
BELOW = [inclusion.below, inclusion.below_by_table, inclusion.below_by_pairs]
COVERS = [inclusion.covers, inclusion.covers_by_walk, inclusion.covers_by_pairs]


@st.composite
def indicators(draw, most_events: int = 140) -> np.ndarray:
    """Sets in which inclusions, equals, the empty and the full one abound, however many events."""
    n_events, n_items = draw(st.integers(1, most_events)), draw(st.integers(1, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    density = rng.choice([0.1, 0.5, 0.9], n_items)[:, None]
    patterns = rng.random((n_items, draw(st.integers(1, 9)))) < density
    psi = patterns[:, rng.integers(0, patterns.shape[1], n_events)]
    psi ^= rng.random(psi.shape) < draw(st.sampled_from([0, 0.02]))
    psi[rng.random(n_items) < 0.1] = False
    psi[rng.random(n_items) < 0.1] = True
    chosen: np.ndarray = psi[rng.integers(0, n_items, n_items)]
    return chosen


def is_small(classes: Classes) -> bool:
    """Whether a table over the sets of the events that vary can be asked for."""
    return int(classes.bits.shape[1]) <= 10


def lattice(n_events: int) -> np.ndarray:
    return np.arange(1 << n_events, dtype=np.uint64)[:, None]


def space_of(theta, psi, table) -> Space:
    return Space(np.array(theta), pack(np.array(psi, dtype=bool)), Observations.of(table))


def random_space(seed: int) -> tuple[Space, np.ndarray]:
    """A space of 5 events, of which one never occurs, with the sets on the others."""
    rng = np.random.default_rng(seed)
    psi = rng.random((12, 5)) < rng.choice([0.2, 0.5, 0.8], 12)[:, None]
    psi[-1], psi[1], psi[2] = psi[0], False, True
    psi[2, 0] = False  # not in the event that never occurs
    theta = rng.dirichlet(np.ones(5), 8)
    theta[:, 0] = 0
    theta /= theta.sum(axis=1, keepdims=True)
    table = np.where(rng.random((8, 12)) < 0.5, rng.random((8, 12)), np.nan)
    table[:, 3] = np.nan
    table[0, :3] = 0.5
    table[1:, 4] = np.nan
    table[0, 4] = 0.5
    return space_of(theta, psi, table), psi & (theta.max(axis=0) > 0)


@given(indicators())
@settings(deadline=None)
def test_classes_are_the_distinct_sets_the_smaller_before_the_larger(psi) -> None:
    codes = pack(psi)
    classes = Classes(codes)
    assert_array_equal(classes.codes[classes.of_item], codes)
    assert len({tuple(code) for code in classes.codes.tolist()}) == len(classes)
    sets = unpack(classes.codes, psi.shape[1])
    assert_array_equal(classes.n_events, sets.sum(axis=1))
    assert_array_equal(classes.n_events, np.sort(classes.n_events))
    ptr, members = classes.members
    for c in range(len(classes)):
        assert_array_equal(members[ptr[c] : ptr[c + 1]], np.flatnonzero(classes.of_item == c))
    assert_array_equal(classes.sizes, np.diff(ptr))
    assert ptr[-1] == len(psi)


@given(indicators())
@settings(deadline=None)
def test_influence(psi) -> None:
    codes, A = pack(psi), naive.adjacency(psi)
    assert_array_equal(inclusion.influence(Classes(codes)), naive.influence(A))
    classes = Classes(codes)
    for below in BELOW:
        if below is not inclusion.below_by_table or is_small(classes):
            assert_array_equal(below(classes)[classes.of_item], A.sum(axis=1))


@given(indicators(most_events=10))
@settings(deadline=None)
def test_influence_by_a_table(psi) -> None:
    classes = Classes(pack(psi))
    expected = naive.adjacency(psi).sum(axis=1)
    assert_array_equal(inclusion.below_by_table(classes)[classes.of_item], expected)


@given(st.one_of(indicators(), indicators(most_events=10)))
@example(np.zeros((3, 1), dtype=bool))
@settings(max_examples=200, deadline=None)
def test_covers_are_the_transitive_reduction(psi) -> None:
    classes = Classes(pack(psi))
    A = naive.adjacency(unpack(classes.codes, psi.shape[1]))
    expected = naive.hasse(A)
    for covers in COVERS:
        if covers is not inclusion.covers_by_walk or is_small(classes):
            lower, upper = covers(classes)
            assert list(zip(lower.tolist(), upper.tolist(), strict=True)) == expected
    if len(expected) == 0:
        return
    # what follows from the diagram is the order, and no edge of it follows from the others
    edges = np.eye(len(classes), dtype=int)
    edges[upper, lower] = 1
    assert_array_equal(closure(edges), A)
    for j, i in expected:
        fewer = edges.copy()
        fewer[i, j] = 0
        assert not closure(fewer)[i, j]


def closure(edges: np.ndarray) -> np.ndarray:
    power = edges
    for _ in range(len(edges).bit_length()):
        power = np.minimum(power @ power, 1)
    return power.astype(bool)


@pytest.mark.parametrize("covers", COVERS)
def test_all_subsets_of_nine_events(covers) -> None:
    codes = np.random.default_rng(0).permutation(lattice(9))
    classes = Classes(codes)
    lower, upper = covers(classes)
    assert len(lower) == 9 * 2**8
    added = classes.codes[upper] ^ classes.codes[lower]
    assert (np.bitwise_count(added) == 1).all()
    assert (classes.codes[upper] > classes.codes[lower]).all()
    below = 2.0 ** np.bitwise_count(codes[:, 0])
    assert_array_equal(inclusion.influence(Classes(codes)), (below - 1) / 512)


@pytest.mark.parametrize("covers", COVERS)
def test_two_layers_far_apart(covers) -> None:
    """Between sets of 2 and of 6 out of 8 events: each in C(6, 4) of the others."""
    codes = lattice(8)
    ones = np.bitwise_count(codes[:, 0])
    classes = Classes(codes[(ones == 2) | (ones == 6)])
    lower, upper = covers(classes)
    assert_array_equal(np.bincount(lower), np.full(28, 15))
    assert_array_equal(np.bincount(upper)[28:], np.full(28, 15))


def test_many_classes_take_the_table_and_the_walk_and_few_do_not(monkeypatch) -> None:
    many, few = Classes(lattice(9)), Classes(lattice(9)[::40])
    with monkeypatch.context() as patched:
        patched.delattr(inclusion, "below_by_pairs")
        patched.delattr(inclusion, "covers_by_pairs")
        counts, lines = inclusion.below(many), inclusion.covers(many)
    assert_array_equal(counts, inclusion.below_by_pairs(many))
    assert_array_equal(lines, inclusion.covers_by_pairs(many))
    expected = inclusion.below_by_table(few), inclusion.covers_by_walk(few)
    monkeypatch.delattr(inclusion, "below_by_table")
    monkeypatch.delattr(inclusion, "covers_by_walk")
    assert_array_equal(inclusion.below(few), expected[0])
    assert_array_equal(inclusion.covers(few), expected[1])


def test_the_paper_s_example() -> None:
    theta, psi = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [[0, 1, 0], [1, 1, 0]]
    order = Order.of(space_of(theta, psi, [[0.3, 0.5], [0.1, 0.2]]))
    assert order.adjacency().tolist() == [[1, 0], [1, 1]]
    influence = order.influence()
    assert influence["item"].tolist() == [1, 0]
    assert influence["influence"].tolist() == [0.5, 0]
    assert order.maximal().tolist() == []
    assert order.hasse().to_numpy().tolist() == [[0, 1, 0, 1]]


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_the_order_of_rated_items_on_events_that_occur(seed: int, min_evidence: int) -> None:
    space, sets = random_space(seed)
    rated = np.flatnonzero(space.ratings >= min_evidence)
    assert 3 not in rated
    A, order = naive.adjacency(sets[rated]), Order.of(space, min_evidence)
    assert_array_equal(order.adjacency(), A)

    influence = order.influence().set_index("item")
    assert_array_equal(influence.loc[rated, "influence"], naive.influence(A))
    assert_array_equal(influence.loc[rated, "ratings"], space.ratings[rated])
    assert influence["influence"].is_monotonic_decreasing
    assert_array_equal(order.maximal(), rated[sets[rated, 1:].all(axis=1)])

    probability = sets @ space.mass
    for at, item in enumerate(rated.tolist()):
        for related, row in (
            (order.consequents(item), A[:, at]),
            (order.antecedents(item), A[at]),
        ):
            found = related["item"].to_numpy()
            assert sorted(found) == [k for k in rated[row].tolist() if k != item]
            np.testing.assert_allclose(related["probability"], probability[found], atol=1e-12)
            assert_array_equal(related["ratings"], space.ratings[found])
            assert_array_equal(related["equivalent"], (sets[found] == sets[item]).all(axis=1))
            distance = abs(related["probability"] - probability[item])
            assert (np.diff(distance) >= -1e-12).all()
        assert (order.consequents(item)["probability"] >= probability[item] - 1e-12).all()


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_classes_and_their_diagram_by_the_items_that_stand_for_them(seed: int) -> None:
    space, sets = random_space(seed)
    order, rated = Order.of(space), np.flatnonzero(space.ratings)
    classes = order.classes()
    assert classes["class"].tolist() == list(range(len(classes)))
    in_class = order.influence().set_index("item")["class"]
    for c, item, size, n_events, probability in classes.itertuples(index=False):
        same = rated[(sets[rated] == sets[item]).all(axis=1)]
        assert size == len(same)
        assert item == max(same, key=lambda k: (space.ratings[k], -k))
        assert n_events == sets[item].sum()
        assert probability == pytest.approx(sets[item] @ space.mass)
        assert (in_class[same] == c).all()
    hasse = order.hasse()
    items = classes["item"].to_numpy()
    expected = naive.hasse(naive.adjacency(sets[items]))
    assert list(zip(hasse["lower"], hasse["upper"], strict=True)) == expected
    assert_array_equal(hasse["lower_item"], items[hasse["lower"]])
    assert_array_equal(hasse["upper_item"], items[hasse["upper"]])


def test_an_item_that_takes_no_part_is_refused() -> None:
    order = Order.of(random_space(0)[0], min_evidence=2)
    with pytest.raises(ValueError, match="Item 3 has no ratings"):
        order.consequents(3)
    with pytest.raises(ValueError, match="Item 4 takes no part"):
        order.antecedents(4)
    with pytest.raises(ValueError, match="knows no item 99"):
        order.consequents(99)
    with pytest.raises(ValueError, match="min_evidence=0"):
        Order.of(order.space, 0)


def test_no_items_have_so_many_ratings() -> None:
    order = Order.of(random_space(0)[0], min_evidence=100)
    assert order.adjacency().shape == (0, 0)
    assert order.maximal().size == 0
    for frame in (order.influence(), order.classes(), order.hasse()):
        assert len(frame) == 0


def test_tables_come_in_the_caller_s_library(ratings) -> None:
    model = KolmogorovDescent(3, n_iter=2, random_state=0).fit(pl.from_pandas(ratings))
    order = Order.of(Space(model.pmf_, model.codes_, model.observations_))
    for frame in (order.influence(), order.classes(), order.hasse(), order.consequents("i0")):
        assert isinstance(frame, pl.DataFrame)


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="a fit that needs compiled kernels")
@pytest.mark.parametrize(("n_events", "penalty"), [(4, 10), (8, 30), (16, 60), (24, 60)])
def test_the_paper_s_maximal_items(movielens_100k, n_events: int, penalty: float) -> None:
    """The twelve films whose ratings are all five stars; four events cannot part a thirteenth."""
    train, _ = movielens_100k
    observations = Observations.of((train["user"], train["item"], train["rating"]), scale="max")
    model = KolmogorovDescent(n_events, pmf_penalty=penalty, n_iter=5, random_state=0)
    model.fit(observations)
    order = Order.of(Space(model.pmf_, model.codes_, observations))
    rated = np.sort(observations.item_ids.values)
    maximal = 1 + np.searchsorted(rated, order.maximal())
    assert sorted(maximal) == sorted(PAPER + [1444] * (n_events == 4))

    A = order.adjacency()
    influence = order.influence()
    places = observations.item_ids.positions(influence["item"])
    assert_array_equal(influence["influence"], (A.sum(axis=1)[places] - 1) / len(A))
    assert len(A) == 1660
