"""The example on wireless links gives what its page says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from examples import wireless
from examples.__main__ import figures_of
from tests.example import assert_page_says, assert_same_seed, needs_data


def test_the_page_says_what_was_measured() -> None:
    assert_page_says("wireless", wireless.tables)


@pytest.mark.whole
@needs_data("intel-lab-connectivity", "rutgers-orbit-noise")
def test_the_figures_come_again() -> None:
    now = wireless.measure(seeds=wireless.SEEDS[:1])
    assert_same_seed("wireless", now)
    lab = {tool: row["rmse"][0] for tool, row in now["hidden"]["half"].items()}
    assert min(lab, key=lambda tool: lab[tool]) == "KolmogorovPosterior, positions"
    # lists of thirty: one seed is too few to tell them apart
    every = [seed["gains"] for seed in figures_of("wireless")["rules"]]
    mean = {who: np.mean([gains[who]["confidence"] for gains in every]) for who in every[0]}
    assert mean["rules"] > mean["counted"]
    assert mean["closest"] > mean["all"]


def test_a_link_stands_in_the_table_from_both_its_ends() -> None:
    link = pd.DataFrame({"sender": ["a"], "receiver": ["b"], "noise": [0.0], "value": [0.4]})
    twice = wireless._twice(link)
    assert twice["user"].tolist() == ["a", "b"]
    assert twice["item"].tolist() == ["to b at 0.0", "from a at 0.0"]
    mean = wireless.both_ways(lambda train, pairs: np.where(pairs["user"] == "a", 0.2, 0.6))
    assert mean(link, link) == pytest.approx([0.4])
