"""Near misses: kernels that look wrong and are right under CUDA's rules. See `corpus.ALL`."""
