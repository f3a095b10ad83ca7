"""Commands that look at a model, or turn it into something else: info, report, convert, demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eventspace._base.errors import UserError
from eventspace.cli import options
from eventspace.cli.terminal import say

if TYPE_CHECKING:
    from eventspace.fitted import FittedModel

MODEL = ".eventspace"


def info(
    model: options.Model,
    events: Annotated[
        bool, typer.Option("--events", help="List the events, with their most telling items.")
    ] = False,
    tags: options.Tags = None,
    titles: options.Titles = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Say what a model is, how well it fits, and how much of it is proved."""
    from eventspace.cli import inputs, outputs

    if output != "-" and not (events or as_json):
        raise UserError(f"--output {output} needs --events or --json: else a summary is printed.")
    if form is not None and not events:
        raise UserError(f"--format {form} needs --events: else there is no table.")
    if output != "-":
        outputs.check_output(output)
    text = inputs.written(sep, decimal, encoding, header)
    known, labels, _ = inputs.described(model, text, titles, tags)
    if events:
        form_ = outputs.form_of(output, form, as_json)
        outputs.write(dict(known.events(labels)), output, form_)
    elif as_json:
        outputs.write_json(facts(known), output)
    else:
        outputs.echo(known.summary())


def facts(model: FittedModel) -> dict[str, Any]:
    """What a model is, for machines."""
    import math

    from eventspace.cli.learning import CLASSES

    fit, seen = model.record, model.observations
    rmse = math.sqrt(fit.error / seen.total_weight)
    lo, hi = seen.scale
    n_samples = getattr(fit, "n_samples", 1) * getattr(fit, "n_together", 1)
    found: dict[str, Any] = {
        "kind": next(kind for kind, name in CLASSES.items() if name == model.name),
        "events": fit.n_events // n_samples,
        "samples": n_samples,
        "users": seen.n_users,
        "items": seen.n_items,
        "observed": seen.n_observed,
        "weighted": seen.weighted,
        "scale": [lo, hi],
        "rmse": rmse,
        "rmse_original": rmse * (hi - lo),
        "interrupted": fit.interrupted,
    }
    if seen.forgetting is not None:
        found |= seen.forgetting._asdict()
    if hasattr(fit, "proved"):
        found["proved"] = int(fit.proved.sum())
    if hasattr(fit, "n_iter"):
        found["iterations"] = fit.n_iter
    more = ("converged", "held_out_error", "concentration", "expected_rmse", "loss")
    return found | {name: getattr(fit, name) for name in more if hasattr(fit, name)}


def report(
    model: options.Model,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the page: MODEL.html by default, - prints.",
        ),
    ] = None,
    evidence: options.Evidence = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its title; by default the model's name.")
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(metavar="USER", help="Whose PMF and ratings it has; by default many users'."),
    ] = None,
    no_users: Annotated[bool, typer.Option("--no-users", help="Nobody's PMF or ratings.")] = False,
    events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(1, 64),
            help="Of an average: the events of the model that is shown [16].",
        ),
    ] = None,
    restarts: options.Restarts = 0,
    titles: options.Titles = None,
    tags: options.Tags = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Write one self-contained page: events, the order of items, rules, users, fit."""
    from eventspace.cli import inputs
    from eventspace.fitted import FittedAverage
    from eventspace.report import beside

    path = beside(model) if output is None else Path(output)
    _check_page(path, model, show)
    if no_users and user:
        raise UserError(f"--no-users and --user {user[0]}: choose one of them.")
    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, titles, tags)
    ids = known.model.observations.user_ids
    users = [inputs.one_like(id_, ids) for id_ in user or []]
    given: dict[str, Any] = {
        "title": title or beside(model).stem,
        "tags": known.tags,
        "users": users if users or no_users else None,
        "restarts": restarts,
    }
    if events is not None:
        if not isinstance(known.model, FittedAverage):
            raise UserError(f"--events is for an average, and {model} holds one model.")
        given["n_events"] = events
    held_out = known.evidence(evidence, text)
    if output == "-":
        _print_page(known.model, held_out, given)
        return
    known.model.report(path, held_out, **given)
    say(f"written: {path}")
    if show:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def _check_page(path: Path, model: Path, show: bool) -> None:
    from eventspace.cli.outputs import check_output, same_file

    if str(path) == "-":
        if show:
            raise UserError("--open needs a file, and --output - prints.")
        return
    check_output(path)
    if same_file(path, model):
        raise UserError(f"{path} is the model itself: name another place with --output.")


def _print_page(model: Any, held_out: Any, given: dict[str, Any]) -> None:
    import tempfile

    from eventspace.cli.outputs import print_bytes

    with tempfile.TemporaryDirectory() as folder:
        print_bytes(model.report(Path(folder) / "page.html", held_out, **given).read_bytes())


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
        Literal["observations", "pmf", "indicators"] | None,
        typer.Option(help="What of a model goes into the table [observations]."),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(1, 64),
            help="Of an average: make one model with N events.",
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
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Write a table in another format, a model as tables, or an average as one model.

    A table is read as `fit` reads it, and written with the columns user, item, value (and weight).
    """
    from eventspace.cli import conversion, inputs, outputs
    from eventspace.fitted import load

    columns = inputs.Columns(user, item, value, weight, successes, trials)
    of_table = {
        **{f"--{name}": name_ for name, name_ in columns._asdict().items()},
        "--wide": wide or None,
        "--scale": None if scale == "auto" else scale,
        "--duplicates": None if duplicates == "error" else duplicates,
        "--sep": sep,
        "--decimal": decimal,
        "--encoding": encoding,
        "--header or --no-header": header,
    }
    is_model = conversion.is_model(source)
    if is_model:
        _refuse(of_table, f"for a table, and {source} holds a model")
    else:
        _refuse({"--part": part}, f"for a model, and {source} is a table")
    if events is not None or output.endswith(MODEL):
        to_table = {"--part": part, "--format": form, "--json": as_json or None}
        _refuse(to_table, f"for a table, and {output} is to be a model")
        if Path(output).suffix.lower() in outputs.ENDINGS:
            raise UserError(f"--events {events} makes a model, and {output} is a table's name.")
        outputs.check_model_output(output)
        conversion.one_model(load(source), source, events).save(output)
        say(f"written: {output}")
        return
    form_ = outputs.form_of(output, form, as_json)
    if is_model:
        outputs.write(conversion.PARTS[part or "observations"](load(source)), output, form_)
        return
    text = inputs.written(sep, decimal, encoding, header)
    seen = inputs.observations(source, text, columns, wide, scale, duplicates)
    outputs.write(conversion.observations(seen), output, form_)


def _refuse(options_: dict[str, Any], reason: str) -> None:
    """Refuse the first of these options that is given."""
    for name, value in options_.items():
        if value is not None:
            raise UserError(f"{name} is {reason}.")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")
    ] = Path("movielens.eventspace"),
    threads: options.Threads = -1,
) -> None:
    """Fit, compare, reason and recommend on MovieLens small, with nothing to prepare."""
    from rich.console import Console

    from eventspace import demo as demonstration
    from eventspace.cli.outputs import check_model_output

    check_model_output(output)
    demonstration.run(output, Console(), threads)
