"""Commands that look at a model, or turn it into something else: info, report, convert, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eventspace.cli import options
from eventspace.cli.mistakes import say

MODEL = ".eventspace"


def info(
    model: options.Model,
    events: Annotated[
        bool, typer.Option("--events", help="List the events, with the items that tell them.")
    ] = False,
    tags: options.Tags = None,
    titles: options.Titles = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Say what a model is, how well it fits, and how much of it is proved."""
    from eventspace.cli import reading, writing

    known, labels, _ = reading.described(model, titles, tags)
    if events:
        form_ = writing.form_of(output, form, as_json)
        writing.write(writing.columns_of(known.events(labels)), output, form_)
    elif as_json:
        writing.write_json(facts(known), output)
    else:
        typer.echo(known.summary())


def facts(model: Any) -> dict[str, Any]:
    """What a model is, for machines."""
    import math

    from eventspace.cli.learning import CLASSES

    seen = model.observations_
    rmse = math.sqrt(model.error_ / seen.total_weight)
    lo, hi = seen.scale
    n_samples = getattr(model, "n_samples_", 1)
    kinds = {name: kind for kind, name in CLASSES.items()}
    found: dict[str, Any] = {
        "kind": kinds[type(model).__name__],
        "events": model.pmf_.shape[1] // n_samples,
        "samples": n_samples,
        "users": seen.n_users,
        "items": seen.n_items,
        "observed": seen.n_observed,
        "weighted": seen.weighted,
        "scale": [lo, hi],
        "rmse": rmse,
        "rmse_original": rmse * (hi - lo),
    }
    if hasattr(model, "proved_"):
        found |= {"iterations": model.n_iter_, "proved": int(model.proved_.sum())}
    for name in ("converged_", "interrupted_", "held_out_error_", "concentration_"):
        if hasattr(model, name):
            found[name.rstrip("_")] = getattr(model, name)
    return found


def report(
    model: options.Model,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the page; MODEL.html if not said.",
        ),
    ] = None,
    evidence: options.Evidence = None,
    titles: options.Titles = None,
    tags: options.Tags = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Write one self-contained page: events, the order of items, rules, users, fit."""
    from eventspace.cli import reading
    from eventspace.cli.writing import check_output
    from eventspace.report import beside

    path = beside(model) if output is None else output
    check_output(path)
    if path.exists() and model.exists() and path.samefile(model):
        raise ValueError(f"{path} is the model itself: name another place with --output.")
    known = reading.described(model, titles, tags)
    known.model.report(path, known.evidence(evidence), tags=known.tags)
    say(f"written: {path}")
    if show:
        typer.launch(path.resolve().as_uri())


def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A table (- for the standard input) or a model."),
    ],
    output: Annotated[
        str,
        typer.Argument(metavar="OUTPUT", help="A CSV, TSV or Parquet file, or a model; - prints."),
    ],
    part: Annotated[
        Literal["observations", "pmf", "indicators"],
        typer.Option(help="What of a model goes into the table."),
    ] = "observations",
    events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(1, 64),
            help="Of an average: make one model of so many events.",
        ),
    ] = None,
    user: options.User = None,
    item: options.Item = None,
    value: options.Value = None,
    weight: options.Weight = None,
    successes: options.Successes = None,
    trials: options.Trials = None,
    wide: options.Wide = False,
    scale: options.Scale = "auto",
    duplicates: options.Duplicates = "error",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Write a table in another format, a model as tables, or an average as one model.

    A table is read as `fit` reads it, and written with the columns user, item, value (and weight).
    """
    from eventspace.cli import parts, reading, writing

    if events is not None or output.endswith(MODEL):
        writing.check_output(output)
        parts.one_model(reading.model(source), source, events).save(output)
        say(f"written: {output}")
        return
    form_ = writing.form_of(output, form, as_json)
    if parts.is_model(source):
        writing.write(parts.PARTS[part](reading.model(source)), output, form_)
        return
    columns = reading.Columns(user, item, value, weight, successes, trials)
    seen = reading.observations(source, columns, wide, scale, duplicates)
    writing.write(parts.observations(seen), output, form_)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")
    ] = Path("movielens.eventspace"),
    threads: options.Threads = -1,
) -> None:
    """Fit, compare, reason and recommend on MovieLens small, with nothing to prepare."""
    from rich.console import Console

    from eventspace import demo as demonstration
    from eventspace.cli.writing import check_output

    check_output(output)
    demonstration.run(output, Console(), threads or None)
