"""What estimators have in common: they learn a fitted model, hold it, and answer as it does."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from eventspace._base.html import in_html
from eventspace._base.types import Codes, Floats
from eventspace.data.observations import Observations
from eventspace.data.pairs import is_positional
from eventspace.fitted import FittedModel, load
from eventspace.fitted.prediction import Predictor

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F")


def answered(method: Callable[Concatenate[F, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of fitted models as one of the estimators that hold them."""

    @wraps(method)
    def answer(self: Any, /, *arguments: P.args, **options: P.kwargs) -> R:
        found: R = getattr(self._asked(), method.__name__)(*arguments, **options)
        return found

    return answer


class Holder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose ``fitted_`` is what it has learnt, and predicts.

    Its attributes are here with an underscore: ``pmf_`` is ``fitted_.pmf``.
    """

    fitted_: Any
    observations_: Observations
    pmf_: Floats
    indicators_: NDArray[Any]
    pmf_mean_: Floats
    indicator_mean_: Floats

    predict = answered(Predictor.predict)
    transform = answered(Predictor.transform)
    inverse_transform = answered(Predictor.inverse_transform)
    recommend = answered(Predictor.recommend)
    score = answered(Predictor.score)

    def _asked(self) -> Any:
        """What was learnt, ready to answer."""
        check_is_fitted(self)
        return self.fitted_

    def __getattr__(self, name: str) -> Any:
        """What the fitted model knows; not what it does."""
        asked = name.endswith("_") and not name.startswith("_") and name != "fitted_"
        if asked and hasattr(self, "fitted_"):
            value = getattr(self.fitted_, name[:-1], self)
            if value is not self and not callable(value):
                return value
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        known = self.fitted_.known() if hasattr(self, "fitted_") else []
        return sorted({*super().__dir__(), *(f"{name}_" for name in known)})

    @property
    def n_features_in_(self) -> int:
        """How many items there are."""
        return self.observations_.n_items

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class Estimator(Holder):
    """An estimator of Kolmogorov models, which answers all that a fitted one does."""

    codes_: Codes
    error_: float
    _learnt_with: ClassVar[type[Any] | None] = None  # the class of its settings, where it has one

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls._learnt_with is not None:  # its constructor, by the estimator's own name in errors
            init: Any = cls._learnt_with.__init__
            own = FunctionType(init.__code__, init.__globals__, "__init__", init.__defaults__)
            own.__kwdefaults__, own.__annotations__ = init.__kwdefaults__, init.__annotations__
            own.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = own  # type: ignore[method-assign]

    def _settings(self) -> Any:
        """The parameters as they are now."""
        assert self._learnt_with is not None
        names = [field.name for field in fields(self._learnt_with)]
        return self._learnt_with(**{name: getattr(self, name) for name in names})

    def _asked(self) -> Any:
        """What was learnt; parameters that were set since then apply to newcomers and files."""
        fitted = super()._asked()
        if self._learnt_with is not None:
            settings = self._settings()
            if vars(settings) != vars(fitted.settings):  # others may hold the old one
                self.fitted_ = fitted = fitted.with_settings(settings)
        return fitted

    event = answered(FittedModel.event)
    query = answered(FittedModel.query)
    order = answered(FittedModel.order)
    events = answered(FittedModel.events)
    explain = answered(FittedModel.explain)
    similar_items = answered(FittedModel.similar_items)
    similar_users = answered(FittedModel.similar_users)
    monitor = answered(FittedModel.monitor)
    summary = answered(FittedModel.summary)
    save = answered(FittedModel.save)

    def transform(self, X: Any) -> Any:
        """The PMF of each user of a table, taken as new: rows x events.

        The items must be the model's own. The rows are in the order of the table's (of the sorted
        ids for a long one). After ``set_output(transform="pandas")`` the users are the index.
        Nothing is kept: to add users to the model, use :meth:`update`.
        """
        fitted = self._asked()
        if is_positional(X) or _get_output_config("transform", self)["dense"] != "pandas":
            return fitted.transform(X)
        import pandas as pd

        table = fitted.aligned(X)
        users = pd.Index(table.user_ids.values, name="user")
        own = isinstance(X, pd.DataFrame) and X.index.equals(users)
        return pd.DataFrame(fitted.transform(table), index=X.index if own else users)

    def update(self, X: Any = None, *, forget: Any = None) -> Self:
        """Take in the ratings of a table, and let the pairs in ``forget`` go, without a new fit.

        Users and items may be known or new. A value for a pair that is rated already replaces it.
        ``forget`` holds pairs, as in :meth:`predict`. Only users and items of these ratings move;
        the fitted model's ``update`` says which of them, and how. Where ratings fade, the table
        needs times: what is known fades up to the latest of them.
        """
        self.fitted_ = self._asked().update(X, forget=forget)
        return self

    @classmethod
    def holding(cls, fitted: FittedModel) -> Self:
        """An estimator with the settings of a fitted model, which it holds."""
        estimator = cls(**vars(fitted.settings))
        estimator.fitted_ = fitted
        return estimator

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote."""
        return cls.holding(load(path, cls.__name__))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of :meth:`transform`."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self.pmf_.shape[1])], dtype=object)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        return f"{text}  # fitted: {self.observations_!r}" if hasattr(self, "fitted_") else text

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in shown and hasattr(self, "fitted_"):
            shown["text/html"] += in_html(self.summary())
        return shown
