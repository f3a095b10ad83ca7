"""Pictures, by matplotlib (the extra ``plot``): each function draws on given axes or new ones.

It gives the axes back, so that titles, limits and the rest are changed as in any picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from eventspace.metrics import reliability_curve
from eventspace.selection import KolmogorovModelCV

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
_STYLES = ("-", "--", ":", "-.")
_QUIET = "0.6"


def selection_curve(model: KolmogorovModelCV, ax: Axes | None = None) -> Axes:
    """The held-out RMSE against ``pmf_penalty``, in the unit of the table; a ring on the chosen.

    A colour a number of events, a style of line an ``indicator_penalty`` (and ``pmf_prior``, where
    several were tried).
    """
    check_is_fitted(model)
    tried = pd.DataFrame(model.cv_results_)
    if tried["mean_rmse"].isna().all():
        raise ValueError("Nothing could be held out: there is no curve to draw.")
    ax = _axes(ax)
    priors = tried["param_pmf_prior"].nunique()
    events = sorted(set(tried["param_n_events"]))
    kinds = tried.groupby(["param_pmf_prior", "param_indicator_penalty"]).ngroup()
    for _, line in tried.groupby(["param_n_events", kinds]):
        first, n, kind = line.iloc[0], line["param_n_events"].iloc[0], kinds[line.index[0]]
        label = f"{n} events, indicator penalty {first['param_indicator_penalty']:g}"
        line = line.sort_values("param_pmf_penalty")
        ax.plot(
            line["param_pmf_penalty"],
            line["mean_rmse"],
            color=_COLOURS[events.index(n) % len(_COLOURS)],
            linestyle=_STYLES[kind % len(_STYLES)],
            marker=".",
            label=label if priors == 1 else f"{label}, prior {first['param_pmf_prior']}",
        )
    chosen, error = model.best_params_["pmf_penalty"], model.best_rmse_
    ax.plot(
        [chosen],
        [error],
        "ko",
        markersize=12,
        fillstyle="none",
        label=f"chosen: {chosen:g}, RMSE {error:.4g}",
    )
    positive = tried["param_pmf_penalty"][tried["param_pmf_penalty"] > 0]
    if positive.size == len(tried):
        ax.set_xscale("log")
    elif positive.size:
        ax.set_xscale("symlog", linthresh=positive.min())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="pmf_penalty", ylabel="held-out RMSE, in the unit of the table")
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
    """How often it came true where so much was predicted, with the number of entries at each point.

    The points are those of :func:`eventspace.metrics.reliability_curve`, which says what truth,
    prediction, bins and strategy are; on the diagonal predictions are calibrated. Several models
    may be drawn on the same axes, each with its label.
    """
    curve = reliability_curve(truth, prediction, n_bins=n_bins, strategy=strategy)
    ax = _axes(ax, figsize=(5, 5))
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color=_QUIET, linestyle="--", label="calibrated")
    nth = len(ax.lines) - 1
    colour = _COLOURS[nth % len(_COLOURS)]
    label = f"{label}, {curve['count'].sum():,} entries"
    ax.plot(curve["prediction"], curve["truth"], marker="o", color=colour, label=label)
    for x, y, count in curve.itertuples(index=False):
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


def _axes(ax: Axes | None, **figure: Any) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Pictures are drawn by matplotlib: pip install 'eventspace[plot]'."
        ) from None
    return plt.figure(layout="constrained", **figure).add_subplot()
