"""What may go wrong with PyTorch's stand-in device: building it, forks, threads, and the end of things."""

import os
import re
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from host_to_device.standins import torch_device  # noqa: E402
from host_to_device.standins.cuda_cpp import compiler, errors  # noqa: E402
from host_to_device.standins.torch_device import building  # noqa: E402
from host_to_device.starting import devices  # noqa: E402
from host_to_device.starting.machine import SetUpError  # noqa: E402

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the device is built on Linux and macOS")

# A compiler that takes its time and writes what it was told, and one that fails.
SLOW = """
import sys, time
open(sys.argv[0] + ".runs", "a").write("x")
target = sys.argv[sys.argv.index("-o") + 1]
with open(target, "wb") as file:
    file.write(b"half"); file.flush(); time.sleep({seconds}); file.write(b" and whole")
"""
FAILING = 'import sys; sys.exit("device.cpp:1:1: error: no such thing\\nmore")'


@pytest.fixture
def other(tmp_path, monkeypatch):
    """Give a function that puts another compiler, and an empty cache, in place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def put(source):
        file = tmp_path / "compiler.py"
        file.write_text(source)
        tool = compiler.Compiler([sys.executable, str(file)], "g++", str(file))
        monkeypatch.setattr(building, "find_compiler", lambda: tool)
        return lambda: len((tmp_path / "compiler.py.runs").read_text())

    return put


def version(number):
    return SimpleNamespace(
        __version__=number,
        __file__=torch.__file__,
        version=SimpleNamespace(git_version=number),
        compiled_with_cxx11_abi=lambda: True,
    )


def run(code, **environment):
    """Run a program in a process of its own and give what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    variables = {**os.environ, "H2D_MACHINE": "stand-in", **environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=variables, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_version_of_pytorch_has_its_own_device(other, capsys):
    runs = other(SLOW.format(seconds=0))
    one, two = building.built(version("2.11.0")), building.built(version("2.13.0+cpu"))
    assert one != two and one.exists() and two.exists() and runs() == 2
    assert building.built(version("2.11.0")) == one and runs() == 2
    said = capsys.readouterr().out
    assert re.search(r"once for torch 2\.11\.0 … \d+ s\n", said) and said.count("\n") == 2
    assert one.stat().st_mode & 0o022 == one.parent.stat().st_mode & 0o077 == 0


def test_a_folder_that_is_given_has_the_device_and_a_damaged_one_is_built_anew(
    other, tmp_path, monkeypatch, capsys
):
    """As in the grader's sandbox, where the cache is empty and the grader's devices can only be read."""
    runs = other(SLOW.format(seconds=0))
    made = building.built(version("2.11.0"))
    given = made.parent.rename(tmp_path / "given")
    monkeypatch.setenv(building.GIVEN, str(given))
    assert building.built(version("2.11.0")) == given / made.name and runs() == 1
    (given / made.name).write_bytes(b"something else")
    assert building.built(version("2.11.0")) == made and runs() == 2


def test_other_sources_and_other_compilers_make_another_device(other, tmp_path, monkeypatch):
    other(SLOW.format(seconds=0))
    tool = building.find_compiler()
    first = building.key(torch, tool)
    assert building.key(torch, SimpleNamespace(identity="another")) != first
    monkeypatch.setattr(building, "SOURCE", tmp_path)
    assert building.key(torch, tool) != first


def test_two_that_start_together_build_once(other):
    runs, paths = other(SLOW.format(seconds=0.5)), []
    threads = [threading.Thread(target=lambda: paths.append(building.built(version("1")))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs() == 1 and len(paths) == 3 and len(set(paths)) == 1
    assert paths[0].read_bytes() == b"half and whole"


def test_a_build_that_was_killed_leaves_nothing_behind(other, tmp_path):
    other(SLOW.format(seconds=60))
    code = f"""
        import sys, torch
        from host_to_device.standins.cuda_cpp import compiler
        from host_to_device.standins.torch_device import building
        file = {str(tmp_path / "compiler.py")!r}
        building.find_compiler = lambda: compiler.Compiler([sys.executable, file], "g++", file)
        building.built(torch)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    runs = tmp_path / "compiler.py.runs"
    while not runs.exists():
        assert process.poll() is None
        threading.Event().wait(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    assert list(building.folder().glob("new-*"))
    other(SLOW.format(seconds=0))
    assert building.built(torch).read_bytes() == b"half and whole"
    assert not list(building.folder().glob("new-*"))


def test_a_damaged_device_is_built_again(other):
    runs = other(SLOW.format(seconds=0))
    path = building.built(version("1"))
    path.chmod(0o600)
    path.write_bytes(b"half")
    assert building.built(version("1")).read_bytes() == b"half and whole" and runs() == 2


def test_no_compiler_is_one_line(monkeypatch, tmp_path):
    def nothing():
        raise errors.CompileError("no compiler")

    monkeypatch.setattr(compiler, "find", nothing)
    with pytest.raises(
        SetUpError, match=r"^PyTorch's stand-in device is built on this machine, and that needs g\+\+"
    ):
        building.built(version("1"))
    zig = SimpleNamespace(name="ziglang")  # its C++ library is not PyTorch's
    monkeypatch.setattr(compiler, "find", lambda: zig)
    with pytest.raises(SetUpError, match="needs g"):
        building.built(version("1"))


def test_a_compiler_that_fails_is_one_line(other, capsys):
    other(FAILING)
    with pytest.raises(
        SetUpError,
        match=r"^[^\n]*cannot be built: g\+\+ fails on torch 1: device.cpp:1:1: error: no such thing$",
    ):
        building.built(version("1"))
    assert capsys.readouterr().out.endswith("… failed\n")
    assert not list(building.folder().glob("*.so"))


def test_no_pytorch_is_one_line(monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda name: False)
    with pytest.raises(SetUpError, match="needs PyTorch: pip install torch"):
        devices.device()


def test_a_gpu_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(
        SetUpError, match="H2D_MACHINE is 'gpu', but PyTorch finds no GPU: install PyTorch for CUDA"
    ):
        devices.device()


def test_cuda_and_mps_are_chosen(monkeypatch):
    monkeypatch.delenv("H2D_MACHINE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert devices.device() == torch.device("cuda", 0)
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        devices.device(1)
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    assert devices.device().type == "standin"
    monkeypatch.delenv("H2D_MACHINE")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.device().type == "standin" and devices.device(mps=True) == torch.device("mps", 0)


def test_the_place_may_be_taken():
    said = run("""
        import torch
        torch.utils.rename_privateuse1_backend("npu")
        import host_to_device as h2d
        from host_to_device.starting.devices import device
        try:
            device()
        except h2d.SetUpError as problem:
            print(problem)
    """)
    assert (
        said
        == "PyTorch takes one device from other projects, and 'npu' is already loaded: restart the kernel\n"
    )


def test_a_forked_process_is_told_and_workers_of_a_loader_are_not_disturbed():
    said = run("""
        import os, sys, torch
        from torch.utils.data import DataLoader, TensorDataset
        from host_to_device.starting.devices import device
        d = device()
        if os.fork() == 0:  # nothing was used before: all is well
            print((torch.ones(2, device=d) + 1).tolist(), flush=True)
            os._exit(0)
        os.wait()
        x = torch.ones(100, device=d)
        if os.fork() == 0:
            for use in (lambda: x + 1, lambda: torch.ones(1, device=d), lambda: x.cpu()):
                try:
                    use()
                except RuntimeError as error:
                    print(error)
            del x
            print((torch.ones(2) + 1).tolist(), torch.standin._is_in_bad_fork(), flush=True)
            os._exit(0)
        os.wait()
        data = TensorDataset(torch.arange(32.0))
        loader = DataLoader(data, batch_size=8, num_workers=2, pin_memory=True)
        print(sum(batch.to(d, non_blocking=True).sum().item() for (batch,) in loader), (x + 1).sum().item())
    """)
    lines = said.splitlines()
    refused = (
        "Cannot re-initialize the stand-in device in forked subprocess. To use it with multiprocessing, you must use "
        "the 'spawn' start method"
    )
    assert lines == ["[2.0, 2.0]", *[refused] * 3, "[2.0, 2.0] True", "496.0 200.0"]


def test_a_tensor_outlives_stop_and_the_process_ends_well():
    said = run("""
        import host_to_device as h2d
        from host_to_device.starting.devices import device
        h2d.start()
        import torch
        d = device()
        x = torch.arange(3.0, device=d)
        h2d.stop()
        print((x * 2).tolist(), torch.ones(2, device=d).sum().item(), torch.standin.memory_allocated() > 0)
        y = torch.ones(2, device=d, requires_grad=True)
        z = (y * y).sum()  # a graph that is alive when the process ends
    """)
    assert said.splitlines()[-1] == "[0.0, 2.0, 4.0] 2.0 True"


def test_several_threads_use_it_at_once():
    d, wrong = devices.device(), []

    def work(seed):
        torch.standin.set_device(seed % 2)
        x = torch.full((20, 20), float(seed), device="standin")
        for _ in range(200):
            y = (x @ x).sum() / 20**3
            if y.item() != seed**2 or y.device.index != seed % 2:
                wrong.append(seed)

    before = [torch.standin.memory_allocated(i) for i in range(2)]
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and torch.standin.current_device() == d.index
    assert [torch.standin.memory_allocated(i) for i in range(2)] == before


def test_an_exception_in_a_backward_pass_arrives():
    class Refuses(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            raise ValueError("not this way")

    d = devices.device()
    x = torch.ones(2, device=d, requires_grad=True)
    with pytest.raises(ValueError, match="not this way"):
        Refuses.apply(x).sum().backward()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_in_a_listener_is_dropped():
    x = torch.ones(1, device=devices.device())
    torch_device.on_wait(lambda reason: 1 / 0)
    try:
        assert x.item() == 1
    finally:
        torch_device.on_wait(None)


@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_a_program_may_end_right_after_backward(tmp_path, times):
    # Autograd's threads still have Python's objects to drop then, and must not come for them too late.
    program = tmp_path / "short.py"
    program.write_text(
        "import torch\nimport host_to_device as h2d\n"
        "model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)).to(h2d.device())\n"
        "with h2d.count():\n    model(torch.ones(4, 8, device=h2d.device())).sum().backward()\n"
    )
    for _ in range(times):
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
