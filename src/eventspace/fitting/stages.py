"""Where a descent takes place, if that is in the memory of this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Bits, Floats, Seeds
from eventspace.engines.protocol import Indicators, Observed, Stage
from eventspace.fitting.half_steps import HalfSteps
from eventspace.pmf.population import population_centre, population_spread


def stage_for(steps: HalfSteps, observed: Observed, pmf: Floats) -> Stage:
    """The stage on the machine of the half-steps."""
    return steps.update_pmfs.engine.stage(steps, observed, pmf) or HostStage(steps, observed, pmf)


@dataclass
class HostStage:
    """A table in the memory of this process: any half-steps, on any engine."""

    steps: HalfSteps
    observed: Observed
    pmf: Floats
    gap: Floats = field(init=False)
    rated: Bits = field(init=False)

    def __post_init__(self) -> None:
        self.gap = np.full(len(self.pmf), np.inf)
        self.rated = self.observed.by_user.rated

    def update_indicators(self, codes: NDArray[Any], seeds: Seeds) -> Indicators:
        """Improve every item's code, given the PMFs."""
        return self.steps.update_indicators(self.observed.by_item, self.pmf, codes, seeds)

    def update_pmfs(self, codes: NDArray[Any], centre: Floats) -> float:
        """Improve every user's PMF; gives the squared error."""
        solved = self.steps.update_pmfs(self.observed.by_user, self.pmf, codes, centre)
        self.pmf, self.gap = solved.pmf, solved.gap
        return float(solved.error.sum())

    def centre(self, prior: str) -> Floats:
        """The point towards which the penalty draws the PMFs."""
        return population_centre(self.pmf, self.rated, prior)

    def spread(self, centre: Floats) -> float:
        """The sum of ``|theta_u - centre|^2`` over the users with ratings."""
        return population_spread(self.pmf, self.rated, centre)

    def pmfs(self) -> tuple[Floats, Floats]:
        """The PMFs, users x events, and the duality gap of each user's last solve."""
        return self.pmf, self.gap
