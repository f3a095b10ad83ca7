"""What estimators of averages have in common."""

from __future__ import annotations

from eventspace._base.types import Floats
from eventspace.estimators.base import Estimator, answered
from eventspace.estimators.descent import KolmogorovDescent
from eventspace.estimators.model import KolmogorovModel
from eventspace.fitted import FittedAverage


class AverageEstimator(Estimator):
    """An estimator that learns many models, and holds their average."""

    fitted_: FittedAverage
    noise_: Floats
    n_samples_: int

    rules = answered(FittedAverage.rules)
    iter_rules = answered(FittedAverage.iter_rules)
    report = answered(FittedAverage.report)
    samples = answered(FittedAverage.samples)
    predict_interval = answered(FittedAverage.predict_interval)

    def to_model(self, n_events: int | str | None = None) -> KolmogorovDescent | KolmogorovModel:
        """One model to hold and to read: with all the events, or compressed to ``n_events``.

        None gives the average itself as a :class:`KolmogorovDescent`, its events numbered by mass.
        It predicts, proves and explains; it takes in nobody new. A number, at most 64, gives a
        :class:`KolmogorovModel` whose predictions are as near to the average's as possible; its
        ``loss_`` says how near. "auto" takes the least number of events whose expected RMSE on
        new ratings is at most 1 % above the average's. Either way an item without
        ratings has the mean indicator of the others.
        """
        fitted = self._asked().to_model(n_events)
        return (KolmogorovDescent if n_events is None else KolmogorovModel).holding(fitted)
