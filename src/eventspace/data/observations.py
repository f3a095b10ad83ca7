"""Observations: users, items and the chances that are known, in both orders."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError, naming
from eventspace._base.html import in_html
from eventspace.data import scale as units
from eventspace.data.entries import Entries, transpose
from eventspace.data.forgetting import Forgetting, HalfLife, check_clock, faded, kept_weights
from eventspace.data.ids import Ids
from eventspace.data.invariants import check_entries, check_forgetting, check_ids
from eventspace.data.missing import MissingOption, scale_of_yes, that_speak, weight_of_missing
from eventspace.data.ordering import Duplicates, ordered
from eventspace.data.readers import raw_entries
from eventspace.data.readers.clock import clock_of
from eventspace.data.readers.raw_entries import Known, RawEntries
from eventspace.data.readers.roles import assign, long_roles
from eventspace.data.readers.tables import table_of
from eventspace.data.readers.text_options import TextKeywords, TextOptions, for_files
from eventspace.data.scale import ScaleOption


@dataclass(frozen=True, eq=False, repr=False)
class Observations:
    """The observed entries p_ui in [0, 1], held once by user and once by item.

    Make one with `of`, or with `from_long` or `from_wide` if the form of a table must be stated.

    The constructors share these options:

    - ``scale``. ``"auto"``: values in [0, 1] are taken as they are. Others are scaled from the
      least observed value to the greatest (if all are the same number, from zero to it).
      ``"max"``: value / greatest, the paper's R / R_max. ``(lo, hi)``: as stated; a value outside
      is refused. A value beyond a bound by less than a millionth of the range counts as the bound,
      because rounding may cause that.
    - ``duplicates``. What to do if the same (user, item) occurs more than once: ``"error"``,
      ``"mean"`` (with weights, the weighted mean, and the weights add up) or ``"last"``.
    - ``missing``. What a pair says that is not in the table: ``"unknown"`` (the default), nothing;
      ``"no"``, that it did not come true, as in visits, clicks and baskets, where only the yes is
      stored; a number: no, with this weight beside the 1 of a stored entry. Such a table needs no
      values: every row is a yes, also a repeated one.
    - ``half_life``. After this time a rating counts half, after twice the time a quarter, and so
      on: a duration such as ``"365D"``, or a number in the unit of the times if these are numbers.
      Ages are counted from the latest time in the table. Times are dates, or numbers (seconds since
      1970 beside a duration). Their column is ``time``, or it is found by its name (``timestamp``,
      ``date``). Of a pair that occurs more than once, the latest is then the last. For long tables.
    - ``users``, ``items``. Ids that keep their positions, such as those of a fitted model; new ids
      follow them, sorted.
    - ``sep``, ``decimal``, ``encoding``, ``header``. How a text file is written: what separates
      fields (``"::"``), the decimal mark (``","``), the encoding (``"latin-1"``), and whether its
      first line names the columns (``False``). What is not said is recognised where that is safe.

    Ids are kept as they are. Those of a wide table, an array or a matrix are in the order of its
    rows and columns. Those of a long table are sorted, so that the order of its rows does not
    matter: numbers by value, then text by code points, then other kinds. An id is kept even if all
    its entries are dropped because their value is missing or their weight is zero.
    """

    user_ids: Ids
    item_ids: Ids
    by_user: Entries
    by_item: Entries
    scale: tuple[float, float]
    library: str
    missing: float = 0.0  # the weight with which a missing entry says no; 0: it says nothing
    forgetting: Forgetting | None = None  # how the weights fade; None: they do not

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        scale: ScaleOption = "auto",
        duplicates: Duplicates = "error",
        missing: MissingOption = None,
        time: Hashable | None = None,
        half_life: HalfLife | None = None,
        users: Ids | None = None,
        items: Ids | None = None,
        **text: Unpack[TextKeywords],
    ) -> Observations:
        """Observations from any of these:

        - a DataFrame (pandas, polars, pyarrow, any that narwhals knows), or the path of a CSV, TSV
          or Parquet file with one, or of a folder of Parquet files, or a stream of bytes;
        - an array or nested lists, users x items, NaN where missing;
        - a scipy.sparse array or matrix: stored entries are observed, including zeros;
        - a tuple ``(users, items, values)`` or ``(users, items, values, weights)``, or, where
          what is missing says no, ``(users, items)``;
        - Observations: the same, unless they have to be aligned or rescaled;
        - a data set of ``eventspace.datasets``: its table, on its scale.

        Text files are read as they are, if that is safe: with commas, semicolons, tabs, bars or
        ``::``, with decimal commas and marks of thousands, in UTF-8 or UTF-16, with or without a
        line of names. Values may be yes/no, y/n, true/false, ja/nein or oui/non. What may be meant
        otherwise is refused, with the option that settles it.

        In a text file, ids are integers if each is spelt as Python spells it. Otherwise they are
        text: ``1.1`` and ``1.10`` are two ids, and so are ``7`` and ``007``. An unclosed quote, or
        a row with another number of fields than the first, is refused with its line.

        A DataFrame is long (one row per entry) if its columns are named accordingly: a user, an
        item, and a value or successes and trials, perhaps a weight (``userId``, ``movie_id``,
        ``Rating``, ...). Other columns are ignored.

        It is wide (users x items) if it comes from a pivot. It is also wide if it has fewer than
        three columns, or five or more, no two of which have such names (and, up to eight columns,
        the first two are not ids by the signs below).

        Three or four columns without all the names are user, item, value in this order if that is
        the only reading: the first two are text or times, or whole numbers outside of both [0, 1]
        and the range of the values, with no labels on the rows. A fourth column is a weight only if
        it is named so. It is ignored only if it holds times (by its name, its type, or as Unix
        seconds). Everything else is refused: use `from_long` or `from_wide`.
        """
        scale = units.checked_option(scale)
        known = Known.of(users, items)
        options, weight = for_files(data, TextOptions(**text)), weight_of_missing(missing)
        if callable(getattr(data, "observations", None)):
            data = data.observations()
        if isinstance(data, Observations):
            check_clock(data.forgetting, time, half_life)
            return data._aligned(scale, known, None if missing is None else weight)
        table = table_of(data, options=options)
        with naming(data):
            roles = None if table is None else long_roles(table, valued=not weight, time=time)
            times, clock = clock_of(None if roles is None else table, time, half_life)
            if isinstance(data, tuple):
                raw = raw_entries.from_columns(data, known, valued=not weight)
            elif table is None:
                raw = raw_entries.from_grid(data, None, known)
            elif roles is None:
                raw = raw_entries.from_wide(table, None, None, known)
            else:
                raw = raw_entries.from_long(table, roles, known)
            raw.times = times
            return cls(*ordered(raw, scale, duplicates, weight, clock))

    @classmethod
    def from_long(
        cls,
        data: Any,
        *,
        user: Hashable | None = None,
        item: Hashable | None = None,
        value: Hashable | None = None,
        weight: Hashable | None = None,
        successes: Hashable | None = None,
        trials: Hashable | None = None,
        scale: ScaleOption = "auto",
        duplicates: Duplicates = "error",
        missing: MissingOption = None,
        time: Hashable | None = None,
        half_life: HalfLife | None = None,
        users: Ids | None = None,
        items: Ids | None = None,
        **text: Unpack[TextKeywords],
    ) -> Observations:
        """Observations of a long DataFrame (or its file): one row per entry.

        ``user``, ``item``, ``value``, ``weight``, or ``successes`` and ``trials``, name columns.
        Columns that are not named here are found by their usual names, else by position. Successes
        and trials give the value successes / trials with the weight trials.
        """
        given = {"user": user, "item": item, "value": value, "weight": weight}
        given |= {"successes": successes, "trials": trials}
        named = {role: name for role, name in given.items() if name is not None}
        table = table_of(data, (user, item), for_files(data, TextOptions(**text)))
        if table is None:
            raise UserError(
                f"A long table is a DataFrame or the path of one, not a {type(data).__name__}."
            )
        weight = weight_of_missing(missing)
        with naming(data):
            roles = assign(table, named, valued=not weight, time=time)
            raw = raw_entries.from_long(table, roles, Known.of(users, items))
            raw.times, clock = clock_of(table, time, half_life)
            return cls(*ordered(raw, units.checked_option(scale), duplicates, weight, clock))

    @classmethod
    def from_wide(
        cls,
        data: Any,
        *,
        user: Hashable | None = None,
        weight: Any = None,
        scale: ScaleOption = "auto",
        duplicates: Duplicates = "error",
        missing: MissingOption = None,
        users: Ids | None = None,
        items: Ids | None = None,
        **text: Unpack[TextKeywords],
    ) -> Observations:
        """Observations of a wide DataFrame (or its file), or of an array: one row per user.

        The users are the column ``user``, else a column named like one, else the index (pandas),
        else a first column of text or times, else the row numbers. All other columns are items.
        Every row and column is kept, even if nothing is observed in it. ``weight`` is an array of
        the values' shape, in the same order.
        """
        known = Known.of(users, items)
        table = table_of(data, (user,), for_files(data, TextOptions(**text)))
        if table is None and user is not None:
            raise UserError(
                f"names a column, but a {type(data).__name__} has no names.",
                parameter="user",
                value=user,
            )
        with naming(data):
            if table is None:
                raw = raw_entries.from_grid(data, weight, known)
            else:
                raw = raw_entries.from_wide(table, user, weight, known)
            chosen = units.checked_option(scale)
            return cls(*ordered(raw, chosen, duplicates, weight_of_missing(missing)))

    def __reduce__(self) -> tuple[Any, ...]:
        """One order only, which is checked when it is read: the other follows from it."""
        by_user = Entries(*self.by_user[:4])
        parts = (self.user_ids, self.item_ids, by_user, self.scale, self.library, self.missing)
        return checked_observations, (*parts, self.forgetting)

    @property
    def n_users(self) -> int:
        """How many users there are, with or without an observation."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """How many items there are, with or without an observation."""
        return len(self.item_ids)

    @property
    def shape(self) -> tuple[int, int]:
        """Users x items."""
        return self.n_users, self.n_items

    @property
    def n_observed(self) -> int:
        """How many entries are observed."""
        return self.by_user.index.size

    @property
    def weighted(self) -> bool:
        """Whether the entries have weights."""
        return self.by_user.weight.size > 0

    @property
    def total_weight(self) -> float:
        """The sum of the weights, which are one each where the entries have none.

        To it come those of missing entries that say no.
        """
        n_missing = self.n_users * self.n_items - self.n_observed
        return self._stored_weight + self.missing * n_missing

    @property
    def _stored_weight(self) -> float:
        weight = self.by_user.weight
        return float(weight.sum(dtype=np.float64)) if self.weighted else float(self.n_observed)

    @property
    def mean_weight(self) -> float:
        """What weights are measured in, so that noise is that of a typical observation.

        Where they fade it is that of one that is made now: what has faded counts less than one.
        """
        if self.forgetting is not None:
            return self.forgetting.unit_weight
        return self._stored_weight / self.n_observed

    @property
    def fades(self) -> bool:
        """Whether weights say how much an observation still counts."""
        return self.forgetting is not None

    def with_unit_weight(self, unit: float | None = None) -> Observations:
        """The same with weights in units of ``unit``, the mean one; without weights, the same."""
        if not self.weighted:
            return self
        unit = unit or self.mean_weight

        def in_unit(entries: Entries) -> Entries:
            with np.errstate(over="ignore"):  # beyond what float32 holds is the most that it holds
                weight = kept_weights(entries.weight / np.float32(unit))
            return entries._replace(weight=weight, missing=entries.missing / unit)

        by_user, by_item = in_unit(self.by_user), in_unit(self.by_item)
        return replace(self, by_user=by_user, by_item=by_item, missing=self.missing / unit)

    def to_unit(self, values: Any) -> npt.NDArray[np.float64]:
        """Values in the caller's unit as probabilities."""
        return units.to_unit(values, self.scale)

    def from_unit(self, p: Any) -> npt.NDArray[np.float64]:
        """Probabilities as values in the caller's unit."""
        return units.from_unit(p, self.scale)

    def coo(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """``(user positions, item positions, p)`` of the entries, by user and then by item."""
        users = np.repeat(np.arange(self.n_users, dtype=np.int32), self.by_user.sizes)
        return users, self.by_user.index, self.by_user.value

    def __repr__(self) -> str:
        lo, hi = self.scale
        weighted = ", weighted" if self.weighted else ""
        return (
            f"Observations({self.n_users} users x {self.n_items} items, "
            f"{self.n_observed} observed{weighted}{self.others}{self.fading}, scale {lo:g}..{hi:g})"
        )

    @property
    def fading(self) -> str:
        """How the weights fade, in words: nothing where they do not."""
        return "" if self.forgetting is None else f", {self.forgetting.words}"

    @property
    def others(self) -> str:
        """What the other pairs say, in words: nothing where they are unknown."""
        if not self.missing:
            return ""
        return ", the others no" + f" (weight {self.missing:g})" * (self.missing != 1)

    def _repr_html_(self) -> str:
        share = self.n_observed / max(self.n_users * self.n_items, 1)
        of_user, of_item = (
            np.median(entries.sizes) if len(entries.sizes) else 0.0
            for entries in (self.by_user, self.by_item)
        )
        return in_html(
            f"{self!r}\n  {share:.1%} of all pairs, a median of {of_user:,.0f} for a user and "
            f"{of_item:,.0f} for an item"
        )

    def _aligned(self, scale: ScaleOption, known: Known, missing: float | None) -> Observations:
        missing = self.missing if missing is None else missing
        if missing and not self.missing and scale == "auto" and self.scale != (0.0, 1.0):
            scale_of_yes(self.from_unit(self.by_user.value), scale)
        scale = self.scale if scale == "auto" else scale
        if known == (None, None) and (scale, missing) == (self.scale, self.missing):
            return self
        users, items, p = self.coo()
        known_users = self.user_ids if known.users is None else known.users
        known_items = self.item_ids if known.items is None else known.items
        user_ids, user_at = known_users.joined(self.user_ids)
        item_ids, item_at = known_items.joined(self.item_ids)
        raw = RawEntries(
            user_ids,
            item_ids,
            user_at.astype(np.int32)[users],
            item_at.astype(np.int32)[items],
            self.from_unit(p),
            self.by_user.weight if self.weighted else None,
            library=self.library,
            weighed=True,
        )
        found = Observations(*ordered(raw, scale, "error", missing))
        return replace(found, forgetting=self.forgetting)

    def at(self, now: float) -> Observations:
        """The same as it counts at a later time; an earlier one, or no forgetting: the same."""
        if self.forgetting is None or now <= self.forgetting.now:
            return self
        factor = self.forgetting.by(now)
        return replace(
            self,
            by_user=faded(self.by_user, factor),
            by_item=faded(self.by_item, factor),
            forgetting=self.forgetting._replace(now=now),
        )


def checked_observations(
    user_ids: Ids,
    item_ids: Ids,
    by_user: Entries,
    scale: units.Scale,
    library: str,
    missing: float = 0.0,
    forgetting: Forgetting | None = None,
) -> Observations:
    """Observations of entries in one order, as a file or a pickle has them, after checks.

    ``by_user`` has a row for each user, sorted by item, with values in [0, 1].
    """
    check_ids(user_ids, "user")
    check_ids(item_ids, "item")
    check_entries(by_user, len(user_ids), len(item_ids))
    both = that_speak(by_user, transpose(by_user, len(item_ids)), missing)
    check_forgetting(forgetting, by_user)
    return Observations(user_ids, item_ids, *both, scale, library, missing, forgetting)
