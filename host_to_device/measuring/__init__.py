"""Measuring: times that can be trusted, what is wrong with others, and the ledger of numbers with machine and date."""
