"""One source on three machines: run in warps of both sizes, compiled for both vendors, refused with a reason."""

import numpy as np
import pytest

from host_to_device import exercises
from host_to_device.exercises import Exercise, Out, Wrong, definition, judge_kernel, porting
from host_to_device.inspecting import compiling, tools
from host_to_device.starting import machine

LANES = r"""
extern "C" __global__ void lanes(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = VALUE + x[i];
}
"""


@pytest.fixture(autouse=True)
def stand_in(monkeypatch, tmp_path):
    monkeypatch.setenv("H2D_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("H2D_STRICT", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    machine.start()


@pytest.mark.parametrize("name", porting.MACHINES)
def test_a_source_is_run_as_the_machine_would(name):
    x = np.arange(100, dtype=np.int32)
    source = (
        "#ifdef __HIP_PLATFORM_AMD__\n#define VALUE (1000 + warpSize)\n#else\n#define VALUE warpSize\n#endif"
    )
    given = (x, Out(100, np.int32), np.int32(100))
    got = porting.run_port(source + LANES, "lanes", given, 2, 64, name)
    assert got["names"] == ["out"] and got["input_names"] == ["x"]
    judge_kernel(got, x + porting.lanes_of(name) + 1000 * name.startswith("AMD"), inputs=[x])


@pytest.mark.slow
def test_what_differs_between_the_sizes_is_found():
    source = LANES.replace("VALUE", "__shfl_down_sync(~0ull, 1, 32) +")
    given = (np.zeros(64, np.int32), Out(64, np.int32), np.int32(64))
    broken = source.replace("out[i] =", "out[i / warpSize * 64] =")
    assert not porting.run_port(source, "lanes", given, 1, 64, "AMD Instinct, wavefronts of 64")["findings"]
    [finding, *_] = porting.run_port(broken, "lanes", given, 1, 64, "NVIDIA, warps of 32")["findings"]
    assert finding["kind"] in ("race", "out of bounds")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "lanes() returned None"),
        ("__global__ void others(int* out) {}", "without a kernel lanes"),
        ("// __global__ void lanes()\n", "without a kernel lanes"),
        ("__global__ void lanes() {\n  __shared__ float part[2 * warpSize];\n}", "is warpSize"),
    ],
)
def test_a_source_that_is_none_is_refused(source, said):
    with pytest.raises(Wrong, match=said.replace("(", r"\(").replace(")", r"\)")):
        porting.check_source("lanes", source, "lanes")


def test_a_size_in_a_comment_and_an_index_are_no_size():
    porting.check_source(
        "lanes",
        "__global__ void lanes(int* x) {\n  __shared__ int part[32];  // not [warpSize]\n  x[warpSize] = part[0];\n}",
        "lanes",
    )


def test_a_source_is_compiled_for_both_vendors(monkeypatch):
    monkeypatch.setattr(compiling, "compile", lambda *given, **how: compiled(given[3]))

    def compiled(target):
        if target == "gfx942":
            raise tools.missing("ziglang")
        if target == "gfx1100":
            raise porting.CannotShow("line 3: inline PTX is for NVIDIA's GPUs alone")
        return compiling.Compiled("lanes", "lanes", None, "cuda", resources={"registers": 8})

    got = porting.compiled_for(LANES, "lanes")
    assert got["made"] == {"sm_90": {"registers": 8}}
    assert list(got["missing"]) == ["gfx942"] and list(got["refused"]) == ["gfx1100"]
    with pytest.raises(Wrong, match="does not compile for gfx1100: line 3: inline PTX"):
        porting.judge_compiled(got, "")
    assert porting.not_compiled(got).startswith("Not compiled for gfx942: ")
    assert "pip install" in porting.not_compiled(got) and "\n" not in porting.not_compiled(got)
    porting.judge_compiled({**got, "refused": {}}, "")
    assert porting.not_compiled({**got, "missing": {}}) == ""


def test_a_remark_stands_below_a_right_answer_only(capsys, monkeypatch):
    class Seven(Exercise):
        """A number."""

        number, points, minutes = "98.1", 1, 1
        needs = ("number seven",)
        hints = ("a", "b", "c")

        def cases(self, seed):
            return [{"place": place} for place in (1, 2)]

        def run(self, student, given):
            return {"value": student.seven}

        def judge(self, case, got):
            if got["value"] != 7 and case["place"] == 2:
                raise Wrong("it is not 7")

        def remark(self, case, got):
            return "Not tried on a GPU." if case["place"] == 1 else ""

    monkeypatch.setitem(definition.in_notebook, "98.1", Seven)
    for seven, lines in (
        (7, ["98.1 is right: 1 of 1 point", "Tried: 2 cases.", "Not tried on a GPU."]),
        (8, None),
    ):
        names = {"answer": exercises.answer, "seven": seven}
        exec('answer("98.1")', names)
        said = capsys.readouterr().out.splitlines()
        assert said[:3] == lines if lines else "Not tried on a GPU." not in said
