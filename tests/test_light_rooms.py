"""Rooms that a command which only looks goes through import no library for tables."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import eventspace.data

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
