"""Right programs with parts of Numba-CUDA that a first course leaves out and other people's programs use."""
