"""What runs in the process for kernels: loads modules and runs what it is told. Started by worker.py by its path.

Messages are marshalled tuples behind their length (eight bytes), in on standard input, out on standard output.
"""

import contextlib
import ctypes
import marshal
import mmap
import os
import signal
import struct
import sys

MEMORY = 1 << 30  # bytes that kernels may take beside the arena


class Runner:
    """The modules and mappings of this process."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.modules: dict[str, ctypes.CDLL] = {}
        self.memory = (ctypes.c_void_p * 2)()  # stacks and heap of all modules
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int64,
        )

    def map(self, segments: tuple) -> None:
        """Map parts of the arena where the other process has them."""
        for address, offset, nbytes in segments:
            got = self.libc.mmap(
                address, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self.fd, offset
            )
            if got != address:
                raise OSError(ctypes.get_errno(), "cannot map device memory")

    def module(self, path: str) -> ctypes.CDLL:
        """Return a loaded module."""
        if path not in self.modules:
            module = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
            module.h2d_describe.restype = ctypes.c_void_p
            module.h2d_address.restype = ctypes.c_void_p
            module.h2d_output.restype = ctypes.c_void_p
            module.h2d_races.restype = ctypes.c_void_p
            module.h2d_unwritten.restype = ctypes.c_uint64
            module.h2d_place.argtypes = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p)
            module.placed = False
            self.modules[path] = module
        return self.modules[path]

    def describe(self, path: str) -> tuple:
        """Return what a module says of itself."""
        return (ctypes.string_at(self.module(path).h2d_describe()),)

    def run(
        self,
        segments: tuple,
        path: str,
        request: bytes,
        values: bytes,
        offsets: tuple,
        variables: tuple,
        places: tuple,
        outputs: tuple,
    ) -> tuple:
        """Run a kernel; return how it ended, what went wrong, what it printed, and what was seen of its accesses.

        What was seen is a text, and of each of `outputs` how many elements are unwritten, and the first.
        """
        self.map(segments)
        module = self.module(path)
        if not module.placed:
            module.placed = True
            for offset, nbytes, name in places:
                module.h2d_place(offset, nbytes, name.encode())
        # A kernel may change its parameters' copies only, but each thread reads them anew: so they lie here.
        memory = ctypes.create_string_buffer(len(values) + 32)
        start = ctypes.addressof(memory) + -ctypes.addressof(memory) % 16
        ctypes.memmove(start, values, len(values))
        pointers = (ctypes.c_void_p * (len(offsets) + 1))(*(start + offset for offset in offsets))
        found = ctypes.create_string_buffer(512)
        for number, address, nbytes, _ in variables:
            ctypes.memmove(module.h2d_address(number), address, nbytes)
        status = module.h2d_run(request, pointers, found, self.memory)
        if status < 0:
            raise MemoryError("no memory for the stacks of a block")
        for number, address, nbytes, constant in variables:
            if not constant:
                ctypes.memmove(address, module.h2d_address(number), nbytes)
        size = ctypes.c_size_t()
        text = module.h2d_output(ctypes.byref(size))
        first, unwritten = ctypes.c_uint64(), []
        for output in outputs:
            count = module.h2d_unwritten(*map(ctypes.c_uint64, output), ctypes.byref(first))
            unwritten.append((count, first.value))
        seen = ctypes.string_at(module.h2d_races()), tuple(unwritten)
        return status, found.raw, ctypes.string_at(text, size.value), seen


def limit() -> None:
    """Limit memory, end with the parent, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource
    except ImportError:
        return
    for what, most in (("RLIMIT_DATA", MEMORY), ("RLIMIT_CORE", 0)):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            number = getattr(resource, what)
            _, hard = resource.getrlimit(number)
            resource.setrlimit(number, (most if hard < 0 else min(most, hard), hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def main() -> None:
    """Answer until there is nobody left to answer."""
    incoming, outgoing = sys.stdin.buffer, os.dup(1)
    os.dup2(2, 1)
    limit()
    runner = Runner(int(sys.argv[1]))
    while len(head := incoming.read(8)) == 8:
        name, *arguments = marshal.loads(incoming.read(*struct.unpack("<Q", head)))
        try:
            answer = (True, *getattr(runner, name)(*arguments))
        except Exception as problem:
            answer = (False, f"{type(problem).__name__}: {problem}")
        data = marshal.dumps(answer)
        data = struct.pack("<Q", len(data)) + data
        while data:
            data = data[os.write(outgoing, data) :]


if __name__ == "__main__":
    main()
