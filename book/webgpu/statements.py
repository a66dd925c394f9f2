"""Statements of a kernel in WGSL: assignments, branches, loops and barriers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from book.webgpu import wgsl
from book.webgpu.environments import Environment, grows, join, joined, widened, with_bounds
from book.webgpu.expressions import COMPOUND
from book.webgpu.intervals import EVERY, INT32, MOST, Interval
from book.webgpu.kernel_calls import Calls
from book.webgpu.terms import (
    ATOM,
    COMPARE,
    DTYPES,
    ROUNDS,
    UNARY,
    WGSL_TYPES,
    WORDS,
    Array,
    Memory,
    Untranslatable,
    Value,
    Variable,
    interval,
)


class Statements(Calls):
    """Translates one function: the kernel, or a device function for the types of one call."""

    # --- The function -----------------------------------------------------------------------------------------

    def kernel_lines(self) -> list[str]:
        missing = [name for name in self.parameters if name not in self.module.arguments]
        if missing:
            raise ValueError(f"{self.name}: say the dtype and the sizes of {', '.join(missing)}")
        environment: Environment = {}
        for name in self.parameters:
            argument = self.module.arguments[name]
            if argument.dtype not in DTYPES:
                raise self.refuse(
                    self.tree, f"{name} is {argument.dtype}: WGSL has float32 and int32. Convert it first"
                )
            if isinstance(argument, Array):
                environment[name] = self.module.memories[name]
            else:
                environment[name] = Variable(DTYPES[argument.dtype], interval(argument.values))
        self.block(self.tree.body, environment)
        return [*self.declarations(), *self.lines]

    def device_function(self, name: str) -> tuple[str, Value]:
        """Return the text of a device function, and its result without a text."""
        environment: Environment = dict(zip(self.parameters, self.given or [], strict=True))
        first = self.block(self.tree.body, dict(environment))
        kinds = {value.kind for value in self.returned}
        if first is not None or not kinds:
            raise self.refuse(self.tree, "every path through a device function has to return a value")
        if len({WGSL_TYPES.get(kind, kind) for kind in kinds}) > 1:
            words = " and ".join(sorted(WORDS[kind] for kind in kinds))
            raise self.refuse(self.tree, f"it returns {words}: give both results one type")
        range_ = self.returned[0].range
        for value in self.returned:
            range_ = range_.join(value.range)
        self.result = "i8" if "i8" in kinds else self.returned[0].kind
        if self.result == "f8":
            raise self.refuse(self.tree, "it returns a float64, which WGSL does not have")
        self.lines, self.returned = [], []
        self.block(self.tree.body, environment)
        parameters = []
        for parameter in self.parameters:
            value = environment[parameter]
            if isinstance(value, Variable):
                parameters.append(f"{wgsl.named(parameter)}_in: {WGSL_TYPES[value.kind]}")
                self.lines.insert(0, f"  var {wgsl.named(parameter)} = {wgsl.named(parameter)}_in;")
        head = f"fn {name}({', '.join(parameters)}) -> {WGSL_TYPES[self.result]} {{"
        return "\n".join([head, *self.declarations(), *self.lines, "}"]), Value(
            "", self.result, range_, False
        )

    def declarations(self) -> list[str]:
        found = []
        for name, (kind, _) in self.types.items():
            if self.scopes.where(name) == "top" and name not in self.parameters:
                found.append(f"  var {wgsl.named(name)}: {kind};")
        return found

    # --- Statements -------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], environment: Environment | None) -> Environment | None:
        for statement in body:
            if environment is None:
                break  # behind a return, a break or a continue
            handler = getattr(self, f"on_{type(statement).__name__}", None)
            if handler is None:
                words = type(statement).__name__.lower()
                raise self.refuse(statement, f"the translator does not know the statement {words}")
            environment = handler(statement, environment)
        return environment

    def on_Pass(self, node: ast.Pass, environment: Environment) -> Environment:
        return environment

    def on_Expr(self, node: ast.Expr, environment: Environment) -> Environment:
        if isinstance(node.value, ast.Constant):
            return environment  # a docstring
        if not isinstance(node.value, ast.Call):
            raise self.refuse(node, "the line has no effect")
        called = self.dotted(node.value.func)
        if called == "cuda.syncthreads":
            return self.barrier(node, environment)
        if called.startswith("cuda.atomic."):
            self.emit(f"{self.atomic(node.value, environment, called)[0]};")
            return environment
        raise self.refuse(node, f"the translator does not know {ast.unparse(node.value.func)}()")

    def barrier(self, node: ast.AST, environment: Environment) -> Environment:
        if not self.is_kernel:
            raise self.refuse(
                node, "a barrier in a device function cannot be translated: write it in the kernel"
            )
        if parted := self.apart_now():
            line, condition = parted
            raise self.refuse(
                node,
                f"not every thread of a block surely reaches this barrier, because of `{condition}` in line {line}. "
                "A browser refuses such a shader: move the barrier out of the branch",
            )
        self.emit("workgroupBarrier();")
        if any(each.stored and each.loaded for each in self.module.memories.values()):
            self.emit("storageBarrier();")
        return environment

    def on_Assign(self, node: ast.Assign, environment: Environment) -> Environment:
        if len(node.targets) > 1:
            raise self.refuse(node, "write one assignment a line")
        target = node.targets[0]
        if isinstance(node.value, ast.Call):
            called = self.dotted(node.value.func)
            if called in ("cuda.shared.array", "cuda.local.array"):
                return self.make_array(node, target, called, environment)
            if called.startswith("cuda.atomic."):
                text, element = self.atomic(node.value, environment, called)
                range_ = INT32 if element == "i4" else EVERY
                return self.store(node, target, Value(text, element, range_, False), environment)
        if isinstance(target, ast.Tuple):
            return self.several(node, target, environment)
        if isinstance(node.value, ast.IfExp):
            return self.chosen(node, target, node.value, environment)
        return self.store(node, target, self.value(node.value, environment), environment)

    def chosen(
        self, node: ast.Assign, target: ast.expr, value: ast.IfExp, environment: Environment
    ) -> Environment:
        """Translate `target = a if condition else b` as an if, so that only one of the two is read."""
        name = target.id if isinstance(target, ast.Name) else ""
        keyword = self.scopes.declares(name, node) if name else ""
        if not keyword:
            return self.branches(
                value.test,
                [ast.copy_location(ast.Assign([target], value.body), node)],
                [ast.copy_location(ast.Assign([target], value.orelse), node)],
                environment,
                node,
            )
        return self.store(node, target, self.value(value, environment), environment)

    def several(self, node: ast.Assign, target: ast.Tuple, environment: Environment) -> Environment:
        values = self.parts(node.value, environment)
        if len(values) != len(target.elts):
            raise self.refuse(node, f"{len(values)} values for {len(target.elts)} names")
        names = [each.id for each in target.elts if isinstance(each, ast.Name)]
        later = {
            each.id
            for each in ast.walk(node.value)
            if isinstance(each, ast.Name) and isinstance(environment.get(each.id), Variable)
        }
        if set(names) & later or any(isinstance(each, ast.Subscript) for each in target.elts):
            # A value may need what an earlier target overwrites.
            kept = []
            for value in values:
                if value.constant is not None:
                    kept.append(value)
                    continue
                held = f"held_{next(self.temporary)}"
                self.emit(f"let {held} = {value.text};")
                kept.append(replace(value, text=held, level=ATOM))
            values = kept
        for each, value in zip(target.elts, values, strict=True):
            environment = self.store(node, each, value, environment)
        return environment

    def parts(self, node: ast.expr, environment: Environment) -> list[Value]:
        """Return the values of a tuple: one that is written out, a shape, or what cuda.grid(2) returns."""
        if isinstance(node, ast.Tuple):
            return [self.value(each, environment) for each in node.elts]
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            memory = self.memory(node.value, environment)
            return [self.length(memory, axis) for axis in range(len(memory.dimensions))]
        if isinstance(node, ast.Call) and self.dotted(node.func) in ("cuda.grid", "cuda.gridsize"):
            return [
                self.position(node, self.dotted(node.func), axis) for axis in range(self.dimensions_of(node))
            ]
        raise self.refuse(node, "the translator cannot take this apart into several values")

    def store(self, node: ast.stmt, target: ast.expr, value: Value, environment: Environment) -> Environment:
        if isinstance(target, ast.Subscript):
            memory = self.memory(target.value, environment)
            place = self.place(target, memory, environment)
            memory.stored = True
            text = self.converted(node, value, memory.element)
            if memory.atomic:
                bits = text if memory.element == "i4" else f"bitcast<u32>({text})"
                self.emit(f"atomicStore(&{place}, {bits});")
            else:
                self.emit(f"{place} = {text};")
            return environment
        if not isinstance(target, ast.Name):
            raise self.refuse(node, "the translator cannot store there")
        name = target.id
        if self.is_kernel and name in self.module.scalars:
            raise self.refuse(node, f"{name} is an argument: give the new value another name")
        if isinstance(environment.get(name), Memory):
            raise self.refuse(node, f"{name} is an array: give the new value another name")
        kind, fit = value.kind, value.fit
        if kind == "f8" and fit != "exact":
            raise self.float64(node, name)
        wanted = "f32" if kind == "f8" else WGSL_TYPES[kind]
        known, line = self.types.setdefault(name, (wanted, getattr(node, "lineno", 0)))
        if known != wanted:
            raise self.refuse(
                node,
                f"{name} has another type in line {line}: WGSL gives a variable one. Use float32(…) in both",
            )
        text = value.text
        keyword = "" if name in self.parameters else self.scopes.declares(name, node)
        if keyword:
            typed = f": {wanted}" if value.constant is not None else ""
            self.emit(f"{keyword} {wgsl.named(name)}{typed} = {text};")
        else:
            self.emit(f"{wgsl.named(name)} = {text};")
        uniform = value.uniform and self.apart_now() is None
        return {**environment, name: Variable(kind, value.range, uniform, fit)}

    def float64(self, node: ast.AST, name: str) -> Untranslatable:
        return self.refuse(
            node,
            f"{name} is a float64 in Numba, which WGSL does not have. Begin with float32(…), and convert every "
            "constant and integer beside a float32",
        )

    def make_array(
        self, node: ast.Assign, target: ast.expr, called: str, environment: Environment
    ) -> Environment:
        assert isinstance(node.value, ast.Call)
        if not isinstance(target, ast.Name):
            raise self.refuse(node, "give the array a name")
        names = dict(zip(("shape", "dtype"), node.value.args, strict=False))
        names |= {each.arg: each.value for each in node.value.keywords if each.arg}
        shape = self.constant(names.get("shape"), node, "the shape of the array")
        shape = shape if isinstance(shape, tuple) else (shape,)
        if not all(isinstance(each, int) and each > 0 for each in shape):
            raise self.refuse(node, "the shape of the array has to be known when the kernel is compiled")
        element = DTYPES.get(self.dtype_named(names.get("dtype")), "")
        if not element:
            raise self.refuse(node, "the translator knows arrays of float32 and int32")
        space = "workgroup" if called == "cuda.shared.array" else "function"
        sizes = [(str(each), Interval(each, each)) for each in shape]
        memory = self.module.by_line.setdefault(
            (self.name, node.lineno, node.col_offset), Memory(wgsl.named(target.id), element, sizes, space)
        )
        if space == "workgroup":
            self.module.shared = [each for each in self.module.shared if each is not memory] + [memory]
        else:
            self.emit(f"var {memory.name}: {memory.declared};")
        return {**environment, target.id: memory}

    def on_AugAssign(self, node: ast.AugAssign, environment: Environment) -> Environment:
        operand = self.value(node.value, environment)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add | ast.Sub) and operand.whole:
            changed = operand.range if isinstance(node.op, ast.Add) else -operand.range
            self.steps[id(node)] = node.target.id, changed, tuple(self.trips)
        current = self.value(loaded(node.target), environment)
        result = self.arithmetic(node, node.op, current, operand)
        environment = self.store(node, node.target, result, environment)
        symbol = COMPOUND.get(type(node.op), "")
        if (
            (symbol == "/" and result.whole)
            or current.whole != result.whole
            or "atomicStore" in self.lines[-1]
        ):
            symbol = ""
        right = operand if result.whole else self.thin(operand)
        if symbol and right is not None:  # one line of Numba, one line of WGSL; it finds the place once
            place = self.lines[-1].split(" = ", 1)[0]
            self.lines[-1] = f"{place} {symbol}= {right.text};"
        return environment

    def on_If(self, node: ast.If, environment: Environment) -> Environment | None:
        return self.branches(node.test, node.body, node.orelse, environment, node)

    def branches(
        self,
        test: ast.expr,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        environment: Environment,
        node: ast.stmt,
    ) -> Environment | None:
        condition = self.truth(test, environment)
        if condition.constant is not None:  # known when the kernel is compiled
            return self.block(body if condition.constant else orelse, environment)
        parts = not condition.uniform
        here = (node.lineno, ast.unparse(test))
        if parts:
            self.apart.append(here)
        self.emit(f"if ({condition.text}) {{")
        self.depth += 1
        after = self.block(body, self.refined(test, environment, True))
        self.depth -= 1
        other: Environment | None = self.refined(test, environment, False)
        if orelse:
            self.emit("} else {")
            self.depth += 1
            other = self.block(orelse, other)
            self.depth -= 1
        self.emit("}")
        if parts:
            self.apart.pop()
            ways = ways_out([*body, *orelse])
            if "return" in ways:
                self.left = self.left or here
            if ways & {"break", "continue"}:
                self.escaped = self.escaped or here
        return join(after, other)

    def on_Return(self, node: ast.Return, environment: Environment) -> None:
        if self.is_kernel:
            if node.value is not None and not (
                isinstance(node.value, ast.Constant) and node.value.value is None
            ):
                raise self.refuse(node, "a kernel returns nothing")
            self.emit("return;")
            return
        if node.value is None:
            raise self.refuse(node, "a device function has to return a value")
        value = self.value(node.value, environment)
        if value.kind == "f8" and value.fit == "exact":
            value = replace(value, kind="f4")
        self.returned.append(value)
        self.emit(f"return {value.text};")

    def on_Break(self, node: ast.Break, environment: Environment) -> None:
        self.breaks.append(environment)
        self.emit("break;")

    def on_Continue(self, node: ast.Continue, environment: Environment) -> None:
        self.continues.append(environment)
        self.emit("continue;")

    def on_While(self, node: ast.While, environment: Environment) -> Environment | None:
        if node.orelse:
            raise self.refuse(node, "else after a loop cannot be translated")

        def head(state: Environment) -> tuple[list[str], bool]:
            lines, self.lines = self.lines, []
            condition = self.truth(node.test, state)
            before, self.lines = self.lines, lines
            if not before:
                return [f"while ({condition.text}) {{"], condition.uniform
            inner = "  " * (self.depth + 1)
            moved = [inner + line.strip() for line in before]
            return [
                "loop {",
                *moved,
                f"{inner}if (!{condition.inside(UNARY)}) {{ break; }}",
            ], condition.uniform

        return self.loop(
            node, environment, head, lambda state, inside: self.refined(node.test, state, inside), None
        )

    def on_For(self, node: ast.For, environment: Environment) -> Environment | None:
        if node.orelse:
            raise self.refuse(node, "else after a loop cannot be translated")
        if isinstance(node.iter, ast.Tuple | ast.List):
            return self.unrolled(node, environment)
        if not (isinstance(node.iter, ast.Call) and self.dotted(node.iter.func) == "range"):
            raise self.refuse(node, "the translator knows loops over range(…) and over a tuple of constants")
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node, "a loop counts with one name")
        bounds = [self.index_value(each, environment) for each in node.iter.args]
        start, stop, step = {
            1: lambda a: (Value("0", "i8", Interval(0, 0), constant=0), a, None),
            2: lambda a, b: (a, b, None),
            3: lambda a, b, c: (a, b, c),
        }[len(bounds)](*bounds)
        step = step or Value("1", "i8", Interval(1, 1), constant=1)
        if step.range.low <= 0 <= step.range.high:
            self.prove(node, "the step of the range has to be surely positive or surely negative")
        up = step.range.low > 0
        furthest = stop.range.high - 1 + step.range.high if up else stop.range.low + 1 + step.range.low
        if not Interval(furthest, furthest).fits:
            self.prove(node, "the counter of the loop may leave 32 bits: make the range or its step smaller")
        name = node.target.id
        stores = [each for each in self.scopes.seen[name] if each.store and id(node.body) in each.path]
        plain = self.scopes.where(name) == "loop" and len(stores) == 1
        counter = wgsl.named(name) if plain else f"{wgsl.named(name)}_{next(self.temporary)}"
        changed = self.scopes.stored_in(node.body) - {name}
        stop_text = stop.inside(COMPARE + 1)
        if {each.id for each in ast.walk(node.iter) if isinstance(each, ast.Name)} & (changed | {name}):
            self.emit(f"let end_{counter} = {stop.text};")
            stop_text = f"end_{counter}"
            if step.constant is None:
                self.emit(f"let step_{counter} = {step.text};")
                step = replace(step, text=f"step_{counter}")
        if up:
            range_ = Interval(start.range.low, max(stop.range.high - 1, start.range.low))
            trips = max(0, -(-(stop.range.high - start.range.low) // max(step.range.low, 1)))
        else:
            range_ = Interval(min(stop.range.low + 1, start.range.high), start.range.high)
            trips = max(0, -(-(start.range.high - stop.range.low) // max(-step.range.high, 1)))
        more = f"{counter}++" if step.constant == 1 else f"{counter} += {step.text}"
        opening = f"for (var {counter} = {start.text}; {counter} {'<' if up else '>'} {stop_text}; {more}) {{"
        uniform = start.uniform and stop.uniform and step.uniform
        if start.constant is not None:
            opening = opening.replace(f"var {counter} = ", f"var {counter}: i32 = ", 1)
        self.types.setdefault(name, ("i32", node.lineno))
        lines = [opening] if plain else [opening, f"{'  ' * (self.depth + 1)}{wgsl.named(name)} = {counter};"]

        def head(state: Environment) -> tuple[list[str], bool]:
            return lines, uniform

        def refined(state: Environment, inside: bool) -> Environment:
            if not inside:
                return state
            return {**state, name: Variable("i8", range_, uniform)}

        if self.types[name][0] != "i32":
            raise self.refuse(node, f"{name} has another type in line {self.types[name][1]}")
        after = self.loop(node, environment, head, refined, trips)
        if after is not None and not plain:
            after[name] = Variable(
                "i8", range_.join(environment[name].range) if name in environment else range_, False
            )
        return after

    def unrolled(self, node: ast.For, environment: Environment) -> Environment | None:
        """Translate a loop over constants, once for each."""
        assert isinstance(node.iter, ast.Tuple | ast.List)
        if ways_out(node.body) & {"break", "continue"}:
            raise self.refuse(node, "break and continue in a loop over a tuple cannot be translated")
        after: Environment | None = environment
        for each in node.iter.elts:
            if after is None:
                break
            self.emit("{")
            self.depth += 1
            after = self.counted(node, each, after)
            after = self.block(node.body, after)
            self.depth -= 1
            self.emit("}")
        return after

    def counted(self, node: ast.For, constant: ast.expr, environment: Environment) -> Environment:
        """Give the counter of a loop over constants its next value."""
        value = self.value(constant, environment)
        if value.constant is None or not isinstance(node.target, ast.Name):
            raise self.refuse(node, "the translator knows loops over range(…) and over a tuple of constants")
        if self.scopes.where(node.target.id) == "loop":
            kind = "f32" if value.kind in ("f4", "f8") else WGSL_TYPES[value.kind]
            self.emit(f"let {wgsl.named(node.target.id)}: {kind} = {value.text};")
            return {**environment, node.target.id: Variable(value.kind, value.range, True, value.fit)}
        return self.store(node, node.target, value, environment)

    def loop(
        self,
        node: ast.For | ast.While,
        entry: Environment,
        head: Callable[[Environment], tuple[list[str], bool]],
        refined: Callable[[Environment, bool], Environment],
        trips: int | None,
    ) -> Environment | None:
        """Translate a loop: find what holds at its head in every round, then write its body."""
        outer = self.breaks, self.continues, self.escaped, self.lines
        self.trips.append(trips)
        state, parted = dict(entry), False
        bounded = self.bounded(node, entry, refined, trips)
        state.update({name: replace(entry[name], range=range_) for name, range_ in bounded.items()})
        settled = 0
        self.trials += 1
        for attempt in range(40):
            self.lines, self.breaks, self.continues, self.escaped = [], [], [], None
            opening, uniform = head(state)
            after, parted = self.body(node, state, refined, uniform and not parted)
            new = with_bounds(join(entry, joined([after, *self.continues])) or {}, bounded)
            growing = [name for name, one in new.items() if grows(state.get(name), one)]
            if not growing:
                settled += 1
                if settled > 2 or new == state:
                    break
            elif attempt >= ROUNDS:
                for name in growing:
                    new[name] = widened(state.get(name), new[name])
            state = new
        self.trials -= 1
        self.lines = outer[3]
        self.breaks, self.continues, self.escaped = [], [], None
        opening, uniform = head(state)
        self.emit(opening[0])
        self.lines += opening[1:]
        self.body(node, state, refined, uniform and not parted)
        self.emit("}")
        left = joined([refined(state, False), *self.breaks])
        self.trips.pop()
        self.breaks, self.continues, self.escaped = outer[0], outer[1], outer[2]
        if left is None:
            return None
        # What a round may have declared is not there behind the loop.
        return {name: value for name, value in with_bounds(left, bounded).items() if name in entry}

    def body(
        self,
        node: ast.For | ast.While,
        state: Environment,
        refined: Callable[[Environment, bool], Environment],
        uniform: bool,
    ) -> tuple[Environment | None, bool]:
        """Translate a loop's body once; say whether it parts the threads of a block for the rounds that follow."""
        text = node.test if isinstance(node, ast.While) else node.iter
        here = (node.lineno, ast.unparse(text))
        if not uniform:
            self.apart.append(here)
        self.depth += 1
        after = self.block(node.body, refined(state, True))
        self.depth -= 1
        if not uniform:
            self.apart.pop()
            if "return" in ways_out(node.body):
                self.left = self.left or here
        return after, not uniform or self.escaped is not None

    def bounded(
        self,
        node: ast.For | ast.While,
        entry: Environment,
        refined: Callable[[Environment, bool], Environment],
        trips: int | None,
    ) -> dict[str, Interval]:
        """Return the intervals of integers to which a loop only adds, from the number of its rounds."""
        if trips is None:
            return {}
        additions: dict[str, list[ast.AugAssign]] = {}
        others: set[str] = set()
        for each in ast.walk(ast.Module(node.body, [])):
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                additions.setdefault(each.target.id, []).append(each)
                if not isinstance(each.op, ast.Add | ast.Sub):
                    others.add(each.target.id)
            elif isinstance(each, ast.Assign | ast.For):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                others |= {
                    one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
                }
        names = [
            name
            for name in additions
            if name not in others
            and isinstance(entry.get(name), Variable)
            and entry[name].kind in ("i4", "i8")
        ]
        if not names:
            return {}
        depth, kept = len(self.trips) - 1, (self.lines, self.breaks, self.continues, self.escaped, self.left)
        self.lines = []
        stored = self.scopes.stored_in(node.body)
        wide = {
            name: replace(value, range=EVERY, uniform=False)
            if name in stored and isinstance(value, Variable)
            else value
            for name, value in entry.items()
        }
        self.trials += 1
        self.body(node, wide, refined, False)
        self.trials -= 1
        self.lines, self.breaks, self.continues, self.escaped, self.left = kept
        found = {}
        for name in names:
            low = high = 0
            for each in additions[name]:
                _, changed, around = self.steps.get(id(each), ("", EVERY, (None,)))
                times = math.prod(-1 if count is None else count for count in around[depth:])
                if times < 0:
                    low, high = -MOST, MOST
                    break
                low, high = low + min(0, changed.low * times), high + max(0, changed.high * times)
            before = entry[name].range
            found[name] = before + Interval(max(low, -MOST), min(high, MOST))
        return {name: range_ for name, range_ in found.items() if range_.fits}


def loaded(target: ast.expr) -> ast.expr:
    """Return the target of `+=` as an expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    assert isinstance(target, ast.Subscript)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def ways_out(body: Iterable[ast.stmt]) -> set[str]:
    """Return how statements may leave their block: by "return", "break" or "continue"."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.Return):
            found.add("return")
        elif isinstance(statement, ast.Break | ast.Continue):
            found.add(type(statement).__name__.lower())
        elif isinstance(statement, ast.If):
            found |= ways_out([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.For | ast.While):
            found |= ways_out(statement.body) & {"return"}
    return found
