"""Algorithm 1: indicators and PMFs in turn, from random PMFs, until the cost no longer falls.

The cost is

    sum w_ui (theta_u . psi_i - p_ui)^2 + lambda sum_u |theta_u - m|^2 + mu sum_i |psi_i|,

with m = 0 (prior ``"zero"``, the paper's) or m the mean of the PMFs (prior ``"mean"``). Each of its
blocks (the codes, the PMFs, m) is set to a minimiser, or to something no worse than it was, so the
cost never rises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.checkpoint import NOWHERE, Checkpoint
from eventspace._base.codes import numbers
from eventspace._base.randomness import streams
from eventspace._base.records import Record, plain, plain_codes, plain_pmf, plain_whole
from eventspace._base.types import Floats
from eventspace.data.observations import Observations
from eventspace.data.shards import Shards
from eventspace.engines.protocol import Observed
from eventspace.fitting.half_steps import HalfSteps
from eventspace.fitting.stages import stage_for

KEPT = ("codes", "proved", "error", "history", "converged")
INTERRUPTED = "interrupted: this is the model so far"  # what Ctrl-C in a fit is answered with


Pmfs = Callable[[], tuple[Floats, Floats]]  # gives PMFs and duality gaps, as ``Stage.pmfs`` does


@dataclass
class Descent:
    """Where a descent stands. ``history`` holds the cost after each iteration.

    ``codes`` are numbers, items x events, where indicators need not be binary.
    """

    pmf: Floats
    codes: NDArray[Any]
    proved: NDArray[np.bool_] = field(init=False)
    gap: Floats = field(init=False)
    error: float = np.nan
    history: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.proved = np.zeros(len(self.codes), dtype=np.bool_)
        self.gap = np.full(len(self.pmf), np.inf)

    @property
    def cost(self) -> float:
        """The cost now."""
        return self.history[-1] if self.history else np.inf

    def state(self, pmf: Floats, gap: Floats) -> Record:
        """All that it takes to go on, with the PMFs as they are now."""
        kept = self.codes, self.proved, self.error, self.history, self.converged
        return {"pmf": pmf, "gap": gap} | dict(zip(KEPT, kept, strict=True))

    @classmethod
    def revived(cls, state: Record, like: Descent) -> Descent:
        """A descent as ``state`` gave it, of the same shape as another."""
        pmf = plain_pmf(state["pmf"], like.pmf)
        found = cls(pmf, plain_codes(state["codes"], like.codes, pmf.shape[1]))
        found.proved = plain(state["proved"], like.proved)
        found.gap = plain(state["gap"], like.gap)
        found.error = float(state["error"])
        found.history = [float(cost) for cost in state["history"]]
        found.converged = bool(state["converged"])
        return found


def random_start(
    observations: Observations | Shards, n_events: int, rng: np.random.Generator
) -> Descent:
    """PMFs drawn uniformly from the simplex, and empty sets."""
    pmf = rng.standard_exponential((observations.n_users, n_events))
    pmf /= pmf.sum(axis=1, keepdims=True)
    return Descent(pmf, np.zeros(observations.n_items, dtype=np.uint64))


def descend(
    descent: Descent,
    observed: Observed,
    steps: HalfSteps,
    *,
    prior: str,
    n_iter: int,
    tol: float,
    rng: np.random.Generator,
    on_iteration: Callable[[Descent, Pmfs], None] = lambda descent, pmfs: None,
) -> Descent:
    """Run up to ``n_iter`` iterations, or until one lowers the cost by less than ``tol`` of it.

    The PMFs stay on the machine that the half-steps run on, the stage, until the end. What changes
    changes as a whole after each half-step, so an interrupt (Ctrl-C) leaves it as it was after the
    last one that ended; the descent is then marked and returned. ``on_iteration`` is told after
    each iteration, and may ask for the PMFs.
    """
    stage = stage_for(steps, observed, descent.pmf)
    lambda_, mu = steps.update_pmfs.penalty, steps.update_indicators.penalty
    try:
        centre = stage.centre(prior)
        for _ in range(n_iter):
            seeds = streams(rng, len(descent.codes))
            found = stage.update_indicators(descent.codes, seeds)
            descent.codes, descent.proved = found.codes, found.proved
            before, descent.error = descent.cost, stage.update_pmfs(descent.codes, centre)
            centre = stage.centre(prior)
            descent.history.append(
                descent.error
                + lambda_ * stage.spread(centre)
                + mu * float(numbers(descent.codes, centre.size).sum())
            )
            descent.converged = before - descent.cost <= tol * descent.cost
            on_iteration(descent, stage.pmfs)
            if descent.converged:
                break
    except KeyboardInterrupt:
        descent.interrupted = True
    pmf, gap = stage.pmfs()
    if not np.isinf(gap).any():  # else it ended before the PMFs were solved for
        descent.pmf, descent.gap = pmf, gap
    return descent


def best_descent(
    starts: Sequence[Callable[[], Descent]],
    observed: Observed,
    steps: HalfSteps,
    *,
    n_iter: int,
    rng: np.random.Generator,
    update: Callable[[int, str], None] = lambda done, note: None,
    checkpoint: Checkpoint = NOWHERE,
    **options: Any,
) -> Descent:
    """Descend from each start, with the options of ``descend``, and keep where the cost is least.

    ``update`` is told how many iterations are done, as a progress bar is. An interrupt ends it: the
    best so far is marked and returned, if there is any. It goes on from where the checkpoint is.
    """
    best: Descent | None = None
    begun, first = checkpoint.read("descent"), 0
    if begun is not None:
        with checkpoint.reviving():
            like, first = starts[0](), plain_whole(begun["start"], len(starts) - 1)
            now = Descent.revived(begun, like)
            known = checkpoint.read("best descent") if first else None
            best = None if known is None else Descent.revived(known, like)
            rng.bit_generator.state = begun["generator"]
    for k in range(first, len(starts)):
        if begun is None or k > first:
            now = starts[k]()

        def tell(now: Descent, pmfs: Pmfs, k: int = k, best: Descent | None = best) -> None:
            update(k * n_iter + len(now.history), f"cost {now.cost:,.2f}")

            def records() -> dict[str, Record]:
                place = {"start": k, "generator": rng.bit_generator.state}
                found = {"descent": {**now.state(*pmfs()), **place}}
                return found if best is None else found | {"best descent": _whole(best)}

            if now.converged or len(now.history) == n_iter:
                checkpoint.keep_soon(records)
            else:
                checkpoint.keep("descent", records)

        left = 0 if now.converged else n_iter - len(now.history)
        descent = (
            descend(now, observed, steps, n_iter=left, rng=rng, on_iteration=tell, **options)
            if left
            else now
        )
        if best is None or descent.cost < best.cost:
            best = descent
        if descent.interrupted:
            best.interrupted = True
            break
    if best is None or not best.history:
        raise KeyboardInterrupt  # there is nothing so far
    return best


def _whole(descent: Descent) -> Record:
    return descent.state(descent.pmf, descent.gap)
