"""Worked examples, each with a page in docs/: ``python -m examples [NAME ...]``.

An example is a module with

    measure()              its figures: numbers, strings, lists and dicts only, "seeds" among them
    tables(figures)        markdown by the name of the marked place on its page
    draw(figures, folder)  its pictures

The page is docs/example-NAME.md; what stands between ``<!-- place -->`` and ``<!-- /place -->`` is
written by the run, and examples/results/NAME.json holds what was measured.
"""

NAMES = ("recommendation", "methylation", "wireless", "votes", "recovery")
