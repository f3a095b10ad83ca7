"""What a checkpoint belongs to: a fit goes on only where it would have gone anyway."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any

import numpy as np

from eventspace._base.checkpoint import BESIDE, TABLE, Checkpoint, checkpoint_at
from eventspace._base.checks import is_real, is_whole
from eventspace._base.version import __version__
from eventspace.data.digest import digest_of, digest_of_arrays
from eventspace.data.observations import Observations
from eventspace.data.shards import Shards

EITHER_WAY = ("n_jobs", "verbose", "engine", "random_state")  # settings that need not be the same
ESTIMATORS = {  # whose settings these are
    "DescentSettings": "KolmogorovDescent",
    "SamplingSettings": "KolmogorovPosterior",
    "ModelSettings": "KolmogorovModel",
}


def checkpoint_of(
    path: str | os.PathLike[str] | None,
    table: Observations | Shards,
    settings: Any,
    engine: str,
    *more: Any,
) -> AbstractContextManager[Checkpoint]:
    """The checkpoint of a fit with these settings to a table, and to arrays that belong to it.

    ``engine`` is told as :func:`engine_told` does: cores and clusters give the same bits, a GPU
    others.
    """

    def facts() -> dict[str, str]:
        import numba

        fading = table.forgetting if isinstance(table, Observations) else None
        given = {k: _told(v) for k, v in vars(settings).items() if k not in EITHER_WAY}
        if settings.random_state is not None:
            given["random_state"] = _told(settings.random_state)
        return {
            "the estimator": ESTIMATORS[type(settings).__name__],
            "the version of eventspace": __version__,
            "the version of NumPy": np.__version__,
            "the version of numba": numba.__version__,
            "the scale": "{:g} to {:g}".format(*table.scale),
            "the half-life": "none" if fading is None else fading.life,
            TABLE: digest_of(table),
            BESIDE: digest_of_arrays(more),
            "the engine": "cuda" if engine.startswith("cuda") else "cpu",
            **given,
        }

    return checkpoint_at(path, facts)


def _told(setting: Any) -> str:
    """A setting in words, equal ones alike; of a generator, where it stands."""
    if isinstance(setting, np.random.RandomState):
        state: Any = setting.get_state()
        digest = blake2b(state[1].tobytes() + repr(state[2:]).encode(), digest_size=8)
        return f"a generator at {digest.hexdigest()}"
    if is_whole(setting):
        return str(int(setting))
    if is_real(setting):
        number = float(setting)
        return str(int(number)) if number.is_integer() else repr(number)
    return repr(setting)
