"""Turns Numba's messages about generated code into one line about the learner's own code."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from numba.core import errors

from host_to_device.standins.numba_cuda.compiling import Module
from host_to_device.standins.numba_cuda.preparing import SCOPE, VERSION
from host_to_device.standins.numba_cuda.reading import where
from host_to_device.standins.numba_cuda.rewriting import PREFIX


def explain(problem: errors.NumbaError, module: Module) -> errors.NumbaError:
    """Return an error of Numba's as one line that names the learner's line."""
    program, text = module.program, re.sub(r"\x1b\[[0-9;]*m", "", str(problem))
    message = text.split("\nDuring: ")[0].split('\nFile "')[0]
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Failed in ")]
    specific = re.search(r"raised a specific error:\s+\w+: (?:Failed in .*\s+)*(.*)", message)
    reason = (
        specific[1]
        if specific
        else " ".join(itertools.takewhile(lambda line: "candidate" not in line, lines))
    )
    for pattern, plain in PLAIN_WORDS:
        reason = re.sub(pattern, plain, reason)
    return errors.TypingError(f"{program.kernel.name}(){_place(text, module)}: {reason.strip()}")


# Patterns in Numba's messages about generated code, and the words for the learner's code.
PLAIN_WORDS = (
    (r"Function\(<(?:built-in )?function ([\w.]+).*?>\)", r"\1"),
    (r"Literal\[int\]\([^()]*\)", "int64"),
    (r"Literal\[str\]\([^()]*\)", "str"),
    (r"found for signature: >>> ", "found for signature: "),
    (r", defined at .*", ""),
    (r"NRT required but not enabled", r"this makes an array, and a kernel cannot allocate (\g<0>)"),
    (r"'(\w+)\.\d+'", r"'\1'"),
    (
        r"Cannot bind 'args=\(.*' to signature '\((?:_h2d_\w+, )*(.*?)\)' due to \"TypeError: (.*?)\"",
        r"\2 of (\1)",
    ),
    (rf"{PREFIX}(?:[cf]\d+_)?(?:math_)?", ""),
)


def _place(message: str, module: Module) -> str:
    """Return `, file.py, line 12` for the innermost line of generated code that a message names, or nothing."""
    found = [
        (match.start(), text.splitlines(), int(match[1]))
        for name, text in module.texts.items()
        for match in re.finditer(re.escape(name) + r" \((\d+)\)", message)
    ]
    program = module.program
    functions = sorted((*program.functions.values(), program.kernel), key=lambda each: each.waits)
    statements = [
        (_bare(ast.unparse(node).splitlines()[0]), each, node.lineno)
        for each in functions
        for node in _statements(each.tree.body)
    ]
    for _, generated, line in sorted(found):
        # The generated code keeps the order of the learner's statements, which tells equal statements apart.
        quoted = _bare(generated[line - 1])
        number = sum(_bare(each) == quoted for each in generated[:line])
        same = [(function, first) for text, function, first in statements if text == quoted]
        if same:
            function, first = same[min(number, len(same)) - 1]
            return f", {where(function.original, first)}"
    return ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield these statements and those inside them, in the order of the text."""
    for statement in body:
        yield statement
        for part in ("body", "orelse"):
            yield from _statements(getattr(statement, part, []))


def _bare(line: str) -> str:
    """Return a line of code without the changes that cutting a kernel makes."""
    return re.sub(rf"^el(?=if )|{SCOPE}\d+|{VERSION}c?\d+|_{PREFIX}i\d+", "", line.strip())
