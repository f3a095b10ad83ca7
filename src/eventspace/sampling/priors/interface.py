"""What a prior sees of a chain, and what it does."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from eventspace._base.randomness import Generators
from eventspace.engines.workbench import Held, Workbench

Rng: TypeAlias = np.random.Generator | Generators
Numbers: TypeAlias = Any  # a number of a chain, or NumPy's array of those of several


class State(Protocol):
    """Where a chain stands, and from whom its priors learn. The arrays lie on the workbench."""

    bench: Workbench
    pmf: Held  # users x events
    indicators: Held  # items x events, 0 or 1
    precision: Held  # of each user's noise
    known_users: Held  # 1 for those whom priors learn from, else 0
    known_items: Held
    user_seeds: Held
    item_seeds: Held


class Prior(Protocol):
    """The law of one part of a chain's state."""

    def draw(self, state: State, rng: Rng) -> Any:
        """Draw or learn what the law depends on, given the state; give the law.

        Several chains may run side by side: then the first axis of each array says which, and so
        does that of what ``rng`` draws. What each row needs of chance comes from its own stream.
        """
