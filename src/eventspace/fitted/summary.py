"""A fitted model in a few lines of text."""

from __future__ import annotations

import math

import numpy as np

from eventspace.data.observations import Observations
from eventspace.fitted.fit import CompressedFit, DescentFit, EnsembleFit, Fit, PosteriorFit
from eventspace.fitting.restarts import TRIAL_MODELS
from eventspace.fitting.settings import DescentSettings, indicator_solver
from eventspace.sampling.diagnostics import effective_size, split_rhat

SHOWN = 64  # events: no fit has more


class Summary(str):
    """Text that shows itself as it is, also at a prompt or in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def summary_of_model(fit: DescentFit, settings: DescentSettings) -> Summary:
    """What was fitted, how well, how much of it is proved, and what the events are like."""
    rated = fit.observations.by_item.rated
    proved = f"{fit.proved[rated].sum():,} of {rated.sum():,}"
    guarantee = indicator_solver(settings).guarantee
    lines = _head(fit)
    descent = [
        f"  descent     {fit.n_iter} iterations, cost {fit.history[-1]:,.4f}"
        + _end(fit)
        + (", converged" if fit.converged else ""),
        f"  proved      {proved} items optimal in the last indicator step ({guarantee}), PMFs to a "
        f"gap of {_power_of_ten(float(fit.gap.max()))}",
    ]
    kinds = {"shared": "the same for all items", "one-hot": "of one event each"}
    if settings.indicators in kinds:
        lines.append(f"  sets        {kinds[settings.indicators]}")
    if fit.given is not None:
        lines.append(f"  given       {'PMFs' if fit.given == 'pmf' else 'indicators'}")
    if fit.of_given_parts:
        lines.append("  learnt      nothing: PMFs and indicators were given")
    else:
        lines += descent
    return Summary("\n".join([*lines, *_events(fit)]))


def summary_of_compressed(fit: CompressedFit) -> Summary:
    """What was fitted, how well, how much of it is proved, and how far it repeats itself."""
    lo, hi = fit.observations.scale
    rated = fit.observations.by_item.rated
    expected = f"RMSE {fit.expected_rmse:.4f} in probability, {fit.expected_rmse * (hi - lo):.4f}"
    lines = [
        *_head(fit),
        f"  expected    {expected} in the original unit, on new ratings of these users and items",
        f"  compressed  predictions {fit.loss:.4f} (RMS) from those of the average{_end(fit)}",
        f"  proved      {fit.proved[rated].sum():,} of {rated.sum():,} items optimal, given the "
        "PMFs",
        f"  readable    {fit.effective_events.mean():.1f} events for a user, in effect",
    ]
    if np.isfinite(fit.same_bits).all():
        lines.append(
            f"  repeats     {fit.same_bits.mean():.0%} of bits, PMFs correlate "
            f"{fit.same_pmf.mean():.2f} between halves of the chains"
        )
    return Summary("\n".join([*lines, *_events(fit)]))


def _head(fit: Fit) -> list[str]:
    seen = fit.observations
    n_cells = seen.n_users * seen.n_items
    return [
        f"Kolmogorov model: {fit.n_events} events, {seen.n_users:,} users, {seen.n_items:,} items",
        f"  observed    {seen.n_observed:,} of {n_cells:,} ({seen.n_observed / n_cells:.1%}), "
        f"{_scale(seen)}",
        f"  fit         {_rmse(fit)}",
    ]


def _events(fit: Fit) -> list[str]:
    sizes, mass = fit.indicators[fit.observations.by_item.rated].sum(axis=0), fit.pmf_mean
    n_events = fit.n_events
    lines = [f"  {d:>5}  {mass[d]:>6.1%}  {sizes[d]:>7,}" for d in range(min(n_events, SHOWN))]
    if n_events > SHOWN:
        lines.append(f"  {n_events - SHOWN:,} more, of {mass[SHOWN:].sum():.1%} in all")
    return ["  event    mass    items", *lines]


def summary_of_posterior(fit: PosteriorFit) -> Summary:
    """What was drawn, how well it fits, and whether the chains agree."""
    seen, (chains, draws) = fit.observations, fit.cost.shape
    rhat, size = split_rhat(fit.watched), effective_size(fit.watched)
    n_draws = fit.n_samples * fit.n_together
    weighed = f", {fit.n_together} together weighed by the users" if fit.n_together > 1 else ""
    return Summary(
        f"Posterior of Kolmogorov models: {n_draws} draws of {fit.n_events // n_draws} events, "
        f"{seen.n_users:,} users, {seen.n_items:,} items\n"
        f"  observed     {seen.n_observed:,}, {_scale(seen)}\n"
        f"  fit          {_rmse(fit)}\n"
        f"  PMFs         concentration {fit.concentration:.1f} around their centres\n"
        f"  noise        {np.median(fit.noise):.3f}, a user's median standard deviation\n"
        f"  chains       {chains} of {draws} draws{weighed}{_end(fit)}\n"
        f"  predictions  R-hat {np.median(rhat):.2f} (worst 5 %: "
        f"{np.quantile(rhat, 0.95, method='higher'):.2f}), worth {np.median(size):,.0f} "
        "independent draws"
    )


def summary_of_ensemble(fit: EnsembleFit) -> Summary:
    """What was fitted, how well, and how well it predicts."""
    seen = fit.observations
    return Summary(
        f"Ensemble of Kolmogorov models: {fit.n_samples} models of "
        f"{fit.n_events // fit.n_samples} events, {seen.n_users:,} users, {seen.n_items:,} items\n"
        f"  observed   {seen.n_observed:,}, {_scale(seen)}\n"
        f"  fit        {_rmse(fit)}\n"
        f"  held out   {_held_out(fit)}\n"
        f"  noise      {np.median(fit.noise):.3f}, a user's median standard deviation\n"
        f"  penalties  {fit.pmf_penalty:g} on PMFs, {fit.indicator_penalty:g} on indicators"
        + _end(fit)
    )


def _held_out(fit: EnsembleFit) -> str:
    if math.isnan(fit.held_out_error):
        return "nothing: no entry can be spared"
    rmse = f"RMSE {fit.held_out_error:.4f} in the original unit"
    return f"{rmse}, on a tenth, with {TRIAL_MODELS} models"


def _end(fit: CompressedFit | DescentFit | EnsembleFit | PosteriorFit) -> str:
    return ", interrupted" if fit.interrupted else ""


def _scale(seen: Observations) -> str:
    return f"scale {seen.scale[0]:g} to {seen.scale[1]:g}{seen.others}{seen.fading}"


def _rmse(fit: Fit) -> str:
    rmse, (lo, hi) = math.sqrt(fit.error / fit.observations.total_weight), fit.observations.scale
    return (
        f"RMSE {rmse:.4f} in probability, {rmse * (hi - lo):.4f} in the original unit, on the "
        "training data"
    )


def _power_of_ten(number: float) -> str:
    """The next power of ten, as an upper bound that rounding does not change."""
    if not 0 < number < math.inf:
        return f"{number:g}"
    return f"1e{math.ceil(math.log10(number)):d}"
