"""The doctor on "Look up an error message", in a real browser: it reads the corpus as the Python does, and shows findings."""

import random
import re

import pytest

from host_to_device.diagnosing import doctor, findings, matrix, pasting
from tests.commands.diagnosing import cases
from tests.site.axe import FEW, LOOKS, faults_in, prepare, told

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "chapters/error-messages.html"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.120"
NOISE = 10_000_000  # characters
SLOWEST = 4.0  # seconds; it takes less than one
DIAGNOSE = """(texts) => {
    const known = JSON.parse(document.getElementById("h2d-doctor-data").textContent);
    const doctor = window.h2dDoctor(known);
    return texts.map((text) => doctor.diagnose(text));
}"""
# What other spaces, line ends and letters may change, in a text that has no fault and in one that has.
ODD = (
    "torch\u200b==2.5.0\r\nDriver Version:\xa0550.54.14\r",
    "😀 " * 200 + MISMATCH + " 😀",
    "   numpy ==1.26\n한numpy==1.26.4\nnumpy==1.26.4",
    "\x1b[31mFound no NVIDIA driver\x1b[0m on\u2028your system",
    "",
)


def versions():
    """Return reports of versions on both sides of each border of the tables."""
    tables = matrix.tables()
    drivers = [*tables["driver_of_cuda"].values(), tables["lowest_driver"]["11"], "580.00", "999.1"]
    drivers = [driver for driver in drivers if re.fullmatch(r"\d{3}\.[\d.]+", str(driver))]
    cards = tables["torch_cards"][0]["rows"]
    builds = [f"torch=={row['from']}.0+cu{row['cuda'].replace('.', '')}" for row in cards]
    gpus = ["GeForce RTX 3090", "NVIDIA H100", "Tesla K80", "NVIDIA GB10", "GeForce GTX 1080", "Tesla T4"]
    numbas = [
        f"numba=={numba}\nnumpy=={numpy}" for numba, numpy in tables["numba_numpy"].items() if numba[0] == "0"
    ]
    numbas += [each.replace("numpy==2", "numpy==3") for each in numbas]
    for driver in drivers:
        for build in (*builds, "cupy-cuda11x==13.0", "cupy-cuda12x==13.0\ncupy-cuda13x==13.0"):
            yield f"Driver Version: {driver}\n{build}\n{numbas[len(driver) % len(numbas)]}"
    for gpu in gpus:
        yield from (f"GPU 0: {gpu}\n{build}\ntorchvision==0.19.0\n" for build in builds)
    yield from numbas


def of_python(text):
    """Return what the page's script gives for a text, made by the Python."""
    found = doctor(text)
    keys = ("id", "evidence", "cause", "cure", "read", "source")
    return {
        "findings": [{key: each[key] for key in keys} for each in found.as_dict()["findings"]],
        "lines": "".join("".join(found.lines).split()),  # the terminal's lines have other ends
        "notes": list(found.notes),
    }


def typed(page, text):
    page.locator("#h2d-doctor-text").fill(text)


def test_the_page_reads_the_whole_corpus_as_the_python_does(opened):
    texts = [pasting.decoded(case["text"].encode(case.get("encoding", "utf-8"))) for _, case in cases()]
    chance = random.Random(23)
    merged = [
        "\n".join((one[: chance.randrange(len(one) + 1)], other[chance.randrange(len(other)) :]))
        for one, other in zip(texts, chance.sample(texts, len(texts)), strict=True)
    ]
    long = "\n".join(texts) + "\nno line of this says much" * 40_000
    every = [*texts, *merged, *versions(), *ODD, long]
    wanted = [of_python(text) for text in every]
    assert len({each["id"] for one in wanted for each in one["findings"]}) > 80
    found = opened.evaluate(DIAGNOSE, every)
    for one in found:
        one["lines"] = "".join("".join(one["lines"]).split())
    differ = [
        (text[:80], got, want) for text, got, want in zip(every, found, wanted, strict=True) if got != want
    ]
    assert not differ


def test_a_typed_message_shows_its_cause(opened):
    typed(opened, MISMATCH)
    shown = opened.locator(".h2d-doctor-found")
    shown.locator("li").first.wait_for()
    first = doctor(MISMATCH).findings[0]
    assert opened.locator(".h2d-doctor-said").inner_text() == "One cause fits this text."
    assert shown.locator(".h2d-doctor-cause").all_inner_texts() == [first.cause]
    assert shown.locator("q").all_inner_texts() == list(first.evidence)
    cure = shown.locator("dt", has_text="Do this").locator("+ dd")
    assert cure.inner_text().replace("Copy", "") == first.cure.replace("`", "")
    assert cure.locator("code").all_inner_texts() == re.findall("`([^`]*)`", first.cure)
    page, _, place = first.read.partition("#")
    hrefs = [link.get_attribute("href") for link in shown.locator("a").all()]
    assert hrefs == [f"{page}.html#{place}", first.source]


def test_a_command_is_copied(chromium, url):
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(url + PAGE)
    typed(page, MISMATCH)
    page.locator(".h2d-doctor-found button").first.click()
    page.get_by_role("button", name="Copied: sudo").wait_for()
    assert (
        page.evaluate("navigator.clipboard.readText()")
        == re.findall("`([^`]*)`", doctor(MISMATCH).findings[0].cure)[0]
    )
    context.close()


def test_of_an_unknown_text_nothing_is_said_but_what_to_paste(opened):
    typed(opened, "The weather is fine, and <b>numpy</b> adds.")
    opened.get_by_text(findings.NOTHING).wait_for()
    assert "nvidia-smi" in opened.locator(".h2d-doctor-found").inner_text()
    assert not opened.locator(".h2d-doctor-found").locator("ol, b").count()
    assert opened.locator(".h2d-doctor-said").get_attribute("role") == "status"
    typed(opened, "")
    opened.wait_for_function("!document.querySelector('.h2d-doctor-found').textContent")


def test_the_keyboard_reaches_field_and_finding(opened):
    opened.locator("#h2d-doctor-text").focus()
    opened.keyboard.press("Control+A")
    opened.keyboard.insert_text(MISMATCH)
    opened.locator(".h2d-doctor-found button").first.wait_for()
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.textContent") == "Copy"


def test_noise_of_megabytes_is_read_in_time(opened):
    noise = """(size) => {
        let state = 1;
        const line = () => Array.from({length: 90}, () => {
            state = (state * 48271) % 2147483647;
            return String.fromCharCode(32 + state % 95);
        }).join("");
        const lines = Array.from({length: 2000}, () => `${line()} cuda error torch==2.${state} nvidia-smi: | 1 `);
        let text = "";
        for (let at = 0; text.length < size; at += 1) text += `${at} ${lines[at % lines.length]}\\n`;
        return text.slice(0, size);
    }"""
    took = opened.evaluate(
        f"""(size) => {{
            const text = ({noise})(size);
            const field = document.getElementById("h2d-doctor-text");
            const start = performance.now();
            const data = new DataTransfer();
            data.setData("text/plain", text);
            field.dispatchEvent(new ClipboardEvent("paste", {{clipboardData: data, cancelable: true, bubbles: true}}));
            return [(performance.now() - start) / 1000, field.value.length];
        }}""",
        NOISE,
    )
    print(f"\n{NOISE / 1e6:.0f} MB: {took[0]:.2f} s")
    assert took[0] < SLOWEST
    assert 1000 < took[1] <= pasting.LONG + 1


def test_without_javascript_there_is_no_field(open_tab, url):
    page = open_tab(url + PAGE, scripts=False)
    assert not page.locator(".h2d-doctor").is_visible()
    assert page.locator("#err-cuda").count()


def test_it_asks_for_nothing_while_it_reads(open_tab, url):
    page = open_tab(url + PAGE)
    page.wait_for_load_state("networkidle")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    typed(page, MISMATCH)
    page.locator(".h2d-doctor-cause").wait_for()
    assert asked == []


def test_axe_finds_no_serious_fault_in_findings(open_tab, url):
    page = open_tab(url + PAGE, still=True)
    page.evaluate(
        "document.querySelectorAll('main table').forEach((table) => table.remove())"
    )  # looked at elsewhere
    typed(page, MISMATCH)
    page.locator(".h2d-doctor-cause").wait_for()
    prepare(page)
    found = faults_in(page, [*LOOKS[0], *LOOKS[1]], contrasts=FEW, part="main")
    assert not found, told(found)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
