"""A bar in a notebook: one output, kept up to date, empty in the end."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from eventspace._base import notebook_bar, progress
from eventspace._base.notebook_bar import pictured, worded


@pytest.fixture
def shown(monkeypatch) -> list[tuple[str, str]]:
    """What a notebook would have shown."""
    found: list[tuple[str, str]] = []
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(notebook_bar, "show", lambda *both: found.append(both))
    return found


def clock(monkeypatch, *seconds: float) -> None:
    times = iter(seconds)
    monkeypatch.setattr(notebook_bar, "monotonic", lambda: next(times))


def test_a_bar_appears_in_a_notebook_and_goes(shown, monkeypatch) -> None:
    clock(monkeypatch, 0.0, 0.9, 1.0, 1.1, 10.0)
    with progress.bar("sweeps", 10, None) as update:
        for done in (1, 2, 3, 5):
            update(done, "")
    assert [text for text, _ in shown] == [
        "sweeps 2 of 10, 0:04 left",  # not before a second has passed,
        "sweeps 5 of 10, 0:10 left",  # and not too often
        "",
    ]
    assert shown[-1] == ("", "")


def test_short_work_shows_nothing(shown, monkeypatch) -> None:
    clock(monkeypatch, 0.0, 0.1, 0.2)
    with progress.bar("sweeps", 2, None) as update:
        update(1, "")
        update(2, "")
    with progress.bar("sweeps", 2, False) as update:
        update(1, "")
    assert shown == []


def test_it_goes_also_where_the_work_is_stopped(shown, monkeypatch) -> None:
    clock(monkeypatch, 0.0, 2.0)

    def stopped() -> None:
        with progress.bar("sweeps", 2, None) as update:
            update(1, "")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert [text for text, _ in shown] == ["sweeps 1 of 2, 0:02 left", ""]


def test_ipython_at_a_terminal_is_no_notebook(monkeypatch) -> None:
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert notebook_bar.kernel_shell() is None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert notebook_bar.kernel_shell() is None


def test_the_line_says_how_far_it_is() -> None:
    assert worded("rules", 0, 10, 3.0, "") == "rules 0 of 10"
    assert worded("rules", 1, 3, 59.9, "") == "rules 1 of 3, 2:00 left"
    assert worded("rules", 10, 10, 3.0, "gap 0.1") == "rules 10 of 10, gap 0.1"
    assert worded("read", 12_345, None, 3.0, "") == "read 12,345"


def test_the_picture_is_the_line_with_a_bar() -> None:
    assert '<progress value="1" max="3"></progress> a &lt;b&gt;</div>' in pictured("a <b>", 1, 3)
    assert "<progress></progress>" in pictured("read 5", 5, None)
