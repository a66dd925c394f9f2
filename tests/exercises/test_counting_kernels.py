"""What exercises count of a kernel besides its result: sectors a request, accesses, and the types it computes in."""

import functools
import math
import textwrap

import numpy as np
import pytest

from host_to_device.exercises import (
    Out,
    Wrong,
    inputs,
    judge_banks,
    judge_float32,
    judge_requests,
    judge_sectors,
    run_kernel,
    run_notes,
    seen_launches,
    values,
    wide_operations,
)
from host_to_device.starting import machine


@pytest.fixture(scope="module", autouse=True)
def stand_in():
    """Kernels are made and run on the stand-in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("H2D_MACHINE", "stand-in")
        machine.start()
        yield


# -- sectors


@functools.cache
def copies():
    """Return two kernels that copy a table: along its rows, and down its columns."""
    from numba import cuda

    @cuda.jit
    def along(x, out):
        column, row = cuda.grid(2)
        if row < out.shape[0] and column < out.shape[1]:
            out[row, column] = x[row, column]

    @cuda.jit
    def down(x, out):
        row, column = cuda.grid(2)
        if row < out.shape[0] and column < out.shape[1]:
            out[row, column] = x[row, column]

    return along, down


def noted(kernel, shape, block=(32, 4)):
    x = inputs.distinct(shape)
    return run_notes(kernel, (x, Out(x.shape)), [math.ceil(64 / block[0]), math.ceil(16 / block[1])], block)


def test_a_table_along_its_rows_takes_four_sectors_a_request():
    got = noted(copies()[0], (16, 64))
    assert got["accesses"] == 2 * 16 * 64
    assert sorted(got["sectors"], key=lambda each: each["place"]) == [
        {"place": place, "name": name, "access": access, "requests": 32, "sectors": 128.0}
        for place, name, access in ((0, "x", "read"), (1, "out", "write"))
    ]
    judge_sectors(got, 4)
    with pytest.raises(Wrong, match="take 4 sectors a memory request; at most 3 are allowed"):
        judge_sectors(got, 3)


def test_a_table_down_its_columns_takes_a_sector_for_each_lane():
    got = noted(copies()[1], (64, 16))
    with pytest.raises(
        Wrong, match=r"the (reads of x|writes of out) take 32 sectors a memory request"
    ) as problem:
        judge_sectors(got, 8, "Turn it.")
    assert problem.value.hint == "Turn it."


def test_the_worst_of_several_arrays_is_judged():
    from numba import cuda

    @cuda.jit
    def turned(x, out):
        column, row = cuda.grid(2)
        if row < out.shape[0] and column < out.shape[1]:
            out[row, column] = x[column, row]

    with pytest.raises(Wrong, match="the reads of x take 32 sectors"):
        judge_sectors(noted(turned, (64, 64)), 8)


def test_several_lines_are_one_figure():
    from numba import cuda

    @cuda.jit
    def twice(x, out):
        i = cuda.grid(1)
        out[i] = x[i]
        out[i] += x[2 * i]

    x = inputs.distinct(64)
    got = run_notes(twice, (x, Out(32)), 1, 32)
    reads = {each["name"]: each for each in got["sectors"] if each["access"] == "read"}
    assert (reads["x"]["requests"], reads["x"]["sectors"]) == (2, 4 + 8)
    judge_sectors(got, 6)


def test_a_kernel_that_touches_nothing_needs_no_sectors():
    from numba import cuda

    @cuda.jit
    def nothing(x, out):
        pass

    got = run_notes(nothing, (inputs.distinct(8), Out(8)), 1, 32)
    assert got == {"accesses": 0, "sectors": [], "banks": []}
    judge_sectors(got, 0)
    judge_banks(got)
    judge_requests(got, 0, "read", 0)


def test_requests_of_several_lines_are_judged_together():
    from numba import cuda

    @cuda.jit
    def pairs(x, out):
        i = cuda.grid(1)
        out[i] = x[i]
        out[i] += x[i + 1]

    got = run_notes(pairs, (inputs.distinct(129), Out(128)), 2, 64)
    judge_requests(got, 0, "read", 8, least=8)
    with pytest.raises(Wrong, match="the reads of x make 8 memory requests, but 7 are enough") as problem:
        judge_requests(got, 0, "read", 7, "Share them.")
    assert problem.value.hint == "Share them."
    with pytest.raises(Wrong, match="the reads of x make 8 memory requests, but 9 are needed"):
        judge_requests(got, 0, "read", 20, least=9)
    with pytest.raises(Wrong, match="the atomics on argument 2 make 0 memory requests, but 1 are needed"):
        judge_requests(got, 1, "atomic", 20, least=1)


@functools.cache
def turns():
    """Return two kernels that turn a square in shared memory around: with rows of 32 words, and of 33."""
    from numba import cuda

    @cuda.jit
    def square(x, out):
        tile = cuda.shared.array((32, 32), np.float32)
        column, row = cuda.grid(2)
        tile[row, column] = x[row, column]
        cuda.syncthreads()
        out[row, column] = tile[column, row]

    @cuda.jit
    def padded(x, out):
        tile = cuda.shared.array((32, 33), np.float32)
        column, row = cuda.grid(2)
        tile[row, column] = x[row, column]
        cuda.syncthreads()
        out[row, column] = tile[column, row]

    return square, padded


def test_a_column_of_a_square_tile_is_one_bank():
    x = inputs.distinct((32, 32))
    got = run_notes(turns()[0], (x, Out(x.shape)), 1, (32, 32))
    banks = {each["access"]: each for each in got["banks"]}
    assert (banks["write"]["requests"], banks["write"]["ways"]) == (32, 32)
    assert (banks["read"]["requests"], banks["read"]["ways"]) == (32, 32 * 32)
    with pytest.raises(
        Wrong,
        match="the reads of tile in shared memory take 32 turns a memory request on average, but 1 is enough",
    ) as problem:
        judge_banks(got, hint="Pad it.")
    assert problem.value.hint == "Pad it."
    with pytest.raises(Wrong, match="at most 16 are allowed"):
        judge_banks(got, 16)
    judge_banks(got, 32)


def test_a_padded_tile_has_no_bank_conflicts():
    x = inputs.distinct((32, 32))
    judge_banks(run_notes(turns()[1], (x, Out(x.shape)), 1, (32, 32)))


def test_a_kernel_that_is_launched_interpreted_gives_the_same():
    x = inputs.distinct((32, 32))
    given = turns()[1], (x, Out(x.shape, x.dtype)), 1, (32, 32)
    compiled, interpreted = (run_kernel(*given, interpreted=each) for each in (False, True))
    assert compiled["findings"] == interpreted["findings"] == []
    for one, other in zip(compiled["whole"], interpreted["whole"], strict=True):
        assert one[0].tobytes() == other[0].tobytes()


def test_what_was_noted_is_plain():
    got = noted(copies()[0], (3, 5))
    assert values.unpacked(values.packed(got)) == got


# -- launches


def notebook():
    """Return the names of a notebook with two kernels and a function that launches them."""
    from numba import cuda

    source = """
    def launch(x):
        d_x = cuda.to_device(x)
        for _ in range(2):
            along[(1, 1), (32, 2)](d_x, cuda.device_array(x.shape, np.int32))
        again = down
        again[1, (32, 2)](d_x, cuda.device_array_like(d_x))
        return along.py_func.__name__
    """
    names = dict(zip(("along", "down"), copies(), strict=True)) | {"cuda": cuda, "np": np}
    exec(textwrap.dedent(source), names)
    return names


def test_launches_are_seen_with_their_kernels_and_dtypes():
    names = notebook()
    with seen_launches(names["launch"], "along", "down") as seen:
        assert names["launch"](inputs.distinct((2, 32))) == "along"
    waits = [each.pop("waits") for each in seen]
    assert waits[0] == waits[-1], "no launch waits"
    assert seen == [
        {"kernel": "along", "arguments": ["float32", "int32"], "numbers": [], "blocks": 1, "threads": 64},
        {"kernel": "along", "arguments": ["float32", "int32"], "numbers": [], "blocks": 1, "threads": 64},
        {"kernel": "down", "arguments": ["float32", "float32"], "numbers": [], "blocks": 1, "threads": 64},
    ]


def test_waits_between_launches_are_seen_and_launches_can_be_left_out():
    names = notebook()
    exec(
        "def twice(x):\n    d_x, d_y = cuda.to_device(x), cuda.to_device(0 * x)\n    for _ in range(2):\n"
        "        along[1, 64](d_x, d_y)\n        cuda.synchronize()\n    return d_y.copy_to_host()",
        names,
    )
    x = inputs.distinct((2, 32))
    with seen_launches(names["twice"], "along", "gone", runs=False) as seen:
        assert not names["twice"](x).any()
    assert seen[1]["waits"] - seen[0]["waits"] == 1
    assert names["twice"](x).any()
    with seen_launches(len, "along") as seen:
        pass
    assert seen == []


def test_a_launch_that_fails_is_seen_and_the_kernels_come_back():
    names = notebook()
    before = dict(names)
    with pytest.raises(TypeError, match="argument"), seen_launches(names["launch"], "along") as seen:
        names["along"][1, 32](np.float32(1))
    assert names == before
    assert [each["arguments"] for each in seen] == [["float32"]]


def test_a_raw_kernel_is_seen_with_its_numbers_also_when_its_arguments_have_names():
    cp = pytest.importorskip("cupy")
    code = 'extern "C" __global__ void fill(float* x, float value, int n) { if (threadIdx.x < n) x[threadIdx.x] = value; }'
    names = {"fill": cp.RawKernel(code, "fill"), "cp": cp, "np": np}
    exec(
        "def launch(x):\n    fill(grid=(1,), block=(4,), args=(x, np.float32(2.5), np.array(3, np.int32)))\n"
        "    return cp.asnumpy(x).tolist()",
        names,
    )
    with seen_launches(names["launch"], "fill") as seen:
        assert names["launch"](cp.zeros(4, np.float32)) == [2.5, 2.5, 2.5, 0]
    assert [each["numbers"] for each in seen] == [[2.5, 3]]


# -- types


def device_function(source, **names):
    """Return the last device function of a source text, as a notebook cell would define it."""
    import linecache

    from numba import cuda

    source = textwrap.dedent(source)
    linecache.cache["<types>"] = (len(source), None, source.splitlines(True), "<types>")
    names |= {"cuda": cuda, "np": np, "math": math, "__name__": "__main__"}
    exec(compile(source, "<types>", "exec"), names)
    return names["f"]


def types_of(body, *arguments, **names):
    source = f"@cuda.jit(device=True)\ndef f(x, i):\n    return {body}\n"
    return wide_operations(device_function(source, **names), arguments or ("float32", "int64"))


@pytest.mark.parametrize(
    "body",
    [
        "x * x + x",
        "np.float32(0.5) * x",
        "HALF * x",
        "math.tanh(x)",
        "np.float32(i) * x",
        "x ** 3",
        "i * 3 - 1",
        "x if x > i else -x",
        "np.float32(2595 / math.log(10)) * x",  # the compiler divides
    ],
)
def test_what_stays_narrow_is_not_named(body):
    assert types_of(body, HALF=np.float32(0.5))["operations"] == []


@pytest.mark.parametrize(
    ("body", "operands"),
    [
        ("0.5 * x", ["constant float64", "float32"]),
        ("HALF * x", ["constant float64", "float32"]),
        ("2 * x", ["int64", "float32"]),
        ("i * x", ["int64", "float32"]),
        ("i / 2", ["int64", "int64"]),
        ("np.float32(0.5 * x)", ["constant float64", "float32"]),
        ("math.exp(i)", ["int64"]),
        ("x / (2595 / math.log(10))", ["float32", "constant float64"]),
    ],
)
def test_where_float64_begins_is_named_with_its_line_and_types(body, operands):
    found = types_of(body, HALF=0.5)["operations"]
    assert [(each["type"], each["operands"]) for each in found] == [("float64", operands)]
    assert found[0]["line"] == f"     3 | return {body}"


def test_the_type_of_the_result_is_told():
    assert types_of("np.float32(0.5 * x)")["result"] == "float32"
    assert types_of("0.5 * x")["result"] == "float64"


def test_a_device_function_that_is_called_is_looked_at_too():
    source = """
    @cuda.jit(device=True)
    def inner(x):
        return np.float32(2 * x)

    @cuda.jit(device=True)
    def f(x):
        return inner(x) + x
    """
    found = wide_operations(device_function(source), ["float32"])
    assert found["result"] == "float32"
    assert [each["line"] for each in found["operations"]] == ["     4 | return np.float32(2 * x)"]


def test_a_function_that_calls_itself_by_another_one_ends():
    source = """
    @cuda.jit(device=True)
    def other(x):
        return f(x)

    @cuda.jit(device=True)
    def f(x):
        return other(x)
    """
    assert wide_operations(device_function(source), ["float32"]) == {"result": None, "operations": None}


def test_a_kernel_is_looked_at_with_its_tiles_barriers_and_device_functions():
    source = """
    @cuda.jit(device=True)
    def at(x, i):
        return x[i] if i < x.size else {zero}

    @cuda.jit
    def f(x, out):
        tile = cuda.shared.array((4, 8), dtype=np.float32)
        column, row = cuda.grid(2)
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = at(x, row)
        cuda.syncthreads()
        total = {start}
        for k in range(cuda.blockDim.x):
            total += tile[cuda.threadIdx.y, k]
        cuda.atomic.add(out, row, max(total, {zero}))
    """

    def found(start, zero):
        kernel = device_function(source.format(start=start, zero=zero))
        return wide_operations(kernel, ["float32[:]", "float32[:]"])

    narrow = found("np.float32(0)", "np.float32(0)")
    assert narrow == {"result": "none", "operations": []}
    judge_float32("f", narrow)
    judge_float32("f", {"result": None, "operations": None})
    wide = found("0", "np.float32(0)")
    assert "total += tile[cuda.threadIdx.y, k]" in wide["operations"][0]["line"]
    with pytest.raises(Wrong, match="f computes in float64, from float32 and float64") as refused:
        judge_float32("f", wide)
    assert "np.float32(0)" in refused.value.hint
    with pytest.raises(Wrong, match=r"f computes in float64$") as refused:
        judge_float32("f", found("np.float32(0)", "0"), "Convert.")
    assert refused.value.hint == "Convert."
    assert "at(x, row)" in refused.value.lines[0]


def test_what_only_a_gpu_has_types_for_is_not_judged():
    unknown = {"result": None, "operations": None}
    assert types_of("x + cuda.laneid") == unknown
    assert types_of("x.shape") == unknown


def test_no_float64_hides_behind_a_complex_number():
    assert [each["type"] for each in types_of("x * 1j")["operations"]] == ["complex128"]
