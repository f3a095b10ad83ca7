"""Commands that reason: rules, explain and query."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from eventspace._base.errors import UserError
from eventspace.cli import options

PROBABLE = "probable"  # a rule of an average
ARROWS = {"implies": "=>", "equivalent": "<=>", "soft": "~>", PROBABLE: "~>"}
Sort = Literal[
    "surprise",
    "lift",
    "leverage",
    "confidence",
    "support",
    "correlation",
    "stability",
    "probability",
]
AVERAGE, SINGLE = "an average", "one model"
TOP = 20
SORTS = {AVERAGE: "probability", SINGLE: "stability"}  # which the other does not have


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
        Sort,
        typer.Option(
            help="What they are ordered by: stability with --restarts, probability in an average."
        ),
    ] = "surprise",
    min_evidence: Annotated[
        int, typer.Option(metavar="N", parser=options.whole(1), help="Users who rated both.")
    ] = 1,
    like: Annotated[
        float | None, typer.Option(metavar="X", help="The least value that is a like.")
    ] = None,
    min_support: Annotated[
        float | None,
        typer.Option(
            metavar="X", parser=options.real(0, 1), help="Least probability of both together."
        ),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="X", parser=options.real(0, 1), help="Below 1, also rules not proved."
        ),
    ] = None,
    restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=options.whole(1), help="Fits that tell how stable the rules are."
        ),
    ] = None,
    min_probability: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            parser=options.real(0, 1),
            help="Of an average: the least probability of a rule.",
        ),
    ] = None,
    titles: options.Titles = None,
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """List the most surprising rules: users who like one item also like the other."""
    from eventspace.cli import inputs, outputs
    from eventspace.fitted import FittedAverage

    if every and top is not None:
        raise UserError(f"--all and --top {top}: choose one of them.")
    form_ = outputs.form_of(output, form, as_json)
    described = inputs.described(model, titles)
    known = described.model
    own: dict[str, dict[str, Any]] = {
        AVERAGE: {"min_probability": min_probability},
        SINGLE: {
            "min_support": min_support,
            "min_confidence": min_confidence,
            "restarts": restarts,
        },
    }
    here, other = (AVERAGE, SINGLE) if isinstance(known, FittedAverage) else (SINGLE, AVERAGE)
    for name, value in own[other].items():
        if value is not None:
            raise UserError(f"--{name.replace('_', '-')} is for {other}, and {model} holds {here}.")
    if sort == SORTS[other]:
        raise UserError(f"--sort {sort} is for {other}, and {model} holds {here}.")
    found = known.rules(
        described.evidence(evidence),
        item=None if item is None else described.item(item),
        top=None if every else top or TOP,
        sort=sort,
        min_evidence=min_evidence,
        like=like,
        **{name: value for name, value in own[here].items() if value is not None},
    )
    outputs.write(_columns(found), output, form_, _shown)


def _shown(columns: Any) -> Any:
    """Rules as a person reads them."""
    from rich.table import Table

    from eventspace.cli.outputs import SHOWN, cell

    names = ["surprise", "probability", "stability", "users", "like_rate", "base_rate"]
    names = [name for name in names if name in columns]
    shown = Table("if", "", "then", *(name.replace("_rate", "") for name in names))
    for k, kind in enumerate(columns["kind"][:SHOWN]):
        numbers = (cell(columns[name][k]) for name in names)
        if_item, then_item = (cell(columns[side][k]) for side in ("if_item", "then_item"))
        shown.add_row(if_item, ARROWS[kind], then_item, *numbers)
    return shown


def _columns(found: Any) -> dict[str, Any]:
    """The columns of rules, the same for every kind of model; without blanks in their names."""
    columns = {name.replace(" ", "_"): column for name, column in found.items()}
    sides = {side: columns.pop(side) for side in ("if_item", "then_item")}
    kinds = columns.pop("kind", [PROBABLE] * len(sides["if_item"]))  # an average proves none
    return {**sides, "kind": kinds, **columns}


def explain(
    model: options.Model,
    user: Annotated[str, typer.Argument(metavar="USER", help="A user's id.")],
    item: Annotated[
        str, typer.Argument(metavar="ITEM", help="An item's id, or its title with --titles.")
    ],
    tags: options.Tags = None,
    titles: options.Titles = None,
    as_json: options.Json = False,
) -> None:
    """Say why a prediction is what it is."""
    from eventspace.cli import inputs, outputs

    known = inputs.described(model, titles, tags)
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
        }
    )


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
    output: options.Output = "-",
    form: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Give the probability of an event, written with & | ~ - ^ over items."""
    from eventspace.cli import inputs, outputs

    form_ = outputs.form_of(output, form, as_json)
    known = inputs.described(model, titles)
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
