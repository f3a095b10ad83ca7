"""A checkpoint that is damaged, or of something else, is refused with the remedy."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations
from eventspace._base.checkpoint import checkpoint_at
from eventspace._base.errors import UserError
from eventspace._base.records import digest
from eventspace.data.digest import digest_of
from tests.test_checkpoint import FITS, SHORT, Killed, assert_same, table
from tests.test_checkpoint import at_every_step as at_every_step
from tests.test_checkpoint import killed as killed
from tests.test_checkpoint_file import facts

SEED: dict[str, Any] = {"random_state": 0}
DAMAGED = "The checkpoint is damaged(, or of another version.*)?: delete it to begin again"


def changed(path: Path, statement: str, *values: Any, sealed: bool = False) -> None:
    """Change a checkpoint by hand; ``sealed``: so that its rows and digests agree."""
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute(statement, values).rowcount
        if sealed:
            rows = database.execute("SELECT rowid, * FROM parts").fetchall()
            for rowid, *row, _ in rows:
                again = "UPDATE parts SET digest = ? WHERE rowid = ?"
                database.execute(again, (digest(*row), rowid))
            database.execute(f"PRAGMA user_version = {len(rows)}")


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize(("kind", "n_writes"), [("descent", 9), ("posterior", 40)])
def test_whatever_bit_is_flipped_the_model_is_the_same_or_the_file_refused(
    kind: str, n_writes: int, tmp_path: Path, killed: Callable[[int], None]
) -> None:
    model, made, options = FITS[kind]
    path, seen = tmp_path / "checkpoint", made()
    undisturbed = clone(model).fit(seen, **options)
    killed(n_writes)
    with pytest.raises(Killed):
        clone(model).fit(seen, **options, checkpoint=path)
    written, n_refused = path.read_bytes(), 0
    for seed in range(40):
        rng = random.Random(seed)
        flipped = bytearray(written)
        among = 4096 if seed < 10 else len(written)  # the first page says what the others are
        flipped[rng.randrange(among)] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        again = clone(model)
        try:
            again.fit(seen, **options, checkpoint=path)
        except UserError:
            n_refused += 1
        else:
            assert_same(again, undisturbed)
    assert n_refused > 10


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE parts SET content = zeroblob(length(content)) WHERE name = 'codes'",
        "UPDATE parts SET content = CAST(content AS TEXT) WHERE name = 'history'",
        "UPDATE parts SET content = CAST(content AS TEXT) WHERE record = 'fit'",
        "UPDATE parts SET record = 'x' WHERE record = 'best descent'",
        "DELETE FROM parts WHERE record = 'best descent'",
        "DELETE FROM parts WHERE record = 'seed'",
        "CREATE VIEW more AS SELECT 1",
    ],
)
def test_what_is_not_as_it_was_written_is_refused(
    statement: str, tmp_path: Path, killed: Callable[[int], None]
) -> None:
    path, model = tmp_path / "checkpoint", KolmogorovDescent(3, n_init=3, n_iter=4, tol=0.0)
    killed(11)
    with pytest.raises(Killed):
        model.fit(table(), checkpoint=path)
    changed(path, statement)
    with pytest.raises(ValueError, match=DAMAGED):
        model.fit(table(), checkpoint=path)


@pytest.mark.parametrize("word", [b"CREATE", b"sqlite_autoindex", b"UNIQUE"])
def test_a_message_of_sqlite_that_is_no_text_is_damage(word: bytes, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with checkpoint_at(path, facts) as checkpoint:
        checkpoint.keep("x", lambda: {"x": {"y": 1}}, at_once=True)
    strange = word[:-1] + bytes([word[-1] | 0x80])
    path.write_bytes(path.read_bytes().replace(word, strange))
    with pytest.raises(ValueError, match=DAMAGED), checkpoint_at(path, facts):
        pass


DAMAGE = {
    "another shape": "UPDATE parts SET shape = '[2]', content = zeroblob(16) WHERE name = 'pmf'",
    "no PMF": "UPDATE parts SET content = zeroblob(length(content)) WHERE name = 'pmf'",
    "nothing": "DELETE FROM parts WHERE name = 'start'",
    "a start that is none": "UPDATE parts SET content = CAST('99' AS BLOB) WHERE name = 'start'",
    "no JSON": "UPDATE parts SET content = CAST('{' AS BLOB) WHERE name = 'history'",
    "no number": "UPDATE parts SET content = CAST('[[]]' AS BLOB) WHERE name = 'history'",
    "a strange shape": "UPDATE parts SET shape = '[4611686018427387904, 4]' WHERE name = 'pmf'",
    "no facts": "DELETE FROM parts WHERE record = 'fit'",
    "facts of another kind": "UPDATE parts SET content = CAST('7' AS BLOB) WHERE record = 'fit'",
}


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_record_is_refused_with_the_remedy(how: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    model = KolmogorovDescent(3, random_state=0, n_iter=4, tol=0.0)
    model.fit(table(), checkpoint=path)
    changed(path, DAMAGE[how], sealed=True)
    with pytest.raises(ValueError, match=DAMAGED):
        model.fit(table(), checkpoint=path)


@pytest.mark.usefixtures("at_every_step")
def test_sets_of_other_events_are_refused(tmp_path: Path) -> None:
    path, model = tmp_path / "checkpoint", KolmogorovDescent(3, random_state=0)
    model.fit(table(), checkpoint=path)
    codes = np.full(30, 2**64 - 1, dtype=np.uint64).tobytes()
    changed(path, "UPDATE parts SET content = ? WHERE name = 'codes'", codes, sealed=True)
    with pytest.raises(ValueError, match=DAMAGED):
        model.fit(table(), checkpoint=path)


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize("part", ["pmf", "user_seeds", "weights", "done", "generators"])
def test_a_damaged_chain_is_refused_with_the_remedy(
    part: str, tmp_path: Path, killed: Callable[[int], None]
) -> None:
    path, model = tmp_path / "checkpoint", KolmogorovPosterior(4, meets=False, **SHORT)
    killed(30)
    with pytest.raises(Killed):
        model.fit(table(), checkpoint=path)
    changed(path, "DELETE FROM parts WHERE name = ?", part, sealed=True)
    with pytest.raises(ValueError, match=DAMAGED):
        model.fit(table(), checkpoint=path)


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize(
    ("model", "rows", "said"),
    [
        (KolmogorovDescent(4, random_state=0), 60, "n_events was 3, and is 4"),
        (KolmogorovDescent(3, n_iter=7, random_state=0), 60, "n_iter was 20, and is 7"),
        (KolmogorovDescent(3, random_state=1), 60, "random_state was 0, and is 1"),
        (KolmogorovDescent(3, random_state=0), 50, "the table is something else"),
        (
            KolmogorovModel(4, random_state=1),
            50,
            "the estimator was KolmogorovDescent, and is KolmogorovModel",
        ),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(
    model: Any, rows: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    KolmogorovDescent(3, random_state=0).fit(table(), checkpoint=path)
    message = (
        f"{str(path)!r}: The checkpoint is of another fit: {said}. Each fit needs its own: name "
        "another file, or delete it to begin again."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.fit(table()[:rows], checkpoint=path)


@pytest.mark.usefixtures("at_every_step")
def test_given_pmfs_are_told_from_the_same_given_sets(tmp_path: Path) -> None:
    path, square, given = tmp_path / "checkpoint", table(20, 20), np.eye(4)[np.arange(20) % 4]
    KolmogorovDescent(4, random_state=0).fit(square, pmf=given, checkpoint=path)
    with pytest.raises(ValueError, match=r"what is given beside the table, .* is something else"):
        KolmogorovDescent(4, random_state=0).fit(square, indicators=given, checkpoint=path)


@pytest.mark.usefixtures("at_every_step")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "the half-life was 9, and is none"),
        ({"half_life": 8}, "the half-life was 9, and is 8"),
        ({"half_life": 9, "scale": (0, 2)}, "the scale was 0 to 1, and is 0 to 2"),
    ],
)
def test_the_same_ratings_read_in_another_way_are_told(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    users, items = np.nonzero(np.isfinite(table()))
    rows = pd.DataFrame({"user": users, "item": items, "p": table()[users, items], "time": users})
    path, model = tmp_path / "checkpoint", KolmogorovDescent(3, random_state=0)
    model.fit(Observations.of(rows, scale=(0, 1), half_life=9), checkpoint=path)
    with pytest.raises(ValueError, match=re.escape(said)):
        model.fit(Observations.of(rows, **{"scale": (0, 1), **options}), checkpoint=path)


def test_a_table_whose_weights_fade_is_none_whose_weights_do_not() -> None:
    rows = pd.DataFrame({"user": [0, 1], "item": [0, 0], "p": [0.0, 1.0], "time": [0, 9]})
    fading = Observations.of(rows, scale=(0, 1), half_life=9)
    weighted = replace(fading, forgetting=None)
    assert digest_of(fading) != digest_of(weighted)


@pytest.mark.usefixtures("at_every_step")
def test_other_attributes_are_told_from_another_table(tmp_path: Path) -> None:
    path, model = tmp_path / "checkpoint", KolmogorovModel(3, meets=False, **SHORT)
    model.fit(table(), checkpoint=path)
    with pytest.raises(ValueError, match="beside the table, such as attributes, is something else"):
        model.fit(table(), item_attributes=np.ones((30, 1)), checkpoint=path)


def test_a_file_of_something_else_stays_as_it_is(tmp_path: Path) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("what I must not forget\n" * 100)
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()
    for path in (text, other):
        before = path.read_bytes()
        with (
            pytest.raises(ValueError, match="no checkpoint, and stays as it is"),
            checkpoint_at(path, facts),
        ):
            pass
        assert path.read_bytes() == before


def test_two_fits_do_not_share_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    with (
        checkpoint_at(path, facts),
        pytest.raises(ValueError, match="Another fit is learning"),
        checkpoint_at(path, facts),
    ):
        pass
    with checkpoint_at(path, facts):
        pass


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match=re.escape(repr(str(tmp_path / "nowhere")))),
        checkpoint_at(tmp_path / "nowhere" / "checkpoint", facts),
    ):
        pass


@pytest.mark.parametrize("path", ["", True, 3, b"x"])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(UserError, match=f"checkpoint={path!r} is no path: name a file"):
        KolmogorovDescent(3).fit(table(), checkpoint=path)


def test_a_folder_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder: name a file"), checkpoint_at(tmp_path, facts):
        pass


def test_a_file_that_cannot_be_made_is_told_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with (
        pytest.raises(UserError, match=r"cannot be opened.*name a file in a folder where you may"),
        checkpoint_at(path, facts),
    ):
        pass


@pytest.mark.usefixtures("at_every_step")
def test_numbers_are_told_apart_however_great(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    for n_iter in (10**400, 2**53, 2**53 + 1):
        path.unlink(missing_ok=True)
        KolmogorovDescent(2, n_iter=n_iter, tol=1e-2, **SEED).fit(table(), checkpoint=path)
        with pytest.raises(ValueError, match=f"n_iter was {n_iter}, and is {n_iter - 1}"):
            KolmogorovDescent(2, n_iter=n_iter - 1, tol=1e-2, **SEED).fit(table(), checkpoint=path)
