"""Curves: how a fit came about, and whether its predictions hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eventspace._base.errors import UserTypeError
from eventspace.data.observations import Observations
from eventspace.metrics import reliability_curve, rmse
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
            f"A {type(model).__name__} is no descent: its diagnostics() say more."
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


def reading_cost(
    average: Any,
    X: Any = None,
    ax: Axes | None = None,
    *,
    n_events: Sequence[int] = (2, 4, 8, 16, 24, 32),
) -> Axes:
    """What reading costs: the RMSE of one model against its number of events.

    ``average`` is a fitted posterior or ensemble, and its own RMSE is the line below. On the table
    ``X`` of held-out ratings the RMSE is counted; without one it is the one that is expected.
    """
    fitted = getattr(average, "fitted_", average)  # a file holds no estimator
    if not hasattr(fitted, "to_model"):
        raise UserTypeError(
            f"A {type(average).__name__} is one model already: this picture is of an average, such "
            "as a KolmogorovPosterior."
        )
    models = [fitted.to_model(n) for n in n_events]
    lo, hi = fitted.observations.scale
    if X is None:
        errors = [model.expected_rmse * (hi - lo) for model in models]
        least, what = models[-1].average_rmse * (hi - lo), "expected RMSE"
    else:
        errors, least = [_rmse_on(X, model) for model in models], _rmse_on(X, fitted)
        what = "RMSE on held-out ratings"
    ax = axes_of(ax)
    ax.plot(n_events, errors, marker="o", color=COLOURS[0], label="one model")
    for n, error in zip(n_events, errors, strict=True):
        ax.annotate(
            f"{error:.3f}", (n, error), (0, 7), textcoords="offset points", fontsize="x-small"
        )
    ax.axhline(least, color=QUIET, linestyle="--", label=f"the average: {least:.3f}")
    ax.set(
        xlabel="events", ylabel=f"{what}, on the scale from {lo:g} to {hi:g}", xticks=list(n_events)
    )
    ax.margins(x=0.08)
    ax.legend(frameon=False, fontsize="small")
    return ax


def _rmse_on(X: Any, model: Any) -> float:
    """Of predictions for the entries of a table; the population stands in for unknown ids."""
    table, known = Observations.of(X), model.observations
    u, i, p = table.coo()
    users = known.user_ids.positions(table.user_ids.values)[u]
    items = known.item_ids.positions(table.item_ids.values)[i]
    predicted = known.from_unit(model.predict_positions(users, items))
    return rmse(table.from_unit(p), predicted)


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
