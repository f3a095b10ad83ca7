"""Write docs/rules-on-held-out-users.md from the figures of ``benchmarks.held_out_users``.

python -m benchmarks.held_out_page
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import beta

from benchmarks.held_out_split import SPLITS, TABLES
from benchmarks.held_out_users import BY_AGREEMENT, CONFIDENCES, LENGTHS, OURS
from benchmarks.rule_orders import AGREEMENT, CORRELATION, COUNTED, COUNTED_LOW, MLXTEND
from benchmarks.timing import RESULTS, table
from eventspace.plots.axes import COLOURS

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "rules-on-held-out-users.md", DOCS / "images" / "rules-calibration.svg"
Figures = dict[str, Any]
# What a reader finds in the list of the first twenty
READ = """\
Read one by one: fifteen are parts of a series, and the other five pair films for one audience
(Wild Wild West and Lost in Space, Iron Eagle and Lethal Weapon 3). There is none to doubt. Each
gains among the unseen users, and 17 have q < 0.05. But anybody would have guessed most of them:
for news, ask for the rules of one film (`item=`), or read further down."""


def points(figures: Figures, what: str, n: int, order: str) -> float:
    """The mean over the splits of a table."""
    return mean(figures, lambda split: split[what][str(n)][order]["points"])


def mean(figures: Figures, of: Callable[[Figures], float]) -> float:
    """A figure, over the splits of a table."""
    return float(np.mean([of(split) for split in figures["splits"]]))


def ahead(figures: Figures, what: str, n: int, order: str) -> str:
    """The interval of what ours gains more."""
    return "[{:+.1f}, {:+.1f}]".format(*figures["ahead"][what][str(n)][order])


def gain_rows(figures: Figures, n: int) -> list[dict[str, str]]:
    """What the first n rules gain by each order."""
    rows = []
    for name in TABLES:
        one = figures[name]
        orders = [o for o in one["ahead"]["gain"][str(n)] if o in MLXTEND or o.startswith("arules")]
        rest = [o for o in orders if o not in ("confidence", "lift", "representativity")]
        best = max(rest, key=lambda o: points(one, "gain", n, o))
        row = {"first": f"{n:,}", "table": name}
        for title, order in (
            ("**eventspace**", OURS),
            (COUNTED_LOW, COUNTED_LOW),
            (COUNTED, COUNTED),
            ("mlxtend, confidence", "confidence"),
            ("mlxtend, lift", "lift"),
            ("best other", best),
            (CORRELATION, CORRELATION),
        ):
            row[title] = f"{points(one, 'gain', n, order):.1f}"
        row["best other"] += f" ({best})"
        row["ahead of counted gain, lower end"] = ahead(one, "gain", n, COUNTED_LOW)
        row["ahead of lift"] = ahead(one, "gain", n, "lift")
        lists = [split["gain"][str(n)] for split in one["splits"]]
        row["cases"] = f"{np.mean([orders[OURS]['cases'] for orders in lists]):,.0f}"
        row["items"] = " / ".join(
            f"{np.mean([orders[o]['items'] for orders in lists]):.0f}" for o in (OURS, COUNTED_LOW)
        )
        rows.append(row)
    return rows


def agreement_rows(figures: Figures) -> list[dict[str, str]]:
    """Agreement beyond what the means say, of lists by agreement and others."""
    rows = []
    for n in LENGTHS:
        for name in TABLES:
            one = figures[name]
            row = {"first": f"{n:,}", "table": name}
            for title, order in (
                ("**eventspace, by agreement_gain**", BY_AGREEMENT),
                (AGREEMENT, AGREEMENT),
                (COUNTED_LOW, COUNTED_LOW),
                (CORRELATION, CORRELATION),
                ("mlxtend, confidence", "confidence"),
                ("mlxtend, lift", "lift"),
            ):
                row[title] = f"{points(one, 'agreement', n, order):+.1f}"
            for order in (AGREEMENT, COUNTED_LOW):
                row[f"ahead of {order}"] = ahead(one, "agreement", n, order)
            rows.append(row)
    return rows


def estimate_rows(figures: Figures) -> list[dict[str, str]]:
    """Log loss and calibration error of P[like then | like if]."""
    rows = []
    for name in TABLES:
        for group, title in (("all", "5 raters or more"), ("few", "5 to 20 raters")):
            found = [split["estimates"][group] for split in figures[name]["splits"]]
            ours, counts = "eventspace", "counts, best smoothing"
            better = sum(one[ours] < one[counts] for one in found)

            def over_splits(key: str, found: list[Figures] = found) -> float:
                return float(np.mean([one[key] for one in found]))

            rows.append(
                {
                    "table": name,
                    "pairs with": title,
                    "cases": f"{over_splits('cases') / 1e6:.1f} M",
                    "base rate": f"{over_splits('base rate'):.4f}",
                    "counts, best smoothing": f"{over_splits(counts):.4f}",
                    "**eventspace**": f"{over_splits(ours):.4f}",
                    "better on": f"{better} of {len(found)} splits",
                    "calibration error: counts": (
                        f"{100 * over_splits('calibration: counts, best smoothing'):.1f} "
                        f"({100 * over_splits('calibration: counts, smoothed for it'):.1f})"
                    ),
                    "calibration error: **eventspace**": (
                        f"{100 * over_splits('calibration: eventspace'):.1f}"
                    ),
                }
            )
    return rows


def significance_rows(figures: Figures) -> list[dict[str, str]]:
    """What passes the test, and what the others say of it."""
    rows = []
    for name in TABLES:
        for one in figures[name]["significance"]:
            none, judged = one["no gain found"], one["judged"]
            low, high = (beta.ppf(x, none + 0.5, judged - none + 0.5) for x in (0.025, 0.975))
            rows.append(
                {
                    "table": name,
                    "first": f"{one['first']:,}, by {one['sort']}",
                    "rules, all splits": f"{one['rules']:,}",
                    "q < 0.05": str(one["let through"]),
                    "judged by others": str(judged),
                    "no gain found": f"{none}",
                    "in percent": f"{100 * none / max(judged, 1):.1f} "
                    f"[{100 * low:.1f}, {100 * high:.1f}]",
                    "significant losses (p < 0.05)": str(one["significant losses"]),
                }
            )
    return rows


def calibration_rows(figures: Figures) -> list[dict[str, Any]]:
    """Promised and found, by tenths of confidence."""
    rows = []
    for name in TABLES:
        bins = [one for split in figures[name]["splits"] for one in split["calibration"]]
        for low in CONFIDENCES[:-1]:
            mine = [one for one in bins if abs(one["low"] - low) < 1e-6]
            if not mine:
                continue
            cases = np.array([one["cases"] for one in mine])
            promised, found = (
                float(np.average([one[key] for one in mine], weights=cases))
                for key in ("promised", "found")
            )
            rows.append(
                {
                    "table": name,
                    "said to hold at": f"{100 * low:.0f} to {100 * low + 10:.0f} %",
                    "rules, all splits": sum(one["rules"] for one in mine),
                    "cases": f"{cases.sum():,}",
                    "promised": f"{promised:.1%}",
                    "found": f"{found:.1%}",
                    "found less promised": f"{100 * (found - promised):+.1f}",
                    "splits": "{:+.1f} to {:+.1f}".format(
                        *np.quantile([100 * (x["found"] - x["promised"]) for x in mine], (0, 1))
                    ),
                }
            )
    return rows


def draw(figures: Figures) -> None:
    """Promised against found confidence."""
    mpl.rcParams.update({"svg.hashsalt": "eventspace", "font.size": 11})
    figure, axes = plt.subplots(
        1, len(TABLES), figsize=(11, 3.8), layout="constrained", sharey=True
    )
    for name, ax, colour in zip(TABLES, axes, COLOURS, strict=False):
        ax.plot([0.3, 1], [0.3, 1], color="#777777", linestyle=":", linewidth=1)
        for split in figures[name]["splits"]:
            bins = split["calibration"]
            x, y = [one["promised"] for one in bins], [one["found"] for one in bins]
            size = [12 * np.log10(1 + one["cases"]) for one in bins]
            ax.plot(x, y, color=colour, linewidth=1, alpha=0.6)
            ax.scatter(x, y, size, color=colour)
        ax.set(title=name, xlabel="promised confidence", xlim=(0.3, 1), ylim=(0.3, 1))
    axes[0].set_ylabel("found among unseen users")
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)


def verdict(figures: Figures) -> str:
    """The page's first lines."""

    def gains(n: int, order: str) -> str:
        return ", ".join(f"{points(figures[name], 'gain', n, order):.0f}" for name in TABLES)

    bins = [one for name in TABLES for s in figures[name]["splits"] for one in s["calibration"]]
    mine = [one for one in bins if abs(one["low"] - 0.8) < 1e-6]
    promised, found = (
        np.average([one[key] for one in mine], weights=[one["cases"] for one in mine])
        for key in ("promised", "found")
    )
    every = [split["estimates"]["all"] for name in TABLES for split in figures[name]["splits"]]
    base, counts, ours = (
        np.mean([one[key] for one in every])
        for key in ("base rate", "counts, best smoothing", "eventspace")
    )
    return f"""\
> **Verdict.** Rules hold for users who were never asked.
> On {", ".join(TABLES)}, the first 1,000 rules gain {gains(1_000, OURS)} points among unseen users;
> ordered by counted gain {gains(1_000, COUNTED_LOW)}, by mlxtend's lift {gains(1_000, "lift")}.
> What is promised is found: rules said to hold at 80 to 90 % ({promised:.1%}) hold at {found:.1%}.
> The model tells {(base - ours) / (base - counts):.1f} times as much about a pair as its counts do.
> Lists of twenty are too short to tell one order from another."""


def listed_rows() -> list[dict[str, Any]]:
    """The first rules of MovieLens 1M, by name."""
    rules = json.loads((RESULTS / "first_rules.json").read_text())["figures"]
    return [
        {
            "users who like": rule["if_item"],
            "also like": rule["then_item"],
            "said": f"{rule['confidence']:.0%} "
            f"[{rule['confidence_low']:.0%}, {rule['confidence_high']:.0%}]",
            "of all": f"{rule['base']:.0%}",
            "like both": rule["like_both"],
            "kind": rule["kind"],
            "unseen who like the first": rule["held_out_like_if"],
            "of them, like the second": f"{rule['held_out_confidence']:.0%}",
            "of all unseen": f"{rule['held_out_base']:.0%}",
            "q": "< 0.001" if rule["q_value"] < 0.001 else f"{rule['q_value']:.3f}",
        }
        for rule in rules
    ]


def main() -> None:
    """Write the page and the picture."""
    kept = json.loads((RESULTS / "held_out_users.json").read_text())
    figures, versions = kept["figures"], kept["versions"]
    draw(figures)
    lists = "\n\n".join(table(gain_rows(figures, n)) for n in LENGTHS)
    PAGE.write_text(
        f"""# Rules on held-out users

{verdict(figures)}

`python -m benchmarks.held_out_users` measures, and `python -m benchmarks.held_out_page` writes
this page. A `KolmogorovModel` is fitted on three quarters of the users with all its defaults.
Rules are checked on all ratings of the other quarter. Few users judge: on the small tables one
user with two thousand ratings moves every figure. So there are {len(SPLITS["ML-100K"])} splits of
ML-100K and of latest-small, and {len(SPLITS["ML-1M"])} of ML-1M (seeds from 11 on; what there was
to choose was chosen on other splits, 1 to 8). Figures are means over the splits. A like is four
stars or more. ({kept["date"]}, {kept["cores"]} cores, Python {versions["python"]},
eventspace {versions["eventspace"]}, mlxtend {versions.get("mlxtend", "")}.)

A *case* is a rule and an unseen user who rated both films and likes the first. The *gain* is the
share of cases in which the second is liked, less its share among all unseen users who rated both,
in points.

## The first rules

Do the rules that come first gain most? Candidates are the pairs that 20 users of the training
part like both. Every order shows one direction of a pair, its better one. *Counted gain* is the
gain among the training users who rated both; its *lower end* is that of a 90 % interval. *Best
other* is the best of the other measures of mlxtend (leverage, conviction, Zhang's metric,
Jaccard, certainty, Kulczynski) and of some of arules (phi, cosine, added value, odds ratio),
chosen on the unseen users, so in its favour. *Correlation alone* is that of the ratings, shrunk.
*Ahead* is the 95 % interval of the difference, in which users are drawn again (1,000 times, the
same for all splits). *Items* is how many films the rules name, ours and by counting.

{lists}

## Estimates

How well is P[like the second | like the first] known? Log loss over all cases of the unseen
users, and the calibration error: the mean distance between promised and found in twenty bins, in
points. *Counts* are smoothed towards the second film's like rate; the smoothing was chosen on the
unseen users, in its favour: for the log loss, and in brackets once more for the calibration error
alone.

{table(estimate_rows(figures))}

## Calibration

Of the rules said to hold at 80 to 90 %, how many do? The first 10,000 rules of the default list,
by promised confidence.

![Promised confidence against what was found among unseen users](images/rules-calibration.svg)

{table(calibration_rows(figures))}

## Significance

Here a third of the users teach, a third test the first rules (`q_value` below 0.05), and a third
judge those that pass: a rule is judged if at least five of them like the first film. A gain that
is not found may be chance, for the judges are few. So the last column counts the losses that are
significant by themselves. The interval is Jeffreys', as if rules were independent. Benjamini and
Yekutieli's correction is strict: it holds for tests that depend on each other in any way, and lets
few rules through where few users test.

{table(significance_rows(figures))}

## The first twenty of ML-1M

`python -m benchmarks.first_rules`: three quarters of the users teach, the others say what they
like.

{table(listed_rows())}

{READ}

## By agreement

Ranked by `agreement_gain`. Agreement is how often the first film gets at most the stars of the
second (ties half). The gain is how much more often it does than the two films apart would have it,
in points. Candidates are the
pairs that 20 users rated both; mlxtend lists pairs that 20 like both.

{table(agreement_rows(figures))}
"""
    )


if __name__ == "__main__":
    main()
