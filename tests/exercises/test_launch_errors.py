"""What a launch with impossible sizes raises, and the hints that the exercises give for it.

The texts were raised by numba-cuda 0.22.2 and 0.30.4 on a driver of ours without a GPU; the words after
CUDA_ERROR_INVALID_VALUE are those of cuda.core. `tests/rehearsal/` raises those of Colab and of 0.30.4 anew.
"""

import pytest

from host_to_device.exercises import catalogue, verdicts

STAND_IN = "CudaAPIError: [1] Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE: "
OF_0_22 = "CudaAPIError: [1] Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE"  # both mistakes
# The same, with the cuda-bindings 12.9.7 that Colab has.
OF_COLAB = OF_0_22.replace("[1]", "[<CUresult.CUDA_ERROR_INVALID_VALUE: 1>]")
NO_BLOCK_OF_0_30 = "ValueError: LaunchConfig.grid values must be >= 1 (got (0, 1, 1))"
LARGE_OF_0_30 = "CUDAError: CUDA_ERROR_INVALID_VALUE: This indicates that one or more of the parameters"
NO_BLOCK = (STAND_IN + "griddim x is 0, it may be 1 to 2,147,483,647", OF_0_22, OF_COLAB, NO_BLOCK_OF_0_30)
LARGE = (STAND_IN + "blockdim x is 2,000, it may be 1 to 1,024", OF_0_22, OF_COLAB, LARGE_OF_0_30)


def hint(number, text):
    return verdicts._hint_for(catalogue.find(number)(), f"failed: your code raised {text}")


@pytest.mark.parametrize("number", ["02.2", "02.6", "03.13", "09.6"])
def test_the_hint_knows_the_texts_of_the_stand_in_and_of_both_versions(number):
    for text in NO_BLOCK:
        assert "no block" in (said := hint(number, text)) or "needs a block" in said, text
    for text in LARGE:
        assert "1,024" in hint(number, text), text
    for text in (LARGE[0], LARGE[-1]):
        assert "no block" not in hint(number, text), "the text says which mistake it is"
