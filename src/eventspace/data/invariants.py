"""What must hold of the parts of a fitted model before a kernel sees them.

Kernels do not check bounds. Parts that come from a file, a pickle or a caller are checked here,
once; ``ARRAYS`` and ``NUMBERS`` say what each of them may be. A part that is wrong raises an
:class:`InvariantError`, one line that names the part and the place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import WORD
from eventspace._base.errors import UserError
from eventspace._base.jit import njit
from eventspace._base.printable import shown
from eventspace.data.column import first_missing
from eventspace.data.entries import Entries
from eventspace.data.forgetting import MOST_TIME, Forgetting
from eventspace.data.ids import Ids

PMF_SLACK = 1e-6  # that a PMF, as rounding leaves it, may be away from one
MET_SLACK = 1e-4  # the same in 32 bits
LEAST_PIVOT = 1e-8  # of the Cholesky factor of a covariance: below it, it is taken as singular
MOST_SAMPLES = 4096  # of an average
MOST_JOINT = 512  # events that are weighed together
MOST = float(np.finfo(np.float64).max)
MOST_NAME = 1 << 16  # characters


class InvariantError(UserError):
    """A part that no fitted model can have."""


class Array(NamedTuple):
    """A saved array: dtype, the names of its axes, its range, and whether NaN stands for unknown.

    Axes of the same name have the same length: ``users``, ``items``, ``events`` and ``words`` (64
    events each) are known beforehand, others by the first array that has them.
    """

    dtype: str
    axes: tuple[str, ...]
    low: float = -MOST
    high: float = MOST
    unknown: bool = False


class Number(NamedTuple):
    """A saved number, truth value or word: its kind, its range, and whether there may be none."""

    kind: type
    low: float = -MOST
    high: float = MOST
    none: bool = False
    words: tuple[str, ...] = ()


ARRAYS = {
    "pmf": Array("float64", ("users", "events"), 0.0, 1.0),
    "codes": Array("uint64", ("items", "words")),
    "history": Array("float64", ("iterations",)),
    "proved": Array("bool", ("items",)),
    "gap": Array("float64", ("users",), high=math.inf),
    "noise": Array("float64", ("users",), 0.0, 1e6),
    "same_bits": Array("float64", ("events",), 0.0, 1.0, unknown=True),
    "same_pmf": Array("float64", ("events",), -1.0, 1.0, unknown=True),
    "met_weights": Array("float32", ("users", "met_events"), -1e6, 1e6),
    "met_codes": Array("uint64", ("items", "met_words")),
    "met_mass": Array("float32", ("met_events",), 0.0, 1.0),
    "half_codes": Array("uint64", ("items", "halves")),
    "open": Array("float64", ("users",), 0.0),
    "covariance": Array("float64", ("groups", "joint", "joint"), -1e6, 1e6),
    "cost": Array("float64", ("chains", "draws"), 0.0),
    "watched": Array("float64", ("chains", "draws", "entries")),
    "user_attributes": Array("float64", ("users", "user_names"), -1e100, 1e100, unknown=True),
    "item_attributes": Array("float64", ("items", "item_names"), -1e100, 1e100, unknown=True),
    "user_attribute_names": Array("object", ("user_names",)),
    "item_attribute_names": Array("object", ("item_names",)),
}
NUMBERS = {
    "error": Number(float, 0.0),
    "converged": Number(bool),
    "interrupted": Number(bool),
    "n_iter": Number(int, 0),
    "loss": Number(float, 0.0, 1e6),
    "unsure": Number(float, 0.0, 1e6),
    "n_learnt_users": Number(int, 1),
    "n_learnt_items": Number(int, 1),
    "given": Number(str, none=True, words=("pmf", "indicators")),
    "n_samples": Number(int, 1, MOST_SAMPLES),
    "n_together": Number(int, 1, MOST_SAMPLES),
    "pmf_penalty": Number(float, 0.0, 1e100),
    "indicator_penalty": Number(float, 0.0, 1e100),
    "held_out_error": Number(float, 0.0, none=True),
    "seed": Number(int, 0, 2**31),
    "concentration": Number(float, 0.0, 1e100),
    "user_spread": Number(float, 0.0, 1e6),
    "item_spread": Number(float, 0.0, 1e6),
}


def check_number(name: str, value: Any) -> None:
    """Refuse a number that no fit has."""
    rule = NUMBERS[name]
    if value is None and rule.none:
        return
    kinds = (int, float) if rule.kind is float else (rule.kind,)
    fits = isinstance(value, kinds) and (rule.kind is bool or not isinstance(value, bool))
    if fits and rule.words:
        fits = value in rule.words
    elif fits and rule.kind is not bool:
        fits = rule.low <= value <= rule.high
    if not fits:
        raise InvariantError(f"{name} is {shown(value)}, not {_wanted(rule)}")


def _wanted(rule: Number) -> str:
    if rule.words:
        return " or ".join(map(repr, rule.words)) + " or null" * rule.none
    if rule.kind is bool:
        return "true or false"
    whole = "whole " * (rule.kind is int)
    most = f" to {rule.high:g}" if rule.high < MOST else " up"
    return f"a {whole}number from {rule.low:g}{most}" + " or null" * rule.none


def check_ids(ids: Ids, what: str) -> None:
    """Refuse missing ids, and ids that occur twice."""
    values = ids.values
    if values.ndim != 1:
        raise InvariantError(f"the {what} ids have {values.ndim} axes, not one")
    row = first_missing(values)
    if row is not None:
        raise InvariantError(f"the {what} id at {row} is missing")
    try:
        unique = ids.unique
    except TypeError as error:
        raise InvariantError(f"the {what} ids cannot be told apart: {error}") from error
    if not unique:
        import pandas as pd

        twice = pd.Index(values, dtype=values.dtype).duplicated()
        raise InvariantError(f"the {what} id {shown(ids[int(np.argmax(twice))])} comes twice")


def check_entries(entries: Entries, n_rows: int, n_columns: int) -> None:
    """Refuse entries whose pointers, indices, values or weights are out of order or range."""
    kinds = ("int64", "int32", "float32", "float32")
    for (name, array), kind in zip(entries._asdict().items(), kinds, strict=False):
        if array.dtype != kind or array.ndim != 1 or not array.flags.c_contiguous:
            raise InvariantError(f"{name} is not a 1-D array of {kind}")
    ptr, index, value, weight = entries[:4]
    if len(ptr) != n_rows + 1:
        raise InvariantError(f"ptr has {len(ptr):,} numbers for {n_rows:,} users")
    if len(value) != len(index) or len(weight) not in (0, len(index)):
        raise InvariantError(
            f"index, value and weight differ in length: {len(index):,}, {len(value):,} and "
            f"{len(weight):,}"
        )
    if ptr[0] != 0 or ptr[-1] != len(index) or (np.diff(ptr) < 0).any():
        raise InvariantError(f"ptr does not rise from 0 to {len(index):,}")
    flaw, row, at = _first_flaw(ptr, index, value, weight, n_columns)
    if flaw:
        raise InvariantError(
            (
                f"index {index[at]} of row {row} is beyond {n_columns:,} items",
                f"index {index[at]} of row {row} does not come after the one before it",
                f"value {value[at]} of row {row} is not from 0 to 1",
                f"weight {weight[at] if weight.size else 0} of row {row} is not above zero",
            )[flaw - 1]
        )


def check_forgetting(forgetting: Any, entries: Entries) -> None:
    """Refuse a half-life or a time that no table has, and fading entries without weights."""
    if forgetting is None:
        return
    kinds = isinstance(forgetting, Forgetting) and all(type(x) is float for x in forgetting)
    if not kinds or not (
        0 < forgetting.half_life <= MOST_TIME
        and abs(forgetting.now) <= MOST_TIME
        and 0 < forgetting.unit_weight <= MOST
    ):
        raise InvariantError(f"half-life, time and weight are {forgetting!r:.60}")
    if len(entries.weight) != len(entries.index):
        raise InvariantError("entries fade, but have no weights")


@njit(cache=True, nogil=True)
def _first_flaw(ptr: Any, index: Any, value: Any, weight: Any, n_columns: int) -> Any:
    """The first entry that is beyond the columns (1), out of order (2), or no value or weight."""
    most = np.finfo(np.float32).max
    for row in range(ptr.size - 1):
        before = -1
        for k in range(ptr[row], ptr[row + 1]):
            column = index[k]
            if column < 0 or column >= n_columns:
                return 1, row, k
            if column <= before:
                return 2, row, k
            if not (value[k] >= 0.0 and value[k] <= 1.0):
                return 3, row, k
            if weight.size > 0 and not (weight[k] > 0.0 and weight[k] <= most):
                return 4, row, k
            before = column
    return 0, 0, 0


def check_fit(
    arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any], n_users: int, n_items: int
) -> None:
    """Refuse arrays and numbers of a fit that do not go together."""
    for name, number in numbers.items():
        check_number(name, number)
    pmf = arrays["pmf"]
    if pmf.ndim != 2 or not pmf.shape[1]:
        raise InvariantError(f"pmf has the shape {pmf.shape}, not users x events")
    n_events, n_samples = pmf.shape[1], int(numbers.get("n_samples", 1))
    axes = {
        "users": n_users,
        "items": n_items,
        "events": n_events,
        "words": -(-n_events // WORD),
    }
    for name, array in arrays.items():
        _check_array(name, array, axes)
    if n_events % n_samples:
        raise InvariantError(f"{n_events:,} events do not divide into {n_samples:,} samples")
    row = simplex_flaw(pmf, n_samples)
    if row >= 0:
        raise InvariantError(f"row {row} of pmf is no distribution")
    if n_events % WORD and (arrays["codes"][:, -1] >> np.uint64(n_events % WORD)).any():
        raise InvariantError(f"codes have events beyond the {n_events:,} that there are")
    if "half_codes" in arrays:
        _check_halves(arrays["half_codes"], n_events)
        if numbers["n_learnt_users"] > n_users or numbers["n_learnt_items"] > n_items:
            raise InvariantError("more users or items were learnt from than there are")
    if "met_mass" in arrays:
        _check_meetings(arrays["met_mass"], arrays["met_codes"])
    if "history" in arrays and not arrays["history"].size:
        raise InvariantError("history is empty")
    if "n_samples" in numbers:
        _check_samples(arrays, n_events // n_samples, n_samples, int(numbers["n_together"]))


def _check_halves(codes: NDArray[Any], n_events: int) -> None:
    if codes.shape[1] not in (0, 2):
        raise InvariantError(f"half_codes has {codes.shape[1]:,} columns, not two or none")
    if n_events < WORD and (codes >> np.uint64(n_events)).any():
        raise InvariantError(f"half_codes have events beyond the {n_events:,} that there are")


def _check_meetings(mass: NDArray[Any], codes: NDArray[Any]) -> None:
    """Models of 64 events side by side."""
    n_models = codes.shape[1]
    if n_models > MOST_SAMPLES or len(mass) != n_models * WORD:
        raise InvariantError(f"met_mass has {len(mass):,} events, met_codes {n_models:,} words")
    if n_models and _simplex_flaw(mass[None], n_models, MET_SLACK) >= 0:
        raise InvariantError("met_mass is no distribution")


def _check_array(name: str, array: NDArray[Any], axes: dict[str, int]) -> None:
    rule = ARRAYS[name]
    if array.dtype != rule.dtype or array.ndim != len(rule.axes):
        raise InvariantError(f"{name} is no {' x '.join(rule.axes)} array of {rule.dtype}")
    wanted = tuple(axes.setdefault(axis, n) for axis, n in zip(rule.axes, array.shape, strict=True))
    if array.shape != wanted:
        raise InvariantError(f"{name} has the shape {array.shape}; {wanted} is wanted")
    if rule.dtype == "object":
        if not all(isinstance(word, str) and len(word) < MOST_NAME for word in array):
            raise InvariantError(f"{name} are not all text")
        return
    if not rule.dtype.startswith("float") or not array.size or name == "pmf":  # its rows are
        return  # looked at as such
    low, high = (np.fmin, np.fmax) if rule.unknown else (np.minimum, np.maximum)
    least, most = float(low.reduce(array, axis=None)), float(high.reduce(array, axis=None))
    if rule.unknown and math.isnan(least):  # nothing is known at all
        return
    if not (rule.low <= least and most <= rule.high):
        raise InvariantError(f"{name} has numbers beyond {rule.low:g} and {rule.high:g}, or NaN")


def simplex_flaw(pmf: NDArray[np.float64], n_samples: int = 1) -> int:
    """The first row that is no distribution over the events of each sample, up to rounding; or -1.

    Each sample's part adds up to one part in ``n_samples``.
    """
    return int(_simplex_flaw(pmf, n_samples, PMF_SLACK))


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _simplex_flaw(pmf: Any, n_samples: int, slack: float) -> int:
    n = pmf.shape[1] // n_samples
    for row in range(len(pmf)):
        for sample in range(n_samples):
            total, negative = 0.0, False
            for event in range(sample * n, (sample + 1) * n):
                total += pmf[row, event]
                negative |= pmf[row, event] < 0.0
            if negative or not abs(total * n_samples - 1.0) <= slack:
                return row
    return -1


def _check_samples(
    arrays: Mapping[str, NDArray[Any]], n_events: int, n_samples: int, n_together: int
) -> None:
    """An average: each of its samples joins the events of ``n_together`` draws."""
    if n_events % n_together or n_events // n_together > WORD:
        raise InvariantError(
            f"a sample of {n_events:,} events does not divide into {n_together:,} draws"
        )
    if "covariance" not in arrays:
        if n_together > 1:
            raise InvariantError("samples join several draws, but there is no covariance")
        return
    if (arrays["noise"] < 1e-9).any():
        raise InvariantError("noise is not above zero")
    if arrays["cost"].shape[1] < 4 or not arrays["watched"].size:
        raise InvariantError("there are fewer than four draws, or nothing of them was watched")
    covariance = arrays["covariance"]
    n_groups = len(covariance)
    if (n_groups > 0) != (n_together > 1) or (n_groups and n_samples % n_groups):
        raise InvariantError(f"{n_groups:,} covariances do not go with {n_together:,} draws")
    if n_groups and (covariance.shape[1] != n_events or n_events > MOST_JOINT):
        raise InvariantError(f"a covariance is of {covariance.shape[1]:,} events, not {n_events:,}")
    for matrix in covariance:
        _check_covariance(matrix)


def _check_covariance(matrix: NDArray[np.float64]) -> None:
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-12):
        raise InvariantError("a covariance is not symmetric")
    if not _least_pivot(matrix.copy()) > LEAST_PIVOT:
        raise InvariantError("a covariance is not positive definite")


@njit(cache=True, nogil=True)
def _least_pivot(matrix: Any) -> float:
    """The least pivot of Cholesky's factor, which is written over the lower half; 0: there is none.

    (LAPACK's threads would wait for each other longer than the few hundred rows take.)
    """
    least = np.inf
    for i in range(len(matrix)):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            if j < i:
                matrix[i, j] = rest / matrix[j, j]
            elif rest > 0.0:
                matrix[i, i] = np.sqrt(rest)
                least = min(least, matrix[i, i])
            else:
                return 0.0
    return least
