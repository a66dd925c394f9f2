"""Which thread touched which element: what `touches` sees of right and wrong kernels, and how it is said and drawn."""

import re
import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pytest
from numba import cuda

from host_to_device.exercises import safety
from host_to_device.exercises.student_runs import InOut, Out
from host_to_device.exercises.touches import picture, touches, words
from host_to_device.exercises.values import packed, unpacked


@cuda.jit
def guarded(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + 10


@cuda.jit
def unguarded(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + 10


@cuda.jit
def offset(x, out):
    i = cuda.grid(1)
    if i + 1 < out.size:
        out[i + 1] = x[i]


@cuda.jit
def before(x, out):
    i = cuda.grid(1)
    out[i - 1] = x[i]


@cuda.jit
def clamped(x, out):
    i = min(cuda.grid(1), out.size - 1)
    out[i] = x[i] + 10


@cuda.jit
def alone(x, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = x[i] + 10


@cuda.jit
def striding(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i]


@cuda.jit
def backwards(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[out.size - 1 - i] = x[i]


@cuda.jit
def by_threads(x, out):
    i = cuda.threadIdx.x
    out[i] = x[i]


@cuda.jit
def counting(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, int(x[i]), 1)


@cuda.jit
def totalling(x, out):
    i = cuda.threadIdx.x
    if i == 0:
        out[0] = x[0]
    cuda.syncthreads()
    if i == 1:
        out[0] = out[0] + x[1]


@cuda.jit
def failing(x, out):
    i = cuda.grid(1)
    out[i] = 12 // (3 - i)


@cuda.jit
def unending(x, out):
    i = cuda.grid(1)
    out[i] = x[i]
    while i == 2:
        out[i] += 1


@cuda.jit
def mirrored(x, out):
    i = cuda.grid(1)
    out[-i - 1] = x[i]


@cuda.jit
def unwritten(x, out):
    raise NotImplementedError


@cuda.jit
def nothing(x, out):
    pass


@cuda.jit
def across(x, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j]


@cuda.jit
def turned(x, out):
    i, j = cuda.grid(2)
    out[i, j] = x[i, j]


X5, ROWS = np.arange(5, dtype=np.float32), np.zeros((3, 4), np.float32)
HEAD = "8 threads, 5 elements of out: "
# Kernel, input, output, grid, block, and the line of text.
CASES = {
    "guard": (
        (guarded, X5, Out(5), 2, 4),
        HEAD + "threads 0 to 4 write their own elements; threads 5 to 7 write nothing.",
    ),
    "no guard": (
        (unguarded, X5, Out(5), 2, 4),
        HEAD + "threads 0 to 4 write their own elements; "
        "threads 5 to 7 write beyond the end of out, at indices 5 to 7; threads 5 to 7 read outside the array x.",
    ),
    "offset": (
        (offset, X5, Out(5), 2, 4),
        HEAD
        + "threads 0 to 3 write elements 1 to 4; threads 4 to 7 write nothing; no thread writes element 0.",
    ),
    "before the start": (
        (before, X5, Out(5), 1, 5),
        "5 threads, 5 elements of out: threads 1 to 4 write elements 0 to 3; "
        "thread 0 writes before the start of out, at index -1, which Numba counts from the end.",
    ),
    "backwards before the start": (
        (mirrored, X5, Out(5), 1, 3),
        "3 threads, 5 elements of out: threads 0 to 2 write before the start of out, at indices -1 to -3, "
        "which Numba counts from the end; no thread writes elements 0 and 1.",
    ),
    "clamped": (
        (clamped, X5, Out(5), 2, 4),
        HEAD + "threads 0 to 4 write their own elements; threads 5 to 7 all write element 4; "
        "element 4 is written by 4 threads.",
    ),
    "alone": (
        (alone, X5, Out(5), 2, 4),
        HEAD + "thread 0 writes elements 0 to 4; threads 1 to 7 write nothing.",
    ),
    "grid too small": (
        (guarded, X5, Out(5), 1, 3),
        "3 threads, 5 elements of out: threads 0 to 2 write their own elements; "
        "no thread writes elements 3 and 4.",
    ),
    "striding": (
        (striding, X5, Out(5), 1, 2),
        "2 threads, 5 elements of out: thread 0 writes elements 0, 2 and 4; thread 1 writes elements 1 and 3.",
    ),
    "backwards": (
        (backwards, X5, Out(5), 5, 1),
        "5 threads, 5 elements of out: thread 2 writes its own element; "
        "threads 0, 1, 3 and 4 write elements 4, 3, 1 and 0.",
    ),
    "every block alike": (
        (by_threads, X5, Out(5), 2, 4),
        HEAD + "threads 0 to 3 write their own elements; threads 4 to 7 write elements 0 to 3; "
        "no thread writes element 4; elements 0 to 3 are written by 2 threads each.",
    ),
    "atomics": (
        (counting, np.array([0, 1, 1, 1]), InOut(np.zeros(3, np.int32)), 1, 4),
        "4 threads, 3 elements of out: threads 0 and 1 write their own elements; threads 2 and 3 write element 1.",
    ),
    "a barrier between": (
        (totalling, X5, Out(1), 1, 3),
        "3 threads, 1 element of out: thread 0 writes its own element; thread 1 writes element 0; "
        "thread 2 writes nothing.",
    ),
    "exception": (
        (failing, X5, Out(5), 1, 5),
        "5 threads, 5 elements of out: threads 0 to 2 write their own elements; "
        "threads 3 and 4 write nothing before the kernel stopped; "
        "the kernel stopped: thread 3 of block 0 raises ZeroDivisionError: integer division or modulo by zero.",
    ),
    "no end": (
        (unending, X5, Out(5), 1, 5),
        "5 threads, 5 elements of out: threads 0 to 2 write their own elements; "
        "threads 3 and 4 write nothing before the kernel stopped; "
        "the kernel stopped: thread 2 of block 0 did not end.",
    ),
    "nothing": ((nothing, X5, Out(5), 2, 4), HEAD + "no thread writes an element."),
    "two dimensions": (
        (across, ROWS, Out((3, 4)), (2, 2), (3, 2)),
        "24 threads, 3 × 4 elements of out: 12 threads write out[y, x] at their own x and y; "
        "12 threads write nothing.",
    ),
    "two dimensions, turned": (
        (turned, ROWS, Out((3, 4)), (1, 1), (4, 4)),
        "16 threads, 3 × 4 elements of out: 12 threads write out[x, y] at their own x and y; "
        "4 threads write outside the array out, the first at out[3, 0]; 4 threads read outside the array x.",
    ),
    "many": (
        (unguarded, np.zeros(30), Out(30), 4, 8),
        "32 threads, 30 elements of out: threads 0 to 29 write their own elements; "
        "threads 30 and 31 write beyond the end of out, at indices 30 and 31; threads 30 and 31 read outside the array x.",
    ),
}


@cache
def of(name: str) -> dict:
    """Return what `touches` records of a case; its launch is stopped at its limit once."""
    (kernel, x, out, grid, block), _ = CASES[name]
    return touches(kernel, (x, out), grid, block)


@pytest.mark.parametrize("name", CASES)
def test_words_say_which_thread_writes_which_element(name):
    assert words(of(name)) == CASES[name][1]


@pytest.mark.parametrize("name", CASES)
def test_every_picture_is_an_svg_that_fits_a_telephone_and_has_its_words_as_alt_text(name):
    touched = of(name)
    drawn = ElementTree.fromstring(picture(touched))
    assert drawn.get("aria-label") == words(touched)
    assert float(drawn.get("viewBox").split()[2]) <= 360
    assert not [each for each in drawn.iter() if float(each.get("font-size", 12)) < 10]


def test_accesses_are_plain_values_in_the_order_of_threads():
    touched = of("no guard")
    assert unpacked(packed(touched)) == touched
    assert touched["grid"] == [2, 1]
    assert touched["block"] == [4, 1]
    out, x = touched["arrays"]["out"], touched["arrays"]["x"]
    assert (out["role"], x["role"]) == ("output", "input")
    assert out["writes"] == x["reads"] == [[k, k] for k in range(5)]
    assert out["reads"] == x["writes"] == out["atomics"] == out["clashes"] == []
    assert out["beyond"] == [[k, "write", k] for k in (5, 6, 7)]
    assert x["beyond"] == [[k, "read", k] for k in (5, 6, 7)]


def test_threads_that_touch_no_array_are_idle():
    assert of("guard")["idle"] == [5, 6, 7]
    # 2 × 2 blocks of 3 × 2 threads: block 1 has one column inside, block 2 one row, block 3 one thread.
    assert of("two dimensions")["idle"] == [7, 8, 10, 11, 15, 16, 17, *range(19, 24)]


def test_only_writes_that_nothing_orders_clash():
    assert of("every block alike")["arrays"]["out"]["clashes"] == [[0], [1], [2], [3]]
    assert of("a barrier between")["arrays"]["out"]["clashes"] == []
    assert of("atomics")["arrays"]["out"]["clashes"] == []
    assert of("atomics")["arrays"]["out"]["atomics"] == [[0, 0], [1, 1], [2, 1], [3, 1]]


def test_the_thread_that_stopped_the_launch_is_named():
    assert of("guard")["stopped"] is None
    assert of("exception")["stopped"]["thread"] == 3
    assert of("no end")["stopped"]["thread"] == 2


def test_no_argument_is_changed():
    x, out = np.arange(4.0), np.zeros(4)
    touches(unguarded, (x, InOut(out)), 1, 4)
    assert not out.any()


def test_what_has_no_picture_is_empty():
    assert touches(guarded, (X5, Out(5)), 3, 32) == {}  # 96 threads
    assert touches(guarded, (np.zeros(65), Out(5)), 1, 8) == {}
    assert touches(guarded, (X5, Out(5)), 1, (2, 2, 2)) == {}
    assert touches(unwritten, (X5, Out(5)), 1, 8) == {}
    assert touches(guarded, (X5,), 1, 8) == {}  # an argument is missing
    assert words({}) == picture({}) == ""
    assert words(of("guard"), "y") == picture(of("guard"), "y") == ""


def test_names_replace_those_of_the_parameters():
    touched = touches(guarded, (X5, Out(5)), 2, 4, ["a", "result"])
    assert words(touched, "result") == HEAD.replace("out", "result") + (
        "threads 0 to 4 write their own elements; threads 5 to 7 write nothing."
    )


def test_the_launch_ends_in_the_time_that_is_left():
    @cuda.jit
    def spinning(out):
        while True:
            pass

    touched = safety.within(1.0, touches, spinning, (Out(4),), 1, 4)
    assert touched["stopped"]["text"] == "thread 0 of block 0 did not end"


def test_unwritten_elements_are_hatched_in_outputs_only():
    assert "Hatched" in picture(of("grid too small"))
    assert "Hatched" not in picture(touches(guarded, (X5, InOut(X5)), 1, 3))
    assert "Hatched" not in picture(of("exception"))


def test_a_line_leads_from_each_thread_to_each_element_that_it_writes():
    assert len(re.findall("<circle", picture(of("no guard")))) == 8
    assert len(re.findall("<circle", picture(of("alone")))) == 5


def test_a_row_outside_the_array_is_no_element():
    @cuda.jit
    def in_parts(out):
        i = cuda.grid(1)
        out[i][0] = i

    touched = touches(in_parts, (Out((2, 2)),), 1, 3)
    assert touched["arrays"]["out"]["writes"] == [[0, 0, 0], [1, 1, 0]]
    assert touched["arrays"]["out"]["beyond"] == [[2, "read", 2]]
    assert picture(touched)


def test_indices_far_outside_are_counted():
    @cuda.jit
    def far(out):
        i = cuda.grid(1)
        out[100 * i] = i

    drawn = picture(touches(far, (Out(4),), 1, 12))
    assert "5 more indices outside the array written" in drawn
