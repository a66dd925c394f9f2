"""What PyTorch's own list of operators says of kernels for CUDA, so that the stand-in device does the same.

The list (`native_functions.yaml`) comes with every PyTorch. An operator that has a kernel of its own on CUDA is one
operation here, too; one that CUDA puts together from others is put together here. Where its tensors have to be is
checked as the code that PyTorch generates from the list checks it (torchgen/dest/register_dispatch_key.py).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

# Chosen by what the device can do: without them, PyTorch takes the way that works on every device.
LEFT_OUT = ("_fused_sdp_choice", "_cudnn", "cudnn_", "miopen_", "_flash_attention", "_efficient_attention")
KEY = "PrivateUse1"


AUTOCAST = {"AT_FORALL_LOWER_PRECISION_FP": "lower", "AT_FORALL_FP32": "float32"}


def autocast(header: str) -> str:
    """Return one line an operator that `torch.autocast` gives its numbers in lower precision, or in float32.

    Parameters
    ----------
    header
        PyTorch's `ATen/autocast_mode.h`.
    """
    lines = []
    for macro, word in AUTOCAST.items():
        # The list of a macro goes on as long as lines end in a backslash.
        found = re.search(rf"#define {macro}\(_\)((?:.*\\\n)*.*)", header)
        for name, overload in re.findall(r"_\((\w+)(?:, (\w+))?\)", found.group(1) if found else ""):
            lines.append(f"{name}{'.' if overload else ''}{overload} {word} -\n")
    return "".join(lines)


def path() -> Path | None:
    """Return where the list is, or None where this PyTorch came without it."""
    found = importlib.util.find_spec("torchgen")
    for folder in (found.submodule_search_locations or ()) if found else ():
        file = Path(folder) / "packaged" / "ATen" / "native" / "native_functions.yaml"
        if file.exists():
            return file
    return None


def all_of(torch) -> str:
    """Return the table for this PyTorch; what its files do not say is left out."""
    parts = []
    for file, read in (
        (path(), table),
        (Path(torch.__file__).parent / "include/ATen/autocast_mode.h", autocast),
    ):
        if file is not None and file.exists():
            parts.append(read(file.read_text(encoding="utf-8")))
    return "".join(parts)


def table(text: str) -> str:
    """Return one line an operator that has a kernel on CUDA: its name, where tensors have to be, its kernel's name.

    Parameters
    ----------
    text
        The list of operators.
    """
    return "".join(f"{name} {rule} {method}\n" for name, rule, method in rows(text))


def rows(text: str) -> Iterator[tuple[str, str, str]]:
    entries = {}
    for entry in re.split(r"^- func: ", text, flags=re.MULTILINE)[1:]:
        signature, _, rest = entry.partition("\n")
        entries[signature.partition("(")[0]] = (signature, rest)
    on_cuda = {name: _has_kernel(rest) for name, (_, rest) in entries.items()}
    for name, (signature, rest) in entries.items():
        delegate = re.search(r"^  structured_delegate: (\S+)", rest, re.MULTILINE)
        structured = delegate is not None or "\n  structured: True" in f"\n{rest}"
        if not on_cuda.get(delegate.group(1) if delegate else name) or name.startswith(LEFT_OUT):
            continue
        rule = "elementwise" if re.search(r"^  device_check: NoCheck", rest, re.MULTILINE) else "same"
        yield name, rule, _method(name, signature, structured)


def _has_kernel(rest: str) -> bool:
    if "\n  ufunc_inner_loop:" in f"\n{rest}":  # add: its kernels are generated
        return True
    keys = re.findall(r"^    ([A-Za-z0-9, ]+):", rest, re.MULTILINE)
    return any("CUDA" in re.split(r", *", each) for each in keys)


def _method(name: str, signature: str, structured: bool) -> str:
    base, _, overload = name.partition(".")
    keywords = signature.partition("->")[0].partition("*, ")[2]
    out = "_out" if "!)" in keywords else ""
    if structured:
        return f"wrapper_{KEY}_{base}{out}" + (f"_{overload}" if overload else "")
    return f"wrapper_{KEY}_{overload}_{base}{out}"
