"""What ``benchmarks.drift`` measured, as tables and pictures of docs/moving-data.md."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks.timing import PAGE, publish, table

MOVING = PAGE.parent / "moving-data.md"
IMAGES = PAGE.parent / "images"
NAMES = {
    "fixed": "does not follow",
    "follow": "update",
    "forget": "update, forgetting",
    "refit": "refit",
    "refit, forget": "refit, forgetting",
}


def tables(figures: dict[str, Any]) -> None:
    """Write what was measured into the page, and draw."""
    if "generated" in figures:
        part = figures["generated"]
        rows = [
            {"model": NAMES[n], "tracking error, last time": f"{np.mean(e, axis=0)[-1]:.4f}",
             "mean over times": f"{np.mean(np.array(e)[:, 1:]):.4f}",
             "seconds each time": f"{part['seconds'][n]:.2f}" if n != "fixed" else "-"}
            for n, e in part["errors"].items()
        ]  # fmt: skip
        publish("drift generated", table(rows), MOVING)
        draw_tracking(part)
    for name, part in figures.get("movielens", {}).items():
        rows = [
            {"model": NAMES[n], "RMSE of the next block": f"{part['rmse'][n]:.4f}",
             "of users known by then": f"{part['rmse_known'][n]:.4f}",
             "seconds each block": f"{part['seconds'][n]:.2f}" if n != "fixed" else "-"}
            for n in NAMES
        ]  # fmt: skip
        early = ", ".join(
            f"{'no forgetting' if h == 'none' else f'{float(h):g} days'} {e:.4f}"
            for h, e in part["early"].items()
        )
        text = f"Half-life {part['half_life_days']:g} days; on the first half: {early}. "
        text += f"{part['known_share']:.0%} of the ratings are of users known by then."
        publish(f"drift {name}", table(rows) + "\n\n" + text, MOVING)
    if "sets" in figures:
        heads = ("table", "no update", "sets stay", "sets follow", "sets follow freely")
        rows = [
            dict(
                zip(
                    heads,
                    (v if isinstance(v, str) else f"{v:.4f}" for v in row.values()),
                    strict=True,
                )
            )
            for row in figures["sets"]
        ]
        publish("drift sets", table(rows), MOVING)
    if "cheap" in figures:
        rows = []
        for name, part in figures["cheap"].items():
            mean = pd.DataFrame(part["rows"]).mean()
            rows.append({
                "table": name, "seeds": part["seeds"], "before": f"{mean['before']:.4f}",
                "update": f"{mean['update']:.4f}", "refit": f"{mean['refit']:.4f}",
                "loss": f"{mean['update'] / mean['refit'] - 1:+.2%}",
                "update, s": f"{mean['update_s']:.3f}", "refit, s": f"{mean['refit_s']:.1f}",
                "times cheaper": f"{mean['refit_s'] / mean['update_s']:.0f}",
            })  # fmt: skip
        publish("drift cheap", table(rows), MOVING)
    if "picture" in figures:
        draw_user(figures["picture"])


def draw_tracking(part: dict[str, Any]) -> None:
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    styles = {"fixed": ("0.6", "-"), "follow": ("C0", "-"), "forget": ("C1", "-"),
              "refit": ("C0", "--"), "refit, forget": ("C1", "--")}  # fmt: skip
    for name, errors in part["errors"].items():
        colour, line = styles[name]
        mean = np.mean(errors, axis=0)
        times = range(part["settings"]["n_early"], part["settings"]["n_times"] + 1)
        axes.plot(times, mean, line, color=colour, label=NAMES[name])
    axes.set(xlabel="time", ylabel="RMS distance from the true chances", ylim=(0, None))
    axes.legend(loc="lower left", ncols=2, frameon=False)
    keep(figure, "drift-tracking")


def draw_user(part: dict[str, Any]) -> None:
    pmf, dates = np.array(part["pmf"]), pd.to_datetime(part["dates"])
    heavy = np.argsort(-pmf.mean(axis=0), kind="stable")[:6]
    rest = 1 - pmf[:, heavy].sum(axis=1)
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    labels = [f"{d}: {part['labels'][d]}" for d in heavy] + ["the other events"]
    colours = [f"C{k}" for k in range(len(heavy))] + ["0.85"]
    axes.stackplot(dates, *pmf[:, heavy].T, rest, labels=labels, colors=colours)
    axes.set(ylabel="mass", ylim=(0, 1), xlim=(dates[0], dates[-1]))
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="outside lower center", fontsize="small",
                  frameon=False)  # fmt: skip
    keep(figure, "drift-user")


def keep(figure: Figure, name: str) -> None:
    """Write a picture, the same for the same figures."""
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
