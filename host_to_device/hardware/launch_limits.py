"""What one launch may ask of a CUDA device: threads, blocks, shared memory.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Features and Technical
Specifications", as of CUDA 13.
"""

# The same for every compute capability from 7.0 to 12.1.
MAX_THREADS = 1024  # in a block
MAX_BLOCK = (1024, 1024, 64)  # threads in x, y, z
MAX_GRID = (2**31 - 1, 65535, 65535)  # blocks in x, y, z
MAX_SHARED = 48 * 1024  # bytes of shared memory in a block, unless the kernel opts in to more

# Bytes of shared memory in a block of a kernel that opts in, by compute capability.
MAX_SHARED_OPT_IN = {
    "7.0": 96 * 1024,
    "7.2": 96 * 1024,
    "7.5": 64 * 1024,
    "8.0": 163 * 1024,
    "8.6": 99 * 1024,
    "8.7": 163 * 1024,
    "8.9": 99 * 1024,
    "9.0": 227 * 1024,
    "10.0": 227 * 1024,
    "10.3": 227 * 1024,
    "11.0": 227 * 1024,
    "12.0": 99 * 1024,
    "12.1": 99 * 1024,
}
