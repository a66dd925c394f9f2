// Run and Edit on the cells of a live page. Nothing is fetched before the first Run; then a worker gets Python, NumPy and the
// library from this site, and runs cells there. What a reader writes stays in the page, unless they press Keep.
(() => {
  const base = new URL("live/", document.currentScript.src);
  const IDLE = 10 * 60 * 1000; // milliseconds after which a page left alone gives its memory back
  const START = "notebooks/02-host-and-device"; // its first cell installs the course where that is due
  const bars = new Map(); // "notebook cell" → the bars of the page, in order
  const notebooks = new Map(); // by name: the promise of its cells
  let worker = null, current = null, idle = 0, ready = false, lost = false;

  const make = (tag, properties = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  const cellsOf = (notebook) => {
    if (!notebooks.has(notebook)) {
      const file = new URL(`${notebook.replace("/", "-")}.json`, base);
      const cells = fetch(file).then((answer) => {
        if (!answer.ok) throw new Error(`${file.pathname}: the server answers ${answer.status}`);
        return answer.json();
      });
      cells.catch(() => notebooks.delete(notebook));
      notebooks.set(notebook, cells);
    }
    return notebooks.get(notebook);
  };

  // The editor, loaded when a reader first writes. Where it does not load, they go on in a text area.
  let editor = null;
  const loadEditor = () => {
    editor ??= import(new URL("editor.js", base));
    editor.catch(() => { editor = null; });
    return editor;
  };

  const textArea = ({ next, text, label, changed, run, focused }) => {
    const area = make("textarea", { className: "h2d-live-editor", value: text, spellcheck: false, wrap: "off" });
    let touched = false;
    const resize = () => { area.rows = area.value.split("\n").length + 1; };
    area.setAttribute("aria-label", label);
    area.setAttribute("autocapitalize", "off");
    area.setAttribute("autocomplete", "off");
    area.addEventListener("input", () => { touched = true; resize(); changed(); });
    area.addEventListener("focus", focused, { once: true });
    // Enter keeps the indentation; Tab leaves the text area, as everywhere on a page.
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey || event.shiftKey) { run(); return; }
      const { selectionStart: from, selectionEnd: to, value } = area;
      const line = value.slice(value.lastIndexOf("\n", from - 1) + 1, from);
      const indent = line.match(/^\s*/)[0] + (/:\s*(#.*)?$/.test(line) ? "    " : "");
      area.setRangeText(`\n${indent}`, from, to, "end");
      area.dispatchEvent(new Event("input"));
    });
    next.before(area);
    resize();
    return {
      get text() { return area.value; },
      get untouched() { return !touched; },
      get hasFocus() { return document.activeElement === area; },
      focus: () => area.focus(),
      remove: () => area.remove(),
    };
  };

  class Bar {
    constructor(box) {
      this.box = box;
      this.notebook = box.dataset.notebook;
      this.cells = box.dataset.cells.split(" ");
      this.code = box.previousElementSibling;
      this.stored = []; // what the page shows of an earlier run
      for (let after = box.nextElementSibling; after?.matches(".cell_output, .h2d-output, .h2d-player, style"); after = after.nextElementSibling) {
        this.stored.push(after);
      }
      const text = this.code.querySelector("pre").cloneNode(true);
      for (const number of text.querySelectorAll(".linenos")) number.remove();
      this.source = text.textContent.replace(/\n$/, "");
      this.key = `${this.notebook} ${this.cells.join(" ")}`;
      this.run = make("button", { type: "button", textContent: "Run", className: "h2d-live-run" });
      this.edit = make("button", { type: "button", textContent: "Edit" });
      this.reset = make("button", { type: "button", textContent: "Undo changes", hidden: true });
      this.keep = make("button", { type: "button", textContent: "Keep", hidden: true });
      this.save = make("button", { type: "button", textContent: "Download notebook", hidden: true });
      this.status = make("span", { className: "h2d-live-status" });
      this.status.setAttribute("role", "status");
      this.progress = make("progress", { hidden: true, max: 1, value: 0 });
      this.progress.setAttribute("aria-label", "Fetching Python");
      this.result = make("div", { className: "h2d-live-result", hidden: true });
      this.result.setAttribute("role", "region");
      this.result.setAttribute("aria-label", "Result of this cell");
      this.result.setAttribute("aria-live", "polite");
      const tools = [this.run, this.edit, this.reset, this.keep, this.save, this.progress, this.status];
      box.append(make("div", { className: "h2d-live-tools" }, ...tools), this.result);
      this.run.addEventListener("click", () => (current === this ? stop() : start(this)));
      this.edit.addEventListener("click", () => this.open());
      this.reset.addEventListener("click", () => this.undo());
      this.keep.addEventListener("click", () => this.store());
      this.save.addEventListener("click", () => download(this.notebook).catch((problem) => this.say(problem.message)));
      const kept = storage(() => localStorage.getItem(`host-to-device-live ${this.key}`));
      if (kept !== null && kept !== undefined) this.open(kept, false);
      box.hidden = false;
    }

    // What the cell cannot do here, said before anyone presses a button.
    refuse(why) {
      for (const each of [this.run, this.edit, this.reset, this.keep, this.save]) each.hidden = true;
      const link = make("a", { href: this.box.dataset.colab, textContent: "Run it in Colab" });
      this.status.replaceChildren(`${why} `, link, ".");
    }

    get text() { return this.editor ? this.editor.text : this.source; }
    get changed() { return this.text !== this.source; }
    say(text) { this.status.textContent = text; }

    open(text = this.source, focus = true) {
      const given = {
        next: this.box.firstChild,
        first: Number(this.box.dataset.line),
        changed: () => this.touched(),
        run: () => start(this),
      };
      const label = "Code of this cell. Control and Enter run it.";
      const improve = () => loadEditor().then(({ edit }) => {
        const before = this.editor;
        if (!before?.untouched) return; // closed, or the reader is writing already
        this.editor = edit({ ...given, text: before.text, label: `${label} Escape, then Tab, leaves it.` });
        if (before.hasFocus) this.editor.focus();
        before.remove();
      }, () => {}); // the text area stays
      this.editor = textArea({ ...given, text, label, focused: improve });
      this.code.hidden = true;
      this.edit.hidden = true;
      this.touched();
      if (focus) this.editor.focus();
    }

    touched() {
      this.reset.hidden = false;
      this.keep.hidden = this.save.hidden = !this.changed;
    }

    undo() {
      this.editor.remove();
      this.editor = null;
      this.code.hidden = false;
      this.edit.hidden = false;
      this.reset.hidden = this.keep.hidden = this.save.hidden = true;
      storage(() => localStorage.removeItem(`host-to-device-live ${this.key}`));
      this.clear();
      for (const each of this.stored) each.hidden = false;
      this.say("");
      this.edit.focus();
    }

    store() {
      const done = storage(() => { localStorage.setItem(`host-to-device-live ${this.key}`, this.text); return true; });
      this.say(done ? "Kept in this browser. Undo changes removes it." : "This browser keeps nothing: download the notebook.");
    }

    clear() { this.result.replaceChildren(); this.result.hidden = true; }

    begin() {
      this.clear();
      for (const each of this.stored) each.hidden = true;
      this.result.hidden = false;
      this.result.setAttribute("aria-busy", "true");
    }

    show(kind, text) {
      this.result.hidden = false;
      const last = this.result.lastElementChild;
      if (kind === "html") {
        const box = make("div", { className: "h2d-live-html", innerHTML: text });
        this.result.append(box);
        // For a script that brings an output to life, such as the player of races.
        box.dispatchEvent(new CustomEvent("h2d-live-output", { bubbles: true }));
      } else if (last?.dataset.kind === kind) last.append(text);
      else {
        const box = make("pre", { textContent: text, tabIndex: 0 });
        box.dataset.kind = kind;
        this.result.append(box);
      }
    }

    finish() {
      this.result.removeAttribute("aria-busy");
      if (!this.result.childElementCount) this.result.hidden = true;
    }
  }

  const storage = (what) => { try { return what(); } catch { return null; } };
  const all = () => [...bars.values()].flat();
  const barOf = (notebook, cell) => bars.get(`${notebook} ${cell}`)?.[0];

  // The cells of the notebook with the reader's texts: a block that shows several cells is the last of them once edited.
  const edited = async (notebook) => {
    const cells = (await cellsOf(notebook)).map((cell) => ({ ...cell }));
    for (const bar of all()) {
      if (bar.notebook !== notebook || !bar.changed) continue;
      for (const cell of cells) if (bar.cells.includes(cell.id)) cell.source = "";
      cells.find((cell) => cell.id === bar.cells.at(-1)).source = bar.text;
    }
    return cells;
  };

  const start = async (bar) => {
    if (current) { bar.say("Another cell is running: stop it first."); return; }
    current = bar;
    clearTimeout(idle);
    bar.began = performance.now();
    bar.run.textContent = "Stop";
    bar.say(worker ? "Running" : "Fetching Python");
    bar.begin();
    const queue = bar.changed ? [bar.cells.at(-1)] : [...bar.cells];
    try {
      bar.queue = queue;
      bar.sent = await edited(bar.notebook);
      if (current !== bar) return;
      next(bar);
    } catch (problem) {
      end(bar, `Not run: ${problem.message}. Check the network, then press Run again.`);
    }
  };

  const next = (bar) => {
    if (!worker) {
      ready = false;
      worker = new Worker(new URL("worker.js", base));
      worker.onmessage = ({ data }) => heard(data);
      worker.onerror = (event) => heard({ kind: "broken", text: event.message || "the worker did not start" });
    }
    worker.postMessage({ notebook: bar.notebook, cells: bar.sent, cell: bar.queue.shift() });
  };

  const heard = (said) => {
    const bar = current;
    if (!bar) return;
    if (said.kind === "progress") {
      bar.progress.hidden = false;
      bar.progress.max = said.total;
      bar.progress.value = said.loaded;
      const what = said.fetched ? "Fetching Python" : "Reading Python from this browser's cache";
      bar.say(`${what}: ${megabytes(said.loaded)} of ${megabytes(said.total)} MB`);
    } else if (said.kind === "starting") bar.say("Starting Python");
    else if (said.kind === "ready") {
      ready = true;
      bar.progress.hidden = true;
      bar.say("Running");
      document.documentElement.dataset.h2dLive = JSON.stringify(said.profile);
    } else if (said.kind === "running") {
      const other = barOf(bar.notebook, said.cell);
      if (bar.cells.includes(said.cell)) return;
      bar.say("Running the cells that this one needs");
      other?.begin();
    } else if (["out", "html", "error"].includes(said.kind)) {
      const place = bar.cells.includes(said.cell) ? bar : barOf(bar.notebook, said.cell);
      place?.show(said.kind, said.text);
      if (said.kind === "error" && place !== bar) {
        bar.show("error", `A cell that this one needs ended with an error: ${said.text.trim().split("\n").pop()}\n`);
      }
    } else if (said.kind === "done") {
      const other = barOf(bar.notebook, said.cell);
      if (other && other !== bar) other.finish();
    } else if (said.kind === "end") {
      if (said.right && bar.queue.length) { next(bar); return; }
      const seconds = ((performance.now() - bar.began) / 1000).toFixed(1);
      end(bar, said.right ? `Done in ${seconds} s` : `Ended with an error after ${seconds} s`);
    } else if (said.kind === "broken") {
      discard();
      end(bar, `Python ended: ${said.text}. Press Run to start it again.`);
    }
  };

  const end = (bar, text) => {
    current = null;
    bar.run.textContent = "Run";
    bar.progress.hidden = true;
    bar.finish();
    bar.say(lost && text.startsWith("Done") ? `${text}, with the cells above that it needs` : text);
    if (text.startsWith("Done")) lost = false;
    idle = setTimeout(() => {
      if (!worker || current) return;
      discard();
      bar.say("Python was ended after 10 minutes without a Run, to free its memory. The next Run starts it again.");
    }, IDLE);
  };

  const discard = () => { worker?.terminate(); worker = null; ready = false; lost = true; };

  const stop = () => {
    const bar = current;
    const started = ready;
    discard();
    end(bar, started
      ? "Stopped. Your text is still here; all variables are gone. The next Run also runs the cells above that it needs."
      : "Stopped.");
  };

  // The notebook of an example of the check, which has none: its cells behind the one that installs the course.
  const written = async (notebook) => {
    const cells = [{ ...(await cellsOf(START))[0] }, ...(await cellsOf(notebook))];
    return {
      nbformat: 4,
      nbformat_minor: 5,
      metadata: {},
      cells: cells.map(({ id, source }) => ({ cell_type: "code", id, metadata: {}, source })),
    };
  };

  const fetched = async (notebook) => {
    const answer = await fetch(new URL(`../../_sources/${notebook}.ipynb`, base));
    if (!answer.ok) throw new Error(`The notebook is not there (${answer.status}).`);
    return answer.json();
  };

  // The notebook with the reader's code, for Colab or an instructor.
  const download = async (notebook) => {
    const whole = await (notebook.startsWith("checks/") ? written : fetched)(notebook);
    const cells = new Map((await edited(notebook)).map((cell) => [cell.id, cell.source]));
    for (const cell of whole.cells) {
      if (cell.cell_type !== "code") continue;
      const text = cells.get(cell.id) ?? [cell.source].flat().join("");
      cell.source = text;
      cell.outputs = [];
      cell.execution_count = null;
    }
    const link = make("a", { download: `${notebook.split("/").pop()}.ipynb` });
    link.href = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 1)], { type: "application/x-ipynb+json" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  document.addEventListener("DOMContentLoaded", async () => {
    const boxes = [...document.querySelectorAll(".h2d-live")];
    const able = typeof WebAssembly === "object" && typeof Worker === "function" && typeof DecompressionStream === "function";
    if (!boxes.length || !able) return; // the page reads as it does without this script
    if (location.protocol === "file:") {
      boxes[0].textContent = "Opened as a file, this page cannot run its cells. The zip file that can has serve.py: start it with python3 serve.py.";
      boxes[0].hidden = false;
      return;
    }
    for (const box of boxes) {
      const bar = new Bar(box);
      for (const cell of bar.cells.map((each) => `${bar.notebook} ${each}`)) bars.set(cell, [...(bars.get(cell) ?? []), bar]);
    }
    for (const bar of all()) if (bar.box.dataset.why) bar.refuse(bar.box.dataset.why);
  });
})();
