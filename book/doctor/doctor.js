// The doctor in the page: what host_to_device/diagnosing makes of a pasted text, with the same rules. All patterns, tables and
// words come from the Python, as JSON in the page. `h2dDoctor(known).diagnose(text)` returns what `h2d.doctor(text)` finds.
window.h2dDoctor = (known) => {
  const { pasting, matching, tables } = known;
  const reading = known.facts;

  // Python counts a character beyond U+FFFF as one, JavaScript as two: while a text is read, one half stands for each.
  const beyond = /[\u{10000}-\u{10ffff}]/gu;
  const inHalves = (text) => {
    const signs = [...new Set(text.match(beyond) ?? [])];
    const half = new Map(signs.map((sign, at) => [sign, String.fromCharCode(0xd800 + (at % 0x800))]));
    const whole = new Map([...half].map(([sign, code]) => [code, sign]));
    const back = (words) => words.replace(/[\ud800-\udfff]/g, (code) => whole.get(code) ?? code);
    return [signs.length ? text.replace(beyond, (sign) => half.get(sign)) : text, signs.length ? back : (words) => words];
  };

  // "s": a dot fits all but the end of a line, and what is searched is one line.
  const expressions = new Map();
  const expression = (pattern, flags = "") => {
    const key = flags + pattern;
    if (!expressions.has(key)) expressions.set(key, new RegExp(pattern, `s${flags}`));
    return expressions.get(key);
  };
  const white = pasting.white.replace(/[\s\S]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const spaces = new RegExp(`[${white}]+`, "g");
  const flattened = (text) => text.replace(spaces, " ").replace(/^ | $/g, "");
  const lower = (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const unique = (list) => [...new Set(list)];

  // -- pasting.py

  const shortened = (text) => {
    const lines = [];
    for (const line of text.split("\n")) {
      for (let at = 0; at < line.length; at += pasting.longestLine) lines.push(line.slice(at, at + pasting.longestLine));
    }
    const times = new Map();
    const kept = new Set();
    lines.forEach((line, at) => {
      times.set(line, (times.get(line) ?? 0) + 1);
      if (times.get(line) > pasting.repeated) return;
      const small = line.toLowerCase();
      if (!pasting.speaking.some((word) => small.includes(word))) return;
      for (let near = at - pasting.neighbours; near <= at + pasting.neighbours; near += 1) kept.add(near);
    });
    const short = lines.filter((_, at) => kept.has(at)).join("\n");
    const half = pasting.long / 2;
    return short.length <= pasting.long ? short : `${short.slice(0, half)}\n${short.slice(-half)}`;
  };

  const plain = (pasted) => {
    let text = pasted;
    if (text.includes("\x1b")) text = text.replace(expression(pasting.colours, "g"), "");
    text = text.replace(/\r\n?/g, "\n").replace(/[\0\xa0]/g, " ");
    return text.length > pasting.long ? shortened(text) : text;
  };

  // -- matrix.py

  const parts = (version) => version.match(/[0-9]{1,9}/g) ?? [];
  const numbers = (version) => {
    const found = parts((version.match(/^[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}/) ?? [""])[0]).map(Number);
    while (found.length && found.at(-1) === 0) found.pop();
    return found;
  };
  const compare = (one, two) => {
    for (let at = 0; at < Math.min(one.length, two.length); at += 1) {
      if (one[at] !== two[at]) return one[at] < two[at] ? -1 : 1;
    }
    return one.length - two.length;
  };
  const before = (text, sign) => text.split(sign, 1)[0];
  const drivers = Object.entries(tables.driver_of_cuda)
    .map(([cuda, driver]) => ({ cuda, driver, branch: numbers(driver).slice(0, 1) }))
    .sort((one, two) => compare(one.branch, two.branch) || compare(numbers(one.cuda), numbers(two.cuda)));
  const cudaOfDriver = (driver) => {
    const branch = numbers(driver).slice(0, 1);
    if (!branch.length || compare(branch, drivers.at(-1).branch) > 0 || compare(branch, drivers[0].branch) < 0) return null;
    return drivers.findLast((row) => compare(row.branch, branch) <= 0).cuda;
  };
  const capabilityOf = (name) => tables.capability.find(([pattern]) => expression(pattern).test(name))?.[1];
  const cardsOf = (torch, cuda) => {
    if (compare(numbers(torch), numbers(tables.newest_torch).slice(0, 2)) > 0) return null;
    return tables.torch_cards.findLast((row) => row.cuda === cuda && compare(numbers(row.from), numbers(torch)) <= 0);
  };
  const torchIndex = (cuda, capability) => tables.torch_indices.find((row) => compare(numbers(row.cuda), numbers(cuda)) <= 0
    && (!capability || (compare(numbers(row.oldest), numbers(capability)) <= 0
      && compare(numbers(capability), numbers(row.newest)) <= 0)))?.name;
  const torchOf = (library, version) => {
    const minor = parts(version).slice(0, 2).join(".");
    if (library === "torchvision") return tables.torchvision[minor];
    return Object.values(tables.torchvision).includes(minor) && !minor.startsWith("1.") ? minor : null;
  };
  const numpyOf = (numba) => tables.numba_numpy[parts(numba).slice(0, 3).join(".")]
    || tables.numba_numpy[parts(numba).slice(0, 2).join(".")];

  // -- facts.py

  const factsOf = (text, small) => {
    const facts = new Map([["pasted", { value: "yes", words: "" }]]);
    const has = (name) => facts.has(name);
    const value = (name) => facts.get(name)?.value ?? "";
    const words = (name) => facts.get(name).words;
    const set = (name, fact) => { if (!has(name)) facts.set(name, fact); };
    const take = (name, found, said) => set(name, { value: flattenedEnds(found), words: flattened(said) });
    const flattenedEnds = (found) => found.replace(new RegExp(`^[${white}]+|[${white}]+$`, "g"), "");
    const add = (name, found, of) => { if (found) set(name, { value: found, words: words(of) }); };

    const linesWith = (word) => {
      const found = [];
      let at = small.indexOf(word);
      while (at >= 0 && found.length < reading.mostLines) {
        let start = small.lastIndexOf("\n", at - 1) + 1;
        if (at === 0) start = 0;
        let end = small.indexOf("\n", at);
        if (end < 0) end = text.length;
        if (at - start > reading.longestLine) start = at - reading.longestLine;
        found.push(text.slice(start, Math.min(end, at + reading.longestLine)));
        at = small.indexOf(word, end);
      }
      return found;
    };
    const first = (word, pattern, flags, mend = (line) => line) => {
      for (const line of linesWith(word)) {
        const found = expression(pattern, flags).exec(mend(line));
        if (found) return [found, line];
      }
      return [null, ""];
    };

    for (const [name, word, pattern] of reading.lines) {
      const [found] = first(word, pattern, "i");
      if (found) take(name, found[1], found[0]);
    }
    packages();
    gpus();
    torchOfReport();
    if (has("windows")) take("platform", "windows", words("windows"));
    if (has("macos")) take("platform", "mac", words("macos"));
    if (has("found_version")) {
      const number = Number(value("found_version"));
      take("driver_cuda", `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`, words("found_version"));
    }
    if (has("capability") && !value("capability").includes(".")) {
      facts.set("capability", { value: value("capability").replace(/(.)$/, ".$1"), words: words("capability") });
    }
    derive();
    return facts;

    function packages() {
      for (const [name, fact, pattern] of reading.packages) {
        const [found, line] = first(name, pattern, "", (each) => each.replaceAll("|", " "));
        if (!found) continue;
        take(fact, found[1], found[0]);
        const build = name === "pytorch" && expression(reading.condaBuild).exec(line);
        if (build) take("torch_kind", build[1], line);
        if (build?.[2]) take("torch_cuda", build[2], line);
      }
      const cupys = new Map();
      for (const line of linesWith("cupy")) {
        const found = expression(reading.cupy).exec(line);
        if (found && !cupys.has(found[1])) cupys.set(found[1], found[0]);
      }
      if (cupys.size) takeCupy([...cupys.keys()], [...cupys.values()]);
      for (const [major, pattern] of reading.cupyLibraries) {
        const [found] = first(`-cu${major}`, pattern, "");
        if (found) take(`libraries_${major}`, "yes", found[0]);
      }
    }

    function takeCupy(names, said) {
      const all = said.join("; ");
      take("cupy_packages", String(names.length), all);
      take("cupy_names_plain", names.join(" "), all);
      if (names.length > 1) take("cupy_names", ` (${names.join(", ")})`, all);
      names.forEach((name, at) => {
        const major = expression(reading.cudaOfCupy).exec(name);
        if (major) take("cupy_cuda", major[1], said[at]);
      });
    }

    function gpus() {
      const names = new Map();
      const note = (found, mend) => { if (found && !names.has(found[1])) names.set(found[1], mend(found[2])); };
      for (const line of linesWith("|")) note(expression(reading.gpu).exec(line), (name) => name);
      for (const word of reading.gpuWords) {
        for (const line of linesWith(word)) note(expression(reading.gpuOfList).exec(line), flattenedEnds);
      }
      if (!names.size) return;
      const said = unique(names.values()).join(", ");
      take("gpus", String(names.size), said);
      const lowest = [...names.keys()].reduce((one, two) => (Number(two) < Number(one) ? two : one));
      take("gpu_name", names.get(lowest), said);
    }

    function torchOfReport() {
      for (const name of ["pip_torch", "conda_torch"]) if (has(name)) take("torch", value(name), words(name));
      if (has("torch_rocm")) take("torch_kind", "rocm", words("torch_rocm"));
      if (has("torch_built")) {
        if (expression(reading.cudaOfTorch).test(value("torch_built"))) {
          take("torch_cuda", value("torch_built"), words("torch_built"));
          take("torch_kind", "cuda", words("torch_built"));
        } else if (reading.noCuda.some((none) => value("torch_built").startsWith(none)) && has("torch")) {
          take("torch_kind", "cpu", words("torch_built"));
        }
      }
      for (const library of ["torch", "torchvision", "torchaudio"]) {
        const tag = has(library) && expression(reading.tag).exec(value(library));
        if (!tag) continue;
        take(`${library}_tag`, tag[1], words(library));
        if (library !== "torch") continue;
        take("torch_kind", tag[2] ? "cuda" : tag[1].replace(/[0-9.]+$/, ""), words(library));
        if (tag[2]) take("torch_cuda", tag[2].replace(/(.)$/, ".$1"), words(library));
      }
    }

    function derive() {
      if (has("gpu_name")) add("capability", capabilityOf(value("gpu_name")), "gpu_name");
      if (has("capability")) {
        add("capability_digits", value("capability").replaceAll(".", ""), "capability");
        const of = has("gpu_name") ? `${value("gpu_name")}, ` : "";
        add("card_words", ` (${of}compute capability ${value("capability")})`, "capability");
      }
      if (has("driver")) {
        add("driver_branch", before(value("driver"), "."), "driver");
        add("driver_cuda", cudaOfDriver(value("driver")), "driver");
      }
      for (const name of ["driver_cuda", "torch_cuda", "toolkit"]) {
        if (has(name)) add(`${name}_major`, before(value(name), "."), name);
      }
      if (has("toolkit")) add("toolkit_words", ` (CUDA ${value("toolkit")})`, "toolkit");
      if (has("cupy_cuda")) {
        add("cupy_words", ` (CUDA ${value("cupy_cuda")})`, "cupy_cuda");
        add("cupy_min_driver", tables.lowest_driver[value("cupy_cuda")], "cupy_cuda");
        add("cupy_libraries", value(`libraries_${value("cupy_cuda")}`), "cupy_cuda");
      }
      if (has("driver_cuda")) {
        const major = Number(value("driver_cuda_major"));
        const builds = tables.builds.find((row) => row.major <= major) ?? { facts: {} };
        for (const [name, words] of Object.entries(builds.facts)) add(name, words, "driver_cuda");
        if (major === 12) add("ptx_toolkit", value("driver_cuda"), "driver_cuda");
        add("torch_index", torchIndex(value("driver_cuda"), value("capability")), "driver_cuda");
      }
      if (has("torch")) {
        add("torch_words", ` (${value("torch")})`, "torch");
        add("torch_minor", value("torch").match(/[0-9]+/g).slice(0, 2).join("."), "torch");
      }
      if (has("torch_cuda")) {
        add("torch_min_driver", tables.lowest_driver[value("torch_cuda_major")], "torch_cuda");
        const cards = has("torch_minor") && cardsOf(value("torch_minor"), value("torch_cuda"));
        if (cards) {
          add("torch_oldest_card", cards.oldest, "torch");
          add("torch_newest_card", cards.newest, "torch");
        }
      }
      for (const library of ["torchvision", "torchaudio"]) {
        if (has(library) && has("torch_minor")) add(`${library}_wants`, torchOf(library, value(library)), library);
      }
      if (has("numpy")) {
        add("numpy_minor", value("numpy").match(/[0-9]+/g).slice(0, 2).join("."), "numpy");
        add("numpy_words", ` ${value("numpy")}`, "numpy");
      }
      const numpy = has("numba") && numpyOf(value("numba"));
      if (numpy) {
        add("numba_numpy", numpy, "numba");
        const [major, minor] = numpy.split(".");
        add("numpy_below", `${major}.${Number(minor) + 1}`, "numba");
      }
      if (has("driver")) add("driver_words", ` (${value("driver")})`, "driver");
      const of = ["torch_cuda", "cupy_cuda"].find(has);
      if (of) {
        add("needed_cuda", ` ${value(of)}`, of);
        const lowest = tables.lowest_driver[before(value(of), ".")];
        add("needed_driver", lowest && `CUDA ${value(of)} needs ${lowest} or newer`, of);
      }
    }
  };

  // -- patterns.py and matching.py

  const diagnose = (pasted) => {
    const [halves, back] = inHalves(pasted);
    const text = plain(halves);
    const flat = flattened(text);
    const small = lower(flat);
    const facts = factsOf(text, lower(text));

    // Texts are searched for a pattern's words first: these places are kept, since many patterns share words.
    const knownPlaces = new Map();
    const placesOf = (word) => {
      if (!knownPlaces.has(word)) {
        const found = [];
        for (let at = small.indexOf(word); at >= 0 && found.length < matching.mostPlaces; at = small.indexOf(word, at + word.length)) {
          found.push(at);
        }
        knownPlaces.set(word, found);
      }
      return knownPlaces.get(word);
    };
    const places = (words) => {
      const found = [];
      for (const word of words) found.push(...placesOf(word).slice(0, Math.max(0, matching.mostPlaces - found.length)));
      return found.sort((one, two) => one - two);
    };
    const firstMatch = ([pattern, words]) => {
      const search = expression(pattern, "gi");
      let readTo = 0;
      for (const at of places(words)) {
        search.lastIndex = Math.max(at - matching.before, readTo - matching.before, 0);
        const found = search.exec(flat.slice(0, at + matching.after));
        if (found) return [found.index, found.index + found[0].length];
        readTo = at;
      }
      return null;
    };

    const inText = (rule) => {
      for (const alternative of rule.text) {
        const found = [];
        for (const pattern of alternative) {
          const place = firstMatch(pattern);
          if (!place) break;
          found.push(place);
        }
        if (found.length === alternative.length) {
          const words = found.map(([start, end]) => flat.slice(start, end).trim().slice(0, matching.longestEvidence));
          return [Math.min(...found.map(([start]) => start)), unique(words)];
        }
      }
      return null;
    };

    const signs = {
      "<": (order) => order < 0, "<=": (order) => order <= 0, ">": (order) => order > 0, ">=": (order) => order >= 0,
      "!=": (order) => order !== 0,
    };
    const fits = (left, sign, right) => {
      if (sign === "==") return left === right;
      if (/^[0-9]/.test(left) && /^[0-9]/.test(right)) return signs[sign](compare(numbers(left), numbers(right)));
      return sign === "!=" && left !== right;
    };
    const holds = (condition) => {
      const left = facts.get(condition.left);
      if (condition.not) return left ? null : [];
      if (!left) return null;
      if (!condition.sign) return [left.words];
      let right = condition.right;
      const words = [left.words];
      if (condition.sign !== "==" && !/^[0-9]/.test(right)) {
        const other = facts.get(right);
        if (!other) return null;
        words.push(other.words);
        right = other.value;
      }
      return fits(left.value, condition.sign, right) ? words : null;
    };
    const inFacts = (rule) => {
      for (const conditions of rule.when) {
        const found = [];
        for (const condition of conditions) {
          const words = holds(condition);
          if (!words) break;
          found.push(words);
        }
        const words = found.flat();
        if (found.length === conditions.length) return [words.length, unique(words.filter(Boolean))];
      }
      return null;
    };

    const filled = (sentence) => sentence.replace(
      expression(matching.blank, "g"),
      (blank, name, otherwise) => facts.get(name)?.value ?? otherwise ?? blank,
    );
    const found = [];
    for (const rule of known.rules) {
      const evidence = inText(rule) ?? inFacts(rule);
      if (!evidence || rule.none.some(firstMatch)) continue;
      found.push({
        rule, at: evidence[0], id: rule.id, evidence: evidence[1].map(back), cause: back(filled(rule.cause)),
        cure: back(filled(rule.cure)), read: rule.read, source: rule.source,
      });
    }
    const hidden = new Set(found.flatMap(({ rule }) => rule.hides));
    const shown = found.sort((one, two) => two.rule.rank - one.rule.rank || one.at - two.at).filter(({ id }) => !hidden.has(id));
    return {
      findings: shown.map(({ rule, at, ...finding }) => finding),
      lines: stated(facts).map(back),
      notes: notes(facts).map((note) => back(filled(note))),
    };
  };

  // -- describing.py

  const stated = (facts) => {
    const found = Object.entries(known.report.stated).filter(([name]) => facts.has(name));
    const words = found.map(([name, said]) => `${said} ${facts.get(name).value}`);
    return words.length ? [`The text states: ${words.join("; ")}.`] : [];
  };
  const notes = (facts) => {
    const found = [];
    const newer = (name, newest, places) => facts.has(name)
      && compare(numbers(facts.get(name).value).slice(0, places), numbers(newest).slice(0, places)) > 0;
    const newestDriver = Object.values(tables.driver_of_cuda).reduce((one, two) => (compare(numbers(two), numbers(one)) > 0 ? two : one));
    if (newer("driver", newestDriver, 1)) found.push(known.report.newerDriver);
    if (newer("torch", tables.newest_torch, 2)) found.push(known.report.newerTorch);
    return found;
  };

  return { diagnose, plain };
};
