"""Commands that predict: predict and recommend."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal

import typer

from eventspace._base.errors import UserError
from eventspace.cli import options

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
    unknown: Annotated[
        Literal["error", "population"],
        typer.Option(help="What an id that the model does not know gets."),
    ] = "error",
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
    top: Annotated[
        int, typer.Option(metavar="N", parser=options.whole(1), help="How many items for each.")
    ] = 10,
    min_evidence: Annotated[
        int, typer.Option(metavar="N", parser=options.whole(1), help="Ratings an item must have.")
    ] = 1,
    seen: Annotated[bool, typer.Option("--seen", help="Also what the user has rated.")] = False,
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
    """List the items that users most probably like."""
    from eventspace._base.progress import bar
    from eventspace.cli import inputs, outputs

    form_ = outputs.form_of(output, form, as_json)
    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, titles).model
    ids = known.observations.user_ids
    wanted = [inputs.one_like(user, ids) for user in users or []] or list(ids)

    def recommended() -> Iterator[dict[str, Any]]:
        with bar("recommend", len(wanted), None) as update:
            for k, user in enumerate(wanted):
                best = known.recommend(user, top, min_evidence=min_evidence, seen=seen, unit=unit)
                yield {"user": [user] * len(best["item"]), **best}
                update(k + 1, "")

    if form_ == "screen":
        blocks = list(recommended())
        whole = {name: list(chain(*(block[name] for block in blocks))) for name in blocks[0]}
        outputs.write(whole, output, form_)
    else:
        outputs.write(recommended(), output, form_)
