"""An estimator as a recommender of Cornac."""

from __future__ import annotations

from typing import Any, Self

from eventspace._base.extras import extra
from eventspace.adapters.learning import appeal_of, learnt, pmf_of, values_of
from eventspace.estimators.base import Holder

with extra("cornac", "A recommender of Cornac needs"):
    from cornac.models import Recommender

__all__ = ["KolmogorovRecommender"]


class KolmogorovRecommender(Recommender):  # type: ignore[misc]
    """A recommender of Cornac that learns by an estimator of ours.

    ``Experiment`` and the methods of evaluation take it as one of theirs. Ratings are predicted
    values; if a user or an item is unknown, the population stands in. Items are ranked as
    ``recommend`` ranks them.

    Parameters
    ----------
    estimator : estimator, optional
        What learns; None: a :class:`KolmogorovModel`. Each fit begins with a copy of it.
    name : str, optional
        The name in Cornac's tables; None: the estimator's.
    trainable, verbose : bool
        As in Cornac.

    Attributes
    ----------
    model_ : estimator
        The fitted copy. It knows users and items by their raw ids.
    """

    model_: Any

    def __init__(
        self,
        estimator: Holder | None = None,
        name: str | None = None,
        trainable: bool = True,
        verbose: bool = False,
    ) -> None:
        own = "KolmogorovModel" if estimator is None else type(estimator).__name__
        super().__init__(name=name or own, trainable=trainable, verbose=verbose)
        self.estimator = estimator

    def fit(self, train_set: Any, val_set: Any = None) -> Self:
        """Learn from a training set; nothing is learnt from the validation set."""
        super().fit(train_set, val_set)
        if self.trainable:
            users, items, values = train_set.uir_tuple
            table = [self.user_ids[u] for u in users], [self.item_ids[i] for i in items], values
            self.model_ = learnt(self.estimator, table, "auto")
        return self

    def score(self, user_idx: int, item_idx: int | None = None) -> Any:
        """The predicted value of one item, or what all items of the training set are ranked by."""
        fitted, user = self.model_.fitted_, self.user_ids[user_idx]
        if item_idx is not None:
            return values_of(fitted, [user], [self.item_ids[item_idx]])[0]
        items = fitted.observations.item_ids.positions(self.item_ids[: self.num_items])
        return appeal_of(fitted, user, pmf_of(fitted, user))[items]
