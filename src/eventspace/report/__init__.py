"""The page: one self-contained HTML file in which a fitted model is looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from eventspace._base.placing import placed
from eventspace.report.assembly import page
from eventspace.report.contents import contents


def write(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    *,
    title: str | None = None,
    tags: Any = None,
    users: Any = None,
    restarts: int = 0,
) -> Path:
    """Write the page of a fitted model; see :meth:`KolmogorovDescent.report`."""
    where = Path(path)
    if not where.parent.is_dir():
        raise FileNotFoundError(f"{where.parent}: there is no such folder to write to.")
    what = contents(model, X, title=title or where.stem, tags=tags, users=users, restarts=restarts)
    with placed(where) as file:
        file.write(page(what))
    return where


def beside(model: Path) -> Path:
    """Where the page of a model in a file goes if nobody says: films.html for films.eventspace."""
    return model.with_name(f"{model.name.removesuffix('.eventspace')}.html")
