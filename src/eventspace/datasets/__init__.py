"""Loaders of real tables and generators of made ones."""

from eventspace.datasets.movielens import movielens_small

__all__ = ["movielens_small"]
