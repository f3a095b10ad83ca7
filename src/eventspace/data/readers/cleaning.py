"""What values and weights must be: numbers, in their range; and what is said where they are not."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError, UserTypeError, warn
from eventspace._base.printable import shown
from eventspace.data.column import column_kind, floats, missing, value_range
from eventspace.data.readers.numerals import is_missing, is_number, is_plain
from eventspace.data.readers.raw_entries import RawEntries
from eventspace.data.scale import TOLERANCE, Scale, ScaleOption, allowed, choose


class NoNumberError(UserTypeError):
    """A value of a kind that is no number: a TypeError, as scikit-learn wants it, and a mistake."""


NOTHING = "Nothing is observed: there is no entry with a value and a weight above zero."
# weights: what is beyond could be lost in sums and quotients of float32, whose 1e30 is a bit more
LEAST, MOST = 1e-30, float(np.float32(1e30))
_WEIGHTS_ALLOWED = ("allowed are finite numbers from 0 up",) * 2


def clean(raw: RawEntries, option: ScaleOption) -> tuple[RawEntries, Scale]:
    """The observed entries, with numbers for values and weights, and the scale of the values.

    Entries of weight zero are not observed; those without a value are dropped with a warning.
    """
    if not raw.values.size and not isinstance(option, tuple):
        raise UserError("Nothing is observed: there is no row with a value.")
    raw = with_numbers(raw, option)
    scale = checked_scale(raw, option)
    return _without_nan(raw), scale


def with_numbers(raw: RawEntries, option: ScaleOption) -> RawEntries:
    """The entries with a weight above zero, with numbers for values and weights."""
    what = "successes" if raw.counts else "value"
    raw = replace(raw, values=_numbers(raw, raw.values, what, allowed(option)))
    return raw if raw.weights is None or raw.weighed else _weighted(raw)


def _numbers(
    raw: RawEntries, found: npt.NDArray[Any], what: str, allowed_range: tuple[str, str]
) -> npt.NDArray[Any]:
    """The array as one of numbers, or an error at the first that is none."""
    kind = found.dtype.kind
    if kind in "biuf":
        return found
    if kind == "c":
        raise UserError(f"Complex data not supported: every {what} must be a real number.")
    if kind in "mM":
        raise _refused(f"The {what}s are dates or times", allowed_range)
    objects = found.astype(object)
    if column_kind(objects) not in ("number", "bool"):
        present = np.flatnonzero(~missing(objects)).tolist()
        # where a whole column came as text, the culprit is the first that is no number
        for k in sorted(present, key=lambda k: _is_numeric_text(objects[k], raw)):
            _refuse_other_than_number(raw, k, objects[k], what, allowed_range)
    return floats(objects)


def _is_numeric_text(value: Any, raw: RawEntries) -> bool:
    """Whether a text would be a number, or missing, if no other were in its column."""
    if not isinstance(value, str):
        return False
    return is_missing(value) or is_plain(value, raw.decimal or ".")


def _hints(value: str, raw: RawEntries) -> tuple[str, str]:
    """What could make a number of a text: in Python, in a shell."""
    comma = re.fullmatch(r"\s*[-+]?\d+,\d+\s*", value)
    point = value.strip().replace(",", ".")
    if comma and not raw.in_text:
        hint = "" if is_number(value, ".") else f" (with a point it is a number: {point})"
        return hint, hint
    if comma and raw.decimal != ",":
        bare = f"{value.strip().replace(',', '')} with decimal='.', " * is_number(value, ".")
        hint = f" ({bare}{point} with decimal=',')"
        return hint, re.sub("decimal='(.)'", r"--decimal \1", hint)
    if not is_plain(value, "."):
        return "", ""
    word = "comma" if raw.decimal == "," else "point"
    in_shell = f" (is every number written with a {word}?)"
    return in_shell if raw.in_text else " (pandas.to_numeric makes numbers of text)", in_shell


def _refuse_other_than_number(
    raw: RawEntries, k: int, value: Any, what: str, allowed_range: tuple[str, str]
) -> None:
    if isinstance(value, complex):
        raise UserError(f"Complex data not supported: {what} {shown(value)} ({raw.place(k)}).")
    if isinstance(value, (str, bytes)):
        hint, in_shell = _hints(str(value), raw)
        python, shell = allowed_range
        raise UserError(
            f"{what} {shown(value)} ({raw.place(k)}) is",
            remedy=f"text{hint}; {python}.",
            shell=f"text{in_shell}; {shell}.",
        )
    try:
        float(value)
    except TypeError as error:
        raise NoNumberError(
            f"{what} {shown(value)} ({raw.place(k)}) is",
            remedy=f"no number: {error}.",
            shell="no number.",
        ) from error


def _refused(problem: str, allowed_range: tuple[str, str]) -> UserError:
    """The error for what is outside of the allowed range."""
    python, shell = allowed_range
    return UserError(f"{problem};", remedy=f"{python}.", shell=f"{shell}.")


def _weighted(raw: RawEntries) -> RawEntries:
    """Weights checked and those of zero dropped; successes divided by their trials."""
    assert raw.weights is not None
    what = "trials" if raw.counts else "weight"
    weights = _numbers(raw, raw.weights, what, _WEIGHTS_ALLOWED).astype(np.float64)
    wrong = ~((weights >= 0) & (weights <= MOST)) | ((weights < LEAST) & (weights > 0))
    if wrong.any():
        k = int(np.argmax(wrong))
        weight = float(weights[k])
        problem = f"{what} {weight!r} ({raw.place(k)}) is"
        if math.isfinite(weight) and weight > 0:
            beyond, other = ("large", "") if weight > 1 else ("small", ", or make it 0")
            both = " successes and trials" * raw.counts
            raise UserError(
                f"{problem} too {beyond} for sums in float32; multiply all{both} by one number"
                f"{other}."
            )
        flaw = "missing" if math.isnan(weight) else "negative" if weight < 0 else "infinite"
        raise _refused(f"{problem} {flaw}", _WEIGHTS_ALLOWED)
    if raw.counts:
        wrong = (raw.values > weights) | (raw.values < 0)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise UserError(
                f"successes {raw.values[k].item()!r} ({raw.place(k)}) are not between 0 "
                f"and the trials, {weights[k]:.12g}."
            )
    raw = replace(raw, weights=weights.astype(np.float32))
    observed = weights > 0
    if not observed.all():
        raw, weights = raw.kept(observed), weights[observed]
    if raw.counts:
        raw = replace(raw, values=raw.values / weights, counts=False)
    return raw


def checked_scale(raw: RawEntries, option: ScaleOption) -> Scale:
    """The scale, after every value has been seen to be finite and within it."""
    values = raw.values
    lowest, highest = value_range(values)
    if math.isnan(lowest):
        if isinstance(option, tuple):
            return option  # an empty table on a stated scale: users without any rating
        raise UserError(NOTHING)
    if math.isinf(lowest) or math.isinf(highest):
        k = int(np.argmax(np.isinf(values)))
        infinite = f"value {values[k].item()!r} ({raw.place(k)}) is infinite"
        raise _refused(infinite, allowed(option))
    lo, hi = choose(option, lowest, highest)
    if math.isinf(hi - lo):
        raise UserError(f"The values span too much, from {lo:g} to {hi:g}; scale them down.")
    slack = TOLERANCE * (hi - lo)
    if lowest < lo - slack or highest > hi + slack:
        k = int(np.argmax((values < lo - slack) | (values > hi + slack)))
        outside = f"value {values[k].item()!r} ({raw.place(k)}) is outside the scale"
        raise _refused(outside, allowed(option))
    return lo, hi


def _without_nan(raw: RawEntries) -> RawEntries:
    values, n = raw.values, raw.values.size
    if values.dtype.kind != "f" or not n or not math.isnan(values.min()):
        return raw
    observed = ~np.isnan(values)
    warn(without_value(n - int(observed.sum()), n))
    return raw.kept(observed)


def without_value(n_missing: int, n: int) -> str:
    """What is said of entries without a value."""
    return f"{n_missing} of {n} entries have no value (NaN): they are dropped."
