"""What estimators of averages have in common."""

from __future__ import annotations

from eventspace._base.types import Floats
from eventspace.estimators.base import Estimator, answered
from eventspace.estimators.descent import KolmogorovDescent
from eventspace.fitted import FittedAverage


class AverageEstimator(Estimator):
    """An estimator that learns many models, and holds their average."""

    fitted_: FittedAverage
    noise_: Floats
    n_samples_: int

    rules = answered(FittedAverage.rules)
    report = answered(FittedAverage.report)
    samples = answered(FittedAverage.samples)
    predict_interval = answered(FittedAverage.predict_interval)

    def to_model(self, n_events: int | None = None) -> KolmogorovDescent:
        """One model to hold and to read: with all the events, or compressed to ``n_events``.

        None gives the average itself as a :class:`KolmogorovDescent`, its events numbered by mass.
        It predicts, proves and explains; it takes in nobody new. A number, at most 64, gives a
        model that was fitted to the average's predictions; its ``loss_`` says how far it is from
        them. Either way an item without ratings has the mean indicator of the others.
        """
        return KolmogorovDescent.holding(self._asked().to_model(n_events))
