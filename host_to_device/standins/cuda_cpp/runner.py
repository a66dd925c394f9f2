"""The program of a process for kernels: it loads compiled modules and runs their kernels for worker.py.

It reads messages from standard input and writes answers to standard output. Each is a marshalled tuple after its
length in eight bytes. worker.py starts this file by its path, so it imports nothing of the library.
"""

import contextlib
import ctypes
import marshal
import mmap
import os
import signal
import struct
import sys

MEMORY = (
    3 << 29
)  # bytes besides the arena: for up to 128 modules, for stacks, and for watching a kernel's accesses


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
        """Map segments of the arena at the addresses that the parent uses."""
        for address, offset, nbytes in segments:
            got = self.libc.mmap(
                address, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self.fd, offset
            )
            if got != address:
                raise OSError(ctypes.get_errno(), "cannot map device memory")

    def module(self, path: str) -> ctypes.CDLL:
        """Return a module, loaded on the first call."""
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
        """Return a module's description of itself."""
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
        """Run a kernel; return its status, its fault, its output, and the findings about its accesses.

        The findings are a text, and for each of `outputs` the number of unwritten elements and the first of them.
        """
        self.map(segments)
        module = self.module(path)
        if not module.placed:
            module.placed = True
            for offset, nbytes, name in places:
                module.h2d_place(offset, nbytes, name.encode())
        # Each thread copies its parameters from this memory, so a kernel can change only its own copies.
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
    """Limit this process's memory, let it end with its parent, and ignore Ctrl-C, which is the parent's."""
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
    """Answer messages until the parent closes standard input."""
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
