"""Commands that predict: predict, recommend and similar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from eventspace._base.errors import UserError
from eventspace.cli import options
from eventspace.cli.terminal import say

BLOCK = 1 << 18  # pairs predicted and written at a time


def predict(
    model: options.Model,
    pairs: options.Table,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            parser=options.real(0, 1, inside=True),
            help="Also where a value lies with this probability: averages only.",
        ),
    ] = None,
    unit: options.Unit = "probability",
    unknown: options.Unknown = "error",
    user: options.User = None,
    item: options.Item = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Predict the pairs of a table with a column of users and one of items."""
    from eventspace.cli import inputs, outputs
    from eventspace.fitted import FittedAverage

    form_ = outputs.form_of(output, form, as_json)
    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, None).model
    if interval is not None and not isinstance(known, FittedAverage):
        raise UserError(
            f"--interval needs an average, and {model} holds one model: fit it with --kind "
            "posterior or ensemble."
        )
    seen = known.observations
    named = inputs.pairs(pairs, text, user, item, seen)
    users, items = inputs.like(named[0], seen.user_ids), inputs.like(named[1], seen.item_ids)
    if unknown == "error":  # before the first pair is written
        known.positions(users, items)
    settings = {"unit": unit, "unknown": unknown}
    outputs.write(_predicted(known, named, (users, items), interval, settings), output, form_)


def _predicted(
    known: Any, named: Any, wanted: Any, interval: float | None, settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The predictions of wanted pairs as they are named, one block after another."""
    from eventspace._base.progress import bar

    name = "probability" if settings["unit"] == "probability" else "value"
    n = len(named[0])
    with bar("predict", n, None) as update:
        for start in range(0, max(n, 1), BLOCK):
            block = slice(start, start + BLOCK)
            ids = {"user": named[0][block].to_pylist(), "item": named[1][block].to_pylist()}
            pairs = (wanted[0][block], wanted[1][block])
            if interval is None:
                yield {**ids, name: known.predict(pairs, **settings)}
            else:
                found = dict(known.predict_interval(pairs, interval, **settings))
                yield {**ids, name: found.pop("mean"), **found}
            update(start + len(ids["user"]), "")


def recommend(
    model: options.Model,
    users: Annotated[
        list[str] | None, typer.Argument(metavar="[USER]...", help="Whom; everybody if none.")
    ] = None,
    top: options.Top = 10,
    candidates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only the items in it, one in each line.")
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Not the items in it."),
    ] = None,
    min_evidence: Annotated[
        int, typer.Option(metavar="N", parser=options.whole(0), help="Ratings an item must have.")
    ] = 1,
    seen: Annotated[bool, typer.Option("--seen", help="Also what the user has rated.")] = False,
    meets: Annotated[
        bool,
        typer.Option(
            "--meets/--no-meets", help="Rank by the chance to meet and like, or by the prediction."
        ),
    ] = True,
    unknown: options.Unknown = "error",
    unit: options.Unit = "probability",
    titles: options.Titles = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """List the items that users most probably meet and like."""
    from eventspace.cli import inputs, outputs

    form_ = outputs.form_of(output, form, as_json)
    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, titles)
    ids = known.model.observations.user_ids
    wanted = inputs.like(users, ids) if users else None
    best = known.model.recommend(
        wanted,
        top,
        candidates=known.items(candidates, text),
        exclude=known.items(exclude, text),
        min_evidence=min_evidence,
        seen=seen,
        meets=meets,
        unknown=unknown,
        unit=unit,
    )
    outputs.write(dict(best), output, form_)


def similar(
    model: options.Model,
    item: Annotated[
        str | None, typer.Option(metavar="ITEM", help="Items that are liked with this one.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="Users whose chances are like this one's.")
    ] = None,
    top: options.Top = 10,
    min_evidence: Annotated[
        int,
        typer.Option(
            metavar="N", parser=options.whole(1), help="Users, or items, that both have in common."
        ),
    ] = 5,
    titles: options.Titles = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """List the items, or the users, that are most like one."""
    from eventspace.cli import inputs, outputs

    form_ = outputs.form_of(output, form, as_json)
    if (item is None) == (user is None):
        raise UserError("similar wants --item ITEM or --user USER, one of them.")
    known = inputs.described(model, inputs.written(sep, decimal, encoding, header), titles)
    if item is not None:
        found = known.model.similar_items(known.item(item), top, min_evidence=min_evidence)
    else:
        ids = known.model.observations.user_ids
        one = inputs.one_like(str(user), ids)
        found = known.model.similar_users(one, top, min_evidence=min_evidence)
    outputs.write(dict(found), output, form_)
    if not len(found):
        shared = "users rated both" if item is not None else "items were rated by both"
        say(f"none: nowhere at least {min_evidence} {shared}; --min-evidence says how many")
