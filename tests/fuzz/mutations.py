"""The mutator of model files: the case's number says which file comes out.

Most cases change a good file in one to four places and write it as an honest zip, with sizes and
checksums that fit, so that the change reaches the code that reads the contents. Some change the zip
itself, some the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.fuzz import arrays, headers, surgery
from tests.fuzz.archive import Archive, unpacked
from tests.fuzz.judge import Case

LEVELS = ((0.5, arrays.MUTATIONS), (0.8, headers.MUTATIONS), (1.0, surgery.MUTATIONS))
RAW = 0.08  # of the cases change bytes of the file and nothing else
BOMBS = 1 / 400


class Mutator:
    """Mutated files of some good ones."""

    def __init__(self, seeds: Sequence[tuple[str, bytes]]) -> None:
        self.names = [name for name, _ in seeds]
        self.archives: list[Archive] = [unpacked(content) for _, content in seeds]
        # not as they were written: a date in them would make every day's cases others
        self.files = [archive.packed() for archive in self.archives]

    def case(self, seed: int, number: int) -> Case:
        rng = Random(f"model {seed} {number}")
        k = rng.randrange(len(self.files))
        chance = rng.random()
        if chance < RAW:
            return Case(*self._raw(rng, k))
        if chance < RAW + BOMBS:
            archive = self.archives[k].copy()
            done = [surgery.explode(rng, archive)]
            return Case(archive.packed(), f"{self.names[k]}: {done[0]}")
        archive = self.archives[k].copy()
        done = mutate(rng, archive, rng.choice([1, 1, 1, 2, 2, 3, 4]))
        return Case(archive.packed(), f"{self.names[k]}: {'; '.join(done)}")

    def _raw(self, rng: Random, k: int) -> tuple[bytes, str]:
        content, done = self.files[k], []
        for _ in range(rng.choice([1, 1, 2, 4])):
            other = self.files[rng.randrange(len(self.files))]
            content, what = garbled(rng, content, other)
            done.append(what)
        return content, f"{self.names[k]}: {'; '.join(done)}"


def mutate(rng: Random, archive: Archive, times: int) -> list[str]:
    """Change an archive in this many places, and say how."""
    done: list[str] = []
    for _ in range(50 * times):  # some find nothing that they could change
        chance = rng.random()
        level = next(mutations for below, mutations in LEVELS if chance <= below)
        try:
            what = rng.choice(level)(rng, archive)
        except (ArithmeticError, MemoryError, TypeError, ValueError):  # another made it impossible
            continue
        if what:
            done.append(what)
        if len(done) == times or not archive.members:
            break
    return done


def garbled(rng: Random, content: bytes, other: bytes) -> tuple[bytes, str]:
    """Bytes flipped, cut out, put in, doubled, or the head of one file with another's tail."""
    at = rng.randrange(len(content) + 1)
    n = rng.choice([1, 2, 4, 16, 100])
    kind = rng.choice(["flipped", "flipped", "cut", "removed", "put in", "doubled", "spliced"])
    if kind == "flipped" and at < len(content):
        changed = bytes([content[at] ^ 1 << rng.randrange(8)])
        return content[:at] + changed + content[at + 1 :], f"a bit at {at} flipped"
    if kind == "cut":
        return content[:at], f"cut at {at}"
    if kind == "removed":
        return content[:at] + content[at + n :], f"{n} bytes at {at} removed"
    if kind == "doubled":
        return content[: at + n] + content[at:], f"{n} bytes at {at} doubled"
    if kind == "spliced":
        return content[:at] + other[at:], f"spliced at {at} with another"
    return content[:at] + rng.randbytes(n) + content[at:], f"{n} bytes put in at {at}"
