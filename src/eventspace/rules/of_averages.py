"""Rules of an average: inclusions with the share of its samples in which they hold."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.codes import inside, masses, sizes
from eventspace._base.progress import bar
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.frames import DataFrame, data_frame
from eventspace.rules import mining
from eventspace.rules.evidence import Evidence
from eventspace.rules.measures import log_chance, surprise
from eventspace.rules.mining import Miner, Rules

_LEAST = 1e-9  # a probability of zero is no rule
SORTS = tuple(name if name != "stability" else "probability" for name in mining.SORTS)


class AverageMiner(Miner):
    """Finds the inclusions that enough samples have; ``restarts`` are the samples' codes."""

    def table(
        self, item: Any, top: int | None, given: Evidence | None, show: bool | None
    ) -> DataFrame:
        """The first rules as a DataFrame."""
        if item is not None:
            blocks: Any = [self.of_item(self.space.item(item))]
            found = mining.best(blocks, self, top)
        else:
            rated = np.flatnonzero(self.space.ratings)
            with bar("rules", len(rated), show) as update:
                found = mining.best(self._mined(rated, update), self, top)
        columns = mining.columns(found, self, given, "model")
        del columns["kind"]
        columns["probability"] = columns.pop("stability")
        return data_frame(columns, self.space.observations.library)

    def _mined(self, rated: Positions, update: Any) -> Any:
        for k, item in enumerate(rated.tolist()):
            yield self._ranked(self._from(item, *self._partners(item)))
            update(k + 1, "")

    def order(self, rules: Rules) -> Positions:
        """As of any miner, by another name of the stability."""
        name = "stability" if self.sort == "probability" else self.sort
        return Miner.order(self._sorted_by(name), rules)

    def _sorted_by(self, name: str) -> Miner:
        return Miner(
            self.space, self.evidence, [], name, self.min_evidence, 0.0, self.min_confidence, False
        )

    @cached_property
    def _codes(self) -> Codes:
        """The codes of all samples, samples x items x 1: each has at most 64 events."""
        return np.stack(self.restarts)

    def _partners(
        self, item: int, *, swapped: bool = False
    ) -> tuple[Positions, Floats, NDArray[np.bool_]]:
        here = self._codes[:, [item]]
        lower, upper = (self._codes, here) if swapped else (here, self._codes)
        held = (inside(lower, upper) & (lower[..., 0] > 0)).mean(axis=0)
        listed = np.flatnonzero((held >= max(self.min_confidence, _LEAST)) & self._rated)
        support = masses(self.space.sets[listed] & self.space.sets[item], self.space.mass)
        return listed, support, np.zeros(len(listed), dtype=np.bool_)

    @cached_property
    def _rated(self) -> NDArray[np.bool_]:
        return np.asarray(self.space.ratings > 0)

    def _ranked(self, rules: Rules) -> Rules:
        lower, upper = self._codes[:, rules["if_item"]], self._codes[:, rules["then_item"]]
        n_events = self.space.n_events // len(self.restarts)
        chance = log_chance(
            n_events, *(sizes(part).ravel() for part in (lower, upper, lower & upper))
        )
        rules["log_chance"] = chance.reshape(len(self.restarts), -1).mean(axis=0)
        rules["stability"] = (inside(lower, upper) & (lower[..., 0] > 0)).mean(axis=0)
        rules["surprise"] = surprise(
            rules["log_chance"], rules["correlation"], rules["both"], rules["stability"]
        )
        return rules
