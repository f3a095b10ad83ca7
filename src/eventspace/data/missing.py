"""What a missing entry says: nothing, or no with some weight."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from eventspace._base.checks import is_real
from eventspace._base.errors import UserError
from eventspace.data.entries import Entries
from eventspace.data.scale import TOLERANCE, ScaleOption

MissingOption = Literal["unknown", "no"] | float | None
MOST_WEIGHT = 1e6  # beside greater ones the weights of what is stored are lost in rounding


def weight_of_missing(option: Any) -> float:
    """The weight with which a missing entry says no; 0: it says nothing. None: nothing was said."""
    if option is None:
        return 0.0
    if isinstance(option, str) and option in ("unknown", "no"):
        return float(option == "no")
    if is_real(option) and 0 <= option <= MOST_WEIGHT:
        return float(option)
    raise UserError(
        "does not say what missing entries mean; allowed are 'unknown', 'no', or the weight of a "
        f"no, a number from 0 to {MOST_WEIGHT:g} (a stored entry has 1).",
        parameter="missing",
        value=option,
    )


def scale_of_yes(values: Any, scale: ScaleOption) -> ScaleOption:
    """The scale of values beside which a missing one is 0: it must be stated beyond [0, 1]."""
    if scale != "auto":
        return scale
    if values.dtype.kind in "biuf" and values.size:
        lowest, highest = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        finite = math.isfinite(lowest) and math.isfinite(highest)  # else it is said elsewhere
        if finite and (lowest < -TOLERANCE or highest > 1 + TOLERANCE):
            raise UserError(
                f"Values run from {lowest:g} to {highest:g}, but where a missing entry is a no "
                "they are chances, from 0 to 1:",
                remedy="leave the value column out if every row is a yes, or state the scale, such "
                f"as scale=(0, {highest:g}).",
                shell="leave the value column out if every row is a yes, or state the scale, such "
                f"as --scale 0,{highest:g}.",
            )
    return 0.0, 1.0


def that_speak(by_user: Entries, by_item: Entries, weight: float) -> tuple[Entries, Entries]:
    """Both orders of entries, where what is missing says no with this weight."""
    if not weight:
        return by_user, by_item
    n_users, n_items = len(by_user.ptr) - 1, len(by_item.ptr) - 1
    return (
        by_user._replace(missing=np.full(n_items, weight)),
        by_item._replace(missing=np.full(n_users, weight)),
    )
