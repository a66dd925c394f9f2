"""Notes count what a warp does: streams of accesses whose figures are known by hand, and real functions traced."""

import sys

import pytest

from host_to_device.checking import notes as module
from host_to_device.checking.notes import Note, Notes, conflict_ways, line_events, loops_around, sectors

FILE = "kernel.py"
HERE = (FILE, 5)


def feed(notes, addresses, *, size=4, space="global", kind="read", name="a", place=HERE, block=0):
    """Let every thread make its accesses, one thread after another; `addresses` gives a thread's list, in bytes."""
    for thread in range(notes.threads):
        for address in addresses(thread):
            notes.access(place, kind, space, name, address, size, block, thread)


def only(notes, kind):
    found = [note for note in notes.result() if note.kind == kind]
    assert len(found) == 1, found
    return found[0]


# -- sectors a request


@pytest.mark.parametrize(
    "address, size, expected, ideal",
    [
        (lambda t: 4 * t, 4, 4, 4),  # contiguous float32
        (lambda t: 4 * (31 - t), 4, 4, 4),  # backwards: the order of the lanes does not matter
        (lambda t: 8 * t, 4, 8, 4),  # stride 2
        (lambda t: 128 * t, 4, 32, 4),  # stride 32
        (lambda t: 4 * (t + 1), 4, 5, 4),  # misaligned by one float
        (lambda t: 4 * (t + 8), 4, 4, 4),  # shifted by a whole sector
        (lambda t: 0, 4, 1, 1),  # broadcast
        (lambda t: 128 * (t // 16), 4, 2, 1),  # two elements, far apart
        (lambda t: 8 * t, 8, 8, 8),  # contiguous float64
        (lambda t: t, 1, 1, 1),  # contiguous bytes
        (lambda t: 64 * t, 64, 64, 64),  # elements wider than a sector
        (lambda t: 24 * t, 24, 24, 24),  # elements across the border of sectors
    ],
)
def test_sectors_of_one_request(address, size, expected, ideal):
    notes = Notes(threads=32)
    feed(notes, lambda t: [address(t)], size=size)
    note = only(notes, "sectors a request")
    assert (note.number, note.ideal, note.worst, note.requests) == (expected, ideal, expected, 1)
    assert (note.file, note.line, note.array, note.access) == (FILE, 5, "a", "read")


def test_half_a_warp_needs_half_the_sectors():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t] if t < 16 else [])
    note = only(notes, "sectors a request")
    assert (note.number, note.ideal, note.requests) == (2, 2, 1)


def test_every_second_lane_touches_all_the_sectors():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t] if t % 2 else [])
    note = only(notes, "sectors a request")
    assert (note.number, note.ideal) == (4, 2)
    assert "4 sectors a memory request, 2 would be enough" in note.text


def test_overlapping_elements_never_make_the_ideal_worse_than_the_fact():
    assert sectors([0, 1, 2, 3, 4, 5, 6, 7, 8], 4) == (1, 1)


def test_each_warp_and_each_block_makes_its_own_requests():
    notes = Notes(threads=64)
    for block in range(3):
        feed(notes, lambda t, block=block: [4 * (64 * block + t)], block=block)
        notes.end_of_block(block)
    note = only(notes, "sectors a request")
    assert (note.number, note.requests) == (4, 6)


def test_mean_and_worst_over_requests_that_differ():
    notes = Notes(threads=64)
    feed(notes, lambda t: [4 * t if t < 32 else 128 * t])
    note = only(notes, "sectors a request")
    assert (note.number, note.ideal, note.worst, note.requests) == (18, 4, 32, 2)
    assert "2 requests, 32 at worst" in note.text


def test_arrays_of_one_line_are_requests_of_their_own():
    """`out[i] = a[i] + b[2 * i]`."""
    notes = Notes(threads=32)
    for t in range(32):
        notes.access(HERE, "read", "global", "a", 4 * t, 4, 0, t)
        notes.access(HERE, "read", "global", "b", 8 * t, 4, 0, t)
        notes.access(HERE, "write", "global", "out", 4 * t, 4, 0, t)
    found = [(note.array, note.access, note.number, note.requests) for note in notes.result()]
    assert found == [("a", "read", 4, 1), ("b", "read", 8, 1), ("out", "write", 4, 1)]


def test_two_elements_of_one_array_at_one_line_are_two_requests():
    """`a[i] + a[i + 1]`: 4 sectors and 5, and not 5 together."""
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t, 4 * t + 4])
    note = only(notes, "sectors a request")
    assert (note.number, note.ideal, note.worst, note.requests) == (4.5, 4, 5, 2)


def test_what_one_line_reads_and_writes_of_one_array_is_kept_apart():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t])
    feed(notes, lambda t: [128 * t], kind="write")
    feed(notes, lambda t: [0], kind="atomic")
    assert [(note.access, note.number) for note in notes.result()] == [
        ("atomic", 1),
        ("read", 4),
        ("write", 32),
    ]


def test_iterations_of_a_loop_are_requests_of_their_own():
    """Row by row, neighbours read a column: 32 rows of 32 floats, 32 sectors at each of 8 steps."""
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * (32 * t + k) for k in range(8)])
    note = only(notes, "sectors a request")
    assert (note.number, note.requests) == (32, 8)


def test_lanes_that_leave_a_loop_earlier_do_not_disturb_the_others():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t + 128 * k for k in range(1 if t else 3)])
    note = only(notes, "sectors a request")
    assert (note.requests, note.number, note.worst) == (3, 2, 4)  # 4 + 1 + 1


def test_the_order_of_the_threads_does_not_matter():
    notes = Notes(threads=32)
    for thread in [*range(1, 32, 2), *range(30, -1, -2)]:
        for k in range(2):
            notes.access(HERE, "read", "global", "a", 4 * thread + 128 * k, 4, 0, thread)
    note = only(notes, "sectors a request")
    assert (note.number, note.requests) == (4, 2)


def test_a_barrier_keeps_requests_of_different_iterations_apart():
    """The down-sweep of a scan: one lane more at each step, and lane 0 at every step."""

    def steps(with_barriers):
        notes = Notes(threads=32)
        for k in range(4):
            for t in range(k + 1):
                notes.access(HERE, "read", "global", "a", 1024 * k + 4 * t, 4, 0, t)
            if with_barriers:
                notes.barrier(0)
        return only(notes, "sectors a request")

    assert (steps(True).number, steps(True).requests) == (1, 4)
    assert steps(False).number == 2.5  # lanes of different steps taken together: 4 + 3 + 2 + 1 sectors


def test_local_memory_is_left_out():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t], space="local")
    assert {note.kind for note in notes.result()} == set()


def test_a_warp_of_64_is_one_request():
    notes = Notes(warp=64, threads=64)
    feed(notes, lambda t: [4 * t])
    note = only(notes, "sectors a request")
    assert (note.number, note.requests) == (8, 1)


# -- what is kept


def open_requests(notes):
    gatherings = [each for block in notes._running.values() for each in block.gatherings.values()]
    return sum(len(each.open) for each in gatherings)


def test_a_request_is_folded_as_soon_as_its_last_lane_is_there():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t] if t < 31 else [])
    assert open_requests(notes) == 1
    notes.access(HERE, "read", "global", "a", 124, 4, 0, 31)
    assert open_requests(notes) == 0


def test_nothing_of_a_block_is_kept_after_its_end():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t] if t % 2 else [])
    notes.ran(HERE, 0, 3)
    notes.end_of_block(0)
    assert not notes._running


def test_a_long_loop_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "MOST_OPEN", 10)
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t + 128 * k for k in range(50)])
    assert open_requests(notes) == 0
    note = only(notes, "sectors a request")
    # None of the later occurrences either, for which only the last lane would have found room.
    assert (note.requests, note.number, note.partial) == (10, 4, True)
    assert "the first 10 requests" in note.text


def test_a_long_loop_with_barriers_is_not_cut(monkeypatch):
    monkeypatch.setattr(module, "MOST_OPEN", 10)
    notes = Notes(threads=32)
    for _ in range(50):
        feed(notes, lambda t: [4 * t] if t else [])
        notes.barrier(0)
    note = only(notes, "sectors a request")
    assert (note.requests, note.partial) == (50, False)


# -- bank conflicts


@pytest.mark.parametrize(
    "address, size, ways",
    [
        (lambda t: 4 * t, 4, 1),
        (lambda t: 8 * t, 4, 2),
        (lambda t: 12 * t, 4, 1),  # an odd stride
        (lambda t: 128 * t, 4, 32),
        (lambda t: 4 * 33 * t, 4, 1),  # a padded column
        (lambda t: 0, 4, 1),  # broadcast
        (lambda t: 128 * (t // 16), 4, 2),  # two words of one bank
        (lambda t: t, 1, 1),  # four lanes a word
        (lambda t: 2 * t, 2, 1),
        (lambda t: 8 * t, 8, 1),  # doubles: half a warp at a time
        (lambda t: 16 * t, 8, 2),
        (lambda t: 8 * 32 * t, 8, 16),  # a column of doubles: 16 lanes in the same two banks
        (lambda t: 8 * (t % 16) + 1024 * (t // 16), 8, 1),  # the halves do not conflict with each other
        (lambda t: 16 * t, 16, 1),  # complex128: a quarter at a time
    ],
)
def test_bank_conflicts_of_one_request(address, size, ways):
    notes = Notes(threads=32)
    feed(notes, lambda t: [address(t)], size=size, space="shared", name="tile")
    note = only(notes, "bank conflicts")
    assert (note.number, note.worst, note.ideal, note.requests) == (ways, ways, 1, 1)
    verdict = f"{ways}-way bank conflicts" if ways > 1 else "no bank conflicts"
    assert note.text == f"reads of tile in shared memory: {verdict} (1 request)"
    assert note.array == "tile"


def test_inactive_lanes_do_not_conflict():
    notes = Notes(threads=32)
    feed(notes, lambda t: [128 * t] if t < 3 else [], space="shared")
    assert only(notes, "bank conflicts").number == 3
    assert conflict_ways([None] * 32, 4) == 1


def test_mean_and_worst_conflict():
    notes = Notes(threads=64)
    feed(notes, lambda t: [4 * t if t < 32 else 128 * t], space="shared", kind="write")
    note = only(notes, "bank conflicts")
    assert (note.number, note.worst, note.requests) == (16.5, 32, 2)
    assert "writes of a in shared memory: 16.5-way bank conflicts on average, 32-way at worst" in note.text


def test_64_lanes_are_served_in_groups_that_fill_the_banks():
    notes = Notes(warp=64, threads=64)
    feed(notes, lambda t: [4 * t], space="shared")
    assert only(notes, "bank conflicts").number == 1


def test_global_accesses_have_no_banks_and_shared_ones_no_sectors():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t], place=(FILE, 1))
    feed(notes, lambda t: [4 * t], place=(FILE, 2), space="shared")
    assert [(note.kind, note.line) for note in notes.result()] == [
        ("sectors a request", 1),
        ("bank conflicts", 2),
    ]


# -- divergence


def run_lines(notes, lines, block=0):
    for thread in range(notes.threads):
        for line in lines(thread):
            notes.ran((FILE, line), block, thread)
    # No thread is idle: that is not what is asked here.
    feed(notes, lambda t: [0], place=(FILE, 99), block=block)


def divergence(notes):
    return {
        note.line: (note.number, note.ideal, note.requests)
        for note in notes.result()
        if note.kind == "divergence"
    }


def test_odd_and_even_threads_diverge():
    notes = Notes(threads=64)
    run_lines(notes, lambda t: [1, 2 if t % 2 else 3, 4])
    assert divergence(notes) == {2: (16, 32, 2), 3: (16, 32, 2)}
    note = next(note for note in notes.result() if note.line == 2)
    assert note.text.startswith("16 of 32 lanes take part on average")
    assert "2 of 2 executions lack lanes; the fewest in one are 16" in note.text


def test_branches_of_whole_warps_do_not_diverge():
    notes = Notes(threads=128)
    run_lines(notes, lambda t: [1, 2 if t % 64 < 32 else 3, 4])
    assert divergence(notes) == {}


def test_the_same_branch_diverges_in_a_warp_of_64():
    notes = Notes(warp=64, threads=128)
    run_lines(notes, lambda t: [1, 2 if t % 64 < 32 else 3, 4])
    assert divergence(notes) == {2: (32, 64, 2), 3: (32, 64, 2)}


def test_lanes_that_do_not_exist_do_not_diverge():
    notes = Notes(threads=48)
    run_lines(notes, lambda t: [1])
    assert divergence(notes) == {}
    notes = Notes(threads=48)
    run_lines(notes, lambda t: [1] if t % 2 else [])
    assert divergence(notes) == {1: (12, 24, 2)}  # 16 of 32, and 8 of 16


def test_lanes_that_leave_a_loop_earlier_diverge():
    notes = Notes(threads=32)
    run_lines(notes, lambda t: [1] * (3 if t == 0 else 1))
    note = only(notes, "divergence")
    assert note.number == pytest.approx(34 / 3)
    assert (note.requests, note.ideal, note.worst) == (3, 32, 1)
    assert "2 of 3 executions" in note.text


def test_one_diverging_block_among_many_does_not_round_away():
    notes = Notes(threads=32)
    for block in range(1000):
        run_lines(notes, lambda t, block=block: [1] if t or block else [], block=block)
        notes.end_of_block(block)
    note = only(notes, "divergence")
    assert note.number == pytest.approx(31.999)
    assert note.text.startswith("about 32 of 32 lanes")
    assert "1 of 1,000 executions" in note.text


def test_a_barrier_tells_iterations_apart():
    """`if (t + k) % 2` around a line, k = 0, 1: every lane comes by once, half of them at a time."""
    for barrier, expected in ((True, {1: (16, 32, 2)}), (False, {})):
        notes = Notes(threads=32)
        for k in range(2):
            run_lines(notes, lambda t, k=k: [1] if (t + k) % 2 else [])
            if barrier:
                notes.barrier(0)
        assert divergence(notes) == expected


# -- idle threads


def test_threads_that_fail_the_guard_are_idle():
    """100 elements, 2 blocks of 64."""
    notes = Notes(threads=64)
    for block in range(2):
        feed(notes, lambda t, block=block: [4 * t] if 64 * block + t < 100 else [], block=block)
        notes.end_of_block(block)
    note = only(notes, "idle threads")
    assert (note.number, note.requests, note.line, note.file, note.array) == (28, 128, None, "", "")
    assert note.text == "28 of 128 threads read and write nothing in global memory, in 1 of 2 blocks"


def test_a_block_that_did_nothing_is_idle_and_shared_memory_is_no_work():
    notes = Notes(threads=32)
    feed(notes, lambda t: [4 * t], space="shared", block=0)
    notes.end_of_block(0)
    notes.end_of_block(1)
    assert only(notes, "idle threads").number == 64


@pytest.mark.parametrize("kind", ["read", "write", "atomic"])
def test_a_single_access_is_enough_not_to_be_idle(kind):
    notes = Notes(threads=32)
    feed(notes, lambda t: [0], kind=kind)
    assert [note.kind for note in notes.result()] == ["sectors a request"]


def test_a_block_that_is_no_multiple_of_the_warp_has_idle_lanes():
    notes = Notes(threads=48)
    for block in range(3):
        feed(notes, lambda t: [4 * t], block=block)
        notes.end_of_block(block)
    note = only(notes, "idle threads")
    assert (note.number, note.requests) == (48, 192)
    assert note.text.startswith("16 of the 64 lanes of each block have no thread")
    # The half warp is a whole request of its own, and not one that waits for more lanes: 4 sectors and 2.
    note = only(notes, "sectors a request")
    assert (note.number, note.requests, note.worst) == (3, 6, 4)
    assert note.text.endswith("3 sectors a memory request, the minimum for these bytes (6 requests)")


def test_a_half_warp_is_complete_with_the_lanes_that_exist():
    notes = Notes(threads=48)
    feed(notes, lambda t: [4 * t])
    assert open_requests(notes) == 0


# -- the result


def test_nothing_seen_gives_nothing():
    assert Notes(threads=48).result() == ()


def test_notes_come_by_line_then_kind_and_those_of_the_launch_last():
    notes = Notes(threads=48)
    feed(notes, lambda t: [4 * t] if t else [], place=(FILE, 9), name="b")
    feed(notes, lambda t: [4 * t] if t else [], place=(FILE, 9), name="a")
    feed(notes, lambda t: [4 * t], place=(FILE, 9), name="z", space="shared")
    feed(notes, lambda t: [4 * t], place=(FILE, 2), space="shared")
    for thread in range(1, 48):
        notes.ran((FILE, 9), 0, thread)
        notes.ran((FILE, 1), 0, thread)
    result = notes.result()
    assert [(note.line, note.kind, note.array) for note in result] == [
        (1, "divergence", ""),
        (2, "bank conflicts", "a"),
        (9, "bank conflicts", "z"),
        (9, "divergence", ""),
        (9, "sectors a request", "a"),
        (9, "sectors a request", "b"),
        (None, "idle threads", ""),
        (None, "idle threads", ""),
    ]
    assert all(type(note) is Note and type(note.number) is float and note.text for note in result)
    assert notes.result() == result


# -- line events, from real functions

SOURCE = """\
def kernel(t, out):
    if t % 2:
        out.append(t)
    yield
    total = 0
    for k in range(t):
        total += k
    yield
    helper(t)

def helper(t):
    return t

def plain(t):
    return (
        t
    )
"""


@pytest.fixture
def space():
    found = {}
    exec(compile(SOURCE, FILE, "exec"), found)
    return found


class Recorder:
    """Takes the place of `Notes` and remembers the events."""

    def __init__(self):
        self.events = []

    def ran(self, place, block, thread):
        self.events.append((place, block, thread))

    def lines(self):
        return [place[1] for place, _, _ in self.events]


@pytest.fixture(autouse=True)
def tracer():
    """Begin each test without a tracer, and put one that is there (coverage's) back."""
    before = sys.gettrace()
    sys.settrace(None)
    yield
    left = sys.gettrace()
    sys.settrace(before)
    assert left is None


def test_lines_of_a_generator_are_told_with_its_thread(space):
    recorder = Recorder()
    with line_events(recorder, [FILE], lambda: (7, 3)):
        for _ in space["kernel"](3, []):
            pass
    assert recorder.lines() == [2, 3, 4, 5, 6, 7, 6, 7, 6, 7, 6, 8, 9, 12]
    assert set(recorder.events) == {((FILE, line), 7, 3) for line in (2, 3, 4, 5, 6, 7, 8, 9, 12)}
    assert sys.gettrace() is None


def test_a_generator_begun_before_and_ended_after_is_traced_in_between(space):
    recorder = Recorder()
    generator = space["kernel"](1, [])
    next(generator)
    with line_events(recorder, [FILE], lambda: (0, 0)):
        next(generator)
    list(generator)
    assert recorder.lines() == [5, 6, 7, 6, 8]


def test_other_files_are_not_traced(space):
    recorder = Recorder()
    frames = []

    def elsewhere():
        frames.append(sys._getframe())
        return space["plain"](1)

    with line_events(recorder, [FILE], lambda: (0, 0)):
        elsewhere()
    assert {place[0] for place, _, _ in recorder.events} == {FILE}
    assert frames[0].f_trace is None  # not even its lines were looked at


def test_the_tracer_goes_even_after_an_error(space):
    with pytest.raises(ZeroDivisionError), line_events(Recorder(), [FILE], lambda: (0, 0)):
        _ = 1 / 0
    assert sys.gettrace() is None


def test_a_tracer_that_is_there_keeps_its_events_and_comes_back(space):
    seen = []

    def other(frame, event, _):
        if frame.f_code.co_filename == FILE:
            seen.append((event, frame.f_lineno))
        return other

    recorder = Recorder()
    sys.settrace(other)
    try:
        list(space["kernel"](1, []))
        alone, seen[:] = seen[:], []
        with line_events(recorder, [FILE], lambda: (0, 0)):
            list(space["kernel"](1, []))
        together, seen[:] = seen[:], []
        after = sys.gettrace()
        space["plain"](1)
    finally:
        sys.settrace(None)
    assert together == alone != []
    assert recorder.lines() == [2, 3, 4, 5, 6, 7, 6, 8, 9, 12]
    assert after is other
    assert seen


def test_a_tracer_that_is_there_keeps_the_lines_of_other_files_too():
    seen = []

    def elsewhere():
        return 1

    def other(frame, event, _):
        if frame.f_code is elsewhere.__code__:
            seen.append(event)
        return other

    sys.settrace(other)
    try:
        with line_events(Recorder(), [FILE], lambda: (0, 0)):
            elsewhere()
    finally:
        sys.settrace(None)
    assert seen == ["call", "line", "return"]


def test_a_tracer_that_installs_itself_when_called_does_not_push_the_lines_out(space):
    """Coverage's tracer in C does so."""

    def other(frame, event, _):
        if event == "call":
            sys.settrace(other)
        return None

    recorder = Recorder()
    sys.settrace(other)
    try:
        with line_events(recorder, [FILE], lambda: (0, 0)):
            space["helper"](1)
            space["helper"](1)
        after = sys.gettrace()
    finally:
        sys.settrace(None)
    assert recorder.lines() == [12, 12]
    assert after is other


IN_TURN = """\
def kernel(t, read):
    for lane in range(32):
        if t == lane:
            read(t)

def two_a_round(t, read):
    for k in range(t % 2, 4, 2):
        read(t); read(t)
"""


@pytest.mark.parametrize(
    ("name", "line", "requests", "number"), [("kernel", 4, 32, 1), ("two_a_round", 8, 4, 4)]
)
def test_accesses_in_different_iterations_are_requests_of_their_own(
    monkeypatch, name, line, requests, number
):
    """32 lanes that read one after another make 32 requests, and two reads an iteration are two of each iteration."""
    monkeypatch.setattr("linecache.getlines", lambda file: IN_TURN.splitlines(keepends=True))
    found, notes, turn = {}, Notes(threads=32), [0, 0]
    exec(compile(IN_TURN, FILE, "exec"), found)
    with line_events(notes, [FILE], lambda: tuple(turn)):
        for turn[1] in range(32):
            found[name](turn[1], lambda t: notes.access((FILE, line), "read", "global", "x", 4 * t, 4, 0, t))
    note = only(notes, "sectors a request")
    assert (note.requests, note.number) == (requests, number)


def test_the_innermost_loop_around_a_line_is_found_in_python_only():
    source = "for i in a:\n    for j in b:\n        x\n    y\nwhile c: z\nw\n"
    assert loops_around(source) == {2: 1, 3: 2, 4: 1}
    assert loops_around("for (int i = 0; i < n; i++)\n    x[i] = 0;\n") == {}


def test_a_warp_of_real_generators_gives_its_divergence(space):
    notes = Notes(threads=32)
    turn = [0, 0]
    threads = [space["kernel"](t % 2, []) for t in range(32)]
    with line_events(notes, [FILE], lambda: tuple(turn)):
        for _ in range(3):  # from barrier to barrier
            for turn[1], generator in enumerate(threads):
                next(generator, None)
            notes.barrier(0)
    # Line 6, the head of the loop, is run once by all lanes and a second time by those that had an iteration.
    assert divergence(notes) == {3: (16, 32, 1), 6: (24, 32, 2), 7: (16, 32, 1)}
