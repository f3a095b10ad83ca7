"""Rooms that a command which only looks goes through import no library for tables."""

from __future__ import annotations

import json
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import eventspace.data
from eventspace import Observations
from eventspace.storage.archive import VERSION

HEAVY = ["pandas", "pyarrow", "narwhals", "sklearn", "scipy.sparse", "scipy.special"]
ROOMS = [room.name for room in pkgutil.walk_packages(eventspace.data.__path__, "eventspace.data.")]


def loaded_after(code: str) -> list[str]:
    code += f"; import sys, json; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy: list[str] = json.loads(out.stdout)
    return heavy


def test_importing_the_data_room_is_light() -> None:
    assert len(ROOMS) > 10
    assert loaded_after("import " + ", ".join(ROOMS)) == []


@pytest.mark.parametrize("users", [["ann", "bob"], [7, 10**12], [0.5, 1.5]])
def test_saved_observations_are_read_and_looked_up_without_pandas(
    users: list[object], tmp_path: Path
) -> None:
    path = tmp_path / "seen.pickle"
    path.write_bytes(pickle.dumps(Observations.of((users, ["x", "x"], np.array([0.0, 1.0])))))
    code = (
        f"import pickle; seen = pickle.loads(open({str(path)!r}, 'rb').read())"
        f"; assert seen.user_ids.positions({users[::-1]!r} + ['nobody']).tolist() == [1, 0, -1]"
    )
    assert loaded_after(code) == []


@pytest.mark.parametrize("kind", ["text", "compressed", "ensemble"])
def test_a_saved_model_answers_without_pandas_or_scikit_learn(kind: str) -> None:
    folder = Path(__file__).parent / "files" / f"version-{VERSION}"
    path = folder / f"{kind}.eventspace"
    code = (
        f"from eventspace import load; model = load({str(path)!r}); model.summary(); "
        "model.predict(); model.event(model.item_ids[0]).probability(model.user_ids[0])"
    )
    assert loaded_after(code) == []
