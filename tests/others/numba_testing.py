"""Stands for `numba.cuda.testing`: the base of numba-cuda's tests, without what reads the machine code of a kernel."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

import numpy as np
from numba import cuda
from numba.core import config
from numba.cuda.tests.support import TestCase

test_data_dir = Path(os.environ["OTHERS_FOLDER"]) / "data"
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


class CUDATestCase(TestCase):
    """For tests that use a device."""

    FLOAT16_RTOL = np.finfo(np.float16).eps

    def setUp(self):
        self.set = {
            name: getattr(config, name, 1)
            for name in ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")
        }
        for name in self.set:
            setattr(config, name, 0)

    def tearDown(self):
        for name, value in self.set.items():
            setattr(config, name, value)

    def assertFileCheckAsm(self, *_, **__):
        raise NotImplementedError("internal to the library: FileCheck on machine code")

    assertFileCheckLLVM = assertFileCheckMatches = assertFileCheckAsm


class ForeignArray:
    """An array of another library, known by its `__cuda_array_interface__` alone."""

    def __init__(self, array):
        self._arr = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def skip_on_cudasim(reason):
    return unittest.skipIf(SIMULATED, reason)


def skip_unless_cudasim(reason):
    return unittest.skipUnless(SIMULATED, reason)


def xfail_unless_cudasim(test):
    return test if SIMULATED else unittest.expectedFailure(test)


def always(reason=None):
    """Stand for a condition that the device fulfils: a decorator, or one that takes a reason."""
    return (lambda test: test) if isinstance(reason, str) else reason


def never(reason=None):
    """Stand for a condition that it does not fulfil."""
    if isinstance(reason, str):
        return unittest.skip(reason)
    return unittest.skip("not on this device")(reason)


skip_on_standalone_numba_cuda = skip_if_external_memmgr = skip_under_cuda_memcheck = skip_on_arm = (
    skip_on_wsl2
) = always
skip_unless_cc_50 = skip_unless_cc_53 = skip_unless_cc_60 = skip_unless_cc_75 = always
skip_unless_cc_90 = skip_unless_conda_cudatoolkit = skip_without_nvdisasm = skip_with_nvdisasm = never
skip_if_cuda_includes_missing = skip_if_curand_kernel_missing = skip_if_cudadevrt_missing = never
skip_if_nvjitlink_missing = skip_on_nvjitlink_13_1_sm_120 = always
__all__ = ["unittest"]


def cc_X_or_above(major, minor):
    return SIMULATED or cuda.get_current_device().compute_capability >= (major, minor)


def cudadevrt_missing():
    return not SIMULATED
