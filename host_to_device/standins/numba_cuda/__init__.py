"""A stand-in for `numba.cuda`: the same names and refusals, with kernels that run on the CPU."""
