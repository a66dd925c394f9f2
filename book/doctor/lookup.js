// The field of "Look up an error message": what is pasted or typed is read here, by doctor.js, and goes nowhere else.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.h2d-doctor");
  if (!form) return;
  const field = form.querySelector("textarea");
  const said = form.querySelector(".h2d-doctor-said");
  const place = form.querySelector(".h2d-doctor-found");
  let known;
  let doctor;
  const awake = () => {
    if (doctor) return;
    known = JSON.parse(document.getElementById("h2d-doctor-data").textContent);
    doctor = window.h2dDoctor(known);
  };

  const made = (name, ...inside) => {
    const element = document.createElement(name);
    element.append(...inside);
    return element;
  };
  // What stands between backticks is code; a command, which has a space, can be copied.
  const marked = (sentence, copied = false) => sentence.split("`").flatMap((part, at) => {
    if (at % 2 === 0) return [part];
    return copied && part.includes(" ") ? [made("code", part), copyButton(part)] : [made("code", part)];
  });
  const row = (name, ...inside) => [made("dt", name), made("dd", ...inside)];
  const link = (address, words) => Object.assign(made("a", words), { href: address });

  const copyButton = (text) => {
    const button = Object.assign(made("button"), { type: "button" });
    const call = (name) => {
      button.textContent = name;
      button.setAttribute("aria-label", `${name}: ${text}`);
    };
    call("Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        call("Copied");
      } catch {
        call("Not allowed"); // by the browser's settings: the text can be selected
      }
      setTimeout(() => call("Copy"), 2000);
    });
    return button;
  };

  const shownFinding = (found) => {
    const [address, title] = known.places[found.read];
    const evidence = found.evidence.map((words) => made("dd", made("q", words)));
    return made("li",
      Object.assign(made("p", found.cause), { className: "h2d-doctor-cause" }),
      made("dl",
        ...(evidence.length ? [made("dt", "Read from"), ...evidence] : []),
        ...row("Do this", ...marked(found.cure, true)),
        ...row("Explained", link(address, title)),
        ...row("Source", link(found.source, found.source.replace(/^https:\/\//, "")))));
  };
  const pasteNext = () => {
    const [head, ...next] = known.report.pasteNext;
    return [made("p", head), made("ul", ...next.map((each) => made("li", ...marked(each.trim()))))];
  };
  const paragraphs = (list) => list.map((each) => made("p", each));

  const show = () => {
    awake();
    if (!field.value.trim()) {
      said.textContent = "";
      place.replaceChildren();
      return;
    }
    const { findings, lines, notes } = doctor.diagnose(field.value);
    const shown = findings.slice(0, known.report.most);
    const more = findings.slice(known.report.most).map(({ id }) => id);
    if (findings.length) {
      said.textContent = findings.length === 1 ? "One cause fits this text." : `${findings.length} causes fit this text. The most likely one stands first.`;
    } else {
      said.textContent = known.report.nothing;
    }
    place.replaceChildren(
      ...paragraphs(lines),
      ...(findings.length ? [made("ol", ...shown.map(shownFinding))] : pasteNext()),
      ...paragraphs(more.length ? [`Also: ${more.join(", ")}`] : []),
      ...paragraphs(notes.map((note) => `Note: ${note}`)),
    );
  };

  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 200);
  });
  // A browser needs long to show a text of megabytes: only the lines that the doctor reads of it go into the field.
  field.addEventListener("paste", (event) => {
    awake();
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length <= known.pasting.long) return;
    event.preventDefault();
    field.value = doctor.plain(text);
    show();
  });
  if (field.value) show(); // the browser keeps what was typed when the reader comes back
});
