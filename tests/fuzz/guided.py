"""Coverage-guided fuzzing with atheris: inputs that reach new lines of ours are kept and mutated.

``python -m tests.fuzz.guided models --seconds 600``. What our mutator knows of zips, arrays and
headers is half of the mutations, libFuzzer's bytes the other half. The first finding ends the run:
its bytes are in the folder of findings, and a crash of the process leaves them there, too.
"""

from __future__ import annotations

import argparse
import inspect
import io
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.environment import ROOT, environment

os.environ.update(environment())

# What reads a stranger's bytes: the modules whose names begin so.
WATCHED = (*("eventspace.storage", "eventspace.data", "eventspace.logic.expressions"),)
TARGETS = ("models", "tables", "expressions")
FINDINGS = ROOT / "build" / "fuzz"
LONGEST = 1 << 16  # bytes of an input


def imported_atheris() -> Any:
    """The module, or the end of the process with what to do."""
    try:
        import atheris
    except ImportError:
        sys.exit(
            "atheris is not installed: pip install 'eventspace[fuzz]' brings it where it has a "
            "wheel. Without it, python -m tests.fuzz runs the mutator alone."
        )
    return atheris


def watch(atheris: Any) -> None:
    """Let atheris see which lines run: function by function, for kernels do not survive it."""
    for name, module in list(sys.modules.items()):
        if not name.startswith(WATCHED):
            continue
        for holder in (module, *filter(inspect.isclass, vars(module).values())):
            for thing in list(vars(holder).values()):
                if inspect.isfunction(thing) and thing.__module__ == name:
                    atheris.instrument_func(thing)


def mutated_archive(data: bytes, rng: Random) -> bytes | None:
    """A zip changed by our mutator; None for bytes that are none."""
    from tests.fuzz.archive import unpacked
    from tests.fuzz.mutations import mutate

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > LONGEST << 4:
                return None
        found = unpacked(data)
    except Exception:  # zipfile raises nearly anything
        return None
    if not found.members:
        return None
    mutate(rng, found, rng.choice([1, 1, 2]))
    return found.packed()


def main() -> None:
    """Run until a finding, or until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    atheris = imported_atheris()
    from tests.fuzz.targets import target

    corpus = FINDINGS / "corpus" / given.target
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tried = target(given.target, Path(scratch))
        tried.warm_up()
        watch(atheris)
        for number in range(200):  # what our mutator makes is where it begins
            content = tried.case(given.seed, number).content
            if len(content) <= LONGEST:
                (corpus / f"case-{given.seed}-{number}").write_bytes(content)

        def judge(data: bytes) -> None:
            if given.target == "expressions":
                import json

                data = json.dumps([data.decode("utf-8", "surrogateescape"), None]).encode()
            verdict = tried(data, 1)
            if not verdict.fine:
                raise AssertionError(f"{verdict.kind.value}: {verdict.where}\n{verdict.detail}")

        def mutator(data: bytes, max_size: int, seed: int) -> bytes:
            rng = Random(seed)
            if given.target == "models" and rng.random() < 0.5:
                changed = mutated_archive(data, rng)
                if changed is not None and len(changed) <= max_size:
                    return changed
            return bytes(atheris.Mutate(data, max_size))

        arguments = [
            *(sys.argv[0], str(corpus), f"-max_total_time={given.seconds}", f"-seed={given.seed}"),
            *(f"-artifact_prefix={FINDINGS}/guided-{given.target}-", "-timeout=10"),
            *(f"-max_len={LONGEST}", "-rss_limit_mb=3000", "-print_final_stats=1"),
        ]
        atheris.Setup(arguments, judge, custom_mutator=mutator)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
