"""Pictures of mixtures: proportions, true and estimated, and profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from eventspace.plots.axes import COLOURS


def draw_proportions(
    pictures: dict[str, Any], rmse: dict[str, dict[str, float]], path: Path
) -> None:
    """One row per data set, one column per method, one colour per type; the last row: NNLS."""
    names = list(pictures)
    methods = [name for name in pictures[names[0]] if name not in ("types", "true")]
    figure = Figure(figsize=(11.5, 2.55 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), len(methods), squeeze=False)
    for line, name in zip(grid, names, strict=True):
        shown = pictures[name]
        true = np.loadtxt(shown["true"], ndmin=2)
        for ax, method in zip(line, methods, strict=True):
            ax.spines[["top", "right"]].set_visible(False)
            ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
            ax.set_aspect("equal")
            if name == names[0]:
                ax.set_title(method.replace(", ", ",\n"), fontsize=11)
            if method not in shown:
                ax.set_axis_off()
                continue
            ax.axline((0, 0), slope=1, color="0.75", lw=1, zorder=0)
            for k, estimate in enumerate(np.loadtxt(shown[method], ndmin=2).T):
                ax.plot(true[:, k], estimate, "o", ms=3.6, mew=0, alpha=0.6, color=COLOURS[k],
                        label=shown["types"][k])  # fmt: skip
            ax.text(0.98, 0.04, f"{rmse[name][method]:.3f}", ha="right", fontsize=10, color="0.25")
        line[0 if "NNLS" in shown else 1].set_ylabel("estimated")
        line[-1].legend(
            title=name.replace(", ", ",\n"), loc="center left", bbox_to_anchor=(1.02, 0.5),
            frameon=False, fontsize=9.5, title_fontsize=10.5, handletextpad=0.1, markerscale=1.8,
            alignment="left",
        )  # fmt: skip
    for ax in grid[-2]:
        ax.set_xlabel("true")
    for ax in grid[-1]:
        ax.set_xlabel("by NNLS with the reference")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def draw_profiles(shown: dict[str, Any], path: Path) -> None:
    """Sites x types: the reference, the sets found blind, and where they differ."""
    reference, sets = np.loadtxt(shown["reference"]), np.loadtxt(shown["sets"])
    order = np.lexsort((*reference.T, *reference.round().T))
    reference, sets = reference[order], sets[order]
    panels = (
        ("Reference", reference, "Greys"),
        ("Sets found blind", sets, "Greys"),
        ("Not as the rounded reference", np.abs(sets - reference.round()),
         ListedColormap(["white", COLOURS[5]])),
    )  # fmt: skip
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    for ax, (title, values, colours) in zip(figure.subplots(1, 3), panels, strict=True):
        image = ax.imshow(
            values, aspect="auto", interpolation="none", cmap=colours, vmin=0.0, vmax=1.0
        )
        ax.set_title(title, fontsize=11)
        ax.set_xticks(range(len(shown["types"])), shown["types"], rotation=45, fontsize=9.5)
        ax.set_yticks([])
        if title == "Reference":
            ax.set_ylabel(f"{len(values)} sites", fontsize=10.5)
            figure.colorbar(image, ax=ax, location="left", shrink=0.4, label="methylated")
    figure.savefig(path, dpi=110, metadata={"Software": None})
