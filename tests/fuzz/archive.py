"""Zip files whose records may lie: what :mod:`zipfile` would never write."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

STORED, DEFLATED = 0, 8
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5HI")  # without the offset
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_DATE = 33  # the first day that zip knows: the same bytes whenever they are made
_FIELDS = ("version", "flags", "method", "crc", "packed_size", "size", "name_size")
_WIDE = 0xFFFFFFFF


@dataclass(frozen=True)
class Member:
    """A member, and what its records say of it where that is not the truth.

    ``local`` and ``central`` hold fields that lie in one record: ``method``, ``flags``, ``crc``,
    ``packed_size``, ``size``, ``version``, ``offset`` (central only), ``name_size``.
    """

    name: bytes
    content: bytes
    method: int = DEFLATED
    packed: bytes | None = None  # the content as it stands in the file, if it is known
    crc: int | None = None
    size: int | None = None
    extra: bytes = b""
    comment: bytes = b""
    local: dict[str, int] = field(default_factory=dict)
    central: dict[str, int] = field(default_factory=dict)

    def with_content(self, content: bytes) -> Member:
        """The same with other content, of which zip's records tell the truth."""
        return replace(self, content=content, packed=None, crc=None, size=None)

    @property
    def key(self) -> str:
        """The name as text, whatever bytes it has."""
        return self.name.decode("utf-8", "backslashreplace")

    def raw(self) -> bytes:
        """The content as it stands in the file."""
        if self.packed is not None:
            return self.packed
        return self.content if self.method == STORED else deflated(self.content)

    @cached_property
    def records(self) -> tuple[bytes, bytes, bytes]:
        """The member with its local record; its central one up to the offset, and from there on."""
        raw = self.raw()
        crc = zlib.crc32(self.content) if self.crc is None else self.crc
        size = len(self.content) if self.size is None else self.size
        truth = (20, 0, self.method, crc, len(raw), size, len(self.name))
        local, central = (_said(truth, lies) for lies in (self.local, self.central))
        record = _LOCAL.pack(b"PK\3\4", *local[:3], 0, _DATE, *local[3:], len(self.extra))
        listed = _CENTRAL.pack(
            *(b"PK\1\2", 20, *central[:3], 0, _DATE, *central[3:]),
            *(len(self.extra), len(self.comment), 0, 0, 0),
        )
        name = self.name + self.extra
        return record + name + raw, listed, name + self.comment


def _said(truth: tuple[int, ...], lies: dict[str, int]) -> tuple[int, ...]:
    if not lies:
        return truth
    said = (lies.get(name, value) for name, value in zip(_FIELDS, truth, strict=True))
    return tuple(
        value & (_WIDE if name in ("crc", "packed_size", "size") else 0xFFFF)
        for name, value in zip(_FIELDS, said, strict=True)
    )


@dataclass
class Archive:
    """Members and what stands before, between and after them."""

    members: list[Member]
    comment: bytes = b""
    before: bytes = b""
    after: bytes = b""
    end: dict[str, int] = field(default_factory=dict)  # lies of the end record
    zip64: dict[str, int] | None = None  # a zip64 end record, with these lies

    def copy(self) -> Archive:
        return Archive(list(self.members), self.comment)

    def packed(self) -> bytes:
        """The file."""
        parts, at, central = [self.before], len(self.before), []
        for member in self.members:
            record, before, after = member.records
            offset = member.central.get("offset", at) & _WIDE
            central += [before, offset.to_bytes(4, "little"), after]
            parts.append(record)
            at += len(record)
        directory = b"".join(central)
        return b"".join([*parts, directory, self._ending(at, len(directory)), self.after])

    def _ending(self, at: int, size: int) -> bytes:
        n, ending = len(self.members), b""
        if self.zip64 is not None:
            said = {"size": 44, "n": n, "directory": size, "at": at, **self.zip64}
            ending = _END64.pack(
                *(b"PK\6\6", said["size"] % 2**64, 45, 45, 0, 0, said["n"] % 2**64),
                *(said["n"] % 2**64, said["directory"] % 2**64, said["at"] % 2**64),
            )
            ending += _LOCATOR.pack(b"PK\6\7", 0, said.get("locator", at + size) % 2**64, 1)
        said = {"n": n, "directory": size, "at": at, "comment": len(self.comment), **self.end}
        return (
            ending
            + _END.pack(
                *(b"PK\5\6", 0, 0, said["n"] & 0xFFFF, said["n"] & 0xFFFF),
                *(said["directory"] & _WIDE, said["at"] & _WIDE),
                said["comment"] & 0xFFFF,
            )
            + self.comment
        )


def unpacked(content: bytes) -> Archive:
    """The members of a good zip file, as they stand in it."""
    members = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            text = archive.read(info)
            method = STORED if info.compress_type == STORED else DEFLATED
            member = Member(info.filename.encode("utf-8", "surrogateescape"), text, method)
            members.append(replace(member, packed=member.raw(), crc=info.CRC, size=info.file_size))
    return Archive(members)


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


@cache
def bomb(start: bytes, block: bytes, end: bytes, n_blocks: int) -> Member:
    """A member of ``start``, very often ``block``, and ``end``, that is small as it stands."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    last = packer.compress(end) + packer.flush()
    crc = zlib.crc32(start)
    for _ in range(n_blocks):
        crc = zlib.crc32(block, crc)
    size = len(start) + len(block) * n_blocks + len(end)
    packed = packed + repeated * n_blocks + last
    return Member(b"", b"", DEFLATED, packed, zlib.crc32(end, crc), size)
