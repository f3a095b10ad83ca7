"""The settings of a posterior, checked."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from eventspace._base.checks import check_choice, check_whole, is_real, is_whole
from eventspace._base.codes import WORD
from eventspace._base.errors import UserError
from eventspace.data.invariants import MOST_SAMPLES
from eventspace.fitting.settings import check_machine

FEW_CHAINS, MANY_CHAINS = 8, 24
FEW_ENTRIES = 2000  # below it many chains cost little
SWEEPS, MANY_SWEEPS = 20, 60  # to warm up, and again to draw, for the one model
SMALL = 10_000  # entries: below it many sweeps cost little
MOST_CHAINS = 256
MOST_CONCENTRATION = 1e100  # that a file may hold
CHAINS_OF_MODEL, DRAWS_KEPT = 6, 16  # chains of the one model, and the draws kept of each


@dataclass(eq=False, repr=False)
class SamplingSettings:
    """How chains are run; :class:`eventspace.KolmogorovPosterior` explains the parameters."""

    n_events: int = 24
    _: KW_ONLY
    concentration: float | str = "auto"
    informed: bool = True
    weigh: bool = True
    meets: bool = True
    n_chains: int | str = "auto"
    n_warmup: int = 60
    n_draws: int = 90
    n_samples: int = 128
    engine: str = "auto"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool | None = None


@dataclass(eq=False, repr=False)
class ModelSettings:
    """How the one model is learnt; :class:`eventspace.KolmogorovModel` explains the parameters."""

    n_events: int | str = 16
    _: KW_ONLY
    meets: bool = True
    n_chains: int | str = "auto"
    n_warmup: int | str = "auto"
    n_draws: int | str = "auto"
    engine: str = "auto"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool | None = None


def check_model_settings(settings: ModelSettings) -> None:
    """Refuse a bad setting of the one model."""
    n_events: Any = settings.n_events
    if n_events != "auto" and not (is_whole(n_events) and 1 <= n_events <= WORD):
        allowed = f"'auto' or a whole number from 1 to {WORD}"
        raise UserError(f"must be {allowed}.", parameter="n_events", value=n_events)
    n_chains: Any = settings.n_chains
    if is_whole(n_chains) and n_chains > MOST_CHAINS:
        allowed = f"at most {MOST_CHAINS}"
        raise UserError(f"must be {allowed}.", parameter="n_chains", value=n_chains)
    check_settings(sampling_of(settings, FEW_ENTRIES))


def sampling_of(settings: ModelSettings, n_observed: int) -> SamplingSettings:
    """The chains that the one model is made of, on a table of this size."""
    few = CHAINS_OF_MODEL if n_observed >= FEW_ENTRIES else MANY_CHAINS
    n_chains: Any = few if settings.n_chains == "auto" else settings.n_chains
    n_sweeps = SWEEPS if n_observed >= SMALL else MANY_SWEEPS
    n_warmup: Any = n_sweeps if settings.n_warmup == "auto" else settings.n_warmup
    n_draws: Any = n_sweeps if settings.n_draws == "auto" else settings.n_draws
    return SamplingSettings(
        meets=settings.meets,
        n_chains=n_chains,
        n_warmup=n_warmup,
        n_draws=n_draws,
        n_samples=min(DRAWS_KEPT * n_chains, MOST_SAMPLES) if is_whole(n_chains) else DRAWS_KEPT,
        engine=settings.engine,
        n_jobs=settings.n_jobs,
        random_state=settings.random_state,
        verbose=settings.verbose,
    )


def check_settings(settings: SamplingSettings) -> None:
    """Refuse a bad setting."""
    check_whole("n_events", settings.n_events, 1, WORD)
    n_chains: Any = settings.n_chains
    if n_chains != "auto" and not (is_whole(n_chains) and n_chains >= 1):
        raise UserError(
            "must be 'auto' or a whole number of at least 1.",
            parameter="n_chains",
            value=n_chains,
        )
    check_whole("n_warmup", settings.n_warmup, 0)
    check_whole("n_draws", settings.n_draws, 4)
    check_whole("n_samples", settings.n_samples, 1, MOST_SAMPLES)
    check_choice("informed", settings.informed, (True, False))
    check_choice("weigh", settings.weigh, (True, False))
    check_choice("meets", settings.meets, (True, False))
    check_machine(settings)
    concentration: Any = settings.concentration
    if concentration != "auto" and not (
        is_real(concentration) and 0 <= concentration <= MOST_CONCENTRATION
    ):
        raise UserError(
            f"must be 'auto' or a number from 0 to {MOST_CONCENTRATION:g}.",
            parameter="concentration",
            value=concentration,
        )


def chains_for(settings: SamplingSettings, n_observed: int) -> int:
    """How many chains are run on a table of this size."""
    few = FEW_CHAINS if n_observed >= FEW_ENTRIES else MANY_CHAINS
    n_chains = few if settings.n_chains == "auto" else int(settings.n_chains)
    if settings.n_samples < n_chains:
        raise UserError(
            f"is too few: one is kept of each of {n_chains} chains.",
            parameter="n_samples",
            value=settings.n_samples,
        )
    return n_chains
