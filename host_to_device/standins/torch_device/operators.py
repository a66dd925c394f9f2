"""Reads from PyTorch's own list of operators which of them have a CUDA kernel, so that the stand-in counts alike.

The list (`native_functions.yaml`) comes with every PyTorch. An operator with its own CUDA kernel is one operation
here as well; an operator that CUDA composes from others is composed here. The stand-in checks the devices of an
operator's tensors as the code that PyTorch generates from the list does (torchgen/dest/register_dispatch_key.py).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

# PyTorch chooses these by the device's abilities; without them it takes the path that works on every device.
LEFT_OUT = ("_fused_sdp_choice", "_cudnn", "cudnn_", "miopen_", "_flash_attention", "_efficient_attention")
KEY = "PrivateUse1"
AUTOCAST = {"AT_FORALL_LOWER_PRECISION_FP": "lower", "AT_FORALL_FP32": "float32"}


def autocast(header: str) -> str:
    """Return one line for each operator whose numbers `torch.autocast` casts to lower precision, or to float32.

    Parameters
    ----------
    header
        PyTorch's `ATen/autocast_mode.h`.
    """
    lines = []
    for macro, word in AUTOCAST.items():
        # A macro's list ends at the first line without a backslash at its end.
        found = re.search(rf"#define {macro}\(_\)((?:.*\\\n)*.*)", header)
        for name, overload in re.findall(r"_\((\w+)(?:, (\w+))?\)", found.group(1) if found else ""):
            lines.append(f"{name}{'.' if overload else ''}{overload} {word} -\n")
    return "".join(lines)


def path() -> Path | None:
    """Return the path of the list, or None if this PyTorch came without it."""
    found = importlib.util.find_spec("torchgen")
    for folder in (found.submodule_search_locations or ()) if found else ():
        file = Path(folder) / "packaged" / "ATen" / "native" / "native_functions.yaml"
        if file.exists():
            return file
    return None


def all_of(torch) -> str:
    """Return the table for this PyTorch. A file that is missing adds no lines."""
    parts = []
    for file, read in (
        (path(), table),
        (Path(torch.__file__).parent / "include/ATen/autocast_mode.h", autocast),
    ):
        if file is not None and file.exists():
            parts.append(read(file.read_text(encoding="utf-8")))
    return "".join(parts)


def table(text: str) -> str:
    """Return one line for each operator with a CUDA kernel: its name, the rule for devices, the kernel's name.

    Parameters
    ----------
    text
        The list of operators.
    """
    return "".join(f"{name} {rule} {method}\n" for name, rule, method in rows(text))


def rows(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, rule and kernel of each operator with a CUDA kernel.

    The rule is "same" where all tensors have to be on one device, and "elementwise" where PyTorch lets a tensor
    without dimensions be on the host.
    """
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
