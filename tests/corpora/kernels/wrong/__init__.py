"""Wrong kernels, each a misconception with a name, and what a check must find in it: see `corpus.ALL`."""
