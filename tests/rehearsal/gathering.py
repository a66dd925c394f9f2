"""Write down every kernel of a notebook: `python -m tests.rehearsal.gathering NOTEBOOK FILE`.

The notebook runs on the stand-in. Each line of the file describes a kernel in JSON: the number of the cell that made it,
its name, its kind, and what its compiler needs, as the kernel was when it was launched, checked or shown. `compiling`
gives it to the real compiler.
"""

import contextlib
import functools
import json
import os
import sys
from pathlib import Path

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from numba import typeof

from host_to_device.hardware import targets
from host_to_device.inspecting import cupy_code, sources
from host_to_device.inspecting.compilers import numba_ptx
from host_to_device.inspecting.errors import CannotShow
from host_to_device.standins import mangling
from host_to_device.standins.cupy import elementwise, jit, raw, reduction
from host_to_device.standins.numba_cuda import dispatching, launching

T4 = targets.find("sm_75", "NVIDIA")


# Kernels that their notebook shows and does not launch, and the types of a launch.
NEVER_LAUNCHED = {
    "differences": "float32[::1], float32[::1]",
    "mel_edges": "float32, float32, float32[::1]",
    "divergent": "float32[::1], float32[::1]",
    "broken_softmax": "float32[:, ::1], float32[:, ::1]",
    "broken_histogram": "float32[::1], float64, float64, int32[::1]",
    "broken_kernel": "float32[::1], float32[::1], float32[::1]",
}


def after(owner, name, call, refused=False):
    """Let `call` see each call of `owner.name`: its result and its arguments; with `refused` also None after an error."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*arguments, **named):
        try:
            result = original(*arguments, **named)
        except Exception:
            if refused:
                call(None, *arguments, **named)
            raise
        call(result, *arguments, **named)
        return result

    setattr(owner, name, wrapped)


def made_by_the_notebook():
    """Tell whether the notebook's code, and not the library's own, makes what is being made."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ or frame.f_globals["__name__"] in (
        dispatching.__name__,
        launching.__name__,
    ):
        frame = frame.f_back
    return frame.f_globals["__name__"] == "__main__"


class Recorder:
    """Hears of every kernel while the notebook's cells run; `cell` is the number of the present one."""

    def __init__(self, file):
        self.file, self.cell, self.cells, self.written = file, 0, {}, set()
        self.typed = set()  # the kernels whose types are known
        after(dispatching.CUDADispatcher, "__init__", self.numba_made)
        after(launching.Launch, "prepare", self.numba_launched, refused=True)
        after(sources, "signature_of", self.numba_shown)
        after(cupy_code, "generate", self.generated_shown)
        after(raw.RawKernel, "__init__", self.raw_made)
        after(raw.RawModule, "__init__", self.module_made)
        for kind in (elementwise.ElementwiseKernel, reduction.ReductionKernel):
            after(kind, "__init__", self.generated_made)
            after(kind, "__call__", self.generated_called)
        after(jit.JitRawKernel, "__init__", self.jit_made)
        after(jit.JitRawKernel, "__call__", self.jit_called)

    def write(self, kernel, name, kind, request):
        """Write a kernel down, once with the same request; processes of the library's may write to the same file."""
        line = {"cell": self.cells.get(id(kernel), (self.cell,))[0], "kernel": name, "kind": kind}
        text = json.dumps({**line, "request": request})
        if text not in self.written:
            self.written.add(text)
            self.file.write(text + "\n")
            self.file.flush()

    def made(self, kernel):
        self.cells[id(kernel)] = self.cell, kernel  # which stays, so that no other kernel gets its number

    def numba_made(self, _, kernel, function, device, signatures, *__, **___):
        if made_by_the_notebook() and not device:
            self.made(kernel)
            self.write(kernel, function.__name__, "made", None)
            for signature in sources._known(kernel) if signatures else ():
                self.numba_typed(kernel, signature)

    def numba_launched(self, values, launch, arguments, *_):
        kernel = launch.kernel
        if kernel.given_signatures:
            return
        if values is None:  # the stand-in refuses the kernel
            self.numba_typed(kernel, [sources._type_of(each, kernel.__name__) for each in arguments])
        else:
            self.numba_typed(kernel, [typeof(launching._as_compiled(value)) for value in values])

    def numba_shown(self, signature, kernel, *_):
        self.numba_typed(kernel, signature)

    def numba_typed(self, kernel, signature):
        if id(kernel) not in self.cells:
            return
        self.typed.add(id(kernel))
        try:
            request, _ = numba_ptx.request_for(kernel, signature, T4)
        except CannotShow as problem:
            request = {"refused": str(problem)}
        self.write(kernel, kernel.__name__, "numba", {**request, "signature": list(map(str, signature))})

    def never_launched(self):
        """Take the types of `NEVER_LAUNCHED` for its kernels."""
        for _, kernel in list(self.cells.values()):
            name = getattr(kernel, "__name__", "")
            if name in NEVER_LAUNCHED and id(kernel) not in self.typed:
                self.numba_typed(kernel, sources._read(NEVER_LAUNCHED[name]))

    def raw_made(self, _, kernel, code, name, options=(), *__, **___):
        if made_by_the_notebook():
            self.cuda(kernel, name, code, name, options)

    def module_made(self, _, module, *, code=None, options=(), name_expressions=None, **__):
        if made_by_the_notebook():
            for name in name_expressions or [None]:
                self.cuda(module, name or "a module", code, name, options)

    def cuda(self, kernel, name, code, entry, options):
        self.made(kernel)
        expression = mangling.expression(entry) if entry else None
        plain = expression is None or expression.isidentifier()
        request = {"source": code, "expression": None if plain else expression, "options": list(options)}
        self.write(kernel, name, "cuda", request)

    def generated_made(self, _, kernel, *__, **___):
        if made_by_the_notebook():
            self.made(kernel)
            self.write(kernel, kernel.name, "made", None)

    def generated_called(self, _, kernel, *arguments, **__):
        if id(kernel) in self.cells:
            self.cupy(kernel, kernel.name, arguments)

    def generated_shown(self, _, kernel, arguments):
        if id(kernel) in self.cells:
            self.cupy(kernel, cupy_code.name_of(kernel), arguments)

    def jit_made(self, _, kernel, function, *__):
        self.made(kernel)
        self.write(kernel, function.__name__, "made", None)

    def jit_called(self, _, kernel, grid, block, arguments, *__, **___):
        self.cupy(kernel, kernel.__name__, arguments)

    def cupy(self, kernel, name, arguments):
        kind = cupy_code.KINDS[type(kernel).__name__]
        views = [cupy_code._view(each, name) for each in arguments]
        self.write(kernel, name, "cupy", {"kind": kind, **getattr(cupy_code, f"_{kind}")(kernel, views)})


def run(path, recorder):
    """Run a notebook's cells, each as a kernel of Jupyter's would."""
    shell = InteractiveShell.instance()
    os.chdir(path.parent)
    for recorder.cell, cell in enumerate(nbformat.read(path, 4).cells):
        if cell.cell_type == "code":
            result = shell.run_cell(cell.source, store_history=True)
            if not result.success and "raises-exception" not in cell.metadata.get("tags", []):
                sys.exit(
                    f"{path.name}, cell {recorder.cell}: {result.error_in_exec or result.error_before_exec!r}"
                )


if __name__ == "__main__":
    notebook, written = map(Path, sys.argv[1:])
    with written.open("a") as file, open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        recorder = Recorder(file)
        run(notebook.resolve(), recorder)
        recorder.never_launched()
