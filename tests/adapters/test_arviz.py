"""ArviZ takes a posterior, and finds of its chains what we find."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eventspace import KolmogorovPosterior, UserError, load
from eventspace.sampling.diagnostics import effective_size, split_rhat
from tests.fits import fitted
from tests.planted import noisy_stars


@pytest.fixture
def posterior():
    """Of a table with noise: nothing that it predicts is the same in all draws."""
    settings = {"n_chains": 4, "n_warmup": 20, "n_draws": 41, "n_samples": 8, "random_state": 0}
    return fitted(KolmogorovPosterior(3, **settings), noisy_stars()[0])


@pytest.fixture
def arviz():
    return pytest.importorskip("arviz", reason="the extra 'arviz' is not installed")


def test_without_arviz_there_is_a_remedy(posterior, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(UserError, match=r"handed to arviz: pip install 'eventspace\[arviz\]'\.$"):
        posterior.to_arviz()


@pytest.mark.whole
def test_it_has_all_that_does_not_depend_on_the_numbers_of_events(posterior, arviz) -> None:
    data = posterior.to_arviz()
    assert_array_equal(data["posterior"]["cost"], posterior.cost_)
    assert_array_equal(data["posterior"]["prediction"], posterior.watched_)
    assert data["posterior"]["prediction"].dims == ("chain", "draw", "entry")
    noise = data["constant_data"]["noise"]
    assert noise.sel(user="u3") == posterior.noise_[posterior.user_ids_.tolist().index("u3")]
    for name in ("concentration", "user_spread", "item_spread"):
        assert data["constant_data"][name] == getattr(posterior, f"{name}_")
    assert data.attrs["inference_library"] == "eventspace"


@pytest.mark.whole
def test_its_diagnostics_are_ours(posterior, arviz) -> None:
    """R-hat by the same formula; in short chains the sums of the effective size end elsewhere."""
    data = posterior.to_arviz()
    found = arviz.rhat(data, method="split")
    found = found.get("posterior", found)
    assert_allclose(found["cost"], split_rhat(posterior.cost_))
    assert_allclose(found["prediction"], split_rhat(posterior.watched_))
    sizes = arviz.ess(data, method="mean")
    sizes = sizes.get("posterior", sizes)
    own = effective_size(posterior.watched_)
    assert_allclose(sizes["prediction"], own, rtol=0.25)
    assert np.corrcoef(sizes["prediction"], own)[0, 1] > 0.99
    table = arviz.summary(data, var_names=["prediction"])
    means = posterior.watched_.mean(axis=(0, 1))
    assert_allclose(table["mean"].astype(float), means, atol=0.05)


@pytest.mark.whole
def test_a_file_keeps_it(posterior, arviz, tmp_path) -> None:
    posterior.save(tmp_path / "films.eventspace")
    data = load(tmp_path / "films.eventspace").to_arviz()
    assert_array_equal(data["posterior"]["cost"], posterior.cost_)
