"""The command `update`: the next day's ratings, and those that go."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, KolmogorovPosterior, Observations, load
from eventspace._base.placing import alone_with
from eventspace.fitted import FittedModel
from tests.command import COMMAND, in_process, written
from tests.observing import probabilities

NUMBERED = "7,3,5\n8,3,1\n9,3,4\n"
NEW_USER = "user,item,rating\na,i0,2\n"


@pytest.fixture
def model(ratings, tmp_path: Path) -> Path:
    KolmogorovDescent(3, random_state=0).fit(ratings).save(tmp_path / "m")
    return tmp_path / "m"


def test_ratings_come_and_go(model, tmp_path, capsys) -> None:
    before = load(model)
    new = written(tmp_path / "new.csv", "user,item,rating\nu0,i0,4\nfay,i1,2\nfay,Up,3\nu1,Up,5\n")
    user, item = (ids[0] for ids in (before.user_ids, before.item_ids))
    gone = written(tmp_path / "gone.csv", f"user,item\n{user},i3\n")
    done = in_process(["update", model, new, "--forget", gone, "-o", tmp_path / "n"], capsys)
    assert done.out.startswith("Kolmogorov model: 3 events, 31 users, 21 items\n")
    changes = "388 ratings, before 386; new users: 'fay'; new items: 'Up'"
    assert done.err == f"eventspace: {changes}\neventspace: written: {tmp_path / 'n'}\n"
    table = pd.read_csv(new)
    expected = before.update(table, forget=([user], ["i3"]))
    found = load(tmp_path / "n")
    assert probabilities(found.observations) == probabilities(expected.observations)
    np.testing.assert_array_equal(found.pmf, expected.pmf)
    assert (user, item) == ("u0", "i0")
    assert load(model).observations.n_users == 30  # as it was


def test_without_a_place_the_model_is_replaced(model, capsys) -> None:
    table = b"user,item,rating\nfay,i0,2\n"
    done = in_process(["update", model, "-", "--json"], capsys, stdin=table)
    assert json.loads(done.out)["users"] == 31
    assert load(model).observations.n_users == 31


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no turns")
@pytest.mark.parametrize("output", [[], ["-o", "m"]])
def test_updates_of_one_model_wait_for_their_turn(model, output, tmp_path, capsys) -> None:
    """Nothing of what another took in is lost."""
    new = [written(tmp_path / f"{name}.csv", f"user,item,rating\n{name},i0,2\n") for name in "ab"]
    with alone_with(model, wait=lambda: None):
        command = [*COMMAND, "update", str(model), str(new[0]), *output]
        other = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        assert other.stderr is not None
        said = other.stderr.readline()
        load(model).update(new[1]).save(model)
    said += other.communicate()[1]
    assert "another update of this model is under way: waiting for it" in said
    assert other.returncode == 0
    assert {"a", "b"} < set(load(model).user_ids)
    in_process(["update", model, new[0]], capsys)  # it has let go


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no turns")
def test_nobody_waits_for_what_another_is_still_sent(model, tmp_path) -> None:
    """A table that comes through a pipe is read before it is its turn."""
    command = [*COMMAND, "update", str(model), "-"]
    slow = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert slow.stdin is not None
    slow.stdin.write(NEW_USER.encode() + 20_000 * b"b,i0,2\n")  # it is read: no pipe holds so much
    new = str(written(tmp_path / "c.csv", NEW_USER.replace("a,i0", "c,i0")))
    quick = [*COMMAND, "update", str(model), new]
    done = subprocess.run(quick, stderr=subprocess.PIPE, text=True, timeout=120, check=True)
    assert "waiting" not in done.stderr
    assert slow.poll() is None
    slow.communicate()
    assert slow.returncode == 0
    assert {"a", "b", "c"} < set(load(model).user_ids)


@pytest.mark.parametrize("life", [None, "30D"])
def test_a_day_without_ratings_changes_nothing(life, ratings, tmp_path, capsys) -> None:
    table = ratings if life is None else ratings.assign(date="2021-12-31")
    KolmogorovDescent(3, random_state=0).fit(Observations.of(table, half_life=life)).save(
        tmp_path / "m"
    )
    before = load(tmp_path / "m")
    empty = written(tmp_path / "empty.csv", ",".join(table.columns) + "\n")
    done = in_process(["update", tmp_path / "m", empty], capsys)
    assert "386 ratings, before 386; new users: none; new items: none" in done.err
    for after in (load(tmp_path / "m"), before.update(empty), before.update(table.head(0))):
        np.testing.assert_array_equal(after.pmf, before.pmf)
        assert after.observations.forgetting == before.observations.forgetting
    done = in_process(["monitor", tmp_path / "m", empty], capsys)
    assert done.out == "There are no new ratings.\n"


def test_ids_are_as_the_model_has_them(tmp_path, capsys) -> None:
    """7 in a file without a header is the user '7' of a model with names."""
    table = (["7", "8", "ann"], ["3", "3", "Up"], [5.0, 1.0, 2.0])
    KolmogorovDescent(2, random_state=0).fit(table).save(tmp_path / "m")
    new = written(tmp_path / "new.csv", NUMBERED)
    in_process(["update", tmp_path / "m", new, "--no-header", "--user", "column 1", "--item",
                "column 2", "--value", "column 3"], capsys)  # fmt: skip
    assert list(load(tmp_path / "m").user_ids) == ["7", "8", "ann", "9"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "line"),
    [
        ([], b"", "There is nothing to update: name a table of ratings, or pairs with --forget."),
        (
            ["--forget", "-"],
            b"user,item\nu0,nothing\n",
            "--forget holds a pair without a rating: user 'u0', item 'nothing'. Leave out what "
            "the model has no rating of.",
        ),
        (
            ["-"],
            b"user,item,rating\nu0,i0,9\n",
            "value 9 (line 2, user 'u0', item 'i0') is outside the scale; the scale allows "
            "numbers from 1 to 5.",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(model, capsys, arguments, stdin, line) -> None:
    before = model.read_bytes()
    done = in_process(["update", model, *arguments], capsys, code=2, stdin=stdin)
    assert done.err == f"eventspace: {line}\n"
    assert model.read_bytes() == before


def test_the_table_is_not_overwritten(model, tmp_path, capsys) -> None:
    new = written(tmp_path / "new.csv", "user,item,rating\nu0,i0,4\n")
    for arguments in ([new], ["--forget", new]):
        done = in_process(["update", model, *arguments, "-o", new], capsys, code=2)
        assert "is the table itself" in done.err


def test_an_update_that_is_interrupted_writes_nothing(
    ratings, tmp_path, capsys, monkeypatch
) -> None:
    posterior = KolmogorovPosterior(2, n_chains=1, n_warmup=1, n_draws=4, random_state=0)
    posterior.fit(ratings).save(tmp_path / "p")
    before = (tmp_path / "p").read_bytes()

    def interrupted(*arguments: object, **options: object) -> FittedModel:
        raise KeyboardInterrupt

    monkeypatch.setattr("eventspace.sampling.updating.Updating.draw_items", interrupted)
    table = b"user,item,rating\nu0,i0,4\n"
    done = in_process(["update", tmp_path / "p", "-"], capsys, code=130, stdin=table)
    assert done.err == "eventspace: interrupted: nothing is written.\n"
    assert (tmp_path / "p").read_bytes() == before
