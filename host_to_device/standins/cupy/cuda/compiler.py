"""The error of a kernel whose source does not compile, with the compiler's log."""

from __future__ import annotations

from typing import TextIO


class CompileException(Exception):
    """A kernel's source does not compile; `str()` is the compiler's log (CuPy's `cupy.cuda.compiler`)."""

    def __init__(
        self, msg: str, source: str, name: str, options: tuple[str, ...], backend: str = "nvrtc"
    ) -> None:
        self._msg = msg
        self.source, self.name, self.options, self.backend = source, name, options, backend
        super().__init__()

    def __reduce__(self) -> tuple:
        return type(self), (self._msg, self.source, self.name, self.options, self.backend)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.get_message()

    def get_message(self) -> str:
        """Return the compiler's log."""
        return self._msg

    def dump(self, f: TextIO) -> None:
        """Write the log and the source, its lines numbered, to an open text file."""
        lines = self.source.split("\n")
        digits = len(str(len(lines)))
        f.write(f"{self.backend.upper()} compilation error: {self}\n-----\n")
        f.write(f"Name: {self.name}\nOptions: {' '.join(self.options)}\nCUDA source:\n")
        for number, line in enumerate(lines, 1):
            f.write(f"{number:0{digits}d} {line.rstrip()}\n")
        f.write("-----\n")
        f.flush()
