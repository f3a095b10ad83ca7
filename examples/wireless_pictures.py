"""The pictures of the example on wireless links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from eventspace.plots.axes import COLOURS
from examples import pictures


def draw(figures: dict[str, Any], folder: Path) -> None:
    """The errors, the rules on the map of the lab, and the zones of the lab."""
    wanted = {"errors": _errors, "rules": _map_of_rules, "zones": _map_of_zones}
    pictures.save({f"wireless-{name}": each for name, each in wanted.items()}, figures, folder)


def _errors(figures: dict[str, Any]) -> Figure:
    titles = {
        "half": "Intel lab, half hidden",
        "fifth": "Intel lab, four fifths hidden",
        "orbit": "ORBIT grid, half hidden",
    }
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    for ax, (task, title) in zip(axes, titles.items(), strict=True):
        pictures.dots(ax, figures["hidden"][task], "rmse")
        ax.set(title=title, xlabel="RMSE of the delivery")
        ax.axhline(5.5, color="0.8", lw=0.8)
    for middle, said in ((2.5, "without positions"), (7.5, "with positions")):
        across = axes[2].get_yaxis_transform()
        axes[2].text(1.03, middle, said, transform=across, va="center", rotation=270, color="0.4")
    return figure


def _places(figures: dict[str, Any]) -> dict[int, tuple[float, float]]:
    return {int(node): (x, y) for node, x, y in figures["places"]}


def _map_of_rules(figures: dict[str, Any]) -> Figure:
    places = _places(figures)
    figure, ax = plt.subplots(figsize=(9.5, 7), layout="constrained")
    x, y = np.array(list(places.values())).T
    ax.scatter(x, y, s=300, color="white", edgecolor="0.6", zorder=2)
    for node, at in places.items():
        ax.text(*at, str(node), ha="center", va="center", fontsize=9, zorder=3)
    listed = figures["rules"][0]["listed"]
    for a, b, *_, rate, base in listed:
        colour = "0.7" if rate is None else COLOURS[0] if rate > base else COLOURS[5]
        ax.annotate(
            "",
            places[int(b)],
            places[int(a)],
            zorder=1,
            arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 9, "shrinkB": 9,
                        "connectionstyle": "arc3,rad=0.12"},
        )  # fmt: skip
    for colour, said in (
        (COLOURS[0], "held out: senders that reach the first reach the second more often"),
        (COLOURS[5], "held out: not more often"),
        ("0.7", "no held-out sender reaches the first"),
    ):
        ax.plot([], [], color=colour, lw=2, label=said)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), frameon=False, ncols=1)
    ax.set(xlabel="metres", ylabel="metres", aspect="equal")
    title = f"Senders that reach the tail also reach the head: the first {len(listed)} rules"
    ax.set_title(title, loc="left")
    return figure


def _map_of_zones(figures: dict[str, Any]) -> Figure:
    places, zones = _places(figures), figures["zones"]
    pmf, sets = np.array(zones["pmf"]), np.array(zones["indicators"])
    figure, axes = plt.subplots(2, pmf.shape[1] // 2, figsize=(11, 5), layout="constrained")
    senders = np.array([places[node] for node in zones["senders"]])
    receivers = np.array([places[node] for node in zones["receivers"]])
    for d, ax in enumerate(axes.flat):
        hears = sets[:, d] > 0
        ax.scatter(*receivers[~hears].T, s=14, color="0.85")
        ax.scatter(*receivers[hears].T, s=30, color=COLOURS[0])
        sizes = 420 * pmf[:, d]
        ax.scatter(*senders.T, s=sizes, facecolor="none", edgecolor=COLOURS[5], lw=1.2)
        ax.set_title(f"event {d}, mass {pmf[:, d].mean():.2f}", fontsize=10)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.margins(0.12)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    rings = {"marker": "o", "ls": "", "markerfacecolor": "none", "color": COLOURS[5]}
    axes.flat[0].plot([], [], "o", color=COLOURS[0], label="a receiver whose set has the event")
    axes.flat[0].plot([], [], ms=9, label="a sender; its area is the event's mass there", **rings)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
