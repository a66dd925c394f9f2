"""The table of differences between CUDA and PyTorch's stand-in device, shown by the page on stand-ins."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One difference: what it is about, what happens on CUDA and here, and why."""

    what: str
    on_cuda: str
    here: str
    why: str


DIFFERENCES = (
    Difference(
        "asynchrony",
        "an operation is queued; the host goes on and waits when it needs a result",
        "an operation is done when the call returns; a wait is counted where the host would wait for CUDA",
        "the host does the device's work",
    ),
    Difference(
        "times",
        "the GPU's times",
        "the times of this machine's CPU, which say nothing about a GPU",
        "the kernels are PyTorch's kernels for the CPU",
    ),
    Difference(
        "rounding",
        "sums in the GPU's order, TF32 where it is allowed, some results that vary from run to run",
        "the CPU's numbers, the same in each run",
        "the kernels are PyTorch's kernels for the CPU",
    ),
    Difference(
        "random numbers",
        "Philox; a state of 16 bytes",
        "the CPU's generator with another seed, one for each device; a state of 5056 bytes",
        "as on CUDA, a seed gives other numbers than on the CPU; they are not CUDA's numbers",
    ),
    Difference(
        "an index out of range (indexing, embedding, target of a loss)",
        "a device-side assert, reported by a later call; the process has to be restarted",
        "IndexError at once",
        "the CPU's kernels check each index before they read",
    ),
    Difference(
        "prefix of the device's errors",
        '"CUDA out of memory", "CUDA error: invalid device ordinal"',
        '"STANDIN out of memory", "STANDIN error: invalid device ordinal"',
        "no message pretends to come from CUDA",
    ),
    Difference(
        "the end of the message that memory has run out",
        "advice: set PYTORCH_CUDA_ALLOC_CONF (in newer versions PYTORCH_ALLOC_CONF), and a link",
        "no advice; the process's memory is what PyTorch has reserved",
        "the variable changes CUDA's allocator, and this one has no other memory",
    ),
    Difference(
        'names in "(when checking argument in method …)"',
        "wrapper_CUDA_mm",
        "wrapper_PrivateUse1_mm",
        "PyTorch's own name for devices that other projects add",
    ),
    Difference(
        "type of a tensor",
        "torch.cuda.FloatTensor; x.is_cuda; x.cuda()",
        "torch.standin.FloatTensor; x.is_standin; x.standin()",
        "it is another device: torch.cuda stays as it is",
    ),
    Difference(
        "names of types in the messages of autograd",
        "[torch.cuda.FloatTensor [2]]",
        "[standinFloatType [2]]",
        "PyTorch replaces its internal names for the CPU and CUDA only",
    ),
    Difference(
        "operations counted for dropout, attention, LSTM and GRU",
        "one fused kernel, or a few of cuDNN's",
        "the operations that they consist of",
        "PyTorch chooses the fused kernels by the name of the device",
    ),
    Difference(
        "x[mask] = 0",
        "the number stays on the host: one operation",
        "two operations and an allocation",
        "PyTorch makes the number a tensor on every device but CUDA",
    ),
    Difference(
        "x[mask] = t, with t on the device and without dimensions",
        "the host waits for the number of elements",
        "no wait is counted",
        "the device cannot distinguish it from x[mask] = 0",
    ),
    Difference(
        "memory of libraries",
        "cuBLAS and cuDNN keep workspaces, counted as allocated; the CUDA context takes some hundred MiB",
        "no memory",
        "there are no such libraries here",
    ),
    Difference(
        "memory within an operation",
        "temporary memory of a kernel counts in the peak",
        "only the results of an operation count",
        "temporary memory of the CPU's kernels is not what CUDA's kernels need",
    ),
    Difference(
        "size of the device",
        "the memory of the GPU",
        "4 GiB each, or a quarter of this machine's memory where that is less",
        "the machine's own memory must not run out",
    ),
    Difference(
        "pinned memory",
        "page-locked: copies are faster, and asynchronous",
        "reported as pinned; copies do not change",
        "there is no bus to cross",
    ),
    Difference(
        "sparse, quantized and nested tensors; float types the CPU has no kernel for",
        "on the device",
        "refused in one line, or by the CPU's kernel",
        "the lessons do not use them",
    ),
    Difference(
        "DLPack",
        "torch.from_dlpack(x) and cupy.from_dlpack(x) share the tensor's memory",
        "both raise ValueError; between PyTorch tensors, torch.from_dlpack(x.__dlpack__()) shares the memory",
        "Tensor.__dlpack_device__ knows the devices of other projects only as privateuse1, PyTorch's own name",
    ),
    Difference(
        "a tensor sent to another process",
        "torch.multiprocessing sends a handle, and both processes use the same memory",
        "torch.multiprocessing raises RuntimeError; pickle copies the tensor, as on CUDA",
        "PyTorch does not share the memory of devices that other projects add",
    ),
    Difference(
        "torch.compile, CUDA graphs, NCCL, torch.backends.cudnn",
        "available",
        "not available: lessons show recorded or documented results",
        "they need CUDA itself",
    ),
    Difference(
        "the end of a session",
        "memory goes with the process",
        "the device stays after h2d.stop(), and tensors on it stay usable",
        "PyTorch cannot take a device back",
    ),
)
