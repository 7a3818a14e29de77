"""Benchmarks: each prints its machine, versions and threads, and compares in one interleaved run."""
