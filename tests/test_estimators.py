"""Estimators hold a fitted model, and answer as it does."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

from eventspace import KolmogorovDescent, KolmogorovEnsemble, load
from eventspace.baselines import BiasModel
from eventspace.data.frames import COLUMNS, data_frame
from eventspace.data.ids import Ids
from eventspace.fitted import FittedModel
from eventspace.fitted.prediction import r_squared


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    chance = rng.dirichlet(np.ones(3), 40) @ (rng.random((3, 12)) < 0.5)
    return np.where(rng.random(chance.shape) < 0.7, chance, np.nan)


@pytest.fixture(scope="module")
def model(table) -> KolmogorovDescent:
    return KolmogorovDescent(3, random_state=0).fit(table)


def test_what_the_fitted_model_knows_is_an_attribute(model) -> None:
    for name in ("pmf_", "codes_", "history_", "proved_", "given_", "user_ids_", "indicators_"):
        assert name in dir(model)
        assert_array_equal(getattr(model, name), getattr(model.fitted_, name[:-1]))
    for name in ("predict_", "nothing_"):  # what it does is a method, here as there
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="'KolmogorovDescent' has no attribute 'pmf_'"):
        _ = KolmogorovDescent().pmf_
    assert "pmf_" not in dir(KolmogorovDescent())
    assert "pmf_" in dir(BiasModel().fit(np.eye(3)))
    with pytest.raises(NotFittedError):
        KolmogorovDescent().predict()


def test_methods_are_those_of_fitted_models() -> None:
    assert KolmogorovDescent.predict.__doc__ == FittedModel.predict.__doc__
    assert KolmogorovDescent.rules.__wrapped__ is FittedModel.rules  # type: ignore[attr-defined]


def test_a_misspelt_parameter_names_the_estimator() -> None:
    with pytest.raises(
        TypeError, match=r"KolmogorovDescent.__init__\(\) got an unexpected keyword"
    ):
        KolmogorovDescent(n_event=4)  # type: ignore[call-arg]


def test_parameters_set_after_a_fit_hold_for_what_is_new(model, table, tmp_path) -> None:
    other = KolmogorovDescent.holding(model.fitted_).set_params(pmf_penalty=1e6)
    assert np.ptp(other.transform(table), axis=0).max() < 1e-3  # all are the population's
    assert np.ptp(model.transform(table), axis=0).max() > 0.1  # who holds it too is as before
    other.save(tmp_path / "m")
    assert load(tmp_path / "m").settings.pmf_penalty == 1e6
    assert model.fitted_.settings.pmf_penalty == 1.0


def test_estimators_that_share_a_model_do_not_disturb_each_other(model, table) -> None:
    penalties = (1.0, 1e6)
    twins = [KolmogorovDescent.holding(model.fitted_).set_params(pmf_penalty=x) for x in penalties]
    expected = [twin.transform(table) for twin in twins]
    with ThreadPoolExecutor(2) as pool:
        for k, found in enumerate(pool.map(lambda n: twins[n % 2].transform(table), range(40))):
            assert_array_equal(found, expected[k % 2])


def test_a_update_gives_a_new_model_and_leaves_the_old(model) -> None:
    before = model.fitted_
    after = before.update(([100], [0], [1.0]))
    assert (before.observations.n_users, after.observations.n_users) == (40, 41)
    shallow = copy.copy(model).update(([100], [0], [1.0]))
    assert (model.observations_.n_users, shallow.observations_.n_users) == (40, 41)


def test_given_parts_stay_given_when_somebody_is_new(model, table) -> None:
    parts = KolmogorovDescent.from_parts(model.pmf_, model.indicators_, table)
    assert "nothing: PMFs and indicators were given" in parts.summary()
    assert parts.update(([100], [0], [1.0])).summary().count("were given") == 1


def test_an_average_streams_its_rules_too(table) -> None:
    average = KolmogorovEnsemble(3, n_models=2, random_state=0).fit(table)
    streamed = sum(map(len, average.iter_rules(min_evidence=1)))
    assert streamed == len(average.rules(top=None, min_evidence=1)) > 0


def test_r_squared_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, weight = rng.random(30), rng.random(30)
    predicted = truth + rng.normal(0, 0.1, 30)
    assert_allclose(
        r_squared(truth, predicted, weight), r2_score(truth, predicted, sample_weight=weight)
    )
    for constant in (truth * 0, truth * 0 + 1):
        assert r_squared(truth * 0, constant, weight) == r2_score(truth * 0, constant)
    with pytest.warns(UserWarning, match="fewer than two"):
        assert np.isnan(r_squared(truth[:1], truth[:1], weight[:1]))


def test_weights_count_in_the_score(model, table) -> None:
    rng = np.random.default_rng(1)
    u, i = np.nonzero(~np.isnan(table))
    value, weight = rng.random(len(u)), rng.exponential(size=len(u))
    found = model.score((u, i, value, weight))
    predicted = model.predict((u, i))
    assert found == pytest.approx(r2_score(value, predicted, sample_weight=weight), abs=1e-5)
    assert found != pytest.approx(r2_score(value, predicted), abs=1e-3)


def test_columns_need_no_library() -> None:
    columns = {"a": np.arange(3)}
    found: object = data_frame(columns, COLUMNS)
    assert found is columns


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ([1, 2, 3], [True]),
        ([2**53 + 1, 5], [float(2**53)]),
        (np.array([2**63 + 1, 5], np.uint64), np.array([5, -1])),
        ([10, 30, 20], [20, 15, 40, 10]),
        (["a", "b"], ["b", "c"]),
        (["a", 1, (1, 2)], [(1, 2), 1, None]),
        ([1, 2, 3], [True, "x", 2.0, 3]),
        ([0.5, 1.5], [1.5, 2.5]),
        ([], [1]),
    ],
)
def test_few_ids_are_found_as_many_are(known, asked) -> None:
    ids, few = Ids(known), Ids(asked).values
    many = np.concatenate([few] * 100)
    assert_array_equal(np.tile(ids.positions(few), 100), ids.positions(many))
