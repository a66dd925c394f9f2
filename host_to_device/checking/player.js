// The player of a race: draws the steps of every `.h2d-player` of the page from its data. The same script serves a page of
// the book, a notebook's output and a live page. Without it the steps stay where they are: an ordered list.
(() => {
  const make = (tag, name, parent, text = "") => {
    const made = document.createElement(tag);
    made.className = name ? `h2d-player-${name}` : "";
    made.textContent = text;
    parent.append(made);
    return made;
  };

  const draw = (box) => {
    box.dataset.drawn = "";
    const race = JSON.parse(box.dataset.race);
    const stage = document.createElement("div");
    stage.className = "h2d-player-stage";
    stage.setAttribute("role", "group");
    stage.setAttribute("aria-label", race.title);
    const controls = make("div", "controls", stage);
    const buttons = [["first", "|◀"], ["back", "◀"], ["forward", "▶"], ["last", "▶|"]].map(([name, sign]) => {
      const button = make("button", "", controls, sign);
      button.type = "button";
      button.title = name === "first" || name === "last" ? `${name} step` : `one step ${name}`;
      button.setAttribute("aria-label", button.title);
      return button;
    });
    const count = make("span", "count", controls);
    const said = make("p", "said", stage);
    said.setAttribute("aria-live", "polite");

    // The list of the steps says the same in words: a screen reader gets that.
    const board = make("div", "board", stage);
    board.setAttribute("aria-hidden", "true");
    const code = make("div", "code", board);
    const rows = race.lines.map((line) => {
      const row = make("div", "row", code);
      const marks = race.threads.map((_, lane) => make("span", "mark", row, String.fromCharCode(65 + lane)));
      marks.forEach((mark, lane) => { mark.dataset.lane = lane; });
      make("span", "number", row, line.number);
      make("span", "text", row, line.text);
      return { row, marks, number: line.number };
    });
    const state = make("p", "state", board);
    const lanes = make("div", "lanes", board);
    lanes.style.gridTemplateColumns = `repeat(${race.threads.length}, minmax(0, 1fr))`;
    race.threads.forEach((thread, lane) => {
      const head = make("div", "head", lanes);
      make("span", "mark", head, String.fromCharCode(65 + lane)).dataset.lane = lane;
      head.append(` ${thread}`);
    });
    const steps = race.steps.map((step, place) => {
      const cell = make("div", "step", lanes, `${place + 1}. ${step.short}`);
      cell.style.gridColumn = `${Math.min(...step.lanes) + 1} / ${Math.max(...step.lanes) + 2}`;
      cell.style.gridRow = place + 2;
      cell.dataset.lane = step.lanes.length > 1 ? "all" : step.lanes[0];
      if (step.mark) make("span", "race", cell, step.mark);
      cell.addEventListener("click", () => show(place));
      return cell;
    });

    let now = 0;
    const show = (wanted) => {
      now = Math.max(0, Math.min(race.steps.length - 1, wanted));
      const step = race.steps[now];
      count.textContent = `step ${now + 1} of ${race.steps.length}`;
      said.textContent = `${step.text} ${step.remark}`.trim();
      state.textContent = step.state;
      // A button that has nothing to do keeps the focus: a disabled one would lose it.
      buttons.forEach((button, which) => button.setAttribute("aria-disabled", which < 2 ? now === 0 : now === race.steps.length - 1));
      steps.forEach((cell, place) => { cell.dataset.when = place < now ? "past" : place > now ? "future" : "now"; });
      const at = race.threads.map((_, lane) => race.steps.slice(0, now + 1).findLast((each) => each.lanes.includes(lane))?.line);
      rows.forEach(({ row, marks, number }) => {
        marks.forEach((mark, lane) => { mark.dataset.here = at[lane] === number; });
        row.dataset.now = number === step.line;
      });
    };
    const moves = [() => 0, () => now - 1, () => now + 1, () => race.steps.length];
    buttons.forEach((button, which) => button.addEventListener("click", () => show(moves[which]())));
    const keys = ["Home", "ArrowLeft", "ArrowRight", "End"];
    controls.addEventListener("keydown", (event) => {
      if (!keys.includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation(); // a notebook would select another cell
      show(moves[keys.indexOf(event.key)]());
    });
    show(0);
    box.querySelector(".h2d-player-title").after(stage);
  };

  window.h2dPlayers = () => document.querySelectorAll(".h2d-player[data-race]:not([data-drawn])").forEach(draw);
  document.addEventListener("h2d-live-output", window.h2dPlayers); // what a live cell of a page has shown
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", window.h2dPlayers);
  else window.h2dPlayers();
})();
