"""What the tests of the site ask axe-core: the faults of a page in several looks (width, theme)."""

from tests.site.reading import ROOT

AXE = ROOT / "book" / "node_modules" / "axe-core" / "axe.min.js"

# What axe finds, in a line each: in the whole page, or with the contrast of a few boxes of each kind alone. In a further
# look at the same page the rules that ask neither for width nor for colours would find the same again.
FAULTS = """async ([contrastsIn, again, part]) => {
    const options = {resultTypes: ["violations"], preload: false};
    const runs = [];
    if (contrastsIn === null) {
        runs.push(await axe.run(part, options));
    } else {
        const others = again ? {runOnly: OF_THE_WIDTH} : {rules: {"color-contrast": {enabled: false}}};
        const boxes = {include: boxesOfEachKind(contrastsIn, part)};
        runs.push(await axe.run(part, {...options, ...others}));
        runs.push(await axe.run(boxes, {...options, runOnly: ["color-contrast"]}));
    }
    return runs.flatMap(run => run.violations)
        .filter(fault => ["serious", "critical"].includes(fault.impact))
        .map(fault => `${fault.impact} ${fault.id}: ` + fault.nodes.slice(0, 4)
            .map(node => node.html.slice(0, 160) + " | "
                + (node.any[0] || node.all[0] || node.none[0] || {}).message)
            .join("\\n    "));
}"""

# A contrast follows from a text's colour and size, and from the backgrounds behind it. Boxes in which all of these are
# the same are of one kind, and axe looks at a few of each: it takes seconds for the thousands of a page.
BOXES = """
const OF_THE_WIDTH = ["scrollable-region-focusable", "target-size", "aria-hidden-focus", "meta-viewport"];
const behind = new Map();
function background(box) {
    if (!box) return "";
    if (!behind.has(box)) {
        const style = getComputedStyle(box), below = background(box.parentElement);
        const seen = style.backgroundImage !== "none" || style.opacity !== "1" ||
            style.backgroundColor !== "rgba(0, 0, 0, 0)";
        const own = `${style.backgroundColor} ${style.backgroundImage} ${style.opacity}`;
        behind.set(box, seen ? `${below} | ${own}` : below);
    }
    return behind.get(box);
}
function boxesOfEachKind(most, part) {
    const kinds = new Map();
    behind.clear();
    for (const box of document.querySelectorAll(`${part} *`)) {
        if (![...box.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())) continue;
        if (!box.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
        const style = getComputedStyle(box);
        const kind = [box.tagName, box.className, style.color, style.fill, style.fontSize, style.fontWeight,
            style.textShadow, !!box.closest(":disabled, [aria-disabled=true]"), background(box)].join(" ; ");
        kinds.set(kind, [...(kinds.get(kind) || []), box].slice(0, most));
    }
    return [...kinds.values()].flat();
}"""

# Replaces a highlighted word by its text where the page has shown the same colour in the same kind of box before. A
# notebook's page has ten thousand such words, and they differ for no other rule of axe.
EACH_COLOUR_ONCE = """() => {
    const seen = new Set();
    const kind = word => {
        const path = [];
        for (let box = word; box && box.tagName !== "MAIN"; box = box.parentElement)
            path.push(`${box.tagName}.${box.className} ${box.getAttribute("style") || ""}`);
        return path.join(" > ");
    };
    for (const word of [...document.querySelectorAll("main .highlight pre span:not(:has(*))")]) {
        const found = kind(word);
        if (seen.has(found)) word.replaceWith(...word.childNodes);
        seen.add(found);
    }
    document.querySelectorAll("main .highlight pre").forEach(code => code.normalize());
    return seen.size;
}"""

# Leaves the first exercises of a set: a page repeats the same boxes for each of its twelve to fifteen.
SOME_EXERCISES = """() => [...document.querySelectorAll("main section section:has(> h2)")]
    .slice(3).forEach(exercise => exercise.remove())"""

# Leaves the first cells of a notebook, and of the later ones those that show something besides code and plain text.
SOME_CELLS = """() => [...document.querySelectorAll("main .cell")].slice(20)
    .filter(cell => !cell.querySelector("svg, img, table, iframe, button:not(.copybtn), input, select"))
    .forEach(cell => cell.remove())"""

# Leaves the first terms of a long list of definitions, such as the glossary: each of its terms is the same boxes.
SOME_TERMS = """() => [...document.querySelectorAll("main dl > *")]
    .filter(each => [...each.parentElement.children].indexOf(each) >= 40).forEach(each => each.remove())"""

# The theme and `book.js` wait for a moment before they find out which boxes scroll at a new width. After ten seconds
# axe names the box that no key reaches.
WAIT_UNTIL_THE_KEYBOARD_REACHES_WHAT_SCROLLS = """async () => {
    const boxes = "pre, .output_area, .cell_output > .output, .pst-scrollable-table-container, "
        + "mjx-container[display], figure.drawing";
    const outOfReach = box => box.scrollWidth > box.clientWidth && box.tabIndex < 0
        && getComputedStyle(box).overflowX !== "visible" && !box.querySelector("a, button, [tabindex='0']");
    for (let tries = 0; tries < 200 && [...document.querySelectorAll(boxes)].some(outOfReach); tries++)
        await new Promise(resolve => setTimeout(resolve, 50));
}"""

FEW = 3  # boxes of each kind: one may lie below another box, where axe cannot tell
LOOKS = [(1280, "light"), (390, "dark")], [(1280, "dark"), (390, "light")]


def prepare(tab):
    """Put axe into an open page, and stop colours from fading: axe would read them half-way.

    What waits for a prediction is shown.
    """
    tab.add_style_tag(content="* { transition: none !important }")
    tab.evaluate("document.querySelectorAll('[data-locked]').forEach(part => delete part.dataset.locked)")
    tab.add_script_tag(path=AXE)
    tab.add_script_tag(content=BOXES)


def faults_in(tab, looks, contrasts: int | None = None, part: str = "html") -> dict[str, list[str]]:
    """Return what axe finds in a prepared page, and in which of the looks (width, theme) it finds it.

    With `contrasts`, axe checks that many boxes of each kind for contrast, and in the second look and later ones only
    the rules that depend on the look. `part` selects the box that axe looks at, by default the whole page.
    """
    found = {}
    for number, (width, theme) in enumerate(looks):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.evaluate(WAIT_UNTIL_THE_KEYBOARD_REACHES_WHAT_SCROLLS)
        tab.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        for fault in tab.evaluate(FAULTS, [contrasts, number > 0, part]):
            found.setdefault(fault, []).append(f"{theme} at {width}")
    return found


def told(found: dict[str, list[str]]) -> str:
    """Return what `faults_in` found as lines of a report."""
    return "\n".join(f"{fault}\n    in {', '.join(places)}" for fault, places in found.items())
