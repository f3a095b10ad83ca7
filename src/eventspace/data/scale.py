"""The affine map between the caller's unit and probabilities in [0, 1]."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from eventspace._base.errors import UserError

Scale = tuple[float, float]
ScaleOption = Literal["auto", "max"] | tuple[float, float]

# A value beyond the scale by less than this part of it is there by rounding: it is the bound.
TOLERANCE = 1e-6
_BLOCK = 1 << 14


def checked_option(scale: Any) -> ScaleOption:
    """The option as the rest of the library takes it, or an error that says what is allowed."""
    if isinstance(scale, str) and scale in ("auto", "max"):
        return cast("ScaleOption", scale)
    with suppress(TypeError, ValueError):  # no pair, or not of numbers: it is said below
        lo, hi = (float(bound) for bound in scale)
        if lo < hi and math.isfinite(hi - lo):
            return lo, hi
    raise UserError(
        "is not a scale; allowed are 'auto', 'max' and a pair of finite numbers (lo, hi) with "
        "lo < hi.",
        parameter="scale",
        value=scale,
    )


def allowed(option: ScaleOption) -> tuple[str, str]:
    """The allowed range, in the words of Python and of the command line."""
    if option == "auto":
        return ("allowed are finite numbers",) * 2
    if option == "max":
        python, shell = "allowed with scale='max'", "allowed with --scale max"
        return f"{python} are finite numbers from 0 up", f"{shell} are finite numbers from 0 up"
    lo, hi = option
    return (f"the scale allows numbers from {lo:.12g} to {hi:.12g}",) * 2


def choose(option: ScaleOption, lowest: float, highest: float) -> Scale:
    """The scale of values between ``lowest`` and ``highest``.

    ``"auto"``: (0, 1) for values in [0, 1], otherwise (lowest, highest); where all are the same
    number c, zero is the other end: (0, c), or (c, 0) for a negative one. ``"max"``: (0, highest),
    the paper's R / R_max.
    """
    if option == "auto":
        if lowest >= -TOLERANCE and highest <= 1 + TOLERANCE:
            return 0.0, 1.0
        if lowest == highest:
            return min(lowest, 0.0), max(highest, 0.0)
        return lowest, highest
    if option == "max":
        return 0.0, highest if highest > 0 else 1.0
    return option


def to_unit(values: Any, scale: Scale) -> npt.NDArray[np.float64]:
    """Values in the caller's unit as probabilities."""
    lo, hi = scale
    return (np.asarray(values, dtype=np.float64) - lo) / (hi - lo)


def from_unit(p: Any, scale: Scale) -> npt.NDArray[np.float64]:
    """Probabilities as values in the caller's unit."""
    lo, hi = scale
    p = np.asarray(p, dtype=np.float64)
    values = lo + p * (hi - lo)
    within = np.where(p <= 1.0, np.minimum(values, hi), values)  # a sum may exceed hi by rounding
    return np.asarray(within)


def stored(values: npt.NDArray[Any], scale: Scale) -> npt.NDArray[np.float32]:
    """Values as the probabilities that are kept, in [0, 1]; in blocks, to spare memory."""
    p = np.empty(values.size, np.float32)
    for start in range(0, values.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        p[block] = np.clip(to_unit(values[block], scale), 0.0, 1.0)
    return p
