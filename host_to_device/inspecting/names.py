"""Finds a kernel by its name among those that were compiled."""

from __future__ import annotations

import re

from host_to_device.inspecting.errors import CannotShow
from host_to_device.standins.mangling import readable


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
