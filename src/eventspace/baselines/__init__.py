"""Baselines for comparison with Kolmogorov models: the same tables in, the same methods."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eventspace.baselines.bias import BiasModel
    from eventspace.baselines.clusters import ItemKMeans
    from eventspace.baselines.factorization import BinaryFactorization
    from eventspace.baselines.hypercube import HypercubeModel
    from eventspace.baselines.popularity import PopularityModel

__all__ = ["BiasModel", "BinaryFactorization", "HypercubeModel", "ItemKMeans", "PopularityModel"]

_ROOMS = {
    "BiasModel": "bias",
    "BinaryFactorization": "factorization",
    "HypercubeModel": "hypercube",
    "ItemKMeans": "clusters",
    "PopularityModel": "popularity",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"eventspace.baselines.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'eventspace.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
