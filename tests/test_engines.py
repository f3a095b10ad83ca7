"""The seam for machines: whatever does an engine's one verb serves all that learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior
from eventspace._base.errors import MissingError
from eventspace.baselines import HypercubeModel, ItemKMeans
from eventspace.data.entries import Entries
from eventspace.data.observations import Observations
from eventspace.engines import ENGINES, choice, cpu, engine
from eventspace.engines.aside import Meanwhile
from eventspace.engines.cuda import presence
from eventspace.engines.gram import normal_equations
from eventspace.engines.protocol import Product, Sets
from eventspace.engines.workbench import Cores


@dataclass(frozen=True)
class Backwards:
    """A machine that takes one row after the other, from the last to the first."""

    n_threads: int = 1

    def with_threads(self, n_threads: int) -> Backwards:
        return Backwards(n_threads)

    def stage(self, *_: Any) -> None:
        return None

    def abreast(self, *_: Any) -> int | None:
        return None

    def workbench(self, *_: Any) -> Cores:
        return Cores()

    def aside(self, task: Any, show: Any) -> Any:
        return Meanwhile(task)

    def together(
        self, title: str, jobs: Any, length: int, show: Any, take: Any = None, stop: Any = None
    ) -> None:
        for k, job in reversed(list(enumerate(jobs))):
            assert max(job.steps()) <= length
            if take is not None:
                take(k, job.found)

    def close(self) -> None:
        pass

    def run(self, step: Any, table: Any, factors: Any, *rows: Any, at_a_time: Any = None) -> Any:
        D, total = factors.shape[1], 0.0
        if hasattr(step, "of_column"):
            table = table.times(step.of_column)
        factors = factors.numbers if isinstance(factors, Sets) else factors
        n_rows = len(table.left) if isinstance(table, Product) else len(table.ptr) - 1
        for k in reversed(range(n_rows)):
            row = slice(k, k + 1)
            G, h, e = np.empty((1, D, D)), np.empty((1, D)), np.empty(1)
            if isinstance(table, Product):
                weighted = factors * table.weight[:, None]
                G[0], e[:] = factors.T @ weighted, table.energy[row]
                h[:] = (table.left[row] @ table.right.T) @ weighted
            else:
                ptr, index, value, weight, missing = table
                normal_equations(ptr[k : k + 2], index, value, weight, factors, G, h, e)
                if missing.size:  # a no in every other cell
                    others = np.setdiff1d(np.arange(len(factors)), index[ptr[k] : ptr[k + 1]])
                    G[0] += (factors[others] * missing[others, None]).T @ factors[others]
            given = step(G, h, e, *(array[row] for array in rows))
            total = total if given is None else total + given
        return total


@pytest.fixture(scope="module")
def ratings():
    return naive_table(np.random.default_rng(0))


def naive_table(rng: np.random.Generator) -> Any:
    table = rng.dirichlet(np.ones(3), 60) @ (rng.random((3, 25)) < 0.5)
    table[rng.random(table.shape) < 0.2] = np.nan
    return table


def parts(fit: Any) -> Any:
    return np.array(fit.pmf_), np.array(fit.indicators_)


@pytest.mark.parametrize(
    "estimator",
    [
        KolmogorovDescent(4, random_state=0, indicator_penalty=0.01),
        KolmogorovDescent(4, random_state=0, indicators="shared"),
        KolmogorovDescent(4, random_state=0, indicator_solver="local", n_jobs=2),
        KolmogorovPosterior(3, n_chains=2, n_warmup=3, n_draws=4, random_state=0),
        KolmogorovModel(3, n_chains=2, n_warmup=3, n_draws=4, random_state=0),
        HypercubeModel(3, random_state=0),
        ItemKMeans(3, random_state=0),
    ],
    ids=repr,
)
def test_another_engine_learns_the_same(ratings, estimator, monkeypatch) -> None:
    theta, psi = parts(estimator.fit(ratings))
    transformed = estimator.transform(ratings)
    small = estimator.to_model(2) if isinstance(estimator, KolmogorovPosterior) else None
    monkeypatch.setattr(cpu, "CPU", Backwards)
    assert_allclose(estimator.transform(ratings), transformed, atol=1e-6)
    if small is not None:
        again = estimator.to_model(2)
        assert_array_equal(again.codes_, small.codes_)
        assert_allclose(again.pmf_, small.pmf_, atol=1e-6)
    other = parts(estimator.fit(ratings))
    assert_allclose(other[0], theta, atol=1e-6)
    assert_allclose(other[1], psi, atol=1e-6)


def test_newcomers_need_nothing_else_of_an_engine(ratings, monkeypatch) -> None:
    monkeypatch.setattr(cpu, "CPU", Backwards)
    new = ([60] * 20, list(range(20)), np.linspace(0, 1, 20))
    for weigh in (True, False):
        options = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "random_state": 0}
        posterior = KolmogorovPosterior(3, weigh=weigh, **options).fit(ratings)
        assert posterior.update(new).pmf_.shape[0] == 61
    quick = {"n_chains": 2, "n_warmup": 1, "n_draws": 4}
    for model in (KolmogorovDescent(3, random_state=0), KolmogorovModel(3, **quick)):
        model.fit(ratings).update(new).update(([0, 1], [99, 99], [1.0, 0.0]))
        assert_allclose(model.pmf_.sum(axis=1), 1.0)
        assert model.predict().shape == (61, 26)


@pytest.mark.parametrize("n_rows", [0, 1, 7, 1000])
def test_rows_are_all_done_and_their_sum_does_not_depend_on_threads(n_rows) -> None:
    rng = np.random.default_rng(1)
    table = rng.random((n_rows, 30)).astype(np.float32)
    table[rng.random(table.shape) < 0.5] = np.nan
    users, items, values = *np.nonzero(~np.isnan(table)), table[~np.isnan(table)]
    ptr = np.searchsorted(users, np.arange(n_rows + 1))
    entries = Observations.from_wide(rng.random((2, 2))).by_user._replace(
        ptr=ptr, index=items.astype(np.int32), value=values
    )
    factors = rng.random((30, 5))
    found = []

    def step(G: Any, h: Any, e: Any, energy: Any) -> Any:
        energy[:] += e
        return h.sum(axis=0)

    for at_a_time in (None, 3):
        for n_threads in (1, 3):
            energy = np.zeros(n_rows)
            total = engine("cpu", n_threads).run(
                step, entries, factors, energy, at_a_time=at_a_time
            )
            assert_allclose(energy, np.nansum(table.astype(float) ** 2, axis=1), rtol=1e-5)
            found.append(total)
    filled = np.nan_to_num(table.astype(float))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[2], found[3])
    for total in found:
        assert_allclose(total, (filled @ factors).sum(axis=0), rtol=1e-5)


def test_rows_that_share_a_matrix_are_cut_into_fewer_chunks() -> None:
    ptr, empty = np.arange(0, 80_001, 10), np.empty(0, np.float32)
    table = Entries(ptr, np.zeros(80_000, np.int32), np.ones(80_000, np.float32), empty)
    speaks = table._replace(missing=np.ones(1))
    alone, shared = cpu._chunks(table, 64, shared=False), cpu._chunks(speaks, 64, shared=True)
    assert 64**2 * 8 * max(cut.stop - cut.start for cut in alone) <= 1.1 * cpu.CHUNK_BYTES
    assert 8 < len(shared) < len(alone) / 5
    assert cpu._chunks(table, 64, shared=True) == alone  # a full table multiplies matrices


def test_a_device_that_is_missing_is_answered_in_one_line(monkeypatch) -> None:
    from eventspace.engines.cuda import presence

    monkeypatch.setattr(presence, "available", lambda: "none was found")
    with pytest.raises(MissingError) as refused:
        engine("cuda")
    assert str(refused.value) == (
        "engine='cuda' needs a CUDA device: none was found. Leave engine at 'auto', or take 'cpu'."
    )


def test_an_unknown_engine_is_refused_with_those_that_there_are() -> None:
    assert engine("cpu", 2) == engine("auto", 2) == cpu.CPU(2)
    with pytest.raises(ValueError, match=f"engine='quantum' is unknown; .*{next(iter(ENGINES))}"):
        engine("quantum")


def test_the_engine_is_chosen_by_the_table_and_by_what_there_is(monkeypatch) -> None:
    few, many = choice.MANY - 1, choice.MANY
    assert str(choice.choose("auto", 1, few)).startswith(
        "cpu: 1 thread of this machine; a GPU pays"
    )
    monkeypatch.setattr(presence, "available", lambda: "none was found")
    assert str(choice.choose("auto", 2, many)) == (
        "cpu: 2 threads of this machine; of GPUs none was found"
    )
    monkeypatch.setattr(presence, "available", lambda: None)
    assert choice.choose("auto", 2, few).name == "cpu"
    assert str(choice.choose("auto", 2, many)) == (
        "cuda: there is a GPU, and 5,000,000 ratings are worth it"
    )
    enough = choice.MANY_FOR_CHAINS
    assert choice.choose("auto", 2, enough).name == "cpu"
    assert choice.choose("auto", 2, enough, chains=True).name == "cuda"
    assert "a GPU pays for chains on 1,000,000" in str(choice.choose("auto", 2, 1, chains=True))
    assert str(choice.choose("dask", 2)) == "dask: as asked for"


@pytest.mark.parametrize(
    "estimator",
    [
        KolmogorovDescent(2, random_state=0, n_jobs=1),
        KolmogorovModel(2, n_chains=2, n_warmup=1, n_draws=4, n_jobs=1),
    ],
    ids=repr,
)
def test_an_estimator_says_where_it_has_learnt(ratings, estimator) -> None:
    assert estimator.fit(ratings).engine_.startswith("cpu: 1 thread of this machine; ")
    assert estimator.set_params(engine="cpu").fit(ratings).engine_ == (
        "cpu: 1 thread of this machine"
    )
