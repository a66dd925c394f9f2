"""`a /= b` of two integers: numba-cuda 0.30.4 makes code that NVVM calls invalid, so the stand-in refuses it."""

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from numba import cuda  # noqa: E402

from tests.corpora.kernels.generated.sources import namespace  # noqa: E402

REFUSED = [
    "a = i\n    a /= 2\n    out[i] = a",
    "a = np.uint8(i)\n    a /= i + 1\n    out[i] = a",
    "a = i > 1\n    a /= 2\n    out[i] = a",
    "b = cuda.local.array(4, np.int32)\n    b[0] = 6\n    b[0] /= 2\n    out[i] = b[0]",
    "whole[i] /= 2\n    out[i] = whole[i]",
]
TAKEN = [
    "a = i\n    a /= 2.0\n    out[i] = a",
    "a = i\n    a /= np.float32(2)\n    out[i] = a",
    "a = i\n    a = a / 2\n    out[i] = a",
    "out[i] = i\n    out[i] /= 2",
    "a = 0.5 * i\n    a /= whole[0] - 4\n    out[i] = a",
]


def run(body, interpreted):
    source = f"def divided(whole, out):\n    i = cuda.threadIdx.x\n    {body}\n"
    space = namespace(source, f"<{body}>", cuda=cuda)
    out = cuda.to_device(np.zeros(4))
    with cuda.stand_in(interpreted=interpreted):
        cuda.jit(space["divided"])[1, 4](cuda.to_device(np.full(4, 6, np.int64)), out)
    return out.copy_to_host().tolist()


@pytest.mark.parametrize("interpreted", [True, False])
@pytest.mark.parametrize("body", REFUSED)
def test_refused_with_its_line(body, interpreted):
    with pytest.raises(
        Exception, match=r"/= of two integers does not compile .*: write a = a / b"
    ) as problem:
        run(body, interpreted)
    assert type(problem.value).__name__ == "TypingError"
    if interpreted:
        assert ", line " in str(problem.value)


@pytest.mark.parametrize("interpreted", [True, False])
@pytest.mark.parametrize("body", TAKEN)
def test_taken_with_a_float(body, interpreted):
    assert run(body, interpreted) == [0, 0.5, 1, 1.5] if "whole" not in body else [0, 0.25, 0.5, 0.75]
