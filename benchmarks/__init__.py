"""Benchmarks of the library itself, run from the repository's root: `python -m benchmarks simt`, `… check` and others.

They measure how fast the stand-ins are on this machine. A stand-in's time is never a GPU's, so no result of them goes
into the book's ledger of measurements. `contrastive_step` is the exception: it measures a GPU and a host for chapter 11,
and writes into `measurements/traces/`.
"""
