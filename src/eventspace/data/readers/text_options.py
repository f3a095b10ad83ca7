"""How a text file is written, as far as the caller says; what is not said is recognised."""

from __future__ import annotations

import codecs
import io
import os
import re
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

from eventspace._base.errors import UserError

Decimal = Literal[".", ","]


class TextKeywords(TypedDict, total=False):
    """`TextOptions` as keyword arguments."""

    sep: str | None
    decimal: Decimal | None
    encoding: str | None
    header: bool | None


@dataclass(frozen=True)
class TextOptions:
    """What separates fields, the decimal mark, the encoding, and whether the first line has names.

    None: recognised where that is safe, else refused. A ``sep`` of one blank stands for any number
    of them.
    """

    sep: str | None = None
    decimal: Decimal | None = None
    encoding: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        if self.sep is not None and not re.fullmatch(r'[^"\r\n\0\x1f]{1,8}', self.sep):
            reason = "separates no fields: it is at most 8 letters, no quote and no line break."
            raise UserError(reason, parameter="sep", value=self.sep)
        if self.decimal not in (None, ".", ","):
            reason = "is no decimal mark: allowed are . and ,"
            raise UserError(reason, parameter="decimal", value=self.decimal)
        if self.encoding is not None and not _is_encoding(self.encoding):
            reason = "is no encoding of text: write utf-8, latin-1, cp1252 or utf-16, say."
            raise UserError(reason, parameter="encoding", value=self.encoding)


def for_files(data: Any, options: TextOptions) -> TextOptions:
    """The same options, refused if ``data`` is neither the path of a file nor a stream."""
    given = [field.name for field in fields(options) if getattr(options, field.name) is not None]
    if given and not isinstance(data, (str, os.PathLike, io.IOBase)):
        reason = f"says how a text file is written, and this is a {type(data).__name__}."
        raise UserError(reason, parameter=given[0])
    return options


def _is_encoding(name: str) -> bool:
    try:
        codecs.getincrementaldecoder(name)
        b"a".decode(name)
    except UnicodeError:  # half a letter, in some
        return True
    except (LookupError, ValueError):
        return False
    return True
