"""Compiles a source to a file and describes its kernels; both are kept in memory and in the cache."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from host_to_device.hardware.launch_limits import MAX_SHARED
from host_to_device.standins.cuda_cpp import compiler, lines, nvrtc, sources, worker
from host_to_device.standins.cuda_cpp.errors import CompileError, SourceError, TooLarge
from host_to_device.standins.mangling import external


class Source(NamedTuple):
    """Everything that a compiled module depends on; `options` are those of the C++ compiler."""

    text: str
    wanted: tuple[str, ...]
    options: tuple[str, ...]
    warp_size: int
    default_device: bool  # functions without an annotation are device functions

    @property
    def includes_files(self) -> bool:
        """Whether it includes the learner's own files, which may change while the text stays the same."""
        return any(option.startswith(("-I", "-include")) for option in self.options)


_made: dict[str, tuple[Path, dict, sources.Declared]] = {}
_making = threading.Lock()


def load(given: Source, locals_begin: str = "") -> tuple[Path, dict, sources.Declared]:
    """Return the compiled file of a source, its description, and what the source declares.

    `locals_begin` is that of `compiler.build`: empty for all but seeded runs.

    The description is a dict that JSON can hold: `kernels`, `globals`, `shared`, `shared_of` and `symbols` as `describe`
    returns them, `c_linkage` and `parameters` by the names of the kernels.

    Raises
    ------
    CompileError
        If the source has errors, or there is no compiler.
    """
    key = compiler.key_of(locals_begin or "module with symbols", *given)
    with _making:
        if given.includes_files or key not in _made or not _made[key][0].exists():
            _made[key] = _make(key, given, locals_begin)
        return _made[key]


def refuse(given: Source, declared: sources.Declared, shared: list[sources.Shared]) -> None:
    """Refuse what the C++ compiler accepts and NVRTC refuses.

    Raises
    ------
    SourceError
        At the first such line.
    """
    initial = next((each for each in shared if each.initial), None)
    line, words = declared.refused or (0, "")
    if given.default_device:
        line = 0
    if initial is not None and (not line or initial.first < line):
        line, words = initial.first, f"__shared__ variable {initial.names[0]} cannot have an initial value"
    if line:
        raise SourceError(f"line {line}: {words}", f"{sources.FILE}:{line}: error: {words}")


def _as_nvrtc_says(problem: SourceError, given: Source) -> SourceError:
    """Return the error of a source in NVRTC's words, where NVRTC is installed and refuses the source as well.

    Warps of 64 threads are AMD's, whose compiler is not NVRTC.
    """
    if given.warp_size != 32:
        return problem
    default_device = ["-default-device"] if given.default_device else []
    return nvrtc.reworded(problem, given.text, [*given.options, *default_device], given.wanted)


def describe(path: Path) -> dict:
    """Ask a compiled module what it holds: its kernels, variables and shared arrays.

    Raises
    ------
    SourceError
        If the source uses a function or a variable that it only declares.
    CompileError
        If the module cannot be loaded.
    """
    question = [("describe", str(path))]
    try:
        try:
            ((ok, text, *_),) = worker.ask(question, 30)
        except worker.Died:
            # Perhaps an earlier kernel had damaged the process. The question changes nothing: ask a new process.
            ((ok, text, *_),) = worker.ask(question, 30)
    except worker.Died as died:
        how = "did not answer" if died.late else f"ended with code {died.code}"
        raise CompileError(f"the compiled kernel cannot be loaded: its process {how}") from None
    if not ok:
        if missing := re.search(r"undefined symbol: (\w+)|symbol not found.*'(\w+)'", text):
            raise SourceError(
                f"undefined symbol {missing[1] or missing[2]}: it is declared and used, but not defined"
            )
        raise CompileError(f"the compiled kernel cannot be loaded: {text}")
    about: dict[str, list] = {"kernels": [], "globals": [], "shared": []}
    starts = []
    for line in text.decode("utf-8", "replace").splitlines():
        kind, *rest = line.split("\t")
        if kind == "kernel":
            about["kernels"].append([rest[0], []])
            starts.append(int(rest[1]))
        elif kind == "parameter":
            size, pointer, kind_text = rest
            found = re.search(r"T = (.*?)[;\]]", kind_text)
            words = re.sub(r"\s*([*&])", r" \1", found.group(1) if found else kind_text)
            about["kernels"][-1][1].append([re.sub(r"\* (?=\*)", "*", words), pointer == "1", int(size)])
        elif kind == "global":
            name, nbytes, constant, initial = rest
            about["globals"].append([name, int(nbytes), constant == "1", initial or None])
        else:
            name, number, nbytes, place = rest
            about["shared"].append([name, int(number), int(nbytes), int(place)])
    symbols = lines.symbols(str(path))
    about["symbols"] = [_symbol_of(start, symbols) for start in starts]
    about["shared_of"] = _shared_of(symbols, about, starts)
    return about


def _symbol_of(start: int, symbols: dict[int, list[str]]) -> str:
    """Return the name that CUDA gives a kernel's compiled code; empty where symbols cannot be read."""
    return next((external(each) for each in symbols.get(start, ()) if "." not in each), "")


def _shared_of(symbols: dict[int, list[str]], about: dict, starts: list[int]) -> list[int]:
    """Return the bytes of static shared memory of each kernel: the sum of the arrays that it declares itself.

    The symbol of an array declared in a function begins with the function's symbol.
    """
    result = []
    for start in starts:
        inside = [
            f"_ZZ{name[2:] if name.startswith('_Z') else f'{len(name)}{name}'}E"
            for name in symbols.get(start, ())
        ]
        result.append(
            sum(
                nbytes
                for _, _, nbytes, place in about["shared"]
                if any(name.startswith(tuple(inside)) for name in symbols.get(place, ()))
            )
        )
    return result


def as_compiled(given: Source, kernels: Iterable[str] = (), variables: dict | None = None) -> str:
    """Return the text that the compiler gets: the source, and a list of its kernels and variables."""
    shared = sources.shared_arrays(sources.mask(given.text))
    end = sources.tail(kernels, variables or {}, shared)
    return f'#line 1 "{sources.FILE}"\n{sources.as_cpp(given.text)}\n#line 1 "{sources.TAIL}"\n{end}\n'


def unset_variables(given: Source, kernels: Iterable[str]) -> list[tuple[int, str]]:
    """Return the local variables that the compiler calls uninitialised: line and name of each."""
    options = [*given.options, f"-DH2D_WARP={given.warp_size}"]
    return compiler.unset_variables(as_compiled(given, kernels), options)


def _make(key: str, given: Source, locals_begin: str) -> tuple[Path, dict, sources.Declared]:
    masked, declared = sources.mask(given.text), sources.declarations(given.text)
    found = None if given.includes_files else compiler.cache().get(key)
    if found is None:

        def make(path: Path) -> dict:
            seen = declared
            if sources.needs_expansion(masked):
                expanded = compiler.expand(given.text, given.options)
                seen = declared if expanded is None else sources.declarations(expanded)
            shared = sources.shared_arrays(masked)
            plain = [kernel.name for kernel in seen.kernels if not kernel.template]
            asked = [each for each in given.wanted if each.removeprefix("&") not in seen.variables]
            names = tuple(dict.fromkeys((*plain, *asked)))
            text = as_compiled(given, names, seen.variables)
            try:
                refuse(given, seen, shared)
                compiler.build(text, [*given.options, f"-DH2D_WARP={given.warp_size}"], path, locals_begin)
                about = describe(path)
            except SourceError as problem:
                raise _as_nvrtc_says(problem, given) from None
            about["c_linkage"] = [kernel.name for kernel in seen.kernels if kernel.c_linkage]
            about["parameters"] = {kernel.name: kernel.parameters for kernel in seen.kernels}
            return about

        found = compiler.cache().put(key, ".so", make)
    path, about = found
    known = {kernel.name for kernel in declared.kernels}
    for name, parameters in about["parameters"].items():
        if name not in known:
            declared.kernels.append(
                sources.Kernel(name, name in about["c_linkage"], False, tuple(parameters))
            )
    for name, line, nbytes, _ in about["shared"]:
        if nbytes > MAX_SHARED:
            words = f"shared array {name} has {nbytes} bytes: a block gets {MAX_SHARED} at most"
            raise TooLarge(words, line)
    return path, about, declared
