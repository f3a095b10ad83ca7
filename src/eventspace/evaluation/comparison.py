"""Models on the same parts of a table, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from eventspace._base.checks import check_choice, check_whole
from eventspace._base.errors import UserError
from eventspace._base.progress import bar
from eventspace._base.types import Bits, Positions
from eventspace.baselines import BiasModel, HypercubeModel, ItemKMeans, PopularityModel
from eventspace.data.frames import DataFrame, data_frame
from eventspace.data.learnable import to_learn_from
from eventspace.data.observations import Observations
from eventspace.data.pairs import Pairs, is_column
from eventspace.data.readers.roles import long_roles
from eventspace.data.readers.tables import table_of
from eventspace.data.times import entry_times
from eventspace.estimators.model import KolmogorovModel
from eventspace.evaluation.trial import Trial
from eventspace.fitting.folds import Fold
from eventspace.rules.likes import liked_from
from eventspace.splits import EntryKFold, held_out_rows

SHARE = 0.2  # of the entries that is held out, unless it is said


def evaluate(
    X: Any,
    models: Mapping[str, Any] | None = None,
    *,
    cv: int | None = None,
    test_size: float | None = None,
    by: Literal["entries", "time"] = "entries",
    time: Any = None,
    like: float | None = None,
    n: int = 10,
    random_state: Any = 0,
    verbose: bool | None = None,
) -> DataFrame:
    """Fit models on a part of a table, and measure them on the rest.

    Parameters
    ----------
    X : table
        Anything that ``Observations.of`` reads.
    models : dict of names and models, optional
        What to compare: estimators of eventspace, its baselines, or any object with ``fit`` and
        ``predict``. Such an object is called as scikit-learn's are: ``fit(pairs, values)`` and
        ``predict(pairs)``, where ``pairs`` is a DataFrame with the columns ``user`` and ``item``,
        and values are in the unit of the table. If its ``fit`` takes one argument, that is the long
        table. None: a :class:`KolmogorovModel` and :func:`rivals`. Each fit gets its own copy.
    cv : int, optional
        So many folds, each of which is held out once. None: one part is held out.
    test_size : float, default 0.2
        The share of the entries that is held out, if there are no folds.
    by : {"entries", "time"}, default "entries"
        Hold out random entries, or the latest of each user. Either way no user and no item is
        left without an entry to learn from.
    time : name or column, optional
        For ``by="time"``: the column of times of a long table, found by its usual names. For
        Observations the times themselves, in the order of :func:`~eventspace.splits.long_table`.
    like : float, optional
        The least value that is a like. None: the least that is above the mean.
    n : int, default 10
        How many recommendations are judged.
    random_state : int, RandomState or None, default 0
        Of the split, and of the models if none are given.
    verbose : bool or None, default None
        A progress bar: always, never, or (None) when a person watches.

    Returns
    -------
    DataFrame
        One row per fold and model, in the library of the table:

        - ``model``, ``fold``;
        - ``rmse``, ``mae``: of the predictions, in the unit of the table;
        - ``log_loss``: of whether a value is a like. P[like] is the prediction if the table holds
          yes and no. Otherwise values are taken to spread around the prediction by a normal law,
          as widely as a Kolmogorov model says, or as another model's errors do in training;
        - ``coverage``: the share of the values inside their intervals of 90 %. It is missing for
          models without intervals, and if the table holds yes and no;
        - ``ndcg@10``, ``recall@10``: of recommendations. All items that the user has not in the
          training part are ranked, by ``recommend(user, n)`` of models that have it, else by
          ``predict``, ties by the number of ratings. The held-out likes are what should be found.
          It is the mean over the users with such likes;
        - ``seconds``: of the fit.

    """
    check_whole("n", n, 1)
    seen = to_learn_from(X)
    if seen.missing:
        raise UserError(
            "What is missing says no in this table: a yes that is held out would be learnt as a "
            "no. Compare recommendations of models fitted on a part of it instead."
        )
    named = _named(models, random_state)
    least = least_like(seen, like)
    parts = list(_parts(X, seen, cv, test_size, by, time, random_state))
    rows: list[dict[str, Any]] = []
    with bar("evaluate", len(parts) * len(named), verbose) as update:
        for fold, held in enumerate(parts):
            trial = Trial(Fold.of(seen, held), least, n)
            for name, model in named.items():
                update(len(rows), name)
                rows.append({"model": name, "fold": fold, **trial.scores(name, model)})
    return data_frame({name: [row[name] for row in rows] for name in rows[0]}, seen.library)


def rivals(random_state: Any = 0, n_jobs: int | None = -1) -> dict[str, Any]:
    """The baselines that :func:`evaluate` compares with, by the names of their classes."""
    models = (
        PopularityModel(),
        BiasModel(),
        ItemKMeans(random_state=random_state, n_jobs=n_jobs),
        HypercubeModel(random_state=random_state, n_jobs=n_jobs),
    )
    return {type(model).__name__: model for model in models}


def _named(models: Mapping[str, Any] | None, random_state: Any) -> dict[str, Any]:
    """The models to compare, checked before the first of them is fitted."""
    if models is None:
        return {
            "KolmogorovModel": KolmogorovModel(random_state=random_state),
            **rivals(random_state),
        }
    if not isinstance(models, Mapping) or not models:
        kind = "nothing" if isinstance(models, Mapping) else f"a {type(models).__name__}"
        raise UserError(
            f"must be a dict of names and models, such as {{'mine': model}}, not {kind}.",
            parameter="models",
        )
    for name, model in models.items():
        if isinstance(model, type):
            raise UserError(f"models[{name!r}] is a class: pass {model.__name__}() instead.")
        lacking = [verb for verb in ("fit", "predict") if not callable(getattr(model, verb, None))]
        if lacking:
            raise UserError(
                f"models[{name!r}] has no method {' and no '.join(lacking)}: a model to compare "
                f"has both, and a {type(model).__name__} has not."
            )
    return dict(models)


def least_like(seen: Observations, like: float | None) -> float:
    """The least value that is a like; if all values are the same, every entry is one."""
    least = liked_from(seen, like)
    return float(seen.from_unit(seen.by_user.value.min())) if least == math.inf else least


def _parts(
    X: Any,
    seen: Observations,
    cv: int | None,
    test_size: float | None,
    by: Literal["entries", "time"],
    time: Any,
    random_state: Any,
) -> Iterator[Bits]:
    """The entries that are held out, fold by fold."""
    check_choice("by", by, ("entries", "time"))
    if cv is not None:
        if by == "time" or time is not None:
            raise UserError("makes random folds: leave it out to split by time.", parameter="cv")
        if test_size is not None:
            raise UserError("is for one split; folds have their share.", parameter="test_size")
        for _, rows in EntryKFold(cv, random_state=random_state).split(seen):
            yield np.isin(np.arange(seen.n_observed), rows)
        return
    times = None
    if by == "time":
        times = _times(X, seen, time)
    elif time is not None:
        raise UserError(
            "is for a split by time.",
            parameter="time",
            value=time,
            remedy="Say by='time'.",
            shell="Say --by time.",
        )
    users, items, _ = seen.coo()
    share = SHARE if test_size is None else test_size
    yield held_out_rows(Pairs(users, items), share, by=by, times=times, random_state=random_state)


def _times(X: Any, seen: Observations, time: Any) -> Positions:
    """The times of the entries as ranks."""
    if isinstance(X, Observations) and is_column(time):
        if len(time) != seen.n_observed:
            raise UserError(
                f"has {len(time)} times for {seen.n_observed} entries: one for each is wanted, in "
                "the order of long_table(X).",
                parameter="time",
            )
        return np.unique(np.asarray(time), return_inverse=True)[1]
    table = None if isinstance(X, (Observations, tuple)) else table_of(X)
    roles = None if table is None else long_roles(table)
    if table is None or roles is None:
        raise UserError(
            "by='time' needs a long table with a column of times: a DataFrame, or its file."
        )
    return entry_times(seen, table, roles, time)
