"""Right answers that look nothing like the solution, of the kind that a check once turned away."""

# The exercise, what is different, and the answer.
ANSWERS = [
    (
        "01.2",
        "float32",
        """
        def promise(seconds, factors):
            times = np.array(list(seconds.values()), np.float32)
            by = np.array([factors.get(part, 1) for part in seconds], np.float32)
            return times.sum() / (times / by).sum()
        """,
    ),
    (
        "01.5",
        "a named tuple of NumPy's numbers",
        """
        from collections import namedtuple

        Times = namedtuple("Times", "apart fused")


        def passes(steps, n, peak, bandwidth):
            made = {output for _, output, _ in steps}
            fresh = set().union(*(inputs for inputs, _, _ in steps)) - made
            moved = np.array([4 * n * (len(inputs) + 1) for inputs, _, _ in steps])
            done = n * np.array([operations for _, _, operations in steps])
            fused = np.maximum(done.sum() / peak, 4 * n * (len(fresh) + 1) / bandwidth)
            return Times(np.maximum(done / peak, moved / bandwidth).sum(), fused)
        """,
    ),
    (
        "01.6",
        "all sizes at once, and NumPy's whole number",
        """
        def crossing(kind, host, device, resident):
            n = np.arange(1, 20_001, dtype=np.float64)
            operations, moved = (2 * n**3 if kind == "product" else n**2), 12 * n**2
            here = host["call"] + np.maximum(operations / host["rate"], moved / host["bandwidth"])
            there = device["launch"] + np.maximum(operations / device["rate"], moved / device["bandwidth"])
            there += device["wait"]
            if not resident:
                there += 3 * device["copy"] + moved / device["link"]
            found = np.flatnonzero(there < here)
            return found[0] + 1 if found.size else None
        """,
    ),
    (
        "01.7",
        "from event to event, in an array",
        """
        import heapq


        def schedule(warps, work, latency, gap, cycles):
            waiting, clock, memory, found = [(0, warp) for warp in range(warps)], 0, 0, np.zeros(3, int)
            while True:
                ready, warp = heapq.heappop(waiting)
                begin = max(clock, ready)
                if begin >= cycles:
                    return found
                clock = begin + work + 1
                found[0] += min(clock, cycles) - begin
                start = max(clock, memory)
                memory, end = start + gap, start + latency
                if clock <= cycles:
                    found[1] += end < cycles
                    found[2] += max(0, min(end, cycles) - clock)
                heapq.heappush(waiting, (end, warp))
        """,
    ),
    (
        "04.4",
        "the type first, then the order",
        """
        def normalised(d_x, mean, std):
            given = cp.ascontiguousarray(d_x.astype(cp.float32))
            out = cp.zeros_like(given)
            arguments = given, out, cp.float32(mean), cp.float32(std), given.size
            NORMALISE(((given.size + 255) // 256,), (256,), arguments)
            return out
        """,
    ),
    (
        "04.5",
        "a source for each type, without a template",
        '''
        def contrastive_kernel(dtype):
            source = r"""
            extern "C" __global__ void contrastive(
                const REAL* distance, const unsigned char* same, REAL* loss, REAL margin, int n)
            {
                for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
                    REAL missing = max(margin - distance[i], (REAL)0);
                    loss[i] = same[i] == 1 ? distance[i] * distance[i] : missing * missing;
                }
            }
            """
            real = {"f": "float", "d": "double"}[np.dtype(dtype).char]
            return cp.RawKernel(source.replace("REAL", real), "contrastive")
        ''',
    ),
    (
        "07.5",
        "NumPy's whole numbers",
        """
        def costs(shape, size):
            n, c, k, rows, columns = shape
            every = np.prod(shape) * size**2
            found = {"direct": (every, 0), "im2col": [every, np.int64(4 * n * c * rows * columns * size**2)]}
            if size == 3:
                tiles = ((rows + 1) // 2) * ((columns + 1) // 2)
                found["winograd"] = 16 * tiles * n * c * k, 64 * (tiles * n * (c + k) + c * k)
            places = (rows + size - 1) * ((columns + size - 1) // 2 + 1)
            found["fft"] = 4 * places * n * c * k, 8 * places * (n * c + c * k + n * k)
            return found


        def choose(costs, limit):
            return sorted((work, space, way) for way, (work, space) in costs.items() if space <= limit)[0][2]
        """,
    ),
    (
        "07.7",
        "the sum is kept in out, which is zeroed first",
        """
        @cuda.jit
        def pool_gradient(places, gradient, window, stride, out):
            column, row = cuda.grid(2)
            if row < out.shape[0] and column < out.shape[1]:
                out[row, column] = 0
                top = max(0, (row - window + stride) // stride)
                left = max(0, (column - window + stride) // stride)
                for r in range(top, min(places.shape[0], row // stride + 1)):
                    for c in range(left, min(places.shape[1], column // stride + 1)):
                        if places[r, c] == row * out.shape[1] + column:
                            out[row, column] += gradient[r, c]
        """,
    ),
    (
        "08.1",
        "a Counter",
        """
        from collections import Counter


        def homes(model):
            found = Counter()
            for tensor in list(model.parameters()) + list(model.buffers()):
                found[str(tensor.device)] += tensor.nbytes
            return found
        """,
    ),
    (
        "08.2",
        "nn.Buffer, and a buffer that is not saved",
        """
        class Standardised(nn.Module):
            def __init__(self, mean, spread):
                super().__init__()
                self.mean, self.spread = nn.Buffer(mean), nn.Buffer(spread)
                self.register_buffer("inverse", 1 / spread, persistent=False)

            def forward(self, x):
                return (x - self.mean) * self.inverse
        """,
    ),
    (
        "08.3",
        "all data first, losses in a list",
        """
        def train(network, data, where):
            network.train().to(where)
            data = [(x.to(where), y.to(where)) for x, y in data]
            optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, foreach=False)
            losses = []
            for x, y in data:
                loss = nn.functional.cross_entropy(network(x), y)
                optimizer.zero_grad(set_to_none=False)
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            return torch.stack(losses).mean().item()
        """,
    ),
    (
        "08.4",
        "by state dicts",
        """
        def read(model, name):
            return model.state_dict()[name].cpu().numpy().copy()


        def write(model, name, values):
            model.load_state_dict({name: torch.from_numpy(values)}, strict=False)


        def take_over(target, source, prefix):
            mine = target.state_dict()
            mine.update({k: v for k, v in source.state_dict().items() if k.startswith(prefix)})
            target.load_state_dict(mine)
        """,
    ),
    (
        "08.4",
        "by names",
        """
        def read(model, name):
            return np.array(dict(model.named_parameters())[name].tolist(), dtype=np.float32)


        def write(model, name, values):
            dict(model.named_parameters())[name].data[:] = torch.as_tensor(values)


        def take_over(target, source, prefix):
            theirs = dict([*source.named_parameters(), *source.named_buffers()])
            with torch.no_grad():
                for name, tensor in [*target.named_parameters(), *target.named_buffers()]:
                    if name.startswith(prefix):
                        tensor.copy_(theirs[name])
        """,
    ),
    (
        "08.5",
        "the rows of this call alone, loaded before the move",
        """
        def fit(model, optimizer, x, y, start, stop):
            place = next(model.parameters())
            part = slice(32 * start, 32 * stop)
            losses = []
            for rows, labels in zip(x[part].to(place.device).split(32), y[part].to(place.device).split(32)):
                loss = nn.functional.cross_entropy(model(rows), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            return torch.stack(losses).cpu().numpy()


        def save(file, model, optimizer):
            torch.save([model.state_dict(), optimizer.state_dict()], file)


        def resume(file, model, device):
            weights, memory = torch.load(file, map_location=device)
            model.load_state_dict(weights)
            model.to(device)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            optimizer.load_state_dict(memory)
            return optimizer
        """,
    ),
    (
        "13.1",
        "the first device by its full name",
        """
        def place(cuda, hip, available):
            vendor = "AMD" if hip is not None else "NVIDIA"
            return [vendor, "cuda:0"] if available else ["none", "cpu"]
        """,
    ),
    (
        "13.2",
        "NumPy's whole numbers",
        r"""
        def left_to_do(source):
            code = [re.sub(r"//.*", "", line) for line in source.splitlines()]
            found = [re.search(r"(?<!\w)(asm|0xf{8}u?|3[12]u?)(?!\w)", line, re.IGNORECASE) for line in code]
            return list(np.flatnonzero([each is not None for each in found]) + 1)
        """,
    ),
    (
        "13.4",
        "a template for each width, and no shuffle that asks",
        """
        def warp_sums():
            return '''
            template <int width> __device__ float added(float value) {
                for (int step = width / 2; step; step /= 2) value += __shfl_xor_sync(~0ull, value, step, width);
                return value;
            }
            extern "C" __global__ void warp_sums(const float* x, float* out, int n) {
                int i = threadIdx.x + blockDim.x * blockIdx.x;
                float value = i < n ? x[i] : 0;
                value = warpSize == 64 ? added<64>(value) : added<32>(value);
                if (!(i & (warpSize - 1))) out[i / warpSize] = value;
            }
            '''
        """,
    ),
    (
        "13.5",
        "two halves of 32 bits",
        """
        def keep():
            return '''
            extern "C" __global__ void keep(const float* x, float* kept, int* counts, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & (warpSize - 1);
                bool mine = i < n && x[i] > 0;
                unsigned long long votes = __ballot_sync(0xffffffffffffffff, mine);
                unsigned low = (unsigned)votes, high = (unsigned)(votes >> 32);
                int before = lane < 32 ? __popc(low & ((1u << lane) - 1))
                                       : __popc(low) + __popc(high & ((1u << (lane - 32)) - 1));
                if (mine) kept[i - lane + before] = x[i];
                if (!lane) counts[i / warpSize] = __popc(low) + __popc(high);
            }
            '''
        """,
    ),
    (
        "13.6",
        "one thread adds the partial sums",
        """
        def block_sums():
            return '''
            __device__ float of_warp(float value) {
                for (int step = 1; step < warpSize; step *= 2) value += __shfl_xor_sync(~0ull, value, step);
                return value;
            }
            extern "C" __global__ void block_sums(const float* x, float* out, int n) {
                __shared__ float shares[1024 / 32];
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                float value = of_warp(i < n ? x[i] : 0.0f);
                if (threadIdx.x % warpSize == 0) shares[threadIdx.x / warpSize] = value;
                __syncthreads();
                if (threadIdx.x) return;
                for (int warp = 1; warp * warpSize < blockDim.x; ++warp) value += shares[warp];
                out[blockIdx.x] = value;
            }
            '''
        """,
    ),
]
