"""`python -m tests.commands.accessibility`: run axe-core on the built site, and write what its rules found.

The pages are those that `make test` looks at, in a desktop's width and in light; `make book` has to have built them.
"""

import datetime
import json
import sys
import threading

from playwright.sync_api import sync_playwright

from book import accessibility
from tests.site.axe import AXE
from tests.site.conftest import FLAGS, NO_BROWSER, find_browser
from tests.site.reading import LOOKED_AT, SITE
from tools import serve

KINDS = ("passes", "violations", "incomplete", "inapplicable")
RUN = """async () => {
    const found = await axe.run(document, {preload: false});
    const short = each => ({id: each.id, tags: each.tags, nodes: each.nodes.length});
    return {axe: axe.version, ...Object.fromEntries(
        ["passes", "violations", "incomplete", "inapplicable"].map(kind => [kind, found[kind].map(short)]))};
}"""


def main() -> int:
    program = find_browser()
    if not program:
        print(NO_BROWSER, file=sys.stderr)
        return 1
    if not (SITE / "index.html").exists():
        print("There is no built site: run `make book` first.", file=sys.stderr)
        return 1
    results = {"axe": "", "date": datetime.date.today().isoformat(), "pages": LOOKED_AT, "rules": {}}
    with serve.server(0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tab = playwright.chromium.launch(executable_path=program, args=FLAGS).new_page()
        for page in LOOKED_AT:
            tab.goto(f"http://localhost:{server.server_port}/{page}.html")
            tab.add_script_tag(path=AXE)
            found = tab.evaluate(RUN)
            results["axe"] = found["axe"]
            for kind in KINDS:
                for rule in found[kind]:
                    new = {
                        "tags": [each for each in rule["tags"] if each.startswith("wcag")],
                        **dict.fromkeys(KINDS, 0),
                    }
                    results["rules"].setdefault(rule["id"], new)[kind] += 1
            print(page, {kind: len(found[kind]) for kind in KINDS})
        server.shutdown()
    results["rules"] = dict(sorted(results["rules"].items()))
    text = json.dumps(results, indent=1) + "\n"
    (accessibility.HERE / "results.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
