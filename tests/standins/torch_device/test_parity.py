"""The programs for PyTorch on the stand-in: outcomes and counts are CUDA's."""

import pytest

from tests.commands.torch.on_stand_in import stand_in
from tests.corpora.torch.corpus import ALL

# A program that gives a kernel a host array counts what Numba warns of.
pytestmark = pytest.mark.filterwarnings("ignore:Host array used in CUDA kernel")

# Where the stand-in cannot do as CUDA does, and why: the name of the program -> the reason.
KNOWN = {
    "dlpack shares device memory": "Tensor.__dlpack_device__ asks for PyTorch's own name of such a device",
    "a saved tensor that was changed": "PyTorch spells the types of CUDA's tensors as Python does, and of no others",
}


@pytest.fixture(scope="module")
def place():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("H2D_MACHINE", "stand-in")
        yield stand_in()


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_outcome_of_cuda(program, place):
    if program.name in KNOWN:
        assert place.difference(program) is not None, "it does by now: take it out of KNOWN"
        pytest.xfail(KNOWN[program.name])
    assert place.difference(program) is None
