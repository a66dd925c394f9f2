"""Streams and events of the stand-in. Rules: numba/cuda/cudadrv/driver.py and CUDA's driver API reference."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from host_to_device.standins.numba_cuda import streams as cuda
from host_to_device.standins.numba_cuda.devices import CudaAPIError


def test_streams_are_told_apart_by_number_and_name():
    # numba/cuda/cudadrv/driver.py, Stream.__repr__; CU_STREAM_LEGACY is 1, CU_STREAM_PER_THREAD 2.
    context = "<stand-in CUDA context of device 0>"
    assert repr(cuda.default_stream()) == f"<Default CUDA stream on {context}>"
    assert repr(cuda.legacy_default_stream()) == f"<Legacy default CUDA stream on {context}>"
    assert repr(cuda.per_thread_default_stream()) == f"<Per-thread default CUDA stream on {context}>"
    assert repr(cuda.external_stream(99)) == f"<External CUDA stream 99 on {context}>"
    first, second = cuda.stream(), cuda.stream()
    assert repr(first) == f"<CUDA stream {int(first)} on {context}>"
    assert int(first) != int(second) > 2
    assert [int(s) for s in (cuda.default_stream(), cuda.legacy_default_stream())] == [0, 1]


def test_every_stream_is_true_also_the_default_one():
    # Numba's Stream defines no truth value, so `if stream:` holds for any stream object.
    assert cuda.default_stream() and cuda.stream()


def test_external_streams_are_made_of_ints():
    with pytest.raises(TypeError, match="ptr for external stream must be an int"):
        cuda.external_stream("7")


def test_synchronizing_returns():
    stream = cuda.stream()
    assert cuda.synchronize() is None and stream.synchronize() is None
    with stream.auto_synchronize() as same:
        assert same is stream


def test_callbacks_run_with_stream_status_and_argument():
    calls, stream = [], cuda.stream()
    assert stream.add_callback(lambda *arguments: calls.append(arguments), "argument") is None
    assert calls == [(stream, 0, "argument")]


def test_an_exception_in_a_callback_becomes_a_warning():
    # numba/cuda/cudadrv/driver.py, Stream._stream_callback.
    with pytest.warns(UserWarning, match="Exception in stream callback: division by zero") as caught:
        cuda.stream().add_callback(lambda *_: 1 / 0)
    assert caught[0].filename == __file__


def test_a_stream_can_be_awaited():
    stream = cuda.stream()

    async def wait():
        return await stream.async_done()

    with ThreadPoolExecutor(1) as elsewhere:  # a browser test may have left a running loop in this thread
        assert elsewhere.submit(asyncio.run, wait()).result() is stream
        with pytest.raises(RuntimeError, match="no running event loop"):
            elsewhere.submit(stream.async_done).result()


def test_events_have_always_happened():
    # CUDA driver API: cuEventQuery and cuEventSynchronize succeed for an event that was never recorded.
    event = cuda.event()
    assert event.query() is True
    assert event.synchronize() is None and event.wait() is None
    assert event.record() is None and event.record(cuda.stream()) is None and event.record(stream=0) is None
    assert event.wait(cuda.stream()) is None and event.query() is True


def test_elapsed_time_is_the_hosts_in_milliseconds():
    start, end = cuda.event(), cuda.event()
    before = time.perf_counter()
    start.record()
    time.sleep(0.01)
    end.record()
    whole = (time.perf_counter() - before) * 1000
    elapsed = cuda.event_elapsed_time(start, end)
    assert type(elapsed) is float and 10 <= elapsed <= whole * 1.001
    assert start.elapsed_time(end) == elapsed
    assert end.elapsed_time(start) == -elapsed
    assert start.elapsed_time(start) == 0


@pytest.mark.parametrize(
    ("timing", "record", "cure"),
    [(True, (True, False), "record"), (True, (False, True), "record"), (False, (True, True), "timing=True")],
)
def test_elapsed_time_needs_two_recorded_events_with_timing(timing, record, cure):
    # CUDA driver API, cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400) in both cases.
    events = [cuda.event(timing=timing) for _ in record]
    for event, wanted in zip(events, record, strict=True):
        if wanted:
            event.record()
    with pytest.raises(CudaAPIError) as problem:
        cuda.event_elapsed_time(*events)
    words = "[400] Call to cuEventElapsedTime results in CUDA_ERROR_INVALID_HANDLE"
    assert str(problem.value).startswith(words) and cure in str(problem.value)
    assert problem.value.code == 400


def test_what_is_no_stream_is_refused():
    for use in (cuda.event().record, cuda.event().wait, cuda.check_stream):
        with pytest.raises(TypeError, match=r"give a stream made by cuda\.stream"):
            use(7)
    assert cuda.check_stream(0) is None and cuda.check_stream(None) is None
