"""Pictures show the numbers that the model and the metrics give."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Annotation

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
    load,
    metrics,
    plots,
)
from eventspace.plots.layers import layers
from tests.planted import chances

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def curves(ax) -> dict[str, np.ndarray]:
    """The lines of a picture by their labels, as pairs of numbers."""
    return {line.get_label(): line.get_xydata() for line in ax.lines}


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_is_the_reliability_curve_with_its_counts(strategy) -> None:
    rng = np.random.default_rng(0)
    prediction = rng.random(1500) ** 2
    truth = rng.random(1500) < prediction
    ax = plots.calibration(truth, prediction, n_bins=5, strategy=strategy, label="mine")
    curve = metrics.reliability_curve(truth, prediction, n_bins=5, strategy=strategy)
    np.testing.assert_array_equal(curves(ax)["mine, 1,500 entries"], curve[["prediction", "truth"]])
    shown = curve if strategy == "uniform" else curve[:0]
    assert [text.get_text() for text in ax.texts] == [f"{count:,}" for count in shown["count"]]
    places = [text.xy[0] for text in ax.texts if isinstance(text, Annotation)]
    assert places == shown["prediction"].tolist()


def test_models_share_axes_and_one_diagonal() -> None:
    _, ax = plt.subplots()
    for label in ("one", "two"):
        assert plots.calibration([0, 1, 1], [0.1, 0.7, 0.9], ax, n_bins=2, label=label) is ax
    assert list(curves(ax)) == ["calibrated", "one, 3 entries", "two, 3 entries"]
    assert len({line.get_color() for line in ax.lines}) == 3


def test_without_matplotlib_there_is_a_remedy(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'eventspace\[plot\]'\.$"):
        plots.calibration([0, 1], [0.2, 0.8])


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = "import sys, eventspace.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def model(ratings) -> KolmogorovDescent:
    return KolmogorovDescent(4, random_state=0).fit(ratings)


def test_the_descent_is_the_history(model) -> None:
    ax = plots.descent(model, label="one")
    (label, line), *others = curves(ax).items()
    assert not others
    assert label.startswith("one: ")
    np.testing.assert_array_equal(line[:, 0], np.arange(1, model.n_iter_ + 1))
    np.testing.assert_array_equal(line[:, 1], model.history_)
    assert plots.descent(model, ax, label="two") is ax
    assert len({line.get_color() for line in ax.lines}) == 2


def test_what_has_no_descent_says_so(ratings) -> None:
    quick = {"n_chains": 1, "n_warmup": 1, "n_draws": 4, "random_state": 0}
    posterior = KolmogorovPosterior(2, **quick).fit(ratings)
    with pytest.raises(TypeError, match=r"KolmogorovPosterior is no descent: its diagnostics\(\)"):
        plots.descent(posterior)
    with pytest.raises(TypeError, match=r"KolmogorovModel is no descent: its diagnostics\(\)"):
        plots.descent(KolmogorovModel(2, **quick).fit(ratings))
    ensemble = KolmogorovEnsemble(2, n_models=2, random_state=0).fit(ratings)
    with pytest.raises(TypeError, match="KolmogorovEnsemble has no single descent"):
        plots.descent(ensemble)


def test_the_map_of_pmfs_has_each_users_row(model) -> None:
    users = model.user_ids_[[3, 0, 2]]
    ax = plots.pmfs(model, users=users)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert sorted(names) == sorted(str(user) for user in users)
    for name, row in zip(names, ax.images[0].get_array(), strict=True):
        at = [str(user) for user in model.user_ids_].index(name)
        np.testing.assert_allclose(row, model.pmf_[at])


def test_the_map_of_indicators_has_each_items_row_and_twins_are_neighbours(model) -> None:
    ax = plots.indicators(model)
    rows = np.asarray(ax.images[0].get_array())
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    for name, row in zip(names, rows, strict=True):
        at = [str(item) for item in model.item_ids_].index(name)
        np.testing.assert_array_equal(row, model.indicators_[at])
    changes = (rows[1:] != rows[:-1]).any(axis=1).sum()
    assert changes == len(np.unique(rows, axis=0)) - 1  # each set in one piece


def test_a_map_of_many_has_no_names_and_of_very_many_only_some_rows() -> None:
    table = np.random.default_rng(0).random((4, 230))
    model = KolmogorovDescent(2, n_iter=2, random_state=0).fit(table)
    ax = plots.indicators(model)
    assert np.shape(ax.images[0].get_array()) == (200, 2)
    assert not ax.get_yticklabels()
    assert ax.get_ylabel() == "200 items"


def test_who_is_not_known_cannot_be_drawn(model) -> None:
    with pytest.raises(ValueError, match="does not know 1 of these users: 'nobody'"):
        plots.pmfs(model, users=["nobody"])
    with pytest.raises(ValueError, match="does not know 1 of these items: 'nothing'"):
        plots.hasse(model, items=["nothing"])


def planted_order() -> KolmogorovDescent:
    """a inside b inside d; a inside c inside d; d2 has d's set; e stands alone."""
    sets = {"a": [0], "b": [0, 1], "c": [0, 2], "d": [0, 1, 2], "$d2$": [0, 1, 2], "e": [3]}
    pmf = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    bits = np.array([[d in events for d in range(4)] for events in sets.values()])
    table = pd.DataFrame(pmf @ bits.T, columns=list(sets))
    model = KolmogorovDescent(4, pmf_penalty=0, n_init=8, random_state=0)
    return model.fit(Observations.from_wide(table, scale=(0, 1)))


def ends_of(line) -> tuple[tuple[float, float], tuple[float, float]]:
    points = np.asarray(line.get_xydata()).tolist()
    return tuple(points[0]), tuple(points[-1])


def test_the_hasse_diagram_has_a_node_a_class_and_a_line_a_cover() -> None:
    ax = plots.hasse(planted_order())
    nodes = {text.get_text(): text.get_position() for text in ax.texts}
    assert set(nodes) == {"a", "b", "c", "d\n\\$d2\\$", "e"}
    height = {name: y for name, (_, y) in nodes.items()}
    assert height["a"] == height["e"] < height["b"] == height["c"] < height["d\n\\$d2\\$"]
    ends = {ends_of(line) for line in ax.lines}
    pairs = [("a", "b"), ("a", "c"), ("b", "d\n\\$d2\\$"), ("c", "d\n\\$d2\\$")]
    assert ends == {(nodes[lower], nodes[upper]) for lower, upper in pairs}
    assert len(set(nodes.values())) == len(nodes)  # none hides another


def test_the_hasse_diagram_of_some_items_draws_what_follows_among_them() -> None:
    ax = plots.hasse(planted_order(), items=["a", "d"])
    assert [text.get_text() for text in ax.texts] == ["a", "d"]
    assert len(ax.lines) == 1


def many_sets(n: int) -> KolmogorovDescent:
    """Of n items with sets of 8 events, large and small, so that lines pass many rows."""
    rng = np.random.default_rng(n)
    sets = rng.random((n, 8)) < rng.random((n, 1))
    pmf = rng.dirichlet(np.ones(8), 5)
    names = [f"An item with a long name, {k}" for k in range(n)]
    return KolmogorovDescent.from_parts(pmf, sets, pd.DataFrame(pmf @ sets.T, columns=names))


@pytest.mark.parametrize("n", [2, 5, 20, 60])
def test_no_line_of_the_hasse_diagram_passes_behind_a_box(n) -> None:
    model = many_sets(n)
    ax = plots.hasse(model, items=model.item_ids_)
    ax.figure.canvas.draw()
    patches = {text.get_position(): text.get_bbox_patch() for text in ax.texts}
    boxes = {at: box.get_window_extent() for at, box in patches.items() if box is not None}
    assert len(boxes) == len(ax.texts)
    for one, other in combinations(boxes.values(), 2):
        assert not one.overlaps(other)
    for line in ax.lines:
        own = set(ends_of(line))
        path = ax.transData.transform_path(line.get_path())
        assert len(own & set(boxes)) == 2
        assert not any(path.intersects_bbox(boxes[at], filled=False) for at in set(boxes) - own)
    inside = ax.figure.bbox
    assert all(box.x0 > 0 and box.x1 < inside.width for box in boxes.values())


def test_influence_falls_and_the_maximal_are_marked() -> None:
    table = pd.DataFrame({"always": [1.0] * 8, "half": [0.3, 0.9] * 4, "never": [0.0] * 8})
    model = KolmogorovDescent(2, pmf_penalty=0, random_state=0)
    model.fit(Observations.from_wide(table, scale=(0, 1)))
    found = curves(plots.influence(model))
    expected = model.order().influence()["influence"]
    np.testing.assert_array_equal(found["3 items"][:, 1], expected)
    assert len(found[f"{len(model.order().maximal())} maximal"]) == len(model.order().maximal()) > 0


def test_a_node_is_above_the_longest_way_to_it() -> None:
    found = layers(4, [(0, 1), (1, 2), (0, 3), (2, 3)])
    assert found.row[:4].tolist() == [0, 1, 2, 3]
    found = layers(4, [(0, 1), (1, 3), (2, 3)])
    assert found.row[:4].tolist() == [0, 1, 0, 2]


def test_reading_costs_the_less_the_more_events(tmp_path) -> None:
    rng = np.random.default_rng(0)
    table = np.clip(chances(rng, 60, 25, 3) + rng.normal(0, 0.1, (60, 25)), 0, 1) * 4 + 1
    seen = rng.random(table.shape) < 0.7
    train = Observations.of(np.where(seen, table, np.nan), scale=(1, 5))
    posterior = KolmogorovPosterior(4, n_chains=2, n_warmup=4, n_draws=6, random_state=0).fit(train)
    ax = plots.reading_cost(posterior, n_events=(1, 2, 4))
    models = [posterior.to_model(n) for n in (1, 2, 4)]
    found = curves(ax)
    errors = found["one model"][:, 1]
    np.testing.assert_array_equal(found["one model"][:, 0], [1, 2, 4])
    np.testing.assert_allclose(errors, [4 * model.expected_rmse_ for model in models])
    assert (np.diff(errors) < 0).all()
    (least,) = (line for label, line in found.items() if label.startswith("the average: "))
    assert (least[:, 1] < errors.min()).all()
    assert [text.get_text() for text in ax.texts] == [f"{error:.3f}" for error in errors]
    assert ax.get_ylabel() == "expected RMSE, on the scale from 1 to 5"

    posterior.save(tmp_path / "p")
    again = plots.reading_cost(load(tmp_path / "p"), ax=plt.figure().gca(), n_events=(1, 2, 4))
    np.testing.assert_allclose(curves(again)["one model"], found["one model"])

    u, i = np.nonzero(~seen)
    held_out = Observations.of((u, i, table[u, i]), scale=(1, 5))
    ax = plots.reading_cost(posterior, held_out, plt.figure().gca(), n_events=(2, 4))
    off = [
        np.sqrt(np.mean(np.square(model.predict((u, i), unit="original") - table[u, i])))
        for model in models[1:]
    ]
    np.testing.assert_allclose(curves(ax)["one model"][:, 1], off, rtol=1e-5)
    assert ax.get_ylabel().startswith("RMSE on held-out ratings")

    for single in (models[0], models[0].fitted_):
        with pytest.raises(TypeError, match="is one model already: this picture is of an average"):
            plots.reading_cost(single)
