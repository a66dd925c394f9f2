// Leads through a panel: opens the GPU, measures or runs the lottery, says what stood in the way, and shows the result beside
// the recorded machines. Nothing is sent, and nothing is kept but what the reader downloads.
(() => {
  const h2dGpu = window.h2dGpu;
  const { NoGpu, Stopped, Run, data, escaped, shown } = h2dGpu;
  const results = {}; // what was measured on this page, for the download
  let gpu = null, busy = false;

  const opened = async () => {
    if (gpu && !gpu.lost) return gpu;
    gpu = null;
    const found = await h2dGpu.open();
    if (found.software) {
      found.device.destroy();
      throw new NoGpu(`This browser computes WebGPU on the CPU (${found.name}). A CPU's times are not a GPU's, so the page does not measure them.`);
    }
    gpu = found;
    return gpu;
  };

  const machineName = () => `your browser, WebGPU, ${gpu.name}`;
  const widthOf = (box) => Math.max(280, Math.min(640, box.clientWidth - 4));
  const captionOf = (panel, rows, now) => {
    const stamps = [...new Set(panel.recorded.map((row) => row.stamp))].map((stamp) => `recorded on ${stamp}`);
    const parts = [...(now ? [`Measured now: ${machineName()}`] : []), ...stamps];
    const doubts = rows.some((row) => row.doubts?.length) ? " Some of it is doubtful: the table says what and why." : "";
    return `${parts.join("; ")}.${doubts}`.replace(/^./, (sign) => sign.toUpperCase());
  };
  const showRecorded = (found, panel) => {
    found.innerHTML = h2dGpu.figure(panel, panel.recorded, captionOf(panel, [], false), widthOf(found));
  };

  const download = () => {
    const text = JSON.stringify({
      form: "host-to-device, WebGPU, 1", when: new Date().toISOString(), browser: navigator.userAgent, gpu: gpu?.name,
      clock: { seconds: h2dGpu.tick(), timestamps: Boolean(gpu?.stamps) }, panels: results,
    }, null, 1);
    const link = Object.assign(document.createElement("a"), {
      href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "my-gpu.json",
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const words = (panel, points) => {
    const doubtful = points.filter((point) => point.doubts.length).length;
    const parts = [`Measured ${points.length} ${points.length === 1 ? "number" : "numbers"} on ${gpu.name}.`];
    if (doubtful) parts.push(`${doubtful} of them ${doubtful === 1 ? "is" : "are"} doubtful.`);
    if (points.some((point) => point.doubts.includes("slower at the end"))) parts.push("The device became slower while it worked: it got warm, or another program needed it. Let it rest, and measure again.");
    if (points.some((point) => point.x !== null) && panel === data.panels.transfers) {
      for (const what of new Set(points.map((point) => point.what))) {
        const own = points.filter((point) => point.what === what);
        if (own.length < 3) continue;
        const { latency, bandwidth } = h2dGpu.fitted(own);
        const fits = latency > 0 && bandwidth > 0;
        parts.push(fits ? `Fit for ${what}: ${shown(latency, "s")} + bytes / ${shown(bandwidth, "B/s")}.` : `For ${what}, no latency and bandwidth fit.`);
      }
    }
    return parts.join(" ");
  };

  const measure = async ({ box, said, found }, name, run) => {
    const panel = data.panels[name], points = [];
    const show = () => {
      const own = points.map(h2dGpu.rowOf(machineName(), panel.unit)), rows = [...own, ...panel.recorded];
      const open = found.querySelector("details")?.open;
      found.innerHTML = h2dGpu.figure(panel, rows, captionOf(panel, own, true), widthOf(found));
      if (open) found.querySelector("details").open = true;
    };
    for await (const point of h2dGpu.measurements[name](run)) {
      points.push(point);
      said.textContent = `Measuring: ${point.what}`;
      show();
      if (run.over) break;
    }
    results[name] = { unit: panel.unit, points };
    said.textContent = words(panel, points);
    const save = Object.assign(document.createElement("button"), { type: "button", textContent: "Download JSON" });
    save.addEventListener("click", download);
    found.append(save);
    box.dataset.done = points.length;
  };

  const gamble = async ({ box, said, found }, name, run) => {
    const result = await h2dGpu.lottery(run, name);
    results[name] = { gpu: gpu.name, ran: result.ran, wrong: result.wrong };
    const count = result.ran.toLocaleString("en");
    said.textContent = `The check says that the rule is broken; your GPU got it wrong in ${result.wrong.toLocaleString("en")} of ${count} runs.`;
    const some = (values) => values.slice(0, 8).join(", ") + (values.length > 8 ? ", …" : "");
    found.innerHTML = result.wrong
      ? `<p>The right result is ${escaped(some(result.right))}; the first wrong one was ${escaped(some(result.example))}.</p>`
      : "<p>That proves nothing. No rule orders the two accesses, so this GPU, this browser and this day happened to run them in an order that gives the right result. "
        + "Another GPU, a new driver, a larger block or a busy machine may run them in another order, and a thousand runs do not show how often.</p>";
    if (result.ran < 1000) found.innerHTML += `<p>The time limit ended it after ${count} runs.</p>`;
    box.dataset.done = result.ran;
  };

  const press = async (parts) => {
    const { box, button, stop, progress, said, found } = parts;
    const panel = data.panels[box.dataset.panel];
    if (busy) { said.textContent = "Another panel is measuring: wait for its end, or stop it."; return; }
    busy = true;
    delete box.dataset.done;
    let run = null;
    const stopping = () => { run.stop = true; };
    try {
      await opened();
      const seconds = panel ? panel.seconds : 20;
      run = new Run(gpu, seconds, (share) => { progress.value = share; });
      stop.hidden = progress.hidden = false;
      stop.addEventListener("click", stopping);
      stop.focus();
      said.textContent = `Measuring for ${seconds} seconds at most on ${gpu.name}`;
      await (panel ? measure(parts, box.dataset.panel, run) : gamble(parts, box.dataset.race, run));
    } catch (problem) {
      const lost = gpu?.lost ? ` ${gpu.lost}` : "";
      said.textContent = `${problem.message.replace(/\.?$/, ".")}${lost && !problem.message.includes(gpu.lost) ? lost : ""}`;
      if (!(problem instanceof NoGpu || problem instanceof Stopped)) said.textContent += " Nothing was measured.";
      if (panel && panel.recorded.length) {
        said.textContent += " The recorded machines are shown instead.";
        showRecorded(found, panel);
      } else if (!panel) found.replaceChildren();
      box.dataset.done = "none";
    } finally {
      if (run) run.end();
      stop.removeEventListener("click", stopping);
      const focused = document.activeElement === stop;
      stop.hidden = progress.hidden = true;
      button.disabled = false;
      if (focused) button.focus();
      busy = false;
    }
  };

  Object.assign(h2dGpu, { press, results });
})();
