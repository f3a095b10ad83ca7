"""Jobs on their way to workers. Large arrays go through the folder, once for all jobs."""

from __future__ import annotations

import io
import pickle
import tempfile
from typing import Any

import numpy as np

LARGE = 1 << 16  # bytes


class Parcels:
    """What was packed so far; it holds the arrays, so that another cannot pass for one of them."""

    def __init__(self, folder: str) -> None:
        self.folder = tempfile.mkdtemp(dir=folder)
        self.sent: dict[int, tuple[Any, str]] = {}

    def packed(self, thing: Any) -> bytes:
        """A thing without its large arrays, which lie in the folder."""
        buffer = io.BytesIO()
        _Pickler(buffer, self).dump(thing)
        return buffer.getvalue()

    def path(self, array: Any) -> str:
        """Where an array lies."""
        if id(array) not in self.sent:
            path = f"{self.folder}/{len(self.sent)}.pickle"
            with open(path, "wb") as file:
                pickle.dump(array, file, protocol=5)
            self.sent[id(array)] = array, path
        return self.sent[id(array)][1]


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, parcels: Parcels) -> None:
        super().__init__(buffer, protocol=5)
        self.parcels = parcels

    def persistent_id(self, thing: Any) -> str | None:
        large = type(thing) is np.ndarray and thing.nbytes >= LARGE
        return self.parcels.path(thing) if large else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, path: str) -> Any:
        with open(path, "rb") as file:
            return pickle.load(file)


def finished(parcel: bytes) -> Any:
    """On a worker: unpack a job, go on to its end, and give what it has found."""
    job = _Unpickler(io.BytesIO(parcel)).load()
    for _ in job.steps():
        pass
    return job.found
