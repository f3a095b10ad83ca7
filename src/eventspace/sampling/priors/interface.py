"""What a prior sees of a chain, and what it does."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from eventspace._base.types import Bits, Floats


class State(Protocol):
    """Where a chain stands, and from whom its priors learn."""

    pmf: Floats  # users x events
    indicators: Floats  # items x events, 0 or 1
    precision: Floats  # of each user's noise
    known_users: Bits
    known_items: Bits


class Prior(Protocol):
    """The law of one part of a chain's state."""

    def draw(self, state: State, rng: np.random.Generator) -> Any:
        """Draw or learn what the law depends on, given the state; give the law."""
