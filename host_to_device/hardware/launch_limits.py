"""What one launch may ask of any CUDA device sold today.

Source: CUDA C++ Programming Guide, technical specifications per compute capability (the same from 7.0 to 12.1).
"""

MAX_THREADS = 1024  # a block
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED = 48 * 1024  # bytes of shared memory that a block gets without asking for more
