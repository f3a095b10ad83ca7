"""What a parameter must be, and the error that says so."""

from __future__ import annotations

import math
import numbers
from typing import Any

from eventspace._base.errors import UserError

MOST = 1e100  # of a penalty and the like; files may ask for no more either


def check_choice(name: str, value: Any, allowed: Any) -> None:
    """Refuse a value that is none of the allowed ones."""
    if not any(value is choice or value == choice for choice in allowed):
        choices = ", ".join(map(repr, allowed))
        raise UserError(f"is unknown; allowed are {choices}.", parameter=name, value=value)


def check_whole(name: str, value: Any, least: int, most: float = math.inf) -> None:
    """Refuse what is no whole number from ``least`` to ``most``."""
    if not is_whole(value) or not least <= value <= most:
        allowed = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
        raise UserError(f"must be a whole number {allowed}.", parameter=name, value=value)


def check_number(name: str, value: Any) -> None:
    """Refuse what is no finite number from zero up, or so great that sums with it overflow."""
    if not is_real(value) or not 0 <= value < math.inf:
        raise UserError("must be a finite number of at least 0.", parameter=name, value=value)
    if value > MOST:
        raise UserError(
            f"is too great to be summed: at most {MOST:g}.", parameter=name, value=value
        )


def check_share(name: str, value: Any) -> None:
    """Refuse what is no number from zero to one."""
    check_number(name, value)
    if value > 1:
        raise UserError("is a probability: at most 1.", parameter=name, value=value)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether it is a real number, and no bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
