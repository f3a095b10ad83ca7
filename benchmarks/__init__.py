"""Benchmarks: one script a question; each writes JSON and its table in docs/benchmarks.md."""
