"""Which errors cost a process the GPU, in the words in which the libraries raise them."""

import pytest

from host_to_device.starting import context, machine

# As numba-cuda 0.30.4, 0.22.2 (with Colab's cuda-bindings) and CuPy 14.2.0 raise them, and as PyTorch's documentation words them.
FATAL = {
    "[700] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS": "ILLEGAL_ADDRESS",
    "[<CUresult.CUDA_ERROR_ILLEGAL_ADDRESS: 700>] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS": "ILLEGAL_ADDRESS",
    "cudaErrorIllegalAddress: an illegal memory access was encountered": "ILLEGAL_ADDRESS",
    "CUDA_ERROR_ILLEGAL_ADDRESS: While executing a kernel, the device encountered": "ILLEGAL_ADDRESS",
    "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be": "ILLEGAL_ADDRESS",
    "[702] Call to cuStreamSynchronize results in CUDA_ERROR_LAUNCH_TIMEOUT": "LAUNCH_TIMEOUT",
    "CUDA error: device-side assert triggered": "ASSERT",
    "cudaErrorLaunchFailure: unspecified launch failure": "LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure": "LAUNCH_FAILED",
    "cudaErrorMisalignedAddress: misaligned address": "MISALIGNED_ADDRESS",
}
OTHERS = (
    "[<CUresult.CUDA_ERROR_INVALID_VALUE: 1>] Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE",
    "[1] Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE",
    "cudaErrorMemoryAllocation: out of memory",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch",
    "CUDA_ERROR_ASSERTION_OF_A_LEARNER",
    "misaligned address",
)


@pytest.fixture(autouse=True)
def on_a_gpu(monkeypatch):
    monkeypatch.setattr(machine, "chosen", "gpu")
    monkeypatch.setattr(context, "lost", "")
    monkeypatch.setattr(context, "_told", False)


@pytest.mark.parametrize(("said", "name"), FATAL.items())
def test_errors_that_end_the_context(said, name, monkeypatch):
    assert context.fatal_error(RuntimeError(said)) == name
    monkeypatch.setattr(machine, "chosen", "stand-in")
    assert context.fatal_error(RuntimeError(said)) == ""


@pytest.mark.parametrize("said", OTHERS)
def test_errors_after_which_the_gpu_goes_on(said):
    assert context.fatal_error(RuntimeError(said)) == ""


def test_a_lost_context_stays_lost_and_is_told_once(capsys):
    def refuse():
        raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    def out_of_memory():
        raise MemoryError

    assert not context.is_lost(lambda: None) and not context.is_lost(out_of_memory)
    assert context.is_lost(refuse) and context.is_lost(lambda: None)
    context.tell_once()
    context.tell_once()
    assert capsys.readouterr().out == context.sentence() + "\n"
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in context.sentence()
