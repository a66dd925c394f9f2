"""`python -m tests.commands.live`: seconds, bytes and clicks from arriving on the front page to a finding and its repair.

`make book` has to have built the site. Each visit presses Run below the kernel without a guard, waits for the check's
finding, presses Run again, and puts the guard in. The first visit of a browser fetches everything, the second has it in the
browser's cache. The server is on this machine; what a network adds follows from the bytes.
"""

import gzip
import json
import os
import sys
import threading
import time

from playwright.sync_api import BrowserContext, Response, expect, sync_playwright

from tests.site.bars import PATIENCE, button, result, run, status, write
from tests.site.conftest import FLAGS, NO_BROWSER, find_browser
from tests.site.reading import SITE
from tools import serve

CELL = "no-guard-ten check-ten"
MENDED = """@cuda.jit
def add_ten_no_guard(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] + 10


h2d.check(add_ten_no_guard)[1, 8](a, out)"""
PACKED = (".packed", ".zip", ".whl", ".woff2", ".png")
VISITS = 3  # of each kind; the medians are printed


def weight(response: Response) -> int:
    """Return the bytes of an answer as a server sends it that compresses texts."""
    if response.status != 200 or response.url.startswith("blob:"):
        return 0
    body = response.body()
    return len(body) if response.url.split("?")[0].endswith(PACKED) else len(gzip.compress(body, 6))


def visit(context: BrowserContext, address: str) -> dict[str, float]:
    """Visit the front page once, and return what was measured."""
    tab, responses = context.new_page(), []
    tab.on("response", lambda response: responses.append(response))
    found: dict[str, float] = {}
    began = time.perf_counter()
    tab.goto(address)
    expect(button(tab, CELL, "Run")).to_be_visible(timeout=PATIENCE)
    found["page"] = time.perf_counter() - began
    page = len(responses)
    clicked = time.perf_counter()
    button(tab, CELL, "Run").click()
    expect(result(tab, CELL)).to_contain_text("out of bounds", timeout=PATIENCE)
    found["finding"] = time.perf_counter() - clicked
    expect(status(tab, CELL)).to_contain_text("Done in", timeout=PATIENCE)
    found["bytes of the page"] = sum(weight(each) for each in responses[:page])
    found["bytes of Python"] = sum(weight(each) for each in responses[page:])
    found |= {
        f"profile: {name}": ms / 1000
        for name, ms in json.loads(tab.evaluate("document.documentElement.dataset.h2dLive")).items()
    }
    again = time.perf_counter()
    run(tab, CELL)
    found["run again"] = time.perf_counter() - again
    mending = time.perf_counter()
    write(tab, CELL, MENDED)
    assert "no errors found" in run(tab, CELL)
    found["mended"] = time.perf_counter() - mending
    tab.close()
    return found


def main() -> int:
    program = find_browser()
    if not program:
        print(NO_BROWSER, file=sys.stderr)
        return 1
    if not (SITE / "_static" / "live" / "manifest.json").exists():
        print("There is no built site with live pages: run `make book` first.", file=sys.stderr)
        return 1
    seen: dict[str, list[dict[str, float]]] = {"cold": [], "cached": []}
    with serve.server(0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        print("load before:", *(f"{each:.1f}" for each in os.getloadavg()), "on", os.cpu_count(), "cores")
        for _ in range(VISITS):
            context = browser.new_context()
            for kind in seen:
                seen[kind].append(visit(context, f"http://localhost:{server.server_port}/"))
            context.close()
        server.shutdown()
    print("load after:", *(f"{each:.1f}" for each in os.getloadavg()))
    for kind, visits in seen.items():
        print(f"\n{kind}, the median of {VISITS} visits (from the fastest to the slowest):")
        for name in visits[0]:
            values = sorted(each[name] for each in visits)
            unit, factor = ("MB", 1e-6) if name.startswith("bytes") else ("s", 1)
            low, middle, high = (values[at] * factor for at in (0, len(values) // 2, -1))
            print(f"  {name:22} {middle:7.2f} {unit}  ({low:.2f} to {high:.2f})")
    print("\nclicks: 1 to the finding (Run), 2 more to the repair (Edit, Run)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
