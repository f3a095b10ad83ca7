"""The command line on a CSV of 20 million rows: reading against pyarrow's own, fit, peak memory.

Reading is measured in one process, the two in turn, as medians. The fit is a process of its own, at
a terminal, so that its bars are seen; its peak is what the system counts. The arrays are those of
the table that pyarrow reads.

    python -m benchmarks.command_line [millions of rows]
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from benchmarks.timing import interleaved, median, publish, save, table
from eventspace.data.readers.files import read_arrow

COMMAND = [sys.executable, "-c", "from eventspace.cli import main; main()"]
A_USER, ITEMS = 100, 20_000
REPEATS = 5
BEYOND, RATIO = 2.0, 1.5  # GB and x pyarrow's time, the most that is allowed


def generate(path: Path, millions: int) -> int:
    """Write a table of distinct pairs and whole stars; give the bytes of its arrays in memory."""
    rng = np.random.default_rng(0)
    n_users = millions * 1_000_000 // A_USER
    users = np.repeat(np.arange(n_users), A_USER)
    block = ITEMS // A_USER  # a user rates one item of each block
    items = np.tile(np.arange(A_USER) * block, n_users) + rng.integers(0, block, len(users))
    stars = rng.integers(1, 6, len(users))
    columns = pa.table({"user": users, "item": items, "rating": stars})
    arrow_csv.write_csv(columns, path)
    return int(columns.nbytes)


def fit(path: Path, output: Path) -> tuple[float, int, list[str]]:
    """Seconds, the peak in bytes, and the bars that were seen."""
    arguments = ["fit", str(path), "-o", str(output), "--events", "4", "--iterations", "3"]
    seconds, peak, seen = watched([*COMMAND, *arguments])
    plain = re.sub(r"\x1b\[[0-9;?]*\w", "", seen)
    return seconds, peak, sorted(set(re.findall(r"(read|order|fit|write)(?:, MB)? ━", plain)))


def watched(command: list[str]) -> tuple[float, int, str]:
    """Seconds and the peak of a process in a terminal, and what was seen there."""
    main, other = pty.openpty()
    seen: list[bytes] = []

    def watch() -> None:
        while True:
            try:
                seen.append(os.read(main, 1 << 16))
            except OSError:  # the other side is closed
                return

    begun = time.perf_counter()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment)
    os.close(other)
    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    watcher.join()
    os.close(main)
    if status:
        raise RuntimeError(b"".join(seen).decode())
    return seconds, usage.ru_maxrss * 1024, b"".join(seen).decode()


def main() -> None:
    """Print and publish the table."""
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as name:
        path, output = Path(name) / "ratings.csv", Path(name) / "m.eventspace"
        arrays = generate(path, millions)
        size = path.stat().st_size
        seconds, peak, bars = fit(path, output)
        print(f"fit: {seconds:.1f} s, peak {peak / 1e9:.2f} GB, bars: {bars}", flush=True)
        read = interleaved(
            {"pyarrow": lambda: arrow_csv.read_csv(path), "eventspace": lambda: read_arrow(path)},
            REPEATS,
        )
    pairs = zip(read["eventspace"], read["pyarrow"], strict=True)
    ratios = [ours / theirs for ours, theirs in pairs]
    row = {
        "rows": f"{millions} M",
        "file, MB": size / 1e6,
        "read: pyarrow, s": median(read["pyarrow"]),
        "eventspace, s": median(read["eventspace"]),
        "ratio": median(ratios),
        "fit in all, s": seconds,
        "arrays, GB": arrays / 1e9,
        "peak, GB": peak / 1e9,
        "beyond the arrays, GB": (peak - arrays) / 1e9,
        "bars seen": ", ".join(bars),
    }
    figures = {"row": row, "read": read}
    save("command_line", figures)
    publish("command_line", table([row]))
    print(table([row]))
    sys.exit("; ".join(missed(row, bars)) or None)


def missed(row: dict[str, Any], bars: list[str]) -> list[str]:
    """What is not as it should be."""
    beyond, ratio = row["beyond the arrays, GB"], row["ratio"]
    unseen = sorted({"read"} - set(bars))  # the others may be done within a second
    return [
        *([f"{beyond:.2f} GB beyond the arrays, at most {BEYOND:g}"] if beyond > BEYOND else []),
        *([f"reading takes {ratio:.2f} x pyarrow's, at most {RATIO:g}"] if ratio > RATIO else []),
        *([f"no bar for {', '.join(unseen)}"] if unseen else []),
    ]


if __name__ == "__main__":
    main()
