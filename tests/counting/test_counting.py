"""`h2d.count()`: numbers, nesting, threads, lines and tables. The libraries have files of their own."""

import os
import re
import sys
import threading
from html.parser import HTMLParser
from types import ModuleType

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import counting as bench_counting
from host_to_device import counting
from host_to_device.counting import counts, on_gpu
from host_to_device.rendering.table import Table
from host_to_device.standins import events

NOTHING = {
    **dict.fromkeys(("host_to_device", "host_to_device_bytes", "device_to_host", "device_to_host_bytes"), 0),
    **dict.fromkeys(("device_to_device", "device_to_device_bytes", "waits", "allocations", "operations"), 0),
}


def one_of_each():
    events.copied("h2d", 100)
    events.copied("d2h", 20)
    events.copied("d2d", 3)
    events.waited("copy to the host")
    events.allocated(512)
    events.operated("add")


def test_each_is_counted():
    with counting.count() as c:
        one_of_each()
        events.copied("h2d", 11)
    assert (c.host_to_device.count, c.host_to_device.bytes) == (2, 111)
    assert (c.device_to_host, c.device_to_device) == (counting.Copies(1, 20), counting.Copies(1, 3))
    assert (c.waits, c.allocations, c.operations) == (1, 1, 1)
    assert c.launches is None and c.where == "stand-in" and c.operations_by_name == {"add": 1}
    assert c.as_dict() == NOTHING | {
        **{"host_to_device": 2, "host_to_device_bytes": 111, "device_to_host": 1, "device_to_host_bytes": 20},
        **{"device_to_device": 1, "device_to_device_bytes": 3, "waits": 1, "allocations": 1, "operations": 1},
    }


def test_outside_the_block_nothing_is_counted_or_kept():
    one_of_each()
    with counting.count() as c:
        pass
    one_of_each()
    assert c.as_dict() == NOTHING and not events.listening
    assert not events._sums.total() and not events._places and not events._operations


def test_no_bytes_are_no_copy_and_no_allocation():
    with counting.count() as c:
        events.copied("h2d", 0)
        events.allocated(0)
    assert c.as_dict() == NOTHING


def test_numbers_grow_within_the_block():
    with counting.count() as c:
        assert c.waits == 0
        events.waited("synchronize")
        assert c.waits == 1 and len(c.waits_by_line) == 1
        events.waited("synchronize")
    assert c.waits == 2


def test_blocks_within_blocks():
    with counting.count() as outer:
        one_of_each()
        with counting.count() as inner:
            one_of_each()
            one_of_each()
        one_of_each()
    assert (inner.operations, outer.operations) == (2, 4)
    assert (inner.waits, outer.waits) == (2, 4)


def test_blocks_that_overlap():
    first, second = counting.count(), counting.count()
    first.__enter__()
    one_of_each()
    second.__enter__()
    one_of_each()
    first.__exit__(None, None, None)
    one_of_each()
    second.__exit__(None, None, None)
    assert (first.waits, second.waits) == (2, 2) and not events.listening


def test_used_twice_it_begins_again():
    c = counting.count()
    with c:
        one_of_each()
    with c:
        one_of_each()
        one_of_each()
    assert c.waits == 2


def test_entered_within_itself_it_counts_on():
    c = counting.count()
    with c:
        one_of_each()
        with c:
            one_of_each()
        assert c.waits == 2
        one_of_each()
    assert c.waits == 3 and not events.listening


def test_an_error_inside_passes_and_leaves_the_numbers():
    with pytest.raises(ZeroDivisionError), counting.count() as c:
        one_of_each()
        _ = 1 / 0
    assert c.waits == 1 and not events.listening


def test_left_by_return():
    def work(c):
        with c:
            one_of_each()
            return "done"

    c = counting.count()
    assert work(c) == "done"
    one_of_each()
    assert c.waits == 1 and not events.listening


def test_all_threads_are_counted():
    def work():
        for _ in range(1000):
            one_of_each()

    with counting.count() as c:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert c.waits == c.operations == c.host_to_device.count == 8000
    assert c.host_to_device.bytes == 800_000


def test_counts_in_threads_end_on_their_own():
    seen = []

    def work():
        with counting.count() as c:
            one_of_each()
            barrier.wait(10)
        seen.append(c.waits)

    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(seen) == 4 and all(1 <= waits <= 4 for waits in seen) and not events.listening


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent():
    taken, done = threading.Event(), threading.Event()

    def hold():
        with events._lock:
            taken.set()
            done.wait(10)

    with counting.count():
        holder = threading.Thread(target=hold)
        holder.start()
        taken.wait(10)
        child = os.fork()
        if child == 0:
            threading.Timer(5, os._exit, [1]).start()
            one_of_each()
            os._exit(0)
        done.set()
        holder.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_equal_if_the_numbers_are():
    with counting.count() as one:
        one_of_each()
    with counting.count() as other:
        one_of_each()
    assert one == other
    with other:
        pass
    assert one != other and one != 3


# Lines


def test_lines_that_waited_most_come_first():
    with counting.count() as c:
        for _ in range(3):
            events.waited("copy to the host")
        events.waited("synchronize")
    first, second = c.waits_by_line
    assert (first.count, first.text, first.reasons) == (
        3,
        'events.waited("copy to the host")',
        ("copy to the host",),
    )
    assert (first.file, second.count, second.line) == (__file__, 1, first.line + 1)
    assert first.place == f"test_counting.py, line {first.line}"
    text = str(c.show_waits(most=1)).splitlines()
    assert text[0] == "Where the host waited, counted on: stand-in" and text[1].split() == [
        "line",
        "waits",
        "code",
        "for",
    ]
    assert text[2].split()[:4] == ["test_counting.py,", "line", str(first.line), "3"]
    assert text[3] == "and 1 at 1 more lines"


def test_libraries_are_not_the_readers_code(tmp_path):
    library = tmp_path / "site-packages" / "library.py"
    library.parent.mkdir()
    library.write_text("def call(function):\n    return function('synchronize')\n")
    space = {}
    exec(compile(library.read_text(), str(library), "exec"), space)
    with counting.count() as c:
        space["call"](events.waited)
    assert [line.text for line in c.waits_by_line] == ['space["call"](events.waited)']


@pytest.mark.parametrize(
    ("file", "readers"),
    [
        ("<stdin>", True),
        ("<ipython-input-3-0a1b2c>", True),
        ("<frozen importlib._bootstrap>", False),
        ("<eval_with_key>.0", False),
        (os.path.join(os.sep, "tmp", "ipykernel_123", "456.py"), True),
        (os.path.join(os.sep, "home", "me", "train.py"), True),
        (os.path.join(os.sep, "lib", "site-packages", "torch", "_tensor.py"), False),
        (os.path.join(os.sep, "lib", "dist-packages", "cupy", "core.py"), False),
        (threading.__file__, False),
        (counts.__file__, False),
    ],
)
def test_whose_code_it_is(file, readers):
    assert events.is_readers(file) is readers


def test_a_cell_is_called_a_cell():
    file = os.path.join(os.sep, "tmp", "ipykernel_123", "456.py")
    assert counting.Line(1, file, 3, "x.get()", ()).place == "a cell, line 3"
    assert counting.Line(1, "<ipython-input-3-0a>", 3, "x.get()", ()).place == "a cell, line 3"


def test_a_wait_that_no_line_led_to():
    with counting.count() as c:
        thread = threading.Thread(target=events.waited, args=("synchronize",))
        thread.start()
        thread.join()
    (line,) = c.waits_by_line
    assert (line.count, line.place, line.text) == (1, "not in your code", "")


def test_no_waits_is_one_line():
    with counting.count() as c:
        pass
    assert str(c.show_waits()) == "The host did not wait."


# Tables


def test_it_prints_a_small_table():
    with counting.count() as c:
        one_of_each()
        events.copied("h2d", 1_000_000)
    assert str(c).splitlines() == [
        "Counted on: stand-in",
        "                          number      bytes",
        "copies, host to device         2  1,000,100",
        "copies, device to host         1         20",
        "copies, device to device       1          3",
        "waits of the host              1",
        "allocations                    1",
        "device operations              1",
    ]
    assert repr(c) == str(c)
    assert str(counting.count()).splitlines()[0] == "Nothing counted yet"


class Reader(HTMLParser):
    """Reads tags with their attributes, and checks that they are closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    assert not reader.open
    return reader


def test_in_a_notebook_it_is_a_table_with_headers():
    with counting.count() as c:
        one_of_each()
        if 1 < 2:
            events.waited("copy to the host")
    reader = read(c._repr_html_())
    assert "Counted on: stand-in" in reader.text and ("caption", {}) in reader.tags
    scopes = [given["scope"] for tag, given in reader.tags if tag == "th"]
    assert scopes == ["col"] * 3 + ["row"] * 6
    waits = read(c.show_waits()._repr_html_())
    assert 'events.waited("copy to the host")' in waits.text and ("code", {}) in waits.tags


def test_html_is_escaped():
    table = Table("a < b", ("x",), (("<script>",),), remarks=("a & b",))
    assert "<script>" not in table._repr_html_() and "a &lt; b" in table._repr_html_()
    read(table._repr_html_())


# The device inside PyTorch


class Device(ModuleType):
    """What `torch_device` offers."""

    def __init__(self):
        super().__init__(on_gpu.TORCH_DEVICE)
        self.sums, self.callback, self.is_loaded = dict.fromkeys(events.NAMES, 0), None, True

    def loaded(self):
        return self.is_loaded

    def counters(self):
        return dict(self.sums)

    def on_wait(self, callback):
        self.callback = callback

    def item(self):
        self.sums["d2h"] += 1
        self.sums["d2h_bytes"] += 4
        self.sums["waits"] += 1
        self.sums["operations"] += 2
        if self.callback is not None:
            self.callback("copy to the host")


@pytest.fixture
def torch_device(monkeypatch):
    device = Device()
    monkeypatch.setitem(sys.modules, on_gpu.TORCH_DEVICE, device)
    monkeypatch.setattr(events, "_followed", {})
    return device


def test_pytorchs_device_is_joined(torch_device):
    torch_device.item()
    with counting.count() as c:
        one_of_each()
        torch_device.item()
    torch_device.item()
    assert (c.waits, c.operations, c.device_to_host) == (2, 3, counting.Copies(2, 24))
    assert c.operations_by_name == {"PyTorch": 2, "add": 1}
    assert [(line.count, line.text) for line in c.waits_by_line if line.file == __file__][-1] == (
        1,
        'self.callback("copy to the host")',
    )
    assert torch_device.callback is None


def test_pytorchs_device_is_loaded_inside_the_block(torch_device):
    torch_device.is_loaded = False
    with counting.count() as c:
        torch_device.is_loaded = True
        # What the device does at the end of `load()`, so that waits from then on have their lines.
        events.follow("PyTorch", torch_device.counters, torch_device.on_wait)
        torch_device.item()
    assert (c.waits, c.operations) == (1, 2) and len(c.waits_by_line) == 1


def test_pytorchs_device_is_found_at_the_end(torch_device):
    torch_device.is_loaded = False
    with counting.count() as c:
        torch_device.is_loaded = True
        torch_device.item()
    assert c.waits == 1
    assert [(line.count, line.place) for line in c.waits_by_line] == [(1, "not in your code")]


def test_a_module_that_is_still_being_imported_is_no_trouble(monkeypatch):
    monkeypatch.setitem(sys.modules, on_gpu.TORCH_DEVICE, ModuleType(on_gpu.TORCH_DEVICE))
    with counting.count() as c:
        one_of_each()
    assert c.waits == 1


# Where


def test_a_stand_in_is_chosen_by_the_environment(monkeypatch):
    monkeypatch.setattr(on_gpu.machine, "chosen", None)
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    assert on_gpu.name() is None
    monkeypatch.setattr(on_gpu.machine, "chosen", "gpu")
    assert on_gpu.is_chosen()


# The benchmark


def test_the_benchmark_says_what_counting_adds(monkeypatch, capsys):
    loops = [bench_counting.Loop("CuPy: array code", bench_counting.array_code(10), 2)]
    monkeypatch.setattr(bench_counting, "LOOPS", loops)
    monkeypatch.setattr(bench_counting, "has_torch_device", lambda: False)
    monkeypatch.setattr(bench_counting, "silence_table", lambda runs: iter(["silence"]))
    assert bench.main(["counting", "--quick"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"^CuPy: array code +[\d.]+ .?s ± *\d+% +[\d.]+ .?s ± *\d+% +[+-][\d.]+%$", out, re.MULTILINE
    )
    assert bench_counting.NO_DEVICE in out and "silence" in out


def test_a_check_is_not_counted():
    from host_to_device import check
    from host_to_device.standins import numba_cuda as cuda

    @cuda.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    with counting.count() as c:
        assert check(add_one)[1, 32](np.zeros(5))
        assert c.as_dict() == NOTHING
        events.allocated(1)
    assert c.allocations == 1, "it listens again afterwards"
