"""Benchmarks of the library itself: `python -m benchmarks simt` and `… check`.

They say how fast the stand-ins are on this machine. A stand-in's time is never a GPU's, so nothing here goes
into the book's ledger of measurements.
"""
