"""The errors of CUDA with both libraries: the texts that are stored are those that are raised."""

import json
import re

import pytest

from rehearsal import errors

# What each program has to raise: a word of each text, with numba-cuda and with CuPy.
INVALID = ["CUDA_ERROR_INVALID_VALUE"]
RAISED = {
    "out of memory": (["CUDA_ERROR_OUT_OF_MEMORY"], ["Out of memory allocating"]),
    "too many threads in a block": (INVALID, INVALID),
    "too much shared memory": (INVALID, INVALID),
    "block too deep": (INVALID, INVALID),
    "grid without blocks": (["LaunchConfig.grid values must be >= 1"], []),
    "grid too large": (INVALID, INVALID),
    # An error that ends the context: a new array, and the array from before, raise it again.
    "illegal address": (["CUDA_ERROR_ILLEGAL_ADDRESS"] * 3, ["cudaErrorIllegalAddress"] * 3),
    "device-side assert": (["CUDA_ERROR_ASSERT"] * 3, ["cudaErrorAssert"] * 3),
    "exception in a kernel": (["tid=[0, 0, 3] ctaid=[0, 0, 0]: the label is too large"] * 2, []),
    "copy of freed memory": (["cuMemcpyDtoH results in CUDA_ERROR_INVALID_VALUE"], ["cudaErrorInvalidValue"]),
    "kernel on freed memory": (["CUDA_ERROR_ILLEGAL_ADDRESS"], ["cudaErrorIllegalAddress"]),
    "launch time-out": (["CUDA_ERROR_LAUNCH_TIMEOUT"], ["cudaErrorLaunchTimeout"]),
    "missing symbol": (["Undefined reference to 'missing'"], ["CUDA_ERROR_NOT_FOUND"]),
    "PTX newer than the driver": (["CUDA_ERROR_UNSUPPORTED_PTX_VERSION"],) * 2,
    "no kernel image": (["CUDA_ERROR_NO_BINARY_FOR_GPU"],) * 2,
}


def stored():
    return json.loads(errors.STORED.read_text())


def test_every_error_is_stored_for_both_libraries_and_says_where_it_was_raised():
    kept = stored()
    assert kept["label"] == "raised in our tests without a GPU" and set(kept["versions"]) >= set(
        errors.LIBRARIES.values()
    )
    assert set(RAISED) == set(errors.PROGRAMS) == {each["error"] for each in kept["errors"]}
    for name, words in RAISED.items():
        for library, wanted in zip(errors.LIBRARIES.values(), words, strict=True):
            texts = [
                each["text"] for each in kept["errors"] if (each["error"], each["library"]) == (name, library)
            ]
            assert len(texts) == len(wanted), (name, library)
            assert all(word in text for word, text in zip(wanted, texts, strict=True)), (name, texts)


def test_no_folder_of_one_machine_is_stored():
    said = "\n".join(each["text"] for each in stored()["errors"])
    assert "file program.py, line" in said
    assert not re.search(r"/(root|home|tmp|work|opt|Users|var)\b", said)


MISSING = """
import importlib.util, linecache
from numba import cuda
ptx = ".version 6.4\\n.target sm_75\\n.address_size 64\\n.visible .entry k() {{ ret; }}\\n"
module = cuda.current_context().create_module_ptx(ptx)
for ask in module.get_function, module.get_global_symbol:
    try:
        ask("missing")
    except Exception as problem:
        print(f"{{type(problem).__name__}}: {{problem}}")
for name, number, words in {cited}:
    line = linecache.getline(importlib.util.find_spec(name).origin, number)
    assert words in line, (name, number, line)
"""
DRIVER = "numba.cuda.cudadrv.driver"
# Where the words of a missing kernel and a missing variable come from: the module, its line, and what is in it.
# numba-cuda 0.30.4 with cuda-core 1.2.2. The driver's number and name are those of CUresult in NVIDIA's documentation.
TODAYS_SOURCE = [
    (DRIVER, 2154, "self.object_code.get_kernel(name)"),
    ("cuda.core._utils.driver_cu_result_explanations_frozen", 152, "that a named symbol was not found. Ex"),
    (DRIVER, 2159, "driver.cuLibraryGetGlobal(self.handle, name"),
    (DRIVER, 370, '"Call to %s results in %s" % (fname, retcode.name)'),
    (DRIVER, 154, '"[%s] %s" % (self.code, self.msg)'),
]
# numba-cuda 0.22.2
COLABS_SOURCE = [
    (DRIVER, 2324, "driver.cuModuleGetFunction(self.handle, name"),
    (DRIVER, 2328, "driver.cuModuleGetGlobal(self.handle, name"),
    (DRIVER, 414, '"Call to %s results in %s" % (fname, retcode.name)'),
    (DRIVER, 152, '"[%s] %s" % (self.code, self.msg)'),
]


@pytest.mark.rehearsal(why="it reads lines of the versions that are pinned")
def test_numbas_words_of_a_missing_symbol_are_those_of_its_source(rehearsed):
    kernel, variable = rehearsed(MISSING.format(cited=TODAYS_SOURCE)).splitlines()
    assert kernel.startswith(
        "CUDAError: CUDA_ERROR_NOT_FOUND: This indicates that a named symbol was not found. Examples of symbols"
    )
    assert variable == "CudaAPIError: [500] Call to cuLibraryGetGlobal results in CUDA_ERROR_NOT_FOUND"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_colabs_numba_words_a_missing_symbol_as_its_source_does(colab_rehearsed):
    said = colab_rehearsed(MISSING.format(cited=COLABS_SOURCE)).splitlines()
    begin = "CudaAPIError: [<CUresult.CUDA_ERROR_NOT_FOUND: 500>] Call to"
    assert said == [
        f"{begin} {function} results in CUDA_ERROR_NOT_FOUND"
        for function in ("cuModuleGetFunction", "cuModuleGetGlobal")
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.rehearsal(
    why="the stored texts are the rehearsal's; its README says which of an H100 are others"
)
def test_the_real_libraries_raise_the_stored_texts(cupy_environment, tmp_path):
    assert errors.collect(cupy_environment, tmp_path) == stored()
