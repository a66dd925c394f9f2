"""Find the lines of a kernel that a finding names: its loops, its stores, and where a thread stands."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from typing import Any

from host_to_device.standins.numba_cuda.rewriting import PREFIX, WARP_SYNCS, Program, syncs

Place = tuple[str, int]  # file and line


def has_atomics(tree: ast.AST) -> bool:
    """Return whether rewritten code calls an atomic."""
    return any(
        isinstance(node, ast.Name) and node.id.startswith(f"{PREFIX}atomic_") for node in ast.walk(tree)
    )


def is_for_warps(tree: ast.AST) -> bool:
    """Return whether rewritten code calls an operation of a warp, or asks for a thread's lane."""
    lane = f"{PREFIX}laneid"
    asks = any(isinstance(node, ast.Name) and node.id == lane for node in ast.walk(tree))
    return asks or any(ast.literal_eval(each.args[0]) in WARP_SYNCS for each in syncs(tree))


class Source:
    """The source of a kernel and of the device functions that it calls."""

    def __init__(self, program: Program) -> None:
        self.kernel = program.kernel
        self.functions = (program.kernel, *program.functions.values())
        self.files = {each.filename for each in self.functions}
        # Whether it calls what is for warps, or asks for a thread's lane.
        self.is_for_warps = any(is_for_warps(each.tree) for each in self.functions)
        self.has_atomics = any(has_atomics(each.tree) for each in self.functions)

    def _whiles(self) -> Iterator[tuple[str, ast.While]]:
        for each in self.functions:
            for node in ast.walk(each.tree):
                if isinstance(node, ast.While):
                    yield each.filename, node

    def loop_of(self, place: Place) -> int | None:
        """Return the line of the innermost while loop around a place; no other loop can run without end."""
        file, line = place
        found = [
            node.lineno
            for its_file, node in self._whiles()
            if its_file == file and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(found, default=None)

    def first_while(self) -> Place | None:
        """Return the place of the first while loop."""
        return next(((file, node.lineno) for file, node in self._whiles()), None)

    def stores_in(self, array: str) -> tuple[int, ...]:
        """Return the kernel's lines that store in an array; if none does, those with atomics, or its first line."""
        stores, atomics = [], []
        for node in ast.walk(self.kernel.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _owner(node) == array:
                stores.append(node.lineno)
            elif isinstance(node, ast.Call) and has_atomics(node.func):
                atomics.append(node.lineno)
                if node.args and _owner(node.args[0]) == array:
                    stores.append(node.lineno)
        return tuple(sorted({*(stores or atomics or [self.kernel.tree.lineno])}))

    def frames_of(self, problem: BaseException) -> list[Place]:
        """Return the places in this source that an exception came through, the kernel's first."""
        return self._own(
            (each.filename, each.lineno or 0) for each in traceback.extract_tb(problem.__traceback__)
        )

    def waiting_at(self, generator: Any) -> list[Place]:
        """Return the places in this source where a waiting thread stands, the kernel's first."""
        frames = []
        while getattr(generator, "gi_frame", None) is not None:
            frames.append((generator.gi_frame.f_code.co_filename, generator.gi_frame.f_lineno))
            generator = generator.gi_yieldfrom
        return self._own(frames)

    def _own(self, places: Any) -> list[Place]:
        return [each for each in places if each[0] in self.files]


def _owner(node: ast.AST) -> str:
    """Return the name of the array that an expression takes a part of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
