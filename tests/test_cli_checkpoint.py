"""A fit that goes on, in the shell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eventspace import KolmogorovModel, load
from eventspace._base import checkpoint as checkpoints
from eventspace._base.checkpoint import CheckpointFile
from tests.command import in_process
from tests.test_checkpoint import Killed
from tests.test_recommend import ratings

QUICK = ["--events", "3", "--chains", "2", "--seed", "0"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    ratings().to_csv(path, index=False)
    return path


def test_a_command_goes_on_and_removes_the_checkpoint(table, tmp_path, capsys, monkeypatch) -> None:
    models, kept = [tmp_path / "one", tmp_path / "two"], tmp_path / "checkpoint"
    in_process(["fit", str(table), "-o", str(models[0]), *QUICK], capsys)
    command = ["fit", str(table), "-o", str(models[1]), *QUICK, "--checkpoint", str(kept)]
    keep, n = CheckpointFile.keep, [0]

    def dying(self, *arguments, **options):
        n[0] += 1
        if n[0] == 30:
            raise Killed
        return keep(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "OFTEN", 0.0)
        patch.setattr(CheckpointFile, "keep", dying)
        with pytest.raises(Killed):
            in_process(command, capsys)
    assert kept.exists()
    assert not models[1].exists()
    in_process(command, capsys)
    assert not kept.exists()
    one, two = (load(path) for path in models)
    np.testing.assert_array_equal(one.pmf, two.pmf)
    np.testing.assert_array_equal(one.codes, two.codes)


def test_an_early_ctrl_c_says_that_the_checkpoint_stays(
    table, tmp_path, capsys, monkeypatch
) -> None:
    """There is no model so far, but some of the work is kept."""

    def interrupted(self, *arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(KolmogorovModel, "fit", interrupted)
    kept = tmp_path / "checkpoint"
    command = ["fit", str(table), "-o", str(tmp_path / "m"), *QUICK, "--checkpoint", str(kept)]
    said = in_process(command, capsys, code=130).err
    assert said == (
        f"eventspace: interrupted: no model yet; the same command goes on from what {kept} keeps\n"
    )


def test_what_cannot_be_a_checkpoint_is_told_in_one_line(table, tmp_path, capsys) -> None:
    command = ["fit", str(table), "-o", str(tmp_path / "model"), "--checkpoint"]
    notes = tmp_path / "notes"
    notes.write_text("what I must not forget\n" * 100)
    said = in_process([*command, str(notes)], capsys, code=2).err
    assert "no checkpoint, and stays as it is" in said
    assert "is the table or the model" in in_process([*command, str(table)], capsys, code=2).err
    said = in_process([*command, str(tmp_path / "model")], capsys, code=2).err
    assert "is the table or the model: name another file" in said
    said = in_process([*command, "x", "--kind", "ensemble"], capsys, code=2).err
    assert "--checkpoint is not for --kind ensemble" in said
    said = in_process([*command, str(tmp_path)], capsys, code=2).err
    assert f"--checkpoint {tmp_path} is a folder: name a file" in said
