// Prediction locks: takes the reader's prediction, and only then shows what the page counted or measured. Nothing is
// stored and nothing is sent. Without this script the page shows everything; on paper it does, too.
(() => {
  const make = (tag, properties = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  // The players that follow a report in a chapter; in a notebook's page they are a part of the output.
  const players = (part) => {
    const found = [];
    for (let next = part.nextElementSibling; next?.matches("style, .h2d-player"); next = next.nextElementSibling) found.push(next);
    return found;
  };
  const locks = [];

  class Lock {
    constructor(box) {
      this.box = box;
      this.parts = [...document.querySelectorAll(`.h2d-answer-${box.dataset.answer}`)].flatMap((part) => [part, ...players(part)]);
      const next = box.nextElementSibling;
      this.folded = next?.matches("details") ? next : null;
      if (this.folded) this.parts.unshift(this.folded);
      for (const part of this.parts) part.dataset.locked = "";
      this.input = make("input", { type: "text", autocomplete: "off", maxLength: 200 });
      this.form = make(
        "form",
        { noValidate: true },
        make("label", {}, "Your prediction ", this.input),
        make("button", { type: "submit", textContent: "Show the result" }),
        make("button", { type: "button", textContent: "Show without a guess", onclick: () => this.open("") }),
      );
      // The rest of the page behind this lock, for a reader who has seen it before.
      if (!locks.length && document.querySelectorAll(".h2d-lock").length > 1) {
        const all = () => { for (const lock of locks) lock.open("", lock === this); };
        this.form.append(make("button", { type: "button", textContent: "Show all results of this page", onclick: all }));
      }
      this.form.setAttribute("aria-label", box.dataset.prompt);
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        const guess = this.input.value.trim();
        if (guess) this.open(guess);
        else { this.say("Type a prediction first, or press “Show without a guess”."); this.input.focus(); }
      });
      this.status = make("p", { className: "h2d-lock-status", tabIndex: -1 });
      this.status.setAttribute("role", "status");
      box.append(this.form, this.status);
      box.hidden = false;
    }

    say(text) { this.status.textContent = text; }

    // Shows the answer, with the guess directly before what was counted or measured.
    open(guess, focus = true) {
      if (!this.form.isConnected) return;
      for (const part of this.parts) delete part.dataset.locked;
      if (this.folded) this.folded.open = true;
      this.form.remove();
      const output = this.parts.find((part) => part !== this.folded) ?? this.folded;
      if (guess) output.before(make("p", { className: "h2d-lock-guess" }, "You predicted: ", make("strong", { textContent: guess })));
      this.say(guess ? "The result stands below, beside your prediction." : "The result is shown below.");
      if (focus) this.status.focus({ preventScroll: true });
    }
  }

  // A link or a search may lead to what a lock hides.
  const reach = () => {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no name */ }
    for (const lock of locks) {
      const led = lock.parts.some((part) => target && (part.contains(target) || (target.contains(part) && !target.matches("section"))));
      if (!led && !lock.parts.some((part) => part.querySelector(".highlighted"))) continue;
      lock.open("", false);
      if (led) target.scrollIntoView();
    }
  };

  for (const box of document.querySelectorAll(".h2d-lock")) locks.push(new Lock(box));
  addEventListener("hashchange", reach);
  addEventListener("load", reach);
})();
