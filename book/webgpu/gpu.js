// Opens the reader's GPU by WebGPU, and runs the shaders that `translating.py` made. Nothing here measures or draws.
(() => {
  const h2dGpu = (window.h2dGpu = window.h2dGpu || {});
  // Adapters that compute on the CPU, by what they call themselves; `isFallbackAdapter` does not name all of them.
  const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|warp\b|basic render|software/i;
  // A page may have these limits raised to what the adapter has; without asking it gets the smallest that all have.
  const LIMITS = [
    "maxStorageBufferBindingSize", "maxBufferSize", "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY",
  ];
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ, QUERY_RESOLVE } = window.GPUBufferUsage || {};

  // What stops the panels, in the reader's words: it is shown, and nothing else is.
  class NoGpu extends Error {}

  const open = async () => {
    if (!window.isSecureContext) throw new NoGpu("This page was not loaded over HTTPS, so the browser offers no WebGPU to it.");
    if (!navigator.gpu) throw new NoGpu("This browser has no WebGPU.");
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) throw new NoGpu("This browser has WebGPU, but found no GPU for it.");
    const info = adapter.info || {};
    const words = [info.vendor, info.architecture, info.device, info.description].filter(Boolean);
    const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
    const requiredFeatures = ["timestamp-query"].filter((name) => adapter.features.has(name));
    const device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
    const gpu = {
      device,
      name: [...new Set(words)].join(" ") || "a GPU that the browser does not name",
      software: Boolean(info.isFallbackAdapter || adapter.isFallbackAdapter || SOFTWARE.test(words.join(" "))),
      stamps: device.features.has("timestamp-query"),
      limits: device.limits,
      lost: "",
    };
    // The browser takes a device away: the driver restarted, the GPU was pulled out, or a shader took too long.
    device.lost.then((how) => { gpu.lost = how.reason === "destroyed" ? "closed" : `The browser lost the GPU: ${how.message || "it gave no reason"}.`; });
    device.addEventListener("uncapturederror", (event) => { gpu.fault = event.error.message; });
    return gpu;
  };

  const buffer = (gpu, size, usage) => gpu.device.createBuffer({ size: Math.max(4, Math.ceil(size / 4) * 4), usage });

  const upload = (gpu, data) => {
    const made = buffer(gpu, data.byteLength, STORAGE | COPY_SRC | COPY_DST);
    gpu.device.queue.writeBuffer(made, 0, data);
    return made;
  };

  const empty = (gpu, bytes) => buffer(gpu, bytes, STORAGE | COPY_SRC | COPY_DST);

  // The pipeline of a shader; the browser's own message if it refuses the shader.
  const compile = async (gpu, shader) => {
    const module = gpu.device.createShaderModule({ code: shader.text });
    const entries = shader.arrays.map(([, stored], binding) => ({
      binding, visibility: 4, buffer: { type: stored ? "storage" : "read-only-storage" },
    }));
    if (shader.given.length) entries.push({ binding: entries.length, visibility: 4, buffer: { type: "uniform" } });
    const layout = gpu.device.createBindGroupLayout({ entries });
    const pipelineLayout = gpu.device.createPipelineLayout({ bindGroupLayouts: [layout] });
    try {
      const pipeline = await gpu.device.createComputePipelineAsync({ layout: pipelineLayout, compute: { module, entryPoint: "main" } });
      return { shader, pipeline, layout };
    } catch (problem) {
      const { messages } = await module.getCompilationInfo();
      const faults = messages.filter((each) => each.type === "error").map((each) => `line ${each.lineNum}: ${each.message}`);
      throw new Error(`The browser refuses ${shader.name}: ${faults.join("; ") || problem.message}`);
    }
  };

  // A program with its arguments: buffers by the names of the arrays, and the numbers of `given`.
  const bind = (gpu, program, buffers, given = {}) => {
    const { shader, layout } = program;
    const entries = shader.arrays.map(([name], binding) => ({ binding, resource: { buffer: buffers[name] } }));
    if (shader.given.length) {
      const bytes = new DataView(new ArrayBuffer(4 * shader.given.length));
      shader.given.forEach(([name, kind], at) => {
        if (!(name in given)) throw new Error(`${shader.name} needs ${name}`);
        if (kind === "f32") bytes.setFloat32(4 * at, given[name], true);
        else bytes.setInt32(4 * at, given[name], true);
      });
      const uniform = buffer(gpu, bytes.byteLength, UNIFORM | COPY_DST);
      gpu.device.queue.writeBuffer(uniform, 0, bytes.buffer);
      entries.push({ binding: entries.length, resource: { buffer: uniform } });
    }
    return { ...program, group: gpu.device.createBindGroup({ layout, entries }) };
  };

  // Adds `times` launches of a bound program to an encoder, in one pass; the pass begins and ends with a time stamp if asked.
  const launch = (encoder, bound, grid, times = 1, stamps = null) => {
    const timestampWrites = stamps ? { querySet: stamps, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } : undefined;
    const pass = encoder.beginComputePass({ timestampWrites });
    pass.setPipeline(bound.pipeline);
    pass.setBindGroup(0, bound.group);
    for (let at = 0; at < times; at++) pass.dispatchWorkgroups(...grid);
    pass.end();
  };

  const submit = (gpu, fill) => {
    const encoder = gpu.device.createCommandEncoder();
    fill(encoder);
    gpu.device.queue.submit([encoder.finish()]);
  };

  const done = async (gpu) => {
    await gpu.device.queue.onSubmittedWorkDone();
    if (gpu.lost) throw new NoGpu(gpu.lost);
    if (gpu.fault) throw new Error(gpu.fault);
  };

  const read = async (gpu, source, bytes = source.size, Kind = Float32Array) => {
    const target = buffer(gpu, bytes, COPY_DST | MAP_READ);
    submit(gpu, (encoder) => encoder.copyBufferToBuffer(source, 0, target, 0, target.size));
    await target.mapAsync(1);
    const found = new Kind(target.getMappedRange().slice(0));
    target.destroy();
    if (gpu.fault) throw new Error(gpu.fault);
    return found;
  };

  Object.assign(h2dGpu, { NoGpu, open, compile, bind, launch, submit, done, read, upload, empty, buffer });
  h2dGpu.resolveUsage = { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ };
})();
