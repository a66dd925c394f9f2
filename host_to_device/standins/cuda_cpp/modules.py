"""Compiled modules and their kernels: compile a source, look up a kernel or a variable, launch the kernel."""

from __future__ import annotations

import math
import re
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from host_to_device.hardware import gpus
from host_to_device.hardware.launch_limits import MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS
from host_to_device.standins.cuda_cpp import arena, building, compiler, faults, lines, races, sources, worker
from host_to_device.standins.cuda_cpp.building import Source
from host_to_device.standins.cuda_cpp.errors import (
    ArgumentError,
    CompileError,
    KernelFault,
    KernelStopped,
    LaunchError,
    TogetherError,
)
from host_to_device.standins.cuda_cpp.parameters import Parameter, Passed

WARP_SIZES = (32, 64)

REQUEST = struct.Struct("<4Q10Q3Q3Qd")
NONSENSE = (
    0xFF  # every byte of shared memory at first: as floats these are NaN, which no sum or maximum hides
)
DEFAULT_DEVICE = (
    "-default-device",
    "--device-as-default-execution-space",
)  # NVRTC's option, and its other name


class Function:
    """A kernel, ready to be launched.

    Attributes
    ----------
    name
        The kernel's name, or the name expression for which it was compiled.
    c_linkage
        Whether it is declared `extern "C"`: only then does CUDA know it by its plain name.
    parameters
        Its parameters, in order.
    parameter_names
        Their names in the source; empty where they are not known.
    shared_size_bytes
        Static shared memory that one block takes, in bytes.
    symbol
        The name that CUDA gives its compiled code, such as `_Z3addIfEvPKT_PS0_i`; its own name on systems whose
        compiled files cannot be read.
    """

    def __init__(
        self,
        module: Module,
        number: int,
        name: str,
        parameters: tuple[Parameter, ...],
        declared: sources.Kernel | None,
        shared: int,
        symbol: str,
    ) -> None:
        self.module, self.number, self.name, self.parameters = module, number, name, parameters
        self.c_linkage = declared is not None and declared.c_linkage
        names = declared.parameters if declared else ()
        self.parameter_names = names if len(names) == len(parameters) else ("",) * len(parameters)
        self.shared_size_bytes, self.symbol = shared, symbol or name

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
        strict: bool = False,
        cooperative: bool = False,
    ) -> races.Watched | None:
        """Run the kernel and return when it has ended.

        Parameters
        ----------
        grid, block
            Blocks in the grid and threads in a block along x, y and z.
        args
            One argument for each parameter. For a NumPy array, in memory from `arena.allocate`, the kernel gets the
            address of the first element; for a NumPy scalar (`numpy.void` for a struct) it gets the bytes.
        shared_mem
            Dynamic shared memory, in bytes.
        seed
            Seed of a random order of blocks and threads, in which threads also take turns at random accesses to
            memory. None runs them in the order of their numbers.
        seconds
            Time limit.
        strict
            Whether to judge warps as a check does, and to stop early when no thread gets on. Then what was found about
            warps is returned, else None.
        cooperative
            Whether it is a cooperative launch: its blocks wait for each other at the grid's barrier.

        Raises
        ------
        LaunchError
            If grid, block or shared memory exceed a device's limits.
        ArgumentError
            If the number of arguments is wrong, or the size or kind of an argument is not that of its parameter.
        KernelFault
            If the kernel breaks a rule, such as an access out of bounds.
        KernelStopped
            If the kernel has not ended within `seconds`.
        """
        return self._run(grid, block, args, shared_mem, seed, seconds, strict=strict, cooperative=cooperative)

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
        locals_begin: str = "pattern",
        patterns: bool = False,
        ascending: bool = False,
        cooperative: bool = False,
    ) -> races.Watched:
        """Run the kernel in the random order of a seed and watch every access to global and shared memory.

        Warps are judged as `strict` says.

        Parameters
        ----------
        grid, block, args, shared_mem, seed, seconds
            As for a launch.
        fill
            The byte that fills shared memory at first (`checking.accesses.FILLS`).
        outputs
            Those arrays among the arguments whose unwritten elements are counted.
        locals_begin
            What local variables begin with: "pattern" or "zero".
        ascending
            Whether to run in the order of the threads' numbers instead, with what was compiled for seeded runs. Then
            only warps are watched.
        patterns
            Whether to sum up what each block does at each line as well.

        Raises
        ------
        LaunchError, ArgumentError, KernelFault, KernelStopped
            As for a launch. The `watched` of a fault holds what was seen before it.
        """
        requested = tuple(
            (array.__array_interface__["data"][0], array.nbytes, array.itemsize)
            for array in outputs
            if array.size
        )
        watch = 0 if ascending else 2 if patterns else 1
        return self._run(
            grid,
            block,
            args,
            shared_mem,
            None if ascending else seed,
            seconds,
            fill,
            watch,
            requested if watch else (),
            locals_begin,
            True,
            cooperative,
        )

    def _run(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Iterable[Any],
        shared_mem: int,
        seed: int | None,
        seconds: float,
        fill: int = NONSENSE,
        watch: int = 0,
        outputs: tuple = (),
        locals_begin: str = "",
        strict: bool = False,
        cooperative: bool = False,
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
        module, blocks = self.module, math.prod(grid)
        if cooperative and blocks > (most := self.most_together(threads, shared_mem)):
            raise TogetherError(
                f"a cooperative launch of {blocks:,} blocks of {threads} threads: at most {most} run at the same time"
            )
        values, offsets, arrays = self._pack(args)
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
            alone = (
                cooperative
                or seed is not None
                or blocks == 1
                or module.changes
                or threads * blocks < worker.SMALL
            )
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
                strict,
                cooperative,
                *grid,
                *block,
                float(min(seconds, 1e9)),
            )
            locals_begin = locals_begin or ("" if seed is None else "pattern")
            path = module.file(locals_begin)
            places = module.places(locals_begin) if locals_begin else ()
            message = ("run", str(path), request, values, offsets, module.variables, places, outputs)
            try:
                answers = worker.ask([message] * count, seconds + worker.GRACE)
            except worker.Died as death:
                raise self._died(death, seconds) from None
        failed, reports = None, []
        for answer in answers:
            if not answer[0]:
                raise KernelFault(f"{self.name}: {answer[1]}", "crash")
            _, status, fault, output, seen = answer
            if output:
                sys.stdout.write(output.decode("utf-8", "replace"))
            reports.append(seen)
            if status and failed is None:
                failed = fault
        watched = races.read(reports, str(path), arrays, grid, block) if watch or strict else None
        if failed is not None:
            fault = faults.read(failed, self.name, str(path), arrays, seconds, grid, block)
            fault.watched = watched
            raise fault
        return watched

    def most_together(self, threads: int, shared_mem: int) -> int:
        """Return how many blocks run at the same time on the device whose limits the stand-in has.

        Registers, which the stand-in's kernels do not have, lower this number further on a GPU.

        Parameters
        ----------
        threads
            Threads in a block.
        shared_mem
            Dynamic shared memory of a block, in bytes.
        """
        gpu = gpus.find("T4")
        of_one = gpu.architecture
        warps = -(-threads // of_one.warp_size)
        most = min(
            of_one.blocks_per_multiprocessor, of_one.threads_per_multiprocessor // of_one.warp_size // warps
        )
        shared = self.shared_size_bytes + shared_mem
        if shared:
            most = min(most, of_one.shared_per_multiprocessor // shared)
        return most * gpu.multiprocessors

    def _pack(self, args: Iterable[Any]) -> tuple[bytes, tuple[int, ...], list[Passed]]:
        """Return the arguments' bytes, the offset of each, and the arrays among them."""
        args = tuple(args)
        if len(args) != len(self.parameters):
            raise ArgumentError(
                f"{self.name} takes {len(self.parameters)} arguments ({self._signature()}), but the launch gives {len(args)}"
            )
        data, offsets = bytearray(), []
        arrays: list[Passed] = []
        for number, (value, parameter) in enumerate(zip(args, self.parameters, strict=True)):
            if isinstance(value, np.ndarray):
                if not parameter.pointer:
                    raise ArgumentError(f"{self._which(number)} takes a value, but the launch gives an array")
                if value.size and not arena.owns(value):
                    raise ArgumentError(
                        f"{self._which(number)} takes device memory, but the launch gives a host array"
                    )
                arrays.append(Passed(self.parameter_names[number] or f"argument {number + 1}", value))
                bits = struct.pack("<Q", value.__array_interface__["data"][0] if value.size else 0)
            else:
                bits = value.tobytes() if isinstance(value, np.generic) else bytes(value)
            if len(bits) != parameter.size:
                kind = value.dtype if isinstance(value, np.generic) else type(value).__name__
                raise ArgumentError(
                    f"{self._which(number)} takes {parameter.size} bytes, but {kind} has {len(bits)}"
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
                f"{self.name} was stopped after {seconds:g} s: a loop never ends, or the launch needs more time",
                "stopped",
            )
        how = f" (signal {-death.code})" if death.code and death.code < 0 else ""
        return KernelFault(
            f"{self.name} crashed the process that runs it{how}; the next launch starts a new process",
            "crash",
        )


def _size(name: str, given: tuple[int, int, int], most: tuple[int, int, int]) -> tuple[int, int, int]:
    given = tuple(int(each) for each in given)
    if len(given) != 3:
        raise LaunchError(f"{name}={given}: give three numbers")
    for axis, number, limit in zip("xyz", given, most, strict=True):
        if not 1 <= number <= limit:
            raise LaunchError(f"{name}={given}: give 1 to {limit} along {axis}")
    return given


class Module:
    """One compiled source: its kernels and variables.

    Attributes
    ----------
    names
        The names of its kernels: every kernel that is not a template, and the requested name expressions.
    warp_size
        Threads in a warp.
    """

    def __init__(self, given: Source) -> None:
        self.given, self.warp_size = given, given.warp_size
        path, about, declared = building.load(given)
        self._files: dict[str, Path] = {"": path}
        self.control = arena.allocate(16).view(np.uint64)
        self._shared = about["shared"]
        self._places: dict[str, tuple] = {}
        self.functions: dict[str, Function] = {}
        by_name = {kernel.name: kernel for kernel in declared.kernels}
        for number, (name, parameters) in enumerate(about["kernels"]):
            plain = re.sub(r"<.*", "", name, flags=re.DOTALL).strip()
            kernel = by_name.get(plain) or by_name.get(plain.removeprefix("::"))
            self.functions[name] = Function(
                self,
                number,
                name,
                tuple(Parameter(*each) for each in parameters),
                kernel,
                about["shared_of"][number],
                about["symbols"][number],
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

    def file(self, locals_begin: str = "") -> Path:
        """Return the compiled file: those for seeded runs are made for the first of them, one for all other runs.

        A file that has been deleted is made again. `locals_begin` is that of `compiler.build`.
        """
        found = self._files.get(locals_begin)
        if found is None or not found.exists():
            found = self._files[locals_begin] = building.load(self.given, locals_begin)[0]
        return found

    def unset_variables(self) -> list[tuple[int, str]]:
        """Return the local variables that the compiler calls uninitialised: line and name of each."""
        return building.unset_variables(self.given, self.names)

    @property
    def shared(self) -> list[tuple[str, int, int]]:
        """Name, line and bytes of each array in static shared memory; the line is 0 where it is not known."""
        return [(name, max(line, 0), nbytes) for name, line, nbytes, _ in self._shared]

    def places(self, locals_begin: str) -> tuple[tuple[int, int, str], ...]:
        """Offset, bytes and name of each shared variable in the file for seeded runs.

        Only the other file describes its shared variables; both files have the same symbols. Where symbols cannot be
        read, this is empty.
        """
        if locals_begin not in self._places:
            here = {
                name: offset
                for offset, names in lines.symbols(str(self.file(locals_begin))).items()
                for name in names
            }
            known = lines.symbols(str(self.file()))
            self._places[locals_begin] = tuple(
                (here[symbol], nbytes, name)
                for name, _, nbytes, place in self._shared
                for symbol in known.get(place, ())
                if symbol in here
            )
        return self._places[locals_begin]

    @property
    def path(self) -> Path:
        """The compiled file for runs without a seed."""
        return self._files[""]

    def __repr__(self) -> str:
        return f"<module of the stand-in: {', '.join(self.names)}>"

    def function(self, name: str) -> Function:
        """Return a kernel by its name or by the requested name expression.

        Raises
        ------
        LookupError
            If the module has no such kernel.
        """
        if name in self.functions:
            return self.functions[name]
        raise LookupError(
            f"this source has no kernel {name!r}, only {', '.join(self.names) or 'none at all'}"
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
            If the module has no such variable.
        """
        name = name.strip().removeprefix("&").strip()
        if name in self._globals:
            return self._globals[name]
        known = ", ".join(self._globals) or "none at all"
        raise LookupError(f"this source has no __constant__ or __device__ variable {name!r}, only {known}")


def compile(
    source: str,
    *,
    name_expressions: Iterable[str] = (),
    options: Iterable[str] = (),
    warp_size: int = 32,
) -> Module:
    """Compile CUDA C++, or return what an earlier call has compiled.

    Parameters
    ----------
    source
        The source, as NVRTC gets it.
    name_expressions
        Instances of kernel templates, such as `"add<float>"`.
    options
        NVRTC's options. Options that name a GPU or tune for one change nothing.
    warp_size
        Threads in a warp: 32 as on NVIDIA's GPUs, or 64 as on some of AMD's.

    Raises
    ------
    SourceError
        If the source has errors: in NVRTC's words where NVRTC is installed, else in those of the C++ compiler.
    CompileError
        If an option is unknown, or there is no compiler.
    """
    if warp_size not in WARP_SIZES:
        raise CompileError(f"a warp has 32 or 64 threads, not {warp_size}")
    wanted = tuple(dict.fromkeys(str(each).strip() for each in name_expressions))
    options = tuple(str(option) for option in options)
    default_device = any(option in DEFAULT_DEVICE for option in options)
    return Module(Source(source, wanted, tuple(compiler.translate(options)), warp_size, default_device))
