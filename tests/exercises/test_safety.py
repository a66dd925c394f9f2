"""Time limits around a learner's code: whatever the code catches, nothing of a limit is left behind."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from host_to_device.exercises import safety

posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarm signal")


def left_behind() -> dict[str, object]:
    return {
        "trace": sys.gettrace(),
        "handler": hasattr(signal, "SIGALRM") and signal.getsignal(signal.SIGALRM),
        "limits": list(safety._ends),
        "watchers": [each for each in threading.enumerate() if each.name == "h2d time limit"],
    }


def test_it_returns_what_the_code_returns():
    before = left_behind()
    assert safety.within(5, divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        safety.within(5, divmod, 7, 0)
    assert left_behind() == before


def never_ends():
    while True:
        try:  # noqa: SIM105  as a learner may write it
            time.sleep(0.001)
        except:  # noqa: E722
            pass


def puts_the_alarm_off():
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True:
        time.sleep(0.001)


def waits_in_a_module_of_pythons_own():
    threading.Event().wait(20)


@posix
@pytest.mark.parametrize("code", [never_ends, puts_the_alarm_off, waits_in_a_module_of_pythons_own])
def test_the_time_is_up(code):
    before, began = left_behind(), time.monotonic()
    with pytest.raises(safety.TimeUp):
        safety.within(0.1, code)
    assert time.monotonic() - began < 10
    assert left_behind() == before


def test_in_another_thread_than_the_main_one():
    ended = []

    def run():
        try:
            safety.within(0.1, never_ends_unless_thrown_at)
        except safety.TimeUp:
            ended.append(True)

    def never_ends_unless_thrown_at():
        while True:
            time.sleep(0.001)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert ended == [True] and not safety._ends


def test_an_exception_that_meets_the_end_does_not_keep_it_from_ending(monkeypatch):
    end, left = safety._Limit.end, [3]

    def interrupted(self):
        if left[0]:
            left[0] -= 1
            raise safety.TimeUp
        end(self)

    monkeypatch.setattr(safety._Limit, "end", interrupted)
    before = left_behind()
    assert safety.within(5, int) == 0
    assert left == [0] and left_behind() == before


@pytest.mark.slow  # 40 time limits, one after the other
@posix
def test_many_limits_beside_threads_that_are_always_busy():
    """Exceptions come every millisecond then, by both ways, in lines that nobody has foreseen."""
    run = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout, run.stderr) == (0, "40 ended\n", "")


BUSY = textwrap.dedent("""
    import signal, sys, threading, time
    from host_to_device.exercises import safety

    safety.STEP, safety.GRACE = 0.001, 0.0

    def busy():
        while running:
            sum(range(100))

    def sleeps():
        while True:
            try:
                time.sleep(0.001)
            except:
                pass

    def calculates():
        while True:
            try:
                sum(range(300))
            except:
                pass

    running = True
    threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(40):
        try:
            safety.within(0.02, sleeps if number % 2 else calculates)
        except safety.TimeUp:
            pass
        for _ in range(100):
            pass
        names = [thread.name for thread in threading.enumerate()]
        assert sys.gettrace() is None and "h2d time limit" not in names, names
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0 and not safety._ends
    running = False
    for thread in threads:
        thread.join()
    print(number + 1, "ended")
    """)


@pytest.mark.parametrize(
    "change",
    [
        "h2d.check = lambda *_, **__: None",
        "from host_to_device.checking.report import Report; Report.__bool__ = lambda self: True",
        "import numpy; numpy.argwhere = lambda *_: ()",
    ],
)
def test_what_a_notebook_replaces_before_its_first_answer_is_noticed(change):
    """Also a public name that has never been used, which the library would import only then."""
    code = f"import host_to_device as h2d; h2d.start(); h2d.count; {change}; h2d.answer('99.1', hint=1); h2d.answer('02.1')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Your notebook has replaced") == 1 and "h2d.count" not in done.stdout
