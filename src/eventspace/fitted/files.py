"""Fits to files and back: what of one goes into :mod:`eventspace.storage.archive`."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace import indicators, pmf
from eventspace._base.codes import WORD
from eventspace._base.errors import warn
from eventspace._base.version import __version__
from eventspace.data.entries import Entries
from eventspace.data.forgetting import Forgetting
from eventspace.data.frames import LIBRARIES
from eventspace.data.ids import Ids
from eventspace.data.invariants import (
    ARRAYS,
    NUMBERS,
    InvariantError,
    check_entries,
    check_fit,
    check_number,
)
from eventspace.data.missing import MOST_WEIGHT
from eventspace.data.observations import checked_observations
from eventspace.data.scale import Scale
from eventspace.fitted.fit import CompressedFit, DescentFit, EnsembleFit, Fit, PosteriorFit
from eventspace.fitting import restarts
from eventspace.fitting import settings as descents
from eventspace.fitting.meetings import Meetings
from eventspace.fitting.restarts import EnsembleSettings
from eventspace.fitting.settings import DescentSettings
from eventspace.sampling import settings as chains
from eventspace.sampling.settings import ModelSettings, SamplingSettings
from eventspace.storage import archive

# What a file calls a model, after the estimator that learns it
KINDS: dict[str, tuple[type[Fit], type[Any]]] = {
    CompressedFit.estimator: (CompressedFit, ModelSettings),
    DescentFit.estimator: (DescentFit, DescentSettings),
    EnsembleFit.estimator: (EnsembleFit, EnsembleSettings),
    PosteriorFit.estimator: (PosteriorFit, SamplingSettings),
}
BEFORE_3 = "KolmogorovModel"  # what formats 1 and 2 call a descent
HEADER_KEYS = (
    "format",
    "version",
    "model",
    "written_by",
    "parameters",
    "scale",
    "library",
    "missing",
    "half_life",
    "now",
    "unit_weight",
)
ENTRIES = ("ptr", "index", "value", "weight")
SWITCHES = ("verbose", "warm_start")
UNKNOWN = ("held_out_error",)  # NaN where it is not known, and null in a file

# The most that a file may ask of what is done after it is opened: new users and items are solved
# for with its settings.
MOST = {
    "pmf_penalty": 1e100,
    "indicator_penalty": 1e100,
    "concentration": 1e100,
    "n_iter": 1_000_000,
    "n_init": 1_000_000,
    "n_jobs": 1024,
    "n_chains": 256,
    "n_warmup": 1_000_000,
    "n_draws": 1_000_000,
    "node_budget": 10_000_000,
    "n_starts": 10_000,
    "n_roundings": 10_000,
    "max_steps": 100_000,
}

_SOLVERS = {
    solver.__name__: solver for solver in (*indicators.SOLVERS.values(), *pmf.SOLVERS.values())
}


def save_fit(fit: Fit, settings: Any, path: str | os.PathLike[str]) -> None:
    """Write settings, arrays, ids, scale and observations."""
    check_parts(fit)
    seen = fit.observations
    header = {
        "model": fit.estimator,
        "written_by": __version__,
        "parameters": {name: _plain(value) for name, value in vars(settings).items()},
        "scale": list(seen.scale),
        "library": seen.library,
        "missing": seen.missing,
        **dict(zip(Forgetting._fields, seen.forgetting or (None, None, None), strict=True)),
        **_numbers(fit),
    }
    arrays = _arrays(fit)
    arrays |= {"user_ids": seen.user_ids.values, "item_ids": seen.item_ids.values}
    arrays |= {f"by_user_{name}": getattr(seen.by_user, name) for name in ENTRIES}
    _check_settings(settings, fit)  # what could not be read again is not written
    _parameters(header["parameters"], [])
    archive.write(path, header, arrays)


def check_parts(fit: Fit) -> None:
    """Refuse a fit whose parts do not go together, as one from a pickle may be."""
    seen = fit.observations
    check_fit(_arrays(fit), _numbers(fit), seen.n_users, seen.n_items)
    check_entries(seen.by_user, seen.n_users, seen.n_items)
    if not seen.n_observed:
        raise InvariantError("nothing is observed")
    if isinstance(fit, CompressedFit) and not fit.learnt_from_some:
        raise InvariantError("nobody and nothing that was learnt from has ratings")


def _check_settings(settings: Any, fit: Fit) -> None:
    """Models that were made of given parts may have more events than a solve has."""
    if isinstance(settings, DescentSettings):
        descents.check_settings(settings, max(WORD, fit.n_events))
    elif isinstance(settings, EnsembleSettings):
        restarts.check_settings(settings)
    elif isinstance(settings, ModelSettings):
        chains.check_model_settings(settings)
    else:
        chains.check_settings(settings)


def _names(kind: type[Fit], table: Mapping[str, Any]) -> list[str]:
    """The fields of a fit that are among the arrays, or the numbers, of a file."""
    return [field.name for field in fields(kind) if field.name in table]


def _arrays(fit: Fit) -> dict[str, Any]:
    return {name: getattr(fit, name) for name in _names(type(fit), ARRAYS)}


def _numbers(fit: Fit) -> dict[str, Any]:
    found = {name: getattr(fit, name) for name in _names(type(fit), NUMBERS)}
    if isinstance(fit, DescentFit):
        found["n_iter"] = fit.n_iter
    plain = {name: x.item() if isinstance(x, np.generic) else x for name, x in found.items()}
    return plain | {name: None for name in UNKNOWN if math.isnan(plain.get(name, 0.0))}


def load_fit(path: str | os.PathLike[str], wanted: str | None = None) -> tuple[Fit, Any]:
    """A fit and its settings, as :func:`save_fit` wrote them, of this kind or of any."""
    with archive.opened(path) as stored:
        name = stored.header.get("model")
        if name == BEFORE_3 and stored.header["version"] < 3:
            name = DescentFit.estimator
            stored.header.pop("loss", None)  # which a descent does not have
        if stored.header["version"] < 4:
            stored.header["missing"] = 0.0
        if stored.header["version"] < 5:
            stored.header |= {"half_life": None, "now": None}
        fades = stored.header.get("half_life") is not None
        stored.header.setdefault("unit_weight", 1.0 if fades else None)  # new in version 5, too
        if name not in list(KINDS) or wanted not in (None, name):
            held = (
                name
                if name in list(KINDS)
                else f"{name!r:.60}, of which this version knows nothing"
            )
            asked = "" if wanted is None else f", not a {wanted}"
            raise archive.StorageError(f"holds a {held}{asked}")
        kind, settings_of = KINDS[name]
        if stored.header["version"] < 4:  # where only descents could be interrupted
            stored.header.setdefault("interrupted", False)
        header = _checked_header(kind, stored.header)
        notes: list[str] = []
        parameters = _parameters(header["parameters"], notes)
        settings = settings_of(**parameters)
        fit = _revived(kind, header, _read_arrays(kind, stored))
        _check_settings(settings, fit)
    for note in notes:
        warn(f"{path}: {note}")
    return fit, settings


def _read_arrays(kind: type[Fit], stored: archive.Stored) -> dict[str, NDArray[Any]]:
    names = _names(kind, ARRAYS)
    if stored.header["version"] < 4:
        names = [name for name in names if not name.startswith("met_")]
    texts = [name for name in names if ARRAYS[name].dtype == "object"]
    entries = [f"by_user_{name}" for name in ENTRIES]
    arrays = stored.numbers([*(name for name in names if name not in texts), *entries])
    # how many objects there should be is known before any of them is made
    arrays["user_ids"] = stored.objects("user_ids", max(0, arrays["by_user_ptr"].size - 1))
    arrays["item_ids"] = stored.objects("item_ids", len(np.atleast_1d(arrays["codes"])))
    for name in texts:
        table = arrays[name.replace("_attribute_names", "_attributes")]
        arrays[name] = stored.objects(name, table.shape[-1] if table.ndim else 0)
    stored.refuse_others()
    nothing = Meetings.none(len(arrays["user_ids"]), len(arrays["item_ids"]))
    return {**nothing.fields(), **arrays}


def _checked_header(kind: type[Fit], header: dict[str, Any]) -> dict[str, Any]:
    """The header, if it has the keys that such a fit has, and no others."""
    numbers = _names(kind, NUMBERS) + ["n_iter"] * (kind is DescentFit)
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
    missing = header["missing"]
    if type(missing) not in (int, float) or not 0 <= missing <= MOST_WEIGHT:
        raise InvariantError(f"its weight of what is missing is {missing!r:.60}")
    return header


def _revived(kind: type[Fit], header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Fit:
    """The fit that a file describes, all of it checked."""
    observations = checked_observations(
        Ids(arrays["user_ids"]),
        Ids(arrays["item_ids"]),
        Entries(*(arrays[f"by_user_{name}"] for name in ENTRIES)),
        _scale(header["scale"]),
        _library(header["library"]),
        float(header["missing"]),
        _forgetting([header[name] for name in Forgetting._fields]),
    )
    parts: dict[str, Any] = {name: arrays[name] for name in _names(kind, ARRAYS)}
    parts |= {name: header[name] for name in _names(kind, NUMBERS)}
    parts |= {name: math.nan for name in UNKNOWN if parts.get(name, 0.0) is None}
    fit = kind(observations=observations, **parts)
    check_parts(fit)
    if isinstance(fit, DescentFit):
        check_number("n_iter", header["n_iter"])
        if header["n_iter"] != fit.n_iter:
            raise InvariantError(f"n_iter is {header['n_iter']}, but history has {fit.n_iter:,}")
    return fit


def _scale(written: list[float]) -> Scale:
    lo, hi = written
    if not lo < hi or not math.isfinite(hi - lo):
        raise InvariantError(f"its scale is {written!r:.60}")
    return float(lo), float(hi)


def _forgetting(written: list[Any]) -> Forgetting | None:
    """How the ratings fade, if they do."""
    if all(number is None for number in written):
        return None
    if not all(type(number) in (int, float) for number in written):
        told = ", ".join(f"{number!r:.60}" for number in written)
        raise InvariantError(f"its half-life, time and unit weight are {told}")
    try:
        return Forgetting(*map(float, written))
    except OverflowError:
        raise InvariantError("its half-life, or its time, is beyond all numbers") from None


def _library(written: str) -> str:
    """The library that answers are given in: pandas where the one of the table is not here."""
    return written if importlib.util.find_spec(written) else "pandas"


def _plain(value: Any) -> Any:
    """A parameter as JSON holds it: a solver by its name and settings, a generator not at all."""
    if is_dataclass(value) and not isinstance(value, type):
        settings = {name: _plain(part) for name, part in asdict(value).items()}
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
