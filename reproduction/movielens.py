"""MovieLens 100K: from EVENTSPACE_DATA, else downloaded from GroupLens once and checked."""

from __future__ import annotations

import hashlib
import io
import os
import urllib.request
import zipfile
from functools import cache
from pathlib import Path

import pandas as pd

from benchmarks import data
from benchmarks.data import Ratings

URL = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
MD5 = "0e33842e24a9c977be4e0107933c0723"
DOWNLOADS = Path(__file__).parents[1] / "build" / "data"
NAME = "movielens-100k"
TIMEOUT = 60  # seconds


def split(number: int = 4) -> tuple[Ratings, Ratings]:
    """GroupLens's own split u1..u5: (train, test)."""
    ready()
    return data.movielens_100k(number)


def titles() -> pd.Series[str]:
    """The films' titles by their id."""
    ready()
    file = data.folder(NAME) / "u.item"
    return pd.read_csv(file, sep="|", header=None, encoding="latin-1", index_col=0)[1]


@cache
def ready() -> None:
    """See to it that EVENTSPACE_DATA holds the data set, or leave with one line that says why."""
    given = os.environ.get("EVENTSPACE_DATA")
    if given and (Path(given) / NAME / "u4.base").exists():
        return
    if given:
        raise SystemExit(f"EVENTSPACE_DATA={given} has no {NAME}/u4.base; unset it to download.")
    if not (DOWNLOADS / NAME / "u4.base").exists():
        unpack(download(), DOWNLOADS / NAME)
    os.environ["EVENTSPACE_DATA"] = str(DOWNLOADS)


def download() -> bytes:
    """The archive, if its checksum is the right one."""
    try:
        with urllib.request.urlopen(URL, timeout=TIMEOUT) as response:
            archive = bytes(response.read())
    except OSError as error:
        raise SystemExit(
            f"MovieLens 100K is neither in EVENTSPACE_DATA (unset) nor at {URL} ({error}): "
            f"set EVENTSPACE_DATA to a folder that holds {NAME}/."
        ) from None
    found = hashlib.md5(archive, usedforsecurity=False).hexdigest()
    if found != MD5:
        raise SystemExit(f"{URL} has the checksum {found}, not {MD5}: it is not used.")
    return archive


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of the archive, which lie in one folder of it, to this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        for name in files.namelist():
            if not name.endswith("/"):
                (folder / Path(name).name).write_bytes(files.read(name))
