"""The paper's toy example: two users, two films, three events (section 2.2).

python -m reproduction.toy
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import table
from eventspace import KolmogorovDescent, Observations
from reproduction.record import Figures, Say, alone

TITLE = "The toy example"
SPLIT = "the paper's 2 x 2 table"
SEEDS = 200

CHANCES = np.array([[0.3, 0.5], [0.1, 0.2]])
PMF = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
INDICATORS = np.array([[0, 1, 0], [1, 1, 0]])  # films x events
EXACT = 1e-3  # of an entry: the pmf step is solved to a gap, not to the last digit


def measure(quick: bool, say: Say) -> Figures:
    """The paper's factorisation, ours, and how many random starts end at an error of zero."""
    say("toy example")
    chances = Observations.of(CHANCES, scale=(0, 1))
    n_starts = 20 if quick else SEEDS
    rmse = []
    for seed in range(n_starts):
        fit = KolmogorovDescent(3, pmf_penalty=0.0, n_init=1, random_state=seed).fit(chances)
        rmse.append(float(np.sqrt(fit.error_ / CHANCES.size)))
    best = KolmogorovDescent(3, pmf_penalty=0.0, random_state=0).fit(chances)
    paper = KolmogorovDescent.from_parts(PMF, INDICATORS, chances)
    one, two = paper.event(0), paper.event(1)
    return {
        "seeds": list(range(n_starts)),
        "paper_rmse": float(np.sqrt(np.mean(np.square(PMF @ INDICATORS.T - CHANCES)))),
        "pmf": best.pmf_.round(3).tolist(),
        "indicators": best.indicators_.astype(int).tolist(),
        "rmse": float(np.sqrt(best.error_ / CHANCES.size)),
        "starts": n_starts,
        "starts_at_zero": sum(error < EXACT for error in rmse),
        "worst_start": max(rmse),
        "two_given_one": [float(two.given(one).probability(u)) for u in (0, 1)],
        "one_given_two": [float(one.given(two).probability(u)) for u in (0, 1)],
    }


def render(figures: Figures) -> str:
    """The section of the page."""
    parts = [
        {
            "": name,
            "theta_1": _vector(pmf[0]),
            "theta_2": _vector(pmf[1]),
            "psi_1": _vector(psi[0]),
            "psi_2": _vector(psi[1]),
            "RMSE": f"{rmse:.4f}",
        }
        for name, pmf, psi, rmse in (
            ("paper", PMF.tolist(), INDICATORS.tolist(), figures["paper_rmse"]),
            ("ours", figures["pmf"], figures["indicators"], figures["rmse"]),
        )
    ]
    chances = [
        {
            "user": u + 1,
            "P[likes 2, given likes 1]": f"{figures['two_given_one'][u]:.2f}",
            "P[likes 1, given likes 2]": f"{figures['one_given_two'][u]:.2f}",
        }
        for u in (0, 1)
    ]
    nested = bool(np.all(np.array(figures["indicators"][0]) <= figures["indicators"][1]))
    return f"""The table ((0.3, 0.5), (0.1, 0.2)) is written as PMFs and sets of three events. The
solution is not unique: events may be renumbered, and other sets fit equally well. In the paper's
solution the set of film 1 lies inside the set of film 2, in ours
{"it does too" if nested else "it does not"}. So a rule that one fit proves need not be proved by
the next.

{table(parts)}

Of {figures["starts"]} random starts, {figures["starts_at_zero"]} end without error. The worst ends
at an RMSE of {figures["worst_start"]:.3f}, a local optimum. That is why small tables get ten
starts by default. With the paper's sets, the chances of one film given the other are
([errata](errata.md)):

{table(chances)}"""


def _vector(values: list[float]) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"


if __name__ == "__main__":
    alone(__name__)
