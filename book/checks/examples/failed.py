"""The logarithm of every element."""

import math

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

weights = np.linspace(-0.1, 1, 100)
logs = np.zeros_like(weights)


# %% wrong: failed
@cuda.jit
def logs_or_error(weights, logs):
    i = cuda.grid(1)
    if i < weights.size:
        if weights[i] <= 0:
            raise ValueError("no logarithm")
        logs[i] = math.log(weights[i])


h2d.check(logs_or_error)[1, 128](weights, logs)


# %% repaired
@cuda.jit
def logs_or_nan(weights, logs):
    i = cuda.grid(1)
    if i < weights.size:
        logs[i] = math.log(weights[i]) if weights[i] > 0 else math.nan


h2d.check(logs_or_nan)[1, 128](weights, logs)
