"""A fitted model in a few lines of text."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np

from eventspace.fitting.settings import indicator_solver

SHOWN = 64  # events: no fit has more


class Summary(str):
    """Text that shows itself as it is, also at a prompt or in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Summarised:
    """An estimator that says what it was fitted to, and in a notebook shows its summary."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        seen = getattr(self, "observations_", None)
        return text if seen is None else f"{text}  # fitted: {seen!r}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown and hasattr(self, "pmf_"):
            shown["text/html"] += f"<pre>{html.escape(self.summary())}</pre>"  # type: ignore[attr-defined]
        return shown


def summarise(model: Any) -> Summary:
    """What was fitted, how well, how much of it is proved, and what the events are like."""
    seen = model.observations_
    n_events = model.pmf_.shape[1]
    n_cells = seen.n_users * seen.n_items
    rmse = math.sqrt(model.error_ / seen.total_weight)
    lo, hi = seen.scale
    rated = seen.by_item.rated
    proved = f"{model.proved_[rated].sum():,} of {rated.sum():,}"
    guarantee = indicator_solver(model).guarantee
    lines = [
        f"Kolmogorov model: {n_events} events, {seen.n_users:,} users, {seen.n_items:,} items",
        f"  observed    {seen.n_observed:,} of {n_cells:,} ({seen.n_observed / n_cells:.1%}), "
        f"scale {lo:g} to {hi:g}",
        f"  fit         RMSE {rmse:.4f} in probability, {rmse * (hi - lo):.4f} in the original "
        "unit, on the training data",
    ]
    descent = [
        f"  descent     {model.n_iter_} iterations, cost {model.history_[-1]:,.4f}"
        + (", interrupted" if model.interrupted_ else "")
        + (", converged" if model.converged_ else ""),
        f"  proved      {proved} items optimal in the last indicator step ({guarantee}), PMFs to a "
        f"gap of {_power_of_ten(float(model.gap_.max()))}",
    ]
    kinds = {"shared": "the same for all items", "one-hot": "of one event each"}
    if model.indicators in kinds:
        lines.append(f"  sets        {kinds[model.indicators]}")
    if model.given_ is not None:
        lines.append(f"  given       {'PMFs' if model.given_ == 'pmf' else 'indicators'}")
    if np.isinf(model.gap_).all():
        lines.append("  learnt      nothing: PMFs and indicators were given")
    elif model.loss_ is None:
        lines += descent
    else:
        lines.append(f"  compressed  predictions {model.loss_:.4f} (RMS) from those of the average")
    lines.append("  event    mass    items")
    sizes = model.indicators_[rated].sum(axis=0)
    mass = model.pmf_mean_
    lines += [f"  {d:>5}  {mass[d]:>6.1%}  {sizes[d]:>7,}" for d in range(min(n_events, SHOWN))]
    if n_events > SHOWN:
        lines.append(f"  {n_events - SHOWN:,} more, of {mass[SHOWN:].sum():.1%} in all")
    return Summary("\n".join(lines))


def _power_of_ten(number: float) -> str:
    """The next power of ten, as an upper bound that rounding does not change."""
    if not 0 < number < math.inf:
        return f"{number:g}"
    return f"1e{math.ceil(math.log10(number)):d}"
