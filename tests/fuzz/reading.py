"""A table judged: it is refused in one line, or what is read of it is all that is there."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from eventspace import KolmogorovDescent, Observations
from eventspace.data.readers.files import read_arrow
from tests.fuzz import tables
from tests.fuzz.judge import (
    Case,
    Kind,
    NonsenseError,
    Verdict,
    answer,
    demand,
    demand_chances,
    demand_finite,
    described,
    flaw_of,
    place_of,
)

FITTED = 16  # one in this many is also fitted
_ENCODINGS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MAGICS = (b"PAR1", b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")


class TableTarget:
    """Mutated tables, read from one path."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "table.csv"

    def case(self, seed: int, number: int) -> Case:
        return tables.case(seed, number)

    def warm_up(self) -> None:
        for name, text in tables.texts().items():
            verdict = self(text.encode())
            assert verdict.fine, (name, verdict)

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        self.path.write_bytes(content)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                observed = Observations.of(self.path)
            except Exception as error:
                return answer(error, None)
        try:
            for warning in told:
                flaw = flaw_of(str(warning.message), None)
                demand(not flaw, f"a warning: {flaw}")
            demand_sound(observed)
            self._demand_all(content, observed)
            several = observed.n_observed and np.ptp(observed.by_user.value) > 0
            if number % FITTED == 0 and several:  # others are refused, which has tests of its own
                _fit(observed)
        except NonsenseError as error:
            return Verdict(Kind.NONSENSE, re.sub(r"\d+", "#", str(error)), str(error))
        except Exception as error:
            return Verdict(Kind.LATER, place_of(error), described(error))
        return Verdict(Kind.USABLE)

    def _demand_all(self, content: bytes, observed: Observations) -> None:
        """As many rows, and as many ids, as Python's own reader finds in text."""
        if content.startswith(_MAGICS):
            return
        marks = (mark for mark in _ENCODINGS if content.startswith(mark))
        text = content.decode(_ENCODINGS.get(next(marks, b""), "utf-8-sig"))
        csv.field_size_limit(1 << 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = read_arrow(self.path).table
        n = table.num_columns
        sep = max(tables.SEPARATORS, key=lambda sep: sum(len(r) == n for r in _records(text, sep)))
        found = [row for row in _records(text, sep) if row]
        names = found[0]
        first = 1 if names == table.column_names else 0
        n_rows = len(found) - first
        demand(table.num_rows == n_rows, f"{table.num_rows} rows are read of {n_rows}")
        for name, ids in (("user", observed.user_ids), ("item", observed.item_ids)):
            if first and {"user", "item"} <= set(names) and len(names) == len(set(names)):
                k = names.index(name)
                spelt = {row[k] for row in found[1:] if k < len(row)}
                demand(len(ids) == len(spelt), f"{len(ids)} {name}s are read of {len(spelt)}")


def _records(text: str, sep: str) -> Any:
    if len(sep) > 1:  # csv has separators of one letter
        text, sep = text.replace(sep, "\x1f"), "\x1f"
    return csv.reader(io.StringIO(text, newline=""), delimiter=sep)


def demand_sound(observed: Observations) -> None:
    """Both orders are in order, say the same, and hold chances of ids that differ."""
    demand_finite(observed.scale, "scale")
    demand(observed.scale[0] < observed.scale[1], "the scale has no width")
    for ids in (observed.user_ids, observed.item_ids):
        demand(len(set(ids)) == len(ids), "an id twice")
    seen = []
    for entries, n_rows, n_others in (
        (observed.by_user, observed.n_users, observed.n_items),
        (observed.by_item, observed.n_items, observed.n_users),
    ):
        ptr, index, value, weight = entries[:4]
        demand(ptr.size == n_rows + 1 and ptr[0] == 0 and ptr[-1] == index.size, "pointers")
        demand((np.diff(ptr) >= 0).all(), "pointers fall")
        demand(index.size == value.size and weight.size in (0, index.size), "lengths")
        demand(not index.size or (index.min() >= 0 and index.max() < n_others), "an index")
        demand_chances(value, "values")
        demand((weight > 0).all() and np.isfinite(weight).all(), "a weight")
        row = np.repeat(np.arange(n_rows), np.diff(ptr))
        place = row * max(1, n_others) + index
        demand((np.diff(place) > 0).all(), "entries not in order")
        seen.append((row, index, value))
    (u, i, p), (i2, u2, p2) = seen
    order = np.lexsort((i2, u2))
    same = np.array_equal(u, u2[order]) and np.array_equal(i, i2[order])
    demand(same and np.array_equal(p, p2[order]), "the two orders differ")


def _fit(observed: Observations) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: dict[str, Any] = {"n_iter": 1, "n_init": 1, "random_state": 0, "n_jobs": 1}
        model = KolmogorovDescent(2, **options).fit(observed)
        demand_chances(model.predict(), "predict()")
