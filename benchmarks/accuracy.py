"""How well held-out ratings are predicted, beside tuned peers: MovieLens 100K, u1 to u5, in stars.

Peers choose their options on a tenth of the training part, once per split. Only then is the test
part used. SVD++ is slow to fit, so it is tuned for u1 and keeps its options. The tenth of u1's
training part contains ratings of the other splits' test parts, which can only help SVD++. Our own
estimators choose by themselves, and their seconds include that.

    python -m benchmarks.accuracy
"""

from __future__ import annotations

from benchmarks import data
from benchmarks.comparison import as_json, compare, of, rows, warm_up
from benchmarks.methods import OURS, PEERS, POSTERIOR, SVDPP
from benchmarks.timing import publish, save, table

SPLITS = (1, 2, 3, 4, 5)


def main() -> None:
    """Print and publish the table."""
    methods = PEERS | OURS
    warm_up(methods)
    splits = [f"u{k}" for k in SPLITS]
    tables = ((f"u{k}", data.movielens_100k(k)) for k in SPLITS)
    results = compare(tables, methods, once=(SVDPP,))
    parts = ", ".join(f"{r.covered:.1%}" for r in of(results, method=POSTERIOR))
    text = f"The posterior's 90 % intervals cover {parts} of the ratings of {', '.join(splits)}."
    text = f"{table(rows(results, methods))}\n\n{text}"
    print(text)
    save("accuracy", as_json(results))
    publish("accuracy", text)


if __name__ == "__main__":
    main()
