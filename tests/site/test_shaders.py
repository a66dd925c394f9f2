"""The translator's shaders in a browser whose WebGPU computes on the CPU: their values equal the stand-in's.

Integers have to be equal. Floats may differ by what WGSL allows (`tests/corpora/shaders.py` says for each kernel how far),
because it lets a browser reorder and fuse sums, and bounds the errors of division, sqrt, exp and log in units in the last
place {WGSL, section 15.7.4}.
"""

import dataclasses
import json

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpora are made when they are imported

from numba import cuda  # noqa: E402

from book.webgpu.terms import Array, Scalar, Untranslatable  # noqa: E402
from book.webgpu.translating import translate  # noqa: E402
from tests.corpora import shaders  # noqa: E402
from tests.corpora.kernels.case import RandomStates, differences, run  # noqa: E402
from tests.corpora.kernels.corpus import ALL  # noqa: E402
from tests.site.reading import ROOT  # noqa: E402

pytestmark = [pytest.mark.browser, pytest.mark.slow]  # the software adapter compiles each shader for seconds

SCRIPT = ROOT / "book" / "webgpu" / "gpu.js"
PAGE = "http://localhost/blank"

# Runs launches one after the other on buffers that they share, and returns the buffers as numbers.
RUN = """async (jobs) => {
    const gpu = window.gpu = window.gpu || await h2dGpu.open();
    const results = [];
    for (const job of jobs) {
        try {
            const buffers = {};
            for (const [name, {dtype, values}] of Object.entries(job.arrays))
                buffers[name] = h2dGpu.upload(gpu, dtype === "int32" ? new Int32Array(values) : new Float32Array(values));
            for (const launch of job.launches) {
                const named = Object.fromEntries(Object.entries(launch.names).map(([own, name]) => [own, buffers[name]]));
                const program = await h2dGpu.compile(gpu, launch.shader);
                const bound = h2dGpu.bind(gpu, program, named, launch.given);
                h2dGpu.submit(gpu, (encoder) => h2dGpu.launch(encoder, bound, launch.grid));
                await h2dGpu.done(gpu);
            }
            const found = {};
            for (const [name, {dtype, values}] of Object.entries(job.arrays))
                found[name] = [...await h2dGpu.read(gpu, buffers[name], values.length * 4,
                    dtype === "int32" ? Int32Array : Float32Array)];
            for (const each of Object.values(buffers)) each.destroy();
            results.push(found);
        } catch (problem) { results.push(String(problem)); gpu.fault = undefined; }
    }
    return results;
}"""


@pytest.fixture(scope="module")
def browser_page(chromium_with_webgpu):
    page = chromium_with_webgpu.new_page()
    page.route(PAGE, lambda route: route.fulfill(body="<title>Shaders</title>", content_type="text/html"))
    page.goto(PAGE)
    page.add_script_tag(path=SCRIPT)
    yield page
    page.close()


def described(value):
    if isinstance(value, np.ndarray):
        return Array(str(value.dtype), value.shape)
    if isinstance(value, np.generic):
        return Scalar(str(value.dtype))
    return Scalar("int32", value) if isinstance(value, int) else Scalar(type(value).__name__)


def launch_of(kernel, grid, block, names, given):
    """Return one launch as the page runs it; `names` are those of the inputs, in the order of the parameters."""
    parameters = kernel.py_func.__code__.co_varnames[: kernel.py_func.__code__.co_argcount]
    own = dict(zip(parameters, names, strict=True))
    arguments = {parameter: described(given[name]) for parameter, name in own.items()}
    shader = translate(kernel, arguments, grid=grid, block=block)
    numbers = {}
    for parameter, name in own.items():
        value = given[name]
        if isinstance(value, np.ndarray):
            numbers |= {f"{parameter}.shape[{axis}]": size for axis, size in enumerate(value.shape)}
        else:
            numbers[parameter] = value.item() if isinstance(value, np.generic) else value
    return {
        "shader": dataclasses.asdict(shader),
        "names": {parameter: name for parameter, name in own.items() if isinstance(given[name], np.ndarray)},
        "given": numbers,
        "grid": list(grid) if isinstance(grid, tuple) else [grid],
    }


def job_of(launches, given):
    arrays = {
        name: {"dtype": str(value.dtype), "values": value.ravel().tolist()}
        for name, value in given.items()
        if isinstance(value, np.ndarray)
    }
    return {"arrays": arrays, "launches": launches}


def in_browser(page, jobs):
    results = page.evaluate(RUN, json.loads(json.dumps(jobs)))
    assert len(results) == len(jobs)
    return results


@pytest.fixture(scope="module")
def computed(browser_page):
    """The arrays of every case of the corpus behind its launch, in the browser and on the stand-in."""
    jobs, expected = [], {}
    for case in shaders.CASES:
        given = case.inputs(np.random.default_rng(7))
        jobs.append(job_of([launch_of(case.kernel, case.grid, case.block, list(given), given)], given))
        on_device = {
            name: cuda.to_device(value) if isinstance(value, np.ndarray) else value
            for name, value in given.items()
        }
        case.kernel[case.grid, case.block](*on_device.values())
        expected[case.kernel.__name__] = {
            name: on_device[name].copy_to_host()
            for name, value in given.items()
            if isinstance(value, np.ndarray)
        }
    return dict(
        zip(expected, zip(in_browser(browser_page, jobs), expected.values(), strict=True), strict=True)
    )


@pytest.mark.parametrize("case", [pytest.param(case, id=case.kernel.__name__) for case in shaders.CASES])
def test_a_shader_computes_what_the_stand_in_computes(computed, case):
    found, expected = computed[case.kernel.__name__]
    assert isinstance(found, dict), found
    for name, right in expected.items():
        got = np.array(found[name], right.dtype).reshape(right.shape)
        if right.dtype.kind == "i":
            assert np.array_equal(got, right), name
        else:
            allowed = case.ulp * np.spacing(np.abs(right).max())
            assert np.abs(got - right).max() <= allowed, name


def test_the_browser_says_that_its_adapter_is_software(browser_page):
    assert (
        browser_page.evaluate("async () => (window.gpu = window.gpu || await h2dGpu.open()).software") is True
    )


def test_a_browser_refuses_what_the_translator_says_it_refuses(browser_page):
    """The uniformity rule is the browser's own: without our refusal it would stop the shader."""
    case = next(each for each in shaders.CASES if each.kernel is shaders.reverse_shared)
    given = case.inputs(np.random.default_rng(7))
    launch = launch_of(case.kernel, case.grid, case.block, list(given), given)
    text = launch["shader"]["text"]
    launch["shader"]["text"] = text.replace("workgroupBarrier();", "if (t < 32) { workgroupBarrier(); }")
    assert text != launch["shader"]["text"]
    (found,) = in_browser(browser_page, [job_of([launch], given)])
    assert "The browser refuses reverse_shared" in found and "uniform" in found


# Kernels of the other corpus that WGSL cannot express are refused; the others compute what NumPy expects.
TRANSLATED = 40  # at least so many of them


def translatable(case):
    given = case.fresh()
    if any(isinstance(value, RandomStates) for value in given.values()):
        return None
    launches = case.plan(given)
    if any(launch.shared for launch in launches):
        return None
    try:
        jobs = [launch_of(each.kernel, each.grid, each.block, each.arguments, given) for each in launches]
    except Untranslatable:
        return None
    return job_of(jobs, given) if all(np.prod(job["shader"]["block"]) <= 256 for job in jobs) else None


def test_the_corpus_of_kernels_holds_in_the_browser(browser_page):
    jobs = {case.name: (case, job) for case in ALL if (job := translatable(case)) is not None}
    assert len(jobs) >= TRANSLATED, sorted(jobs)
    found = in_browser(browser_page, [job for _, job in jobs.values()])
    wrong = {}
    for (name, (case, _)), arrays in zip(jobs.items(), found, strict=True):
        if isinstance(arrays, str):
            wrong[name] = arrays
            continue
        given = case.fresh()
        got = {
            each: np.array(arrays[each], value.dtype).reshape(value.shape)
            for each, value in given.items()
            if isinstance(value, np.ndarray)
        }
        exact = run(case, cuda)
        allowed = dataclasses.replace(case, rtol=max(case.rtol, 2e-6), expected=lambda _, exact=exact: exact)
        if lines := differences(allowed, got):
            wrong[name] = lines
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())
