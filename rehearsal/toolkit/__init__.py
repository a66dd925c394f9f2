"""A CUDA toolkit of ours, against which CuPy's own build makes CuPy: headers, libraries, and what stands for nvcc."""
