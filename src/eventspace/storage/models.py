"""Models to files and back: what of a fitted model goes into :mod:`eventspace.storage.archive`."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import os
import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import eventspace
from eventspace import indicators, pmf
from eventspace.data.entries import Entries
from eventspace.data.ids import Ids
from eventspace.data.invariants import ARRAYS, NUMBERS, InvariantError, check_fit
from eventspace.data.observations import checked_observations
from eventspace.data.scale import Scale
from eventspace.storage import archive

Model = TypeVar("Model")

KINDS = ("KolmogorovEnsemble", "KolmogorovModel", "KolmogorovPosterior")
HEADER_KEYS = ("format", "version", "model", "written_by", "parameters", "scale", "library")
LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")
ID_ARRAYS = ("user_ids", "item_ids")
SWITCHES = ("verbose", "warm_start")

# The most that a file may ask of what is done after it is opened: new users and items are solved
# for with its settings.
MOST = {
    "pmf_penalty": 1e100,
    "indicator_penalty": 1e100,
    "concentration": 1e100,
    "n_iter": 1_000_000,
    "n_init": 1_000_000,
    "n_jobs": 1024,
    "node_budget": 10_000_000,
    "n_starts": 10_000,
    "n_roundings": 10_000,
    "max_steps": 100_000,
}

_SOLVERS = {
    solver.__name__: solver for solver in (*indicators.SOLVERS.values(), *pmf.SOLVERS.values())
}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write parameters, fitted arrays, ids, scale and observations."""
    check_fitted(model)
    seen = model.observations_
    header = {
        "model": type(model).__name__,
        "written_by": eventspace.__version__,
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "scale": list(seen.scale),
        "library": seen.library,
        **_numbers(model),
    }
    arrays = _arrays(model)
    arrays |= {"user_ids": seen.user_ids.values, "item_ids": seen.item_ids.values}
    arrays |= {f"by_user_{name}": array for name, array in seen.by_user._asdict().items()}
    model._check_parameters()  # what could not be read again is not written
    _parameters(header["parameters"], [])
    archive.write(path, header, arrays)


def check_fitted(model: Any) -> None:
    """Refuse a fitted model of ours whose parts do not go together, as one from a pickle may be."""
    seen = model.observations_
    check_fit(_arrays(model), _numbers(model), seen.n_users, seen.n_items)
    if not seen.n_observed:
        raise InvariantError("nothing is observed")


def _arrays(model: Any) -> dict[str, Any]:
    """The arrays of a fit, by the names that they have in a file."""
    return {name.rstrip("_"): getattr(model, name) for name in model._SAVED_ARRAYS}


def _numbers(model: Any) -> dict[str, Any]:
    """The numbers of a fit likewise; one that is not known is none."""
    found = {}
    for attribute in model._SAVED_NUMBERS:
        name, value = attribute.rstrip("_"), getattr(model, attribute)
        found[name] = _or_none(name, value.item() if isinstance(value, np.generic) else value)
    return found


def _or_none(name: str, value: Any) -> Any:
    unknown = isinstance(value, float) and math.isnan(value) and NUMBERS[name].none
    return None if unknown else value


def load_model(kind: type[Model], path: str | os.PathLike[str]) -> Model:
    """Read what :func:`save_model` wrote of a model of this kind."""
    return _loaded(path, {kind.__name__: kind})  # type: ignore[no-any-return]


def load_any(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save_model` wrote, of whatever kind it is."""
    return _loaded(path, {name: getattr(eventspace, name) for name in KINDS})


def _loaded(path: str | os.PathLike[str], kinds: Mapping[str, Any]) -> Any:
    with archive.opened(path) as stored:
        name = stored.header.get("model")
        if name not in list(kinds):
            held = name if name in KINDS else f"{name!r:.60}, of which this version knows nothing"
            asked = f", not a {next(iter(kinds))}" if len(kinds) == 1 else ""
            raise archive.StorageError(f"holds a {held}{asked}")
        kind = kinds[name]
        header = _checked_header(kind, stored.header)
        notes: list[str] = []
        parameters = _parameters(header["parameters"], notes)
        model = _revived(kind(**parameters), header, _read_arrays(kind, stored))
    for note in notes:
        warnings.warn(f"{path}: {note}", stacklevel=4)
    return model


def _read_arrays(kind: Any, stored: archive.Stored) -> dict[str, NDArray[Any]]:
    names = [name.rstrip("_") for name in kind._SAVED_ARRAYS]
    texts = [name for name in names if ARRAYS[name].dtype == "object"]
    entries = [f"by_user_{name}" for name in Entries._fields]
    arrays = stored.numbers([*(name for name in names if name not in texts), *entries])
    # how many objects there should be is known before any of them is made
    arrays["user_ids"] = stored.objects("user_ids", max(0, arrays["by_user_ptr"].size - 1))
    arrays["item_ids"] = stored.objects("item_ids", len(np.atleast_1d(arrays["codes"])))
    for name in texts:
        table = arrays[name.replace("_attribute_names", "_attributes")]
        arrays[name] = stored.objects(name, table.shape[-1] if table.ndim else 0)
    stored.refuse_others()
    return arrays


def _checked_header(kind: Any, header: dict[str, Any]) -> dict[str, Any]:
    """The header, if it has the keys that such a model has, and no others."""
    numbers = [name.rstrip("_") for name in kind._SAVED_NUMBERS]
    wanted = {*HEADER_KEYS, *numbers}
    if header.keys() != wanted:
        odd = min(header.keys() ^ wanted)
        verb = "lacks" if odd in wanted else "has another key,"
        raise InvariantError(f"its header {verb} {odd!r:.60}")
    if not isinstance(header["written_by"], str) or not isinstance(header["parameters"], dict):
        raise InvariantError("its header does not say what wrote it, and with which parameters")
    scale = header["scale"]
    bounds = scale if isinstance(scale, list) else []
    if len(bounds) != 2 or not all(type(bound) in (int, float) for bound in bounds):
        raise InvariantError(f"its scale is {scale!r:.60}")
    if header["library"] not in LIBRARIES:
        raise InvariantError(f"its library is {header['library']!r:.60}")
    return header | {name: _or_none(name, header[name]) for name in numbers}  # version 1 wrote NaN


def _revived(model: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The model with what a file says of its fit, all of it checked."""
    user_ids, item_ids = Ids(arrays["user_ids"]), Ids(arrays["item_ids"])
    by_user = Entries(*(arrays[f"by_user_{name}"] for name in Entries._fields))
    saved = {name.rstrip("_"): name for name in (*model._SAVED_ARRAYS, *model._SAVED_NUMBERS)}
    numbers = {name: header[name] for name in saved if name in NUMBERS}
    fitted = {name: arrays[name] for name in saved if name in ARRAYS}
    for name, value in {**fitted, **numbers}.items():
        setattr(model, saved[name], value)
    if "held_out_error" in numbers and numbers["held_out_error"] is None:
        model.held_out_error_ = math.nan
    model.observations_ = checked_observations(
        user_ids, item_ids, by_user, _scale(header["scale"]), _library(header["library"])
    )
    model.n_features_in_ = len(item_ids)
    check_fitted(model)
    model._check_parameters()
    return model


def _scale(written: list[float]) -> Scale:
    lo, hi = written
    if not lo < hi or not math.isfinite(hi - lo):
        raise InvariantError(f"its scale is {written!r:.60}")
    return float(lo), float(hi)


def _library(written: str) -> str:
    """The library that answers are given in: pandas where the one of the table is not here."""
    return written if importlib.util.find_spec(written) else "pandas"


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it: a solver by its name and settings, a generator not at all."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        settings = {name: _plain(part) for name, part in dataclasses.asdict(value).items()}
        return {"solver": type(value).__name__, **settings}
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else None


def _parameters(written: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The parameters in a header; those beyond what a file may ask for are cut, and noted."""
    return {name: _parameter(name, value, notes) for name, value in written.items()}


def _parameter(name: str, value: Any, notes: list[str]) -> Any:
    if isinstance(value, dict):
        settings = _parameters(value, notes)
        solver = _SOLVERS.get(settings.pop("solver", None))
        if solver is None:
            raise InvariantError(f"{name} is no solver of ours")
        return solver(**settings)
    if not isinstance(value, str | int | float | None) or not _is_possible(name, value):
        raise InvariantError(f"{name} is {value!r:.60}")
    if name in MOST and isinstance(value, int | float) and abs(value) > MOST[name]:
        most = MOST[name] if value > 0 else -MOST[name]
        notes.append(f"{name} is {value!r:.40}, more than a file may ask for: {most:g} is used.")
        return most
    return value


def _is_possible(name: str, value: Any) -> bool:
    if name in SWITCHES:
        return value is None or value in (0, 1)
    if name == "random_state":
        return value is None or (type(value) is int and 0 <= value < 2**32)
    return not isinstance(value, float) or math.isfinite(value)
