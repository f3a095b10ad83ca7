"""Which rules are wanted, and the tables of those that are found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checks import check_choice, check_whole
from eventspace._base.errors import UserError, warn
from eventspace._base.progress import bar
from eventspace.data.entries import transpose
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.ids import Ids
from eventspace.data.missing import that_speak
from eventspace.data.observations import Observations
from eventspace.logic.algebra import Expression
from eventspace.rules import mining
from eventspace.rules.compound import Conditions, Extender, code_of, count
from eventspace.rules.likes import Likes
from eventspace.rules.mining import COUNTS, KINDS, Inclusions, Miner, Rules
from eventspace.rules.pairs import compare_pairs
from eventspace.rules.significance import p_values, q_values

CONVENTIONS = ("model", "paper")
EVIDENCE = 20  # users who like both, by default
PARENTS = 1_000  # rules that further conditions are added to, the surest
FEW = 20  # or the number of users through this, if these are few
SAME = 0.9  # of the ratings of known users and items that are as they were: then they are not new
_BLOCK = 10_000  # rules in a table of a stream


@dataclass(frozen=True)
class RuleOptions:
    """Which rules are wanted; :meth:`FittedModel.rules` says what each option means."""

    sort: str = "gain"
    min_evidence: int | str = "auto"
    proved: bool = False
    conditions: int = 1
    like: float | None = None
    fold: bool = True
    restarts: int = 0
    convention: str = "model"

    def __post_init__(self) -> None:
        check_choice("sort", self.sort, mining.SORTS)
        if self.min_evidence != "auto":
            check_whole("min_evidence", self.min_evidence, 0)
        check_whole("conditions", self.conditions, 1, 3)
        check_whole("restarts", self.restarts, 0)
        check_choice("convention", self.convention, CONVENTIONS)
        if self.sort == "agreement_gain" and self.conditions > 1:
            raise UserError("sort='agreement_gain' orders rules with one condition.")
        if self.convention == "paper" and not self.proved:
            raise UserError("convention='paper' restates proved rules: it needs proved=True.")
        if self.convention == "paper" and self.conditions > 1:
            raise UserError("convention='paper' restates rules with one condition.")

    def evidence(self, seen: Observations) -> int:
        """How many users must like both items."""
        if self.min_evidence != "auto":
            return int(self.min_evidence)
        return max(1, min(EVIDENCE, int(np.count_nonzero(seen.by_user.sizes)) // FEW))


def held_out_likes(X: Any, trained: Observations, like: float) -> Likes:
    """The likes of a table with the items, and in the unit, of the training data."""
    known = trained.item_ids
    if isinstance(X, str) and known.positions([X])[0] >= 0:
        raise UserError(f"{X!r} is an item, not a table: rules(item={X!r}) gives its rules.")
    table = Observations.of(X, missing=trained.missing, users=trained.user_ids, items=known)
    if not table.by_item.sizes[: len(known)].any():
        raise UserError("None of the items of the table is one of the model's.")
    for doubt in (_doubt_of_unit(table, trained, like), _doubt_of_news(table, trained)):
        if doubt:
            warn(doubt)
    return Likes.of(_asked(table) if table.missing else table, like)


def _asked(table: Observations) -> Observations:
    """The users of a table alone, without the model's that it does not have: these say no to all"""
    users = np.flatnonzero(table.by_user.sizes)
    by_user = table.by_user.taken(users)
    both = that_speak(by_user, transpose(by_user, table.n_items), table.missing)
    return replace(
        table, user_ids=Ids(table.user_ids.values[users]), by_user=both[0], by_item=both[1]
    )


def _doubt_of_unit(table: Observations, trained: Observations, like: float) -> str:
    """What is odd about the unit of a table, if anything."""
    if math.isinf(like):
        return "All values of the fit are the same: none counts as a like"
    lowest, highest = trained.scale
    most = float(table.from_unit(table.by_user.value.max(initial=0.0)))
    if most < like:
        said = f"nothing in the table reaches {like:g}, from which on a value counts as a like"
    elif most > highest + (highest - lowest) / 2:
        said = f"the table has a value of {most:g}, where the model knows {lowest:g} to {highest:g}"
    else:
        return ""
    return f"{said}: is it in the unit of the training data?"


def _doubt_of_news(table: Observations, trained: Observations) -> str:
    """That ratings were learnt from, if they were: same user, same item and same value.

    Rows of two arrays have the same numbers, but other values: these are other users.
    """
    (users, items, p), (old_users, old_items, old_p) = table.coo(), trained.coo()
    n_items = np.int64(max(table.n_items, trained.n_items))
    keys, old = users * n_items + items, old_users * n_items + old_items
    keys, values = keys[users < trained.n_users], table.from_unit(p)[users < trained.n_users]
    at = np.minimum(np.searchsorted(old, keys), len(old) - 1)
    again = old[at] == keys
    same = again & np.isclose(values, trained.from_unit(old_p)[at], rtol=1e-5, atol=1e-5)
    if not again.any() or same.sum() < SAME * again.sum():
        return ""
    return (
        f"{same.sum():,} of the {len(p):,} ratings of the table are among those that the model "
        "was fitted on: what they say of a rule is no test. Hold users out before the fit."
    )


def told(
    miner: Miner,
    options: RuleOptions,
    held_out: Likes | None,
    item: int | None,
    top: int | None,
    show: bool | None,
) -> DataFrame:
    """The first of all rules, or of an item's, as a table."""
    check_whole("top", 1 if top is None else top, 1)
    found = found_rules(miner, item, top, show)
    conditions: Sequence[Conditions] = []
    if options.conditions > 1:
        found, miner, conditions = with_compounds(found, miner, options, item, top, show)
    columns = columns_of(found, miner, options, held_out, conditions)
    return data_frame(columns, miner.inclusions.space.observations.library)


def found_rules(miner: Miner, item: int | None, top: int | None, show: bool | None) -> Rules:
    """The first of all rules, or of an item's."""
    if item is not None:
        return mining.best([miner.of_item(item)], top, varied=False)
    with bar("rules", miner.n_blocks, show) as update:
        return mining.best(_watched(miner, update), top, varied=miner.fold)


def with_compounds(
    found: Rules,
    miner: Miner,
    options: RuleOptions,
    item: int | None,
    top: int | None,
    show: bool | None,
) -> tuple[Rules, Miner, list[Conditions]]:
    """The rules with those of several conditions among them."""
    surest = replace(miner, sort="certainty", proved=False, fold=False)
    parents = found_rules(surest, item, PARENTS, show)
    extender = Extender(miner.next_user, miner.listed, miner.min_evidence)
    with bar("longer rules", len(parents), show) as update:
        compounds = extender.extended(
            parents, options.conditions, lambda done: update(min(done, len(parents)), "")
        )
    inclusions = miner.inclusions.with_compounds(
        lambda sets: [code_of(sets, conditions) for conditions in compounds.conditions]
    )
    miner = replace(miner, inclusions=inclusions)
    rules = miner.sorted_by(compounds.rules)
    rules = np.concatenate([found, rules[miner.told(rules)]])
    n_items = miner.next_user.likes.n_items

    def items_of(side: int) -> tuple[int, ...]:
        parts = compounds.conditions[side - n_items] if side >= n_items else ()
        return tuple(condition.item for condition in parts) or (side,)

    varied = miner.fold and item is None
    rules = mining.best([rules], top, varied=varied, items_of=items_of)
    return rules, miner, compounds.conditions


def stream(
    miner: Miner, options: RuleOptions, held_out: Likes | None, show: bool | None
) -> Iterator[DataFrame]:
    """All rules, one table after another."""
    library = miner.inclusions.space.observations.library
    held, n = [np.zeros(0, mining.RULE)], 0
    with bar("rules", miner.n_blocks, show) as update:
        for block in _watched(miner, update):
            held.append(block)
            n += len(block)
            if n >= _BLOCK:
                rules = np.concatenate(held)
                yield data_frame(columns_of(rules, miner, options, held_out, []), library)
                held, n = [np.zeros(0, mining.RULE)], 0
    if n:
        rules = np.concatenate(held)
        yield data_frame(columns_of(rules, miner, options, held_out, []), library)


def _watched(miner: Miner, update: Any) -> Iterator[Rules]:
    for k, block in enumerate(miner.blocks()):
        yield block
        update(k + 1, "")


def columns_of(
    rules: Rules,
    miner: Miner,
    options: RuleOptions,
    held_out: Likes | None,
    conditions: Sequence[Conditions],
) -> dict[str, NDArray[Any]]:
    """The columns of a table of rules."""
    inclusions: Inclusions = miner.inclusions
    if_item, then_item = rules["if_item"], rules["then_item"]
    kinds = np.array(KINDS, dtype=object)
    kind, share = inclusions.kinds(if_item, then_item), inclusions.share(if_item, then_item)
    if options.convention == "paper":  # the same inclusions, read the other way round
        rules = mining.swapped(rules)
        if_item, then_item = rules["if_item"], rules["then_item"]
        kinds[mining.IMPLIES] = "converse"
    ids = inclusions.space.observations.item_ids
    several = options.conditions > 1
    found = {
        "if_item": _names(if_item, ids.values, conditions) if several else ids.values[if_item],
        "then_item": ids.values[then_item],
        **mining.law_of(rules).measures(),
        "kind": kinds[kind],
        "inclusion": share,
        "agreement": rules["agreement"],
        "agreement_gain": rules["agreement_gain"],
        "users": rules["users"],
        "like_if": rules["like"],
        "like_then": rules["like_other"],
        "like_both": rules["like_both"],
    }
    if several:
        lengths = np.array([*np.ones(len(ids), dtype=np.int64), *map(len, conditions)])
        found["conditions"] = lengths[if_item]
    if held_out is not None:
        found |= _tested(_counts(rules, len(ids), held_out, conditions))
    return found


def _names(if_item: Any, ids: NDArray[Any], conditions: Sequence[Conditions]) -> NDArray[Any]:
    """Ids, and several conditions as an expression, which :meth:`FittedModel.query` reads."""
    names = np.empty(len(if_item), dtype=object)
    for k, at in enumerate(if_item.tolist()):
        names[k] = ids[at] if at < len(ids) else _expression(conditions[at - len(ids)], ids)
    return names


def _expression(conditions: Conditions, ids: NDArray[Any]) -> str:
    first, *rest = (
        Expression.of_item(ids[item]) if liked else Expression.of_item(ids[item]).inverted()
        for item, liked in conditions
    )
    for one in rest:
        first = first.joined("&", one)
    return "".join(first.texts())


def _counts(
    rules: Rules, n_items: int, held_out: Likes, conditions: Sequence[Conditions]
) -> list[Any]:
    """How many users of another table rated all items of a rule, and how many of them like what."""
    if_item, then_item = rules["if_item"], rules["then_item"]
    single, counts = if_item < n_items, np.zeros((len(COUNTS), len(rules)))
    counts[:, single] = compare_pairs(held_out, if_item[single], then_item[single])[: len(COUNTS)]
    for k in np.flatnonzero(~single).tolist():
        counts[:, k] = count(held_out, conditions[if_item[k] - n_items], int(then_item[k]))
    return list(counts)


def _tested(counts: list[Any]) -> dict[str, NDArray[Any]]:
    """What another table says of rules, and how sure one can be that they gain at all."""
    users, like, like_then, like_both = counts
    p = p_values(*counts)
    with np.errstate(invalid="ignore"):
        confidence, base = like_both / like, like_then / users
    return {
        "held_out_users": users.astype(np.int64),
        "held_out_like_if": like.astype(np.int64),
        "held_out_confidence": confidence,
        "held_out_base": base,
        "p_value": p,
        "q_value": q_values(p, (like > 0) & (like_then > 0)),
    }
