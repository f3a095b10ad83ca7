"""A model in a server: a request by a call and over HTTP, and the memory of forked workers.

The server is the standard library's, with only ``predict`` and ``recommend`` in it. The model
is the demonstration's: MovieLens small. Each figure is the median of its repeats.

    python -m benchmarks.serving
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import eventspace
from benchmarks.memory import memory
from benchmarks.timing import median, publish, save, table, timed

REPEATS, WORKERS = 200, 4
LEARN = """
import sys
from eventspace import KolmogorovDescent
from eventspace.datasets import movielens_small
KolmogorovDescent(16, random_state=0, verbose=False).fit(movielens_small()).save(sys.argv[1])
"""


def server(answers: dict[str, Callable[[], object]]) -> ThreadingHTTPServer:
    """Answers by their paths, as JSON."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize, disable_nagle_algorithm = -1, True  # one packet: two wait for each other

        def do_GET(self) -> None:
            body = json.dumps(answers[self.path]()).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def requests(answers: dict[str, Callable[[], object]]) -> list[dict[str, Any]]:
    """Milliseconds of each answer, by a call and over HTTP."""
    serving = server(answers)
    Thread(target=serving.serve_forever, daemon=True).start()
    connection = HTTPConnection("127.0.0.1", serving.server_port)

    def asked(path: str) -> None:
        connection.request("GET", path)
        connection.getresponse().read()

    def milliseconds(call: Callable[[], object]) -> float:
        return 1000 * median([timed(call) for _ in range(REPEATS)])

    rows = []
    for path, answer in answers.items():
        asked(path)
        over_http = milliseconds(lambda path=path: asked(path))  # type: ignore[misc]
        rows.append(
            {"request": path[1:], "call, ms": milliseconds(answer), "over HTTP, ms": over_http}
        )
    connection.close()
    serving.shutdown()
    serving.server_close()
    return rows


def workers(answers: dict[str, Callable[[], object]]) -> list[dict[str, Any]]:
    """MB of this process alone, and of each worker that it forks, once all have answered."""
    alone, pids = memory(os.getpid()), []
    ready, tell = os.pipe()
    for _ in range(WORKERS):
        pid = os.fork()
        if pid == 0:
            for answer in answers.values():
                answer()
            os.write(tell, b".")
            signal.pause()
        pids.append(pid)
    for _ in pids:
        os.read(ready, 1)
    together = memory(os.getpid())
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return [
        {
            "one process, MB": round(alone),
            f"with {WORKERS} forked workers, MB": round(together),
            "each worker more, MB": round((together - alone) / WORKERS),
        }
    ]


def main() -> None:
    """Measure, save and publish."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.eventspace"
        subprocess.run([sys.executable, "-c", LEARN, path], check=True)  # a server does not learn
        model = eventspace.load(path)
    user, items = model.user_ids[0], model.item_ids[:100].tolist()
    answers: dict[str, Callable[[], object]] = {
        "/predict one pair": lambda: model.predict((user, items[0])).tolist(),
        "/predict 100 pairs": lambda: model.predict((user, items)).tolist(),
        "/recommend 10 of 9,000 items": lambda: model.recommend(user).to_dict("list"),
    }
    answers = {path.replace(" ", "_"): answer for path, answer in answers.items()}
    for answer in answers.values():
        answer()
    figures = {"workers": workers(answers), "requests": requests(answers)}
    for name, rows in figures.items():
        print(table(rows), flush=True)
        publish(f"serving: {name}", table(rows))
    save("serving", figures)


if __name__ == "__main__":
    main()
