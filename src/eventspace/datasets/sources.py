"""Where the files of a data set come from.

The folder that the environment variable EVENTSPACE_DATA names is tried first, in a subfolder for
the data set. Then the cache is tried: files are fetched once from their publisher, and their
checksum is verified. Otherwise a message says where to get them.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tempfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from eventspace._base.errors import UserError
from eventspace._base.progress import bar

CHUNK = 1 << 18


@dataclass(frozen=True)
class Source:
    """The files of one data set, by name, and their publisher."""

    name: str  # of the folder
    page: str  # where a person finds it
    url: str | None = None  # of one file, or of a zip archive with all of them
    checksum: str = ""  # of what the url gives: "md5:..." as its publisher says it, or "sha256:..."
    how: str = ""  # what has to be done to the publisher's files, where it is not nothing

    def has(self, file: str) -> bool:
        """Whether the file is there, without fetching anything."""
        return any((place / file).is_file() for place in self._places())

    def path(self, file: str) -> Path:
        """One of the files, fetched if it has to be."""
        if not self.has(file):
            if self.url is None:
                raise FileNotFoundError(
                    f"{self.name} needs {file}: put it into a folder {self.name} and let "
                    f"{self._around()}. It is from {self.page}{self.how}"
                )
            self._fetch(self.url, self._places()[-1])
        for place in self._places():
            if (place / file).is_file():
                return place / file
        raise FileNotFoundError(f"There is no {file} in what {self.url} gave.")

    def _places(self) -> list[Path]:
        given = os.environ.get("EVENTSPACE_DATA")
        return [*([Path(given) / self.name] if given else []), cache() / self.name]

    def _around(self) -> str:
        """What has to name the folder, and what it names now if that is another."""
        given = os.environ.get("EVENTSPACE_DATA")
        now = f" (now it is {given!r}, where there is no {self.name})" if given else ""
        return f"EVENTSPACE_DATA name the folder around it{now}"

    def _fetch(self, url: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            whole = Path(temporary) / PurePosixPath(url).name
            try:
                download(url, whole, self.name)
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                raise FileNotFoundError(
                    f"{self.name} could not be fetched from {url} ({reason}): get it from "
                    f"{self.page}, put its files into a folder {self.name}, and let "
                    f"{self._around()}."
                ) from error
            kind, expected = self.checksum.split(":")
            found = hashlib.new(kind, whole.read_bytes(), usedforsecurity=False).hexdigest()
            if found != expected:
                raise UserError(
                    f"What {url} gave is not what was expected: its {kind} is {found}, not "
                    f"{expected}. Nothing was kept."
                )
            ready = Path(temporary) / "ready"
            ready.mkdir()
            if zipfile.is_zipfile(whole):
                unpack_flat(whole, ready)
            else:
                shutil.move(whole, ready / whole.name)
            for file in ready.iterdir():  # none of which is half a file
                os.replace(file, folder / file.name)


def cache() -> Path:
    """Where what was fetched is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "eventspace"


def download(url: str, to: Path, title: str) -> None:
    """Fetch one file, with a progress bar."""
    with urllib.request.urlopen(url, timeout=30) as answer, to.open("wb") as file:
        size = int(answer.headers.get("Content-Length") or 0)
        with bar(f"fetch {title}, bytes", size, None) as update:
            done = 0
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                done += len(chunk)
                update(done, "")


def unpack_flat(archive: Path, folder: Path) -> None:
    """All files of an archive, without the folders they are in."""
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            name = PurePosixPath(member.filename).name
            if not member.is_dir():
                with packed.open(member) as read, (folder / name).open("wb") as written:
                    shutil.copyfileobj(read, written)
