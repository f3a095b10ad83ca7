"""Write docs/rules-on-held-out-users.md from the figures of ``benchmarks.held_out_users``.

python -m benchmarks.held_out_page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from benchmarks.held_out_users import BY_AGREEMENT, CONFIDENCES, LENGTHS, OURS, SPLITS, TABLES
from benchmarks.rule_orders import AGREEMENT, CORRELATION, COUNTED, COUNTED_LOW, MLXTEND
from benchmarks.timing import RESULTS, table
from eventspace.plots.axes import COLOURS

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "rules-on-held-out-users.md", DOCS / "images" / "rules-calibration.svg"
Figures = dict[str, Any]
RIVALS = (COUNTED_LOW, COUNTED, CORRELATION)


def of(figures: Figures, name: str) -> list[Figures]:
    """The splits of a table."""
    return [figures[f"{name}, {seed}"] for seed in SPLITS]


def points(splits: list[Figures], what: str, n: int, order: str) -> float:
    """The mean over the splits."""
    return float(np.mean([split[what][str(n)][order]["points"] for split in splits]))


def ahead(splits: list[Figures], what: str, n: int, order: str) -> tuple[float, float]:
    """The 95 % interval of what ours gains more, over the splits."""
    drawn = [split[what][str(n)][order]["ours is ahead by"] for split in splits]
    low, high = np.quantile(np.mean(drawn, axis=0), (0.025, 0.975))
    return float(low), float(high)


def gain_rows(figures: Figures, n: int) -> list[dict[str, str]]:
    """What the first n rules gain by each order."""
    rows = []
    for name in TABLES:
        splits = of(figures, name)
        orders = [o for o in splits[0]["gain"][str(n)] if o in MLXTEND or o.startswith("arules")]
        rest = [o for o in orders if o not in ("confidence", "lift", "representativity")]
        best = max(rest, key=lambda o: points(splits, "gain", n, o))
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
            row[title] = f"{points(splits, 'gain', n, order):.1f}"
        row["best other"] += f" ({best})"
        row["ahead of counted gain, lower end"] = "[{:+.1f}, {:+.1f}]".format(
            *ahead(splits, "gain", n, COUNTED_LOW)
        )
        row["cases"] = f"{np.mean([s['gain'][str(n)][OURS]['cases'] for s in splits]):,.0f}"
        row["items"] = " / ".join(
            f"{np.mean([s['gain'][str(n)][o]['items'] for s in splits]):.0f}"
            for o in (OURS, COUNTED_LOW)
        )
        rows.append(row)
    return rows


def agreement_rows(figures: Figures) -> list[dict[str, str]]:
    """Agreement beyond what the means say, of lists by agreement and others."""
    rows = []
    for n in LENGTHS:
        for name in TABLES:
            splits = of(figures, name)
            row = {"first": f"{n:,}", "table": name}
            for title, order in (
                ("**eventspace, by agreement_gain**", BY_AGREEMENT),
                (AGREEMENT, AGREEMENT),
                (CORRELATION, CORRELATION),
                ("mlxtend, confidence", "confidence"),
                ("mlxtend, lift", "lift"),
            ):
                row[title] = f"{points(splits, 'agreement', n, order):+.2f}"
            row[f"ahead of {AGREEMENT}"] = "[{:+.2f}, {:+.2f}]".format(
                *ahead(splits, "agreement", n, AGREEMENT)
            )
            rows.append(row)
    return rows


def estimate_rows(figures: Figures) -> list[dict[str, str]]:
    """Log loss and calibration error of P[like then | like if]."""
    rows = []
    for name in TABLES:
        for group, title in (("all", "5 raters or more"), ("few", "5 to 20 raters")):
            found = [split["estimates"][group] for split in of(figures, name)]

            def mean(key: str, found: list[Figures] = found) -> float:
                return float(np.mean([one[key] for one in found]))

            rows.append(
                {
                    "table": name,
                    "pairs with": title,
                    "cases": f"{mean('cases') / 1e6:.1f} M",
                    "base rate": f"{mean('base rate'):.4f}",
                    "counts, best smoothing": f"{mean('counts, best smoothing'):.4f}",
                    "**eventspace**": f"{mean('eventspace'):.4f}",
                    "calibration error: counts": (
                        f"{100 * mean('calibration: counts, best smoothing'):.1f}"
                    ),
                    "calibration error: **eventspace**": (
                        f"{100 * mean('calibration: eventspace'):.1f}"
                    ),
                }
            )
    return rows


def significance_rows(figures: Figures) -> list[dict[str, str]]:
    """What passes the test, and what the others say of it."""
    rows = []
    for name in TABLES:
        for k, n in enumerate((100, 1_000)):
            found = [split["significance"][k] for split in of(figures, name)]
            total = {key: sum(one[key] for one in found) for key in found[0]}
            rows.append(
                {
                    "table": name,
                    "first": f"{n:,}",
                    "rules, three splits": f"{total['rules']:,}",
                    "q < 0.05": str(total["let through"]),
                    "judged by others": str(total["judged"]),
                    "no gain found": str(total["no gain found"]),
                    "of these significant (p < 0.05)": str(total["loss that is significant"]),
                }
            )
    return rows


def calibration_rows(figures: Figures) -> list[dict[str, Any]]:
    """Promised and found, by tenths of confidence."""
    rows = []
    for name in TABLES:
        bins = [one for split in of(figures, name) for one in split["calibration"]]
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
                    "rules, three splits": sum(one["rules"] for one in mine),
                    "cases": f"{cases.sum():,}",
                    "promised": f"{promised:.1%}",
                    "found": f"{found:.1%}",
                    "found less promised, by split": " / ".join(
                        f"{100 * (one['found'] - one['promised']):+.1f}" for one in mine
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
        for split in of(figures, name):
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
    first = [
        f"{points(of(figures, name), 'gain', 100, OURS):.0f} points on {name} "
        f"({points(of(figures, name), 'gain', 100, COUNTED_LOW):.0f} if only counted, "
        f"{points(of(figures, name), 'gain', 100, 'lift'):.0f} by mlxtend's lift)"
        for name in TABLES
    ]
    losses = [
        np.mean([s["estimates"]["all"][key] for name in TABLES for s in of(figures, name)])
        for key in ("base rate", "counts, best smoothing", "eventspace")
    ]
    times = (losses[0] - losses[2]) / (losses[0] - losses[1])
    return (
        "> **Verdict.** Rules hold for users who were never asked. The first hundred gain "
        + ", ".join(first)
        + f". The model as a prior tells {times:.0f} times as much about a pair as its counts do. "
        "Lists of twenty are too short to tell it from counting. What is promised is found, to a "
        "few points; on ML-1M long lists promise more than they hold."
    )


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
Rules are checked on all ratings of the other quarter. There are three splits of each table (seeds
{", ".join(map(str, SPLITS))}; what there was to choose was chosen on other splits, 1 to 3). A
like is four stars or more. ({kept["date"]}, {kept["cores"]} cores, Python {versions["python"]},
eventspace {versions["eventspace"]}, mlxtend {versions.get("mlxtend", "")}.)

A *case* is a rule and an unseen user who rated both films and likes the first. The *gain* is how
much oftener the second is liked in these cases than by all unseen users who rated both, in
points.

## The first rules

Do the rules that come first gain most? Candidates are the pairs that 20 users of the training
part like both. Every order shows one direction of a pair, its better one. *Counted gain* is the
gain among the training users who rated both; its *lower end* is that of a 90 % interval. *Best
other* is the best of the other measures of mlxtend (leverage, conviction, Zhang's metric,
Jaccard, certainty, Kulczynski) and of some of arules (phi, cosine, added value, odds ratio),
chosen on the unseen users, so in its favour. *Correlation alone* is that of the ratings, shrunk.
*Ahead* is the 95 % interval of the difference, in which unseen users are drawn again (1,000
times). *Items* is how many films the rules name, ours and by counting.

{lists}

## Estimates

How well is P[like the second | like the first] known? Log loss over all cases of the unseen
users, and the calibration error: the mean distance between promised and found in twenty bins, in
points. *Counts* are smoothed towards the second film's like rate; the smoothing was chosen on the
unseen users, in its favour.

{table(estimate_rows(figures))}

## Calibration

Of the rules said to hold at 80 to 90 %, how many do? The first 10,000 rules of the default list,
by promised confidence.

![Promised confidence against what was found among unseen users](images/rules-calibration.svg)

{table(calibration_rows(figures))}

## Significance

Half of the unseen users test the first rules (`q_value` below 0.05). The other half judge those
that pass: a rule is judged if at least five of them like the first film. A gain that is not found
may be chance. So the last column counts the losses that are significant by themselves.

{table(significance_rows(figures))}

## By agreement

Ranked by `agreement_gain`: how much oftener the first film gets at most the stars of the second
(ties half) than the values of the two films apart would have it, in points. Candidates are the
pairs that 20 users rated both; mlxtend lists pairs that 20 like both.

{table(agreement_rows(figures))}
"""
    )


if __name__ == "__main__":
    main()
