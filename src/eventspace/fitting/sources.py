"""What is learnt from, and where: a table in memory, or one that the workers of a cluster read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eventspace._base.foreign import is_a
from eventspace.data.learnable import to_tell_apart
from eventspace.data.observations import Observations
from eventspace.data.readers.files import parquet_files
from eventspace.data.shards import Shards, shards_of
from eventspace.engines.protocol import Engine
from eventspace.fitting.settings import engine_to_learn

DASK_FRAME = "dask.dataframe.DataFrame"


@contextmanager
def learning_from(X: Any, settings: Any) -> Iterator[tuple[Observations | Shards, Engine]]:
    """The table and the engine, which is closed at the end.

    With the engine "dask" a folder of Parquet files, or a Dask DataFrame, is read by the workers.
    """
    files = parquet_files(X)
    if settings.engine != "dask" or not (files or is_a(X, DASK_FRAME)):
        observations = to_tell_apart(X)
        with engine_to_learn(settings, observations.n_observed) as machine:
            yield observations, machine
        return
    from eventspace.engines.dask import Dask

    with engine_to_learn(settings) as machine:
        assert isinstance(machine, Dask)
        if not files:
            files = _written(X, machine)
        yield shards_of(files, machine.folder, machine.crew, settings.verbose), machine


def gathered(table: Observations | Shards) -> Observations:
    """The table in memory."""
    return table.gathered if isinstance(table, Shards) else table


def _written(frame: Any, machine: Any) -> list[Path]:
    """A Dask DataFrame as Parquet files, so that each of its parts is computed once."""
    folder = Path(machine.folder) / "frame"
    machine.crew.computed(
        frame.to_parquet(
            folder, write_index=False, compute=False, name_function=lambda k: f"{k:09}.parquet"
        )
    )
    return parquet_files(folder)
