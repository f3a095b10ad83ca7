"""Run every experiment, or those named, and write the page: ``make reproduce``.

python -m reproduction [--quick] [toy table1 ...]
"""

from __future__ import annotations

import argparse
import time
from functools import partial

from eventspace._base.progress import bar, watched
from reproduction import movielens, page, record


def main() -> None:
    """Measure one after the other; the page is written anew after each."""
    options = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    options.add_argument("--quick", action="store_true", help="smaller, written to build/")
    options.add_argument("names", nargs="*", help=f"some of: {', '.join(page.EXPERIMENTS)}")
    chosen = options.parse_args()
    if unknown := set(chosen.names) - set(page.EXPERIMENTS):
        raise SystemExit(f"{', '.join(sorted(unknown))}: not one of {', '.join(page.EXPERIMENTS)}.")
    names = chosen.names or list(page.EXPERIMENTS)
    movielens.split()
    place = record.Place(chosen.quick)
    begun = time.perf_counter()
    with bar("reproduce", len(names), None) as update:
        for done, name in enumerate(names):
            started = time.perf_counter()
            update(done, name)
            say = partial(update, done) if watched() else partial(print, flush=True)
            record.run(page.experiment(name), place, chosen.quick, say)
            page.write(place)
            if not watched():
                print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    print(f"{place.page}: {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
