"""The settings of a descent, checked: what is allowed, and the half-steps that they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any

from eventspace import indicators, pmf
from eventspace._base.checks import check_choice, check_number, check_whole, is_whole
from eventspace._base.codes import WORD
from eventspace._base.errors import UserError, UserTypeError
from eventspace._base.threads import count_threads
from eventspace.engines import ENGINES, engine
from eventspace.engines.choice import choose
from eventspace.engines.protocol import Engine
from eventspace.fitting.constraints import SharedIndicators
from eventspace.fitting.half_steps import FreeIndicators, HalfSteps, PmfStep

PRIORS = ("mean", "zero")
INDICATORS = ("free", "shared", "one-hot")


@dataclass(eq=False, repr=False)
class DescentSettings:
    """How a model is learnt; :class:`eventspace.KolmogorovDescent` says what each means."""

    n_events: int = 8
    _: KW_ONLY
    pmf_penalty: float = 1.0
    pmf_prior: str = "mean"
    indicators: str = "free"
    indicator_penalty: float = 0.0
    indicator_solver: Any = "exact"
    pmf_solver: Any = "pairwise"
    n_iter: int = 20
    tol: float = 1e-4
    n_init: int | str = "auto"
    warm_start: bool = False
    engine: str = "auto"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool | None = None


def checked_steps(model: Any, machine: Engine | None = None) -> HalfSteps:
    """The half-steps for a model's parameters; a bad one is refused with what is allowed.

    They run on an engine, or on the cores of this machine.
    """
    check_settings(model)
    machine = machine or checked_engine(model)
    sets = SharedIndicators if model.indicators == "shared" else FreeIndicators
    solver = _solver("pmf_solver", model.pmf_solver, pmf.SOLVERS)
    return HalfSteps(
        sets(machine, indicator_solver(model), float(model.indicator_penalty)),
        PmfStep(machine, solver, float(model.pmf_penalty)),
    )


def checked_engine(model: Any) -> Engine:
    """The cores of this machine, which answer for a model that is fitted."""
    return engine("cpu", checked_threads(model))


@contextmanager
def engine_to_learn(model: Any, n_observed: int = 0, *, chains: bool = False) -> Iterator[Engine]:
    """The engine that an estimator asks for, to learn from a table with ``n_observed`` entries.

    It is there as long as it is learnt, and closed at the end, whatever that is.
    """
    machine = engine(model.engine, checked_threads(model), n_observed, chains=chains)
    try:
        yield machine
    finally:
        machine.close()


def engine_told(
    model: Any, n_observed: int = 0, *, chains: bool = False, why_here: str = ""
) -> str:
    """Where an estimator learns, and why there: ``why_here`` is why it stays in this process."""
    n_threads = checked_threads(model)
    if why_here and model.engine != "cpu":
        cores = choose("cpu", n_threads)
        return f"{cores}, for {why_here}"
    return str(choose(model.engine, n_threads, n_observed, chains=chains))


def check_machine(model: Any) -> None:
    """Refuse an unknown engine, or an impossible number of threads."""
    check_choice("engine", model.engine, ("auto", *ENGINES))
    checked_threads(model)


def check_settings(model: Any, most_events: int = WORD) -> None:
    """Refuse a bad parameter of a model."""
    check_whole("n_events", model.n_events, 1, most_events)
    check_whole("n_iter", model.n_iter, 1)
    if model.n_init != "auto" and not (is_whole(model.n_init) and model.n_init >= 1):
        allowed = "'auto' or a whole number of at least 1"
        raise UserError(f"must be {allowed}.", parameter="n_init", value=model.n_init)
    check_number("pmf_penalty", model.pmf_penalty)
    check_number("indicator_penalty", model.indicator_penalty)
    check_number("tol", model.tol)
    check_choice("pmf_prior", model.pmf_prior, PRIORS)
    if not isinstance(model.indicators, str):
        raise UserTypeError(
            f"indicators is a {type(model.indicators).__name__}, but it says what sets may be: "
            "'free', 'shared' or 'one-hot'. Given sets belong to fit(table, indicators=...)."
        )
    check_choice("indicators", model.indicators, INDICATORS)
    indicator_solver(model)
    _solver("pmf_solver", model.pmf_solver, pmf.SOLVERS)
    check_machine(model)


def check_allowed(kind: str, indicators: Any) -> None:
    """Refuse given sets that are not of the kind that a model asks for."""
    one = (indicators.sum(axis=1) == 1).all() if kind == "one-hot" else True
    same = (indicators == indicators[0]).all() if kind == "shared" else True
    if not (one and same):
        raise UserError(
            f"The given indicators are not {kind}, which the model asks for: leave indicators at "
            "'free'."
        )


def checked_threads(model: Any) -> int:
    """The number of threads that a model's ``n_jobs`` asks for."""
    n_jobs = 1 if model.n_jobs is None else model.n_jobs  # None is one, as in scikit-learn
    if not is_whole(n_jobs) or n_jobs == 0:
        allowed = "a whole number above 0, or -1 for all cores"
        raise UserError(f"must be {allowed}.", parameter="n_jobs", value=n_jobs)
    return count_threads(int(n_jobs))


def indicator_solver(model: Any) -> Any:
    """The solver of a model's indicator step."""
    solver = _solver("indicator_solver", model.indicator_solver, indicators.SOLVERS)
    return indicators.OneHot() if model.indicators == "one-hot" else solver


def _solver(name: str, value: Any, solvers: dict[str, Any]) -> Any:
    """A solver by name, or one that the caller has set up."""
    if isinstance(value, tuple(solvers.values())):
        return value
    check_choice(name, value, solvers)
    return solvers[value]()
