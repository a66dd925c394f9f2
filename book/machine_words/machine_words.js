// The explorer on "Reading the machine's words": a kernel, and what compilers make of it for two architectures.
// The listings are in a script of their own, which is fetched from this site when the reader first picks something.
document.addEventListener("DOMContentLoaded", () => {
  const here = document.currentScript?.src
    ?? [...document.scripts].map((script) => script.src).find((src) => src.includes("machine_words.js"));
  for (const box of document.querySelectorAll(".h2d-words-explorer")) {
    const form = box.querySelector("form");
    const source = box.querySelector(".h2d-words-source code");
    const columns = { left: box.querySelector("[data-side=left]"), right: box.querySelector("[data-side=right]") };
    form.hidden = false; // without this script it would do nothing
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => load(here.replace(/machine_words\.js.*/, box.dataset.script)).then(
      (data) => show(data[form.kernel.value]),
      () => { columns.left.textContent = "The listings could not be loaded: reload the page."; },
    ));

    const show = (kernel) => {
      for (const side of ["left", "right"]) {
        const chosen = choose(form[side], Object.keys(kernel.listings));
        columns[side].replaceChildren(heading(chosen), listing(kernel.listings[chosen], chosen));
      }
      const kinds = ["left", "right"].map((side) => kindOf(form[side].value)).filter((kind) => kind in kernel.sources);
      const shown = [...new Set(kinds.length ? kinds : ["cu"])];
      const named = { cu: "// CUDA C++", hip: "// for AMD", py: "# Python" };
      const texts = shown.map((kind) => kernel.sources[kind].trimEnd());
      source.textContent = texts.length > 1 ? shown.map((kind, at) => `${named[kind]}\n${texts[at]}`).join("\n\n") : texts[0];
    };
    const kindOf = (name) => (name.startsWith("Numba") ? "py" : name.startsWith("GCN") ? "hip" : "cu");
  }

  let loading = null;
  const load = (address) => {
    if (window.h2dMachineWords) return Promise.resolve(window.h2dMachineWords);
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = () => resolve(window.h2dMachineWords);
      script.onerror = () => { loading = null; script.remove(); reject(new Error(address)); };
      document.head.append(script);
    });
    return loading;
  };

  // Offer what this kernel has, and keep what was chosen if it is among it.
  const choose = (select, names) => {
    const before = select.value;
    select.replaceChildren(...names.map((name) => new Option(name.replace(/ (?=\S+$)/, ", "), name)));
    select.value = names.includes(before) ? before : names[0];
    return select.value;
  };

  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const heading = (name) => element("div", "h2d-words-name", name.replace(/ (?=\S+$)/, ", "));

  const listing = (rows, name) => {
    const list = element("ul");
    list.setAttribute("aria-label", name);
    for (const [number, , text, said, key] of rows) {
      const item = element("li", number === null ? "h2d-words-gap" : key ? "h2d-words-key" : "");
      if (number === null) item.textContent = `… ${text} …`;
      else {
        item.append(element("span", "h2d-words-number", number), element("code", "", text));
        if (said) item.append(sentence(said));
      }
      list.append(item);
    }
    return list;
  };

  // What stands between backticks is code.
  const sentence = (said) => {
    const span = element("span", "h2d-words-said");
    said.split("`").forEach((part, place) => span.append(place % 2 ? element("code", "", part) : part));
    return span;
  };
});
