"""Constraints on a model: one set for all items, or one side given.

A half-step of the descent then becomes a smaller problem, or none at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import pack
from eventspace._base.errors import UserError
from eventspace._base.foreign import is_a
from eventspace._base.printable import shown
from eventspace._base.types import Codes, Floats, Seeds
from eventspace.data.attributes import read_attributes
from eventspace.data.entries import Entries
from eventspace.data.factors import check_pmf
from eventspace.data.id_order import Order
from eventspace.data.ids import Ids
from eventspace.data.observations import Observations
from eventspace.data.shards import Shards
from eventspace.engines.protocol import Engine, Indicators
from eventspace.fitting.descent import Descent
from eventspace.fitting.half_steps import FreeIndicators, HalfSteps, IndicatorSolver


@dataclass(frozen=True)
class SharedIndicators:
    """One set of events for all items: an indicator step is one solve over all entries."""

    engine: Engine
    solver: IndicatorSolver
    penalty: float  # mu, of each item

    def __call__(self, by_item: Entries, pmf: Floats, codes: Codes, seeds: Seeds) -> Indicators:
        """(Q2) once: the items are rolled into one, and their penalties add up."""
        if by_item.missing.size:
            raise UserError(
                "indicators='shared' is for tables in which what is missing says nothing."
            )
        # a row with as many entries as there are users would pass for one of a full table
        weight = by_item.weight if by_item.weight.size else np.ones_like(by_item.value)
        rolled = by_item._replace(ptr=by_item.ptr[[0, -1]], weight=weight)
        solve = FreeIndicators(self.engine, self.solver, self.penalty * len(codes))
        found = solve(rolled, pmf, codes[:1], seeds[:1])
        return Indicators(*(np.repeat(part, len(codes)) for part in found))


@dataclass(frozen=True)
class GivenIndicators:
    """Indicators that stay as they are: only PMFs are learnt."""

    penalty: float

    def __call__(self, by_item: Any, pmf: Floats, codes: NDArray[Any], seeds: Seeds) -> Indicators:
        """The given ones: there is nothing to choose from."""
        return Indicators(codes, np.full(len(codes), np.nan), np.ones(len(codes), dtype=np.bool_))


@dataclass(frozen=True)
class GivenPmfs:
    """PMFs that stay as they are: only indicators are learnt."""

    guarantee: ClassVar[str] = "exact"

    def __call__(self, Q: Floats, r: Floats, pmf: Floats) -> tuple[Floats, Floats]:
        """The cost of each row, and a gap of zero."""
        quadratic = np.einsum(
            "ud,ude,ue->u", pmf, np.broadcast_to(Q, (len(pmf), *Q.shape[1:])), pmf
        )
        return quadratic - 2.0 * np.einsum("ud,ud->u", r, pmf), np.zeros(len(pmf))


class Given(NamedTuple):
    """The side of a model that is given, or neither."""

    pmf: Floats | None
    indicators: Floats | None

    @property
    def side(self) -> str | None:
        """Which it is."""
        return next((name for name, part in self._asdict().items() if part is not None), None)

    def taken(self, users: Order, items: Order) -> Given:
        """The same with the users and items in another order."""
        return Given(
            None if self.pmf is None else self.pmf[users],
            None if self.indicators is None else self.indicators[items],
        )

    def steps(self, steps: HalfSteps) -> HalfSteps:
        """The half-steps that leave it as it is."""
        if self.pmf is not None:
            return steps._replace(update_pmfs=replace(steps.update_pmfs, solver=GivenPmfs()))
        return steps if self.indicators is None else given_indicators(steps)


def given_indicators(steps: HalfSteps) -> HalfSteps:
    """The half-steps that leave indicators as they are."""
    return steps._replace(update_indicators=GivenIndicators(steps.update_indicators.penalty))


def given_start(observations: Observations | Shards, given: Given, n_events: int) -> Descent:
    """The given side, with uniform PMFs or empty sets on the other."""
    if given.pmf is not None:
        return Descent(given.pmf, np.zeros(observations.n_items, dtype=np.uint64))
    uniform = np.full((observations.n_users, n_events), 1.0 / n_events)
    indicators = np.asarray(given.indicators)
    if not np.isin(indicators, (0, 1)).all():
        raise UserError(
            "The given indicators must be zeros and ones: round them, or let "
            "eventspace.baselines.HypercubeModel, whose indicators are numbers, be fitted to them."
        )
    return Descent(uniform, pack(indicators > 0.5)[:, 0])


def read_given(
    observations: Observations | Shards, pmf: Any, indicators: Any, n_events: int
) -> Given:
    """Given PMFs or indicators, for the users or items of a table.

    Tables with ids are read by them and may have more; the rows of an array are in the order of
    the observations.
    """
    if pmf is not None and indicators is not None:
        raise UserError(
            "pmf and indicators are both given, so that there is nothing to learn: give one. "
            "(KolmogorovDescent.from_parts makes a model of PMFs and sets.)"
        )
    given = Given(
        None if pmf is None else _part(pmf, observations.user_ids, "pmf", n_events),
        None
        if indicators is None
        else _part(indicators, observations.item_ids, "indicators", n_events),
    )
    if given.pmf is not None:
        check_pmf(given.pmf, observations.user_ids)
    if (
        given.indicators is not None
        and not ((given.indicators >= 0) & (given.indicators <= 1)).all()
    ):
        raise UserError("The given indicators must be numbers from 0 to 1.")
    return given


def as_rows(data: Any, ids: Ids) -> Any:
    """The table; only its numbers if it has one row per id and no labels of its own."""
    if hasattr(data, "toarray"):  # sparse
        return data.toarray()
    plain = is_a(data, "pandas.DataFrame") and list(data.index) == list(range(len(ids)))
    return data.to_numpy() if plain and len(data.columns) else data


def _part(data: Any, ids: Ids, what: str, n_events: int) -> Floats:
    values = read_attributes(as_rows(data, ids), ids, what).values
    if values.shape[1] != n_events:
        raise UserError(
            f"The given {what} have {values.shape[1]} events, but n_events={n_events}: "
            f"set n_events={values.shape[1]}."
        )
    bare = np.isnan(values).any(axis=1)
    if bare.any():
        raise UserError(
            f"The given {what} lack {bare.sum():,} of {len(ids):,} rows, or a number in them: the "
            f"first is that of {shown(ids[int(np.argmax(bare))])}. Leave these out of the table."
        )
    return values
