"""How well a model fits: its descent, what was proved, predictions against what was observed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eventspace._base.types import Floats
from eventspace.data.observations import Observations
from eventspace.fitting.settings import indicator_solver
from eventspace.metrics import reliability_curve, rmse
from eventspace.report import budget

BINS = 10  # of the calibration
CELLS = 20  # of what is predicted and of what is observed


def fit_of(model: Any, held_out: Observations | None) -> dict[str, Any]:
    """Plain values for the page."""
    seen, fit = model.observations, model.record
    rated = seen.by_item.rated
    parts = {"training data": _compared(model, seen)}
    if held_out is not None:
        parts["held-out data"] = _compared(model, held_out)
    return {
        **_how(fit, model.settings),
        "proved": int(fit.proved[rated].sum()),
        "rated": int(rated.sum()),
        "parts": parts,
        "parameters": {name: str(value) for name, value in vars(model.settings).items()},
    }


def _how(fit: Any, settings: Any) -> dict[str, Any]:
    """How it was learnt: by a descent to the data, or compressed from an average."""
    if hasattr(fit, "loss"):
        repeats = bool(np.isfinite(fit.same_bits).all())
        return {
            "history": [],
            "loss": fit.loss,
            "expected": fit.expected_rmse,
            "effective": float(fit.effective_events.mean()),
            "same_bits": float(fit.same_bits.mean()) if repeats else None,
            "same_pmf": float(fit.same_pmf.mean()) if repeats else None,
        }
    gap = float(fit.gap.max(initial=0.0))
    return {
        "gap": gap if math.isfinite(gap) else None,
        "history": [float(f"{cost:.8g}") for cost in fit.history.tolist()],
        "converged": bool(fit.converged),
        "interrupted": bool(fit.interrupted),
        "guarantee": indicator_solver(settings).guarantee,
        "loss": None,
    }


def _compared(model: Any, table: Observations) -> dict[str, Any]:
    """What was predicted of a table's entries beside what is observed, in probability.

    Entries of users whom the model does not know have no part in this, unless there are no others.
    """
    known = model.observations
    u, i, value = table.coo()
    if table is not known:
        u = known.user_ids.positions(table.user_ids.values)[u]
        i = known.item_ids.positions(table.item_ids.values)[i]
        value = np.clip(known.to_unit(table.from_unit(value)), 0, 1)
        if (u >= 0).any():
            u, i, value = u[u >= 0], i[u >= 0], value[u >= 0]
    n_entries = len(value)
    if n_entries > budget.ENTRIES:
        some = np.random.default_rng(0).choice(n_entries, budget.ENTRIES, replace=False)
        u, i, value = u[some], i[some], value[some]
    truth = np.asarray(value, dtype=np.float64)
    predicted = np.clip(model.predict_positions(u, i), 0, 1)
    curve = reliability_curve(truth, predicted, n_bins=BINS)
    error = rmse(truth, predicted)
    return {
        "entries": n_entries,
        "used": len(truth),
        "rmse": error,
        "rmse_in_unit": error * (known.scale[1] - known.scale[0]),
        "prediction": curve["prediction"].round(4).tolist(),
        "truth": curve["truth"].round(4).tolist(),
        "count": curve["count"].tolist(),
        **_cells(truth, predicted),
    }


def _cells(truth: Floats, predicted: Floats) -> dict[str, Any]:
    """How many entries have each observed value (or part of the scale) and part predicted."""
    values = np.unique(truth)
    if len(values) <= CELLS:
        row = np.searchsorted(values, truth)
    else:
        row = np.minimum((truth * CELLS).astype(np.int64), CELLS - 1)
        values = (np.arange(CELLS) + 0.5) / CELLS
    column = np.minimum((predicted * CELLS).astype(np.int64), CELLS - 1)
    counts = np.bincount(row * CELLS + column, minlength=len(values) * CELLS)
    return {
        "observed": np.round(values, 4).tolist(),
        "cells": counts.reshape(len(values), CELLS).tolist(),
    }
