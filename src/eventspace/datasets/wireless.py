"""Wireless links: the part of what one node sends that another receives."""

from __future__ import annotations

import pandas as pd

from eventspace.datasets.dataset import Dataset
from eventspace.datasets.sources import Source

INTEL = Source(
    "intel-lab-connectivity",
    "https://db.csail.mit.edu/labdata/labdata.html",
    how=": connectivity.txt (sender, receiver, probability) and mote_loc.txt (mote, x, y).",
)
RUTGERS = Source(
    "rutgers-orbit-noise",
    "CRAWDAD rutgers/noise, doi:10.15783/C7B59W",
    how=(
        ": links.csv has the columns noise_dbm, dir_node, file_node, n_sent and n_received, "
        "counted from its traces."
    ),
)


def intel_lab() -> Dataset:
    """Delivery between the 54 motes of the Intel Berkeley lab, and to its gateway (0), in 2004.

    A user is a sender, an item a receiver. Users have their place in the lab, x and y in metres.
    """
    links = pd.read_csv(
        INTEL.path("connectivity.txt"), sep=r"\s+", names=["user", "item", "value"]
    ).dropna()  # one line is broken
    places = pd.read_csv(
        INTEL.path("mote_loc.txt"), sep=r"\s+", names=["user", "x", "y"], index_col=0
    )
    links = links[links["user"] != links["item"]].reset_index(drop=True)
    return Dataset(
        "Intel lab",
        links.astype({"user": "int64", "item": "int64"}),
        (0.0, 1.0),
        "P. Bodik, W. Hong, C. Guestrin, S. Madden, M. Paskin and R. Thibaux, Intel Lab Data, "
        "2004.",
        "Public research data.",
        users=places,
        items=places.rename_axis("item"),
    )


def rutgers_orbit() -> Dataset:
    """Delivery between 29 nodes of the ORBIT grid under five levels of noise, 2005.

    A user is a sender, an item a receiver at a level of noise in dBm: "3-5 at -10". Users have
    their row and column in the grid; items also the noise.
    """
    raw = pd.read_csv(RUTGERS.path("links.csv"))
    item = raw["file_node"] + " at " + raw["noise_dbm"].astype(str)
    table = pd.DataFrame(
        {"user": raw["dir_node"], "item": item, "value": raw["n_received"] / raw["n_sent"]}
    )
    receivers = _grid(raw["file_node"]).assign(noise=raw["noise_dbm"]).set_index(item)
    senders = _grid(raw["dir_node"]).set_index(raw["dir_node"])
    return Dataset(
        "Rutgers ORBIT",
        table,
        (0.0, 1.0),
        "S. K. Kaul, M. Gruteser and I. Seskar, CRAWDAD rutgers/noise, v. 2007-04-20. "
        "doi:10.15783/C7B59W",
        "CRAWDAD asks to be cited.",
        users=senders[~senders.index.duplicated()].rename_axis("user"),
        items=receivers[~receivers.index.duplicated()].rename_axis("item"),
    )


def _grid(nodes: pd.Series) -> pd.DataFrame:
    """Row and column of nodes named by them."""
    parts = nodes.str.split("-", expand=True).astype("int64")
    return parts.rename(columns={0: "row", 1: "column"})
