"""The command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Kolmogorov models: predictions you can reason about, from a table of yes/no chances.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Model = Annotated[Path, typer.Argument(help="A model that `eventspace fit` has written.")]
Table = Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file.")]


@app.command()
def fit(
    ratings: Table,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model.")],
    events: Annotated[int, typer.Option(help="How many elementary events, 1 to 64.")] = 8,
    penalty: Annotated[float, typer.Option(help="How strongly PMFs are drawn to the mean.")] = 1.0,
    iterations: Annotated[int, typer.Option(help="The most iterations.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same model.")] = 0,
    threads: Annotated[int, typer.Option(help="Threads; -1 means every core.")] = -1,
) -> None:
    """Learn a model from a table of ratings."""
    from eventspace.model import KolmogorovModel

    if not output.parent.is_dir():
        raise FileNotFoundError(f"{output.parent}: there is no such folder to write to.")
    model = KolmogorovModel(
        events, pmf_penalty=penalty, n_iter=iterations, random_state=seed, n_jobs=threads
    )
    model.fit(ratings).save(output)
    typer.echo(model.summary())
    if model.interrupted_:
        raise typer.Exit(130)


@app.command()
def predict(model: Model, pairs: Table) -> None:
    """Predict the pairs of a table with a column of users and one of items, as CSV."""
    from eventspace.model import KolmogorovModel
    from eventspace.tables.frames import data_frame
    from eventspace.tables.pairs import read_pairs

    known = KolmogorovModel.load(model)
    found = read_pairs(pairs)
    if found is None:
        raise ValueError(f"{pairs} has no columns named for users and items.")
    users, items = _like(found.users, known.user_ids_), _like(found.items, known.item_ids_)
    frame = {"user": users, "item": items, "probability": known.predict((users, items))}
    data_frame(frame, "pandas").to_csv(sys.stdout, index=False)


def _like(column: Any, ids: Any) -> Any:
    """A column of ids as the model's are: a file or a shell can not say whether 7 is a number."""
    from eventspace.ids import as_column, plain_array

    values = plain_array(as_column(column))
    if ids.dtype == object and all(isinstance(id_, str) for id_ in ids):
        return values.astype(str).astype(object)
    if ids.dtype.kind in "iuf" and values.dtype == object:
        by_text = dict(zip(map(str, ids.tolist()), ids.tolist(), strict=True))
        return plain_array(as_column([by_text.get(value, value) for value in values]))
    return values


@app.command()
def rules(
    model: Model,
    data: Annotated[
        Path | None, typer.Option(help="A table to take the evidence from, such as held-out ones.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="Only rules from and to this item.")] = None,
    top: Annotated[int, typer.Option(help="How many.")] = 20,
    sort: Annotated[str, typer.Option(help="By surprise, lift, confidence, ...")] = "surprise",
    min_evidence: Annotated[int, typer.Option(help="Users who must have rated both.")] = 1,
    min_support: Annotated[float, typer.Option(help="Least probability of both together.")] = 0.0,
    min_confidence: Annotated[float, typer.Option(help="Below 1, also rules not proved.")] = 1.0,
    like: Annotated[float | None, typer.Option(help="The least value that is a like.")] = None,
    restarts: Annotated[int, typer.Option(help="Fits that tell how stable the rules are.")] = 0,
) -> None:
    """List the most surprising rules: a table on a terminal, else CSV."""
    from eventspace.model import KolmogorovModel

    known = KolmogorovModel.load(model)
    found = known.rules(
        data,
        item=None if item is None else _like([item], known.item_ids_)[0],
        top=top,
        sort=sort,
        min_evidence=min_evidence,
        min_support=min_support,
        min_confidence=min_confidence,
        like=like,
        restarts=restarts,
    )
    import narwhals as nw

    frame = nw.from_native(found, eager_only=True).to_pandas()
    if not sys.stdout.isatty():
        frame.to_csv(sys.stdout, index=False)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    names = ["surprise", "users", "like_rate", "base_rate"]
    names += ["stability"] if restarts else []
    shown = RichTable("if", "", "then", *(name.replace("_rate", "") for name in names))
    arrows = {"implies": "=>", "equivalent": "<=>", "soft": "~>"}
    for _, row in frame.iterrows():
        titles = escape(str(row["if_item"])), arrows[row["kind"]], escape(str(row["then_item"]))
        shown.add_row(*titles, *(f"{row[name]:.3g}" for name in names))
    Console().print(shown)


@app.command()
def query(
    model: Model,
    expression: Annotated[str, typer.Argument(help="Such as 'Alien & ~(Heat | Fargo)'.")],
    user: Annotated[
        list[str] | None, typer.Option(help="Whose probability; the population's if none.")
    ] = None,
) -> None:
    """Give the probability of an event, written with & | ~ - ^ over items."""
    from eventspace.model import KolmogorovModel

    known = KolmogorovModel.load(model)
    event = known.query(expression)
    if not user:
        typer.echo(f"population\t{event.probability():.4f}")
        return
    users = _like(user, known.user_ids_)
    for id_, p in zip(users, event.probability(users), strict=True):
        typer.echo(f"{id_}\t{p:.4f}")


@app.command()
def explain(
    model: Model,
    user: Annotated[str, typer.Argument(help="A user's id.")],
    item: Annotated[str, typer.Argument(help="An item's id.")],
) -> None:
    """Say why a prediction is what it is."""
    from eventspace.model import KolmogorovModel

    known = KolmogorovModel.load(model)
    who, what = _like([user], known.user_ids_)[0], _like([item], known.item_ids_)[0]
    typer.echo(known.explain(who, what))


@app.command()
def info(model: Model) -> None:
    """Say what a model is, how well it fits, and how much of it is proved."""
    from eventspace.model import KolmogorovModel

    typer.echo(KolmogorovModel.load(model).summary())


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the model.")
    ] = Path("movielens.eventspace"),
) -> None:
    """Fit, compare and recommend on MovieLens small, with nothing to prepare."""
    from rich.console import Console

    from eventspace import demo as demonstration

    demonstration.run(output, Console())


def main() -> None:
    """Run the command line; a mistake of the user's is one line and exit code 2."""
    try:
        app()
    except (ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        typer.echo(f"eventspace: {error}", err=True)
        sys.exit(2)
