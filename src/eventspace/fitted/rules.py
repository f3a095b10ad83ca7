"""The rules of a fitted model: statements about the next user."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from eventspace._base.cached import cached_property
from eventspace._base.errors import UserError
from eventspace._base.types import Codes
from eventspace.data.frames import DataFrame
from eventspace.fitted.fit import Fit
from eventspace.fitted.prediction import Predictor
from eventspace.fitting.settings import checked_threads
from eventspace.logic.space import Space

if TYPE_CHECKING:
    from eventspace.rules.law import NextUser
    from eventspace.rules.likes import Likes
    from eventspace.rules.mining import Miner
    from eventspace.rules.telling import RuleOptions


class RuleTeller(Predictor):
    """Finds rules between the items of a fit, and says how far they hold."""

    record: Fit
    settings: Any

    @cached_property
    def space(self) -> Space:
        """The probability space of the fit, which keeps what is worked out from it."""
        return Space(self.record.pmf, self.record.codes, self.record.observations)

    @property
    def _readable(self) -> Space:
        """The space whose events people are shown."""
        return self.space

    @abstractmethod
    def _other_fits(self, n: int) -> list[Codes]:
        """The items' sets in other fits or draws, and in n more."""

    @cached_property
    def liked_from(self) -> float:
        """The least value that counts as a like by default: the least observed above the mean."""
        from eventspace.rules.likes import liked_from

        return liked_from(self.observations, None)

    def rules(
        self,
        X: Any = None,
        *,
        item: Any = None,
        top: int | None = 100,
        sort: str = "gain",
        min_evidence: int | Literal["auto"] = "auto",
        proved: bool = False,
        conditions: int = 1,
        like: float | None = None,
        fold: bool = True,
        restarts: int = 0,
        convention: Literal["model", "paper"] = "model",
    ) -> DataFrame:
        """Rules: of those who like one item, how many like another; of all, how many do.

        Both numbers are about the next user: one who was never asked and who meets both items.
        The model says what to expect of the two together, and the users who rated both are counted
        on top. Listed are the rules that gain something and that their counts do not deny.

        Parameters
        ----------
        X : table, optional
            Ratings that the model has not seen, best those of other users. The rules are tested
            there, and stay what they are.
        item : id, optional
            Only the rules from this item and to it.
        top : int or None, default 100
            How many rules at most; None: all.
        sort : str, default "gain"
            The column that they are ordered by, the greatest first: "gain", "gain_low",
            "confidence", "lift", "support", "agreement_gain" or "inclusion".
        min_evidence : int or "auto"
            How many users must like both items: 20, or a twentieth of all if these are few. In the
            order by "agreement_gain" those who rated both count, and listed is what agrees more
            than the means say.
        proved : bool, default False
            Only the rules that the readable model proves, whatever they gain.
        conditions : int, default 1
            With 2 or 3, also rules with several conditions, such as "A & ~B", where each of these
            adds clearly. There ``if_item`` is an expression that :meth:`query` reads, and a column
            ``conditions`` counts them.
        like : float, optional
            The least value that counts as a like, in the unit of the table; None: the least one
            above the mean.
        fold : bool, default True
            Of the rules from A to B and from B to A, list the better one only; and prefer
            items that the list has not named, by a twentieth for each.
        restarts : int, default 0
            Fit this many times more, and count these fits in ``inclusion``.
        convention : {"model", "paper"}, default "model"
            "paper" restates proved rules as the paper prints them, if_item and then_item
            exchanged: that direction does not follow from the model, and is called "converse".

        Returns
        -------
        DataFrame
            In the library of the table that was fitted.

            - ``confidence``: the chance that the next user likes then_item, having liked if_item,
              with its 90 % interval from ``confidence_low`` to ``confidence_high``;
            - ``base``: the chance that the next user likes then_item;
            - ``gain``: confidence - base, with an interval from ``gain_low`` to ``gain_high``;
            - ``lift``: confidence / base, and ``support``: the chance that both are liked;
            - ``kind``: whether the readable model proves it. "implies": the set of if_item lies
              inside that of then_item; "equivalent": the sets are the same; "soft": neither;
            - ``inclusion``: the share of draws, or of other fits, in which the one set lies inside
              the other; NaN if there are none. One model has two halves of its chains;
            - ``agreement``: how often if_item is expected to get at most the value of then_item,
              ties half, and ``agreement_gain``: that beyond what the items' means say;
            - the counts: ``users`` rated both, of whom so many like the first (``like_if``), the
              second (``like_then``) and both (``like_both``). Weights do not count.

            With ``X``: ``held_out_users`` rated both there, ``held_out_like_if`` of them like the
            first, ``held_out_confidence`` and ``held_out_base`` are what was counted. ``p_value``
            is that of Fisher's exact test of a gain; ``q_value`` is Benjamini and Yekutieli's: of
            the rules in the table with q < 0.05, at most 5 % are expected to gain nothing. All
            rules of the table are tested together, so a longer table has greater q-values.
        """
        from eventspace.rules.telling import RuleOptions, told

        options = RuleOptions(
            sort, min_evidence, proved, conditions, like, fold, restarts, convention
        )
        at = None if item is None else self.space.item(item)
        miner = self.miner(options)
        return told(miner, options, self.held_out(X, like), at, top, self.settings.verbose)

    def iter_rules(
        self,
        X: Any = None,
        *,
        min_evidence: int | Literal["auto"] = "auto",
        proved: bool = False,
        like: float | None = None,
        fold: bool = True,
        restarts: int = 0,
        convention: Literal["model", "paper"] = "model",
    ) -> Iterator[DataFrame]:
        """All rules of :meth:`rules`, as tables of about ten thousand rows, in no order.

        Hardly more than one of these is held at a time. A q-value is that within its table.
        """
        from eventspace.rules.telling import RuleOptions, stream

        options = RuleOptions("gain", min_evidence, proved, 1, like, fold, restarts, convention)
        miner = self.miner(options)
        return stream(miner, options, self.held_out(X, like), self.settings.verbose)

    def similar_items(
        self, item: Any, n: int = 10, *, min_evidence: int = 5, like: float | None = None
    ) -> DataFrame:
        """The items that are liked together with one, the most closely first: a DataFrame.

        It is the law of the next user, as in :meth:`rules`: what the model expects of the two, and
        the users who rated both on top.

        - ``correlation``: that of the two likes, 0 if they have nothing to do with each other;
        - ``confidence``: the chance that one who likes the given item likes this one; ``base``: the
          chance that anyone does; ``back``: that one who likes this one likes the given item;
        - ``users`` rated both, ``like_both`` of them like both.

        Items that fewer than ``min_evidence`` users rated with the given one are left out; where
        what is missing says no, those that fewer said yes to with it. ``like`` is the least value
        that counts as a like; None: the least one above the mean.
        """
        from eventspace.fitted.similarity import similar_items
        from eventspace.rules.likes import liked_from

        seen, at = self.observations, self.space.item(item)
        return similar_items(self._next_user(liked_from(seen, like)), seen, at, n, min_evidence)

    def similar_users(self, user: Any, n: int = 10, *, min_evidence: int = 5) -> DataFrame:
        """The users whose chances are most like those of one: a DataFrame.

        - ``correlation``: that of the chances of both, over the rated items;
        - ``items``: how many both have rated, and ``apart``: how far these ratings are from each
          other in the mean, in the unit of the table.

        Users who have rated fewer than ``min_evidence`` of the same items are left out.
        """
        from eventspace.fitted.similarity import similar_users

        seen, at = self.observations, self.space.user(user)
        return similar_users(seen, *self.record.factors, at, n, min_evidence)

    def _next_user(self, like: float) -> NextUser:
        """What is learnt of the next user, for a like threshold; the last one is kept."""
        from eventspace.rules.law import NextUser
        from eventspace.rules.likes import likes_of

        next_user = self._next_users.get(like)
        if next_user is None:
            fit = self.record
            next_user = NextUser.learn(*likes_of(fit.observations, fit.factors, fit.spread, like))
            self._next_users.clear()
            self._next_users[like] = next_user
        return next_user

    @cached_property
    def _next_users(self) -> dict[float, NextUser]:
        """What was learnt of the next user, for the like threshold that was asked for last."""
        return {}

    def miner(self, options: RuleOptions) -> Miner:
        """What finds the rules that these options ask for."""
        from eventspace.rules.likes import liked_from
        from eventspace.rules.mining import Inclusions, Miner

        seen = self.observations
        others = self._other_fits(options.restarts)
        if options.sort == "inclusion" and not others:
            raise UserError(
                "needs",
                parameter="sort",
                value=options.sort,
                remedy="restarts=10, say: it is counted over them.",
                shell="--restarts 10, say: it is counted over them.",
            )
        next_user = self._next_user(liked_from(seen, options.like))
        if options.sort == "agreement_gain" and not next_user.graded:
            raise UserError(
                "orders by the values of graded tables; of yes and no the means say it all.",
                parameter="sort",
                value=options.sort,
            )
        return Miner(
            next_user,
            Inclusions.of(self._readable, others),
            options.sort,
            options.evidence(seen),
            options.proved,
            options.fold,
            checked_threads(self.settings),
        )

    def held_out(self, X: Any, like: float | None) -> Likes | None:
        """The likes in a table that the model has not seen, if there is one."""
        from eventspace.rules.likes import liked_from
        from eventspace.rules.telling import held_out_likes

        seen = self.observations
        return None if X is None else held_out_likes(X, seen, liked_from(seen, like))
