"""The same for everybody: what a shop without any model shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eventspace._base.types import Floats, Positions
from eventspace.baselines.bias import Biases, BiasModel
from eventspace.data.entries import Entries


class PopularityModel(BiasModel):
    """p_ui = mean + b_i for every user: the damped mean of the item.

    It recommends the items with the most ratings, and not those with the best: an item that two
    users gave five stars is not what everybody else looks for.

    Parameters
    ----------
    damping : float, default 5.0
        How strongly an item's mean is pulled towards the mean of all, in ratings.

    Attributes
    ----------
    mean_ : float
        The (weighted) mean of all entries.
    item_bias_ : array
        The biases of the items, in probability; ``user_bias_`` is zero.
    error_ : float
        The (weighted) squared error over the observed entries.
    observations_ : Observations
        What was learnt from.
    """

    def _user_biases(self, by_user: Entries) -> Floats:
        return np.zeros(len(by_user.ptr) - 1)

    @property
    def _predictor(self) -> type[Biases]:
        return Popularity


class Popularity(Biases):
    """Items are ranked by how many users have rated them."""

    def appeal(
        self, users: Positions, p: Floats, *, meets: bool, like: float | None
    ) -> dict[str, NDArray[Any]]:
        """What items are ranked by: the share of users who have rated them."""
        seen = self.observations
        return {"chance": np.broadcast_to(seen.by_item.sizes / seen.n_users, p.shape)}
