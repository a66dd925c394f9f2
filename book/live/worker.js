// The worker of a live page: it fetches Python, NumPy and the library on the first Run, keeps them in the browser's cache,
// and runs cells. The page ends it to stop a cell; static hosting cannot set the headers that an interrupt would need.
const base = new URL("./", self.location.href);
const say = (kind, more = {}) => self.postMessage({ kind, ...more });
const nativeFetch = self.fetch.bind(self);
const PACKED = ".packed";

const unpacked = async (bytes) => {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// The bytes of a file, from the browser's cache if it holds this version; `count` is told of each piece.
const bytesOf = async (file, count) => {
  const address = new URL(`${file.name}?${file.hash}`, base).href;
  let cache = null;
  try {
    cache = await caches.open("host-to-device-live");
    const kept = await cache.match(address);
    if (kept) {
      count(file.bytes, 0);
      return new Uint8Array(await kept.arrayBuffer());
    }
  } catch { /* a browser that keeps nothing: fetch every time */ }
  const answer = await nativeFetch(address);
  if (!answer.ok) throw new Error(`${file.name}: the server answers ${answer.status}`);
  const parts = [];
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    count(value.length, value.length);
  }
  const whole = new Uint8Array(await new Blob(parts).arrayBuffer());
  if (whole.length !== file.bytes) throw new Error(`${file.name} arrived with ${whole.length} of ${file.bytes} bytes`);
  await cache?.put(address, new Response(whole)).catch(() => {});
  return whole;
};

const forgetOld = async (files) => {
  try {
    const cache = await caches.open("host-to-device-live");
    const wanted = new Set(files.map((file) => new URL(`${file.name}?${file.hash}`, base).href));
    for (const request of await cache.keys()) if (!wanted.has(request.url)) await cache.delete(request);
  } catch { /* nothing is kept */ }
};

const TYPES = { wasm: "application/wasm", json: "application/json", zip: "application/zip" };
const script = (bytes) => importScripts(URL.createObjectURL(new Blob([bytes], { type: "text/javascript" })));

const sessions = new Map(); // by notebook: its names, and which of its cells have run
let running = null;

const start = async () => {
  const began = performance.now();
  const profile = {};
  const mark = (name) => { profile[name] = Math.round(performance.now() - began); };
  const { files } = await (await nativeFetch(new URL("manifest.json", base))).json();
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  let loaded = 0, fetched = 0;
  const held = new Map();
  await Promise.all(files.map(async (file) => {
    const bytes = await bytesOf(file, (count, new_) => {
      loaded += count;
      fetched += new_;
      say("progress", { loaded, total, fetched });
    });
    const packed = file.name.endsWith(PACKED);
    held.set(packed ? file.name.slice(0, -PACKED.length) : file.name, packed ? await unpacked(bytes) : bytes);
  }));
  mark("files");
  say("starting");
  forgetOld(files);
  // Pyodide asks for its files by their addresses: they are here already.
  self.fetch = (what, options) => {
    const name = new URL(what.url ?? what, base).pathname.split("/").pop();
    if (!held.has(name)) return nativeFetch(what, options);
    const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
    return Promise.resolve(new Response(held.get(name), { headers: { "content-type": type } }));
  };
  script(held.get("pyodide.js"));
  script(held.get("pyodide.asm.js"));
  const python = await self.loadPyodide({ indexURL: base.href, stdout: () => {}, stderr: () => {} });
  mark("python");
  await python.loadPackage("numpy", { messageCallback: () => {}, errorCallback: () => {} });
  const site = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  python.unpackArchive(held.get("library.zip"), "zip", { extractDir: site });
  mark("unpacked");
  self.fetch = nativeFetch;
  held.clear();
  python.runPython("import numpy");
  mark("numpy");
  running = python.pyimport("live_running");
  mark("session");
  say("ready", { profile });
  return python;
};

let python = null;

self.onmessage = async ({ data }) => {
  try {
    python ??= await start();
    if (!sessions.has(data.notebook)) {
      sessions.set(data.notebook, running.Session((kind, cell, text) => say(kind, { cell, text })));
    }
    const session = sessions.get(data.notebook);
    const cells = python.toPy(data.cells);
    const right = session.run(cells, data.cell);
    cells.destroy();
    say("end", { right });
  } catch (problem) {
    say("broken", { text: String(problem.message ?? problem).trim().split("\n").pop() });
  }
};
