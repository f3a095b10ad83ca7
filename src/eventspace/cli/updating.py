"""Commands for the next day's ratings: update takes them in, monitor looks at them first."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eventspace._base.errors import UserError
from eventspace._base.placing import alone_with
from eventspace._base.printable import shown
from eventspace.cli import options
from eventspace.cli.terminal import say

if TYPE_CHECKING:
    from eventspace.data.ids import Ids

SOME = 3  # new ids that are named


def update(
    model: options.Model,
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE]",
            help="Ratings of known and new users and items; - for the standard input.",
        ),
    ] = None,
    forget: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Pairs of users and items whose ratings go."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write the model; by default, MODEL."
        ),
    ] = None,
    user: options.User = None,
    item: options.Item = None,
    value: options.Value = None,
    weight: options.Weight = None,
    successes: options.Successes = None,
    trials: options.Trials = None,
    time: options.Time = None,
    wide: options.Wide = False,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    as_json: options.Json = False,
) -> None:
    """Take new ratings into a model, and let others go, without a new fit."""
    from eventspace.cli import inputs
    from eventspace.cli.looking import facts
    from eventspace.cli.outputs import check_model_output, echo, same_file, write_json
    from eventspace.fitted import load

    place = model if output is None else output
    for read in (table, forget):
        check_model_output(place, read)
    text = inputs.written(sep, decimal, encoding, header)
    inputs.await_input(table, forget)  # before others wait for their turn
    with alone_with(model, _wait) if same_file(place, model) else nullcontext():
        known = load(model)
        seen, new, pairs = known.observations, None, None
        if table is not None:
            columns = inputs.Columns(user, item, value, weight, successes, trials)
            new = inputs.changes(table, text, columns, wide, seen, time, seen.forgetting)
        if forget is not None:
            named = inputs.pairs(forget, text, user, item, seen)
            pairs = inputs.like(named[0], seen.user_ids), inputs.like(named[1], seen.item_ids)
        updated = known.update(new, forget=pairs)
        updated.save(place)
    if as_json:
        write_json(facts(updated))
    else:
        echo(updated.summary())
        now = updated.observations
        say(
            f"{now.n_observed:,} ratings, before {seen.n_observed:,}; "
            f"new users: {_new(now.user_ids, seen.n_users)}; "
            f"new items: {_new(now.item_ids, seen.n_items)}"
        )
        say(f"written: {place}")


def monitor(
    model: options.Model,
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="New ratings; - for the standard input.")
    ],
    user: options.User = None,
    item: options.Item = None,
    value: options.Value = None,
    weight: options.Weight = None,
    successes: options.Successes = None,
    trials: options.Trials = None,
    wide: options.Wide = False,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Say how well a model predicts new ratings, who has moved, and whether a refit is due."""
    from eventspace.cli import inputs, outputs

    if output == "-" and form is not None:
        raise UserError(f"--format {form} needs --output: else there is no table.")
    if output != "-":
        outputs.check_output(output)
    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, None, None).model
    columns = inputs.Columns(user, item, value, weight, successes, trials)
    found = known.monitor(inputs.changes(table, text, columns, wide, known.observations))
    if as_json:
        numbers = ("n_ratings", "n_others", "rmse", "low", "high", "expected_rmse")
        said = {name: getattr(found, name) for name in (*numbers, "refit_due", "can_tell")}
        outputs.write_json({**said, "moved": outputs.records(found.moved)}, output)
        return
    outputs.echo(found)
    if output != "-":
        outputs.write(dict(found.moved), output, outputs.form_of(output, form, as_json))


def _wait() -> None:
    say("another update of this model is under way: waiting for it")


def _new(ids: Ids, n_known: int) -> str:
    """Those that came, the first of them by name."""
    names = [shown(ids[k]) for k in range(n_known, min(len(ids), n_known + SOME))]
    more = len(ids) - n_known - len(names)
    return (", ".join(names) or "none") + (f" and {more:,} more" if more else "")
