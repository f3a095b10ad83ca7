"""Draw the pictures that explain the model: ``python -m docs.pictures`` writes docs/images.

Pictures of fitted models are drawn by the pages themselves: see docs/fill.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from docs.fill import IMAGES
from eventspace import KolmogorovDescent
from eventspace.plots.axes import COLOURS

EMPTY, INK, QUIET = "#F1F1F1", "#222222", "#777777"
DARK = (COLOURS[0], COLOURS[2])  # on which text is white
NAN = float("nan")
STARS = pd.DataFrame(  # the table of the README
    {
        "Alien": [5, 4, 1, 2, NAN],
        "Aliens": [5, 5, 2, NAN, 1],
        "Heat": [2, NAN, 4, 5, 5],
        "Fargo": [1, 2, NAN, 4, 5],
        "Jaws": [5, 5, 4, 5, 5],
    },
    index=["ann", "bob", "cat", "dan", "eve"],
)


def main() -> None:
    """Draw them all."""
    mpl.rcParams.update({"svg.hashsalt": "eventspace", "font.size": 11, "text.color": INK})
    model = KolmogorovDescent(n_events=3, pmf_penalty=0.1, random_state=0).fit(STARS)
    for picture in (overview, strips, inclusion, query):
        _save(picture.__name__, picture(model))
    _save("average", average())


def overview(model: KolmogorovDescent) -> Figure:
    """From a table with holes to distributions and sets."""
    figure, (table, users, items) = plt.subplots(
        1, 3, figsize=(11, 3.7), width_ratios=[1.15, 1.25, 1], layout="constrained"
    )
    for ax in (table, users, items):
        ax.set_axis_off()
    table.set(xlim=(-0.9, 5), ylim=(5.1, -0.9))
    table.set_title("a table of chances, with holes", fontsize=12)
    for c, film in enumerate(STARS.columns):
        table.text(c + 0.5, -0.2, film, ha="center", fontsize=10)
        for r, user in enumerate(STARS.index):
            value = STARS[film][user]
            face = EMPTY if np.isnan(value) else plt.get_cmap("Blues")(0.05 + 0.11 * value)
            table.add_patch(Rectangle((c + 0.03, r + 0.03), 0.94, 0.94, facecolor=face))
            shown = "?" if np.isnan(value) else f"{value:g}"
            colour = "white" if value > 4 else INK
            table.text(c + 0.5, r + 0.53, shown, ha="center", va="center", color=colour)
    for r, user in enumerate(STARS.index):
        table.text(-0.1, r + 0.53, user, ha="right", va="center")
        _strip(users, r + 0.5, model.pmf_[r], height=0.62)
        users.text(-0.02, r + 0.53, user, ha="right", va="center")
    users.set(xlim=(-0.16, 1.02), ylim=(5.1, -0.9))
    users.set_title("for every user, a distribution over events", fontsize=12)
    items.set(xlim=(-1.7, 3), ylim=(5.1, -0.9))
    items.set_title("for every item, a set of them", fontsize=12)
    for r, film in enumerate(STARS.columns):
        items.text(-0.1, r + 0.53, film, ha="right", va="center")
        for d in range(3):
            inside = model.indicators_[r, d]
            face = COLOURS[d] if inside else EMPTY
            items.plot(d + 0.5, r + 0.5, "o", color=face, markersize=19)
    for d in range(3):
        items.text(d + 0.5, -0.2, f"event {d}", ha="center", fontsize=9)
    return figure


def strips(model: KolmogorovDescent) -> Figure:
    """The strip of two users, and where on it each film comes true."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
    for ax, user in zip(axes, ("bob", "cat"), strict=True):
        pmf = model.pmf_[STARS.index.get_loc(user)]
        ax.set(xlim=(-0.17, 1.13), ylim=(5.7, -0.75))
        ax.set_axis_off()
        ax.text(-0.03, 0, user, ha="right", va="center", fontsize=13, weight="bold")
        _strip(ax, 0, pmf, height=0.7, names=True)
        for edge in np.cumsum(pmf)[:-1]:
            ax.plot([edge, edge], [0.35, 5.4], color=QUIET, linewidth=0.7, linestyle=":", zorder=0)
        for r, film in enumerate(STARS.columns):
            y = r + 1.15
            inside = model.indicators_[r]
            _strip(ax, y, pmf, inside, height=0.6)
            ax.text(-0.03, y, film, ha="right", va="center")
            ax.text(1.02, y, f"{pmf @ inside:.0%}", va="center")
    return figure


def inclusion(model: KolmogorovDescent) -> Figure:
    """Fargo lies inside Heat on everybody's strip; Alien does not."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
    cases = (
        ("Fargo", "Heat", "Fargo implies Heat: it lies inside on every strip"),
        ("Alien", "Heat", "Alien does not imply Heat: it sticks out"),
    )
    for ax, (inner, outer, title) in zip(axes, cases, strict=True):
        ax.set(xlim=(-0.1, 1.02), ylim=(4.9, -0.6))
        ax.set_axis_off()
        ax.set_title(title, fontsize=12)
        low, high = (model.indicators_[STARS.columns.get_loc(film)] for film in (inner, outer))
        for r, user in enumerate(STARS.index):
            ax.text(-0.02, r, user, ha="right", va="center")
            _strip(ax, r, model.pmf_[r], high, height=0.66, colours=["#BFD9EA"] * 3)
            _strip(ax, r, model.pmf_[r], low, height=0.26, colours=["#003F66"] * 3, empty="none")
        ax.text(0.0, 4.72, f"wide: {outer}     narrow: {inner}", color=QUIET, fontsize=10)
    return figure


def query(model: KolmogorovDescent) -> Figure:
    """Boolean expressions are sets as well."""
    figure, ax = plt.subplots(figsize=(7.5, 2.9), layout="constrained")
    pmf = model.pmf_[STARS.index.get_loc("bob")]
    alien, heat = (model.indicators_[STARS.columns.get_loc(film)] for film in ("Alien", "Heat"))
    both, one = alien & heat, alien & ~heat
    rows = {"Alien": alien, "Heat": heat, "Alien & Heat": both, "Alien & ~Heat": one}
    ax.set(xlim=(-0.24, 1.1), ylim=(4.7, -0.5))
    ax.set_axis_off()
    _strip(ax, 0, pmf, height=0.7, names=True)
    ax.text(-0.02, 0, "bob", ha="right", va="center", weight="bold")
    for r, (name, inside) in enumerate(rows.items()):
        _strip(ax, r + 1.1, pmf, inside, height=0.6)
        ax.text(-0.02, r + 1.1, name, ha="right", va="center")
        ax.text(1.02, r + 1.1, f"{pmf @ inside:.0%}", va="center")
    return figure


def average() -> Figure:
    """Two models of one user and one item, and their mean: one strip, cut and joined."""
    models = [([0.5, 0.3, 0.2], [1, 0, 1]), ([0.6, 0.4], [1, 0])]
    colours = [COLOURS[:3], COLOURS[3:5]]
    figure, ax = plt.subplots(figsize=(10, 2.9), layout="constrained")
    ax.set(xlim=(-0.02, 2.42), ylim=(3.1, -0.85))
    ax.set_axis_off()
    beginnings, middle = (0.0, 1.3), 0.65
    for k, (pmf, inside) in enumerate(models):
        left = beginnings[k]
        _strip(ax, 0, pmf, inside, height=0.6, colours=colours[k], names=True, left=left)
        ax.text(left, -0.5, f"model {'AB'[k]}")
        ax.text(left + 1.02, 0, f"{np.dot(pmf, inside):.0%}", va="center")
        for end in (0, 1):
            below = middle + (k + end) / 2
            ax.plot([left + end, below], [0.35, 1.8], color=QUIET, linewidth=0.8, linestyle=":")
    pmf = [p / 2 for part, _ in models for p in part]
    inside = [bit for _, bits in models for bit in bits]
    shades = [colour for both in colours for colour in both]
    _strip(ax, 2.1, pmf, inside, height=0.6, colours=shades, left=middle)
    ax.text(middle - 0.02, 2.1, "the average", ha="right", va="center", weight="bold")
    ax.text(middle + 1.02, 2.1, f"{np.dot(pmf, inside):.0%}", va="center", weight="bold")
    says = "each half as wide, side by side: one strip of five events, so one model"
    ax.text(middle + 0.5, 2.75, says, ha="center", va="center", color=QUIET, fontsize=10)
    return figure


def _strip(
    ax: Axes,
    y: float,
    pmf: Any,
    inside: Any = None,
    *,
    height: float,
    colours: Sequence[str] = COLOURS,
    empty: str = EMPTY,
    names: bool = False,
    left: float = 0.0,
) -> None:
    """A strip of length one, cut into events; those outside of a set are empty."""
    for d, width in enumerate(pmf):
        face = colours[d] if inside is None or inside[d] else empty
        edge = "none" if face == "none" else "white"
        corner = (left, y - height / 2)
        ax.add_patch(Rectangle(corner, width, height, facecolor=face, edgecolor=edge, linewidth=1))
        if names and width > 0.15:
            ink = "white" if face in DARK else INK
            at = left + width / 2
            name = ax.text(at, y, f"event {d}", color=ink, ha="center", fontsize=9)
            name.set_verticalalignment("center_baseline")
        left += width


def _save(name: str, figure: Figure) -> None:
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12)  # type: ignore[union-attr, call-arg]
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    main()
