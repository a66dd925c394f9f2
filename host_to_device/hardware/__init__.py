"""Facts about hardware, each once and with its source: GPUs, latencies, launch limits, compile targets."""
