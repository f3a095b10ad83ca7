"""Commands that reason: rules, explain and query."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eventspace._base.errors import UserError
from eventspace.cli import options

if TYPE_CHECKING:
    from eventspace.logic.explain import Meeting

TOP = 20
Sort = Literal["gain", "gain_low", "confidence", "lift", "support", "agreement_gain", "inclusion"]


def rules(
    model: options.Model,
    evidence: options.Evidence = None,
    item: Annotated[
        str | None, typer.Option(metavar="ITEM", help="Only rules from and to this item.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", parser=options.whole(1), help="How many [20].")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, however many.")] = False,
    sort: Annotated[
        Sort, typer.Option(help="What they are ordered by, the greatest first.")
    ] = "gain",
    proved: Annotated[
        bool, typer.Option("--proved", help="Only those that the model proves, whatever they gain.")
    ] = False,
    min_evidence: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole(0),
            help="Users who like both [20, or a twentieth of all users if these are few].",
        ),
    ] = None,
    conditions: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=options.whole(1, 3),
            help="With 2 or 3, also rules such as 'Alien & ~Heat'.",
        ),
    ] = 1,
    like: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="The least value that is a like [the least one above the mean]."
        ),
    ] = None,
    restarts: options.Restarts = 0,
    titles: options.Titles = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """List rules: of those who like one item, how many like another; of all, how many do."""
    from eventspace.cli import inputs, outputs

    if every and top is not None:
        raise UserError(f"--all and --top {top}: choose one of them.")
    form_ = outputs.form_of(output, form, as_json)
    text = inputs.written(sep, decimal, encoding, header)
    described = inputs.described(model, text, titles)
    known = described.model
    found = known.rules(
        described.evidence(evidence, text),
        item=None if item is None else described.item(item),
        top=None if every else top or TOP,
        sort=sort,
        min_evidence="auto" if min_evidence is None else min_evidence,
        proved=proved,
        conditions=conditions,
        like=like,
        restarts=restarts,
    )

    def shown(columns: Any) -> Any:
        from rich.console import Group

        from eventspace.fitted.statements import caption, statements

        least = known.liked_from if like is None else like
        held_out = {"None": "", "-": "the standard input"}.get(str(evidence), str(evidence))
        return Group(caption(least, held_out), statements(columns, outputs.SHOWN))

    outputs.write(dict(found), output, form_, shown)


def explain(
    model: options.Model,
    user: Annotated[str, typer.Argument(metavar="USER", help="A user's id.")],
    item: Annotated[
        str, typer.Argument(metavar="ITEM", help="An item's id, or its title with --titles.")
    ],
    tags: options.Tags = None,
    titles: options.Titles = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    as_json: options.Json = False,
) -> None:
    """Say why a prediction is what it is."""
    from eventspace.cli import inputs, outputs

    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, titles, tags)
    seen = known.model.observations
    why = known.model.explain(inputs.one_like(user, seen.user_ids), known.item(item), known.tags)
    if not as_json:
        outputs.echo(why)
        return
    outputs.write_json(
        {
            "user": seen.user_ids[why.user_at],
            "item": seen.item_ids[why.item_at],
            "probability": why.probability,
            "value": why.value,
            "population": why.population,
            "readable": why.readable,
            "user_ratings": why.user_ratings,
            "item_ratings": why.item_ratings,
            "events": outputs.records(why.events),
            "rules": outputs.records(why.rules),
            "meeting": None if why.meeting is None else _told(why.meeting),
        }
    )


def _told(meeting: Meeting) -> dict[str, Any]:
    reasons = [{"other_item": other, "chance": p} for other, p in meeting.reasons]
    return {**asdict(meeting), "reasons": reasons}


def query(
    model: options.Model,
    expression: Annotated[
        str, typer.Argument(metavar="EXPRESSION", help="Such as 'Alien & ~(Heat | Fargo)'.")
    ],
    given: Annotated[
        str | None,
        typer.Option(metavar="EXPRESSION", help="Only the cases in which this comes true."),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(metavar="USER", help="Whose probability; the population's if none."),
    ] = None,
    titles: options.Titles = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Give the probability of an event, written with & | ~ - ^ over items."""
    from eventspace.cli import inputs, outputs

    form_ = outputs.form_of(output, form, as_json)
    text = inputs.written(sep, decimal, encoding, header)
    known = inputs.described(model, text, titles)
    event = known.query(expression)
    asked = event if given is None else event.given(known.query(given))
    if user:
        ids = known.model.observations.user_ids
        users = [inputs.one_like(id_, ids) for id_ in user]
        columns = {"user": users, "probability": asked.probability(users)}
        outputs.write(columns, output, form_)
        return
    p = asked.probability()
    cases = "of the population" if given is None else f"of the cases of {given} in the population"
    sentence = f"{expression}: {p:.1%} {cases}" if p == p else f"{given} never comes true"
    outputs.write({"probability": [p]}, output, form_, lambda columns: sentence)
