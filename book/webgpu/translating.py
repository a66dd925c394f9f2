"""Translate a kernel that was written for Numba into WGSL, for a launch of known sizes.

The translator gives each expression Numba's type, by the rules of `numbas_types`, and each integer the interval that its
values lie in. WGSL has neither int64 nor float64. So an int64 becomes an `i32` where its interval fits, or where only its
lowest 32 bits are used (a sum that goes into an int32 array). Every other value of 64 bits is refused, with its line, and so
is everything else that a shader cannot do in the same way.

Plain accesses stay plain accesses: a kernel that races in CUDA races in WGSL. An array that the kernel passes to
`cuda.atomic` has to be one of atomics in WGSL; its other accesses become single loads and stores, and `Shader.notes` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from book.webgpu import wgsl
from book.webgpu.intervals import Interval
from book.webgpu.statements import Statements
from book.webgpu.terms import (
    DTYPES,
    WGSL_TYPES,
    Array,
    Memory,
    Range,
    Scalar,
    Shader,
    Value,
    interval,
)


def translate(
    kernel: Any,
    arguments: Mapping[str, Array | Scalar],
    *,
    grid: Range | tuple[Range, ...],
    block: int | tuple[int, ...],
) -> Shader:
    """Return a kernel as a WGSL shader.

    Parameters
    ----------
    kernel
        A kernel of `numba.cuda` or of the stand-in, or the Python function itself.
    arguments
        The dtype and the sizes of each parameter, by name.
    grid
        Blocks of the launch along x, or along each axis; two numbers in a tuple of their own are the smallest and the largest.
    block
        Threads of a block along x, or along each axis.

    Raises
    ------
    Untranslatable
        If WGSL cannot do the same.
    """
    function = getattr(kernel, "py_func", kernel)
    grids = grid if isinstance(grid, tuple) else (grid,)
    blocks = block if isinstance(block, tuple) else (block,)
    module = _Module(function, dict(arguments), [interval(each) for each in grids], list(blocks))
    return module.shader()


class _Module:
    """One shader: the arrays, helper functions and device functions that its kernel uses."""

    def __init__(
        self, function: Callable, arguments: dict[str, Array | Scalar], grid: list[Interval], block: list[int]
    ) -> None:
        self.function, self.arguments = function, arguments
        self.grid = [*grid, *[Interval(1, 1)] * (3 - len(grid))]
        self.block = [*block, *[1] * (3 - len(block))]
        self.memories: dict[str, Memory] = {}
        self.scalars: dict[str, Scalar] = {}
        for name, argument in arguments.items():
            if isinstance(argument, Array):
                self.memories[name] = self.global_array(name, argument)
            else:
                self.scalars[name] = argument

    def global_array(self, name: str, argument: Array) -> Memory:
        fields = (
            [name + "_size"]
            if len(argument.shape) == 1
            else [f"{name}_shape_{axis}" for axis in range(len(argument.shape))]
        )
        dimensions = [
            (f"given.{one}", interval(length)) for one, length in zip(fields, argument.shape, strict=True)
        ]
        return Memory(wgsl.named(name), DTYPES.get(argument.dtype, ""), dimensions, "storage")

    def begin(self) -> None:
        self.helpers: dict[str, str] = {}
        self.functions: dict[tuple, tuple[str, Value]] = {}
        self.texts: list[str] = []
        self.used: set[str] = set()
        self.notes: list[str] = []
        self.shared: list[Memory] = []

    def shader(self) -> Shader:
        """Translate the kernel, again as long as it shows that more arrays are stored to or atomic."""
        shared: dict[tuple[str, int, int], Memory] = {}
        while True:
            before = self.flags(shared)
            self.begin()
            self.by_line = shared
            kernel = Statements(self, self.function, None)
            lines = kernel.kernel_lines()
            if self.flags(shared) == before:
                return self.assemble(kernel, lines)

    def flags(self, shared: dict[tuple[str, int, int], Memory]) -> list[tuple[bool, bool, bool]]:
        return [
            (each.stored, each.loaded, each.atomic) for each in (*self.memories.values(), *shared.values())
        ]

    def assemble(self, kernel: Statements, lines: list[str]) -> Shader:
        for each in (*self.memories.values(), *self.shared):
            if each.atomic and (each.loaded or each.stored):
                self.note(
                    f"{each.name} is used with cuda.atomic, so WGSL makes it an array of atomics: its other loads and "
                    "stores are single atomic loads and stores, too. A sum of such a load and such a store is not atomic."
                )
        parts: list[str] = []
        given: list[tuple[str, str, str]] = []
        arrays = list(self.memories.items())
        for name, memory in arrays:
            for axis, (text, _) in enumerate(memory.dimensions):
                if text in self.used:
                    given.append((f"{name}.shape[{axis}]", "i32", text.removeprefix("given.")))
        for name, scalar in self.scalars.items():
            if name in self.used:
                given.append((name, WGSL_TYPES[DTYPES[scalar.dtype]], wgsl.named(name)))
        if given:
            fields = "".join(f"  {field}: {kind},\n" for _, kind, field in given)
            parts.append(f"struct Given {{\n{fields}}}")
        bindings = []
        for number, (_, memory) in enumerate(arrays):
            access = "read_write" if memory.stored or memory.atomic else "read"
            bindings.append(
                f"@group(0) @binding({number}) var<storage, {access}> {memory.name}: {memory.declared};"
            )
        if given:
            bindings.append(f"@group(0) @binding({len(arrays)}) var<uniform> given: Given;")
        parts.append("\n".join(bindings))
        if self.shared:
            parts.append("\n".join(f"var<workgroup> {each.name}: {each.declared};" for each in self.shared))
        parts += self.helpers.values()
        parts += self.texts
        builtins = {"block": "workgroup_id", "thread": "local_invocation_id", "grid": "num_workgroups"}
        taken = [
            f"  @builtin({builtin}) {name}: vec3<u32>,\n"
            for name, builtin in builtins.items()
            if name in self.used
        ]
        x, y, z = self.block
        size = f"{x}, {y}, {z}" if z > 1 else f"{x}, {y}" if y > 1 else f"{x}"
        head = (
            f"@compute @workgroup_size({size})\nfn main(" + ("\n" + "".join(taken) if taken else "") + ") {"
        )
        parts.append("\n".join([head, *lines, "}"]))
        return Shader(
            kernel.name,
            "\n\n".join(parts) + "\n",
            tuple((name, memory.stored or memory.atomic) for name, memory in arrays),
            tuple((name, kind) for name, kind, _ in given),
            (x, y, z),
            tuple(dict.fromkeys(self.notes)),
        )

    def helper(self, name: str) -> str:
        if name == "floor_mod":
            self.helper("floor_div")
        self.helpers.setdefault(name, wgsl.HELPERS[name])
        return name

    def atomic_float(self, memory: Memory, operation: str) -> str:
        """Return the name of the function that adds to (or takes the maximum with) an element of a float32 array."""
        name = f"{operation}_to_{memory.name}"
        count = 1 if memory.space == "storage" else len(memory.dimensions)
        indices = ["i", "j", "k", "l"][:count]
        self.helpers.setdefault(
            name,
            wgsl.ATOMIC_FLOAT.format(
                name=name,
                parameters="".join(f"{index}: i32, " for index in indices),
                place=memory.name + "".join(f"[{index}]" for index in indices),
                operation=wgsl.FLOAT_OPERATION[operation],
            ),
        )
        self.note("WGSL has no atomics for float32, so a loop of compare-and-exchange adds to the array.")
        return name

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)
