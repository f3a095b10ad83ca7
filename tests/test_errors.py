"""Errors of the caller's are a class whose parts say what was wrong, where, and what to do."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import eventspace
from eventspace import KolmogorovDescent, Observations, UserError
from eventspace._base.errors import MissingError, UserTypeError, warn
from eventspace.data.invariants import InvariantError
from eventspace.data.readers.roles import ColumnsError
from eventspace.logic.expressions import ExpressionError, parse
from eventspace.storage.archive import StorageError

PARTS = {
    "where": "'films.csv'",
    "parameter": "n_events",
    "value": 0,
    "remedy": "Say n_events=2.",
    "shell": "Say --events 2.",
}


def test_as_text() -> None:
    assert str(UserError("Nothing is observed.")) == "Nothing is observed."
    assert str(UserError("has no rows.", parameter="pmf")) == "pmf has no rows."
    assert str(UserError("is wrong.", parameter="cv", value=None)) == "cv=None is wrong."
    whole = "'films.csv': n_events=0 is too few. Say n_events=2."
    assert str(UserError("is too few.", **PARTS)) == whole


@pytest.mark.parametrize(
    "kind",
    [
        UserError,
        UserTypeError,
        MissingError,
        ColumnsError,
        ExpressionError,
        InvariantError,
        StorageError,
    ],
)
def test_copies_keep_every_part(kind) -> None:
    error = kind("is too few.", **PARTS)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert isinstance(again, UserError)
        assert vars(again) == vars(error) == {"what": "is too few.", **PARTS}
        assert str(again) == str(error)


def test_an_error_of_an_expression_shows_it_also_in_a_copy() -> None:
    with pytest.raises(UserError) as caught:
        parse("Heat &", str)
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == 'At character 7: expected an item or "(" after "&".\nHeat &\n      ^'
    assert error.where == "At character 7"
    assert error.what == 'expected an item or "(" after "&".'


def test_the_wrong_parameter_and_its_value() -> None:
    with pytest.raises(UserError, match="n_events=65 must be a whole number") as caught:
        KolmogorovDescent(65).fit(np.eye(3))
    assert (caught.value.parameter, caught.value.value) == ("n_events", 65)


def test_the_file_that_was_wrong(tmp_path) -> None:
    path = tmp_path / "films.csv"
    path.write_text("user,item,value\nann,Up,2020-01-01\n")
    with pytest.raises(TypeError, match=r"films\.csv': value .* is no number") as caught:
        Observations.of(path)
    assert isinstance(caught.value, eventspace.UserError)
    assert caught.value.where == repr(str(path))
    assert caught.value.shell == "no number."
    assert caught.value.__cause__ is not None


def test_columns_that_cannot_be_told() -> None:
    frame = pd.DataFrame({"a": [1, 0], "b": [0, 1], "c": [1, 1]})
    with pytest.raises(ColumnsError, match=r"say which with Observations\.from_long") as caught:
        Observations.of(frame)
    assert caught.value.what.endswith(":")
    assert "--user NAME" in str(caught.value.shell)


@pytest.mark.parametrize("between", ["eventspace.data", "contextlib", "importlib._bootstrap"])
def test_a_warning_stands_at_the_line_that_called_the_package(between: str) -> None:
    """Frames of ours, and those that stand between them, as of an import, are passed over."""
    inner: dict[str, Any] = {"__name__": "eventspace.deep", "warn": warn}
    outer: dict[str, Any] = {"__name__": between, "inner": inner}
    exec("def told(): warn('something')", inner)
    exec("def called(): inner['told']()", outer)
    with pytest.warns(UserWarning, match="something") as caught:
        outer["called"]()
    assert caught[0].filename == __file__
