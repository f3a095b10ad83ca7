"""When planted models are found again: against ratings per item, and the number of events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import table
from eventspace import KolmogorovDescent
from eventspace.datasets.generators import planted
from eventspace.identifiability import identifiability, match_events, stability

N_USERS = N_ITEMS = 200
NOISE = 0.1
EVENTS = (2, 4, 8, 12)
RATINGS = (5, 10, 20, 40, 80, 160)
SEEDS = range(3)
PENALTY = 0.1  # noise of 0.1 against PMFs that vary by 0.2 or 0.3 is worth about a tenth rating
RESTARTS = 3


def recovery(n_events: int, per_item: int, seed: int) -> dict[str, Any]:
    """How much of a planted model a fit finds, and what could be known of that without it."""
    made = planted(N_USERS, N_ITEMS, n_events, noise=NOISE, per_item=per_item, random_state=seed)
    settings: dict[str, Any] = {"pmf_penalty": PENALTY, "n_init": 10, "n_iter": 100}
    fits = [
        KolmogorovDescent(n_events, **settings, random_state=k).fit(made) for k in range(RESTARTS)
    ]
    model = fits[0]
    bits = made.truth["indicators"].loc[model.item_ids_].to_numpy() > 0
    pmf = made.truth["pmf"].loc[model.user_ids_].to_numpy()
    order = match_events(bits, model.indicators_)
    same = bits == model.indicators_[:, order]
    again = stability(fits)
    given = KolmogorovDescent(n_events, pmf_penalty=PENALTY, n_iter=100)
    given.fit(made, indicators=made.truth["indicators"])
    return {
        "n_events": n_events,
        "per_item": per_item,
        "bits": float(same.mean()),
        "codes": float(same.all(axis=1).mean()),
        "pmf": float(np.sqrt(np.mean(np.square(pmf - model.pmf_[:, order])))),
        "given": float(np.sqrt(np.mean(np.square(pmf - given.pmf_)))),
        "order": again.order,
        "unique": identifiability(model).unique,
    }


def measure() -> dict[str, Any]:
    """Every number of events with every number of ratings per item, over seeds."""
    rows = [
        recovery(n_events, per_item, seed)
        for n_events in EVENTS
        for per_item in RATINGS
        for seed in SEEDS
    ]
    return {"seeds": list(SEEDS), "rows": rows}


def means(figures: dict[str, Any]) -> pd.DataFrame:
    """The mean over the seeds: one row per number of events and of ratings."""
    rows = pd.DataFrame(figures["rows"])
    rows["whole"] = rows["codes"] == 1.0
    rows["unique"] = rows["unique"].eq(True).astype(float)
    return rows.groupby(["n_events", "per_item"]).mean()


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The bits and codes that are found, the PMFs' distance, and what comes back."""
    found = means(figures)

    def wide(column: str, form: str) -> str:
        by_events = found.reset_index().pivot_table(column, "n_events", "per_item")
        return table(
            [
                {"events": n_events}
                | {
                    f"{n} ratings per item": form.format(by_events.loc[n_events, n])
                    for n in RATINGS
                }
                for n_events in EVENTS
            ]
        )

    return {
        "codes": wide("codes", "{:.0%}"),
        "pmf": wide("pmf", "{:.3f}"),
        "given": wide("given", "{:.3f}"),
        "order": wide("order", "{:.2f}"),
        "unique": wide("unique", "{:.0%}"),
    }


def draw(figures: dict[str, Any], folder: Path) -> None:
    """Codes found and inclusions that come back, against the ratings per item."""
    import matplotlib.pyplot as plt

    from eventspace.plots.axes import COLOURS

    found = means(figures)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for n_events, colour in zip(EVENTS, COLOURS, strict=False):
        part = found.loc[n_events]
        for ax, column in zip(axes, ("codes", "order", "pmf"), strict=True):
            ax.plot(part.index, part[column], marker="o", color=colour, label=f"{n_events} events")
    for ax, title in zip(
        axes,
        ("items whose set is found exactly", "inclusions that come back", "RMSE of the PMFs"),
        strict=True,
    ):
        ax.set_xscale("log")
        ax.set_xticks(RATINGS, [str(n) for n in RATINGS])
        ax.minorticks_off()
        ax.set(title=title, xlabel="ratings per item", ylim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
    axes[2].legend(frameon=False)
    figure.savefig(folder / "recovery.png", dpi=120)
    plt.close(figure)
