"""Pictures show the numbers that the model and the metrics give."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Annotation

from eventspace import KolmogorovModelCV, metrics, plots

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def searched(table, **settings) -> KolmogorovModelCV:
    tried = {"n_events": (2, 3), "pmf_penalty": (10, 1, 0.1), "indicator_penalty": (0.0, 0.2)}
    model = KolmogorovModelCV(**tried, n_init=1, cv=2, random_state=0)
    model.set_params(**settings)
    return model.fit(table)


def curves(ax) -> dict[str, np.ndarray]:
    """The lines of a picture by their labels, as pairs of numbers."""
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def test_a_line_for_each_combination_and_a_ring_on_the_chosen(ratings) -> None:
    model = searched(ratings)
    found = curves(plots.selection_curve(model))
    results = pd.DataFrame(model.cv_results_).sort_values("param_pmf_penalty")
    groups = results.groupby(["param_n_events", "param_indicator_penalty"])
    assert len(found) == len(groups) + 1
    for (n, size), line in groups:
        np.testing.assert_array_equal(
            found[f"{n} events, indicator penalty {size:g}"],
            line[["param_pmf_penalty", "mean_rmse"]],
        )
    best = model.best_params_["pmf_penalty"]
    ring = found[f"chosen: {best:g}, RMSE {model.best_rmse_:.4g}"]
    assert ring.tolist() == [[best, model.best_rmse_]]
    assert model.best_rmse_ > 0.2  # stars, not probabilities


def test_lines_can_be_told_apart(ratings) -> None:
    ax = plots.selection_curve(searched(ratings, pmf_prior=("mean", "zero")))
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == len(ax.lines) == 2 * 2 * 2 + 1
    assert "3 events, indicator penalty 0.2, prior zero" in curves(ax)


@pytest.mark.parametrize(
    ("penalties", "scale"), [((10, 1), "log"), ((10, 1, 0), "symlog"), (0, "linear")]
)
def test_the_axis_has_room_for_every_penalty(ratings, penalties, scale) -> None:
    ax = plots.selection_curve(searched(ratings, pmf_penalty=penalties))
    assert ax.get_xscale() == scale
    low, high = ax.get_xlim()
    assert low <= np.min(penalties) <= np.max(penalties) <= high


def test_no_curve_without_entries_held_out() -> None:
    alone = np.where(np.eye(3) > 0, 0.5, np.nan)  # each user and item with a single entry
    with pytest.warns(UserWarning, match="no entry can be held out"):
        model = KolmogorovModelCV(1, pmf_penalty=1, random_state=0).fit(alone)
    with pytest.raises(ValueError, match="Nothing could be held out"):
        plots.selection_curve(model)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_is_the_reliability_curve_with_its_counts(strategy) -> None:
    rng = np.random.default_rng(0)
    prediction = rng.random(1500) ** 2
    truth = rng.random(1500) < prediction
    ax = plots.calibration(truth, prediction, n_bins=5, strategy=strategy, label="mine")
    curve = metrics.reliability_curve(truth, prediction, n_bins=5, strategy=strategy)
    np.testing.assert_array_equal(curves(ax)["mine, 1,500 entries"], curve[["prediction", "truth"]])
    assert [text.get_text() for text in ax.texts] == [f"{count:,}" for count in curve["count"]]
    places = [text.xy[0] for text in ax.texts if isinstance(text, Annotation)]
    assert places == curve["prediction"].tolist()


def test_models_share_axes_and_one_diagonal(ratings) -> None:
    _, ax = plt.subplots()
    for label in ("one", "two"):
        assert plots.calibration([0, 1, 1], [0.1, 0.7, 0.9], ax, n_bins=2, label=label) is ax
    assert list(curves(ax)) == ["calibrated", "one, 3 entries", "two, 3 entries"]
    assert len({line.get_color() for line in ax.lines}) == 3
    assert plots.selection_curve(searched(ratings), ax) is ax


def test_without_matplotlib_there_is_a_remedy(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'eventspace\[plot\]'\.$"):
        plots.calibration([0, 1], [0.2, 0.8])


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import sys, eventspace.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
