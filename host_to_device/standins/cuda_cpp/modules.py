"""Modules of compiled kernels: what they hold, and how a kernel is launched."""

from __future__ import annotations

import math
import re
import struct
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from host_to_device.hardware.launch_limits import MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS
from host_to_device.standins.cuda_cpp import arena, compiler, faults, lines, races, sources, worker
from host_to_device.standins.cuda_cpp.errors import (
    ArgumentError,
    CompileError,
    KernelFault,
    KernelStopped,
    LaunchError,
)

WARP_SIZES = (32, 64)

REQUEST = struct.Struct("<4Q8Q3Q3Qd")
NONSENSE = 0xFF  # the bytes of shared memory at first: something that no sum or maximum survives


class Parameter(NamedTuple):
    """A parameter of a kernel: its C++ type, whether it is a pointer, and its bytes."""

    type: str
    pointer: bool
    size: int


class Function:
    """A kernel, ready to be launched.

    Attributes
    ----------
    name
        What it was asked for by.
    c_linkage
        Whether it is declared `extern "C"`: only then does CUDA know it by its plain name.
    parameters
        Its parameters, in order.
    parameter_names
        What the source calls them; empty where that is not known.
    shared_size_bytes
        Static shared memory that one block takes, in bytes.
    """

    def __init__(
        self,
        module: Module,
        number: int,
        name: str,
        parameters: tuple[Parameter, ...],
        declared: sources.Kernel | None,
        shared: int,
    ) -> None:
        self.module, self.number, self.name, self.parameters = module, number, name, parameters
        self.c_linkage = declared is not None and declared.c_linkage
        names = declared.parameters if declared else ()
        self.parameter_names = names if len(names) == len(parameters) else ("",) * len(parameters)
        self.shared_size_bytes = shared

    def __repr__(self) -> str:
        return f"<kernel {self.name} of the stand-in>"

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Iterable[Any],
        *,
        shared_mem: int = 0,
        seed: int | None = None,
        seconds: float = 60.0,
    ) -> None:
        """Run the kernel, and come back when it has ended.

        Parameters
        ----------
        grid, block
            Blocks in the grid and threads in a block along x, y and z.
        args
            One for each parameter: NumPy arrays in memory from `arena.allocate`, of which the kernel gets the
            address of the first element, and NumPy scalars (`numpy.void` for a struct), of which it gets the bytes.
        shared_mem
            Dynamic shared memory, in bytes.
        seed
            Runs blocks and threads in an order that it decides, and lets threads take turns at random accesses to
            memory; None for the order of their numbers.
        seconds
            Time limit.

        Raises
        ------
        LaunchError
            If grid, block or shared memory exceed a device's limits.
        ArgumentError
            If there are too many or too few arguments, or one has not the size or kind of its parameter.
        KernelFault
            If the kernel does what it must not do.
        KernelStopped
            If it has not ended in time.
        """
        self._run(grid, block, args, shared_mem, seed, seconds)

    def watched(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Iterable[Any],
        *,
        shared_mem: int = 0,
        seed: int = 1,
        seconds: float = 60.0,
        fill: int = NONSENSE,
        outputs: Iterable[np.ndarray] = (),
    ) -> races.Watched:
        """Run the kernel in the order of a seed, and look at every access to global and shared memory.

        The parameters are those of a launch; `fill` says what shared memory holds at first (`checking.memory.FILLS`),
        and `outputs` are those arrays among the arguments of which it is to tell whether every element is written.
        What is raised is that of a launch, too: a fault has what was seen before it in `watched`.
        """
        asked = tuple(
            (array.__array_interface__["data"][0], array.nbytes, array.itemsize)
            for array in outputs
            if array.size
        )
        return self._run(grid, block, args, shared_mem, seed, seconds, fill, watch=True, outputs=asked)

    def _run(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Iterable[Any],
        shared_mem: int,
        seed: int | None,
        seconds: float,
        fill: int = NONSENSE,
        watch: bool = False,
        outputs: tuple = (),
    ) -> races.Watched | None:
        grid, block = _size("grid", grid, MAX_GRID), _size("block", block, MAX_BLOCK)
        threads = math.prod(block)
        if threads > MAX_THREADS:
            raise LaunchError(f"a block of {threads} threads: a device takes at most {MAX_THREADS}")
        if shared_mem < 0 or self.shared_size_bytes + shared_mem > MAX_SHARED:
            raise LaunchError(
                f"{self.shared_size_bytes + shared_mem} bytes of shared memory for a block: "
                f"a device gives {MAX_SHARED} at most"
            )
        if not seconds > 0:
            raise LaunchError(f"a time limit of {seconds} s")
        values, offsets, arrays = self._pack(args)
        module, blocks = self.module, math.prod(grid)
        with worker.lock:
            shared = arena.arena()
            if isinstance(shared, arena.PrivateArena):
                raise CompileError(
                    "kernels need memory that two processes share, which this system does not give"
                )
            with shared.lock:
                shared.settle()
            control = module.control
            control[:] = 0
            alone = seed is not None or blocks == 1 or module.changes or threads * blocks < worker.SMALL
            count = 1 if alone else min(worker.cores(), blocks)
            request = REQUEST.pack(
                shared.base,
                shared.size,
                shared.table,
                control.ctypes.data,
                self.number,
                shared_mem,
                (seed or 0) & (2**64 - 1),
                seed is not None,
                count == 1,
                max(1, blocks // (count * 16)),
                watch,
                fill,
                *grid,
                *block,
                float(min(seconds, 1e9)),
            )
            path = module.file(seeded=seed is not None)
            places = module.places if seed is not None else ()
            message = ("run", str(path), request, values, offsets, module.variables, places, outputs)
            try:
                answers = worker.ask([message] * count, seconds + worker.GRACE)
            except worker.Died as death:
                raise self._died(death, seconds) from None
        failed = None
        for answer in answers:
            if not answer[0]:
                raise KernelFault(f"{self.name}: {answer[1]}", "crash")
            _, status, fault, output, seen = answer
            if output:
                sys.stdout.write(output.decode("utf-8", "replace"))
            if status and failed is None:
                failed = fault
        watched = races.read(seen, self, str(path), arrays, grid, block) if watch else None
        if failed is not None:
            fault = faults.read(failed, self, str(path), arrays, seconds)
            fault.watched = watched
            raise fault
        return watched

    def _pack(self, args: Iterable[Any]) -> tuple[bytes, tuple[int, ...], list]:
        """Return the arguments' bytes, where each starts, and the arrays among them by parameter."""
        args = tuple(args)
        if len(args) != len(self.parameters):
            raise ArgumentError(
                f"{self.name} takes {len(self.parameters)} arguments ({self._signature()}), and {len(args)} were given"
            )
        data, offsets, arrays = bytearray(), [], []
        for number, (value, parameter) in enumerate(zip(args, self.parameters, strict=True)):
            if isinstance(value, np.ndarray):
                if not parameter.pointer:
                    raise ArgumentError(f"{self._which(number)} takes a value, and an array was given")
                if value.size and not arena.owns(value):
                    raise ArgumentError(
                        f"{self._which(number)} takes device memory, and a host array was given"
                    )
                arrays.append((number, value))
                bits = struct.pack("<Q", value.__array_interface__["data"][0] if value.size else 0)
            else:
                bits = value.tobytes() if isinstance(value, np.generic) else bytes(value)
            if len(bits) != parameter.size:
                kind = value.dtype if isinstance(value, np.generic) else type(value).__name__
                raise ArgumentError(
                    f"{self._which(number)} takes {parameter.size} bytes, and {kind} has {len(bits)}"
                )
            data += b"\0" * (-len(data) % 16)
            offsets.append(len(data))
            data += bits
        return bytes(data), tuple(offsets), arrays

    def _signature(self) -> str:
        return ", ".join(self._words(number) for number in range(len(self.parameters)))

    def _words(self, number: int) -> str:
        kind, name = self.parameters[number].type, self.parameter_names[number]
        return (f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}").strip()

    def _which(self, number: int) -> str:
        return f"parameter {number + 1} of {self.name}, {self._words(number)},"

    def _died(self, death: worker.Died, seconds: float) -> KernelFault:
        if death.late:
            return KernelStopped(
                f"{self.name} was stopped after {seconds:g} s: a loop that never ends, or too little time",
                "stopped",
            )
        how = f" (signal {-death.code})" if death.code and death.code < 0 else ""
        return KernelFault(
            f"{self.name} brought its process down{how}; the next launch has a new one", "crash"
        )


def _size(name: str, given: tuple[int, int, int], most: tuple[int, int, int]) -> tuple[int, int, int]:
    given = tuple(int(each) for each in given)
    if len(given) != 3:
        raise LaunchError(f"{name}={given}: three numbers are needed")
    for axis, number, limit in zip("xyz", given, most, strict=True):
        if not 1 <= number <= limit:
            raise LaunchError(f"{name}={given}: along {axis} a device takes 1 to {limit}")
    return given


class Module:
    """What one source was compiled to.

    Attributes
    ----------
    names
        The names of its kernels: those that are no templates, and the name expressions that were asked for.
    warp_size
        Threads in a warp.
    """

    def __init__(self, given: Source) -> None:
        self.given, self.warp_size = given, given.warp_size
        path, about, declared = _load(given, seeded=False)
        self._files: dict[bool, Path | None] = {False: path, True: None}
        self.control = arena.allocate(16).view(np.uint64)
        self._shared = about["shared"]
        self._places: tuple | None = None
        self.functions: dict[str, Function] = {}
        by_name = {kernel.name: kernel for kernel in declared.kernels}
        for number, (name, parameters) in enumerate(about["kernels"]):
            plain = re.sub(r"<.*", "", name, flags=re.DOTALL).strip()
            kernel = by_name.get(plain) or by_name.get(plain.removeprefix("::"))
            shared = about["shared_of"][number]
            self.functions[name] = Function(
                self, number, name, tuple(Parameter(*each) for each in parameters), kernel, shared
            )
        self.names = tuple(self.functions)
        self._globals: dict[str, np.ndarray] = {}
        self.variables: tuple = ()
        self.changes = any(not constant for _, _, constant, _ in about["globals"])
        for number, (name, nbytes, constant, initial) in enumerate(about["globals"]):
            memory = arena.allocate(nbytes)
            memory[:] = 0 if initial is None else np.frombuffer(bytes.fromhex(initial), np.uint8)
            self._globals[name] = memory
            self.variables += ((number, memory.ctypes.data, nbytes, constant),)

    def file(self, seeded: bool) -> Path:
        """Return the compiled file: one for seeded runs, made when the first of them asks for it, one for all others.

        Where it has been deleted it is made again.
        """
        if self._files[seeded] is None or not self._files[seeded].exists():
            self._files[seeded] = _load(self.given, seeded)[0]
        return self._files[seeded]

    @property
    def places(self) -> tuple[tuple[int, int, str], ...]:
        """Where shared variables lie in the file for seeded runs, their bytes and names.

        The compiler tells of them in the other file, which has the same symbols; where symbols cannot be read there
        are none.
        """
        if self._places is None:
            here = {
                name: offset
                for offset, names in lines.symbols(str(self.file(True))).items()
                for name in names
            }
            known = lines.symbols(str(self.file(False)))
            self._places = tuple(
                (here[symbol], nbytes, name)
                for name, _, nbytes, place in self._shared
                for symbol in known.get(place, ())
                if symbol in here
            )
        return self._places

    @property
    def path(self) -> Path:
        """The compiled file for runs without a seed."""
        return self._files[False]

    def __repr__(self) -> str:
        return f"<module of the stand-in: {', '.join(self.names)}>"

    def function(self, name: str) -> Function:
        """Return a kernel by its name, or by the name expression that was asked for.

        Raises
        ------
        LookupError
            If there is none.
        """
        if name in self.functions:
            return self.functions[name]
        raise LookupError(
            f"there is no kernel {name!r} in this source, only {', '.join(self.names) or 'none at all'}"
        )

    @property
    def variable_names(self) -> tuple[str, ...]:
        """The `__constant__` and `__device__` variables."""
        return tuple(self._globals)

    def get_global(self, name: str) -> np.ndarray:
        """Return the bytes of a `__constant__` or `__device__` variable: one-dimensional, uint8, no copy.

        Raises
        ------
        LookupError
            If there is none of this name.
        """
        name = name.strip().removeprefix("&").strip()
        if name in self._globals:
            return self._globals[name]
        known = ", ".join(self._globals) or "none at all"
        raise LookupError(
            f"there is no __constant__ or __device__ variable {name!r} in this source, only {known}"
        )


def _describe(path: Path) -> dict:
    """Ask a compiled module what it holds."""
    question = [("describe", str(path))]
    try:
        try:
            ((ok, text, *_),) = worker.ask(question, 30)
        except worker.Died:
            # Of something that ran in it before, perhaps. Asking changes nothing: ask a new process.
            ((ok, text, *_),) = worker.ask(question, 30)
    except worker.Died as died:
        how = "did not answer" if died.late else f"ended with code {died.code}"
        raise CompileError(f"the compiled kernel cannot be loaded: its process {how}") from None
    if not ok:
        raise CompileError(f"the compiled kernel cannot be loaded: {text}")
    about: dict[str, list] = {"kernels": [], "globals": [], "shared": []}
    starts = []
    for line in text.decode("utf-8", "replace").splitlines():
        kind, *rest = line.split("\t")
        if kind == "kernel":
            about["kernels"].append([rest[0], []])
            starts.append(int(rest[1]))
        elif kind == "parameter":
            size, pointer, kind_text = rest
            found = re.search(r"T = (.*?)[;\]]", kind_text)
            words = re.sub(r"\s*([*&])", r" \1", found.group(1) if found else kind_text)
            about["kernels"][-1][1].append([re.sub(r"\* (?=\*)", "*", words), pointer == "1", int(size)])
        elif kind == "global":
            name, nbytes, constant, initial = rest
            about["globals"].append([name, int(nbytes), constant == "1", initial or None])
        else:
            name, number, nbytes, place = rest
            about["shared"].append([name, int(number), int(nbytes), int(place)])
    about["shared_of"] = _shared_of(path, about, starts)
    return about


def _shared_of(path: Path, about: dict, starts: list[int]) -> list[int]:
    """Return the bytes of static shared memory of each kernel: of the arrays that it declares itself.

    The symbol of an array that is declared in a function begins with the symbol of the function.
    """
    symbols = lines.symbols(str(path))
    result = []
    for start in starts:
        inside = [
            f"_ZZ{name[2:] if name.startswith('_Z') else f'{len(name)}{name}'}E"
            for name in symbols.get(start, ())
        ]
        result.append(
            sum(
                nbytes
                for _, _, nbytes, place in about["shared"]
                if any(name.startswith(tuple(inside)) for name in symbols.get(place, ()))
            )
        )
    return result


class Source(NamedTuple):
    """All that a compiled module depends on."""

    text: str
    wanted: tuple[str, ...]
    options: tuple[str, ...]
    warp_size: int
    default_device: bool  # functions that say nothing are for the device

    @property
    def includes_files(self) -> bool:
        """Whether files of the learner's belong to it, which may change while the text stays the same."""
        return any(option.startswith(("-I", "-include")) for option in self.options)


_made: dict[str, tuple[Path, dict, sources.Declared]] = {}
_making = threading.Lock()


def compile(
    source: str,
    *,
    name_expressions: Iterable[str] = (),
    options: Iterable[str] = (),
    warp_size: int = 32,
) -> Module:
    """Compile CUDA C++, or take what an earlier call has compiled.

    Parameters
    ----------
    source
        The source, as NVRTC gets it.
    name_expressions
        Kernels of templates that are wanted, such as `"add<float>"`.
    options
        NVRTC's options. Those that name a GPU or tune for one change nothing.
    warp_size
        Threads in a warp: 32 as on NVIDIA's GPUs, or 64 as on some of AMD's.

    Raises
    ------
    CompileError
        If the source has errors, an option is unknown, or there is no compiler.
    """
    if warp_size not in WARP_SIZES:
        raise CompileError(f"a warp has 32 or 64 threads, not {warp_size}")
    wanted = tuple(dict.fromkeys(str(each).strip() for each in name_expressions))
    options = tuple(str(option) for option in options)
    default_device = any(option in DEFAULT_DEVICE for option in options)
    return Module(Source(source, wanted, tuple(compiler.translate(options)), warp_size, default_device))


def _load(given: Source, seeded: bool) -> tuple[Path, dict, sources.Declared]:
    key = compiler.key_of("seeded" if seeded else "module", *given)
    with _making:
        if given.includes_files or key not in _made or not _made[key][0].exists():
            _made[key] = _make(key, given, seeded)
        return _made[key]


DEFAULT_DEVICE = ("-default-device", "--device-as-default-execution-space")


def refuse(given: Source, declared: sources.Declared, shared: list[sources.Shared]) -> None:
    """Refuse what the C++ compiler would take and NVRTC does not."""
    initial = next((each for each in shared if each.initial), None)
    line, words = declared.refused or (0, "")
    if given.default_device:
        line = 0
    if initial is not None and (not line or initial.first < line):
        line, words = initial.first, f"__shared__ variable {initial.names[0]} cannot have an initial value"
    if line:
        raise CompileError(f"line {line}: {words}", f"{sources.FILE}:{line}: error: {words}")


def _make(key: str, given: Source, seeded: bool) -> tuple[Path, dict, sources.Declared]:
    masked, declared = sources.mask(given.text), sources.declarations(given.text)
    found = None if given.includes_files else compiler.cache().get(key)
    if found is None:

        def make(path: Path) -> dict:
            seen = declared
            if sources.needs_expansion(masked):
                expanded = compiler.expand(given.text, given.options)
                seen = declared if expanded is None else sources.declarations(expanded)
            shared = sources.shared_arrays(masked)
            refuse(given, seen, shared)
            plain = [kernel.name for kernel in seen.kernels if not kernel.template]
            asked = [each for each in given.wanted if each.removeprefix("&") not in seen.variables]
            names = tuple(dict.fromkeys((*plain, *asked)))
            end = sources.tail(names, seen.variables, shared)
            text = (
                f'#line 1 "{sources.FILE}"\n{sources.as_cpp(given.text)}\n#line 1 "{sources.TAIL}"\n{end}\n'
            )
            compiler.build(text, [*given.options, f"-DH2D_WARP={given.warp_size}"], path, seeded)
            about = _describe(path)
            about["c_linkage"] = [kernel.name for kernel in seen.kernels if kernel.c_linkage]
            about["parameters"] = {kernel.name: kernel.parameters for kernel in seen.kernels}
            return about

        found = compiler.cache().put(key, ".so", make)
    path, about = found
    known = {kernel.name for kernel in declared.kernels}
    for name, parameters in about["parameters"].items():
        if name not in known:
            declared.kernels.append(
                sources.Kernel(name, name in about["c_linkage"], False, tuple(parameters))
            )
    for name, _, nbytes, _ in about["shared"]:
        if nbytes > MAX_SHARED:
            raise CompileError(f"shared array {name} has {nbytes} bytes: a block gets {MAX_SHARED} at most")
    return path, about, declared
