// The search field of "Reading the machine's words": shows the entries that fit what is typed, and hides the others.
// The page is whole without it. It fetches nothing.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector(".h2d-mw-search");
  if (!form) return;
  const field = form.querySelector("input");
  const count = form.querySelector("output");
  const separators = "._ :0123456789";

  // A predicate before an instruction is written @%p1, @!P0, … and here always @p.
  const plain = (text) => text.toLowerCase().replace(/@!?%?u?p(?:t\b|\d*)/g, "@p").replace(/[;,]/g, " ")
    .replace(/^(mov\.u32) \S+ +(%(?:n?tid|n?ctaid|laneid))\b.*/, "$1 $2")
    .replace(/^(s_\w+) (exec\w*)\b.*/, "$1 $2").replace(/\s+/g, " ").trim();
  const entries = [...document.querySelectorAll(".h2d-mw-entry")].map((section) => ({
    section,
    words: section.querySelector(".h2d-mw-text").dataset.words.split("\n").map((line) => plain(line.replace(/^\S+ /, ""))),
    only: section.querySelector(".h2d-mw-text").dataset.only.split("\n").filter(Boolean).map((rule) => new RegExp(`^(?:${rule})$`)),
    text: plain(section.textContent),
  }));
  const groups = [...new Set(entries.map(({ section }) => section.parentElement))];

  // A word fits an instruction that begins with it: "ldg" fits "ldg.e.64".
  const begins = (text, word) => text.startsWith(word) && (text.length === word.length || separators.includes(text[word.length]));
  const longest = (text, predicated) => {
    let best = 0;
    for (const { words } of entries) {
      for (const word of words) {
        if (word.startsWith("@") === predicated && word.length > best && begins(text, word)) best = word.length;
      }
    }
    return best ? entries.filter(({ words }) => words.some(
      (word) => word.startsWith("@") === predicated && word.length === best && begins(text, word),
    )) : [];
  };
  // Words first: of an instruction, then whole lines of a listing, then the words of the page.
  const find = (query) => {
    const bare = query.replace(/^@p /, "");
    const line = field.value.trim().replace(/^@\S+ +/, "").replace(/;$/, "");
    const named = new Set([
      ...entries.filter(({ only }) => only.some((rule) => rule.test(line))),
      ...entries.filter(({ words }) => words.some((word) => word.startsWith(query))),
      ...longest(bare, false),
      ...(bare === query ? [] : longest(query, true)),
    ]);
    if (named.size) return named;
    const terms = query.split(" ");
    const all = (wanted) => new Set(entries.filter(({ text }) => wanted.length && wanted.every((term) => text.includes(term))));
    const whole = all(terms);
    if (whole.size) return whole;
    // A remark with other numbers or labels: what stays is its plain words.
    return all(terms.filter((term) => /^[a-z]{3,}:?$/.test(term)));
  };

  const show = () => {
    const query = plain(field.value);
    const found = query ? find(query) : new Set(entries);
    for (const entry of entries) entry.section.hidden = !found.has(entry);
    for (const group of groups) group.hidden = !group.querySelector(".h2d-mw-entry:not([hidden])");
    document.documentElement.classList.toggle("h2d-mw-filtered", Boolean(query));
    const number = found.size;
    if (!query) count.textContent = `${entries.length} entries`;
    else if (number) count.textContent = `${number} of ${entries.length} entries`;
    else count.textContent = `No entry has “${field.value.trim()}”. Type the instruction alone, such as LDG, or clear the field.`;
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && field.value) {
      event.preventDefault();
      field.value = "";
      show();
    }
  });
  // Enter goes to the first entry that is shown.
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const first = entries.find(({ section }) => !section.hidden)?.section.querySelector("h4");
    if (!first) return;
    first.tabIndex = -1;
    first.focus();
  });
  // A link to an entry that is hidden shows all entries again.
  const linked = () => {
    const place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place && place.closest("[hidden]")) {
      field.value = "";
      show();
      place.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", linked);
  if (field.value) show(); // the browser keeps what was typed when the reader comes back
});
