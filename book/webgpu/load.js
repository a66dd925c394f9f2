// Gives each panel of a page its button. The parts that measure and draw are loaded on the first press.
(() => {
  const base = new URL("webgpu/", document.currentScript.src);
  const parts = ["gpu.js", "measuring.js", "drawing.js", "data.js", "panels.js"];
  let loaded = null;

  // Classic scripts, one after the other: they also load in a page that was opened from a disk.
  const load = (part) => new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: new URL(part, base), onload: resolve });
    script.onerror = () => reject(new Error(`${part} could not be loaded. Check the network, then press the button again`));
    document.head.append(script);
  });
  const all = () => {
    loaded = loaded || parts.reduce((before, part) => before.then(() => load(part)), Promise.resolve());
    loaded.catch(() => { loaded = null; });
    return loaded;
  };

  for (const box of document.querySelectorAll(".h2d-gpu-box")) {
    const button = Object.assign(document.createElement("button"), {
      type: "button", textContent: box.dataset.race ? "Run it 1,000 times" : "Measure my GPU",
    });
    const stop = Object.assign(document.createElement("button"), { type: "button", textContent: "Stop", hidden: true });
    const progress = Object.assign(document.createElement("progress"), { max: 1, value: 0, hidden: true });
    const said = Object.assign(document.createElement("p"), { className: "h2d-gpu-said" });
    const found = Object.assign(document.createElement("div"), { className: "h2d-gpu-found" });
    progress.setAttribute("aria-label", "Time used");
    said.setAttribute("role", "status");
    const tools = Object.assign(document.createElement("div"), { className: "h2d-gpu-tools" });
    tools.append(button, stop, progress);
    box.querySelector(".h2d-gpu-title").after(tools, said, found);
    button.addEventListener("click", async () => {
      button.disabled = true;
      said.textContent = "Loading";
      try {
        await all();
        await window.h2dGpu.press({ box, button, stop, progress, said, found });
      } catch (problem) {
        said.textContent = `${problem.message}.`.replace(/\.\.$/, ".");
      } finally {
        button.disabled = false;
      }
    });
  }
})();
