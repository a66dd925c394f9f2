"""`h2d.in_child()`: what a child process prints, how it ends, and that the notebook goes on."""

import contextlib
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import host_to_device as h2d
from host_to_device.starting import in_children
from host_to_device.starting.in_children import MARK, Child


@pytest.mark.parametrize(
    ("code", "output", "ended"),
    [
        ("print('a')\nprint('b')", "a\nb\n", "exit 0"),
        ("    x = 1\n    print(x)", "1\n", "exit 0"),
        ("print('a'); raise SystemExit(3)", "a\n", "exit 3"),
        ("import os\nprint('a')\nos.abort()", "a\n", "killed by signal 6 (SIGABRT)"),
        ("import ctypes; ctypes.string_at(0)", "", "killed by signal 11 (SIGSEGV)"),
        ("print('é Ω')", "é Ω\n", "exit 0"),
        ("import sys; print(sys.argv, sys.stdin.read() == '')", "['-c'] True\n", "exit 0"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_output_and_end(code, output, ended):
    child = h2d.in_child(code)
    assert (child.output, child.ended, child.raised, child.message) == (output, ended, "", "")


@pytest.mark.parametrize(
    ("code", "raised", "message"),
    [
        ("1 / 0", "ZeroDivisionError", "ZeroDivisionError: division by zero"),
        ("raise ValueError('two\\nlines')", "ValueError", "ValueError: two"),
        ("raise KeyError", "KeyError", "KeyError"),
        ("problem = ValueError('a')\nproblem.add_note('b')\nraise problem", "ValueError", "ValueError: a"),
        ("import json; json.loads('?')", "JSONDecodeError", "json.decoder.JSONDecodeError: Expecting value"),
        ("def f(:", "SyntaxError", "SyntaxError: invalid syntax (<string>, line 1)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"),
        ("class Mine(Exception): pass\nraise Mine('x\\ty')", "Mine", "Mine: x\ty"),
    ],
)
def test_an_exception_is_named(code, raised, message):
    child = h2d.in_child(f"print('before')\n{code}")
    if raised == "SyntaxError":
        assert child.output == "" and child.message.startswith(
            "SyntaxError: invalid syntax (<string>, line 2)"
        )
    else:
        assert child.output == "before\n" and child.message.startswith(message)
        assert str(child) == f"before\n{child.message}\n(child process: raised {raised})"
    assert (child.raised, child.ended) == (raised, f"raised {raised}") and MARK not in child.errors


def test_the_traceback_shows_the_readers_lines_only():
    child = h2d.in_child("def f():\n    return 1 / 0\n\nf()")
    lines = child.errors.splitlines()
    assert (
        lines[0] == "Traceback (most recent call last):"
        and lines[1] == '  File "<string>", line 4, in <module>'
    )
    assert "    return 1 / 0" in lines and len([line for line in lines if "File" in line]) == 2


def test_an_endless_loop_is_stopped_with_what_it_has_started():
    code = """
    import subprocess, sys
    print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid, flush=True)
    while True:
        pass
    """
    began = time.monotonic()
    child = h2d.in_child(code, seconds=3)
    if not child.output:  # a machine at work may take seconds until Python has started
        child = h2d.in_child(code, seconds=12)
    assert time.monotonic() - began < 25
    assert re.fullmatch(r"stopped after \d+ s", child.ended) and child.raised == ""
    started = int(child.output)  # the child came to its loop
    if sys.platform != "win32":
        while runs(started):
            assert time.monotonic() - began < 30
            time.sleep(0.05)


def runs(number: int) -> bool:
    """Tell whether there is a process of this number that has not ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    return False


def test_a_process_that_goes_on_after_the_child_is_ended():
    code = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    began = time.monotonic()
    assert h2d.in_child(code).ended == "exit 0" and time.monotonic() - began < 15


def test_output_without_an_end_is_cut_and_the_error_behind_it_is_still_named():
    child = h2d.in_child("import sys\nfor _ in range(3000):\n    print('x' * 99, file=sys.stderr)\n1 / 0")
    assert child.raised == "ZeroDivisionError" and len(child.errors) <= in_children.KEPT + 1
    child = h2d.in_child("print('y' * 10**7)")
    assert child.ended == "exit 0" and len(child.output) == in_children.KEPT


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits it")
def test_a_limit_of_memory():
    child = h2d.in_child("x = bytearray(800 << 20)\nprint('enough')", memory=400 << 20)
    if child.remarks:
        pytest.skip(child.remarks[0])
    assert child.ended == "raised MemoryError"
    assert h2d.in_child("x = bytearray(800 << 20)\nprint('enough')").output == "enough\n"


def test_where_memory_cannot_be_limited_one_line_says_so(monkeypatch):
    monkeypatch.setattr(in_children.sys, "platform", "darwin")
    child = h2d.in_child("print('a')", memory=1 << 30)
    assert child.ended == "exit 0" and len(child.remarks) == 1 and child.remarks[0] in str(child)
    monkeypatch.setattr(in_children.sys, "platform", "linux")
    child = h2d.in_child("print('a')", memory=1 << 70)  # more than a limit can be
    assert child.output == "a\n" and "ran without one" in child.remarks[0]


def test_where_no_process_can_be_started_one_line_says_so(monkeypatch):
    def refuse(*_, **__):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(in_children.subprocess, "Popen", refuse)
    child = h2d.in_child("print('a')")
    assert str(child) == "(child process: not run, this system starts no process: Function not implemented)"


def to_run():
    import math

    print(math.factorial(5))


def of_one(x):
    print(x)


def test_a_function_is_run():
    def inner():
        print("inner")

    assert h2d.in_child(to_run).output == "120\n" and h2d.in_child(inner).output == "inner\n"


def enclosing():
    value = 1
    return lambda: value, lambda: 1


def with_closure():
    value = 1

    def inner():
        print(value)

    return inner


NAMELESS: dict = {}
exec("def nameless(): pass", NAMELESS)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (7, "a text or a function made with def, not int"),
        (print, "not builtin_function_or_method"),
        (lambda: 1, "a text or a function made with def"),
        (of_one, "of_one needs values from outside"),
        (with_closure(), "inner needs values from outside"),
        (NAMELESS["nameless"], "the source of nameless is not known"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(code, words):
    with pytest.raises(TypeError, match=words) as refused:
        h2d.in_child(code)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "20", None, True])
def test_bad_seconds(seconds):
    with pytest.raises(ValueError, match="give a number above 0"):
        h2d.in_child("", seconds=seconds)


@pytest.mark.parametrize("memory", [0, -1, 1.5, "1 GiB", True])
def test_bad_memory(memory):
    with pytest.raises(ValueError, match="number of bytes above 0, or None"):
        h2d.in_child("", memory=memory)


def test_the_child_begins_as_the_notebook_did(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    plain = "try:\n    h2d\nexcept NameError:\n    print('not started')"
    h2d.stop()  # another file's tests may have started it
    assert h2d.in_child(plain).output == "not started\n"
    h2d.start()
    try:
        child = h2d.in_child(
            """
            import numpy as np
            from numba import cuda

            @cuda.jit
            def add(x):
                x[cuda.grid(1)] += 1

            x = np.zeros(4)
            add[1, 4](x)
            with h2d.memory_timeline() as t:
                d = cuda.to_device(x)
            print(x.sum(), t.at_peak[0].place, t.at_peak[0].code)
            """
        )
    finally:
        h2d.stop()
    assert child.output == "4.0 <string>, line 11 d = cuda.to_device(x)\n", child.errors


def test_the_child_sees_the_folder_and_the_environment(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("value = 7")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", "8")
    child = h2d.in_child("import mine, os; print(mine.value, os.environ['MINE'])")
    assert child.output == "7 8\n"


def test_it_works_where_only_this_process_finds_the_library(tmp_path):
    root = str(Path(h2d.__file__).resolve().parents[1])
    program = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "import host_to_device as h2d\n"
        "print(h2d.in_child('import host_to_device; print(host_to_device.__name__)'))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "host_to_device\n(child process: exit 0)\n", done.stderr


def test_an_interrupt_ends_the_child(monkeypatch):
    started = []
    begin = in_children._start

    def noted(nbytes):
        process = begin(nbytes)
        started.append(process)

        def interrupted(seconds=None):
            process.wait = type(process).wait.__get__(process)
            raise KeyboardInterrupt

        process.wait = interrupted
        return process

    monkeypatch.setattr(in_children, "_start", noted)
    with pytest.raises(KeyboardInterrupt):
        h2d.in_child("while True: pass")
    assert started[0].poll() is not None


def test_it_prints_like_a_cell():
    assert str(Child("a\nb\n", "", "", "", "exit 0")) == "a\nb\n(child process: exit 0)"
    assert repr(Child(ended="exit 0")) == "(child process: exit 0)"
