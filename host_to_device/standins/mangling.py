"""Turns mangled names of kernels into readable ones.

Source: Itanium C++ ABI, "Mangling". The package itanium-demangler is no replacement: it reads neither Numba's tags nor
`_Float16`.
"""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache

TYPES = {
    **{"v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short"},
    **{"t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long"},
    **{"x": "long long", "y": "unsigned long long", "f": "float", "d": "double"},
    **{"DF16_": "_Float16", "Dh": "half"},
}


def readable(mangled: str) -> str:
    """Return a kernel's name with its namespace and template arguments, without its parameters.

    A name that is not mangled, or that has a part that is not known here, is returned unchanged.
    """
    if not mangled.startswith("_Z"):
        return mangled
    rest, nested = mangled[2:], False
    if rest.startswith("N"):
        rest, nested = rest[1:], True
    parts: list[str] = []
    while match := re.match(r"L?(\d+)", rest):
        length = int(match.group(1))
        name, rest = rest[match.end() : match.end() + length], rest[match.end() + length :]
        while tag := re.match(r"B(\d+)", rest):  # Numba's tag of versions
            rest = rest[tag.end() + int(tag.group(1)) :]
        if rest.startswith("I"):
            arguments, rest = _template(rest[1:])
            if arguments is None:
                return mangled
            name += f"<{', '.join(arguments)}>"
        parts.append("(anonymous)" if name.startswith("_GLOBAL__N_") else name)
        if not nested:
            break
    return "::".join(parts) or mangled


def _template(rest: str) -> tuple[list[str] | None, str]:
    """Read template arguments up to their end; return None if one is not known, and the rest of the name."""
    found: list[str] = []
    while rest and rest[0] != "E":
        if match := re.match(r"L([a-z])(n?)(\d+)E", rest):
            kind, minus, digits = match.groups()
            number = {"0": "false", "1": "true"}.get(digits, digits) if kind == "b" else digits
            found.append(("-" if minus else "") + number)
        elif match := re.match(r"(P?)(K?)(DF16_|Dh|[a-z])", rest):
            pointer, const, kind = match.groups()
            if kind not in TYPES:
                return None, rest
            found.append(("const " if const else "") + TYPES[kind] + ("*" if pointer else ""))
        elif match := re.match(r"(P?)(\d+)", rest):
            end = match.end() + int(match.group(2))
            found.append(rest[match.end() : end] + ("*" if match.group(1) else ""))
            rest = rest[end:]
            continue
        else:
            return None, rest
        rest = rest[match.end() :]
    return found, rest[1:]


@lru_cache(maxsize=1024)
def expression(name: str) -> str:
    """Return the name expression of a kernel, such as `add<float>`, from its name in the compiled code.

    CuPy's `RawModule.get_function` gives a kernel the mangled name and keeps no expression. A name that is not mangled,
    or that cannot be read here, is returned unchanged.
    """
    found = readable(name)
    if found != name or not name.startswith("_Z"):
        return found
    whole = _by_the_runtime(name)
    return name if whole is None else _without_parameters(whole)


def _by_the_runtime(name: str) -> str | None:
    """Ask the C++ runtime for the declaration behind a name; None if it does not know, or there is no such library."""
    try:
        demangle = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
        free = ctypes.CDLL(None)["free"]
    except (OSError, AttributeError, TypeError):
        return None
    demangle.restype, free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    text = demangle(name.encode(), None, None, ctypes.byref(ctypes.c_int()))
    if not text:
        return None
    try:
        return ctypes.string_at(text).decode()
    finally:
        free(text)


def _without_parameters(declaration: str) -> str:
    """Return "k<2>" of "void k<2>(float*)", the declaration of a kernel."""
    depth = 0
    for at in range(len(declaration) - 1, -1, -1):  # the parameters end the declaration
        depth += (declaration[at] == ")") - (declaration[at] == "(")
        if depth == 0:
            break
    return declaration[:at].removeprefix("void ")


def short(name: str) -> str:
    """Return "vec_add" of "void sums::vec_add<float>(float*)": the name of a kernel alone, as a line has room for it.

    Return type, namespaces, tags, template arguments and parameters are left out. A name that is neither mangled nor a
    declaration with parameters is returned unchanged.
    """
    declaration = readable(name)
    if declaration != name:  # it had been mangled, and has no parameters
        declaration += "()"
    kept, depth = "", 0
    for each in declaration:
        # A bracket after a word opens the parameters; "(anonymous namespace)" stands after a space, "::" or nothing.
        if each == "(" and not depth and kept and kept[-1] not in " :":
            return kept.rpartition(" ")[2].rpartition("::")[2]
        depth += (each in "<([{") - (each in ">)]}")
        if not depth and each not in ">)]}":
            kept += each
    return name


def external(symbol: str) -> str:
    """Return the symbol that a function would have without `static`.

    The stand-in makes templates static. Their symbols then have an L before the name, and NVRTC's have none.
    """
    at = 3 if symbol.startswith("_ZN") else 2
    while symbol.startswith("_Z") and (match := re.match(r"(L?)(\d+)", symbol[at:])):
        static, length = match.groups()
        symbol = symbol[:at] + symbol[at + len(static) :]
        at += len(length) + int(length)
    return symbol
