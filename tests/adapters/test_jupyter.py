"""A real kernel of Jupyter: a bar is one output of its cell, and leaves nothing to see."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.whole

CELLS = [
    """
import time
from eventspace._base.progress import bar

print("before")
with bar("sweeps", 4, None) as update:
    for k in range(4):
        time.sleep(0.5)
        update(k + 1, "")
with bar("compress", None, None) as update:
    time.sleep(1.1)
    update(7, "")
print("after")
""",
    """
with bar("short", 4, None) as update:
    update(1, "")
""",
    """
from eventspace import KolmogorovDescent
KolmogorovDescent(2, random_state=0).fit([[1, 0], [0, 1]])
""",
]


def test_a_bar_in_a_notebook() -> None:
    nbformat = pytest.importorskip("nbformat", reason="the extra 'hosts' is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the extra 'hosts' is not installed")
    pytest.importorskip("ipykernel", reason="the extra 'hosts' is not installed")
    seen: list[tuple[str, str]] = []

    class Watcher(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
        def process_message(self, message: Any, cell: Any, index: int) -> Any:
            if "data" in message["content"]:
                seen.append((message["msg_type"], message["content"]["data"]["text/plain"]))
            return super().process_message(message, cell, index)

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    Watcher(book, kernel_name="python3").execute()
    kinds, texts = zip(*seen[:-1], strict=True)
    assert kinds == ("display_data", *["update_display_data"] * (len(kinds) - 1))
    assert re.fullmatch(r"sweeps \d of 4(, \d:\d\d left)?", texts[0])
    assert texts[-3:] == ("", "compress 7", "")
    first, second, third = (cell.outputs for cell in book.cells)
    assert [output.output_type for output in first] == ["stream", "display_data", "stream"]
    assert first[1].data == {"text/plain": "", "text/html": ""}
    assert second == []
    assert third[0].data["text/html"].endswith("</pre>")
