"""The pictures of the example on votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from examples import pictures

SIDES = {"democrat": "#0072B2", "republican": "#D55E00", "D": "#0072B2", "R": "#D55E00"}
NAMED = {  # those whom a reader may look for
    **{"KENNEDY (D MA)": "Kennedy", "OBAMA (D IL)": "Obama", "CLINTON (D NY)": "Clinton"},
    **{"LIEBERMAN (D CT)": "Lieberman", "BYRD (D WV)": "Byrd", "CHAFEE (R RI)": "Chafee"},
    **{"SNOWE (R ME)": "Snowe", "COLEMAN (R MN)": "Coleman"},
    **{"MCCAIN (R AZ)": "McCain", "LUGAR (R IN)": "Lugar", "FRIST (R TN)": "Frist"},
    **{"SUNUNU (R NH)": "Sununu", "COBURN (R OK)": "Coburn", "DEMINT (R SC)": "DeMint"},
}
FILL = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")  # events, from left to right


def draw(figures: dict[str, Any], folder: Path) -> None:
    """The errors, the blocs of the House, and the senators in theirs."""
    wanted = {"errors": _errors, "house": _house, "senate": _senate}
    pictures.save({f"votes-{name}": each for name, each in wanted.items()}, figures, folder)


def _errors(figures: dict[str, Any]) -> Figure:
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.9), sharey=True, layout="constrained")
    titles = {"house": "House 1984, a quarter hidden", "senate": "Senate 2005-06, half hidden"}
    for ax, (chamber, title) in zip(axes, titles.items(), strict=True):
        pictures.dots(ax, figures["hidden"][chamber], "log_loss")
        ax.set(title=title, xlabel="log loss of hidden votes")
    return figure


def _house(figures: dict[str, Any]) -> Figure:
    """Above, the mass of each event in each party; below, the yeas in it."""
    found = figures["blocs"]["house"]
    order, _ = _from_left(found, "democrat")
    pmf, party = np.array(found["pmf"])[:, order], np.array(found["party"])
    sets = np.array(found["indicators"])[:, order]
    rows = np.argsort(sets @ 2.0 ** np.arange(sets.shape[1]))
    n = len(order)
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(7.5, 7.5), height_ratios=[1, 3], sharex=True, layout="constrained"
    )
    for k, name in enumerate(("democrat", "republican")):
        masses = pmf[party == name].mean(axis=0)
        x = np.arange(n) + 0.3 + 0.4 * k
        above.bar(x, masses, 0.36, color=SIDES[name], label=f"{name}s")
        for at, mass in zip(x, masses, strict=True):
            above.text(at, mass + 0.01, f"{mass:.2f}", ha="center", fontsize=9)
    above.set(ylabel="mean mass", ylim=(0, 0.62))
    above.legend(frameon=False, loc="upper center")
    for r, item in enumerate(rows):
        for d in range(n):
            face = "0.25" if sets[item, d] else "0.94"
            below.add_patch(Rectangle((d + 0.06, r + 0.08), 0.88, 0.84, facecolor=face))
    names = [found["items"][item].replace("-", " ") for item in rows]
    below.set(xlim=(0, n), ylim=(len(rows), 0))
    below.set_yticks(np.arange(len(rows)) + 0.5, names)
    below.set_xticks(np.arange(n) + 0.5, [f"event {order[d]}" for d in range(n)])
    below.set_title("dark: yea in this event", fontsize=10, loc="left")
    for side in ("left", "bottom"):
        below.spines[side].set_visible(False)
    below.tick_params(length=0)
    return figure


def _senate(figures: dict[str, Any]) -> Figure:
    """A senator's distribution over events, from left to right by ideal point."""
    found = figures["blocs"]["senate"]
    events, sign = _from_left(found, "D")
    along = np.argsort(sign * np.array(found["point"]))
    pmf = np.array(found["pmf"])[along][:, events]
    figure, ax = plt.subplots(figsize=(11, 4.8), layout="constrained")
    bottom = np.zeros(len(pmf))
    for d, event in enumerate(events):
        ax.bar(range(len(pmf)), pmf[:, d], 1.0, bottom, color=FILL[d], label=f"event {event}")
        bottom += pmf[:, d]
    members = [found["members"][k] for k in along]
    named = [k for k, member in enumerate(members) if member in NAMED]
    ax.set_xticks(named, [NAMED[members[k]] for k in named], rotation=90, fontsize=9)
    for k, who in enumerate(along):  # a band in the party's colour
        colour = SIDES.get(found["party"][who], "0.4")
        ax.add_patch(Rectangle((k - 0.5, -0.04), 1.0, 0.03, facecolor=colour))
    ax.set(xlim=(-0.5, len(pmf) - 0.5), ylim=(-0.045, 1), ylabel="mass")
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=3, pad=1)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=len(events), frameon=False)
    return figure


def _from_left(found: dict[str, Any], party: str) -> tuple[list[int], float]:
    """The events by how much more of their mass is with a party; and on which side it stands."""
    ours = np.array(found["party"]) == party
    pmf, point = np.array(found["pmf"]), np.array(found["point"])
    lean = pmf[ours].mean(axis=0) - pmf[~ours].mean(axis=0)
    sign = -np.sign(point[ours].mean() - point[~ours].mean())
    return np.argsort(-lean).tolist(), float(sign)
