"""A formal context as a file: objects, attributes, and which object has which attribute."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.errors import UserError
from eventspace._base.printable import printable, shown

MARKS = np.array([".", "X"])


def write_context(
    path: str | os.PathLike[str],
    objects: Sequence[Any],
    attributes: Sequence[str],
    bits: NDArray[np.bool_],
) -> None:
    """Write the context in Burmeister's format (.cxt), which tools of concept analysis read.

    A name is a line there, so that an object's has no line breaks, and is that of one object only.
    """
    names = [printable(str(object_)) for object_ in objects]
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise UserError(
            f"{times} items are written {shown(name)}: in a context names tell items apart.",
            where=repr(os.fspath(path)),
        )
    rows = ["".join(marks) for marks in MARKS[bits.astype(np.intp)]]
    lines = ["B", "", str(len(names)), str(len(attributes)), "", *names, *attributes, *rows, ""]
    Path(path).write_text("\n".join(lines), encoding="utf-8", newline="\n")
