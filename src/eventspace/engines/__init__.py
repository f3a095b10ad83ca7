"""Where the sums and solves run: an engine forms the quadratics of rows and hands them to a step.

``protocol`` says what an engine does. A new one is a file of this room and a line of ``ENGINES``.
"""

from __future__ import annotations

from importlib import import_module

from eventspace._base.checks import check_choice
from eventspace.engines.choice import choose
from eventspace.engines.protocol import Engine

# the module of this room, and its class, imported when it is asked for
ENGINES = {"cpu": "CPU", "cuda": "CUDA", "dask": "Dask"}


def engine(name: str, n_threads: int = 1, n_observed: int = 0, *, chains: bool = False) -> Engine:
    """The engine of this name, or "auto": the best for a table with ``n_observed`` entries.

    To learn from it by a descent, or by chains. It has ``n_threads`` threads of this process.
    """
    if name != "auto":
        check_choice("engine", name, ENGINES)
    name = choose(name, n_threads, n_observed, chains=chains).name
    found: Engine = getattr(import_module(f"{__name__}.{name}"), ENGINES[name])(n_threads)
    return found
