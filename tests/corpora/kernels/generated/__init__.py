"""Generated programs: `typed` writes kernels of mixed types, `cooperative` kernels whose races are known."""
