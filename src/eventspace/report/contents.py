"""What a page holds of a fitted model, as plain values.

Items are numbered by their ratings, the best known first. Sets are stored once per class. The
browser derives implications, predictions and their reasons from these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import WORD
from eventspace._base.errors import UserError
from eventspace._base.types import Codes, Positions
from eventspace._base.version import __version__
from eventspace.data.observations import Observations
from eventspace.logic.event_labels import EventLabels
from eventspace.logic.inclusion import Classes
from eventspace.logic.space import Space, known_positions
from eventspace.report import budget
from eventspace.report.budget import name_of
from eventspace.report.fit import fit_of
from eventspace.report.newcomer import newcomer_of
from eventspace.rules import telling

DIGITS = 5  # of a number, where nobody computes with it
PMF_UNIT = 10**8  # PMFs are whole numbers of this part of one: sums of 64 are good to 1e-6


def contents(
    model: Any, X: Any, *, title: str, tags: Any, users: Any, restarts: int
) -> dict[str, Any]:
    """Everything, and notes on what was left out."""
    space: Space = model.space
    if space.n_events > WORD:
        raise UserError(
            f"This model has {space.n_events:,} events, too many to read: make a page of one with "
            "at most 64, such as the average's to_model(16)."
        )
    seen = space.observations
    held_out = None if X is None else Observations.of(X)  # once: it may be a stream
    items = budget.chosen_items(space)
    place = np.full(seen.n_items, -1, dtype=np.int64)  # of each item in the page
    place[items] = np.arange(len(items))
    people = _positions_of(space, users)
    return {
        "title": title,
        "version": __version__,
        "counts": {"users": seen.n_users, "items": seen.n_items, "observed": seen.n_observed},
        "scale": list(seen.scale),
        "like": rounded([model.liked_from])[0],
        "notes": _notes(space, items, people, users),
        "events": _events(space, EventLabels.of(space, tags), tags, place),
        "items": _items(space, items),
        "rules": _rules(model, held_out, items, place, restarts),
        "users": _users(space, people, place),
        "newcomer": newcomer_of(model),
        "fit": fit_of(model, held_out),
    }


def rounded(values: Any) -> list[Any]:
    """Numbers of few digits; None for what is no finite number."""
    return [
        float(f"{v:.{DIGITS}g}") if abs(v) < np.inf else None
        for v in np.asarray(values, dtype=np.float64).tolist()
    ]


def _positions_of(space: Space, users: Any) -> Positions:
    if users is None:
        return budget.chosen_users(space)
    known = space.observations.user_ids
    return known_positions(known, users, "user", "report(users=...) wants the model's own.", "")


def _notes(space: Space, items: Positions, people: Positions, users: Any) -> list[str]:
    seen, notes = space.observations, []
    rated, raters = (
        int(np.count_nonzero(entries.sizes)) for entries in (seen.by_item, seen.by_user)
    )
    if rated < seen.n_items:
        notes.append(
            f"Items without ratings ({seen.n_items - rated:,}) are left out: they have no sets."
        )
    if len(items) < rated:
        notes.append(
            f"Of {rated:,} rated items the page holds the {len(items):,} with the most ratings; "
            "the others count in the masses and the fit alone."
        )
    if rated > budget.RULE_ITEMS:
        notes.append(
            f"Rules in the table are those among the {budget.RULE_ITEMS:,} items with the most "
            f"ratings, the first {budget.RULES:,}; what an item implies is complete."
        )
    if users is not None:
        notes.append(f"Of {seen.n_users:,} users the page holds {len(people):,}, as asked for.")
    elif len(people) < raters:
        notes.append(
            f"Of {raters:,} users the page holds {len(people):,}, from those with the most ratings "
            "to those with the fewest; in Python, report(path, users=[...]) chooses others."
        )
    return notes


def _events(space: Space, named: EventLabels, tags: Any, place: Positions) -> dict[str, Any]:
    """Masses, labels, and of each event the items that tell it, by their number in the page."""
    by_item = named if tags is None else EventLabels(space)
    ids, n = space.observations.item_ids, budget.TELLING

    def numbers(names: list[Any]) -> list[int]:
        found = place[ids.positions(names)].tolist() if names else []
        return [k for k in found if k >= 0]

    return {
        "mass": space.mass.tolist(),
        "items": space.sizes.tolist(),
        "label": [name_of(label) for label in named.labels],
        "likes": [numbers(by_item.likes(d, n)) for d in range(space.n_events)],
        "dislikes": [numbers(by_item.dislikes(d, n)) for d in range(space.n_events)],
        "occurring": hexadecimal(space.occurring[None])[0],
    }


def _items(space: Space, items: Positions) -> dict[str, Any]:
    classes = Classes(space.sets[items])
    beyond = space.codes[items] & ~space.occurring
    return {
        "name": [name_of(space.observations.item_ids[i]) for i in items],
        "ratings": space.ratings[items].tolist(),
        "class": classes.of_item.tolist(),
        "codes": hexadecimal(classes.codes),
        "beyond": hexadecimal(beyond) if beyond.any() else [],  # in events that never occurred
    }


def hexadecimal(codes: Codes) -> list[str]:
    """Sets of at most 64 events as text: event d is bit d of the number."""
    return [f"{code:x}" for code in codes[:, 0].tolist()]


def _rules(
    model: Any, held_out: Any, items: Positions, place: Positions, restarts: int
) -> dict[str, Any]:
    """The columns of :meth:`KolmogorovModel.rules`, of the best-known items."""
    options = telling.RuleOptions(restarts=restarts)
    known = np.zeros(len(place), dtype=np.bool_)
    known[items[: budget.RULE_ITEMS]] = True
    miner = replace(model.miner(options), items=known)
    found = telling.found_rules(miner, None, budget.RULES, model.settings.verbose)
    columns = telling.columns_of(found, miner, options, model.held_out(held_out, None), [])
    for side in ("if_item", "then_item"):
        columns[side] = place[found[side]]
    return {
        name: rounded(column) if column.dtype.kind == "f" else column.tolist()
        for name, column in columns.items()
    }


def _users(space: Space, people: Positions, place: Positions) -> dict[str, Any]:
    """Names, PMFs and ratings: the items' numbers in the page, and the values in the unit."""
    seen = space.observations
    rated: list[list[int]] = []
    values: list[list[Any]] = []
    for u in people:
        own = slice(seen.by_user.ptr[u], seen.by_user.ptr[u + 1])
        at: NDArray[np.int64] = place[seen.by_user.index[own]]
        rated.append(at[at >= 0].tolist())
        values.append(rounded(seen.from_unit(seen.by_user.value[own][at >= 0])))
    return {
        "name": [name_of(seen.user_ids[u]) for u in people],
        "ratings": seen.by_user.sizes[people].tolist(),
        "pmf": (space.pmf[people] * PMF_UNIT).round().astype(np.int64).tolist(),
        "items": rated,
        "values": values,
    }
