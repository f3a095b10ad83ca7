"""Curves: how a fit came about, and whether its predictions hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eventspace._base.errors import UserTypeError
from eventspace.metrics import reliability_curve
from eventspace.plots.axes import COLOURS, QUIET, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKED = 60  # iterations up to which each has its dot


def descent(model: Any, ax: Axes | None = None, *, label: str = "cost") -> Axes:
    """The cost after each iteration of a fit: it never rises.

    Several models may be drawn on the same axes, each with its label.
    """
    check_is_fitted(model)
    if not hasattr(model, "history_"):
        raise UserTypeError(
            f"A {type(model).__name__} is no descent: its diagnostics() say how the chains ran."
            if hasattr(model, "diagnostics")
            else f"A {type(model).__name__} has no single descent: draw those of single models."
        )
    cost = np.asarray(model.history_)
    ax = axes_of(ax)
    ax.plot(
        np.arange(1, len(cost) + 1),
        cost,
        marker="." if len(cost) <= MARKED else "",
        color=COLOURS[len(ax.lines) % len(COLOURS)],
        label=f"{label}: {cost[-1]:,.4g} after {len(cost)} iterations",
    )
    ax.locator_params(axis="x", integer=True)
    ax.set(xlabel="iteration", ylabel="cost")
    ax.legend(frameon=False, fontsize="small")
    return ax


def calibration(
    truth: Any,
    prediction: Any,
    ax: Axes | None = None,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    label: str = "predictions",
) -> Axes:
    """How often predictions came true. On the diagonal they are calibrated.

    The points are those of :func:`eventspace.metrics.reliability_curve`, which explains truth,
    prediction, bins and strategy. Bins of equal width ("uniform") show their number of entries;
    quantile bins all have about the same. Several models may be drawn on the same axes, each with
    its label.
    """
    curve = reliability_curve(truth, prediction, n_bins=n_bins, strategy=strategy)
    ax = axes_of(ax, figsize=(5, 5))
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color=QUIET, linestyle="--", label="calibrated")
    nth = len(ax.lines) - 1
    colour = COLOURS[nth % len(COLOURS)]
    label = f"{label}, {curve['count'].sum():,} entries"
    ax.plot(curve["prediction"], curve["truth"], marker="o", color=colour, label=label)
    for x, y, count in curve.itertuples(index=False) if strategy == "uniform" else ():
        ax.annotate(
            f"{count:,}",
            (x, y),
            (8, -12) if nth % 2 == 0 else (-8, 7),  # a second curve's on the other side
            textcoords="offset points",
            ha="center",
            fontsize="x-small",
            color=colour,
        )
    ax.set(xlabel="predicted probability", ylabel="came true", aspect="equal")
    ax.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.06))
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return ax
