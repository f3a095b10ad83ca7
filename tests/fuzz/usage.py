"""A model file judged: it is refused in one line, or all that a model can do makes sense."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from eventspace._base.errors import UserError
from eventspace.fitted import FittedAverage, load
from eventspace.fitted.compressed import CompressedModel
from eventspace.fitted.files import _arrays, _numbers
from tests.fuzz import models
from tests.fuzz.judge import (
    TOLERANCE,
    Case,
    Kind,
    NonsenseError,
    Verdict,
    answer,
    demand,
    demand_chances,
    demand_finite,
    described,
    flaw_of,
    index_error_of_kernel,
    place_of,
)
from tests.fuzz.mutations import Mutator

# What a good model may answer, too.
ALLOWED = re.compile(r"has no ratings|This model has [\d,]+ events|items are written")
# One case in this many runs the slow calls.
RARELY = {"look": 2, "saved": 4, "update": 4, "report": 64}
RARELY_FOR_AVERAGES = {"look": 2, "saved": 4, "update": 32, "report": 256}
SAME = 32  # one in this many of the files that hold the same as the original is checked further
STRANGER = "someone new"


class ModelTarget:
    """Mutated model files."""

    def __init__(self, folder: Path) -> None:
        files = models.save_all(folder / "models")
        self.seeds = [(file.stem, file.read_bytes()) for file in files]
        self.mutator = Mutator(self.seeds)
        self.judge = ModelJudge(folder, [content for _, content in self.seeds])

    def case(self, seed: int, number: int) -> Case:
        return self.mutator.case(seed, number)

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        return self.judge(content, number)

    def warm_up(self) -> None:
        for name, content in self.seeds:
            verdict = self.judge(content, 0)
            assert verdict.fine, (name, verdict)


class ModelJudge:
    """Judges files by loading them from one path."""

    def __init__(self, folder: Path, originals: Iterable[bytes] = ()) -> None:
        self.path = folder / "model.eventspace"
        self.other = folder / "again.eventspace"
        self.page = folder / "page.html"
        self.cxt = folder / "context.cxt"
        self.originals: set[str] = set()
        for content in originals:
            self.path.write_bytes(content)
            self.originals.add(fingerprint(load(self.path)))

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        """Of a file's bytes; everything is done for case 0, most things for the others."""
        self.path.write_bytes(content)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = load(self.path)
            except Exception as error:
                return answer(error, str(self.path))
            return self._used(model, number)

    def _used(self, model: Any, number: int) -> Verdict:
        doing = "fingerprint"
        try:
            same = fingerprint(model) in self.originals
            if same and number % SAME:
                return Verdict(Kind.SAME)
            for operation in self._operations(model, number):
                doing = operation.__name__
                try:
                    operation(model, number)
                except UserError as error:
                    if not ALLOWED.search(str(error)) or index_error_of_kernel(error):
                        raise
        except NonsenseError as error:
            what = re.sub(r"-?\d[\d.e+-]*|nan|inf", "#", str(error))
            return Verdict(Kind.NONSENSE, f"{doing}: {what}", str(error))
        except MemoryError as error:
            return Verdict(Kind.MEMORY, f"{doing}: {place_of(error)}", described(error))
        except Exception as error:
            return Verdict(Kind.LATER, f"{doing}: {place_of(error)}", described(error))
        return Verdict(Kind.SAME if same else Kind.USABLE)

    def _operations(self, model: Any, number: int) -> list[Callable[[Any, int], None]]:
        average = isinstance(model, FittedAverage)
        rarely = RARELY_FOR_AVERAGES if average else RARELY
        done: list[Callable[[Any, int], None]] = [_predict, _rules, _explain, _transform]
        if average:
            done.append(_interval)
        if number % rarely["look"] == 0:
            done += [_recommend, _events, _summary, self._context]
        for name, operation in (
            ("saved", self._saved),
            ("report", self._report),
            ("update", _update),
        ):
            if number % rarely[name] == 0:
                done.append(operation)
        return done

    def _context(self, model: Any, number: int) -> None:
        table = nw.from_native(model.order().context(self.cxt), eager_only=True)
        lines = self.cxt.read_text(encoding="utf-8").splitlines()
        n, m = int(lines[2]), int(lines[3])
        demand(n == len(table) and m == model.n_events, "context: its size")
        demand(len(lines) == 5 + n + m + n, "context: a name is not one line")

    def _saved(self, model: Any, number: int) -> None:
        model.save(self.other)
        again = load(self.other)
        demand(fingerprint(again) == fingerprint(model), "saved and loaded, it is another")

    def _report(self, model: Any, number: int) -> None:
        from tests.fuzz.pages import demand_sound

        options = {"n_events": 2} if isinstance(model, FittedAverage) else {}
        model.report(self.page, **options)
        demand_sound(self.page.read_text(encoding="utf-8"))


def fingerprint(model: Any) -> str:
    """What a model says and was made of, in short: equal for files that hold the same."""
    seen = model.observations
    parts = [type(model).__name__, repr(sorted(vars(model.settings).items(), key=str))]
    parts += [repr(seen.scale), repr(seen.library), repr(seen.forgetting)]
    parts += [repr(_numbers(model.record))]
    digest = hashlib.sha1("\n".join(parts).encode("utf-8", "surrogatepass"))
    for ids in (model.user_ids, model.item_ids):
        digest.update(repr(ids.tolist()).encode("utf-8", "surrogatepass"))
    for array in (*_arrays(model.record).values(), *seen.by_user):
        whole = np.asarray(array)
        digest.update(f"{whole.dtype.str} {whole.shape}".encode())
        plain = whole.dtype != object
        digest.update(whole.tobytes() if plain else repr(whole.tolist()).encode("utf-8", "replace"))
    return digest.hexdigest()


def _predict(model: Any, number: int) -> None:
    n_users, n_items = len(model.user_ids), len(model.item_ids)
    p = model.predict()
    demand(p.shape == (n_users, n_items), f"predict(): the shape {p.shape}")
    demand_chances(p, "predict()")
    u, i = np.array([0, number % n_users, -1]), np.array([number % n_items, 0, -1])
    pairs = model.predict((model.user_ids[u], model.item_ids[i]))
    demand(np.allclose(pairs, p[u, i], rtol=0, atol=1e-6), "pairs differ from predict()")
    demand_chances(
        model.predict(([STRANGER], model.item_ids[:1]), unknown="population"), "unknown user"
    )
    demand_chances(model.predict(([STRANGER], [STRANGER]), unknown="population"), "unknown both")
    lo, hi = model.observations.scale
    stars = model.predict((model.user_ids[u], model.item_ids[i]), unit="original")
    demand_finite(stars, "unit original")
    slack = TOLERANCE * max(1.0, abs(lo), abs(hi))
    demand(lo < hi, "the scale has no width")
    demand((stars >= lo - slack).all() and (stars <= hi + slack).all(), "beyond the scale")


def _recommend(model: Any, number: int) -> None:
    user = model.observations.user_ids[number % len(model.user_ids)]
    demand_chances(_column(model.recommend(user), "probability"), "recommend")
    _column(model.recommend(user, seen=True, unit="original"), "value")


def _rules(model: Any, number: int) -> None:
    seen = model.observations
    if seen.missing and not np.isin(seen.by_user.value, (0, 1)).all():
        return  # which is refused: values between yes and no
    proved = bool(number % 2)
    found = model.rules(top=20, min_evidence=0, proved=proved, conditions=1 + (number % 8 == 0))
    for name in ("confidence", "confidence_low", "confidence_high", "base", "support"):
        demand_chances(_column(found, name), f"rules: {name}")
    for name in ("gain", "gain_low", "gain_high", "lift"):
        demand_finite(_column(found, name), f"rules: {name}")
    both, users = _column(found, "like_both"), _column(found, "users")
    demand(((both >= 0) & (both <= users)).all(), "rules: counts")


def _events(model: Any, number: int) -> None:
    mass = _column(model.events(), "mass")
    demand_chances(mass, "events: mass")
    demand(abs(mass.sum() - 1) < 1e-4, "events: masses do not add up to one")


def _explain(model: Any, number: int) -> None:
    seen = model.observations
    user = seen.user_ids[number % len(model.user_ids)]
    rated = np.flatnonzero(np.diff(seen.by_item.ptr))
    item = seen.item_ids[int(rated[number % len(rated)]) if len(rated) else 0]
    found = model.explain(user, item)
    demand_chances([found.probability, found.population], "explain")
    demand(str(found), "explain: no text")
    demand("<pre" in found._repr_html_(), "explain: no HTML")
    demand(len(found.events) and len(found.rules) >= 0, "explain: no events")


def _transform(model: Any, number: int) -> None:
    items, (lo, hi) = model.item_ids, model.observations.scale
    n = min(3, len(items))
    pmf = model.transform(([STRANGER] * n, items[:n], [lo, hi, lo][:n]))
    demand_chances(pmf, "transform")
    demand(np.allclose(pmf.sum(axis=1), 1, atol=1e-4), "transform: no distribution")


def _summary(model: Any, number: int) -> None:
    flaw = flaw_of(model.summary(), None, lines=200)
    demand(not flaw or flaw.startswith("more"), f"summary: {flaw}")
    if isinstance(model, CompressedModel):
        table = model.diagnostics()
        demand_chances(_column(table, "mass"), "diagnostics: mass")
        demand(model.expected_rmse >= model.loss, "expected: less than the loss")


def _interval(model: Any, number: int) -> None:
    u, i = number % len(model.user_ids), number % len(model.item_ids)
    found = model.predict_interval((model.user_ids[[u, 0]], model.item_ids[[i, 0]]))
    low, mean, high, std = (_column(found, name) for name in ("low", "mean", "high", "std"))
    demand_chances([low, mean, high], "predict_interval")
    demand_finite(std, "predict_interval: std")
    within = (low <= mean + TOLERANCE).all() and (mean <= high + TOLERANCE).all()
    demand(within, "predict_interval: the mean is outside")


def _update(model: Any, number: int) -> None:
    """A new user and a new item, apart and together; then all that they brought is forgotten."""
    users, items, (lo, hi) = model.user_ids, model.item_ids, model.observations.scale
    fading = model.observations.forgetting
    now, life = (0.0, 1.0) if fading is None else (fading.now, fading.half_life)

    def dated(users: Any, items: Any, values: Any, later: float = 0.0) -> Any:
        rows = {"user": list(users), "item": list(items), "value": values}
        return pd.DataFrame({**rows, "time": now + later})

    n = min(3, len(items))
    model = model.update(dated([STRANGER] * n, items[:n], [hi, lo, hi][:n]))
    m = min(3, len(users))
    new = dated(users[:m], [STRANGER] * m, [lo, hi, hi][:m], later=min(life, 1e6))
    if not model.observations.missing:
        found = model.monitor(new)
        demand(str(found) and not found.n_ratings, "monitor: of a new item nothing is expected")
        demand_finite([model.monitor(dated(users[:1], items[:1], [hi])).high], "monitor")
    model = model.update(new)
    demand_chances(model.predict(), "predict() after update")
    one = dated([STRANGER], [STRANGER], [hi])
    model = model.update(one, forget=([STRANGER] * n, items[:n]))
    demand_chances(model.predict(([STRANGER], [STRANGER])), "the new ones after update")
    model = model.update(forget=([STRANGER], [STRANGER]))
    demand_chances(model.predict(([STRANGER], [STRANGER])), "those without ratings after update")


def _column(table: Any, name: str) -> Any:
    if isinstance(table, pd.DataFrame):  # as nearly always, and much sooner
        return table[name].to_numpy()
    return nw.from_native(table, eager_only=True)[name].to_numpy()
