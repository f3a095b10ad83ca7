"""Ctrl-C, and a kill that asks, at any time: one line, the exit code, and no half-written file."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eventspace import KolmogorovDescent, load
from eventspace.cli import interrupts
from tests.command import COMMAND, in_process, written

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no signals for another process"
)
NOTHING = "eventspace: interrupted: nothing is written.\n"
READY = "import os; from eventspace.cli import main; os.write(2, b'ready\\n'); main()"
# A disk that takes its time: in the middle of the write for sure, when all but the last is done
WAIT = """
import os, time
def wait(*_):
    os.write(2, b"ready\\n")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.01)  # a signal right before a longer sleep would have to wait for its end
"""
SLOW = f"""{WAIT}
os.fsync = wait
from eventspace.cli import main
main()
"""
# A fit that waits in its third iteration
FITTING = f"""{WAIT}
from eventspace.cli import main
from eventspace.fitting.half_steps import PmfStep
update, calls = PmfStep.__call__, []
def slow(*arguments):
    calls.append(0)
    return wait() if len(calls) == 3 else update(*arguments)
PmfStep.__call__ = slow
main()
"""
# Chains that take their time from some sweep on
SWEEPING = """
import os, time
from eventspace.cli import main
from eventspace.sampling.chain import Chain
sweep, calls = Chain.sweep, []
def slow(self):
    calls.append(0)
    if len(calls) == {first}:
        os.write(2, b"ready\\n")
    if len(calls) >= {first}:
        time.sleep(0.05)
    sweep(self)
Chain.sweep = slow
main()
"""
# A module that takes its time to load, and swallows what comes meanwhile
LOADING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from eventspace.cli import inputs, main
from eventspace._base.placing import placed
def load(path):
    {open}
    import slow_module
    raise ValueError("a wrong answer: the module has not loaded")
inputs.load = load
main()
"""
MODULE = """
import os, time
os.write(2, b"ready\\n")
try:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.01)
except BaseException:
    pass
"""


def started(code: str, *arguments: object, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    """A process that has come to where it says that it is ready.

    It hears signals that the tests themselves may ignore, as with nohup.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        bufsize=0,  # what comes right after the line is left for ``ended``
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert process.stderr is not None
    assert process.stderr.readline() == b"ready\n"
    return process


def ended(process: subprocess.Popen[bytes], *signals: int) -> tuple[int, str]:
    """The exit code and what is said after signals."""
    for number in signals:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err.decode()


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a table and a model of it."""
    folder: Path = tmp_path_factory.mktemp("interrupts")
    table = pd.DataFrame(np.random.default_rng(0).random((20, 8)).round(2))
    table.rename_axis("user").reset_index().to_csv(folder / "t.csv", index=False)
    KolmogorovDescent(2, n_iter=2, random_state=0).fit(table).save(folder / "m")
    return folder


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "t.csv", "-o", "new"], ["report", "m", "-o", "new"]]
)
def test_ctrl_c_while_modules_load(place, arguments) -> None:
    rng = random.Random(0)
    codes = set()
    before = sorted(place.iterdir())
    for _ in range(7):
        process = started(READY, *arguments, cwd=place)
        time.sleep(rng.uniform(0.0, 0.25 if arguments == ["--help"] else 0.9))
        code, said = ended(process, signal.SIGINT)
        codes.add(code)
        (place / "new").unlink(missing_ok=True)  # if it had finished
        assert (code, said) == (130, NOTHING) or (code == 0 and "interrupt" not in said)
    assert 130 in codes
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_import_that_swallows_an_interrupt(place, tmp_path, number) -> None:
    """It ends at once, also with a file open; never with what the import makes of it."""
    written(tmp_path / "slow_module.py", MODULE)
    for opened in ("", f"part = placed({str(tmp_path / 'x')!r}); part.__enter__()"):
        process = started(LOADING.format(open=opened), tmp_path, "info", place / "m")
        assert ended(process, number) == (128 + number, NOTHING)
    assert not list(tmp_path.glob("x*"))


WRITING: dict[str, list[object]] = {
    "model": ["fit", "t.csv", "-o", "new", "--events", 2, "--chains", 2],
    "page": ["report", "m", "-o", "new"],
    "csv": ["convert", "m", "new", "--format", "csv"],
    "parquet": ["convert", "m", "new", "--format", "parquet"],
    "json": ["info", "m", "--json", "-o", "new"],
}


@pytest.mark.parametrize("what", WRITING)
def test_a_kill_in_the_middle_of_a_write(place, what) -> None:
    before = sorted(place.iterdir())
    process = started(SLOW, *WRITING[what], cwd=place)
    assert [path.suffix for path in place.iterdir() if path not in before] == [".part"]
    assert ended(process, signal.SIGTERM) == (143, NOTHING)
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    ("signals", "codes"),
    [
        ([signal.SIGTERM, signal.SIGTERM], {143}),  # as `timeout` sends it
        ([signal.SIGINT], {130}),
        ([signal.SIGHUP], {129}),
        ([signal.SIGTERM, signal.SIGINT], {130, 143}),  # if both come at once, Python chooses
    ],
)
def test_other_signals_in_the_middle_of_a_write(place, signals, codes) -> None:
    (place / "new").write_text("old")
    before = sorted(place.iterdir())
    process = started(SLOW, *WRITING["csv"], cwd=place)
    code, said = ended(process, *signals)
    assert code in codes
    assert said == NOTHING
    assert sorted(place.iterdir()) == before
    assert (place / "new").read_text() == "old"
    (place / "new").unlink()


def test_kills_while_a_large_table_is_written(place, tmp_path) -> None:
    rng, pairs = random.Random(0), pd.DataFrame({"user": range(400_000), "item": 1, "value": 0.5})
    pairs.loc[::2, "value"] = 1.0
    pairs.to_parquet(tmp_path / "t.parquet", index=False)
    codes = []
    for _ in range(3):
        process = subprocess.Popen(
            [*COMMAND, "convert", tmp_path / "t.parquet", tmp_path / "new.csv"],
            stderr=subprocess.PIPE,
        )
        while process.poll() is None and not list(tmp_path.glob("*.part")):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3))
        codes.append(ended(process, signal.SIGTERM))
        done = tmp_path / "new.csv"
        assert codes[-1] == (0, f"eventspace: written: {done}\n") or codes[-1] == (143, NOTHING)
        assert done.exists() == (codes[-1][0] == 0)
        done.unlink(missing_ok=True)
    assert (143, NOTHING) in codes
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_kill_keeps_the_model_so_far(place, tmp_path) -> None:
    options = ["--kind", "descent", "--penalty", 0.1]
    process = started(FITTING, "fit", place / "t.csv", "-o", tmp_path / "m", *options)
    code, said = ended(process, signal.SIGTERM)
    assert code == 143
    assert said.startswith("eventspace: interrupted: this is the model so far\n")
    assert KolmogorovDescent.load(tmp_path / "m").interrupted_


@pytest.mark.parametrize("kind", ["model", "posterior"])
def test_a_kill_keeps_the_draws_so_far(place, tmp_path, kind) -> None:
    """Of the second chain, too few to count."""
    n_sweeps = {"model": 120, "posterior": 150}[kind]
    options = ["--kind", kind, "--events", 2, "--chains", 4, "--threads", 1]
    code = SWEEPING.format(first=n_sweeps + 3)
    process = started(code, "fit", place / "t.csv", "-o", tmp_path / "m", *options)
    exit_code, said = ended(process, signal.SIGTERM)
    assert exit_code == 143
    line, *others = said.splitlines()
    assert line.startswith("eventspace: interrupted: this is the model so far, ")
    assert line.endswith("draws of 1 chains")
    assert others == [f"eventspace: written: {tmp_path / 'm'}"]
    assert load(tmp_path / "m").interrupted


def test_a_kill_before_the_first_draw_leaves_nothing(place, tmp_path) -> None:
    options = ["--kind", "posterior", "--events", 2, "--threads", 1]
    process = started(
        SWEEPING.format(first=3), "fit", place / "t.csv", "-o", tmp_path / "m", *options
    )
    assert ended(process, signal.SIGINT) == (130, NOTHING)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_that_nobody_can_catch_comes_again(place) -> None:
    code = f"""{WAIT}
import signal
from eventspace.cli import inputs, main
class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100): pass
def load(path):
    Deleted()
    wait()
inputs.load = load
main()
"""
    assert ended(started(code, "info", place / "m")) == (130, NOTHING)


def test_a_signal_that_is_ignored_stays_ignored(place) -> None:
    """As with nohup, or in the background of a script."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    process = started(ignoring + READY, "info", "m", cwd=place)
    assert ended(process, signal.SIGHUP) == (0, "")


def test_the_module_is_the_command(place) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eventspace", "--version"], capture_output=True, check=True
    )
    assert done.stdout.startswith(b"eventspace ")


def test_what_follows_a_signal_comes_of_it(place, capsys, monkeypatch) -> None:
    def load(path: object) -> None:
        monkeypatch.setattr(interrupts, "_seen", signal.SIGTERM)
        raise error

    monkeypatch.setattr("eventspace.cli.inputs.load", load)
    error: Exception = RuntimeError("half a module")
    assert in_process(["info", place / "m"], capsys, code=143).err == NOTHING
    error = OSError(28, "No space left on device", "m")
    done = in_process(["info", place / "m"], capsys, code=143)
    assert done.err == "eventspace: interrupted: m: No space left on device.\n"
