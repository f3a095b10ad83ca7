"""Training error against iterations: artificial tables and MovieLens 100K; does it ever rise?

python -m reproduction.training_error
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import table
from eventspace import KolmogorovDescent, Observations
from eventspace.baselines import BinaryFactorization, HypercubeModel
from eventspace.engines import engine
from eventspace.fitting.descent import Descent, descend, random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.indicators import SDR, Exact
from eventspace.pmf import Pairwise
from reproduction import figures as pictures
from reproduction import movielens
from reproduction.artificial import PrintedSteps, Rounded, uniform_table
from reproduction.record import Figures, Say, alone

TITLE = "Training error against iterations"
SPLIT = "artificial 20 x 40; u4, training part"

SIZES = (4, 8, 10, 16)
REAL_SIZES = (4, 8, 16, 24)
ITERATIONS = 20
SEEDS, REAL_SEEDS = 10, 3
EXACT, ROUNDED = "exact", "SDR, the better kept"
TAKEN, PRINTED = "SDR, whatever it had", "exact, printed step"
BOTH = "both as printed"
SOLVERS: dict[str, tuple[Any, Any]] = {
    EXACT: (Exact(), Pairwise()),
    ROUNDED: (SDR(), Pairwise()),
    TAKEN: (Rounded(), Pairwise()),
    PRINTED: (Exact(), PrintedSteps()),
    BOTH: (Rounded(), PrintedSteps()),
}
KEPT = (EXACT, ROUNDED)
HALF = float(np.sqrt(1 / 12))  # the RMSE of one half for each chance, where these are uniform
RISE = 1e-9  # of the cost: what rounding may do


def curve(observations: Observations, n_events: int, solvers: str, seed: int, n_iter: int) -> Any:
    """The RMSE after each iteration, without penalties, from a random start."""
    rng = np.random.default_rng(seed)
    start = random_start(observations, n_events, rng)
    costs: list[float] = []

    def keep(now: Descent, pmfs: Any) -> None:
        costs.append(now.error)

    steps = HalfSteps.on(engine("cpu", n_threads=2), *SOLVERS[solvers])
    descend(
        start, observations, steps,
        prior="zero", n_iter=n_iter, tol=-np.inf, rng=rng, on_iteration=keep,
    )  # fmt: skip
    return np.sqrt(np.array(costs) / observations.n_observed)


def curves(
    tables: dict[int, Observations], sizes: tuple[int, ...], names: list[str], n_iter: int, say: Say
) -> list[dict[str, Any]]:
    """One row per size and solver: the mean curve over seeds, and how often it rises."""
    rows = []
    for n_events in sizes:
        for name in names:
            say(f"training error: D = {n_events}, {name}")
            found = np.array(
                [curve(data, n_events, name, seed, n_iter) for seed, data in tables.items()]
            )
            rises = np.diff(found**2, axis=1) / found[:, :-1] ** 2
            rows.append(
                {
                    "D": n_events,
                    "solver": name,
                    "rmse": found.mean(axis=0).tolist(),
                    "spread": float(found[:, -1].std()),
                    "runs": len(found),
                    "steps": int(rises.size),
                    "rises": int((rises > RISE).sum()),
                    "largest rise": float(max(rises.max(), 0.0)),
                }
            )
    return rows


def other_models(tables: dict[int, Observations], sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """The final RMSE of KM, BMF, and NNM from where KM ended and from where it began."""
    rows = []
    for n_events in sizes:
        factorised, model, onwards, same = [], [], [], []
        for seed, data in tables.items():
            settings: dict[str, Any] = {
                "pmf_penalty": 0.0, "n_iter": ITERATIONS, "tol": 0.0, "random_state": seed,
            }  # fmt: skip
            one = KolmogorovDescent(n_events, n_init=1, **settings).fit(data)
            start = (one.pmf_, one.indicators_)
            factorised.append(BinaryFactorization(n_events).fit(data).error_)
            model.append(one.error_)
            onwards.append(HypercubeModel(n_events, init=start, **settings).fit(data).error_)
            same.append(HypercubeModel(n_events, **settings).fit(data).error_)
        n = next(iter(tables.values())).n_observed
        rows.append(
            {
                "D": n_events,
                "BMF": float(np.sqrt(np.array(factorised) / n).mean()),
                "KM": float(np.sqrt(np.array(model) / n).mean()),
                "NNM from KM": float(np.sqrt(np.array(onwards) / n).mean()),
                "NNM, same start": float(np.sqrt(np.array(same) / n).mean()),
                "from KM above": sum(a > b + 1e-9 for a, b in zip(onwards, model, strict=True)),
                "same start above": sum(a > b + 1e-9 for a, b in zip(same, model, strict=True)),
                "runs": len(model),
            }
        )
    return rows


def planted(n_seeds: int) -> dict[str, Any]:
    """How far binary factorisation is from chances that some Kolmogorov model explains."""
    errors = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        chances = rng.dirichlet(np.ones(8), 20) @ (rng.random((40, 8)) < 0.5).T
        model = BinaryFactorization(8).fit(Observations.of(chances, scale=(0, 1)))
        errors.append(float(np.sqrt(model.error_ / chances.size)))
    return {"tables": n_seeds, "largest RMSE": max(errors)}


def measure(quick: bool, say: Say) -> Figures:
    """All curves."""
    sizes, real_sizes = (SIZES[:2], REAL_SIZES[:2]) if quick else (SIZES, REAL_SIZES)
    n_iter, seeds = (8, range(3)) if quick else (ITERATIONS, range(SEEDS))
    train, _ = movielens.split(4)
    real = Observations.of(tuple(train), scale=(0, 5))
    tables = {seed: uniform_table(seed) for seed in seeds}
    fits = dict.fromkeys(range(1 if quick else REAL_SEEDS), real)
    say("training error: other models")
    return {
        "seeds": list(seeds),
        "real_seeds": len(fits),
        "artificial": curves(tables, sizes, list(SOLVERS), n_iter, say),
        "others": other_models(tables, sizes),
        "real_others": other_models(fits, real_sizes[:2]),
        "planted": planted(len(tables)),
        "real": curves(fits, real_sizes, [EXACT, ROUNDED], n_iter, say),
    }


def draw(figures: Figures, folder: Path) -> None:
    """A picture of the artificial tables, one of MovieLens."""
    figure, (left, right) = pictures.axes(2)
    sizes = list(dict.fromkeys(row["D"] for row in figures["artificial"]))
    styles = {EXACT: "-", ROUNDED: "--", BOTH: ":"}
    for ax, rows in ((left, figures["artificial"]), (right, figures["real"])):
        found = list(dict.fromkeys(row["D"] for row in rows))
        for row in (row for row in rows if row["solver"] in styles):
            colour = pictures.COLOURS[found.index(row["D"])]
            label = f"D = {row['D']}" if row["solver"] == EXACT else None
            ax.plot(
                range(1, len(row["rmse"]) + 1), row["rmse"], styles[row["solver"]],
                color=colour, label=label, lw=1.6,
            )  # fmt: skip
        ax.set_xlabel("iteration")
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
    for row in figures["others"]:
        n = len(figures["artificial"][0]["rmse"])
        left.plot([n + 0.8], [row["BMF"]], "D", ms=5, color=pictures.COLOURS[sizes.index(row["D"])])
    left.set_title("artificial, 20 x 40", fontsize=10)
    left.set_ylabel("training RMSE")
    right.set_title("MovieLens 100K, u4", fontsize=10)
    for name, style in styles.items():
        left.plot([], [], style, color=pictures.GREY, label=name)
    left.plot([], [], "D", ms=5, color=pictures.GREY, label="BMF")
    left.legend(frameon=False, fontsize=7.5, ncols=2, loc="lower left")
    right.legend(frameon=False, fontsize=8, loc="lower left")
    pictures.save(figure, folder, "training_error")


def render(figures: Figures) -> str:
    """The section of the page."""
    runs = [row for row in figures["artificial"] + figures["real"] if row["solver"] in KEPT]
    total, steps, rises = (sum(row[k] for row in runs) for k in ("runs", "steps", "rises"))
    artificial = figures["artificial"]
    return f"""There are no penalties, and PMFs start at random. The paper shows these as figures,
without numbers. "Exact" is exhaustive search up to D = 10, and beyond that the sphere decoder, with
proof.

![Training error against iterations](images/reproduction/training_error.png)

Lemma 1: in {total} runs of the descent ({steps} steps from one iteration to the next) the cost
rose {rises} times, because an update is kept only if it does not hurt. Without this safeguard, the
cost rises on the artificial tables:

- with rounded answers, whatever the item had before: in {risen(artificial, TAKEN)};
- with 100 printed steps of Frank-Wolfe, k/(k+1), whatever comes out: in
  {risen(artificial, PRINTED)};
- with both: in {risen(artificial, BOTH)}.

So the step breaks the lemma. With it the training RMSE ends at {final(artificial, PRINTED)}, while
a prediction of one half for every chance has {HALF:.2f}. The authors will hardly have run it as
printed. (If penalties change from one iteration to the next, as in [Table 2](#table-2-as-printed),
the cost changes its meaning too, and the lemma says nothing.)

Artificial tables, chances uniform, U = 20, I = 40, the mean over {len(figures["seeds"])} seeds:

{table(_rows(figures["artificial"]))}

MovieLens 100K, u4's training part, the mean over {figures["real_seeds"]} seed(s):

{table(_rows(figures["real"]))}

The paper says that the relaxation is "indistinguishable" from exhaustive search. This comes out:
its final RMSE is within {apart(artificial, ROUNDED)} of the exact one's if the better of old and
new is kept, and within {apart(artificial, TAKEN)} if not.

The paper also says that "there is a large gap compared to BMF (globally optimal)". BMF is binary
factorisation (Slawski, Hein and Lutsik 2013; the paper cites their algorithm 2, the exact one). It
finds a factorisation without error if there is one, if its PMFs span the hull of its events, and
if few other vertices lie in that hull: on {figures["planted"]["tables"]} tables with eight planted
events, 20 x 40, its largest RMSE is {figures["planted"]["largest RMSE"]:.1e}. A table of
independent uniform chances is not of this kind, and there the gap is the other way round:
{ahead(figures["others"])}.

NNM cannot end above the Kolmogorov model that it starts from, because that model is a point of the
hypercube. From the same random PMFs nothing is guaranteed. The tables show the training RMSE after
{ITERATIONS} iterations, and in how many of the runs NNM is above KM. First the artificial tables:

{table(_others(figures["others"]))}

Then u4's training part, three seeds (BMF with missing entries filled by biases), at two sizes:

{table(_others(figures["real_others"]))}"""


def risen(rows: list[dict[str, Any]], solver: str) -> str:
    """How often the cost rose with a solver, and by how much at most, in words."""
    found = [row for row in rows if row["solver"] == solver]
    rises, steps = (sum(row[k] for row in found) for k in ("rises", "steps"))
    most = max(row["largest rise"] for row in found)
    return f"{rises} of {steps} steps" + (f", by {most:.1%} at most" if rises else "")


def final(rows: list[dict[str, Any]], solver: str) -> str:
    """The least and the greatest final RMSE of a solver."""
    last = [row["rmse"][-1] for row in rows if row["solver"] == solver]
    return f"{min(last):.2f} to {max(last):.2f}"


def apart(rows: list[dict[str, Any]], solver: str) -> str:
    """How far a solver's final RMSE is from the exact one's at most."""
    last = {(row["D"], row["solver"]): row["rmse"][-1] for row in rows}
    sizes = {D for D, _ in last}
    return f"{max(abs(last[D, solver] / last[D, EXACT] - 1) for D in sizes):.1%}"


def ahead(rows: list[dict[str, Any]]) -> str:
    """Where the descent is below binary factorisation, in words."""
    below = [str(row["D"]) for row in rows if row["KM"] < row["BMF"]]
    above = [str(row["D"]) for row in rows if row["KM"] >= row["BMF"]]
    said = [f"the descent is below BMF at D = {', '.join(below)}"] if below else []
    return "; ".join(said + ([f"above it at D = {', '.join(above)}"] if above else []))


def _rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    last = len(rows[0]["rmse"])
    marks = [k for k in (1, 2, 5, 10) if k < last] + [last]
    return [
        {
            "D": row["D"],
            "solver": row["solver"],
            **{f"after {k}": f"{row['rmse'][k - 1]:.4f}" for k in marks},
            "spread": f"{row['spread']:.4f}",
            "rises": f"{row['rises']} of {row['steps']}",
        }
        for row in rows
    ]


def _others(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "D": row["D"],
            **{
                name: f"{row[name]:.4f}" for name in ("KM", "BMF", "NNM from KM", "NNM, same start")
            },
            "from KM above": f"{row['from KM above']} of {row['runs']}",
            "same start above": f"{row['same start above']} of {row['runs']}",
        }
        for row in rows
    ]


if __name__ == "__main__":
    alone(__name__)
