"""The command that learns: fit."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eventspace._base.errors import UserError
from eventspace.cli import interrupts, options
from eventspace.cli.mistakes import OPTIONS
from eventspace.cli.terminal import say

Kind = Literal["model", "posterior", "ensemble", "descent"]
CLASSES = {
    "model": "KolmogorovModel",
    "posterior": "KolmogorovPosterior",
    "ensemble": "KolmogorovEnsemble",
    "descent": "KolmogorovDescent",
}


def fit(
    table: options.Table,
    output: options.ModelOutput,
    kind: Annotated[
        Kind,
        typer.Option(
            help="One model to read, an average that predicts a little better, or the paper's "
            "descent."
        ),
    ] = "model",
    events: Annotated[
        Any,
        typer.Option(
            metavar="N|auto",
            parser=options.whole_or_auto(1, 64),
            help="Elementary events: 16, posterior 24, descent 8; auto for a model.",
        ),
    ] = None,
    penalty: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            parser=options.real(0),
            help="How strongly PMFs are drawn to the mean, in ratings.",
        ),
    ] = None,
    indicator_penalty: Annotated[
        float | None,
        typer.Option(
            metavar="X", parser=options.real(0), help="The cost of each event in an item's set."
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(metavar="N", parser=options.whole(1), help="The most iterations.")
    ] = None,
    chains: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(1, 128),
            help="Chains: 6, posterior 8, small tables 24.",
        ),
    ] = None,
    models: Annotated[
        int | None,
        typer.Option(metavar="N", parser=options.whole(1), help="Models of an ensemble."),
    ] = None,
    meets: Annotated[
        bool | None,
        typer.Option(
            "--meets/--no-meets",
            help="Learn who meets what, by which recommend ranks [yes, for model and posterior].",
        ),
    ] = None,
    user_attributes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Numbers of users: a column of ids first."),
    ] = None,
    item_attributes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Numbers of items: a column of ids first.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep there how far the fit is: killed, the same command goes on.",
        ),
    ] = None,
    seed: options.Seed = 0,
    engine: options.Engine = "auto",
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
    missing: options.Missing = "unknown",
    time: options.Time = None,
    half_life: options.HalfLife = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    as_json: options.Json = False,
) -> None:
    """Learn a model from a table of ratings."""
    from eventspace.cli import inputs
    from eventspace.cli.looking import facts
    from eventspace.cli.outputs import check_model_output, echo, write_json

    check_model_output(output, table)
    parameters = {
        "n_events": events,
        "pmf_penalty": penalty,
        "indicator_penalty": indicator_penalty,
        "n_iter": iterations,
        "n_chains": chains,
        "n_models": models,
        "meets": meets,
    }
    model = made(kind, parameters, random_state=seed, n_jobs=threads, engine=engine)
    attributes = {
        name: path
        for name, path in (
            ("user_attributes", user_attributes),
            ("item_attributes", item_attributes),
        )
        if path is not None
    }
    if attributes and kind not in ("model", "posterior"):
        option = OPTIONS[next(iter(attributes))]
        raise UserError(f"{option} is not for --kind {kind}, but for model or posterior.")
    if checkpoint is not None and kind == "ensemble":
        raise UserError("--checkpoint is not for --kind ensemble, but for the others.")
    if checkpoint is not None and checkpoint.resolve() in (output.resolve(), table.resolve()):
        raise UserError(f"--checkpoint {checkpoint} is the table or the model: name another file.")
    columns = inputs.Columns(user, item, value, weight, successes, trials)
    text = inputs.written(sep, decimal, encoding, header)
    seen = inputs.observations(
        table, text, columns, wide, scale, duplicates, missing, time, half_life
    )
    ids = {"user_attributes": seen.user_ids, "item_attributes": seen.item_ids}
    tables = {name: inputs.attributes(path, text, ids[name]) for name, path in attributes.items()}
    kept = {} if checkpoint is None else {"checkpoint": checkpoint}
    try:
        model.fit(seen, **tables, **kept)
    except KeyboardInterrupt as error:
        if checkpoint is None:
            raise
        interrupts.hold(error)
        say(f"interrupted: no model yet; the same command goes on from what {checkpoint} keeps")
        raise typer.Exit(interrupts.exit_code()) from None
    model.save(output)
    if as_json:
        write_json(facts(model.fitted_))
    else:
        echo(model.summary())
        if engine != "auto" or not model.engine_.startswith("cpu"):
            say(f"learnt on {model.engine_}")
        say(f"written: {output}")
    if getattr(model, "interrupted_", False):
        if checkpoint is not None:
            say("the same command goes on from here")
        raise typer.Exit(interrupts.exit_code())
    if checkpoint is not None:
        for path in (checkpoint, Path(f"{checkpoint}-journal")):  # that one of a killed fit
            path.unlink(missing_ok=True)  # the model is safe


def made(kind: Kind, parameters: dict[str, Any], **others: Any) -> Any:
    """An estimator of a kind with the parameters that are given; those of another are refused."""
    import eventspace

    def knows(kind: str) -> Any:
        return inspect.signature(getattr(eventspace, CLASSES[kind])).parameters

    given = {name: value for name, value in parameters.items() if value is not None}
    for name in given:
        if name not in knows(kind):
            kinds = " or ".join(other for other in CLASSES if name in knows(other))
            raise UserError(f"{OPTIONS[name]} is not for --kind {kind}, but for {kinds}.")
    return getattr(eventspace, CLASSES[kind])(**given, **others)
