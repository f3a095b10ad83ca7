"""Methods on tables: options chosen on a tenth of the training part, the test part seen once."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Ratings, generated, random_split
from benchmarks.methods import Floats, Method, Options, Ours
from eventspace.metrics import coverage, rmse

LEVEL = 0.9  # of the intervals


class Result(NamedTuple):
    """How a method did on a table."""

    table: str
    method: str
    options: str  # that were chosen
    error: float
    seconds: float  # of the fit, options chosen before
    core_seconds: float  # the same, of all cores together
    covered: float  # the part of the test values inside of their intervals; NaN without intervals
    in_law: float  # the same for yes and no, see covered_in_law


def tuned(options: Options, train: Ratings) -> str:
    """The options that do best on a tenth of the training part."""
    if len(options) == 1:
        return next(iter(options))
    part, held = random_split(train, 0.9)
    errors = {name: rmse(held.values, fit(part)(held)) for name, fit in options.items()}
    return min(errors, key=errors.__getitem__)


def measured(
    table: str, method: str, options: str, fit: Method, train: Ratings, test: Ratings
) -> Result:
    """Fit, and only then look at the test part."""
    wall, cores = time.perf_counter(), time.process_time()
    fitted = fit(train)
    wall, cores = time.perf_counter() - wall, time.process_time() - cores
    covered = in_law = np.nan
    if isinstance(fitted, Ours):
        options = options or fitted.chosen()
        if hasattr(fitted.model, "predict_interval"):
            ends = fitted.interval(test, LEVEL)
            covered = coverage(test.values, ends["low"], ends["high"])
            in_law = covered_in_law(test.values, ends["mean"].to_numpy())
    error = rmse(test.values, fitted(test))
    result = Result(table, method, options, error, wall, cores, covered, in_law)
    inside = "" if np.isnan(covered) else f", {covered:.1%} covered"
    print(f"{table}  {method}: {error:.4f}, {wall:.1f} s{inside}; {options}", flush=True)
    return result


def covered_in_law(truth: NDArray[Any], p: Floats) -> float:
    """For yes (1) and no (0): how much of the central part of its law the truth takes.

    An interval holds one of the two, both or neither: how many it covers says little. The law has
    a no below 1 - p and a yes above; of the one that came true, the part inside of the central 90 %
    is counted. If the probabilities are right, these are 90 %. NaN for other values.
    """
    if not np.isin(truth, (0, 1)).all():
        return np.nan
    start, end = np.where(truth == 1, 1 - p, 0), np.where(truth == 1, 1, 1 - p)
    tail = (1 - LEVEL) / 2
    inside = np.minimum(end, 1 - tail) - np.maximum(start, tail)
    return float(np.mean(np.maximum(inside, 0) / np.maximum(end - start, 1e-12)))


def warm_up(methods: Mapping[str, Options]) -> None:
    """Import and compile what is needed, so that nobody's seconds contain it."""
    print("warming up", flush=True)
    train, test = random_split(generated(2_000, 100, 80))
    for options in methods.values():
        next(iter(options.values()))(train)(test)


def compare(
    tables: Iterable[tuple[str, tuple[Ratings, Ratings]]],
    methods: Mapping[str, Options],
    once: Collection[str] = (),
) -> list[Result]:
    """Every method on every table; those in ``once`` keep the options chosen for the first."""
    results, chosen = [], {}
    for table, (train, test) in tables:
        for method, options in methods.items():
            if method not in once or method not in chosen:
                chosen[method] = tuned(options, train)
            name = chosen[method]
            results.append(measured(table, method, name, options[name], train, test))
    return results


def of(results: Iterable[Result], **wanted: str) -> list[Result]:
    """The results of one method, of one table, or of both."""
    return [r for r in results if all(getattr(r, k) == v for k, v in wanted.items())]


def rows(results: Sequence[Result], methods: Iterable[str]) -> list[dict[str, object]]:
    """A line for each method: its error on each table, the mean, and the time of a fit."""
    found = []
    for method in methods:
        own = of(results, method=method)
        found.append(
            {
                "RMSE in stars": method,
                **{r.table: f"{r.error:.4f}" for r in own},
                "mean": f"{np.mean([r.error for r in own]):.4f}",
                "fit, s": float(np.median([r.seconds for r in own])),
                "core s": float(np.median([r.core_seconds for r in own])),
            }
        )
    return found


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The results as they are saved."""
    return [
        {name: None if value != value else value for name, value in result._asdict().items()}
        for result in results
    ]
