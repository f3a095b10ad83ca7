"""Kolmogorov models for binary random variables: predictions you can reason about."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, without its import: a Ctrl-C in it would be a traceback
if TYPE_CHECKING:
    from typing import Any

    from eventspace._base.errors import UserError
    from eventspace._base.version import __version__
    from eventspace.data.observations import Observations
    from eventspace.estimators.descent import KolmogorovDescent
    from eventspace.estimators.ensemble import KolmogorovEnsemble
    from eventspace.estimators.model import KolmogorovModel
    from eventspace.estimators.posterior import KolmogorovPosterior
    from eventspace.evaluation import evaluate
    from eventspace.fitted import load

__all__ = [
    "KolmogorovDescent",
    "KolmogorovEnsemble",
    "KolmogorovModel",
    "KolmogorovPosterior",
    "Observations",
    "UserError",
    "__version__",
    "evaluate",
    "load",
]

# The rooms behind most names import numba, scikit-learn and pandas: they are opened on first use.
_ROOMS = {
    "KolmogorovDescent": "eventspace.estimators.descent",
    "KolmogorovEnsemble": "eventspace.estimators.ensemble",
    "KolmogorovModel": "eventspace.estimators.model",
    "KolmogorovPosterior": "eventspace.estimators.posterior",
    "Observations": "eventspace.data.observations",
    "UserError": "eventspace._base.errors",
    "__version__": "eventspace._base.version",
    "evaluate": "eventspace.evaluation",
    "load": "eventspace.fitted",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        from importlib import import_module

        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'eventspace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
