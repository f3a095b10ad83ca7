"""Roll calls: who voted yea, who nay."""

from __future__ import annotations

import pandas as pd

from eventspace.datasets.dataset import Dataset, long_table
from eventspace.datasets.sources import Source

HOUSE = Source(
    "house-votes-84",
    "https://archive.ics.uci.edu/dataset/105/congressional+voting+records",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/voting-records/house-votes-84.data",
    "sha256:c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e",
)
SENATE = Source(
    "senate109",
    "the R package pscl, data set s109",
    how=(
        ": votes_binary.csv has one row per legislator and one column per roll call, "
        "session-number, with 1 for yea, 0 for nay; legislators.csv and rollcalls.csv tell more."
    ),
)
KEY_VOTES = (
    "handicapped-infants",
    "water-project-cost-sharing",
    "adoption-of-the-budget-resolution",
    "physician-fee-freeze",
    "el-salvador-aid",
    "religious-groups-in-schools",
    "anti-satellite-test-ban",
    "aid-to-nicaraguan-contras",
    "mx-missile",
    "immigration",
    "synfuels-corporation-cutback",
    "education-spending",
    "superfund-right-to-sue",
    "crime",
    "duty-free-exports",
    "export-administration-act-south-africa",
)


def house_votes_84() -> Dataset:
    """The 16 key votes of the House of Representatives in 1984, 435 members: yea 1, nay 0.

    A member who voted neither way is missing. Users have their party.
    """
    raw = pd.read_csv(HOUSE.path("house-votes-84.data"), header=None)
    raw.index = pd.Index([f"member {k + 1}" for k in range(len(raw))], name="user")
    votes = raw.iloc[:, 1:].set_axis(list(KEY_VOTES), axis=1)
    return Dataset(
        "House votes 1984",
        long_table(votes.replace({"y": "1", "n": "0", "?": None}).astype(float)),
        (0.0, 1.0),
        "J. Schlimmer, Congressional Voting Records. UCI Machine Learning Repository, 1987. "
        "doi:10.24432/C5C01P",
        "CC BY 4.0",
        users=raw[[0]].set_axis(["party"], axis=1),
    )


def senate_109() -> Dataset:
    """The 645 roll calls of the 109th Senate, 2005 and 2006, 101 senators: yea 1, nay 0.

    Users have state and party; items date, bill, question, result and description.
    """
    votes = pd.read_csv(SENATE.path("votes_binary.csv"), index_col=0)
    legislators = pd.read_csv(SENATE.path("legislators.csv"), index_col=0)[["state", "party"]]
    calls = pd.read_csv(SENATE.path("rollcalls.csv"))
    calls.index = pd.Index(calls["session"].astype(str) + "-" + calls["number"].astype(str))
    senators = legislators.index[legislators["state"] != "USA"]  # the President's is a position
    return Dataset(
        "Senate 2005-06",
        long_table(votes.loc[senators]),
        (0.0, 1.0),
        "J. B. Lewis et al., Voteview: Congressional Roll-Call Votes Database. https://voteview.com",
        "Public record.",
        users=legislators.loc[senators].rename_axis("user"),
        items=calls[["date", "bill", "question", "result", "description"]].rename_axis("item"),
    )
