"""An estimator as a scorer of LensKit."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Literal

import numpy as np

from eventspace._base.extras import extra
from eventspace._base.types import Floats
from eventspace.adapters.learning import appeal_of, learnt, pmf_of
from eventspace.data.observations import Observations
from eventspace.estimators.base import Holder
from eventspace.estimators.model import KolmogorovModel

with extra("lenskit", "A scorer of LensKit needs"):
    from lenskit.data import Dataset, ItemList, QueryInput, RecQuery
    from lenskit.pipeline import Component
    from lenskit.training import Trainable, TrainingOptions
    from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

__all__ = ["KolmogorovScorer", "ScorerConfig"]


def described(estimator: Holder) -> dict[str, Any]:
    """The class of an estimator and its parameters, for LensKit's files of configurations."""
    kind = type(estimator)
    parameters: dict[str, Any] = estimator.get_params(deep=False)
    return {"kind": f"{kind.__module__}:{kind.__qualname__}", **parameters}


def made(estimator: Any) -> Any:
    """An estimator from its description; one that is one already is taken as it is."""
    if not isinstance(estimator, Mapping):
        return estimator
    parameters = dict(estimator)
    module, _, name = parameters.pop("kind").partition(":")
    return getattr(import_module(module), name)(**parameters)


class ScorerConfig(BaseModel):  # type: ignore[misc]
    """The configuration of a :class:`KolmogorovScorer`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    estimator: Annotated[Holder, BeforeValidator(made), PlainSerializer(described)] = (
        KolmogorovModel()
    )
    """What learns. Each training begins with a copy of it."""

    score: Literal["value", "appeal"] = "value"
    """The predicted value, or what ``recommend`` ranks by."""


class KolmogorovScorer(Component[ItemList], Trainable):  # type: ignore[misc]
    """A scorer of LensKit that learns by an estimator of ours.

    Pipelines, batch inference and metrics take it as one of theirs. If a user is not in the
    training data, the ratings of the query say who it is. Where there are none, and for unknown
    items, the population stands in.

    Its configuration is an ``estimator``, which learns, by default a :class:`KolmogorovModel`, and
    ``score``: "value" for the predicted value in the unit of the ratings (the default), "appeal"
    for what ``recommend`` ranks by. Each training begins with a copy of the estimator. If that has
    no ``random_state``, LensKit's generator gives one.

    Attributes
    ----------
    model_ : estimator
        The fitted copy.
    """

    config: ScorerConfig
    model_: Any

    def train(self, data: Dataset, options: TrainingOptions = TrainingOptions()) -> None:  # noqa: B008
        """Learn from the ratings of a data set; without ratings, from who met what."""
        if hasattr(self, "model_") and not options.retrain:
            return
        field = "rating" if "rating" in data.interactions().attribute_names else None
        rated = data.interaction_matrix(format="pandas", field=field, original_ids=True)
        names = ["user_id", "item_id", *([] if field is None else [field])]
        table = tuple(rated[name] for name in names)
        seed = int(options.random_generator().integers(1 << 31))
        self.model_ = learnt(self.config.estimator, table, "auto", seed)

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """The items with their scores."""
        query = RecQuery.create(query)
        fitted, pmf = self.model_.fitted_, self._pmf_of(query)
        at = fitted.observations.item_ids.positions(items.ids())
        if self.config.score == "appeal":  # an unknown item has none
            scores = np.append(appeal_of(fitted, query.user_id, pmf), np.nan)[at]
        else:
            p = fitted.products(pmf[None, :], np.zeros(len(at), np.int64), at)
            scores = fitted.observations.from_unit(p)
        return ItemList(items, scores=scores)

    def _pmf_of(self, query: RecQuery) -> Floats:
        fitted, history = self.model_.fitted_, query.history_items
        known = fitted.observations
        ratings = None if history is None else history.field("rating")
        if ratings is None or known.user_ids.positions([query.user_id])[0] >= 0:
            return pmf_of(fitted, query.user_id)
        rated = known.item_ids.positions(history.ids()) >= 0
        table = np.zeros(int(rated.sum()), np.int64), history.ids()[rated], ratings[rated]
        own = Observations.of(table, scale=known.scale, items=known.item_ids)
        return fitted.transform(own)[0] if own.n_users else pmf_of(fitted, query.user_id)
