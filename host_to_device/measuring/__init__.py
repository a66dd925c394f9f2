"""Measuring: times with the reasons to doubt them, this machine's limits, and the ledger of recorded machines."""
