"""What values and weights must be: numbers, in their range; and what is said where they are not."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError, UserTypeError
from eventspace._base.printable import shown
from eventspace.data.readers.columns import Columns
from eventspace.data.readers.frames import NUMBER_KINDS
from eventspace.data.scale import TOLERANCE, Scale, ScaleOption, allowed, choose


class NoNumberError(UserTypeError):
    """A value of a kind that is no number: a TypeError, as scikit-learn wants it, and a mistake."""


_NOTHING = "Nothing is observed: there is no entry with a value and a weight above zero."
_WEIGHTS_ALLOWED = ("allowed are finite numbers from 0 up",) * 2


def clean(columns: Columns, option: ScaleOption) -> tuple[Columns, Scale]:
    """The observed entries, with numbers for values and weights, and the scale of the values.

    Entries of weight zero are not observed; those without a value are dropped with a warning.
    """
    what = "successes" if columns.counts else "value"
    if not columns.values.size and not isinstance(option, tuple):
        raise UserError("Nothing is observed: there is no row with a value.")
    columns = replace(columns, values=_numbers(columns, columns.values, what, allowed(option)))
    if columns.weights is not None:
        columns = _weighted(columns)
    scale = _scale(columns, option)
    return _without_nan(columns), scale


def _numbers(
    columns: Columns, raw: npt.NDArray[Any], what: str, allowed_range: tuple[str, str]
) -> npt.NDArray[Any]:
    """The array as one of numbers, or an error at the first that is none."""
    kind = raw.dtype.kind
    if kind in "biuf":
        return raw
    if kind == "c":
        raise UserError(f"Complex data not supported: every {what} must be a real number.")
    if kind in "mM":
        raise _refused(f"The {what}s are dates or times", allowed_range)
    import pandas as pd

    objects = raw.astype(object)
    missing = pd.isna(objects)
    if pd.api.types.infer_dtype(objects, skipna=True) not in NUMBER_KINDS:
        present = np.flatnonzero(~missing).tolist()
        # where a whole column came as text, the culprit is the first that is no number
        for k in sorted(present, key=lambda k: _is_numeric_text(objects[k])):
            _refuse_other_than_number(columns, k, objects[k], what, allowed_range)
    return np.where(missing, np.nan, objects).astype(np.float64)


def _is_numeric_text(value: Any) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _refuse_other_than_number(
    columns: Columns, k: int, value: Any, what: str, allowed_range: tuple[str, str]
) -> None:
    if isinstance(value, complex):
        raise UserError(f"Complex data not supported: {what} {shown(value)} ({columns.place(k)}).")
    if isinstance(value, (str, bytes)):
        hint = in_shell = ""
        if _is_numeric_text(value):
            hint = " (pandas.to_numeric makes numbers of text)"
            in_shell = " (is every number written with a point?)"
        if re.fullmatch(r"\s*[-+]?\d+,(?!\d{3}\s*$)\d+\s*", str(value)):  # no thousands
            with_point = str(value).strip().replace(",", ".")
            hint = in_shell = f" (with a point it is a number: {with_point})"
        python, shell = allowed_range
        raise UserError(
            f"{what} {shown(value)} ({columns.place(k)}) is",
            remedy=f"text{hint}; {python}.",
            shell=f"text{in_shell}; {shell}.",
        )
    try:
        float(value)
    except TypeError as error:
        raise NoNumberError(
            f"{what} {shown(value)} ({columns.place(k)}) is",
            remedy=f"no number: {error}.",
            shell="no number.",
        ) from error


def _refused(problem: str, allowed_range: tuple[str, str]) -> UserError:
    """The error for what is outside of the allowed range."""
    python, shell = allowed_range
    return UserError(f"{problem};", remedy=f"{python}.", shell=f"{shell}.")


def _weighted(columns: Columns) -> Columns:
    """Weights checked and those of zero dropped; successes divided by their trials."""
    assert columns.weights is not None
    what = "trials" if columns.counts else "weight"
    weights = _numbers(columns, columns.weights, what, _WEIGHTS_ALLOWED).astype(np.float64)
    # stored as float32: what is infinite there is infinite here
    wrong = ~((weights >= 0) & (weights <= np.finfo(np.float32).max))
    if wrong.any():
        k = int(np.argmax(wrong))
        weight = float(weights[k])
        flaw = "missing" if math.isnan(weight) else "negative" if weight < 0 else "infinite"
        raise _refused(f"{what} {weight!r} ({columns.place(k)}) is {flaw}", _WEIGHTS_ALLOWED)
    if columns.counts:
        wrong = (columns.values > weights) | (columns.values < 0)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise UserError(
                f"successes {columns.values[k].item()!r} ({columns.place(k)}) are not between 0 "
                f"and the trials, {weights[k]:.12g}."
            )
    stored = weights.astype(np.float32)
    columns = replace(columns, weights=stored)
    observed = stored > 0
    if not observed.all():
        columns, weights = columns.kept(observed), weights[observed]
    if columns.counts:
        columns = replace(columns, values=columns.values / weights, counts=False)
    return columns


def _scale(columns: Columns, option: ScaleOption) -> Scale:
    """The scale, after every value has been seen to be finite and within it."""
    values = columns.values
    # fmin and fmax pass over NaN
    lowest = float(np.fmin.reduce(values)) if values.size else math.nan
    highest = float(np.fmax.reduce(values)) if values.size else math.nan
    if math.isnan(lowest):
        if isinstance(option, tuple):
            return option  # an empty table on a stated scale: users of whom nothing is known
        raise UserError(_NOTHING)
    if math.isinf(lowest) or math.isinf(highest):
        k = int(np.argmax(np.isinf(values)))
        infinite = f"value {values[k].item()!r} ({columns.place(k)}) is infinite"
        raise _refused(infinite, allowed(option))
    lo, hi = choose(option, lowest, highest)
    if math.isinf(hi - lo):
        raise UserError(f"The values span too much, from {lo:g} to {hi:g}; scale them down.")
    slack = TOLERANCE * (hi - lo)
    if lowest < lo - slack or highest > hi + slack:
        k = int(np.argmax((values < lo - slack) | (values > hi + slack)))
        outside = f"value {values[k].item()!r} ({columns.place(k)}) is outside the scale"
        raise _refused(outside, allowed(option))
    return lo, hi


def _without_nan(columns: Columns) -> Columns:
    values = columns.values
    if values.dtype.kind != "f" or not values.size or not math.isnan(values.min()):
        return columns
    observed = ~np.isnan(columns.values)
    n = columns.values.size
    warnings.warn(
        f"{n - int(observed.sum())} of {n} entries have no value (NaN): they are dropped.",
        UserWarning,
        stacklevel=5,
    )
    return columns.kept(observed)
