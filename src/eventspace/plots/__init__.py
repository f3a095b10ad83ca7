"""Pictures, by matplotlib (the extra ``plot``): each function draws on given axes or new ones.

It returns the axes, so titles, limits and the rest can be changed as in any picture.
"""

from __future__ import annotations

from eventspace.plots.curves import calibration, descent, reading_cost
from eventspace.plots.maps import indicators, pmfs
from eventspace.plots.order import hasse, influence

__all__ = [
    "calibration",
    "descent",
    "hasse",
    "indicators",
    "influence",
    "pmfs",
    "reading_cost",
]
