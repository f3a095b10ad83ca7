"""The ground that every room stands on: bits, checks, errors, progress, threads, random numbers."""
