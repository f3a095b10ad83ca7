"""Events: the laws of the algebra on fitted models, and expressions as text."""

from __future__ import annotations

import copy
import functools
import math
import operator
import pickle
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventspace import KolmogorovDescent, Observations
from eventspace._base.codes import pack, unpack
from eventspace.data.ids import Ids
from eventspace.logic.algebra import Event
from eventspace.logic.expressions import ExpressionError, event_of, parse
from eventspace.logic.space import NO_MASS, Space
from tests.planted import chances

NAMES = list("abcdefgh")
BINARY = {"&": operator.and_, "|": operator.or_, "^": operator.xor, "-": operator.sub}
NASTY = ["", " ", "\n", '"', "'", "\\", '\\"', "(", "~", "-", "a - b", "x&y", "🎬", "עברית"]

few = settings(max_examples=40, deadline=None)


def space_of(model: KolmogorovDescent) -> Space:
    return Space(model.pmf_, model.codes_, model.observations_)


@cache
def fitted() -> list[Space]:
    """Small models with much in common between the items, so that there are inclusions."""
    spaces = []
    for seed, n_events in enumerate([1, 3, 4, 6]):
        rng = np.random.default_rng(seed)
        chance = chances(rng, 25, 8, n_events, concentration=0.3)
        table = pd.DataFrame(np.clip(chance + rng.normal(0, 0.05, chance.shape), 0, 1))
        table.columns = pd.Index(NAMES)
        table.insert(0, "user", [f"u{u}" for u in range(25)])
        spaces.append(space_of(KolmogorovDescent(n_events, n_init=1, random_state=seed).fit(table)))
    return spaces


def handmade(pmf: Any, indicators: Any, items: list[Any], rated: Any = True) -> Space:
    """A space with these PMFs and sets; ``rated`` says which user rated which item."""
    users = [f"u{u}" for u in range(len(pmf))]
    rows, columns = np.nonzero(np.broadcast_to(rated, (len(users), len(items))))
    triples = ([users[u] for u in rows], [items[i] for i in columns], np.full(len(rows), 0.5))
    observations = Observations.of(triples, users=Ids(users), items=Ids(items))
    return Space(np.array(pmf, dtype=float), pack(np.array(indicators, dtype=bool)), observations)


def films() -> Space:
    """Three events; Heat is inside Alien, Up inside none of them, Never is empty."""
    return handmade(
        [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]],
        [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]],
        ["Alien", "Heat", "Up", "Never"],
    )


def branch(sub: Any) -> Any:
    return st.tuples(st.just("~"), sub) | st.tuples(st.sampled_from(list(BINARY)), sub, sub)


trees = st.recursive(st.integers(0, 7), branch, max_leaves=8)  # the numbers are items
spaces = st.integers(0, 3).map(lambda k: fitted()[k])


def built(space: Space, tree: Any) -> Event:
    if isinstance(tree, int):
        return Event.of_item(space, space.observations.item_ids[tree])
    parts = [built(space, sub) for sub in tree[1:]]
    return ~parts[0] if tree[0] == "~" else BINARY[tree[0]](*parts)


def naive(space: Space, tree: Any) -> Any:
    """The same on indicators, one bool for each elementary event."""
    if isinstance(tree, int):
        return unpack(space.codes, space.n_events)[tree]
    parts = [naive(space, sub) for sub in tree[1:]]
    if tree[0] == "~":
        return ~parts[0]
    return parts[0] & ~parts[1] if tree[0] == "-" else BINARY[tree[0]](*parts)


@given(space=spaces, tree=trees)
@few
def test_an_expression_is_a_set_and_its_probability_a_sum_over_it(space, tree) -> None:
    event, indicator = built(space, tree), naive(space, tree)
    bits = unpack(event.code[None], space.n_events)[0]
    assert (bits == (indicator & (space.mass > NO_MASS))).all()
    expected = [sum(theta[d] for d in np.flatnonzero(indicator)) for theta in space.pmf]
    ids = space.observations.user_ids.values
    for users in (list(ids), ids, pd.Series(ids), pl.Series(list(ids))):
        p = event.probability(users)
        assert isinstance(p, np.ndarray)
        assert p.dtype == np.float64
        np.testing.assert_allclose(p, expected, atol=1e-10)
    one = event.probability(ids[3])
    assert type(one) is float
    assert one == pytest.approx(expected[3], abs=1e-10)
    assert type(event.probability()) is float
    assert event.probability() == pytest.approx(np.mean(expected), abs=1e-10)


LAWS: dict[str, Any] = {
    "De Morgan, and": lambda a, b, c: (~(a & b), ~a | ~b),
    "De Morgan, or": lambda a, b, c: (~(a | b), ~a & ~b),
    "and over or": lambda a, b, c: (a & (b | c), a & b | a & c),
    "or over and": lambda a, b, c: (a | b & c, (a | b) & (a | c)),
    "and over xor": lambda a, b, c: (a & (b ^ c), (a & b) ^ (a & c)),
    "absorption": lambda a, b, c: (a | a & b, a & (a | b)),
    "double complement": lambda a, b, c: (~~a, a),
    "difference": lambda a, b, c: (a - b, a & ~b),
    "xor": lambda a, b, c: (a ^ b, (a | b) - (a & b)),
    "excluded middle": lambda a, b, c: (a | ~a, b | ~b),
    "contradiction": lambda a, b, c: (a & ~a, b ^ b),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(space=spaces, a=trees, b=trees, c=trees)
@few
def test_laws(law, space, a, b, c) -> None:
    left, right = law(*(built(space, tree) for tree in (a, b, c)))
    assert left == right
    assert hash(left) == hash(right)
    assert {left: "found"}[right] == "found"


@given(space=spaces, a=trees, b=trees)
@few
def test_probabilities_add_up(space, a, b) -> None:
    a, b = built(space, a), built(space, b)
    users = space.observations.user_ids.values
    p = {e: e.probability(users) for e in (a, b, a & b, a | b, ~a)}
    np.testing.assert_allclose(p[a | b], p[a] + p[b] - p[a & b], rtol=0, atol=1e-12)
    np.testing.assert_allclose(p[~a], 1 - p[a], rtol=0, atol=1e-12)
    assert ((a | ~a).probability(users) == 1.0).all()
    assert (a | ~a).probability() == 1.0
    assert ((a & ~a).probability(users) == 0.0).all()


@given(space=spaces, a=trees, b=trees)
@few
def test_inclusion_is_implication_for_every_user(space, a, b) -> None:
    inside = not (naive(space, a) & ~naive(space, b) & (space.mass > NO_MASS)).any()
    a, b = built(space, a), built(space, b)
    users = space.observations.user_ids.values
    assert (a <= b) is (b >= a) is inside
    assert (a < b) is (b > a) is (inside and not b <= a)
    assert (a == b) is (a <= b <= a)
    assert (a != b) is not (a == b)
    for small, large in [(a & b, a), (b, a | b)] + [(a, b)] * inside:
        assert small <= large
        assert (small.probability(users) <= large.probability(users)).all()
        assert small.probability() <= large.probability()


@given(space=spaces, a=trees, b=trees)
@few
def test_conditional_is_the_ratio(space, a, b) -> None:
    a, b = built(space, a), built(space, b)
    users = space.observations.user_ids.values
    p, p_b, p_both = (e.probability(users) for e in (a.given(b), b, a & b))
    assert (np.isnan(p) == (p_b == 0)).all()
    possible = p_b > 0
    np.testing.assert_allclose(p[possible], p_both[possible] / p_b[possible], rtol=1e-12)
    np.testing.assert_allclose((p * p_b)[possible], p_both[possible], rtol=1e-12)
    assert a.given(b).probability(users[0]) == pytest.approx(p[0], nan_ok=True)


def test_a_condition_that_never_occurs_gives_nan() -> None:
    space = films()
    alien, never = Event.of_item(space, "Alien"), Event.of_item(space, "Never")
    assert math.isnan(alien.given(never).probability())
    assert np.isnan(alien.given(never).probability(["u0", "u1"])).tolist() == [True, True]
    assert repr(alien.given(never)) == "Conditional(Alien given Never: which never occurs)"
    heat = Event.of_item(space, "Heat")
    assert heat.given(alien).probability("u0") == pytest.approx(0.5 / 0.8)
    assert repr(heat.given(alien)) == (
        "Conditional(Heat given Alien: 58.3% of its cases in the population)"
    )
    assert alien.given(heat).probability() == 1.0


def test_more_than_one_word_of_events() -> None:
    rng = np.random.default_rng(0)
    pmf, indicators = rng.dirichlet(np.ones(100), 5), rng.random((3, 100)) < 0.5
    indicators[1] = indicators[0]
    indicators[1, 90] ^= True  # a difference in the second word alone
    space = handmade(pmf, indicators, ["a", "b", "c"])
    a, b, c = (Event.of_item(space, name) for name in "abc")
    expected = pmf @ (indicators[0] ^ ~(indicators[1] | indicators[2]))
    event = a ^ ~(b | c)
    np.testing.assert_allclose(event.probability(["u0", "u1", "u2", "u3", "u4"]), expected)
    assert a != b
    assert (a < b) != (b < a)
    assert np.flatnonzero(unpack((a ^ b).code[None], 100)[0]).tolist() == [90]
    assert ((a | ~a).probability(["u0", "u4"]) == 1.0).all()
    assert f"{(a | ~a)!r}" == "Event(a | ~a: 100 of 100 events, 100.0% of the population)"


def test_events_without_mass_break_no_inclusion() -> None:
    space = handmade([[0.5, 0.5, 0], [0.1, 0.9, 0]], [[1, 0, 1], [1, 1, 0]], ["a", "b"])
    a, b = Event.of_item(space, "a"), Event.of_item(space, "b")
    assert a < b
    assert b == a | ~a
    assert hash(b) == hash(a | ~a)
    assert (~b).code.tolist() == [0]
    assert repr(b) == "Event(b: 2 of 3 events, 100.0% of the population)"


def test_items_that_imply_an_event_and_those_it_implies() -> None:
    space = films()
    alien, heat, up = (Event.of_item(space, name) for name in ("Alien", "Heat", "Up"))
    assert alien.items().to_dict("list") == {
        "item": ["Alien", "Heat"],
        "probability": pytest.approx([0.6, 0.35]),
        "ratings": [2, 2],
    }
    assert heat.implied_items()["item"].tolist() == ["Alien", "Heat"]
    assert (alien | up).items()["item"].tolist() == ["Alien", "Up", "Heat"]  # not Never
    assert (alien & up).implied_items()["item"].tolist() == []
    assert list((alien & up).items().columns) == ["item", "probability", "ratings"]
    assert len((alien & up).items()) == 0


@given(space=spaces, tree=trees)
@few
def test_listed_items_are_those_that_compare_so(space, tree) -> None:
    event = built(space, tree)
    items = {name: Event.of_item(space, name) for name in NAMES}
    inside, implied = event.items(), event.implied_items()
    assert set(inside["item"]) == {n for n in items if items[n] <= event and items[n].code.any()}
    assert set(implied["item"]) == {n for n in items if event <= items[n] and event.code.any()}
    for table in (inside, implied):
        assert table["probability"].tolist() == [items[n].probability() for n in table["item"]]
        assert table["probability"].is_monotonic_decreasing


def test_ties_go_to_more_ratings_and_unrated_items_take_no_part() -> None:
    rated = [[1, 1, 1, 0, 1], [0, 1, 1, 0, 1], [0, 0, 1, 0, 1]]
    sets = [[1, 0]] * 4 + [[0, 1]]
    space = handmade(np.full((3, 2), 0.5), sets, ["one", "two", "three", "none", "other"], rated)
    event = Event.of_item(space, "one")
    assert event.items()["item"].tolist() == ["three", "two", "one"]
    assert event.implied_items()["ratings"].tolist() == [3, 2, 1]
    with pytest.raises(ValueError, match="Item 'none' has no ratings"):
        Event.of_item(space, "none")
    with pytest.raises(ExpressionError, match="character 7: Item 'none' has no ratings"):
        event_of(space, "one & none")
    with pytest.raises(ValueError, match="knows no item 'thre': did you mean 'three'"):
        Event.of_item(space, "thre")


def test_polars_comes_back_as_polars() -> None:
    frame = {"user": ["u", "u", "v", "v"], "item": [7, 8, 7, 8], "value": [0.9, 0.1, 0.8, 0.2]}
    space = space_of(KolmogorovDescent(2, random_state=0).fit(pl.DataFrame(frame)))
    event = event_of(space, "7 | ~7")
    assert isinstance(event.items(), pl.DataFrame)
    assert event.items().columns == ["item", "probability", "ratings"]
    assert set(event.items()["item"]) <= {7, 8}
    assert isinstance((event - event).items(), pl.DataFrame)


def test_events_of_different_models_do_not_mix() -> None:
    table = (["u", "u", "v", "v"], ["a", "b", "a", "b"], [0.9, 0.1, 0.8, 0.2])
    model = KolmogorovDescent(2, random_state=0).fit(table)
    old = Event.of_item(space_of(model), "a")
    same = Event.of_item(space_of(model), "a")
    assert old == same == old & same
    assert hash(old) == hash(same)
    for change in (lambda: model.update((["w"], ["a"], [0.5])), lambda: model.fit(table)):
        change()
        new = Event.of_item(space_of(model), "a")
        for combine in [*BINARY.values(), operator.le, operator.lt, operator.ge, operator.gt]:
            with pytest.raises(ValueError, match=r"fitted again or updated.*make them anew"):
                combine(old, new)
        with pytest.raises(ValueError, match="make them anew"):
            old.given(new)
        assert old != new


def test_what_is_no_event_is_refused() -> None:
    event = Event.of_item(films(), "Alien")
    for other in (1, "Heat", None, {"Heat"}):
        for combine in [*BINARY.values(), operator.le, operator.lt, operator.ge, operator.gt]:
            with pytest.raises(TypeError):
                combine(event, other)
            with pytest.raises(TypeError):
                combine(other, event)
        with pytest.raises(TypeError):
            event.given(other)
        assert (event == other) is False
        assert (event != other) is True
    for truth in (lambda: event and event, lambda: not event, lambda: bool(event)):
        with pytest.raises(TypeError, match=r"write & \| ~ instead of and, or, not.*a <= b"):
            truth()


def test_an_event_does_not_change() -> None:
    space = films()
    event = Event.of_item(space, "Alien")
    before = space.sets.copy()
    for attempt in (lambda: setattr(event, "code", 0), lambda: event.code.fill(0)):
        with pytest.raises((AttributeError, ValueError)):
            attempt()
    assert (space.sets == before).all()


def test_unknown_users() -> None:
    event = Event.of_item(films(), "Alien")
    with pytest.raises(ValueError, match="knows no user 'u9'"):
        event.probability("u9")
    with pytest.raises(ValueError, match=r"does not know 2 of these users: 'x', 7\. Use update"):
        event.probability(["u0", "x", 7, "x"])
    with pytest.raises(ValueError, match=r"users: 0, 1, 2, 3, 4, \.\.\.\."):
        event.probability(np.arange(9))
    assert event.probability([]).shape == (0,)


def test_a_tuple_is_one_user() -> None:
    users = [("a", 1), ("b", 2)]
    observations = Observations.of((users, ["x", "x"], [0.5, 0.5]))
    space = Space(np.array([[1.0, 0.0], [0.25, 0.75]]), pack(np.array([[1, 0]]) > 0), observations)
    event = Event.of_item(space, "x")
    assert event.probability(("b", 2)) == 0.25
    assert event.probability(users).tolist() == [1.0, 0.25]


# Text


pieces = st.recursive(
    st.sampled_from(NAMES),
    lambda sub: (
        st.builds("{}{}{}".format, sub, st.sampled_from(["&", " | ", "^ ", " - ", " & "]), sub)
        | st.builds("~{}".format, sub)
        | st.builds("( {})".format, sub)
    ),
    max_leaves=10,
)


@given(space=spaces, text=pieces)
@settings(max_examples=150, deadline=None)
def test_precedence_is_python_s(space, text) -> None:
    ours = event_of(space, text)
    python = eval(text, {name: Event.of_item(space, name) for name in NAMES})
    assert ours == python
    assert str(ours) == str(python)  # the same tree, not only the same set


def test_repr_and_str() -> None:
    space = films()
    alien, heat, up = (Event.of_item(space, name) for name in ("Alien", "Heat", "Up"))
    assert repr(alien & ~heat) == "Event(Alien & ~Heat: 1 of 3 events, 25.0% of the population)"
    for text in [
        "Alien | Heat & Up",
        "(Alien | Heat) & Up",
        "Alien - Heat - Up",
        "Alien - (Heat - Up)",
        "~~Alien",
        "~(Alien & Heat)",
        "Alien ^ (Heat | Up) ^ Up",
    ]:
        assert str(event_of(space, text)) == text
    assert str(alien | (heat | up)) == "Alien | Heat | Up"
    assert str(event_of(space, "((Alien)&(Heat - Up))")) == "Alien & Heat - Up"


@given(
    titles=st.lists(
        st.text(st.sampled_from("ab1 \n\t\"'\\()~&^|-🎬שé")) | st.text() | st.sampled_from(NASTY),
        min_size=8,
        max_size=8,
        unique=True,
    ),
    tree=trees,
)
@few
def test_what_is_written_reads_back(titles, tree) -> None:
    sets = np.arange(8)[:, None] == np.arange(9)  # every title has an event of its own
    space = handmade(np.full((1, 9), 1 / 9), sets, titles)
    event = built(space, tree)
    assert event_of(space, str(event)) == event
    for k, title in enumerate(titles):
        quoted = "'" + re.sub(r"(['\\])", r"\\\1", title) + "'"
        assert event_of(space, quoted).code.tolist() == [1 << k]
    assert "\n" not in repr(event)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Toy Story & Heat", ["Toy Story", "Heat"]),
        ("  Toy Story\n|\n Heat ", ["Toy Story", "Heat"]),
        ("Spider-Man", ["Spider-Man"]),
        ("X-Men&Heat", ["X-Men", "Heat"]),
        ("X-Men - Spider-Man", ["X-Men", "Spider-Man"]),
        ("Alien -Heat", ["Alien -Heat"]),
        ("Alien- Heat", ["Alien- Heat"]),
        ("Face--Off", ["Face--Off"]),
        ("Alien-(Heat)", ["Alien", "Heat"]),
        ("(Alien)-Heat", ["Alien", "Heat"]),
        ("Alien-~Heat", ["Alien", "Heat"]),
        ("Alien-'Heat'", ["Alien", "Heat"]),
        ("Schindler's List | Heat", ["Schindler's List", "Heat"]),
        ("Dogs' Life ^ 'Heat'", ["Dogs' Life", "Heat"]),
        ("'Schindler\\'s List'", ["Schindler's List"]),
        (r'"say \"hi\"" & "back\\slash" & "C:\temp"', ['say "hi"', "back\\slash", "C:\\temp"]),
        ('"Toy Story (1995)" & "("', ["Toy Story (1995)", "("]),
        ("七人の侍 & Amélie", ["七人の侍", "Amélie"]),
        ("'' | \" a \"", ["", " a "]),
        ("'a\\\nb'", ["a\\\nb"]),
    ],
)
def test_names(text, names) -> None:
    seen = []

    def resolve(name: str) -> Any:
        seen.append(name)
        return films_event

    films_event = Event.of_item(films(), "Alien")
    parse(text, resolve)
    assert seen == names


def test_a_minus_between_spaces_takes_away() -> None:
    assert parse("ab - b", set) == {"a"}
    assert parse("(ab)-b", set) == {"a"}
    assert parse("ab-b", set) == {"a", "b", "-"}


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("", "the expression is empty", 0),
        (" \n ", "the expression is empty", 0),
        ("Alien &", 'expected an item or "(" after "&"', 7),
        ("Alien & | Heat", 'expected an item or "(" after "&"', 8),
        ("Alien | ~ ", 'expected an item or "(" after "~"', 9),
        ("Alien - -Heat", 'expected an item or "(" after "-"', 8),
        ("& Alien", 'expected an item or "(" at the beginning', 0),
        ("Alien & ()", 'expected an item or "(" after "("', 9),
        ("Heat | (Alien & (Up)", 'this "(" is never closed', 7),
        ("Alien & Heat)", 'this ")" was never opened', 12),
        ('Alien & "Heat', "this quote is never closed", 8),
        ("Alien & 'Heat\\'", "this quote is never closed", 8),
        ("Toy Story (1995)", '"(" in a title needs quotes: "Toy Story (1995)"', 10),
        ("Alien (", '"(" in a title needs quotes: "Alien ("', 6),
        ('Alien "Heat"', "expected one of & | ^ - before this", 6),
        ('"Alien" (Heat)', "expected one of & | ^ - before this.", 8),
        ('Alien "(" ', "expected one of & | ^ - before this.", 6),
        ("(Alien) ~Heat", "expected one of & | ^ - before this", 8),
        ("Heat & Alein", "knows no item 'Alein': did you mean 'Alien'", 7),
        ("Heat & 'Alein'", "knows no item 'Alein': did you mean 'Alien'", 7),
        ("Alien and Heat", 'For "and", "or", "not" write & | ~.', 0),
        ("Alien-Heat", "A minus needs a space on either side.", 0),
        ("Alien\n& Heat |", 'expected an item or "(" after "|"', 14),
    ],
)
def test_errors_say_what_and_where(text, problem, place) -> None:
    with pytest.raises(ExpressionError, match=re.escape(problem)) as caught:
        event_of(films(), text)
    first, line, caret = str(caught.value).split("\n")
    assert first.startswith(f"At character {place + 1}: ")
    assert first.rstrip(".?").endswith(problem.rstrip(".?"))
    assert line == text.replace("\n", " ")
    assert caret == " " * place + "^"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_long_expression_is_shown_around_the_place_of_an_error() -> None:
    text = " | ".join(["Alien"] * 300) + " & | Heat" + " | Up" * 300
    with pytest.raises(ExpressionError) as caught:
        event_of(films(), text)
    first, line, caret = str(caught.value).split("\n")
    assert first == f'At character {text.index("& |") + 3}: expected an item or "(" after "&".'
    assert line.startswith("...")
    assert line.endswith("...")
    assert len(line) < 120
    assert line[len(caret) - 3 :].startswith("& | Heat | Up")


def test_the_caret_stands_under_wide_and_combined_characters() -> None:
    for text, columns in [("七人の侍 &", 10), ("Ame\u0301lie &", 8)]:
        with pytest.raises(ExpressionError) as caught:
            event_of(films(), text)
        assert str(caught.value).endswith("\n" + " " * columns + "^")


def test_ids_that_are_no_strings_go_by_their_text() -> None:
    items = [7, "7", 8, 2.5, -3, ("a", 1)]
    space = handmade([np.full(6, 1 / 6)], np.eye(6), items)
    for text, position in [("7", 1), ("8", 2), ("2.5", 3), ("'-3'", 4), ("\"('a', 1)\"", 5)]:
        assert event_of(space, text) == Event.at(space, position)
    for item in items[2:]:
        event = Event.of_item(space, item)
        assert event_of(space, str(event)) == event
    with pytest.raises(ExpressionError, match="knows no item '9'"):
        event_of(space, "8 | 9")


def test_any_number_of_items_and_any_depth() -> None:
    n = 5_000
    items = [f"Film {k}" for k in range(n)]
    space = handmade(np.full((1, 8), 1 / 8), np.arange(n)[:, None] % 7 == np.arange(8), items)
    events = [Event.at(space, k) for k in range(n)]
    wide = functools.reduce(operator.or_, events)
    deep = functools.reduce(lambda inner, event: event - inner, events)
    assert str(wide) == " | ".join(f'"Film {k}"' for k in range(n))
    assert str(deep).endswith("))")
    for event in (wide, deep):
        assert event_of(space, str(event)) == event
        assert "...: " in repr(event)
        assert len(repr(event)) < 150
        for twin in (pickle.loads(pickle.dumps(event)), copy.deepcopy(event)):
            assert str(twin) == str(event)
            assert str(twin & twin)[:1] == ("(" if event is wide else '"')
    assert event_of(space, " | ".join(items)) == wide
    assert event_of(space, "(" * 10_000 + "Film 1" + ")" * 10_000) == events[1]
    assert event_of(space, "~" * 10_001 + "Film 1") == ~events[1]
    with pytest.raises(ExpressionError, match='this "\\(" is never closed'):
        event_of(space, "(" * 10_000 + "Film 1" + ")" * 9_999)


def test_escapes_in_names_and_expressions_are_not_passed_on() -> None:
    columns = (["u", "v"], ["\x1b[31m", "b"], [0.1, 0.9])
    model = KolmogorovDescent.from_parts(np.full((2, 2), 0.5), np.eye(2), columns)
    assert "\\x1b[31m" in repr(model.event("\x1b[31m"))
    with pytest.raises(ValueError, match="knows no item") as caught:
        model.query("b &\x1b]0;evil\x07 " + "x" * 5000)
    assert not set("\x1b\x07") & set(str(caught.value))
    assert len(str(caught.value)) < 1000
