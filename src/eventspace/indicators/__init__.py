"""The indicator step, (Q2): for each item a quadratic over sets of events.

Every solver here takes the quadratics ``psi'S psi - 2 v'psi + energy`` of a batch of items, with
the penalty already absorbed, and improves their codes in place; the code that comes in is the
incumbent, and it stays unless a better one is found. A single S stands for all items when
everything is observed.
"""

from eventspace.indicators.exact import Exact
from eventspace.indicators.local import Local
from eventspace.indicators.one_hot import OneHot
from eventspace.indicators.sdr import SDR

SOLVERS = {"exact": Exact, "sdr": SDR, "local": Local}

__all__ = ["SDR", "SOLVERS", "Exact", "Local", "OneHot"]
