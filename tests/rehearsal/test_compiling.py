"""Every kernel of the lessons is compiled for a T4 by the real compilers; nothing runs.

The notebooks and solutions run on the stand-in, `gathering` writes down the kernels that they make, with the types of
their launches, and `compiling` gives them to numba-cuda's NVVM and to NVRTC, in today's versions and in Colab's. CuPy
writes the source of its own kernels itself.
"""

import functools
import json
import os
import re
import subprocess
import sys
from collections import Counter

import nbformat
import pytest

from host_to_device.inspecting import cupy_code, tools
from rehearsal import run, versions

# What a notebook teaches as refused: kernels, and words of the compiler.
REFUSED = {
    "notebooks/03-kernels-numba.ipynb": [
        ("every_second", "Unsupported array index type float64"),
        ("largest_of_three", ">>> zeros(Literal[int](3))"),
        ("first_large", ">>> getitem(float32, Literal[int](0))"),
        ("square", "CUDA kernel must have void return type"),
    ],
    "notebooks/04-kernels-cupy.ipynb": [
        ("by_thread", 'error: expected a ";"'),
        ("by_thread", 'error: identifier "thredIdx" is undefined'),
    ],
    "solutions/03-kernels-numba.ipynb": [("refused", ">>> zeros(Literal[int](1))")],
}
# What Colab's versions say instead.
IN_COLAB = {">>> getitem(float32, Literal[int](0))": "Cannot unify float32 and Tuple(int64, float32)"}
# How many kernels a notebook makes, at least: Numba's, in CUDA C++, and CuPy's own.
AT_LEAST = {
    "notebooks/02-host-and-device.ipynb": (8, 1, 0),
    "notebooks/03-kernels-numba.ipynb": (38, 0, 0),
    "notebooks/04-kernels-cupy.ipynb": (2, 6, 6),
    "notebooks/05-cooperation.ipynb": (30, 4, 0),
    "notebooks/07-cudnn.ipynb": (3, 0, 0),
    "notebooks/08-device-placement.ipynb": (1, 0, 0),
    "notebooks/09-copy-cost.ipynb": (6, 0, 1),
    "notebooks/10-errors.ipynb": (7, 0, 0),
    "notebooks/11-small-batches.ipynb": (1, 0, 0),
    "notebooks/13-hip-rocm.ipynb": (1, 7, 0),
    "solutions/02-host-and-device.ipynb": (15, 0, 0),
    "solutions/03-kernels-numba.ipynb": (20, 0, 0),
    "solutions/04-kernels-cupy.ipynb": (1, 6, 3),
    "solutions/05-cooperation.ipynb": (14, 1, 0),
    "solutions/07-cudnn.ipynb": (3, 0, 0),
    "solutions/09-copy-cost.ipynb": (1, 0, 0),
    "solutions/10-errors.ipynb": (3, 0, 0),
    "solutions/11-small-batches.ipynb": (1, 0, 0),
    "solutions/13-hip-rocm.ipynb": (0, 7, 0),
}
KINDS = ("numba", "cuda", "cupy")


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    """Return a function: the name of a notebook to the file of its kernels."""
    folder = tmp_path_factory.mktemp("kernels")
    quiet = {"H2D_MACHINE": "stand-in", "H2D_PROGRESS": "off", "H2D_MEASUREMENTS": os.devnull}
    environment = {**os.environ, **quiet, "PYTHONPATH": str(run.ROOT)}

    @functools.cache
    def gather(name):
        file = folder / f"{name.replace('/', '-')}.jsonl"
        command = [sys.executable, "-m", "tests.rehearsal.gathering", str(run.ROOT / name), str(file)]
        done = subprocess.run(command, cwd=run.ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return file

    return gather


@pytest.fixture
def compilers_of(request):
    """Return a function: versions to their Python, NVRTC's library, the folders of headers, and an environment."""

    def compilers(chosen):
        if chosen is versions.TODAY:
            try:
                tools.numba_cuda()
                places = tools.nvrtc().path, tools.headers()
            except tools.MissingTool as problem:
                if "CI" in os.environ:
                    raise
                pytest.skip(str(problem))
            if cupy_code._package() is None and "CI" not in os.environ:
                pytest.skip("CuPy is not installed")
            return sys.executable, *places, dict(os.environ)
        environment = request.getfixturevalue("environment_of")(chosen)
        headers = [folder / "include" for folder in chosen.nvidia() if (folder / "include").is_dir()]
        return str(chosen.interpreter()), chosen.file("lib/libnvrtc.so.12"), headers, environment

    return compilers


def verdicts(kernels, compilers):
    """Return what the compilers say of each kernel in a file."""
    python, nvrtc, headers, environment = compilers
    answers = kernels.with_suffix(".answers")
    options = json.dumps([f"--include-path={folder}" for folder in headers])
    command = [python, "-m", "tests.rehearsal.compiling", *map(str, (nvrtc, kernels, options, answers))]
    environment = {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(run.ROOT), environment.get("PYTHONPATH")))),
    }
    done = subprocess.run(command, cwd=run.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return lines_of(answers)


def lines_of(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def not_as_taught(name, kernels, answers, chosen="today"):
    """Return a line for each kernel that a compiler refuses, and for each that it should and does not."""
    said = [(each["kernel"], each["words"], each["cell"]) for each in answers if each["words"]]
    taught = REFUSED.get(name, [])
    if chosen == "colab":
        taught = [(kernel, IN_COLAB.get(words, words)) for kernel, words in taught]
    lines = [
        f"{name}, cell {cell}: {kernel} does not compile: {words}"
        for kernel, words, cell in said
        if not any(kernel == one and part in words for one, part in taught)
    ]
    lines += [
        f"{name}: {kernel} compiles, or is refused without {part!r}"
        for kernel, part in taught
        if not any(kernel == one and part in words for one, words, _ in said)
    ]
    given = {(each["cell"], each["kernel"]) for each in answers}
    return lines + [
        f"{name}, cell {each['cell']}: {each['kernel']} is made, and neither launched, checked nor shown"
        for each in kernels
        if each["kind"] == "made" and (each["cell"], each["kernel"]) not in given
    ]


def counts(answers):
    made = Counter(kind for _, _, kind in {(each["cell"], each["kernel"], each["kind"]) for each in answers})
    return tuple(made[kind] for kind in KINDS)


@pytest.mark.slow
@pytest.mark.one_in(2)  # each week a notebook has either today's versions or Colab's
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("chosen", ("today", "colab"))
@pytest.mark.parametrize("name", AT_LEAST)
def test_every_kernel_compiles_for_a_t4_or_is_refused_as_taught(gathered, compilers_of, name, chosen):
    compilers = compilers_of(versions.ALL[chosen])
    file = gathered(name)
    answers = verdicts(file, compilers)
    assert not not_as_taught(name, lines_of(file), answers, chosen)
    found = counts(answers)
    assert all(one >= least for one, least in zip(found, AT_LEAST[name], strict=True)), found


MAKES_A_KERNEL = re.compile(r"@cuda\.jit|(RawKernel|RawModule|ElementwiseKernel|ReductionKernel)\(")


def test_no_notebook_is_left_out_and_no_kind_of_kernel():
    paths = [path for folder in ("notebooks", "solutions") for path in (run.ROOT / folder).glob("*.ipynb")]
    cells = {
        path: [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        for path in paths
    }
    names = {
        path.relative_to(run.ROOT).as_posix()
        for path in paths
        if any(MAKES_A_KERNEL.search(source) for source in cells[path])
    }
    assert names == set(AT_LEAST)
    sums = [sum(column) for column in zip(*AT_LEAST.values(), strict=True)]
    assert all(one >= least for one, least in zip(sums, (123, 32, 10), strict=True)), sums


def test_a_kernel_that_does_not_compile_is_named():
    name, taught = "notebooks/a.ipynb", [("wrong", "telling words")]
    kernels = [{"cell": 7, "kernel": "lonely", "kind": "made"}]
    answers = [{"cell": 4, "kernel": "right", "kind": "numba", "words": "not aligned"}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(REFUSED, name, taught)
        said = not_as_taught(name, kernels, answers)
    assert said == [
        "notebooks/a.ipynb, cell 4: right does not compile: not aligned",
        "notebooks/a.ipynb: wrong compiles, or is refused without 'telling words'",
        "notebooks/a.ipynb, cell 7: lonely is made, and neither launched, checked nor shown",
    ]
