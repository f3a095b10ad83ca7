"""Loaders of real tables and generators of made ones."""

from eventspace.datasets.dataset import Dataset
from eventspace.datasets.groceries import groceries
from eventspace.datasets.mixtures import methylation_houseman, methylation_liu50, shen_orr
from eventspace.datasets.movielens import (
    movielens_1m,
    movielens_100k,
    movielens_latest_small,
    movielens_small,
)
from eventspace.datasets.votes import house_votes_84, senate_109
from eventspace.datasets.wireless import intel_lab, rutgers_orbit

__all__ = [
    "Dataset",
    "groceries",
    "house_votes_84",
    "intel_lab",
    "methylation_houseman",
    "methylation_liu50",
    "movielens_1m",
    "movielens_100k",
    "movielens_latest_small",
    "movielens_small",
    "rutgers_orbit",
    "senate_109",
    "shen_orr",
]
