"""An estimator as an algorithm of Surprise."""

from __future__ import annotations

from typing import Any, Self

from eventspace._base.extras import extra
from eventspace.adapters.learning import learnt, values_of
from eventspace.estimators.base import Holder

with extra("surprise", "An algorithm of Surprise needs"):
    from surprise import AlgoBase, Prediction

__all__ = ["KolmogorovAlgorithm"]


class KolmogorovAlgorithm(AlgoBase):  # type: ignore[misc]
    """An algorithm of Surprise that learns by an estimator of ours.

    ``cross_validate``, ``GridSearchCV`` and ``accuracy`` take it as one of theirs. If a user or an
    item is not in the trainset, the population stands in.

    Parameters
    ----------
    estimator : estimator, optional
        What learns; None: a :class:`KolmogorovModel`. Each fit begins with a copy of it.

    Attributes
    ----------
    model_ : estimator
        The fitted copy. It knows users and items by their raw ids.
    """

    model_: Any

    def __init__(self, estimator: Holder | None = None) -> None:
        super().__init__()
        self.estimator = estimator

    def fit(self, trainset: Any) -> Self:
        """Learn from a trainset, on its scale."""
        super().fit(trainset)
        users, items, values = zip(*trainset.all_ratings(), strict=True)
        table = (
            [trainset.to_raw_uid(u) for u in users],
            [trainset.to_raw_iid(i) for i in items],
            list(values),
        )
        self.model_ = learnt(self.estimator, table, trainset.rating_scale)
        return self

    def estimate(self, u: int | str, i: int | str) -> float:
        """The value of a pair of inner ids; Surprise writes unknown ones as text."""
        user = u if isinstance(u, str) else self.trainset.to_raw_uid(u)
        item = i if isinstance(i, str) else self.trainset.to_raw_iid(i)
        return float(values_of(self.model_.fitted_, [user], [item])[0])

    def test(self, testset: Any, verbose: bool = False) -> list[Any]:
        """Surprise's predictions for a testset, made all at once."""
        users, items, true = (list(column) for column in zip(*testset, strict=True))
        values = values_of(self.model_.fitted_, users, items).tolist()
        rows = zip(users, items, true, values, strict=True)
        predictions = [Prediction(*row, {"was_impossible": False}) for row in rows]
        if verbose:
            print(*predictions, sep="\n")
        return predictions
