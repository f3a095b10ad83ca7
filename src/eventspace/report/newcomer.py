"""What a browser needs to solve for someone who rates in the page, as ``transform`` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventspace._base.types import Floats
from eventspace.pmf import Pairwise

CHOICES = 11  # different values that can be offered side by side


def newcomer_of(model: Any) -> dict[str, Any]:
    """The quadratic of a user without ratings, x'Gx - 2h'x; where to start, and when to stop.

    All numbers are complete: the browser takes the steps that Python takes, from the same start.
    ``more`` is what a rating counts more than a missing one, which may say no.
    """
    G, h = _expected(model)
    missing = model.observations.missing
    if missing:
        psi = model.record.indicators.astype(np.float64)
        G = G + missing * psi.T @ psi
    own = getattr(model.settings, "pmf_solver", None)
    solver = own if isinstance(own, Pairwise) else Pairwise()
    return {
        "G": G.tolist(),
        "h": h.tolist(),
        "more": 1.0 - missing,
        "start": model.record.pmf_mean.tolist(),
        "tol": solver.tol,
        "steps": solver.max_steps,
        "values": _offered(model.observations),
    }


def _expected(model: Any) -> tuple[Floats, Floats]:
    """Of a compressed model what is expected of a user, of a descent its penalty."""
    fit, settings = model.record, model.settings
    if hasattr(fit, "expected_user"):
        return fit.expected_user  # type: ignore[no-any-return]
    penalty = float(settings.pmf_penalty)
    centre = fit.pmf_mean if settings.pmf_prior == "mean" else np.zeros(fit.n_events)
    return penalty * np.eye(fit.n_events), penalty * centre


def _offered(seen: Any) -> list[float]:
    """The values that ratings have, with both ends of the scale; none if they are many."""
    p = np.union1d(seen.by_user.value, [0.0, 1.0])
    return [] if len(p) > CHOICES else [float(f"{v:.6g}") for v in seen.from_unit(p).tolist()]
