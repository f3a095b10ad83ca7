"""What the adapters offer; without the host, what to type, in one line."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from eventspace import UserError

NAMES = {
    "lenskit": ["KolmogorovScorer", "ScorerConfig"],
    "cornac": ["KolmogorovRecommender"],
    "surprise": ["KolmogorovAlgorithm"],
}


@pytest.mark.whole
@pytest.mark.parametrize("host", NAMES)
def test_public_names(host: str) -> None:
    pytest.importorskip(host, reason=f"the extra {host!r} is not installed")
    assert import_module(f"eventspace.adapters.{host}").__all__ == NAMES[host]


@pytest.mark.parametrize("host", NAMES)
def test_without_the_host_there_is_a_remedy(host: str, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, f"eventspace.adapters.{host}", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == host]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, host, None)
    with pytest.raises(UserError) as caught:
        import_module(f"eventspace.adapters.{host}")
    assert isinstance(caught.value, ModuleNotFoundError)
    assert str(caught.value).endswith(f" needs {host}: pip install 'eventspace[{host}]'.")
    assert "\n" not in str(caught.value)


def test_another_missing_package_is_not_taken_for_the_host() -> None:
    from eventspace._base.extras import extra

    with pytest.raises(ModuleNotFoundError, match="nowhere") as caught, extra("cornac", "It needs"):
        import_module("nowhere")
    assert not isinstance(caught.value, UserError)
