"""Pictures, by matplotlib (the extra ``plot``): each function draws on given axes or new ones.

It gives the axes back, so that titles, limits and the rest are changed as in any picture.
"""

from __future__ import annotations

from eventspace.plots.curves import calibration, descent
from eventspace.plots.maps import indicators, pmfs
from eventspace.plots.order import hasse, influence

__all__ = [
    "calibration",
    "descent",
    "hasse",
    "indicators",
    "influence",
    "pmfs",
]
