"""Fewer events for each user, at what cost: effective events against RMSE, 16 events on u4.

One short posterior of u4's training part is compressed again and again. The preference for clear
PMFs goes from none to four times the default. For comparison, as it was done before: the best of
four descents from random PMFs, every cell counted alike, and no preference.

    python -m benchmarks.clear
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from benchmarks import data
from benchmarks.timing import publish, save, table
from docs.fill import IMAGES
from eventspace import KolmogorovPosterior, Observations
from eventspace._base.codes import unpack
from eventspace._base.threads import one_blas_thread
from eventspace.engines import engine
from eventspace.fitted import FittedModel
from eventspace.fitted.fit import DescentFit
from eventspace.fitting import compression
from eventspace.fitting.descent import best_descent, random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.fitting.settings import DescentSettings
from eventspace.indicators import Local
from eventspace.metrics import rmse
from eventspace.pmf import Pairwise

SPLIT, EVENTS, STARTS = 4, 16, 4
TIMES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)  # the default preference
BEFORE = "random starts, as before"


def point(
    name: str, seen: Observations, pmf: Any, bits: Any, test: data.Ratings
) -> dict[str, object]:
    """A model's effective events, and its error on the test part."""
    model = FittedModel(DescentFit.of_parts(seen, pmf, bits), DescentSettings(EVENTS))
    logs = np.log(np.maximum(pmf, 1e-300))
    p = model.predict((test.users, test.items), unit="original", unknown="population")
    return {
        "preference": name,
        "effective events": float(np.exp(-(pmf * logs).sum(axis=1)).mean()),
        "RMSE in stars": rmse(test.values, p),
    }


def before(parts: list[compression.Part], seen: Observations) -> tuple[Any, Any]:
    """The best of some descents from random PMFs to the same average, all cells alike."""
    alike = np.ones(seen.n_users), np.ones(seen.n_items)
    rng, machine = np.random.default_rng(0), engine("cpu", n_threads=2)
    best = best_descent(
        [partial(random_start, seen, EVENTS, rng)] * STARTS,
        compression.Target.of(parts, *alike),
        HalfSteps.on(machine, Local(3), Pairwise()),
        prior="zero",
        n_iter=30,
        tol=1e-3,
        rng=rng,
    )
    return best.pmf, unpack(best.codes[:, None], EVENTS)


def main() -> None:
    """Print and publish the table, and draw the curve."""
    train, test = data.movielens_100k(SPLIT)
    seen = Observations.of(tuple(train))
    posterior = KolmogorovPosterior(n_chains=6, n_warmup=20, n_draws=20, random_state=0).fit(seen)
    parts = posterior.fitted_.record.parts()
    weights = [np.asarray(e.sizes + 1.0, np.float64) for e in (seen.by_user, seen.by_item)]
    target = compression.Target.of(parts, *weights)
    whole = compression.Compression(target, engine("cpu", n_threads=2), parts[0].noise)
    default, points = compression.CLEAR, []
    with one_blas_thread():
        points.append(point(BEFORE, seen, *before(parts, seen), test))
        for times in TIMES:
            compression.CLEAR = default * times
            *_, begun = whole.growing(EVENTS, *whole.begun(EVENTS))
            kept = replace(whole, before=begun[1])
            found = kept.proved(*kept.settled(*begun))
            bits = unpack(found.codes[:, None], EVENTS)
            points.append(point(f"{times:g} times the default", seen, found.pmf, bits, test))
    compression.CLEAR = default
    print(table(points))
    draw(points)
    save("clear", points)
    publish("clear", table(points))


def draw(points: list[dict[str, Any]]) -> None:
    """The curve, and the point of before."""
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    first, *curve = points
    x, y = "effective events", "RMSE in stars"
    ax.plot([p[x] for p in curve], [p[y] for p in curve], marker="o", label="grown, by preference")
    for p, times in zip(curve, TIMES, strict=True):
        ax.annotate(f"{times:g}", (p[x], p[y]), (4, 5), textcoords="offset points", fontsize=8)
    ax.plot(first[x], first[y], marker="s", linestyle="", color="0.4", label=first["preference"])
    ax.set(xlabel="effective events of a user, mean", ylabel="RMSE in stars, u4, 16 events")
    ax.legend(frameon=False)
    figure.savefig(IMAGES / "clear.png", dpi=150)


if __name__ == "__main__":
    main()
