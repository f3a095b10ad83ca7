"""Workers of a cluster learn what this machine would, whatever becomes of them meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)
from eventspace.data import blocks as sizes
from eventspace.data.blocks import Blocks, blocks_of, cut
from eventspace.engines.cpu import CPU
from eventspace.pmf import FrankWolfe

distributed = pytest.importorskip("distributed")
LocalCluster = distributed.LocalCluster
import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from eventspace.engines.dask import Dask, crew  # noqa: E402
from eventspace.engines.dask.crew import NoClusterError, spans_of, tree_sum  # noqa: E402
from eventspace.engines.dask.parcels import Parcels, finished  # noqa: E402

OPTIONS: dict[str, Any] = {"pmf_penalty": 5.0, "tol": 0.0, "n_init": 1, "random_state": 0}


@pytest.fixture(scope="module")
def cluster():
    """Two processes, and a client that is the current one."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def small_blocks(monkeypatch):
    """Tables of some thousand ratings have several blocks."""
    monkeypatch.setattr(sizes, "FEW_RATINGS", 500)
    monkeypatch.setattr(sizes, "PER_ITEM", 1)


@pytest.fixture
def scratch(tmp_path):
    """Where workers meet; nothing may be left there."""
    with dask.config.set({"eventspace.scratch": str(tmp_path)}):
        yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def ratings() -> pd.DataFrame:
    """Stars of 300 users for 60 items; some items have a rating or two, and few users have none."""
    rng = np.random.default_rng(0)
    chance = rng.dirichlet(np.ones(4), 300) @ (rng.random((4, 60)) < 0.5)
    user, item = np.nonzero(rng.random((300, 60)) < np.linspace(0.02, 0.6, 60))
    stars = (1 + 4 * chance[user, item] + rng.normal(0, 0.5, user.size)).round().clip(1, 5)
    frame = pd.DataFrame({"user": [f"u{k}" for k in user], "item": item, "rating": stars})
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def assert_same(one: Any, other: Any) -> None:
    """The same bits."""
    for name in ("codes_", "pmf_", "history_", "proved_", "gap_"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_same_table(one: Observations, other: Observations) -> None:
    assert one.user_ids == other.user_ids
    assert one.item_ids == other.item_ids
    assert one.scale == other.scale
    for order in ("by_user", "by_item"):
        for part, same in zip(getattr(one, order), getattr(other, order), strict=True):
            assert_array_equal(part, same)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_events": 4, "n_iter": 6},
        {"n_events": 12, "n_iter": 3, "indicator_solver": "local"},
        {"n_events": 4, "n_iter": 3, "pmf_solver": "frank-wolfe", "pmf_prior": "zero"},
        {"n_events": 4, "n_iter": 3, "indicators": "one-hot", "n_init": 2},
        {"n_events": 4, "n_iter": 3, "indicators": "shared"},
    ],
    ids=str,
)
def test_a_descent_has_the_bits_of_the_cpu(cluster, small_blocks, scratch, ratings, settings):
    here = KolmogorovDescent(**(OPTIONS | settings), engine="cpu").fit(ratings)
    there = KolmogorovDescent(**(OPTIONS | settings), engine="dask").fit(ratings)
    assert_same(there, here)


def test_weights_count(cluster, small_blocks, scratch, ratings):
    weighted = ratings.assign(weight=np.arange(len(ratings)) % 3 + 0.5)
    fits = [KolmogorovDescent(4, **OPTIONS, engine=e).fit(weighted) for e in ("cpu", "dask")]
    assert_same(*fits)


def test_a_table_in_which_missing_says_no_is_learnt_here(cluster, scratch, ratings):
    table = Observations.of(ratings[["user", "item"]], missing="no")
    fits = [KolmogorovDescent(4, **OPTIONS, engine=e).fit(table) for e in ("cpu", "dask")]
    assert_same(*fits)
    assert fits[1].engine_.endswith("of this machine, for what is missing says no")
    shared = KolmogorovDescent(4, indicators="shared", engine="dask", random_state=0)
    assert shared.fit(ratings).engine_.endswith(", for indicators are shared")


def test_the_sum_does_not_depend_on_how_tasks_are_cut():
    parts = list(np.random.default_rng(0).random((23, 50)))
    for n in (1, 2, 5, 8, 23):
        whole = tree_sum(parts[:n])
        for n_slots in (0, 1, 2, 3, 8, 40):
            spans = spans_of(n, n_slots)
            assert [k for first, last in spans for k in range(first, last)] == list(range(n))
            by_spans = tree_sum([tree_sum(parts[first:last]) for first, last in spans])
            assert_array_equal(by_spans, whole)
    assert len(spans_of(8, 2)) == 2
    assert len(spans_of(32, 3)) > 3


def test_blocks_are_about_equal_and_hold_all(tmp_path, monkeypatch, ratings):
    monkeypatch.setattr(sizes, "FEW_RATINGS", 500)
    monkeypatch.setattr(sizes, "PER_ITEM", 1)
    table = Observations.of(ratings)
    blocks = blocks_of(table.by_user, table.n_items, str(tmp_path))
    assert len(blocks) == 8
    largest = max(blocks.read(k)[0].index.size for k in range(8))
    assert largest < 1.2 * table.n_observed / 8
    assert blocks.rated().all()
    assert_array_equal(blocks.item_sizes(), table.by_item.sizes)
    for k, users in enumerate(blocks.slices()):
        by_user, by_item = blocks.read(k)
        part = table.by_user.taken(np.arange(users.start, users.stop))
        assert_array_equal(by_user.index, part.index)
        assert_array_equal(np.sort(by_item.value), np.sort(part.value))
    assert cut(np.array([7]), 5) == [0, 1]


@pytest.mark.parametrize(
    ("n_ratings", "n_items", "n_blocks"),
    [
        (100_000, 1_000, 1),
        (1_000_000, 3_700, 2),
        (10_000_000, 20_000, 4),
        (100_000_000, 20_000, 16),
        (100_000_000, 200_000, 8),  # more would be sums more than ratings
    ],
)
def test_blocks_are_as_many_as_their_sums_are_worth(n_ratings, n_items, n_blocks):
    users = np.full(n_ratings // 1000, 1000)
    assert len(Blocks("", cut(users, n_items), n_items)) == n_blocks


def parquet(folder: Path, frame: pd.DataFrame, n_files: int = 3) -> Path:
    """The rows of a table in several files with several row groups each."""
    folder.mkdir()
    edges = np.linspace(0, len(frame), n_files + 1).astype(int)
    for k in range(n_files):
        part = frame.iloc[edges[k] : edges[k + 1]]
        part.to_parquet(folder / f"part-{k}.parquet", index=False, row_group_size=400)
    return folder


@pytest.fixture
def small_pieces(monkeypatch):
    from eventspace.data.readers import pieces

    monkeypatch.setattr(pieces, "ROWS", 1000)


def test_a_folder_is_the_table_that_its_files_make(
    cluster, small_blocks, small_pieces, scratch, ratings, tmp_path_factory
):
    folder = parquet(tmp_path_factory.mktemp("table") / "ratings", ratings)
    here = KolmogorovDescent(4, **OPTIONS, engine="cpu").fit(ratings)
    for X in (folder, str(folder), dd.from_pandas(ratings, npartitions=11, sort=False)):
        there = KolmogorovDescent(4, **OPTIONS, engine="dask").fit(X)
        assert_same(there, here)
        assert_same_table(there.observations_, here.observations_)
    assert_same_table(Observations.of(folder), here.observations_)


def test_folders_in_a_folder_belong_to_it(ratings, tmp_path):
    (tmp_path / "table").mkdir()
    for k, (kind, part) in enumerate(ratings.groupby(ratings["item"] % 2)):
        parquet(tmp_path / "table" / f"kind={kind}", part, n_files=2)
        (tmp_path / "table" / "_SUCCESS").write_text("")
        (tmp_path / "table" / f".hidden-{k}.parquet").write_bytes(b"no table")
    assert_same_table(Observations.of(tmp_path / "table"), Observations.of(ratings))


def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no Parquet file: name a file"):
        Observations.of(tmp_path)


def test_a_script_without_its_guard_is_told_in_one_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from eventspace import KolmogorovDescent\n"
        "X = np.random.default_rng(0).random((30, 20))\n"
        "KolmogorovDescent(2, engine='dask', n_jobs=1).fit(X)\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].endswith("for worker processes import the script.")


def test_what_is_in_a_folder_is_read_as_in_a_file(cluster, scratch, tmp_path_factory):
    rng, table = np.random.default_rng(0), tmp_path_factory.mktemp("table")
    frame = pd.DataFrame(
        {
            "item": rng.permutation(np.tile(np.arange(20), 50)),
            "note": "not a role",
            "user": np.repeat(np.arange(50) * 10**12, 20),
            "trials": rng.integers(0, 4, 1000),
        }
    ).drop_duplicates(["user", "item"])
    frame["successes"] = rng.binomial(frame["trials"], 0.5)
    here = Observations.of(frame)
    there = KolmogorovDescent(3, n_iter=1, engine="dask").fit(parquet(table / "counts", frame))
    assert_same_table(there.observations_, here)
    values = frame.assign(value=np.where(rng.random(len(frame)) < 0.1, np.nan, 0.5))
    values.loc[values.index[:9], "value"] = 1.0
    values = values[["user", "item", "value"]]
    with pytest.warns(UserWarning, match=r"of \d+ entries have no value \(NaN\)"):
        here = Observations.of(values)
    with pytest.warns(UserWarning, match=r"of \d+ entries have no value \(NaN\)") as caught:
        there = KolmogorovDescent(3, n_iter=1, engine="dask").fit(parquet(table / "n", values))
    assert caught[0].filename == __file__
    assert_same_table(there.observations_, here)


def test_mistakes_in_a_folder_are_named(cluster, scratch, ratings, tmp_path_factory):
    table, model = tmp_path_factory.mktemp("table"), KolmogorovDescent(3, engine="dask")
    user, item = ratings.loc[7, ["user", "item"]]
    twice = pd.concat([ratings, ratings.iloc[[7]]])
    with pytest.raises(ValueError, match=f"User '{user}' has item {item} 2 times; 1 pairs in all"):
        model.fit(parquet(table / "twice", twice))
    with pytest.raises(ValueError, match=r"All 12 values are 5: .*nothing to tell apart"):
        model.fit(parquet(table / "same", ratings.assign(rating=5.0).head(12)))
    with pytest.raises(ValueError, match=r"part-2.parquet.*value inf .* is infinite"):
        model.fit(
            parquet(
                table / "infinite", ratings.assign(rating=[1.0] * (len(ratings) - 1) + [np.inf])
            )
        )
    with pytest.raises(ValueError, match="one row per rating"):
        model.fit(parquet(table / "wide", pd.DataFrame(np.eye(9), columns=list("abcdefghi"))))
    broken = parquet(table / "broken", ratings)
    (broken / "part-1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"part-1.parquet' cannot be read as a table"):
        model.fit(broken)


@dataclass(frozen=True)
class Deadly(FrankWolfe):
    """A solver that kills the process it runs in at some of its calls, counted over all of them."""

    calls: str = ""  # a file
    deaths: tuple[int, ...] = ()

    def __call__(self, Q: Any, r: Any, pmf: Any) -> Any:
        with open(self.calls, "ab") as file:
            file.write(b".")
            file.flush()
            n = file.tell()
        if n in self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(Q, r, pmf)


@pytest.mark.parametrize(
    "deaths",
    [
        (5, 6),  # all workers at once
        pytest.param((3, 12, 19), marks=pytest.mark.whole),
        pytest.param((9, 10, 11, 12, 13, 14), marks=pytest.mark.whole),  # more than Dask allows
    ],
    ids=str,
)
def test_killed_workers_change_nothing(
    cluster, small_blocks, scratch, ratings, deaths, tmp_path_factory, monkeypatch
):
    monkeypatch.setattr(crew, "PATIENCE", 300.0)  # a busy machine takes its time to start others
    options = OPTIONS | {"n_events": 4, "n_iter": 4, "engine": "dask"}
    calls = tmp_path_factory.mktemp("calls") / "calls"
    undisturbed = KolmogorovDescent(**options, pmf_solver=FrankWolfe()).fit(ratings)
    deadly = Deadly(calls=str(calls), deaths=deaths)
    assert_same(KolmogorovDescent(**options, pmf_solver=deadly).fit(ratings), undisturbed)
    n_passes = len(undisturbed.history_)
    assert calls.stat().st_size >= 8 * n_passes + len(deaths)  # blocks, and what was done again


def test_a_task_that_is_lost_again_and_again_is_given_up(cluster, scratch, ratings, monkeypatch):
    lost = []

    def losing(self, futures: Any) -> Any:
        lost.append(futures)
        return True, []

    monkeypatch.setattr(crew.Crew, "_outcome", losing)
    with pytest.raises(NoClusterError, match="A task was lost 11 times, each with its worker"):
        KolmogorovDescent(4, **OPTIONS, engine="dask").fit(ratings)
    assert len(lost) == 11


def test_two_fits_at_once_on_one_cluster(cluster, small_blocks, scratch, ratings):
    def fitted(seed: int) -> Any:
        options = OPTIONS | {"random_state": seed, "n_iter": 4}
        return KolmogorovDescent(4, **options, engine="dask").fit(ratings)

    alone = [fitted(seed) for seed in range(2)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(fitted, range(2)))
    for one, other in zip(alone, together, strict=True):
        assert_same(one, other)


def test_chains_and_models_are_those_of_the_cpu(cluster, scratch, ratings):
    short = {"n_chains": 3, "n_warmup": 2, "n_draws": 4, "random_state": 0}
    for kind, options in (
        (KolmogorovPosterior, short | {"n_events": 4, "n_samples": 6}),
        (KolmogorovModel, short | {"n_events": 3}),
        (KolmogorovEnsemble, {"n_events": 4, "n_models": 3, "n_iter": 2, "random_state": 0}),
    ):
        here, there = (kind(**options, engine=e, n_jobs=2).fit(ratings) for e in ("cpu", "dask"))
        for name in ("pmf_", "codes_", "noise_", "error_"):
            assert_array_equal(getattr(there, name), getattr(here, name), err_msg=name)
        assert_array_equal(there.predict(), here.predict())


def test_an_interrupt_keeps_the_chains_that_have_ended(cluster, scratch, ratings, monkeypatch):
    options = {"n_events": 3, "n_warmup": 1, "n_draws": 4, "random_state": 0, "meets": False}
    results = crew.Crew.as_completed

    def interrupted(self, task: Any, arguments: Any) -> Any:
        yield from results(self, task, arguments[:2])
        raise KeyboardInterrupt

    two = KolmogorovPosterior(**options, n_chains=2, n_samples=8).fit(ratings)
    monkeypatch.setattr(crew.Crew, "as_completed", interrupted)
    model = KolmogorovPosterior(**options, n_chains=4, n_samples=16, engine="dask")
    with pytest.warns(UserWarning, match="interrupted: this is the model so far, 8 draws of 2"):
        model.fit(ratings)
    assert_array_equal(model.codes_, two.codes_)


def test_an_interrupt_in_a_pass_leaves_the_last(
    cluster, small_blocks, scratch, ratings, monkeypatch
):
    results, passes = crew.Crew._results, []

    def interrupted(self, begin: Any) -> Any:
        passes.append(0)
        if len(passes) == 4:
            raise KeyboardInterrupt
        return results(self, begin)

    two = KolmogorovDescent(4, **OPTIONS, n_iter=2, engine="dask").fit(ratings)
    monkeypatch.setattr(crew.Crew, "_results", interrupted)
    with pytest.warns(UserWarning, match="interrupted: this is the model so far"):
        model = KolmogorovDescent(4, **OPTIONS, n_iter=9, engine="dask").fit(ratings)
    assert_array_equal(model.pmf_, two.pmf_)
    assert_array_equal(model.history_, two.history_)


@dataclass
class Adding:
    """A job."""

    table: Any
    k: int
    found: Any = None

    def steps(self) -> Any:
        self.found = self.table.sum() + self.k
        yield 1


def test_arrays_that_jobs_share_are_sent_once(tmp_path):
    parcels, table = Parcels(str(tmp_path)), np.arange(100_000.0)
    packed = [parcels.packed(Adding(table, k)) for k in range(5)]
    assert max(map(len, packed)) < 1000
    assert len(list(Path(parcels.folder).iterdir())) == 1
    assert [finished(parcel) for parcel in packed] == [table.sum() + k for k in range(5)]


def test_a_folder_that_workers_do_not_see_is_named(cluster, ratings, tmp_path, monkeypatch):
    monkeypatch.setattr(crew.Crew, "__init__", _elsewhere(crew.Crew.__init__))
    with (
        dask.config.set({"eventspace.scratch": str(tmp_path)}),
        pytest.raises(ValueError, match=r"does not see the folder '/nowhere'.*eventspace.scratch"),
    ):
        KolmogorovDescent(4, **OPTIONS, engine="dask").fit(ratings)
    assert list(tmp_path.iterdir()) == []


def _elsewhere(init: Any) -> Any:
    def changed(self, client: Any, folder: str, own: Any = None) -> None:
        init(self, client, "/nowhere", own)

    return changed


def test_without_a_client_there_are_processes_as_long_as_it_takes(scratch, ratings, monkeypatch):
    here = KolmogorovDescent(4, **OPTIONS, engine="cpu").fit(ratings)
    found = []
    monkeypatch.setattr(crew, "default_client", _no_client)

    def begun(**options: Any) -> Any:
        found.append(LocalCluster(**options))
        return found[0]

    monkeypatch.setattr(crew, "LocalCluster", begun)
    begin, passes = crew.Crew._begin, []

    def losing(self, *arguments: Any) -> Any:
        passes.append(0)
        if len(passes) == 2:  # not even its process is started again
            found[0].sync(found[0].workers.pop(0).close)
        return begin(self, *arguments)

    monkeypatch.setattr(crew.Crew, "_begin", losing)
    there = KolmogorovDescent(4, **OPTIONS, engine="dask", n_jobs=1).fit(ratings)
    assert_same(there, here)
    assert len(found) == 1
    assert found[0].status.name == "closed"


def _no_client() -> None:
    raise ValueError


def test_when_the_cluster_goes_the_fit_ends_with_one_line(scratch, ratings, monkeypatch):
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    monkeypatch.setattr(crew, "PATIENCE", 2.0)
    for gone in ("workers", "scheduler"):
        with (
            LocalCluster(**options) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            monkeypatch.setattr(crew, "default_client", lambda client=client: client)
            begin = crew.Crew._begin
            passes: list[int] = []

            def ending(self, *arguments, cluster=cluster, gone=gone, passes=passes, begin=begin):
                passes.append(0)
                if len(passes) == 2:
                    cluster.scale(0) if gone == "workers" else cluster.close()
                return begin(self, *arguments)

            with monkeypatch.context() as patch:
                patch.setattr(crew.Crew, "_begin", ending)
                with pytest.raises(
                    NoClusterError, match=r"The Dask cluster has gone(: no worker|\.)"
                ):
                    KolmogorovDescent(4, **OPTIONS, engine="dask").fit(ratings)


def test_without_the_extra_one_line_says_how_to_get_it():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from eventspace import KolmogorovDescent\n"
        "try: KolmogorovDescent(2, engine='dask').fit([[0., 1.], [1., 0.5]])\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ("The engine 'dask' needs distributed: pip install 'eventspace[dask]'.\n")


def test_the_engine_is_the_cpu_for_all_else():
    machine = Dask(2)
    assert machine.with_threads(3) == CPU(3)
    machine.close()  # nothing was begun
