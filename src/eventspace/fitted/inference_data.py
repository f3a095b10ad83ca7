"""A posterior in ArviZ's hands: what does not depend on how events are numbered."""

from __future__ import annotations

from typing import Any

from eventspace._base.extras import extra
from eventspace._base.version import __version__
from eventspace.fitted.fit import PosteriorFit

OF_A_DRAW = ("chain", "draw")


def inference_data(fit: PosteriorFit) -> Any:
    """The draws and their means as the installed ArviZ takes them: DataTree, or InferenceData."""
    with extra("arviz", "Posteriors are handed to"):
        import arviz
    import xarray

    posterior = {
        "cost": (OF_A_DRAW, fit.cost),
        "prediction": ((*OF_A_DRAW, "entry"), fit.watched),
    }
    means = {
        "noise": ("user", fit.noise),
        "concentration": fit.concentration,
        "user_spread": fit.user_spread,
        "item_spread": fit.item_spread,
    }
    users = {"user": fit.observations.user_ids.values}
    counts = {
        name: range(length)
        for name, length in zip((*OF_A_DRAW, "entry"), fit.watched.shape, strict=True)
    }
    tree = xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset(posterior, counts),
            "constant_data": xarray.Dataset(means, users),
        }
    )
    tree.attrs = {"inference_library": "eventspace", "inference_library_version": __version__}
    before_1 = getattr(arviz, "from_datatree", None)
    return tree if before_1 is None else before_1(tree)
