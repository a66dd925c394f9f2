// Draws a panel's numbers beside the recorded ones, in the colours of the book, and writes them as a table.
(() => {
  const h2dGpu = window.h2dGpu;
  const { median, middle } = h2dGpu;
  const COLOURS = ["blue", "orange", "green", "purple", "ink"];
  const SHAPES = ["●", "■", "◆", "▲", "▼"];

  const digits = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3, minimumSignificantDigits: 3 });
  const scaled = (value, parts, unit) => {
    const [size, prefix] = parts.find(([size]) => Math.abs(value) >= size * 0.9995) || parts.at(-1);
    return `${digits(value / size)}\u00a0${prefix}${unit}`;
  };
  const shown = (value, unit) => {
    if (unit === "s") return scaled(value, [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]], "s");
    return scaled(value, [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]], unit);
  };
  const shownAt = (x, unit) => {
    if (x === null || x === undefined) return "";
    if (unit !== "B") return x.toLocaleString("en");
    const [size, name] = [[2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "bytes"]].find(([size]) => x >= size);
    return `${x / size}\u00a0${name}`;
  };
  const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  // One form for numbers of now and recorded ones.
  const rowOf = (name, unit) => (point) => ({
    machine: name, short: "your browser", now: true, what: point.what, x: point.x, unit, doubts: point.doubts,
    median: median(point.values), low: middle(point.values, 0.25), high: middle(point.values, 0.75), samples: point.values.length,
  });

  const table = (panel, rows) => {
    const withX = rows.some((row) => row.x !== null), at = panel.axis || ["x", ""];
    const head = ["machine", "what", ...(withX ? [at[0]] : []), "median", "middle half", "doubtful"];
    const body = rows.map((row) => {
      const cells = [row.what, ...(withX ? [shownAt(row.x, at[1])] : []), shown(row.median, row.unit),
        `${shown(row.low, row.unit)} to ${shown(row.high, row.unit)}`, (row.doubts || []).join(", ")];
      return `<tr><th scope="row">${escaped(row.machine)}</th>${cells.map((each) => `<td>${escaped(each)}</td>`).join("")}</tr>`;
    });
    return `<details><summary>These numbers as a table</summary><div role="region" tabindex="0" class="h2d-gpu-table" `
      + `aria-label="Table: ${escaped(panel.title)}"><table class="table"><caption>${escaped(panel.title)}</caption><thead><tr>`
      + head.map((each) => `<th scope="col">${each}</th>`).join("") + `</tr></thead><tbody>${body.join("")}</tbody></table></div></details>`;
  };

  const logScale = (values, from, to) => {
    let [low, high] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
    const room = Math.max(0.12, (high - low) * 0.06);
    [low, high] = [low - room, high + room];
    const place = (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
    const ticks = [];
    for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
      for (const part of high - low < 2 ? [1, 2, 5] : [1]) {
        const log = power + Math.log10(part);
        if (log >= low && log <= high) ticks.push(part * 10 ** power);
      }
    }
    const step = Math.ceil(ticks.length / 5);
    return { place, ticks: ticks.filter((_, at) => at % step === 0) };
  };
  const colour = (at) => `var(--h2d-${COLOURS[at % COLOURS.length]})`;
  const svg = (width, height, alt, parts) => `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" `
    + `aria-label="${escaped(alt)}" class="h2d-gpu-figure">${parts.join("")}</svg>`;
  const label = (x, y, words, anchor = "start", kind = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" class="${kind}">${escaped(words)}</text>`;
  const line = (x1, y1, x2, y2, style) => `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" style="${style}"/>`;

  // A row for each number: its name above, its point and its middle half on a logarithmic axis.
  const rowsFigure = (panel, rows, width) => {
    const same = rows.filter((row) => row.unit === panel.unit), machines = [...new Set(same.map((row) => row.machine))];
    const height = 40 * same.length + 34, scale = logScale(same.flatMap((row) => [row.low, row.high, row.median]), 12, width - 12);
    const parts = scale.ticks.flatMap((tick) => [
      line(scale.place(tick), 4, scale.place(tick), height - 24, "stroke: var(--h2d-line)"),
      label(Math.min(width - 26, Math.max(26, scale.place(tick))), height - 8, shown(tick, panel.unit), "middle", "quiet"),
    ]);
    same.forEach((row, at) => {
      const y = 40 * at + 16, paint = colour(machines.indexOf(row.machine)), x = scale.place(row.median);
      parts.push(label(4, y, `${row.short || row.machine}: ${row.what}`, "start", row.now ? "now" : ""));
      parts.push(line(scale.place(row.low), y + 12, scale.place(row.high), y + 12, `stroke: ${paint}; stroke-width: 7; opacity: 0.35`));
      parts.push(`<circle cx="${x.toFixed(1)}" cy="${y + 12}" r="5" style="fill: ${paint}"/>`);
      const right = x > width * 0.7;
      parts.push(label(right ? x - 10 : x + 10, y + 16, shown(row.median, row.unit) + (row.doubts?.length ? " (doubtful)" : ""), right ? "end" : "start"));
    });
    const alt = same.map((row) => `${row.machine}, ${row.what}: ${shown(row.median, row.unit)}`).join("; ");
    return svg(width, height, `${panel.title}. ${alt}.`, parts);
  };

  // A line for each machine and what it did; a recorded number without an x is a level, or a rate is time by size.
  const linesFigure = (panel, rows, width) => {
    const groups = new Map();
    for (const row of rows) {
      const name = `${row.short || row.machine}: ${row.what}`;
      groups.set(name, [...(groups.get(name) || []), row]);
    }
    const xs = rows.filter((row) => row.x !== null && row.unit === panel.unit).map((row) => row.x);
    if (!xs.length) return { picture: "", names: [] };
    const [least, most] = [Math.min(...xs), Math.max(...xs)];
    const lines = [...groups].map(([name, points]) => {
      const limit = points.every((point) => point.x === null);
      if (!limit) return { name, now: points[0].now, points: points.map((point) => [point.x, point.median]).sort((a, b) => a[0] - b[0]) };
      const { median: value, unit } = points[0];
      if (unit === panel.unit) return { name, limit, points: [[least, value], [most, value]] };
      if (unit === "B/s" && panel.unit === "s" && panel.axis[1] === "B") return { name, limit, points: [[least, least / value], [most, most / value]] };
      return null;
    }).filter(Boolean);
    const height = 300, left = 66;
    const x = logScale([least, most], left, width - 10), y = logScale(lines.flatMap((each) => each.points.map((point) => point[1])), height - 40, 8);
    const parts = [
      ...y.ticks.flatMap((tick) => [line(left, y.place(tick), width - 10, y.place(tick), "stroke: var(--h2d-line)"), label(left - 6, y.place(tick) + 4, shown(tick, panel.unit), "end", "quiet")]),
      ...[...new Set(xs)].sort((a, b) => a - b).filter((_, at, all) => at % Math.ceil(all.length / (width / 110)) === 0)
        .map((tick) => label(x.place(tick), height - 22, shownAt(tick, panel.axis[1]), "middle", "quiet")),
      label((left + width) / 2, height - 5, panel.axis[0], "middle", "quiet"),
    ];
    lines.forEach((each, at) => {
      const path = each.points.map(([px, py], place) => `${place ? "L" : "M"}${x.place(px).toFixed(1)} ${y.place(py).toFixed(1)}`).join("");
      parts.push(`<path d="${path}" style="fill: none; stroke: ${colour(at)}; stroke-width: ${each.now ? 2.5 : 1.5}${each.limit ? "; stroke-dasharray: 5 4" : ""}"/>`);
      if (!each.limit) for (const [px, py] of each.points) parts.push(`<text x="${x.place(px).toFixed(1)}" y="${(y.place(py) + 4).toFixed(1)}" text-anchor="middle" style="fill: ${colour(at)}" aria-hidden="true">${SHAPES[at % 5]}</text>`);
    });
    const alt = lines.map(({ name, points }) => `${name}: ${shown(points[0][1], panel.unit)} at ${shownAt(points[0][0], panel.axis[1])}, ${shown(points.at(-1)[1], panel.unit)} at ${shownAt(points.at(-1)[0], panel.axis[1])}`).join("; ");
    const names = lines.map((each, at) => `<li><span style="color: ${colour(at)}" aria-hidden="true">${each.limit ? "┄" : SHAPES[at % 5]}</span> ${escaped(each.name)}</li>`);
    return { picture: svg(width, height, `${panel.title}. ${alt}.`, parts), names };
  };

  // The figure of a panel as HTML: picture, names of the lines, caption and table.
  const figure = (panel, rows, caption, width) => {
    if (!rows.length) return "";
    const { picture, names } = panel.axis ? linesFigure(panel, rows, width) : { picture: rowsFigure(panel, rows, width), names: [] };
    const legend = names.length ? `<ul class="h2d-gpu-names">${names.join("")}</ul>` : "";
    return `<figure>${picture}${legend}<figcaption>${escaped(caption)}</figcaption></figure>${table(panel, rows)}`;
  };

  Object.assign(h2dGpu, { figure, rowOf, shown, shownAt, escaped });
})();
