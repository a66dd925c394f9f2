"""Calls in a kernel: of functions of math and NumPy, of atomics and of device functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from book.webgpu import wgsl
from book.webgpu.environments import Environment
from book.webgpu.expressions import Expressions
from book.webgpu.intervals import INT32, Interval
from book.webgpu.terms import (
    ATOM,
    Memory,
    Value,
    Variable,
)


class Calls(Expressions):
    """The calls of one function."""

    def dotted(self, node: ast.expr) -> str:
        """Return a name with its dots; what numba.cuda has begins with "cuda."."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        root = node.id
        known = getattr(self.outer.get(root), "__name__", "")
        if known.rpartition(".")[2] in ("cuda", "numba_cuda"):
            root = "cuda"
        elif known in ("math", "numpy", "numba"):
            root = known
        return ".".join([root, *reversed(parts)])

    def outer_value(self, node: ast.expr) -> Any:
        """Return what a name outside of the kernel stands for; None if that is not known."""
        if isinstance(node, ast.Name):
            return self.outer.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.outer_value(node.value)
            return getattr(owner, node.attr, None) if owner is not None else None
        return None

    def dtype_named(self, node: ast.expr | None) -> str:
        if node is None:
            return ""
        value = self.outer_value(node)
        name = getattr(value, "name", None) or getattr(value, "__name__", None)
        return str(name or (ast.unparse(node).rpartition(".")[2] if value is None else ""))

    def constant(self, node: ast.expr | None, where: ast.AST, what: str) -> Any:
        """Return a value that is known when the kernel is compiled."""
        if isinstance(node, ast.Tuple):
            return tuple(self.constant(each, where, what) for each in node.elts)
        value = self.value(node, {}) if node is not None else None
        if value is None or value.constant is None:
            raise self.refuse(where, f"{what} has to be known when the kernel is compiled")
        return value.constant

    def of_Call(self, node: ast.Call, environment: Environment) -> Value:
        called = self.dotted(node.func)
        if called in ("cuda.grid", "cuda.gridsize"):
            if self.dimensions_of(node) > 1:
                raise self.refuse(node, "take its parts apart: column, row = cuda.grid(2)")
            return self.position(node, called, 0)
        if called.startswith("cuda."):
            words = {
                "cuda.syncthreads": "a barrier stands on a line of its own",
                "cuda.shared.array": "give the array a name",
            }.get(called, f"WGSL has nothing that {called} could become, or the translator does not know it")
            if called.startswith("cuda.atomic."):
                words = "give the result of an atomic a name on a line of its own"
            raise self.refuse(node, words)
        if node.keywords:
            raise self.refuse(node, "write the arguments without their names")
        function = self.outer_value(node.func)
        name = called.rpartition(".")[2]
        if hasattr(function, "py_func") and not called.startswith(("math.", "numpy.")):
            return self.device_call(node, function.py_func, environment)
        if self.dtype_named(node.func) in ("float32", "int32") and len(node.args) == 1:
            return self.cast(node, self.dtype_named(node.func), self.value(node.args[0], environment))
        if called in ("min", "max") and len(node.args) >= 2:
            return self.extreme(node, called, environment)
        if called in ("abs", "math.fabs") and len(node.args) == 1:
            return self.size(node, self.value(node.args[0], environment))
        if called == "len" and len(node.args) == 1:
            return self.length(self.memory(node.args[0], environment), 0)
        if called in ("int", "float", "bool", "round", "pow", "divmod"):
            wider = {"float": "a float64", "int": "an int64"}.get(called, "something that WGSL does not have")
            raise self.refuse(node, f"{called}() makes {wider}. Use float32(…) or int32(…)")
        if called.startswith(("math.", "numpy.")) and name in wgsl.FLOAT_FUNCTIONS and len(node.args) == 1:
            return self.function(node, wgsl.FLOAT_FUNCTIONS[name], [self.value(node.args[0], environment)])
        if called.startswith(("math.", "numpy.")) and name in wgsl.OF_TWO and len(node.args) == 2:
            return self.function(
                node, wgsl.OF_TWO[name], [self.value(each, environment) for each in node.args]
            )
        raise self.refuse(node, f"the translator does not know {ast.unparse(node.func)}()")

    def function(self, node: ast.Call, name: str, values: list[Value]) -> Value:
        if any(value.kind != "f4" for value in values):
            raise self.refuse(
                node,
                f"{ast.unparse(node.func)} of anything but a float32 is a float64 in Numba. Convert with float32(…)",
            )
        if all(value.constant is not None for value in values):
            raise self.refuse(node, "compute this constant outside of the kernel")
        text = f"{name}({', '.join(value.text for value in values)})"
        return Value(text, "f4", uniform=all(value.uniform for value in values))

    def cast(self, node: ast.Call, dtype: str, value: Value) -> Value:
        if value.constant is not None:
            kind = np.float32 if dtype == "float32" else np.int32
            return self.of_python(node, kind(value.constant))
        if dtype == "float32":
            if value.kind == "f4":
                return value
            text = self.converted(node, value, "f4")
            level = value.level if value.kind == "f8" else ATOM
            return Value(text, "f4", uniform=value.uniform, level=level)
        if value.kind == "b1" or value.kind == "f4":
            return Value(
                f"i32({value.text})", "i4", Interval(0, 1) if value.kind == "b1" else INT32, value.uniform
            )
        if value.kind == "f8":
            raise self.float64(node, "the value")
        return replace(value, kind="i4", range=value.range if value.range.fits else INT32)

    def extreme(self, node: ast.Call, name: str, environment: Environment) -> Value:
        values = [self.value(each, environment) for each in node.args]
        found = values[0]
        for value in values[1:]:
            uniform = found.uniform and value.uniform
            if found.whole and value.whole:
                found, value = self.fitting(node, found), self.fitting(node, value)
                range_ = found.range.least(value.range) if name == "min" else found.range.most(value.range)
                if found.constant is not None and value.constant is not None:
                    found = self.of_python(node, range_.low)
                    continue
                found = Value(f"{name}({found.text}, {value.text})", "i8", range_, uniform)
                continue
            one, other = (
                (None, None) if "b1" in (found.kind, value.kind) else (self.thin(found), self.thin(value))
            )
            if one is None or other is None:
                raise self.refuse(
                    node,
                    f"this {name} is a float64 in Numba, which WGSL does not have. Convert with float32(…)",
                )
            kind = "f4" if found.kind == value.kind == "f4" else "f8"
            fit = "" if kind == "f4" else "exact"
            found = Value(f"{name}({one.text}, {other.text})", kind, uniform=uniform, fit=fit)
        return found

    def size(self, node: ast.Call, value: Value) -> Value:
        if value.kind == "b1" or value.kind == "f8":
            raise self.refuse(node, "abs() of a float32 or of an integer can be translated")
        if value.whole:
            value = self.fitting(node, value)
        return Value(f"abs({value.text})", value.kind, value.range.size(), value.uniform)

    def atomic(self, node: ast.Call, environment: Environment, called: str) -> tuple[str, str]:
        """Return an atomic operation as a call in WGSL, and the dtype of its result."""
        operation = called.rpartition(".")[2]
        if operation not in ("add", "max", "min") or len(node.args) != 3 or node.keywords:
            raise self.refuse(
                node, "the translator knows cuda.atomic.add, max and min of array, index and value"
            )
        array, index, operand = node.args
        memory = self.memory(array, environment)
        if memory.space == "function":
            raise self.refuse(node, f"{memory.name} belongs to one thread: no other thread can come between")
        memory.atomic = True
        target = ast.copy_location(ast.Subscript(array, index, ast.Store()), node)
        place = self.place(target, memory, environment)
        value = self.value(operand, environment)
        text = self.converted(node, value, memory.element)
        if memory.element == "i4":
            if operation != "add":
                self.fitting(operand, value)
            return f"atomic{operation.capitalize()}(&{place}, {text})", "i4"
        indices = place[len(memory.name) + 1 : -1].replace("][", ", ")
        return f"{self.module.atomic_float(memory, operation)}({indices}, {text})", "f4"

    def device_call(self, node: ast.Call, function: Callable, environment: Environment) -> Value:
        given: list[Any] = []
        texts, key = [], [id(function)]
        uniform = True
        for each in node.args:
            known = environment.get(each.id) if isinstance(each, ast.Name) else None
            if isinstance(known, Memory):
                given.append(known)
                key.append(id(known))
                uniform = False
                continue
            value = self.value(each, environment)
            if value.kind == "f8":
                raise self.refuse(node, f"{ast.unparse(each)} is a float64, which WGSL does not have")
            if value.whole:
                value = self.fitting(each, value)
            given.append(Variable(value.kind, value.range, False))
            key += [value.kind, value.range]
            uniform = uniform and value.uniform
            texts.append(value.text)
        known_function = self.module.functions.get(tuple(key))
        if known_function is None:
            count = len(self.module.functions)
            name = wgsl.named(function.__name__) + (f"_{count}" if count else "")
            if len(self.module.functions) > 64:
                raise self.refuse(node, "the call needs too many versions of the device function")
            body = type(self)(self.module, function, given)
            if len(body.parameters) != len(given):
                raise self.refuse(node, f"{function.__name__} takes {len(body.parameters)} arguments")
            if function in getattr(self.module, "open", []):
                raise self.refuse(node, "WGSL has no recursion")
            self.module.open = [*getattr(self.module, "open", []), function]  # type: ignore[attr-defined]
            text, result = body.device_function(name)
            self.module.open = self.module.open[:-1]  # type: ignore[attr-defined]
            known_function = self.module.functions[tuple(key)] = name, result
            self.module.texts.append(text)
        name, result = known_function
        return replace(result, text=f"{name}({', '.join(texts)})", uniform=uniform)
