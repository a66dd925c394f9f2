"use strict";
// Makes each slide's content fit into its box, then starts reveal.js; with ?print-pdf the slides stay as pages to print.

const asked = new URLSearchParams(location.search);
const printed = asked.has("print-pdf");
const dark = matchMedia("(prefers-color-scheme: dark)").matches && !printed;
document.documentElement.dataset.theme = asked.get("theme") || (dark ? "dark" : "light");

const SMALLEST = 0.4, STEP = 0.04;

function overflows(section) {
    const box = section.querySelector(".box").getBoundingClientRect();
    const inner = section.querySelector(".inner");
    const size = inner.getBoundingClientRect();
    const heading = section.querySelector("h1, h2");
    return size.bottom > section.getBoundingClientRect().bottom - 10 || size.right > box.right + 1
        || inner.scrollWidth > inner.clientWidth + 1 || heading.scrollWidth > heading.clientWidth + 1
        || [...inner.querySelectorAll("pre")].some(each => each.scrollWidth > each.clientWidth + 1);
}

function fit() {
    for (const section of document.querySelectorAll(".slides > section")) {
        const inner = section.querySelector(".inner");
        let scale = 1;
        while (overflows(section) && scale > SMALLEST) {
            scale -= STEP;
            inner.style.zoom = scale;
            inner.style.maxWidth = `${100 / scale}%`;
        }
        section.dataset.scale = scale.toFixed(2);
        section.dataset.overflows = overflows(section);
    }
}

addEventListener("load", async () => {
    if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
    fit();
    if (!printed) {
        document.body.classList.remove("measuring");
        await Reveal.initialize({
            width: 1280, height: 720, margin: 0, center: false, hash: true, slideNumber: "c/t", transition: "none",
            controlsTutorial: false, plugins: [RevealNotes],
        });
    }
    document.body.dataset.ready = "true";
});
