"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from eventspace.cli import evaluating, learning, looking, predicting, reasoning, updating
from eventspace.cli.mistakes import interruptible

app = typer.Typer(
    help="Kolmogorov models: predictions you can reason about, from a table of yes/no chances.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(asked: bool) -> None:
    if asked:
        from eventspace import __version__

        typer.echo(f"eventspace {__version__}")
        raise typer.Exit


@app.callback()
def _eventspace(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which one this is."),
    ] = False,
) -> None:
    """Kolmogorov models: predictions you can reason about, from a table of yes/no chances."""


for command in (
    learning.fit,
    updating.update,
    updating.monitor,
    evaluating.evaluate,
    looking.info,
    looking.report,
    predicting.predict,
    predicting.recommend,
    predicting.similar,
    reasoning.rules,
    reasoning.explain,
    reasoning.query,
    looking.convert,
    looking.demo,
):
    app.command()(interruptible(command))
