"""The errors of CUDA with both libraries: the texts that are stored are those that are raised."""

import json

import pytest

from rehearsal import errors

# What each program has to raise: a word of its first text, with numba-cuda and with CuPy.
RAISED = {
    "out of memory": ("CUDA_ERROR_OUT_OF_MEMORY", "Out of memory allocating"),
    "too many threads in a block": ("CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_INVALID_VALUE"),
    "too much shared memory": ("CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_INVALID_VALUE"),
    "illegal address": ("CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress"),
    "launch time-out": ("CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout"),
    "missing symbol": ("Undefined reference to 'missing'", "CUDA_ERROR_NOT_FOUND"),
    "PTX newer than the driver": ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION",) * 2,
    "no kernel image": ("CUDA_ERROR_NO_BINARY_FOR_GPU",) * 2,
}
# Errors that end the context: later calls raise them again, until the process ends.
LASTING = {"illegal address"}


def stored():
    return json.loads(errors.STORED.read_text())


def test_every_error_is_stored_for_both_libraries_and_says_where_it_was_raised():
    kept = stored()
    assert kept["label"] == "raised in our tests without a GPU" and set(kept["versions"]) >= set(
        errors.LIBRARIES.values()
    )
    assert set(RAISED) == set(errors.PROGRAMS)
    for name, words in RAISED.items():
        for library, word in zip(errors.LIBRARIES.values(), words, strict=True):
            texts = [
                each["text"] for each in kept["errors"] if (each["error"], each["library"]) == (name, library)
            ]
            assert len(texts) == 1 + (name in LASTING) and all(word in text for text in texts), (name, texts)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_real_libraries_raise_the_stored_texts(cupy_environment, tmp_path):
    assert errors.collect(cupy_environment, tmp_path) == stored()
