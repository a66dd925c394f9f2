"""The panels that measure the reader's GPU, on a page of their own: with WebGPU on the CPU, and without WebGPU.

Times are compared with each other and with nothing else: a test machine's adapter computes on the CPU.
"""

import gzip
import json

import numpy as np
import pytest

from book.webgpu import kernels, panels
from host_to_device.standins import imports
from tests.site.axe import FEW, LOOKS, faults_in, prepare, told
from tests.site.reading import ROOT

pytestmark = pytest.mark.browser

HOST = "http://localhost/"
MOST = 60_000  # bytes that the panels' scripts and data may have, compressed
AS_A_GPU = (
    "software: Boolean(",
    "software: false && Boolean(",
)  # so that the rest of a panel can be tried here
SMALL = (
    ("side = 4096", "side = 256"),
    ("side = 1024", "side = 64"),
    ("2 ** 24", "2 ** 16"),
    ("2 ** 20", "2 ** 14"),
)


def served(browser, *names, changes=(), width=1280, before=""):
    """Open a page with some panels, in a profile of its own; `changes` replace texts of the scripts."""
    files = {part: (panels.HERE / part).read_text(encoding="utf-8") for part in panels.PARTS}
    files |= {"data.js": panels.script_of_data(), "gpu-panels.js": panels.LOADER.read_text(encoding="utf-8")}
    for old, new in changes:
        assert any(old in text for text in files.values()), old
        files = {
            name: text if name == "drawing.js" else text.replace(old, new) for name, text in files.items()
        }
    body = "".join(
        panels.lottery_html(name) if name in kernels.lottery() else panels.panel_html(name) for name in names
    )
    html = (
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>Panels</title><link rel="stylesheet" href="/_static/book.css"><body style="color: var(--h2d-ink); '
        f'background: var(--h2d-paper)"><main><h1>Panels</h1>{body}</main><script src="/_static/gpu-panels.js"></script></body></html>'
    )
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.asked, page.faults = [], []

    def answer(route):
        path = route.request.url.removeprefix(HOST)
        page.asked.append(path)
        if path == "page":
            route.fulfill(body=html, content_type="text/html")
        elif path == "_static/book.css":
            route.fulfill(path=ROOT / "_static" / "book.css")
        elif (name := path.rpartition("/")[2]) in files:
            route.fulfill(body=files[name], content_type="text/javascript")
        else:
            route.fulfill(status=404)

    page.route("**/*", answer)
    page.on("pageerror", lambda problem: page.faults.append(str(problem)))
    if before:
        page.add_init_script(before)
    page.goto(HOST + "page")
    return page


def press(page, name):
    """Press a panel's button and wait for its end; return what the panel says."""
    box = page.locator(f"[data-panel={name}], [data-race={name}]")
    box.get_by_role("button", name="Measure my GPU").or_(
        box.get_by_role("button", name="Run it 1,000 times")
    ).click()
    page.wait_for_function(
        "name => document.querySelector(`[data-panel=${name}], [data-race=${name}]`).dataset.done", arg=name
    )
    assert not page.faults
    return box.locator(".h2d-gpu-said").inner_text()


def medians(page, name):
    found = page.evaluate(
        "name => h2dGpu.results[name].points.map(p => [p.what, p.x, h2dGpu.median(p.values)])", name
    )
    return {(what, x): value for what, x, value in found}


def test_the_panels_are_light():
    parts = [(panels.HERE / part).read_bytes() for part in (*panels.PARTS, "load.js")]
    assert len(gzip.compress(b"".join(parts) + panels.script_of_data().encode(), 6)) <= MOST


def test_every_panel_has_recorded_numbers_with_their_stamp():
    for name, panel in panels.PANELS.items():
        rows = panels.recorded(panel)
        assert rows and all(row["stamp"].startswith(row["machine"]) for row in rows), name


@pytest.mark.parametrize(
    "before, words",
    [
        (
            "Object.defineProperty(Navigator.prototype, 'gpu', {get: () => undefined})",
            "This browser has no WebGPU.",
        ),
        (
            "Object.defineProperty(Navigator.prototype, 'gpu', {get: () => ({requestAdapter: async () => null})})",
            "found no GPU",
        ),
    ],
    ids=["no WebGPU", "no adapter"],
)
def test_without_webgpu_the_recorded_machines_are_shown(chromium, before, words):
    page = served(chromium, "copy", "histogram_quick", before=before)
    assert not [path for path in page.asked if "webgpu/" in path], "nothing is loaded before the press"
    said = press(page, "copy")
    assert words in said and "The recorded machines are shown instead." in said
    found = page.locator("[data-panel=copy] .h2d-gpu-found")
    assert "NVIDIA H100 80GB HBM3" in found.inner_text() and "Measured now" not in found.inner_text()
    assert "limit: copy bandwidth" in found.locator("svg").get_attribute("aria-label")
    assert words in press(page, "histogram_quick")
    assert {path.split("/")[0] for path in page.asked} <= {"page", "_static", "favicon.ico"}
    page.context.close()


def test_a_software_adapter_is_never_measured(chromium_with_webgpu):
    page = served(chromium_with_webgpu, "launches", "histogram_quick")
    said = press(page, "launches")
    assert "computes WebGPU on the CPU" in said and "swiftshader" in said
    assert "Measured now" not in page.locator("main").inner_text()
    assert "computes WebGPU on the CPU" in press(page, "histogram_quick")
    assert page.evaluate("Object.keys(h2dGpu.results)") == []
    page.context.close()


@pytest.fixture(scope="module")
def as_a_gpu(chromium_with_webgpu):
    """A page that takes its adapter for a GPU, with panels of every kind."""
    page = served(
        chromium_with_webgpu, "launches", "sum_missing_barrier", "transfers", changes=[AS_A_GPU, *SMALL]
    )
    yield page
    page.context.close()


def test_a_panel_measures_and_stands_beside_the_recorded_machines(as_a_gpu):
    said = press(as_a_gpu, "launches")
    assert said.startswith("Measured 3 numbers on google swiftshader")
    took = medians(as_a_gpu, "launches")
    assert 0 < took["in one submission", None] < took["a submission and a wait each", None]
    found = as_a_gpu.locator("[data-panel=launches] .h2d-gpu-found")
    assert "Measured now: your browser, WebGPU, google swiftshader" in found.inner_text()
    assert "recorded on NVIDIA H100 80GB HBM3" in found.inner_text()
    found.locator("summary").click()
    rows = found.locator("tbody tr").all_inner_texts()
    assert len(rows) == 3 + len(panels.recorded(panels.PANELS["launches"]))
    with as_a_gpu.expect_download() as download:
        found.get_by_role("button", name="Download JSON").click()
    saved = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert (
        saved["form"].startswith("host-to-device, WebGPU") and len(saved["panels"]["launches"]["points"]) == 3
    )


def test_axe_finds_nothing_and_a_phone_has_room(as_a_gpu):
    as_a_gpu.set_viewport_size({"width": 380, "height": 800})
    assert as_a_gpu.evaluate("document.documentElement.scrollWidth <= 380")
    prepare(as_a_gpu)
    found = {}
    for looks in LOOKS:
        found |= faults_in(as_a_gpu, looks, contrasts=FEW, part="main")
    assert not found, told(found)


def test_the_lottery_says_how_often_the_gpu_was_wrong(as_a_gpu):
    """A kernel with the barrier is right in every run, and the page says that this proves nothing."""
    names = "const [of, right] = [h2dGpu.data.lottery.sum_missing_barrier, h2dGpu.data.shaders]"
    as_a_gpu.evaluate(f"() => {{ {names}; right.sum_missing_barrier.text = right.sum_halves.text; }}")
    said = press(as_a_gpu, "sum_missing_barrier")
    assert said == "The check says that the rule is broken; your GPU got it wrong in 0 of 1,000 runs."
    found = as_a_gpu.locator("[data-race=sum_missing_barrier] .h2d-gpu-found")
    assert "That proves nothing." in found.inner_text()
    as_a_gpu.evaluate(f"() => {{ {names}; of.right = [1023]; }}")
    assert "wrong in 1,000 of 1,000 runs" in press(as_a_gpu, "sum_missing_barrier")
    assert "The right result is 1023; the first wrong one was 1024." in found.inner_text()


@pytest.mark.parametrize(
    "do, words",
    [
        (
            "h2dGpu.gpuOfTest.lost = 'The browser lost the GPU: it went to sleep.'",
            "lost the GPU: it went to sleep.",
        ),
        (
            "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true}); "
            "document.dispatchEvent(new Event('visibilitychange'))",
            "This tab was in the background",
        ),
        ("document.activeElement.click()", "Stopped."),  # Stop has the focus
    ],
    ids=["lost", "hidden", "stopped"],
)
def test_what_ends_a_measurement_is_said(chromium_with_webgpu, do, words):
    changes = [
        AS_A_GPU,
        ("gpu = found;", "gpu = h2dGpu.gpuOfTest = found;"),
        ("this.told(Math", f"setTimeout(() => {{ {do} }}); this.told(Math"),
    ]
    page = served(chromium_with_webgpu, "launches", changes=changes)
    said = press(page, "launches")
    assert words in said and "The recorded machines are shown instead." in said
    assert page.evaluate("Object.keys(h2dGpu.results)") == []
    assert page.evaluate("document.activeElement.textContent") == "Measure my GPU"
    page.context.close()


def test_doubts_and_fits(as_a_gpu):
    press(as_a_gpu, "launches")

    def doubts(**of):
        return as_a_gpu.evaluate("of => h2dGpu.doubtsAbout(of)", of)

    assert doubts(values=[1, 1.01, 0.99, 1, 1, 1]) == []
    assert doubts(values=[1, 1]) == ["too few"]
    assert "too few" in doubts(values=[1, 2, 3, 1, 2, 3])
    assert doubts(values=[1, 1, 1, 1, 1.2, 1.2]) == ["slower at the end"]
    assert doubts(values=[1, 1, 1], shortest=4e-3, clock=1e-4) == ["coarse clock"]
    assert doubts(values=[1, 1, 1], stamped=1.5) == ["clocks differ"]
    points = [{"x": 4**k, "values": [2e-3 + 4**k / 5e6]} for k in range(8)]
    fit = as_a_gpu.evaluate("points => h2dGpu.fitted(points)", points)
    assert fit["latency"] == pytest.approx(2e-3) and fit["bandwidth"] == pytest.approx(5e6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in panels.PANELS if name != "launches"])
def test_every_panel_measures(chromium_with_webgpu, name):
    page = served(chromium_with_webgpu, name, changes=[AS_A_GPU, *SMALL])
    assert press(page, name).startswith("Measured")
    found = medians(page, name)
    assert all(value > 0 for value in found.values())
    if name == "copy":
        assert {what for what, _ in found} == {"copyBufferToBuffer", "copy by rows", "copy by columns"}
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sum_missing_barrier", "histogram_quick"])
def test_the_listing_in_cuda_is_the_same_kernel(name):
    """With one thread at a time, as the stand-in runs them, both listings compute what the kernel in Numba does."""
    imports.redirect()
    import cupy as cp
    from numba import cuda

    race = kernels.lottery()[name]
    kernel = cp.RawKernel((kernels.LISTINGS / f"{name}.cu").read_text(encoding="utf-8"), name)
    x = np.array(race["x"], race["dtype"])
    results = []
    for one_block in (kernel, race["kernel"]):
        out = cp.zeros(len(race["right"]), race["dtype"])
        block = race["shader"].block[0]
        if one_block is kernel:
            one_block((race["grid"],), (block,), (cp.asarray(x), np.int32(x.size), out))
            results.append(out.get())
        else:
            one_block[race["grid"], block](cuda.to_device(x), on_device := cuda.to_device(out.get()))
            results.append(on_device.copy_to_host())
    assert np.array_equal(*results)
