"""What is fuzzed: each target makes a case's bytes from its number, and judges any bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tests.fuzz.judge import Case, Verdict

NAMES = ("models", "tables", "expressions", "pages")
KEPT = "kept-"  # before a name: the findings that were kept
SEEDS = Path(__file__).parent / "seeds"


class Target(Protocol):
    """Cases, and what they must show."""

    def case(self, seed: int, number: int) -> Case:
        """The case of a number: the same bytes every time."""

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        """Judge bytes, for case 0 in all that can be asked."""

    def warm_up(self) -> None:
        """Do everything once on good bytes, so that later nothing is compiled."""


class KeptTarget:
    """Findings that were kept, each a case."""

    def __init__(self, name: str, folder: Path) -> None:
        self.judge = target(name, folder)
        self.files = kept(name)

    def case(self, seed: int, number: int) -> Case:
        return Case(self.files[number].read_bytes(), self.files[number].name)

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        return self.judge(content)

    def warm_up(self) -> None:
        self.judge.warm_up()


def kept(name: str) -> list[Path]:
    """The findings of a target that are kept as seeds."""
    return sorted((SEEDS / name).glob("*.bin"))


def target(name: str, folder: Path) -> Target:
    """The target of a name; a folder is for its files."""
    folder.mkdir(parents=True, exist_ok=True)
    if name == "models":
        from tests.fuzz.usage import ModelTarget

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
    if name.startswith(KEPT):
        return KeptTarget(name.removeprefix(KEPT), folder)
    if name == "trials":
        from tests.fuzz.trials import TrialTarget

        return TrialTarget()
    raise ValueError(f"There is no target {name!r}: {', '.join(NAMES)}.")
