"""What is fuzzed: each target makes a case's bytes from its number, and judges any bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tests.fuzz import models
from tests.fuzz.judge import Verdict
from tests.fuzz.mutations import Case, Mutator
from tests.fuzz.usage import ModelJudge


class Target(Protocol):
    """Cases, and what they must show."""

    def case(self, seed: int, number: int) -> Case:
        """The case of a number: the same bytes every time."""

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        """Judge bytes, for case 0 in all that can be asked."""

    def warm_up(self) -> None:
        """Do everything once on good bytes, so that later nothing is compiled."""


class ModelTarget:
    """Mutated model files."""

    def __init__(self, folder: Path) -> None:
        files = models.save_all(folder / "models")
        self.seeds = [(file.stem, file.read_bytes()) for file in files]
        self.mutator = Mutator(self.seeds)
        self.judge = ModelJudge(folder, [content for _, content in self.seeds])

    def case(self, seed: int, number: int) -> Case:
        return self.mutator.case(seed, number)

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        return self.judge(content, number)

    def warm_up(self) -> None:
        for name, content in self.seeds:
            verdict = self.judge(content, 0)
            assert verdict.fine, (name, verdict)


def target(name: str, folder: Path) -> Target:
    """The target of a name; a folder is for its files."""
    folder.mkdir(parents=True, exist_ok=True)
    if name == "models":
        return ModelTarget(folder)
    if name == "tables":
        from tests.fuzz.reading import TableTarget

        return TableTarget(folder)
    if name == "expressions":
        from tests.fuzz.expressions import ExpressionTarget

        return ExpressionTarget()
    if name == "pages":
        from tests.fuzz.pages import PageTarget

        return PageTarget(folder)
    if name.startswith("trial"):
        from tests.fuzz.trials import TrialTarget

        return TrialTarget(name)
    raise ValueError(f"There is no target {name!r}: {', '.join(NAMES)}.")


NAMES = ("models", "tables", "expressions", "pages")
