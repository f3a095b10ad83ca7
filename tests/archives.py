"""Model files taken apart and put together again, as a stranger would."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put(path: Path, parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=True)
    return file.getvalue()


def array(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def with_array(path: Path, name: str, change: Callable[[np.ndarray], Any]) -> Path:
    """The file with one of its arrays changed."""
    parts = members(path)
    member = f"{name}.npy"
    parts[member] = npy(change(array(parts[member]).copy()))
    return put(path, parts)


def with_header(path: Path, **changes: Any) -> Path:
    """The file with some keys of its header changed."""
    parts = members(path)
    header = json.loads(parts["header.json"]) | changes
    parts["header.json"] = json.dumps(header).encode()
    return put(path, parts)
