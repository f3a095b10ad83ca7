"""The rules that a space proves, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from eventspace._base.checks import check_choice, check_share, check_whole
from eventspace._base.errors import UserError
from eventspace._base.progress import bar
from eventspace._base.types import Codes
from eventspace.data.frames import DataFrame
from eventspace.logic.space import Space
from eventspace.rules import mining
from eventspace.rules.evidence import Evidence, held_out_evidence, liked_from

_BLOCK = 10_000  # rules in a table of a stream


@dataclass(frozen=True)
class RuleOptions:
    """Which rules are wanted; :meth:`FittedModel.rules` says what each option means."""

    sort: str = "surprise"
    min_evidence: int = 1
    min_support: float = 0.0
    min_confidence: float = 1.0
    like: float | None = None
    fold: bool = True
    restarts: int = 0
    convention: str = "model"

    def __post_init__(self) -> None:
        check_choice("sort", self.sort, mining.SORTS)
        check_whole("min_evidence", self.min_evidence, 1)
        check_whole("restarts", self.restarts, 0)
        check_share("min_support", self.min_support)
        check_share("min_confidence", self.min_confidence)
        check_choice("convention", self.convention, mining.CONVENTIONS)
        if self.convention == "paper" and self.min_confidence < 1:
            raise UserError("convention='paper' restates proved rules: leave min_confidence at 1.")
        if self.convention == "paper" and self.sort == "confidence":
            raise UserError(
                "and convention='paper': proved rules all have 1.",
                parameter="sort",
                value=self.sort,
            )

    def miner(self, space: Space, other_fits: list[Codes]) -> mining.Miner:
        """What finds these rules in a space; the sets of other fits tell how stable they are."""
        if self.sort == "stability" and not other_fits:
            raise UserError(
                "needs",
                parameter="sort",
                value=self.sort,
                remedy="restarts=10, say: it is counted over them.",
                shell="--restarts 10, say: it is counted over them.",
            )
        return mining.Miner(
            space,
            Evidence(space.observations, liked_from(space.observations, self.like)),
            other_fits,
            self.sort,
            self.min_evidence,
            self.min_support,
            self.min_confidence,
            self.fold,
        )

    def evidence(self, X: Any, space: Space) -> Evidence | None:
        """That of a table, if there is one, to be reported in place of the miner's own."""
        seen = space.observations
        return None if X is None else held_out_evidence(X, seen, liked_from(seen, self.like))


def proved_rules(
    miner: mining.Miner,
    options: RuleOptions,
    X: Any,
    item: Any,
    top: int | None,
    show: bool | None,
) -> DataFrame:
    """The first of all rules, or of an item's."""
    check_whole("top", 1 if top is None else top, 1)
    evidence = options.evidence(X, miner.space)
    if item is not None:
        found = mining.best([miner.of_item(miner.space.item(item))], miner, top)
    else:
        with bar("rules", miner.n_classes, show) as update:
            found = mining.best(mined(miner, update), miner, top)
    return mining.table(found, miner, evidence, options.convention)


def stream_of_rules(
    miner: mining.Miner, options: RuleOptions, X: Any, show: bool | None
) -> Iterator[DataFrame]:
    """All rules, one table after another."""
    evidence = options.evidence(X, miner.space)
    held, n = [np.zeros(0, mining.RULE)], 0
    with bar("rules", miner.n_classes, show) as update:
        for block in mined(miner, update):
            held.append(block)
            n += len(block)
            if n >= _BLOCK:
                yield mining.table(np.concatenate(held), miner, evidence, options.convention)
                held, n = [np.zeros(0, mining.RULE)], 0
    if n:
        yield mining.table(np.concatenate(held), miner, evidence, options.convention)


def mined(miner: mining.Miner, update: Any) -> Iterator[mining.Rules]:
    """All the rules, class by class; ``update`` is told how many classes are done."""
    for k, members in enumerate(miner.classes):
        yield from miner.of_class(members)
        update(k + 1, "")
