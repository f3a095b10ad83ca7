"""What accuracy costs: RMSE on u1 against the time of a fit, for more and for longer chains.

The posterior needs no tuning. Options of the peers are chosen on a tenth of the training part
beforehand, which is not part of their time. Core seconds are those of all threads together: ours
use every core, the peers here one. The table also has wall seconds.

    python -m benchmarks.accuracy_time
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import data
from benchmarks.comparison import Result, as_json, compare, measured, of, warm_up
from benchmarks.methods import PEERS, SVDPP, Method, ours
from benchmarks.timing import PAGE, publish, save, table
from eventspace import KolmogorovEnsemble, KolmogorovPosterior

SPLIT = 1
CHAINS = (1, 2, 4, 8, 16)
SWEEPS = ((20, 30), (40, 60), (100, 150), (200, 300))  # warm-up, draws
MODELS = (2, 4, 8, 16)
SHOWN = ("Surprise SVD, tuned", SVDPP, "Cornac MF, tuned")
WANTED = 0.903
FIGURE = PAGE.parent / "images" / "accuracy_time.png"

ENSEMBLE, MORE, LONGER = "ensemble, models", "posterior, chains", "posterior, sweeps"
LOOKS = {  # label, colour (Okabe and Ito's), mark, place of the numbers
    MORE: ("posterior, 1 to 16 chains", "#0072B2", "o", (-9, -12)),
    LONGER: ("posterior of four chains, 50 to 500 sweeps", "#009E73", "s", (12, 6)),
    ENSEMBLE: ("ensemble, 2 to 16 models", "#D55E00", "^", (10, 6)),
}
GREY = "0.35"


def variants() -> dict[str, dict[str, Method]]:
    """Our estimators at several prices, by kind and by the number that varies."""
    return {
        MORE: {str(n): ours(KolmogorovPosterior, n_chains=n) for n in CHAINS},
        LONGER: {
            str(warmup + draws): ours(
                KolmogorovPosterior, n_chains=4, n_warmup=warmup, n_draws=draws
            )
            for warmup, draws in SWEEPS
        },
        ENSEMBLE: {str(n): ours(KolmogorovEnsemble, n_models=n) for n in MODELS},
    }


def figure(peers: list[Result], results: list[Result], path: Path = FIGURE) -> None:
    """Draw the curves, the peers as points, and what is asked for as lines."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    for kind, (label, colour, mark, place) in LOOKS.items():
        found = of(results, method=kind)
        x, y = [r.core_seconds for r in found], [r.error for r in found]
        ax.plot(x, y, color=colour, marker=mark, label=label)
        for r in found:
            ax.annotate(r.options, (r.core_seconds, r.error), place, textcoords="offset points",
                        color=colour, fontsize=9, ha="center")  # fmt: skip
    for r in peers:
        ax.plot(r.core_seconds, r.error, "D", color=GREY)
        ax.annotate(r.method.removesuffix(", tuned"), (r.core_seconds, r.error), (8, 3),
                    textcoords="offset points", color=GREY)  # fmt: skip
    ax.set(xscale="log", xlabel="fit, core seconds", ylabel=f"RMSE on u{SPLIT}, stars")
    low, high = ax.get_ylim()
    slow, bottom = of(peers, method=SVDPP)[0].core_seconds, min(WANTED, low) - 0.07 * (high - low)
    ax.set(xlim=(ax.get_xlim()[0] / 1.5, 1.3 * max(3 * slow, *(r.core_seconds for r in results))),
           ylim=(bottom, None))  # fmt: skip
    for limit, name, times in (
        (min(r.error for r in peers), "best peer, while SVD++ fits", 1),
        (WANTED, f"{WANTED}, within three times that", 3),
    ):
        ax.plot([ax.get_xlim()[0], times * slow, times * slow], [limit, limit, bottom],
                "--", color=GREY, linewidth=1)  # fmt: skip
        ax.annotate(name, (ax.get_xlim()[0], limit), (4, -11), textcoords="offset points",
                    color=GREY, fontsize=9)  # fmt: skip
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(frameon=False, loc="upper right")
    ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def verdict(peers: list[Result], results: list[Result]) -> str:
    """The cheapest of ours that is below the best peer, and below what is wanted."""
    slow, best = of(peers, method=SVDPP)[0].core_seconds, min(peers, key=lambda r: r.error)
    lines = [
        f"SVD++ takes {slow:.0f} core s; {best.method} is the best peer, {best.error:.4f} stars."
    ]
    for limit, name in ((best.error, "Below it"), (WANTED, f"At {WANTED} or below")):
        good = [r for r in results if r.error < limit or r.error <= limit == WANTED]
        if good:
            first = min(good, key=lambda r: r.core_seconds)
            lines.append(
                f"{name} first: {first.method} {first.options}, {first.error:.4f} after "
                f"{first.core_seconds:.0f} core s, {first.core_seconds / slow:.1f} times SVD++'s."
            )
        else:
            lines.append(f"{name}: none of ours.")
    return " ".join(lines)


def main() -> None:
    """Print and publish the table and the figure."""
    train, test = data.movielens_100k(SPLIT)
    name = f"u{SPLIT}"
    chosen = {method: PEERS[method] for method in SHOWN}
    warm_up(chosen | variants())
    peers = compare([(name, (train, test))], chosen)
    results = [
        measured(name, kind, number, fit, train, test)
        for kind, fits in variants().items()
        for number, fit in fits.items()
    ]
    rows = [
        {
            "on u1": r.method if r in peers else f"{r.method}: {r.options}",
            "RMSE, stars": f"{r.error:.4f}",
            "fit, s": r.seconds,
            "core s": r.core_seconds,
        }
        for r in peers + results
    ]
    figure(peers, results)
    text = (
        f"{table(rows)}\n\n{verdict(peers, results)}\n\n![RMSE against time](images/{FIGURE.name})"
    )
    print(text)
    save("accuracy_time", as_json(peers + results))
    publish("accuracy_time", text)


if __name__ == "__main__":
    main()
