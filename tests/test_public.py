"""Promises to those who import us: the names, and how long the import takes."""

from __future__ import annotations

import json
import subprocess
import sys
from inspect import signature

import pytest

import eventspace
from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
)


def public(thing: object) -> list[str]:
    return sorted(name for name in dir(thing) if not name.startswith("_"))


def test_public_names() -> None:
    assert eventspace.__all__ == [
        "KolmogorovDescent",
        "KolmogorovEnsemble",
        "KolmogorovModel",
        "KolmogorovPosterior",
        "Observations",
        "UserError",
        "__version__",
        "evaluate",
        "load",
    ]
    assert sorted(dir(eventspace)) == sorted(eventspace.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = eventspace.nothing


def test_public_names_of_the_classes() -> None:
    own = {name for name in public(KolmogorovDescent) if name in _declared(KolmogorovDescent)}
    assert own == {
        "event",
        "events",
        "explain",
        "fit",
        "from_parts",
        "get_feature_names_out",
        "holding",
        "inverse_transform",
        "iter_rules",
        "load",
        "monitor",
        "order",
        "predict",
        "query",
        "recommend",
        "report",
        "rules",
        "save",
        "score",
        "similar_items",
        "similar_users",
        "summary",
        "transform",
        "update",
    }
    model = {name for name in public(KolmogorovModel) if name in _declared(KolmogorovModel)}
    assert model == own - {"from_parts"} | {"diagnostics"}
    own = {name for name in public(KolmogorovEnsemble) if name in _declared(KolmogorovEnsemble)}
    assert own == {
        "event",
        "events",
        "explain",
        "fit",
        "get_feature_names_out",
        "holding",
        "inverse_transform",
        "iter_rules",
        "load",
        "monitor",
        "order",
        "predict",
        "predict_interval",
        "query",
        "recommend",
        "report",
        "rules",
        "samples",
        "save",
        "score",
        "similar_items",
        "similar_users",
        "summary",
        "to_model",
        "transform",
        "update",
    }
    more = {name for name in public(KolmogorovPosterior) if name in _declared(KolmogorovPosterior)}
    assert more == own | {"diagnostics", "to_arviz"}
    assert public(Observations) == [
        "at",
        "coo",
        "fades",
        "fading",
        "forgetting",
        "from_long",
        "from_unit",
        "from_wide",
        "mean_weight",
        "missing",
        "n_items",
        "n_observed",
        "n_users",
        "of",
        "others",
        "shape",
        "to_unit",
        "total_weight",
        "weighted",
        "with_unit_weight",
    ]


def _declared(kind: type) -> set[str]:
    """Names that our own classes declare, not scikit-learn's, nor parameters."""
    parameters = {*signature(kind).parameters, "n_features_in_"}
    return {
        name
        for base in kind.__mro__
        if base.__module__.startswith("eventspace")
        for name in vars(base)
        if not name.startswith("set_")  # scikit-learn's metadata routing puts these there
        and name not in parameters
    }


def test_importing_is_light() -> None:
    """No heavy package is imported before it is needed: that is what keeps the import short."""
    heavy = ["numba", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "rich", "typer", "narwhals"]
    code = (
        f"import sys, json, eventspace; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []


def test_the_command_line_starts_light() -> None:
    heavy = ["numba", "numpy", "pandas", "pyarrow", "scipy", "sklearn"]
    code = (
        "import sys, json, eventspace.cli.app;"
        f"print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []
