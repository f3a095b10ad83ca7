"""Shapes that MovieLens does not have: dense, tiny, continuous, few ratings per user, votes, links.

All methods have their defaults, except SVD, which is tuned (including its rank) on a tenth of the
training part. RMSE is in the unit of the table, stars or probability. Five tiny tables are drawn,
and means are shown.

    python -m benchmarks.accuracy_shapes
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.comparison import Result, as_json, compare, of, warm_up
from benchmarks.methods import BIAS, OURS, POSTERIOR, SINGLE, grid, surprise
from benchmarks.shapes import GENERATED, REAL, Shape
from benchmarks.timing import publish, save, table

METHODS = {
    "bias": BIAS,
    "SVD, tuned": grid(
        partial(surprise, "SVD"),
        n_factors=(8, 24), lr_all=(0.005, 0.01), reg_all=(0.02, 0.05, 0.1), n_epochs=(40,),
    ),
    **{name: options for name, options in OURS.items() if name != SINGLE},
}  # fmt: skip


def on_shape(shape: Shape) -> list[Result]:
    """Every method on every table of this shape."""
    return compare(((shape.name, shape.split(k)) for k in range(shape.n_tables)), METHODS)


def row(shape: Shape, results: list[Result]) -> dict[str, object]:
    """A line of the table: means over the tables of this shape."""
    posterior = of(results, method=POSTERIOR)
    in_law = _mean(posterior, "in_law")
    return {
        "RMSE": shape.name,
        **{
            method.removeprefix("eventspace, "): f"{_mean(of(results, method=method), 'error'):.4f}"
            for method in METHODS
        },
        "posterior's 90 % cover": f"{_mean(posterior, 'covered'):.1%}",
        "yes or no: of the law": "-" if in_law != in_law else f"{in_law:.1%}",
        "its fit, core s": _mean(posterior, "core_seconds"),
    }


def _mean(results: list[Result], what: str) -> float:
    return float(np.mean([getattr(result, what) for result in results]))


def main() -> None:
    """Print and publish the table."""
    warm_up(METHODS)
    results, rows = [], []
    for shape in GENERATED + REAL:
        found = on_shape(shape)
        results += found
        rows.append(row(shape, found))
    print(table(rows))
    save("accuracy_shapes", as_json(results))
    publish("accuracy_shapes", table(rows))


if __name__ == "__main__":
    main()
