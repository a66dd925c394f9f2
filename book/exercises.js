// Shows on a page of exercises what the reader has solved, from the progress file that their notebooks write.
// The file is read here, in the browser, and kept in localStorage; nothing is sent anywhere.
document.addEventListener("DOMContentLoaded", () => {
  const box = document.querySelector(".exercise-progress");
  if (!box) return;
  const KEPT = "host-to-device-progress";
  const mine = box.querySelector(".exercise-progress-mine");
  const file = box.querySelector("input[type=file]");
  const forget = box.querySelector("button");
  const state = box.querySelector(".exercise-progress-state");
  const rows = [...box.querySelectorAll("tr[data-exercise]")];
  mine.hidden = false; // without this script there would be nothing behind it

  // A browser may refuse to keep anything; then what was chosen lasts as long as the page.
  const keep = (text) => { try { localStorage.setItem(KEPT, text); return true; } catch { return false; } };
  const kept = () => { try { return localStorage.getItem(KEPT); } catch { return null; } };
  const drop = () => { try { localStorage.removeItem(KEPT); } catch { /* there was nothing to drop */ } };

  // Returns {exercise: points} of a progress file, or null if it is none.
  const read = (text) => {
    let whole;
    try { whole = JSON.parse(text); } catch { return null; }
    const entries = whole?.solved;
    if (!entries || typeof entries !== "object" || Array.isArray(entries)) return null;
    const points = new Map();
    for (const [number, entry] of Object.entries(entries)) {
      if (typeof entry?.points === "number") points.set(number, entry.points);
    }
    return points;
  };

  const mark = (row, solved) => {
    row.querySelector("[data-solved]").textContent = solved ? "✓ solved" : "";
    const heading = document.getElementById(row.querySelector("a").hash.slice(1))?.querySelector("h2, h3")
      ?? document.querySelector(`${row.querySelector("a").hash} ~ h2`);
    heading?.querySelector(".exercise-solved")?.remove();
    if (!heading || !solved) return;
    const badge = document.createElement("span");
    badge.className = "exercise-solved";
    badge.textContent = "✓ solved";
    heading.insertBefore(badge, heading.querySelector(".headerlink"));
  };

  const show = (points) => {
    let solved = 0, reached = 0, all = 0;
    for (const row of rows) {
      const most = Number(row.dataset.points), has = Math.min(points?.get(row.dataset.exercise) ?? 0, most);
      solved += has >= most;
      reached += has;
      all += most;
      mark(row, has >= most);
    }
    box.querySelector("thead [data-solved] span").hidden = !points;
    forget.hidden = !points;
    return points ? `${solved} of ${rows.length} solved, ${reached} of ${all} points.` : "";
  };

  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    const text = await chosen.text();
    const points = read(text);
    if (!points) {
      state.textContent = `${chosen.name} is no progress file: h2d.progress() says where yours is.`;
      return;
    }
    const stays = keep(text);
    state.textContent = show(points)
      + (stays ? " Choose the file again when you have solved more." : " Your browser keeps nothing: choose the file again next time.");
  });

  forget.addEventListener("click", () => {
    drop();
    file.value = "";
    show(null);
    file.focus(); // the button that had the focus is gone
    state.textContent = "Forgotten here; your file is as it was.";
  });

  const before = kept();
  if (before !== null) state.textContent = show(read(before));
});
