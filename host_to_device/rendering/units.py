"""Numbers with their units, written for readers: three significant digits and a prefix."""

from __future__ import annotations

import math

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
PARTS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))

# A number that rounds up to 1 of the larger unit takes that unit: 999.6 µs is "1.00 ms", not "1,000 µs".
ROUNDS_UP = 0.9995


def digits(value: float) -> str:
    """Return a number with three significant digits: `digits(9.996)` is "10.0"."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exponent = int(f"{value:.2e}".partition("e")[2])  # after rounding: 9.996 has the exponent of 10
    return f"{value:,.{max(0, 2 - exponent)}f}"


def seconds(value: float) -> str:
    """Return a time: `seconds(0.00123)` is "1.23 ms"."""
    size, unit = _part(value)
    return f"{digits(value / size)} {unit}"


def span(low: float, high: float) -> str:
    """Return two times in the unit of the second: `span(0.0349, 0.0361)` is "34.9 to 36.1 ms"."""
    size, unit = _part(high)
    return f"{digits(low / size)} to {digits(high / size)} {unit}"


def _part(value: float) -> tuple[float, str]:
    if value == 0 or not math.isfinite(value):
        return PARTS[0]
    return next((part for part in PARTS if abs(value) >= part[0] * ROUNDS_UP), PARTS[-1])


def rate(value: float, unit: str) -> str:
    """Return a rate: `rate(4.8e12, "B/s")` is "4.80 TB/s"; prefixes are powers of 1000."""
    size, prefix = PREFIXES[-1]
    if math.isfinite(value):
        size, prefix = next((each for each in PREFIXES if abs(value) >= each[0] * ROUNDS_UP), PREFIXES[-1])
    return f"{digits(value / size)} {prefix}{unit}"


def short(number: float) -> str:
    """Return a number short enough for an axis: `short(10_000_000)` is "10M"."""
    size, prefix = next((each for each in PREFIXES if abs(number) >= each[0]), PREFIXES[-1])
    return f"{number / size:g}{prefix}"


def amount(nbytes: float) -> str:
    """Return an amount of memory: `amount(2**20)` is "1.00 MiB"."""
    size, unit = next((each for each in BYTES if nbytes >= each[0] * ROUNDS_UP), (1, ""))
    if unit:
        return f"{digits(nbytes / size)} {unit}"
    return f"{nbytes:g} byte{'s' * (nbytes != 1)}"


def shown(value: float, unit: str) -> str:
    """Return a number with its unit: `shown(1.2e-5, "s")` is "12.0 µs", `shown(5e10, "B/s")` "50.0 GB/s"."""
    if unit == "s":
        return seconds(value)
    if unit == "B":
        return amount(value)
    if unit.endswith("/s"):
        return rate(value, unit)
    return f"{digits(value)} {unit}".strip()
