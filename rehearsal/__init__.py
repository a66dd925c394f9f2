"""The rehearsal: the real numba-cuda and the real CuPy on a machine without a GPU.

A CUDA driver of ours answers them as a Tesla T4 would, and runs the PTX of their compilers on the CPU.
README.md says how to use it, what it holds and what it does not hold.
"""
