"""How good models are on entries that were held out: fit, predict, rank, and compare."""

from __future__ import annotations

from eventspace.evaluation.comparison import evaluate, rivals

__all__ = ["evaluate", "rivals"]
