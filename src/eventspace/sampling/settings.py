"""The settings of a posterior, checked."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from eventspace._base.checks import check_choice, check_whole, is_real, is_whole
from eventspace._base.codes import WORD
from eventspace._base.errors import UserError
from eventspace.data.invariants import MOST_SAMPLES
from eventspace.fitting.settings import checked_threads

FEW_CHAINS, MANY_CHAINS = 8, 24
FEW_ENTRIES = 2000  # below it many chains cost little


@dataclass(eq=False, repr=False)
class SamplingSettings:
    """How chains are run; :class:`eventspace.KolmogorovPosterior` says what each of these means."""

    n_events: int = 24
    _: KW_ONLY
    concentration: float | str = "auto"
    informed: bool = True
    weigh: bool = True
    n_chains: int | str = "auto"
    n_warmup: int = 60
    n_draws: int = 90
    n_samples: int = 128
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool | None = None

    def check(self) -> None:
        """Refuse a bad setting."""
        check_whole("n_events", self.n_events, 1, WORD)
        n_chains: Any = self.n_chains
        if n_chains != "auto" and not (is_whole(n_chains) and n_chains >= 1):
            raise UserError(
                f"n_chains={self.n_chains!r} must be 'auto' or a whole number of at least 1."
            )
        check_whole("n_warmup", self.n_warmup, 0)
        check_whole("n_draws", self.n_draws, 4)
        check_whole("n_samples", self.n_samples, 1, MOST_SAMPLES)
        check_choice("informed", self.informed, (True, False))
        check_choice("weigh", self.weigh, (True, False))
        checked_threads(self)
        concentration: Any = self.concentration
        if concentration != "auto" and not (is_real(concentration) and 0 <= concentration < np.inf):
            raise UserError(
                f"concentration={concentration!r} must be 'auto' or a finite number of at least 0."
            )

    def chains_for(self, n_observed: int) -> int:
        """How many chains are run on a table of this size."""
        few = FEW_CHAINS if n_observed >= FEW_ENTRIES else MANY_CHAINS
        n_chains = few if self.n_chains == "auto" else int(self.n_chains)
        if self.n_samples < n_chains:
            raise UserError(
                f"n_samples={self.n_samples} is too few: one is kept of each of {n_chains} chains."
            )
        return n_chains

    @property
    def fixed_concentration(self) -> float | None:
        """None where it is drawn along."""
        return None if self.concentration == "auto" else float(self.concentration)
