"""Models to files and back: what of a fitted model goes into :mod:`eventspace.storage`."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import eventspace
from eventspace import indicators, pmf, storage
from eventspace.entries import Entries, transpose
from eventspace.ids import Ids
from eventspace.observations import Observations

Model = TypeVar("Model")

_SOLVERS = {
    solver.__name__: solver for solver in (*indicators.SOLVERS.values(), *pmf.SOLVERS.values())
}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write parameters, fitted arrays, ids, scale and observations."""
    seen = model.observations_
    header = {
        "model": type(model).__name__,
        "written_by": eventspace.__version__,
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "scale": list(seen.scale),
        "library": seen.library,
        **{name.rstrip("_"): _plain(getattr(model, name)) for name in model._SAVED_NUMBERS},
    }
    arrays = {name.rstrip("_"): getattr(model, name) for name in model._SAVED_ARRAYS}
    arrays |= {"user_ids": seen.user_ids.values, "item_ids": seen.item_ids.values}
    arrays |= {f"by_user_{name}": array for name, array in seen.by_user._asdict().items()}
    storage.write(path, header, arrays)


def load_model(kind: type[Model], path: str | os.PathLike[str]) -> Model:
    """Read what :func:`save_model` wrote."""
    header, arrays = storage.read(path)
    if header.get("model") != kind.__name__:
        raise ValueError(f"{path} holds a {header.get('model')}, not a {kind.__name__}.")
    return _checked(kind, path, header, arrays)


def load_any(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_model` wrote, of whatever kind it is."""
    header, arrays = storage.read(path)
    name = header.get("model")
    if name not in eventspace.__all__:
        raise ValueError(f"{path} holds a {name}, of which this version knows nothing.")
    return _checked(getattr(eventspace, name), path, header, arrays)


def _checked(
    kind: type[Model],
    path: str | os.PathLike[str],
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
) -> Model:
    try:
        return _revive_model(kind, header, arrays)
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged, or of another version (written by {header.get('written_by')}): "
            f"{error!r} is missing or wrong."
        ) from error


def _revive_model(
    kind: type[Model], header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> Model:
    parameters = {name: _revived(value) for name, value in header["parameters"].items()}
    model: Any = kind(**parameters)
    for name in model._SAVED_ARRAYS:
        setattr(model, name, arrays[name.rstrip("_")])
    for name in model._SAVED_NUMBERS:
        setattr(model, name, header[name.rstrip("_")])
    user_ids, item_ids = Ids(arrays["user_ids"]), Ids(arrays["item_ids"])
    by_user = Entries(*(arrays[f"by_user_{name}"] for name in Entries._fields))
    model.observations_ = Observations(
        user_ids,
        item_ids,
        by_user,
        transpose(by_user, len(item_ids)),
        (header["scale"][0], header["scale"][1]),
        header["library"],
    )
    model.n_features_in_ = len(item_ids)
    return model  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it: a solver by its name and settings, a generator not at all."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"solver": type(value).__name__, **dataclasses.asdict(value)}
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else None


def _revived(value: Any) -> Any:
    if isinstance(value, dict):
        settings = dict(value)
        return _SOLVERS[settings.pop("solver")](**settings)
    return value
