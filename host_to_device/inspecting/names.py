"""Turns the mangled names of kernels into readable ones, and finds a kernel by its name.

Source: Itanium C++ ABI, "Mangling". The package itanium-demangler is no replacement: it reads neither Numba's tags nor
`_Float16`.
"""

from __future__ import annotations

import re

from host_to_device.inspecting.errors import CannotShow

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


def choose(entry: str | None, lowered: str | None, mangled: list[str], what: str = "source") -> str:
    """Return the mangled name of the kernel that the learner means.

    Parameters
    ----------
    entry
        The learner's name for it; None if the source has one kernel only.
    lowered
        The compiler's name for it, if the compiler gave one.
    mangled
        The mangled names of all kernels that were compiled.
    what
        What holds the kernels ("source", "kernel"), for messages.

    Raises
    ------
    CannotShow
        There is no kernel, no kernel of that name, or there are several and `entry` is None.
    """
    if lowered is not None and lowered in mangled:
        return lowered
    by_name = {readable(name): name for name in mangled}
    listed = ", ".join(by_name)
    if not mangled:
        raise CannotShow(
            f"no kernel was compiled: the {what} has no __global__ function, or it is a template and entry= has to "
            "name its types, such as entry='add<float>'"
        )
    if entry is None:
        if len(mangled) == 1:
            return mangled[0]
        raise CannotShow(f"the {what} has {len(mangled)} kernels: name one of them with entry=, of {listed}")
    wanted = re.sub(r"\s+", "", entry)
    for name, full in by_name.items():
        plain = re.sub(r"\s+", "", name)
        if wanted in (plain, full, plain.rpartition("::")[2], plain.partition("<")[0]):
            return full
    raise CannotShow(f"the {what} has no kernel {entry!r}; it has {listed}")
