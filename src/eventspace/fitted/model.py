"""A fitted model: what it predicts, proves and explains. It needs no scikit-learn."""

from __future__ import annotations

import inspect
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eventspace._base.cached import cached_property
from eventspace._base.codes import WORD, unpack
from eventspace._base.errors import UserError
from eventspace._base.html import in_html
from eventspace._base.progress import bar
from eventspace._base.randomness import streams
from eventspace._base.types import Codes, Floats, Positions
from eventspace.data.frames import DataFrame
from eventspace.data.observations import Observations
from eventspace.data.updates import read_new, read_update
from eventspace.fitted.by_id import as_in, in_order
from eventspace.fitted.files import check_parts, save_fit
from eventspace.fitted.fit import DescentFit, Fit, as_the_population, padded
from eventspace.fitted.monitoring import Monitoring, exactness, monitored
from eventspace.fitted.rules import RuleTeller
from eventspace.fitted.summary import Summary, summary_of_model
from eventspace.fitting.constraints import given_indicators
from eventspace.fitting.half_steps import HalfSteps, new_pmfs
from eventspace.fitting.learning import learn
from eventspace.fitting.meetings import next_chance
from eventspace.fitting.settings import DescentSettings, checked_steps, engine_to_learn
from eventspace.logic.algebra import Event
from eventspace.logic.event_labels import EventLabels
from eventspace.logic.explain import Explanation, Meeting
from eventspace.logic.expressions import event_of
from eventspace.logic.order import Order

REASONS = 3  # items met that say most about another
FEW = 20.0  # ratings of an item that make its share half sure
MOST_FITTED = 0.6  # numbers for each rating: beyond that, errors do not say what to expect
_SEED = 1 << 30  # of the first restart: hardly the one that the caller chose


class FittedModel(RuleTeller):
    """What a fit says: chances, rules, events, reasons. It is not changed by being asked.

    :func:`eventspace.load` reads one from a file; a fitted estimator has it as ``fitted_``.
    """

    record: DescentFit
    settings: DescentSettings

    def __init__(self, fit: Fit, settings: Any) -> None:
        self.record, self.settings = fit, settings  # type: ignore[assignment]

    def with_settings(self, settings: Any) -> Self:
        """The same fit, with other settings for what is new and saved."""
        return type(self)(self.record, settings)

    def known(self) -> list[str]:
        """What it knows of itself, by name."""
        of_fit = [field.name for field in fields(self.record)]
        kinds = (property, cached_property)
        derived = [
            name
            for kind in (type(self.record), type(self))
            for name in dir(kind)
            if isinstance(inspect.getattr_static(kind, name), kinds)
        ]
        return [name for name in of_fit + derived if not name.startswith("_")]

    def __reduce__(self) -> tuple[Any, ...]:
        """What comes from a pickle is checked."""
        return _revived, (type(self), self.record, self.settings)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The estimator that learns such a model."""
        return self.record.estimator

    def __getattr__(self, name: str) -> Any:
        """What the fit knows, such as ``pmf``, ``codes``, ``observations``, ``history``."""
        if name.startswith("__") or name in ("record", "settings"):
            raise AttributeError(name)
        try:
            return getattr(self.record, name)
        except AttributeError:
            hint = f": it is {name[:-1]!r}" if hasattr(self.record, name.rstrip("_")) else ""
            raise AttributeError(f"a {type(self).__name__} has no {name!r}{hint}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.known()})

    def kept_within(self, p: Floats) -> Floats:
        """Probabilities, which a sum of masses exceeds by rounding only."""
        return np.clip(p, 0.0, 1.0, out=p)

    def indicators_in(self, events: slice, items: Positions) -> Floats:
        """psi of some items in some events, as numbers."""
        first, last = events.start // WORD, -(-events.stop // WORD)
        bits = unpack(self.record.codes[items, first:last], events.stop - first * WORD)
        return bits[:, events.start - first * WORD :].astype(np.float64)

    def appeal(
        self, users: Positions, p: Floats, *, meets: bool, like: float | None
    ) -> dict[str, NDArray[Any]]:
        """P[meets and likes] of all items for some users, if it is known who meets what."""
        from eventspace.rules.likes import ChanceOfLike, liked_from

        meetings = self.record.meetings
        if not (meets and meetings):
            return {}
        seen = self.observations
        if seen.missing:  # to meet is to say yes
            return {"chance": meetings.chances(users)}
        spread = self.record.spread
        typical = np.sqrt(np.mean(np.square(spread[seen.by_user.rated])))  # the population's, at -1
        law = ChanceOfLike.of(seen, np.append(spread, typical), liked_from(seen, like))
        likes, met = law(p, users[:, None]), next_chance(meetings.chances(users))
        return {"chance": met * likes, "meets": met, "likes": likes}

    # what it takes in

    def transform(self, X: Any) -> Floats:
        """The PMF of each user of a table, taken as new: one convex solve per row.

        The items must be the model's own. Gives rows x events, in the order of the table's rows (of
        the sorted ids for a long one). Nothing is kept: to add users to the model, use
        :meth:`update`.
        """
        by_user, step = self.aligned(X).by_user, self._steps().update_pmfs
        codes, mean = self.record.codes[:, 0], self.record.pmf_mean
        return new_pmfs(step, by_user, codes, mean, self.settings.pmf_prior).pmf

    def _steps(self) -> HalfSteps:
        """The half-steps for new users and items; its solves have at most 64 events."""
        if self.record.n_events > WORD:
            raise UserError(
                f"This model has {self.record.n_events:,} events, and takes in no new users or "
                f"items: a solve has at most {WORD}. Do it with the average that it was made of, "
                f"or with its to_model(n_events={WORD})."
            )
        steps = checked_steps(self.settings)
        return given_indicators(steps) if self.settings.indicators == "shared" else steps

    def update(self, X: Any = None, *, forget: Any = None) -> Self:
        """The model with the ratings of a table, and without the pairs in ``forget``.

        Users and items may be known or new. A value for a pair that is rated already replaces it.
        ``forget`` holds pairs, as in :meth:`predict`, whose ratings go. The new users of these
        ratings are solved for, then the items, given all their raters, then all of these users,
        given all that they have rated. The rest of the model stays as it is, and so does what was
        given to the fit.
        """
        fit, change = self.record, read_update(self.record.observations, X, forget)
        steps, seen, users, items = self._steps(), change.now, change.users, change.items
        if fit.given == "indicators":
            items = items[items >= len(fit.codes)]
        if fit.given == "pmf":
            users = users[users >= len(fit.pmf)]
        first = fit.codes[0, 0] if self.settings.indicators == "shared" else np.uint64(0)
        pmf = padded(fit.pmf, seen.n_users)
        gap = padded(fit.gap, seen.n_users)
        codes = padded(fit.codes[:, 0], seen.n_items, first)
        proved = padded(fit.proved, seen.n_items)

        def solve(users: Positions) -> None:
            by_user, mean = seen.by_user.taken(users), fit.pmf_mean
            found = new_pmfs(steps.update_pmfs, by_user, codes, mean, self.settings.pmf_prior)
            pmf[users], gap[users] = found.pmf, found.gap

        solve(np.intersect1d(users, change.new_users))
        by_item, seeds = seen.by_item.taken(items), streams(np.random.default_rng(0), len(items))
        found = steps.update_indicators(by_item, pmf, codes[items], seeds)
        codes[items], proved[items] = found.codes, found.proved
        solve(users)
        as_the_population(pmf, users, seen.by_user.rated)
        new = pmf, unpack(codes[:, None], fit.n_events)
        updated = replace(
            fit,
            observations=seen,
            pmf=pmf,
            codes=codes[:, None],
            error=change.error(fit.error, (fit.pmf, fit.indicators), new),
            proved=proved,
            gap=gap,
        )
        return type(self)(updated, self.settings)

    def monitor(self, X: Any) -> Monitoring:
        """How well the model predicts new ratings, before they are taken in.

        ``X`` is a table as for :meth:`update`; the model does not change. Printed, the answer is a
        few sentences: the RMSE of these ratings beside what was expected of them, how many users
        and items have moved, and whether a refit is due. Its ``moved`` is a DataFrame with users
        and items, the most surprising first. Ratings of users or items that the model has no
        rating of are counted, and not judged.
        """
        known = self.observations
        if known.missing:
            raise UserError(
                "Stored ratings alone say little of a model in which a missing one says no: "
                "compare it with evaluate."
            )
        new = read_new(known, X)
        users, items, _ = new.coo()
        rated_users = padded(known.by_user.rated, new.n_users)
        rated_items = padded(known.by_item.rated, new.n_items)
        judged = rated_users[users] & rated_items[items]
        pairs = users[judged], items[judged]
        weight = exactness(new)[judged]
        doubt = self.doubt(*pairs, known.mean_weight / weight)
        return monitored(known, new, judged, self.predict_positions(*pairs), doubt, weight)

    def doubt(self, users: Positions, items: Positions, noisier: Floats) -> Floats:
        """The variance of new ratings around the predictions, in probability.

        With m numbers fitted to n ratings it is (n + m) / (n - m) times that of these ratings:
        Akaike's final prediction error. A PMF with k masses has k - 1 numbers, and a set one for
        each event, but no more than the item has ratings.
        """
        fit, seen = self.record, self.observations.with_unit_weight()
        of_items, fitted = seen.by_item.counts(seen.fades), 0.0
        if not (fit.of_given_parts or fit.given == "pmf"):
            fitted += (fit.pmf[seen.by_user.rated] > 0).sum() - seen.by_user.rated.sum()
        if not (fit.of_given_parts or fit.given == "indicators"):
            fitted += np.minimum(of_items, fit.n_events).sum()
        n = of_items.sum()
        fitted = min(fitted, MOST_FITTED * n)
        noise = np.square(fit.spread)[users] * (n + fitted) / (n - fitted)
        return np.asarray(noisier * noise)

    # what it means

    def event(self, item: Any) -> Event:
        """The event that an item comes true: a set that can be combined and compared.

        ``&``, ``|``, ``~``, ``-`` and ``^`` combine events, ``<=`` asks whether one implies the
        other, ``.probability(user)`` measures one, ``.given(other)`` conditions it.
        """
        return Event.of_item(self.space, item)

    def query(self, expression: str) -> Event:
        """The event that a text describes, such as ``"Alien & ~(Heat | Fargo)"``.

        The operators are as in :meth:`event` and bind as in Python. Titles with operators,
        parentheses or quotes in them need quotes: ``'"Toy Story (1995)" - Heat'``.
        """
        return event_of(self.space, expression)

    def order(self, min_evidence: int = 1) -> Order:
        """Which items imply which: adjacency, influence, classes, Hasse diagram.

        Items with fewer than ``min_evidence`` ratings take no part.
        """
        return Order.of(self.space, min_evidence)

    def events(self, tags: Any = None) -> DataFrame:
        """The elementary events: a DataFrame with mass, breadth, label and most telling items.

        ``breadth`` is the share of items that come true in an event, weighted by their ratings. A
        label begins with it, and names the items whose ratings most rise with the event's mass,
        beyond the means of items and users, and the one that most falls. ``tags`` maps items to
        tags (a dict or a Series; one tag, several, or text such as "Drama|War"), which then take
        the place of items. An average lists the events of its readable model.
        """
        return EventLabels.of(self._readable, tags).table()

    def explain(self, user: Any, item: Any, tags: Any = None) -> Explanation:
        """Why a prediction is what it is, as text and tables; ``tags`` as in :meth:`events`."""
        why = Explanation.of(EventLabels.of(self._readable, tags), user, item)
        return replace(why, meeting=self._meeting(why.user_at, why.item_at))

    def _meeting(self, user: int, item: int) -> Meeting | None:
        """Why a user may meet an item, or not, if that was learnt."""
        meetings, seen = self.record.meetings, self.observations
        if not meetings:
            return None
        met = seen.by_user.index[seen.by_user.ptr[user] : seen.by_user.ptr[user + 1]]
        met = met[met != item]
        both = meetings._replace(codes=meetings.codes[[item]]).chances(np.array([user, -1]))
        chance, population = (both if seen.missing else next_chance(both))[:, 0].tolist()
        base, of_others = meetings.together(item, met)
        ratings = seen.by_item.sizes[met]
        sure = ratings / (ratings + FEW)  # what few have met tells little
        first = np.argsort(-sure * (of_others - base), kind="stable")[:REASONS]
        told = [(seen.item_ids[met[k]], float(of_others[k])) for k in first if of_others[k] > base]
        return Meeting(chance, population, base, tuple(told))

    # what it proves

    def _other_fits(self, n: int) -> list[Codes]:
        """The items' sets in n fits from other starts, without events that carry no mass."""
        if n and getattr(self.record, "given", None) is not None:
            raise UserError(
                f"would learn anew what was given to this fit ({self.record.given}); there is "
                "nothing random about it, and",
                parameter="restarts",
                value=n,
                remedy="restarts=0 is right.",
                shell="leaving it out is right.",
            )
        fits = []
        with bar("restarts", n, self.settings.verbose) as update:
            for k in range(n):
                fits.append(self._sets_of_another(self.observations, _SEED + k))
                update(k + 1, "")
        return fits

    def _sets_of_another(self, observations: Observations, seed: int) -> Codes:
        """The sets of one more descent with the same settings."""
        settings = replace(
            self.settings, random_state=seed, n_init=1, warm_start=False, verbose=False
        )
        with engine_to_learn(settings, observations.n_observed) as machine:
            by_id = in_order(observations)
            descent = learn(by_id, settings, machine)
        if descent.interrupted:
            raise KeyboardInterrupt
        fit = as_in(observations, DescentFit.of(by_id, descent))
        return FittedModel(fit, settings).space.sets

    # how it is shown and kept

    def summary(self) -> Summary:
        """What was fitted, how well, and how much of it is proved, in a few lines of text."""
        return summary_of_model(self.record, self.settings)

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return in_html(repr(self))

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        title: str | None = None,
        tags: Any = None,
        users: Any = None,
        restarts: int = 0,
    ) -> Path:
        """Write one self-contained page that shows the model, and give its path.

        Events, the lattice of items, rules, every item, users with their predictions and the
        reasons, and the fit. It takes ratings, answers Boolean expressions and compares two users.
        It opens from disk in any browser and loads nothing.

        Parameters
        ----------
        path : path
            Where to write it, such as "films.html".
        X : table, optional
            Held-out observations: the rules are tested on them, and predictions are compared with
            them.
        title : str, optional
            The heading of the page; without it, the name of the file.
        tags : dict or Series, optional
            Items to tags, which then name the events, as in :meth:`events`.
        users : ids, optional
            Whose distributions and ratings the page holds; ``[]``: nobody's. None: all users, or
            as many as fit.
        restarts : int, default 0
            Fit this many times more, to see which inclusions last, as in :meth:`rules`.
        """
        from eventspace import report

        return report.write(self, path, X, title=title, tags=tags, users=users, restarts=restarts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file: settings, PMFs, codes, ids, scale and observations."""
        save_fit(self.record, self.settings, path)


def _revived(kind: type[FittedModel], fit: Fit, settings: Any) -> FittedModel:
    check_parts(fit)
    return kind(fit, settings)
