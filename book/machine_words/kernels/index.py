from numba import cuda


@cuda.jit
def index(out):
    i = cuda.grid(1)
    out[i] = i
