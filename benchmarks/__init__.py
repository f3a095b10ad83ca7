"""Benchmarks: one script per question; each writes JSON and its table in docs/benchmarks.md."""
