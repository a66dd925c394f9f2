"""Facts about hardware, each in one table with its source: GPUs, latencies, launch limits, compile targets."""
