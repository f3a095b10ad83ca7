"""Zip surgery: members dropped, doubled, renamed; records that lie; bombs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.fuzz.archive import DEFLATED, STORED, Archive, Member, bomb

# What a mutation did, in words; "" if there was nothing that it could change.
Mutation = Callable[[Random, Archive], str]

NAMES = (
    b"../../evil.npy", b"/etc/passwd", b"C:\\evil.npy", b"a/b.npy", b".npy", b"npy", b"",
    b"header", b"pmf.npy\0.json", b"\xff\xfe.npy", b"pmf.NPY", b"PMF.npy", b"extra.npy",
    b"extra.json", b"extra.pkl", b"\x1b[31m.npy", b"new\nline.npy", b"x" * 300, "ü.npy".encode(),
    b"header.json/", b"__proto__.npy", b"pmf_.npy", b"./pmf.npy", b" pmf.npy", b"codes.json",
    b"user_ids.json", b"user_ids.npy", b"item_ids.json", b"item_ids.npy", b"\xe2\x80\xae.npy",
)  # fmt: skip
SIZES = (0, 1, 2, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFF, 1 << 20, 1 << 30)
METHODS = (1, 2, 6, 9, 12, 14, 93, 95, 99, 0xFFFF)
_NPY = b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }"
_MB = 1 << 20


def pick(rng: Random, archive: Archive) -> int:
    return rng.randrange(len(archive.members))


def drop(rng: Random, archive: Archive) -> str:
    if len(archive.members) < 2:
        return ""
    gone = archive.members.pop(pick(rng, archive))
    return f"{gone.key} dropped"


def double(rng: Random, archive: Archive) -> str:
    """The same name twice, with the same content or with that of another member."""
    k, other = pick(rng, archive), pick(rng, archive)
    twin = archive.members[k]
    if rng.random() < 0.5:
        twin = replace(archive.members[other], name=twin.name)
    archive.members.insert(rng.randrange(len(archive.members) + 1), twin)
    return f"{twin.key} doubled"


def rename(rng: Random, archive: Archive) -> str:
    k = pick(rng, archive)
    before = archive.members[k]
    name = rng.choice(NAMES) if rng.random() < 0.7 else archive.members[pick(rng, archive)].name
    archive.members[k] = replace(before, name=name)
    return f"{before.key} renamed {name!r}"


def reorder(rng: Random, archive: Archive) -> str:
    rng.shuffle(archive.members)
    return "members in another order"


def swap(rng: Random, archive: Archive) -> str:
    """Two members have each other's content."""
    j, k = pick(rng, archive), pick(rng, archive)
    one, two = archive.members[j], archive.members[k]
    archive.members[j] = replace(two, name=one.name)
    archive.members[k] = replace(one, name=two.name)
    return f"{one.key} and {two.key} exchanged" if j != k else ""


def add(rng: Random, archive: Archive) -> str:
    name = rng.choice(NAMES)
    content = rng.choice(
        [b"", b"x", b"{}", b"[]", b"\x80\x04.", archive.members[pick(rng, archive)].content]
    )
    extra = Member(name, content, rng.choice([STORED, DEFLATED]))
    n = rng.choice([*[1] * 30, 3, 1000])
    for k in range(n):
        archive.members.append(replace(extra, name=b"%d" % k + name) if n > 1 else extra)
    return f"{n} more {name[:40]!r}"


def lie(rng: Random, archive: Archive) -> str:
    """A field of a member's local or central record, or of both, is not true."""
    k = pick(rng, archive)
    member = archive.members[k]
    names = ("crc", "packed_size", "size", "flags", "method", "version", "offset", "name_size")
    name = rng.choice(names)
    if name == "method":
        value = rng.choice(METHODS)
    elif name == "flags":
        value = 1 << rng.randrange(16)
    elif rng.random() < 0.5:
        true = {"size": len(member.content), "packed_size": len(member.raw())}.get(name, 40)
        value = max(0, true + rng.choice([-1, 1, 2, -7, 100]))
    else:
        value = rng.choice(SIZES)
    where = rng.choice(["local", "central", "both"])
    changed = {
        side: {**getattr(member, side), name: value}
        for side in ("local", "central")
        if where in (side, "both")
    }
    archive.members[k] = replace(member, **changed)
    return f"{name} of {member.key} {value} ({where})"


def repack(rng: Random, archive: Archive) -> str:
    """Another method, honestly said: stored where it was deflated."""
    k = pick(rng, archive)
    member = archive.members[k]
    method = DEFLATED if member.method == STORED else STORED
    archive.members[k] = replace(member, method=method, packed=None)
    return f"{member.key} {'stored' if method == STORED else 'deflated'}"


def cut_stream(rng: Random, archive: Archive) -> str:
    """The compressed bytes end early, or go on."""
    k = pick(rng, archive)
    member = archive.members[k]
    raw = member.raw()
    at = rng.randrange(len(raw) + 1)
    raw = raw[:at] if rng.random() < 0.5 else raw[:at] + rng.randbytes(4) + raw[at:]
    size, crc = len(member.content), member.crc
    archive.members[k] = replace(member, packed=raw, size=size, crc=crc)
    return f"stream of {member.key} broken"


def overlap(rng: Random, archive: Archive) -> str:
    """Several members at one place of the file."""
    k = pick(rng, archive)
    offset = rng.choice([0, 1, 30, 100])
    said = archive.members[k].central
    archive.members[k] = replace(archive.members[k], central={**said, "offset": offset})
    return f"{archive.members[k].key} begins at {offset}"


def comments(rng: Random, archive: Archive) -> str:
    if rng.random() < 0.5:
        archive.comment = rng.choice([b"x", b"PK\5\6" + bytes(18), b"z" * 65535, b"\x1b[2J"])
        return "comment of the file"
    k = pick(rng, archive)
    extra = rng.choice(
        [b"x", b"\1\0\4\0abcd", b"\1\0\x10\0" + b"\xff" * 16, b"\1\0\xff\xff", bytes(9)]
    )
    archive.members[k] = replace(archive.members[k], comment=b"hello", extra=extra)
    return f"comment and extra field of {archive.members[k].key}"


def around(rng: Random, archive: Archive) -> str:
    noise = rng.choice([b"\0", b"#!/bin/sh\n", b"PK\3\4", bytes(5000)])
    if rng.random() < 0.5:
        archive.before = noise
        return "bytes before the zip"
    archive.after = noise
    return "bytes after the zip"


def wrong_end(rng: Random, archive: Archive) -> str:
    name = rng.choice(["n", "directory", "at", "comment"])
    archive.end[name] = rng.choice(SIZES)
    return f"end record: {name} {archive.end[name]}"


def zip64(rng: Random, archive: Archive) -> str:
    archive.zip64 = {}
    if rng.random() < 0.7:
        name = rng.choice(["size", "n", "directory", "at", "locator"])
        archive.zip64[name] = rng.choice([*SIZES, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
    if rng.random() < 0.7:
        archive.end |= {"n": 0xFFFF, "directory": 0xFFFFFFFF, "at": 0xFFFFFFFF}
    return f"zip64 end record {archive.zip64}"


def explode(rng: Random, archive: Archive) -> str:
    """A member, a new one or one that is wanted, of some hundred megabytes in a few kilobytes."""
    n = 320
    kind = rng.choice(["zeros", "array", "texts", "lists", "header"])
    if kind == "zeros":
        member = bomb(b"", bytes(_MB), b"", n)
    elif kind == "array":
        head = (_NPY % (n * _MB)).ljust(127) + b"\n"
        member = bomb(head, bytes(_MB), b"", n)
    elif kind == "texts":
        member = bomb(b'["a"', b',"a"' * (_MB // 16), b"]", 64)
    elif kind == "lists":
        member = bomb(b"[[]", b",[]" * (_MB // 16), b"]", 64)
    else:
        member = bomb(b'{"format": "eventspace model", "version": 1, "x": "', b"a" * _MB, b'"}', n)
    suffix = b".npy" if kind == "array" else b".json"
    wanted = [k for k, known in enumerate(archive.members) if known.name.endswith(suffix)]
    if wanted and rng.random() < 0.7:
        k = rng.choice(wanted)
        archive.members[k] = replace(member, name=archive.members[k].name)
        return f"bomb of {kind} in {archive.members[k].key}"
    archive.members.append(replace(member, name=b"bomb" + suffix))
    return f"bomb of {kind} as one more member"


MUTATIONS: tuple[Mutation, ...] = (
    *(drop, double, rename, reorder, swap, add, lie, lie, repack, cut_stream, overlap),
    *(comments, around, wrong_end, zip64),
)
