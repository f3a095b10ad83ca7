"""The settings of an estimator, checked: what is allowed, and the engine that they ask for."""

from __future__ import annotations

import math
import numbers
from typing import Any

from eventspace import indicators, pmf
from eventspace.codes import WORD
from eventspace.engines.cpu import CPU, count_threads
from eventspace.pmf.frank_wolfe import STEPS

PRIORS = ("mean", "zero")


def checked_engine(model: Any) -> CPU:
    """The engine for a model's parameters; a bad one is refused with what is allowed."""
    check_whole("n_events", model.n_events, 1, WORD)
    check_whole("n_iter", model.n_iter, 1)
    if model.n_init != "auto":
        check_whole("n_init", model.n_init, 1)
    check_number("pmf_penalty", model.pmf_penalty)
    check_number("indicator_penalty", model.indicator_penalty)
    check_number("tol", model.tol)
    check_choice("pmf_prior", model.pmf_prior, PRIORS)
    if not _is_whole(model.n_jobs) or model.n_jobs == 0:
        raise ValueError(
            f"n_jobs={model.n_jobs!r} must be a whole number above 0, or -1 for all cores."
        )
    return CPU(
        _solver("indicator_solver", model.indicator_solver, indicators.SOLVERS),
        _checked_step(_solver("pmf_solver", model.pmf_solver, pmf.SOLVERS)),
        float(model.indicator_penalty),
        float(model.pmf_penalty),
        count_threads(int(model.n_jobs)),
    )


def check_choice(name: str, value: Any, allowed: Any) -> None:
    """Refuse a value that is none of the allowed ones."""
    if not any(value is choice or value == choice for choice in allowed):
        raise ValueError(
            f"{name}={value!r} is unknown; allowed are {', '.join(map(repr, allowed))}."
        )


def check_whole(name: str, value: Any, least: int, most: float = math.inf) -> None:
    """Refuse what is no whole number from ``least`` to ``most``."""
    if not _is_whole(value) or not least <= value <= most:
        allowed = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
        raise ValueError(f"{name}={value!r} must be a whole number {allowed}.")


def check_number(name: str, value: Any) -> None:
    """Refuse what is no finite number from zero up."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 0 <= value < math.inf:
        raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _solver(name: str, value: Any, solvers: dict[str, Any]) -> Any:
    """A solver by name, or one that the caller has set up."""
    if isinstance(value, tuple(solvers.values())):
        return value
    check_choice(name, value, solvers)
    return solvers[value]()


def _checked_step(solver: Any) -> Any:
    if isinstance(solver, pmf.FrankWolfe):
        check_choice("step", solver.step, STEPS)
    return solver
