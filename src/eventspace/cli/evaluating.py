"""The command that compares: evaluate."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import typer

from eventspace.cli import options
from eventspace.cli.learning import CLASSES, Kind, made


def _kinds(text: Any) -> list[Kind]:
    """Kinds of models, as a list with commas."""
    kinds = [word.strip() for word in str(text).split(",")]
    for word in kinds:
        if word not in CLASSES:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(CLASSES)}.")
    return cast("list[Kind]", kinds)


def evaluate(
    table: options.Table,
    kind: Annotated[
        Any,
        typer.Option(
            metavar="KIND,...",
            parser=_kinds,
            help=f"Our models, to compare with the baselines: {', '.join(CLASSES)}.",
        ),
    ] = "model",
    events: Annotated[
        Any,
        typer.Option(
            metavar="N|auto",
            parser=options.whole_or_auto(1, 64),
            help="Elementary events of our models, as for fit.",
        ),
    ] = None,
    test_size: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            parser=options.real(0, 1, inside=True),
            help="The share of the entries that is held out: 0.2.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(2),
            help="So many folds instead, each of which is held out once.",
        ),
    ] = None,
    by: Annotated[
        Literal["entries", "time"],
        typer.Option(help="Hold out random entries, or the latest of each user."),
    ] = "entries",
    time: options.Time = None,
    like: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="The least value that is a like; else the least above the mean."
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            metavar="N", parser=options.whole(1), help="How many recommendations are judged."
        ),
    ] = 10,
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    user: options.User = None,
    item: options.Item = None,
    value: options.Value = None,
    weight: options.Weight = None,
    successes: options.Successes = None,
    trials: options.Trials = None,
    wide: options.Wide = False,
    scale: options.Scale = "auto",
    duplicates: options.Duplicates = "error",
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Compare our models with baselines on ratings that are held out."""
    from eventspace.cli import inputs, outputs

    form_ = outputs.form_of(output, form, as_json)
    models = {
        CLASSES[one]: made(one, {"n_events": events}, random_state=seed, n_jobs=threads)
        for one in kind
    }
    from eventspace.evaluation import evaluate, rivals

    columns = inputs.Columns(user, item, value, weight, successes, trials)
    text = inputs.written(sep, decimal, encoding, header)
    seen = inputs.observations(table, text, columns, wide, scale, duplicates)
    times: Any = time
    if by == "time":
        times = inputs.times(table, text, columns, wide, time, seen)
    found = evaluate(
        seen,
        {**models, **rivals(seed, threads)},
        cv=folds,
        test_size=test_size,
        by=by,
        time=times,
        like=like,
        n=top,
        random_state=seed,
    )
    outputs.write({name: found[name].tolist() for name in found.columns}, output, form_, _shown)


def _shown(columns: Any) -> Any:
    """One row per model: the means over the folds, and below them the standard deviations."""
    import numpy as np
    from rich.table import Table

    names = [name for name in columns if name not in ("model", "fold")]
    shown = Table("model", caption="coverage: of intervals of 90 %; seconds: of the fit")
    for name in names:
        shown.add_column(name, justify="right")
    models = np.array(columns["model"])
    for model in dict.fromkeys(columns["model"]):
        values = [np.array(columns[name], dtype=np.float64)[models == model] for name in names]
        digits = [1 if name == "seconds" else 3 for name in names]
        shown.add_row(model, *map(_cell, values, digits))
    return shown


def _cell(values: Any, digits: int) -> str:
    """A mean with a few digits, and the standard deviation if there are several values."""
    import numpy as np

    if np.isnan(values).any():
        return ""
    spread = f"\n± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"
