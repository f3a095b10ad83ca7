"""Commands that learn: fit and select."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from eventspace._base.errors import UserError
from eventspace.cli import interrupts, options
from eventspace.cli.mistakes import OPTIONS
from eventspace.cli.terminal import say

Kind = Literal["descent", "posterior", "ensemble"]
CLASSES = {
    "descent": "KolmogorovDescent",
    "posterior": "KolmogorovPosterior",
    "ensemble": "KolmogorovEnsemble",
}


def fit(
    table: options.Table,
    output: options.ModelOutput,
    kind: Annotated[
        Kind, typer.Option(help="One model to read, or an average that predicts better.")
    ] = "descent",
    events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(1, 64),
            help="Elementary events: 8, posterior 24, ensemble 16.",
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
            help="Chains of a posterior [8; 24 for small tables].",
        ),
    ] = None,
    models: Annotated[
        int | None,
        typer.Option(metavar="N", parser=options.whole(1), help="Models of an ensemble."),
    ] = None,
    user_attributes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Numbers of users, for a posterior: ids first."),
    ] = None,
    item_attributes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Numbers of items, likewise.")
    ] = None,
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
    as_json: options.Json = False,
) -> None:
    """Learn a model from a table of ratings."""
    from eventspace.cli.inputs import Columns, observations
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
    }
    model = _made(kind, parameters, random_state=seed, n_jobs=threads)
    attributes = {
        name: path
        for name, path in (
            ("user_attributes", user_attributes),
            ("item_attributes", item_attributes),
        )
        if path is not None
    }
    if attributes and kind != "posterior":
        raise UserError(f"{OPTIONS[next(iter(attributes))]} is for --kind posterior.")
    columns = Columns(user, item, value, weight, successes, trials)
    model.fit(observations(table, columns, wide, scale, duplicates), **attributes)
    model.save(output)
    if as_json:
        write_json(facts(model.fitted_))
    else:
        echo(model.summary())
        say(f"written: {output}")
    if getattr(model, "interrupted_", False):
        raise typer.Exit(interrupts.exit_code())


def _made(kind: Kind, parameters: dict[str, Any], **others: Any) -> Any:
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


def select(
    table: options.Table,
    output: options.ModelOutput,
    events: Annotated[
        str, typer.Option(metavar="auto|N,N,...", help="Numbers of events to try.")
    ] = "auto",
    penalty: Annotated[
        str, typer.Option(metavar="auto|X,X,...", help="Penalties on PMFs to try.")
    ] = "auto",
    indicator_penalty: Annotated[
        str, typer.Option(metavar="X,X,...", help="Penalties on indicators to try.")
    ] = "0,0.2",
    folds: Annotated[
        str,
        typer.Option(
            metavar="auto|N|PART", help="Folds of the entries, or the part held out once."
        ),
    ] = "auto",
    iterations: Annotated[
        int,
        typer.Option(metavar="N", parser=options.whole(1), help="The most iterations a penalty."),
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
    as_json: options.Json = False,
) -> None:
    """Choose events and penalties on held-out entries, and fit the best model to all."""
    from eventspace import KolmogorovModelCV
    from eventspace.cli.inputs import Columns, observations
    from eventspace.cli.outputs import check_model_output, form_of, records, write, write_json

    check_model_output(output, table)
    model = KolmogorovModelCV(
        _numbers("--events", events, int),
        pmf_penalty=_numbers("--penalty", penalty, float),
        indicator_penalty=_numbers("--indicator-penalty", indicator_penalty, float),
        cv=_folds(folds),
        n_iter=iterations,
        random_state=seed,
        n_jobs=threads,
    )
    columns = Columns(user, item, value, weight, successes, trials)
    model.fit(observations(table, columns, wide, scale, duplicates))
    model.save(output)
    names = {
        "events": "param_n_events",
        "indicator_penalty": "param_indicator_penalty",
        "penalty": "param_pmf_penalty",
        "rmse": "mean_rmse",
        "std": "std_rmse",
        "seconds": "fit_time",
    }
    found = model.cv_results_
    trials_made = {name: found[key] for name, key in names.items() if key in found}
    best = {
        "events": model.best_params_["n_events"],
        "indicator_penalty": model.best_params_["indicator_penalty"],
        "penalty": model.best_params_["pmf_penalty"],
        "rmse": model.best_rmse_,
    }
    if as_json:
        write_json({"best": best, "tried": records(trials_made)})
        return
    write(trials_made, "-", form_of("-", None, False))
    say(
        f"best: --events {best['events']} --penalty {best['penalty']:g} --indicator-penalty "
        f"{best['indicator_penalty']:g}, held-out RMSE {best['rmse']:.4f}; written: {output}"
    )


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> Any:
    """ "auto", or the numbers in a text."""
    if text == "auto":
        return text
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise UserError(
            f"{option} {text} is neither auto nor {'whole ' * (kind is int)}numbers with commas "
            "between them."
        ) from None


def _folds(text: str) -> Any:
    if text == "auto":
        return text
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        raise UserError(
            f"--folds {text} is neither auto, nor a number of folds, nor a part such as 0.1."
        ) from None
