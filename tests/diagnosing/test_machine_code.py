"""GPU code in files: what is found in whole, damaged and foreign ones, and the wheels whose code is stored."""

import io
import os
import re
import shutil
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import host_to_device as h2d
from host_to_device.diagnosing import compatibility, machine_code, matrix
from tests.diagnosing.fatbins import CUBIN, LTO, PTX, code, entry, fatbin

GOOD = b"\x7fELF host code" + code(["7.5", "8.6", "9.0a"], ["9.0"]) + bytes(5000) + code(["8.6"], ["9.0"])


def written(folder, content, name="library.so"):
    path = folder / name
    path.write_bytes(content)
    return path


def test_machine_code_and_ptx_are_told_apart(tmp_path):
    found = h2d.code_in(written(tmp_path, code(["7.5", "8.0"], ["9.0"])))
    assert (found.sass, found.ptx, found.isa) == (("7.5", "8.0"), ("9.0",), "8.4")
    assert str(found) == "library.so: SASS for 7.5, 8.0; PTX for 9.0"


def test_architectures_are_sorted_as_numbers_and_keep_their_suffix(tmp_path):
    found = h2d.code_in(written(tmp_path, code(["12.0f", "9.0a", "10.0", "9.0", "10.0f"])))
    assert found.sass == ("9.0", "9.0a", "10.0", "10.0f", "12.0f")


def test_other_kinds_of_code_are_passed_over(tmp_path):
    content = fatbin(
        entry(LTO, "10.0", payload=100), entry(CUBIN, "8.9", header=112), entry(PTX, "8.9", header=80)
    )
    found = h2d.code_in(written(tmp_path, content))
    assert (found.sass, found.ptx) == (("8.9",), ("8.9",))


def test_a_fatbin_is_found_across_the_border_of_what_is_read_at_once(tmp_path):
    for gap in range(machine_code.SMALL - 20, machine_code.SMALL + 4):
        found = h2d.code_in(written(tmp_path, bytes(gap) + code(["8.0"]) + bytes(gap) + code(["9.0"])))
        assert found.sass == ("8.0", "9.0"), gap


def test_code_that_only_few_kernels_have_is_told_apart(tmp_path):
    everywhere, few = ["7.0", "8.0", "9.0"], ["5.0", "7.0", "8.0", "9.0"]
    content = 8 * code(everywhere) + 2 * code(few, ["9.0"]) + 50 * code(["9.0a"])
    found = h2d.code_in(written(tmp_path, content))
    assert (found.sass, found.ptx, found.few) == (tuple(everywhere), (), ("SASS 5.0", "SASS 9.0a", "PTX 9.0"))
    assert str(found).endswith("in few kernels also SASS 5.0, SASS 9.0a, PTX 9.0")


def test_where_each_fatbin_has_one_architecture_all_of_them_count(tmp_path):
    content = 9 * code(["8.0"]) + code(["9.0"])
    found = h2d.code_in(written(tmp_path, content))
    assert (found.sass, found.few) == (("8.0", "9.0"), ())


def test_the_payload_is_jumped_over_and_not_searched(tmp_path):
    hidden = code(["3.5"])
    one = entry(CUBIN, "8.0", payload=len(hidden))[: -len(hidden)] + hidden
    assert h2d.code_in(written(tmp_path, fatbin(one))).sass == ("8.0",)


def test_a_large_file_is_not_read_whole(tmp_path, monkeypatch):
    read = []

    class Counted(machine_code._Ahead):
        def __init__(self, file, size):
            super().__init__(file, size)
            whole = file.read
            self.file = type("File", (), {})()
            self.file.read = lambda count: read.append(count) or whole(count)
            self.file.seek = file.seek

    monkeypatch.setattr(machine_code, "_Ahead", Counted)
    path = tmp_path / "large.so"
    with path.open("wb") as file:  # a sparse file: 3 GB of code in one entry, then another fatbin
        file.write(_huge("8.0", 3 << 30))
        file.seek(3 << 30, io.SEEK_CUR)
        file.write(code(["9.0"]))
    assert h2d.code_in(path).sass == ("8.0", "9.0")
    assert max(read) <= machine_code.LARGE and sum(read) < 10 * machine_code.LARGE


def _huge(architecture, payload):
    head = entry(CUBIN, architecture, payload=0)
    head = head[:8] + payload.to_bytes(8, "little") + head[16:]
    return fatbin(head, length=len(head) + payload)


def test_a_size_of_64_bits_does_not_lead_beyond_the_file(tmp_path):
    content = _huge("8.0", (1 << 64) - 65)
    found = h2d.code_in(written(tmp_path, content + bytes(100)))
    assert found.sass == ("8.0",) and found.cut


def test_a_file_that_ends_in_its_code_says_so(tmp_path):
    whole = code(["7.5", "8.0", "9.0"])
    found = h2d.code_in(written(tmp_path, whole[:-20]))
    assert found.sass == ("7.5", "8.0", "9.0") and found.cut
    assert str(found).endswith("(a file ends in the middle of its GPU code)")
    assert not h2d.code_in(written(tmp_path, whole)).cut


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"\x7fELF", machine_code.MAGIC, 100 * machine_code.MAGIC, bytes(99)]
)
def test_a_foreign_file_has_no_gpu_code(tmp_path, content):
    found = h2d.code_in(written(tmp_path, content))
    assert str(found) == "library.so: no GPU code" and not found.cut


@given(st.binary(max_size=400), st.integers(0, len(GOOD)), st.integers(0, 400))
@settings(max_examples=300, deadline=None)
def test_damaged_bytes_never_raise(noise, at, removed):
    content = GOOD[:at] + noise + GOOD[at + removed :]
    for each in machine_code.fatbins(io.BytesIO(content), len(content)):
        for part in each.entries:
            assert part.kind in ("SASS", "PTX") and re.fullmatch(r"\d{1,2}\.\d[af]?", part.architecture)


@given(st.binary(min_size=1, max_size=3), st.integers(0, 600))
@settings(max_examples=200, deadline=None)
def test_a_damaged_wheel_gives_code_or_one_line(tmp_path_factory, noise, at):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package/lib.so", GOOD)
    content = held.getvalue()
    at %= len(content)
    path = tmp_path_factory.getbasetemp() / "damaged.whl"
    path.write_bytes(content[:at] + noise + content[at + len(noise) :])
    try:
        h2d.code_in(path)
    except h2d.SetUpError as problem:
        assert str(problem).startswith(str(path)) and "\n" not in str(problem)


def test_many_false_beginnings_take_no_time(tmp_path):
    path = written(tmp_path, 300_000 * machine_code.MAGIC + 20_000 * fatbin() + code(["8.0"]))
    assert h2d.code_in(path).sass == ("8.0",)


def test_a_wheel_is_read_member_by_member(tmp_path):
    path = tmp_path / "torch-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("torch/lib/libtorch_cuda.so", bytes(3 << 20) + code(["8.0"]))
        archive.writestr("torch/lib/libother.so.12", code([], ["9.0"]))
        archive.writestr("torch/notes.txt", code(["3.5"]))
    found = h2d.code_in(path)
    assert (found.name, found.sass, found.ptx) == (path.name, ("8.0",), ("9.0",))
    assert os.listdir(tmp_path) == [path.name]


def test_a_wheel_that_is_none_is_refused_in_one_line(tmp_path):
    with pytest.raises(h2d.SetUpError, match=r"^\S+x\.whl is damaged: .+ Download the wheel again\.$"):
        h2d.code_in(written(tmp_path, b"<html>404</html>", "x.whl"))


def test_a_folder_is_read_with_its_links_once(tmp_path):
    (tmp_path / "lib").mkdir()
    written(tmp_path / "lib", code(["7.5", "8.0", "9.0"]), "libx.so.1")
    (tmp_path / "lib" / "libx.so").symlink_to("libx.so.1")
    written(tmp_path, code(["3.5"]), "readme.md")
    (tmp_path / "dangling.so").symlink_to("nothing")
    assert h2d.code_in(tmp_path).sass == ("7.5", "8.0", "9.0")


def test_a_package_is_found_by_its_name_and_by_its_import():
    assert str(h2d.code_in("numpy")) == "numpy: no GPU code"
    owners = metadata.packages_distributions().get("cupy")
    if not owners:
        pytest.skip("CuPy is not installed")
    assert h2d.code_in("cupy").sass == h2d.code_in(owners[0]).sass != ()


def test_what_is_not_there_is_refused_in_one_line():
    with pytest.raises(
        h2d.SetUpError, match=r"^'tensorflwo' is no file, no folder and no installed package\. "
    ):
        h2d.code_in("tensorflwo")
    with pytest.raises(TypeError, match="not int"):
        h2d.code_in(7)


def test_cupys_own_library_has_the_code_of_its_build():
    """A real file: CuPy 14's wheel for CUDA 13, with the architectures of its build script."""
    try:
        library = next(
            Path(str(file.locate()))
            for file in metadata.files("cupy-cuda13x")
            if re.match(r"cupy/cuda/cub\..+\.so", str(file))
        )
    except (metadata.PackageNotFoundError, StopIteration):
        pytest.skip("cupy-cuda13x is not installed")
    found = h2d.code_in(library)
    assert found.sass == ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0f", "12.0f")
    assert found.ptx == ("12.0",) and found.isa.startswith("9.") and not found.few


@pytest.mark.slow
def test_what_nvcc_was_asked_for_is_found(tmp_path):
    """The suffixes stand in flags that NVIDIA does not document: nvcc itself is asked."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    (tmp_path / "kernel.cu").write_text("__global__ void f(float *a) { a[threadIdx.x] = 1; }\n")
    wanted = {"75": "75", "90a": "90a", "90": "90", "100f": "100f", "103": "103", "121a": "121a"}
    pairs = [f"-gencode=arch=compute_{one},code=[sm_{two},compute_{one}]" for one, two in wanted.items()]
    subprocess.run(["nvcc", "-fatbin", *pairs, "-o", "out.fatbin", "kernel.cu"], cwd=tmp_path, check=True)
    found = h2d.code_in(tmp_path / "out.fatbin")
    assert found.sass == found.ptx == ("7.5", "9.0", "9.0a", "10.0f", "10.3", "12.1a")


def test_the_stored_wheels_are_whole():
    wheels = h2d.known_wheels()
    assert len({(wheel.name, wheel.version) for wheel in wheels}) == len(wheels) >= 10
    for wheel in wheels:
        assert re.fullmatch(r"\d{2}\.\d", wheel.cuda) and re.fullmatch(r"\d{4}-\d\d-\d\d", wheel.read), wheel
        assert wheel.file.endswith(".whl") and wheel.version in wheel.file
        assert [*wheel.sass] == sorted(wheel.sass, key=machine_code.order)
        assert bool(wheel.sass) == (not wheel.name.startswith("numba-cuda"))


# From PyTorch's RELEASE.md (2.9 and later, "PyTorch CUDA Support Matrix") and its warning that a GPU is not compatible
# (2.6, as in the doctor's rule torch-too-old-for-card). RELEASE.md says 12.0+PTX for CUDA 13 on Linux, but PyTorch leaves
# the PTX out of releases: https://github.com/pytorch/pytorch/pull/188914
DOCUMENTED = {
    "2.6.0": "5.0 6.0 7.0 7.5 8.0 8.6 9.0",
    "2.9.1": "7.0 7.5 8.0 8.6 9.0 10.0 12.0",
    "2.13.0": "7.5 8.0 8.6 9.0 10.0 12.0",
    "2.15.0": "7.5 8.0 8.6 9.0 10.0 12.0",
}


@pytest.mark.parametrize("version", DOCUMENTED)
def test_the_stored_wheels_of_pytorch_have_the_documented_code(version):
    [wheel] = [each for each in h2d.known_wheels() if (each.name, each.version) == ("torch", version)]
    assert (" ".join(wheel.sass), wheel.ptx) == (DOCUMENTED[version], ())


def test_the_table_by_version_agrees_with_the_stored_wheels_of_pytorch():
    """`torch_cards` in versions.toml is read where neither a stored wheel nor a library tells it."""
    compared = 0
    for wheel in h2d.known_wheels():
        cards = matrix.cards_of(wheel.version, wheel.cuda) if wheel.name == "torch" else None
        if cards:
            compared += 1
            oldest, newest = compatibility.reach(wheel)
            assert oldest == cards[0] and machine_code.order(cards[1]) <= machine_code.order(newest), wheel
    assert compared >= 4


def test_a_file_that_may_not_be_read_is_refused_in_one_line(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path, GOOD)
    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(h2d.SetUpError, match=r"cannot be read: .+denied. Check .+ that you may read it\.$"):
        h2d.code_in(path)
