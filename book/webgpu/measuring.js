// Measures a GPU by the browser's clock. That clock is coarse, so a number is a slope: the time of 2n launches minus the time
// of n, divided by n. What is the same in both (the wait, the submission) cancels out.
(() => {
  const h2dGpu = window.h2dGpu;
  const { launch, submit, done, bind, compile, empty, upload } = h2dGpu;
  const LEAST = 0.02; // seconds that n launches have to take: 200 steps of a clock of 100 µs
  const MOST_LAUNCHES = 20000, SAMPLES = 9;
  const UNSURE = 0.1, DRIFT = 1.15, TICKS = 50, APART = 1.3;

  class Stopped extends Error {}

  const now = () => performance.now() / 1000;
  const middle = (values, share) => {
    const sorted = [...values].sort((a, b) => a - b), at = (sorted.length - 1) * share, low = Math.floor(at);
    return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
  };
  const median = (values) => middle(values, 0.5);

  // The smallest step of the clock that a page sees, in seconds.
  const tick = () => {
    let least = Infinity;
    for (let tries = 0; tries < 20; tries++) {
      const from = performance.now();
      let to = from;
      while (to === from) to = performance.now();
      least = Math.min(least, to - from);
    }
    return least / 1000;
  };

  // Why a number may be wrong, in the words of the page "Measurements" where that has them.
  const doubtsAbout = ({ values, shortest = Infinity, clock = 0, stamped = null, hidden = false }) => {
    const found = [];
    if (hidden) found.push("hidden tab");
    if (values.length < 3) found.push("too few");
    else {
      const spread = (middle(values, 0.75) - middle(values, 0.25)) / median(values);
      if ((1.57 * spread) / Math.sqrt(values.length) > UNSURE) found.push("too few");
      const part = Math.max(1, Math.floor(values.length / 3));
      if (values.length >= 6 && median(values.slice(-part)) > DRIFT * median(values.slice(0, part))) found.push("slower at the end");
    }
    if (shortest < TICKS * clock) found.push("coarse clock");
    if (stamped && Math.max(stamped / median(values), median(values) / stamped) > APART) found.push("clocks differ");
    return found;
  };

  // What a measurement needs: the GPU, the time that is left, and whether the reader pressed Stop.
  class Run {
    constructor(gpu, seconds, told = () => {}) {
      Object.assign(this, { gpu, told, until: now() + seconds, seconds, clock: tick(), stop: false, hidden: document.hidden });
      this.seen = () => { this.hidden = this.hidden || document.hidden; };
      document.addEventListener("visibilitychange", this.seen);
    }

    get over() { return now() > this.until; }
    end() { document.removeEventListener("visibilitychange", this.seen); }
    check() {
      if (this.stop) throw new Stopped("Stopped");
      if (this.hidden) throw new Stopped("This tab was in the background, where browsers slow pages down. Keep it in front and measure again");
      this.told(Math.min(1, 1 - (this.until - now()) / this.seconds));
    }

    // Seconds from submitting work to its end.
    async time(fill) {
      this.check();
      const from = now();
      submit(this.gpu, fill);
      await done(this.gpu);
      return now() - from;
    }

    // Seconds of one unit of work, measured several times within a share of the time that is left.
    async each(fill, share = 1, stampsOf = null) {
      const end = now() + (this.until - now()) * share;
      await this.time((encoder) => fill(encoder, 1)); // compiles what is left to compile
      let n = 1, took = await this.time((encoder) => fill(encoder, 1));
      while (took < LEAST && n < MOST_LAUNCHES) {
        n = Math.min(MOST_LAUNCHES, Math.max(2 * n, Math.ceil((n * LEAST) / Math.max(took, this.clock))), 16 * n);
        took = await this.time((encoder) => fill(encoder, n));
      }
      const values = [];
      let shortest = took;
      while (values.length < SAMPLES && (values.length < 3 || now() < end) && !(this.over && values.length >= 1)) {
        const one = await this.time((encoder) => fill(encoder, n));
        const two = await this.time((encoder) => fill(encoder, 2 * n));
        shortest = Math.min(shortest, one);
        if (two > one) values.push((two - one) / n);
        else if (now() > end) break;
      }
      if (!values.length) throw new Error("The clock of this browser is too coarse: no time passed between two measurements");
      const stamped = stampsOf && this.gpu.stamps ? await this.stamped(stampsOf, 2 * n) : null;
      return { values, doubts: doubtsAbout({ values, shortest, clock: this.clock, stamped, hidden: this.hidden }) };
    }

    // Seconds of a launch by the GPU's own time stamps, which browsers round to 100 µs; null if they say nothing.
    async stamped([bound, grid], n) {
      const { gpu } = this, set = gpu.device.createQuerySet({ type: "timestamp", count: 2 });
      const target = gpu.device.createBuffer({ size: 16, usage: h2dGpu.resolveUsage.QUERY_RESOLVE | h2dGpu.resolveUsage.COPY_SRC });
      await this.time((encoder) => {
        launch(encoder, bound, grid, n, set);
        encoder.resolveQuerySet(set, 0, 2, target, 0);
      });
      const [from, to] = await h2dGpu.read(gpu, target, 16, BigInt64Array);
      target.destroy();
      set.destroy();
      return to > from && to - from > 1000000n ? Number(to - from) / 1e9 / n : null;
    }
  }

  // Measures `bound`, and gives its rate: `amount` bytes or operations in each launch.
  const rate = async (run, bound, grid, amount, share) => {
    const { values, doubts } = await run.each((encoder, n) => launch(encoder, bound, grid, n), share, [bound, grid]);
    return { values: values.map((each) => amount / each), doubts };
  };
  const program = (run, name) => compile(run.gpu, h2dGpu.data.shaders[name]);
  const random = (count) => Float32Array.from({ length: count }, (_, at) => ((at * 7919) % 1009) / 1009);
  const sides = (names, rows, columns) => Object.fromEntries(names.flatMap((name) => [[`${name}.shape[0]`, rows], [`${name}.shape[1]`, columns]]));

  // Each measurement gives its points one by one: {what, x, values, doubts}.
  const measurements = {
    async *copy(run) {
      const { gpu } = run, side = 4096, bytes = 4 * side * side;
      const a = empty(gpu, bytes), out = empty(gpu, bytes);
      try {
        const { values, doubts } = await run.each((encoder, n) => {
          for (let at = 0; at < n; at++) encoder.copyBufferToBuffer(a, 0, out, 0, bytes);
        }, 1 / 3);
        yield { what: "copyBufferToBuffer", x: null, values: values.map((each) => (2 * bytes) / each), doubts };
        for (const [name, what, share] of [["copy_rows", "copy by rows", 0.5], ["copy_columns", "copy by columns", 1]]) {
          const bound = bind(gpu, await program(run, name), { a, out }, sides(["a", "out"], side, side));
          yield { what, x: null, ...(await rate(run, bound, [side / 32, side / 8], 2 * bytes, share)) };
        }
      } finally { a.destroy(); out.destroy(); }
    },

    async *float32(run) {
      const { gpu } = run, side = 1024;
      const [a, b, c] = [random(side * side), random(side * side), random(side * side)].map((each) => upload(gpu, each));
      try {
        const kernels = [["matmul", "plain", 16, 0.25], ["tile 8", "tile 8", 8, 0.33], ["tile 16", "tile 16", 16, 0.5]];
        for (const [name, what, block, share] of kernels) {
          const bound = bind(gpu, await program(run, name), { a, b, c }, sides(["a", "b", "c"], side, side));
          yield { what, x: null, ...(await rate(run, bound, [side / block, side / block], 2 * side ** 3, share)) };
        }
        const x = upload(gpu, random(2 ** 18)), rounds = 256;
        const bound = bind(gpu, await program(run, "multiply_add"), { x }, { "x.shape[0]": 2 ** 18, rounds });
        yield { what: "multiply_add", x: null, ...(await rate(run, bound, [1024], 8 * rounds * 2 ** 18, 1)) };
        x.destroy();
      } finally { for (const each of [a, b, c]) each.destroy(); }
    },

    async *strides(run) {
      const { gpu } = run, count = 2 ** 24, bytes = 4 * count;
      const x = empty(gpu, bytes), out = empty(gpu, bytes);
      try {
        const made = await program(run, "read_strided"), strides = [1, 2, 4, 8, 16, 32];
        for (const [at, stride] of strides.entries()) {
          const bound = bind(gpu, made, { x, out }, { "x.shape[0]": count, "out.shape[0]": count, stride });
          yield { what: "read_strided", x: stride, ...(await rate(run, bound, [count / 256 / 2, 1], bytes, 1 / (strides.length - at))) };
        }
      } finally { x.destroy(); out.destroy(); }
    },

    async *sums(run) {
      const { gpu } = run, count = 2 ** 20;
      const x = upload(gpu, random(count)), whole = upload(gpu, Int32Array.from({ length: count }, (_, at) => at % 3)), total = empty(gpu, 4);
      try {
        const names = ["sum_atomic", "sum_tree", "sum_neighbours", "sum_halves", "sum_many"];
        for (const [at, name] of names.entries()) {
          const buffers = { x: name === "sum_atomic" ? whole : x, total };
          const bound = bind(gpu, await program(run, name), buffers, { "x.shape[0]": count });
          const what = name === "sum_atomic" ? "sum_atomic, int32" : name;
          const grid = [name === "sum_many" ? 256 : count / 128];
          yield { what, x: null, ...(await rate(run, bound, grid, 4 * count, 1 / (names.length - at))) };
        }
      } finally { for (const each of [x, whole, total]) each.destroy(); }
    },

    async *transfers(run) {
      const { gpu } = run, sizes = Array.from({ length: 7 }, (_, at) => 4 ** at * 4096);
      const most = sizes.at(-1), data = new Float32Array(most / 4).fill(1), onDevice = empty(gpu, most);
      const back = gpu.device.createBuffer({ size: most, usage: h2dGpu.resolveUsage.COPY_DST | h2dGpu.resolveUsage.MAP_READ });
      const ways = {
        "host to device": async (bytes) => {
          gpu.device.queue.writeBuffer(onDevice, 0, data, 0, bytes / 4);
          await done(gpu);
        },
        "device to host": async (bytes) => {
          submit(gpu, (encoder) => encoder.copyBufferToBuffer(onDevice, 0, back, 0, bytes));
          await back.mapAsync(1, 0, bytes);
          data.set(new Float32Array(back.getMappedRange(0, bytes)));
          back.unmap();
        },
      };
      try {
        let left = 2 * sizes.length;
        for (const [what, move] of Object.entries(ways)) {
          for (const bytes of sizes) {
            const end = now() + (run.until - now()) / left--, values = [];
            await move(bytes);
            let shortest = Infinity;
            while (values.length < 40 && (values.length < 3 || now() < end)) {
              run.check();
              const n = bytes < 2 ** 18 ? 8 : 1, from = now(); // one after the other, each waited for
              for (let at = 0; at < n; at++) await move(bytes);
              shortest = Math.min(shortest, now() - from);
              values.push((now() - from) / n);
            }
            yield { what, x: bytes, values, doubts: doubtsAbout({ values, shortest, clock: run.clock / 5, hidden: run.hidden }) };
          }
        }
      } finally { onDevice.destroy(); back.destroy(); }
    },

    async *launches(run) {
      const { gpu } = run, count = 64;
      const [x, y, out] = [1, 2, 3].map(() => empty(gpu, 4 * count));
      try {
        const bound = bind(gpu, await program(run, "capped"), { x, y, out }, { "out.shape[0]": count });
        yield { what: "in one submission", x: null, ...(await run.each((encoder, n) => launch(encoder, bound, [1], n), 1 / 3)) };
        const encoded = (n) => Array.from({ length: n }, () => {
          const encoder = gpu.device.createCommandEncoder();
          launch(encoder, bound, [1]);
          return encoder.finish();
        });
        const apart = await run.each((encoder, n) => { for (const each of encoded(n - 1)) gpu.device.queue.submit([each]); launch(encoder, bound, [1]); }, 0.5);
        yield { what: "a submission each", x: null, ...apart };
        const values = [];
        while (values.length < SAMPLES && !run.over) {
          const n = 10, from = now();
          for (let at = 0; at < n; at++) await run.time((encoder) => launch(encoder, bound, [1]));
          values.push((now() - from) / n);
        }
        if (values.length) yield { what: "a submission and a wait each", x: null, values, doubts: doubtsAbout({ values, hidden: run.hidden }) };
      } finally { for (const each of [x, y, out]) each.destroy(); }
    },

    async *batches(run) {
      const { gpu } = run, sizes = [2 ** 8, 2 ** 10, 2 ** 12, 2 ** 14, 2 ** 16, 2 ** 18, 2 ** 20];
      const [x, y, out] = [1, 2, 3].map(() => empty(gpu, 4 * sizes.at(-1)));
      try {
        const made = await program(run, "capped");
        for (const [at, count] of sizes.entries()) {
          const bound = bind(gpu, made, { x, y, out }, { "out.shape[0]": count });
          const { values, doubts } = await run.each((encoder, n) => launch(encoder, bound, [Math.ceil(count / 128)], n), 1 / (sizes.length - at));
          yield { what: "capped", x: count, values, doubts };
        }
      } finally { for (const each of [x, y, out]) each.destroy(); }
    },
  };

  // Latency and bandwidth of `seconds = latency + bytes / bandwidth`, by least squares of relative errors.
  const fitted = (points) => {
    let [w, wx, wxx, wy, wxy] = [0, 0, 0, 0, 0];
    for (const { x, values } of points) {
      const y = median(values), weight = 1 / y ** 2;
      w += weight; wx += weight * x; wxx += weight * x * x; wy += weight * y; wxy += weight * x * y;
    }
    const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    return { latency: (wy - slope * wx) / w, bandwidth: 1 / slope };
  };

  // Runs a wrong kernel many times, and counts how often its result is wrong.
  const lottery = async (run, name, times = 1000) => {
    const { gpu } = run, race = h2dGpu.data.lottery[name], bytes = 4 * race.right.length;
    const Kind = race.dtype === "int32" ? Int32Array : Float32Array;
    const x = upload(gpu, Kind.from(race.x)), out = empty(gpu, bytes), all = empty(gpu, times * bytes);
    try {
      const bound = bind(gpu, await program(run, name), { x, [race.out]: out }, { "x.shape[0]": race.x.length });
      const together = 50;
      let ran = 0;
      while (ran < times && !run.over) {
        run.check();
        submit(gpu, (encoder) => {
          for (let at = ran; at < Math.min(times, ran + together); at++) {
            encoder.clearBuffer(out);
            launch(encoder, bound, [race.grid]);
            encoder.copyBufferToBuffer(out, 0, all, at * bytes, bytes);
          }
        });
        await done(gpu);
        ran = Math.min(times, ran + together);
        run.told(ran / times);
      }
      const found = await h2dGpu.read(gpu, all, times * bytes, Kind), wrong = [];
      for (let at = 0; at < ran; at++) {
        const got = found.subarray(at * race.right.length, (at + 1) * race.right.length);
        if (race.right.some((each, place) => each !== got[place])) wrong.push([...got]);
      }
      return { ran, wrong: wrong.length, example: wrong[0] || null, right: race.right };
    } finally { for (const each of [x, out, all]) each.destroy(); }
  };

  Object.assign(h2dGpu, { Run, Stopped, measurements, lottery, fitted, median, middle, doubtsAbout, tick });
})();
