"""Mixtures of tissues and of cell types: each sample is a distribution over them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from eventspace.datasets.dataset import Dataset, long_table
from eventspace.datasets.sources import Source

LIU = Source(
    "methylation-liu50",
    "the R package EpiDISH, data sets LiuDataSub.m and centDHSbloodDMC.m",
    how=(
        ": beta.csv.gz has one row per site and one column per sample; "
        "reference_centDHSbloodDMC.csv has one row per site and one column per cell type."
    ),
)
HOUSEMAN = Source(
    "methylation-simulated-houseman",
    "the R package RefFreeEWAS, RefFreeEWAS.RData",
    how=": simulated.npz with beta (sites x subjects), true_omega and true_meth.",
)
SHEN_ORR = Source(
    "shen-orr-mixture",
    "the R package dtangle, data set shen_orr_ex (GEO GSE19830)",
    how=(
        ": expression_log2.csv.gz has one row per sample and one column per probe set; "
        "true_proportions.csv has one column per tissue."
    ),
)


def methylation_liu50() -> Dataset:
    """Methylation of 500 CpG sites in 50 samples of whole blood.

    A user is a sample, an item a site. ``truth["reference"]`` has the profiles of seven purified
    cell types, sites x types: close to binary. The composition of the samples was not measured.
    """
    beta = pd.read_csv(LIU.path("beta.csv.gz"), index_col=0)
    reference = pd.read_csv(LIU.path("reference_centDHSbloodDMC.csv"), index_col=0)
    return Dataset(
        "Methylation of whole blood",
        long_table(beta.T),
        (0.0, 1.0),
        "A. E. Teschendorff et al., BMC Bioinformatics 18:105, 2017; L. E. Reinius et al., PLoS "
        "ONE 7:e41361, 2012; GEO GSE42861.",
        "EpiDISH is under GPL-2; GEO's data are public.",
        truth={"reference": reference.rename_axis("item")},
    )


def methylation_houseman() -> Dataset:
    """Simulated methylation of 1,000 sites in 250 subjects, mixed from four cell types.

    ``truth["pmf"]`` has the proportions, subjects x types; ``truth["profiles"]`` the profiles of
    the 250 sites in which the types differ, sites x types.
    """
    raw = np.load(HOUSEMAN.path("simulated.npz"))
    n_sites, n_subjects = raw["beta"].shape
    sites = pd.Index([f"site {k + 1}" for k in range(n_sites)], name="item")
    subjects = pd.Index([f"subject {k + 1}" for k in range(n_subjects)], name="user")
    types = [f"type {k + 1}" for k in range(raw["true_omega"].shape[1])]
    profiles = pd.DataFrame(raw["true_meth"], sites, types)
    return Dataset(
        "Simulated methylation",
        long_table(pd.DataFrame(raw["beta"].T, subjects, sites)),
        (0.0, 1.0),
        "E. A. Houseman, RefFreeEWAS 2.2 (simulated).",
        "GPL-2 or later.",
        truth={
            "pmf": pd.DataFrame(raw["true_omega"], subjects, types),
            "profiles": profiles[(profiles != 0).any(axis=1)],
        },
    )


def shen_orr() -> Dataset:
    """Gene expression of liver, brain and lung of rats, mixed in known proportions: 42 samples.

    Mixing is linear in the expression, not in its logarithm, and each of the 600 probe sets is
    scaled by its greatest value. ``truth["pmf"]`` has the proportions, samples x tissues.
    """
    linear = 2.0 ** pd.read_csv(SHEN_ORR.path("expression_log2.csv.gz"), index_col=0)
    proportions = pd.read_csv(SHEN_ORR.path("true_proportions.csv"), index_col=0)
    return Dataset(
        "Shen-Orr's mixtures",
        long_table(linear / linear.max()),
        (0.0, 1.0),
        "S. S. Shen-Orr et al., Cell type-specific gene expression differences in complex tissues. "
        "Nature Methods 7:287, 2010; GEO GSE19830.",
        "GEO's data are public.",
        truth={"pmf": proportions.rename_axis("user")},
    )
