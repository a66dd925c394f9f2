"""The doctor on each message of "CUDA errors": what the book prints, what the real libraries raised, and the table of messages.

A message that it does not know stands in `NOT_THE_DOCTORS`, with the reason; a message in neither place fails.
"""

import re
from pathlib import Path

import pytest

from book import error_game, raised
from host_to_device.diagnosing import doctor

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
AMBIGUOUS = "many calls return this error: the words do not tell a launch from a copy or from freed memory"
PROGRAM = "a mistake in the types or values of the program, which the message names"
OURS = "a message of this book's library, which says what to do"
NO_THREAD = "no public thread has this message"
# Words of a message, and why the doctor has no rule for it.
NOT_THE_DOCTORS = {
    "CUDA_ERROR_INVALID_VALUE": AMBIGUOUS,
    "cudaErrorInvalidValue": AMBIGUOUS,
    "'DeviceNDArray'": NO_THREAD,
    "Unsupported array index type": PROGRAM,
    "Cannot unify": PROGRAM,
    "void return type": PROGRAM,
    "use of unsupported NumPy function": PROGRAM,
    "Type is mismatched": PROGRAM,
    "Cannot convert to Python scalar in cupy.fuse": PROGRAM,
    "CompileException": PROGRAM,
    "modifiable lvalue": PROGRAM,
    "assignment of read-only location": PROGRAM,
    "a leaf Variable": PROGRAM,
    "cannot assign 'torch.FloatTensor' as parameter": PROGRAM,
    "is out of bounds for axis": OURS,
    "a mask of 32 bits": OURS,
    "standin for Dlpack": OURS,
}
OMITTED = {
    "cuda>=…": "cuda>=12.6",
    "…ms": "2000ms",
    "Target …": "Target 3",
    "line …, tid=[…] ctaid=[…]": "line 9, tid=[0, 0, 3] ctaid=[0, 0, 0]",
    "Function '…": "Function 'Sqrt",
}
TABLES = ("err-cuda", "err-numba", "err-cupy", "err-torch")


def page(name):
    return (CHAPTERS / f"{name}.md").read_text(encoding="utf-8")


def rows():
    """Return the messages in the first column of the tables, with a text for each omission."""
    for name in TABLES:
        table = page("error-messages").partition(f"({name})=")[2].partition("\n(err-")[0]
        for first in re.findall(r"^\* - (.*)$", table, re.MULTILINE):
            for message in re.findall(r"`([^`]+)`", first):
                if " " in message or "_ERROR_" in message or message.startswith("cudaError"):
                    for words, text in OMITTED.items():
                        message = message.replace(words, text)
                    yield message


def blocks():
    """Return the messages that chapter 10 quotes."""
    return re.findall(r"^```text\n(.*?)^```", page("10-errors"), re.DOTALL | re.MULTILINE)


MESSAGES = {
    "raised": [raised.text(each) for each in raised.stored()["errors"]],
    "quoted": blocks(),
    "game": [each.text for each in error_game.load()],
    "table": list(rows()),
}


def reason(message):
    return next((why for words, why in NOT_THE_DOCTORS.items() if words in message), None)


@pytest.mark.parametrize("place", MESSAGES)
def test_the_doctor_knows_each_message_or_the_reason_is_written_down(place):
    assert len(MESSAGES[place]) >= 3
    unknown = [each for each in MESSAGES[place] if not doctor(each).findings and not reason(each)]
    assert not unknown


def test_each_reason_belongs_to_a_message_that_has_no_finding():
    silent = [each for place in MESSAGES.values() for each in place if not doctor(each).findings]
    left_over = [words for words in NOT_THE_DOCTORS if not any(words in each for each in silent)]
    assert not left_over


# Texts of PyTorch 2.11.0 and numba-cuda 0.30.4 on an H100, and what the doctor says first.
ON_A_GPU = [
    ("RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!", "tensors-on-two-devices"),
    ("RuntimeError: Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_mm)", "tensors-on-two-devices"),
    ("TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.", "tensor-on-gpu-to-numpy"),
    ("RuntimeError: called a synchronizing CUDA operation", "synchronizing-operation"),
    ("torch.AcceleratorError: CUDA error: operation failed due to a previous error during capture\nSearch for `cudaErrorStreamCaptureInvalidated' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.", "not-allowed-in-graph-capture"),
    ("cuda.bindings.nvjitlink.nvJitLinkError: ERROR_PTX_COMPILE (4)\nnvJitLink error log: ptxas fatal   : Unresolved extern function 'missing'\nERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (ltoPtx)\n\0", "device-function-missing"),
    ("RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.", "nan-in-gradient"),
    ("/pytorch/aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.", "device-side-assert"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "cause"), ON_A_GPU, ids=[cause for _, cause in ON_A_GPU])
def test_messages_of_a_gpu(message, cause):
    assert [each.id for each in doctor(message).findings] == [cause]
