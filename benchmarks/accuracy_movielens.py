"""The same on the other MovieLens tables: latest-small and 1M, four fifths to learn from.

SVD++ is left out: a fit takes minutes on these tables, and tuning over an hour. The choice of a
single model is left out for the same reason. On 1M the posterior has four chains, not eight.

    python -m benchmarks.accuracy_movielens
"""

from __future__ import annotations

from benchmarks import data
from benchmarks.comparison import as_json, compare, of, warm_up
from benchmarks.methods import OURS, PEERS, POSTERIOR, SINGLE, SVDPP, ours
from benchmarks.timing import publish, save, table
from eventspace import KolmogorovPosterior

SMALL, LARGE = "latest-small", "ML-1M"


def main() -> None:
    """Print and publish the table."""
    left_out = (SVDPP, SINGLE)
    methods = {name: options for name, options in (PEERS | OURS).items() if name not in left_out}
    warm_up(methods)
    results = compare([(SMALL, data.random_split(data.movielens_small()))], methods)
    quick = methods | {POSTERIOR: {"": ours(KolmogorovPosterior, n_chains=4)}}
    results += compare([(LARGE, data.random_split(data.movielens_1m()))], quick)
    rows = []
    for method in methods:
        row: dict[str, object] = {"RMSE in stars": method}
        for name in (SMALL, LARGE):
            found = of(results, method=method, table=name)
            row[name] = f"{found[0].error:.4f}" if found else "-"
            row[f"{name}, fit, core s"] = found[0].core_seconds if found else "-"
        rows.append(row)
    parts = " and ".join(f"{r.covered:.1%}" for r in of(results, method=POSTERIOR))
    text = f"{table(rows)}\n\nThe posterior's 90 % intervals cover {parts} of the ratings."
    print(text)
    save("accuracy_movielens", as_json(results))
    publish("accuracy_movielens", text)


if __name__ == "__main__":
    main()
