"""The rules that a fitted model proves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from eventspace._base.checks import check_choice, check_share, check_whole
from eventspace._base.errors import UserError
from eventspace._base.progress import bar
from eventspace._base.types import Codes
from eventspace.fitted.reasoning import Reasoning
from eventspace.rules import mining
from eventspace.rules.evidence import Evidence, held_out_evidence, liked_from

_BLOCK = 10_000  # rules in a table of a stream
_SEED = 1 << 30  # of the first restart: hardly the one that the caller chose


class Proving(Reasoning):
    """Rules from the sets of a model, with evidence from its observations or others."""

    verbose: bool | None
    given_: str | None

    def rules(
        self,
        X: Any = None,
        *,
        item: Any = None,
        top: int | None = 100,
        sort: str = "surprise",
        min_evidence: int = 1,
        min_support: float = 0.0,
        min_confidence: float = 1.0,
        like: float | None = None,
        fold: bool = True,
        restarts: int = 0,
        convention: Literal["model", "paper"] = "model",
    ) -> Any:
        """Rules "whoever likes if_item likes then_item", the most surprising first.

        A rule is proved by the model if the one set of events lies inside the other: it then
        holds for every user. Another fit of the same data may prove others: ``restarts`` tells
        which last. Events that carry no mass are ignored, and items that never come true, which
        imply everything, are left out.

        Parameters
        ----------
        X : table, optional
            Where the evidence in the table comes from, such as held-out ratings; which rules
            there are and how they are ranked is still decided by the training data. None: the
            training data.
        item : id, optional
            Only the rules from this item and to it.
        top : int or None, default 100
            So many of them, or all.
        sort : {"surprise", "lift", "leverage", "confidence", "support", "correlation", "stability"}
            What the rules are ordered by, the greatest first.
        min_evidence : int, default 1
            How many users must have rated both items in the training data.
        min_support : float, default 0
            The least probability of both items together, in the population.
        min_confidence : float, default 1
            Below 1, also *soft* rules: pairs of which the second has at least this probability
            given the first, although the set does not lie inside.
        like : float, optional
            The least value that counts as a like, in the unit of the table; None: whatever is
            above the mean of the training data.
        fold : bool, default True
            Leave out what follows: of the rules between two classes of equivalent items, or
            within one, only the first is kept; "if A then C" goes where "if A then B" is listed
            and the model proves "if B then C". With ``item``, all its equivalents are listed.
        restarts : int, default 0
            Fit so many times more, from other random starts, and give the part of these fits in
            which a rule holds as its ``stability``; the surprise is multiplied by it.
        convention : {"model", "paper"}, default "model"
            "paper" restates the proved rules as the paper prints them, if_item and then_item
            exchanged: that direction does not follow from the model, and is called ``converse``.

        Returns
        -------
        DataFrame
            In the library of the table that was fitted. ``kind``: "implies" and "equivalent" are
            proved, "soft" is not. Under the model, averaged over users: ``antecedent support``,
            ``consequent support``, ``support``, ``confidence``, ``lift``, ``leverage``,
            ``conviction``. In the data, over the ``users`` who rated both: ``agreement`` (how often
            if_item has at most the value of then_item, which is what a rule says), ``like_rate``
            (of those who like if_item, how many like then_item) with its Wilson interval from
            ``like_low`` to ``like_high``, and ``base_rate`` (how many like then_item anyway).
            ``correlation`` of the training ratings beyond the means of items and users.
            Every rating counts alike, whatever its weight. ``chance``: how likely sets of these
            sizes have so much in common blindly.
            ``surprise``: -log10(chance) x correlation, if positive and drawn to zero where few
            users rated both, x stability.
        """
        check_whole("top", 1 if top is None else top, 1)
        check_choice("sort", sort, mining.SORTS)
        if sort == "confidence" and convention == "paper":
            raise UserError(
                "and convention='paper': proved rules all have 1.", parameter="sort", value=sort
            )
        if sort == "stability" and not restarts:
            raise UserError(
                "needs",
                parameter="sort",
                value=sort,
                remedy="restarts=10, say: it is counted over them.",
                shell="--restarts 10, say: it is counted over them.",
            )
        options = (min_evidence, min_support, min_confidence, like, fold, restarts, convention)
        miner, evidence = self._miner(X, sort, *options)
        if item is not None:
            blocks = iter([miner.of_item(miner.space.item(item))])
            found = mining.best(blocks, miner, top)
        else:
            with bar("rules", miner.n_classes, self.verbose) as update:
                found = mining.best(mined(miner, update), miner, top)
        return mining.table(found, miner, evidence, convention)

    def iter_rules(
        self,
        X: Any = None,
        *,
        min_evidence: int = 1,
        min_support: float = 0.0,
        min_confidence: float = 1.0,
        like: float | None = None,
        fold: bool = True,
        restarts: int = 0,
        convention: Literal["model", "paper"] = "model",
    ) -> Iterator[Any]:
        """All rules of :meth:`rules`, however many, as tables of some ten thousand in no order.

        Hardly more than one of these is held at a time.
        """
        options = (min_evidence, min_support, min_confidence, like, fold, restarts, convention)
        miner, evidence = self._miner(X, "surprise", *options)

        def tables() -> Iterator[Any]:
            held, n = [np.zeros(0, mining.RULE)], 0
            with bar("rules", miner.n_classes, self.verbose) as update:
                for block in mined(miner, update):
                    held.append(block)
                    n += len(block)
                    if n >= _BLOCK:
                        yield mining.table(np.concatenate(held), miner, evidence, convention)
                        held, n = [np.zeros(0, mining.RULE)], 0
            if n:
                yield mining.table(np.concatenate(held), miner, evidence, convention)

        return tables()

    def _miner(
        self,
        X: Any,
        sort: str,
        min_evidence: int,
        min_support: float,
        min_confidence: float,
        like: float | None,
        fold: bool,
        restarts: int,
        convention: str,
    ) -> tuple[mining.Miner, Evidence | None]:
        """The miner for these options, and the evidence to report if it is not its own."""
        check_is_fitted(self)
        check_whole("min_evidence", min_evidence, 1)
        check_whole("restarts", restarts, 0)
        check_share("min_support", min_support)
        check_share("min_confidence", min_confidence)
        check_choice("convention", convention, mining.CONVENTIONS)
        if convention == "paper" and min_confidence < 1:
            raise UserError("convention='paper' restates proved rules: leave min_confidence at 1.")
        seen = self.observations_
        like = liked_from(seen, like)
        miner = mining.Miner(
            self._space(),
            Evidence(seen, like),
            self._other_fits(restarts),
            sort,
            min_evidence,
            min_support,
            min_confidence,
            fold,
        )
        return miner, None if X is None else held_out_evidence(X, seen, like)

    def _other_fits(self, n: int) -> list[Codes]:
        """The items' sets in n fits from other starts, without events that carry no mass."""
        if n and self.given_ is not None:
            raise UserError(
                f"would learn anew what was given to this fit ({self.given_}); there is nothing "
                "random about it, and",
                parameter="restarts",
                value=n,
                remedy="restarts=0 is right.",
                shell="leaving it out is right.",
            )
        fits = []
        with bar("restarts", n, self.verbose) as update:
            for k in range(n):
                other = clone(self).set_params(
                    random_state=_SEED + k, n_init=1, warm_start=False, verbose=False
                )
                if other.fit(self.observations_).interrupted_:
                    raise KeyboardInterrupt
                fits.append(other._space().sets)
                update(k + 1, "")
        return fits


def mined(miner: mining.Miner, update: Any) -> Iterator[mining.Rules]:
    """All the rules, class by class; ``update`` is told how many classes are done."""
    for k, members in enumerate(miner.classes):
        yield from miner.of_class(members)
        update(k + 1, "")
