"""Particles, random numbers, fractals, differential equations."""

import math

import numba
import numpy as np
from numba import cuda, float32
from numba.cuda.random import (
    xoroshiro128p_normal_float32,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

from tests.corpora.kernels.case import Case, Launch, RandomStates
from tests.corpora.kernels.values import blank, blocks, real, whole
from tests.corpora.kernels.xoroshiro import Generators

TILE = 32
SOFTENING = 0.01


@cuda.jit
def gravity(positions, masses, accelerations):
    """the pull of all bodies on each body"""
    i = cuda.grid(1)
    n = positions.shape[0]
    if i < n:
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(n):
            dx = positions[j, 0] - positions[i, 0]
            dy = positions[j, 1] - positions[i, 1]
            dz = positions[j, 2] - positions[i, 2]
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            strength = masses[j] / (squared * math.sqrt(squared))
            ax += strength * dx
            ay += strength * dy
            az += strength * dz
        accelerations[i, 0] = ax
        accelerations[i, 1] = ay
        accelerations[i, 2] = az


@cuda.jit(fastmath=True)
def gravity_tiled(x, y, mass, ax, ay):
    """the same in two dimensions; each block reads the bodies tile by tile into shared memory"""
    tile_x = cuda.shared.array(TILE, float32)
    tile_y = cuda.shared.array(TILE, float32)
    tile_mass = cuda.shared.array(TILE, float32)
    i = cuda.grid(1)
    tid = cuda.threadIdx.x
    n = x.size
    my_x = x[i] if i < n else float32(0)
    my_y = y[i] if i < n else float32(0)
    sum_x = float32(0)
    sum_y = float32(0)
    for tile in range(0, n, TILE):
        j = tile + tid
        if j < n:
            tile_x[tid] = x[j]
            tile_y[tid] = y[j]
            tile_mass[tid] = mass[j]
        else:
            tile_x[tid] = 0
            tile_y[tid] = 0
            tile_mass[tid] = 0
        cuda.syncthreads()
        for k in range(TILE):
            dx = tile_x[k] - my_x
            dy = tile_y[k] - my_y
            squared = dx * dx + dy * dy + float32(SOFTENING)
            strength = tile_mass[k] / (squared * math.sqrt(squared))
            sum_x += strength * dx
            sum_y += strength * dy
        cuda.syncthreads()
    if i < n:
        ax[i] = sum_x
        ay[i] = sum_y


@cuda.jit
def count_hits(states, throws, hits):
    """each thread throws at a square and counts hits of the quarter circle"""
    i = cuda.grid(1)
    if i < hits.size:
        inside = 0
        for _ in range(throws):
            x = xoroshiro128p_uniform_float32(states, i)
            y = xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= 1.0:
                inside += 1
        hits[i] = inside


@cuda.jit
def estimate_pi(states, throws, total):
    """the same, with one total by atomics, in double precision"""
    i = cuda.grid(1)
    inside = 0
    for _ in range(throws):
        x = xoroshiro128p_uniform_float64(states, i)
        y = xoroshiro128p_uniform_float64(states, i)
        if x**2 + y**2 <= 1.0:
            inside += 1
    cuda.atomic.add(total, 0, inside)


@cuda.jit
def random_walk(states, steps, places):
    """each walker goes left or right by the throw of a coin"""
    walker = cuda.grid(1)
    if walker >= places.size:
        return
    place = 0
    for _ in range(steps):
        if xoroshiro128p_uniform_float32(states, walker) < 0.5:
            place -= 1
        else:
            place += 1
    places[walker] = place


@cuda.jit
def brownian_motion(states, paths, drift, volatility):
    """each thread writes one path of normal steps"""
    path = cuda.grid(1)
    if path < paths.shape[0]:
        paths[path, 0] = 0.0
        for t in range(1, paths.shape[1]):
            step = xoroshiro128p_normal_float32(states, path)
            paths[path, t] = paths[path, t - 1] + drift + volatility * step


@cuda.jit
def mandelbrot(left, bottom, step, limit, counts):
    """after how many steps each point of the plane escapes"""
    x, y = cuda.grid(2)
    if x < counts.shape[1] and y < counts.shape[0]:
        real_part = left + x * step
        imaginary_part = bottom + y * step
        re = 0.0
        im = 0.0
        count = 0
        while count < limit and re * re + im * im <= 4.0:
            re, im = re * re - im * im + real_part, 2.0 * re * im + imaginary_part
            count += 1
        counts[y, x] = count


@cuda.jit
def julia(points, c, limit, counts):
    """the same for Julia's set, with complex numbers"""
    i = cuda.grid(1)
    if i < points.size:
        z = points[i]
        count = limit
        for n in range(limit):
            if z.real * z.real + z.imag * z.imag > 4.0:
                count = n
                break
            z = z * z + c
        counts[i] = count


@cuda.jit
def heat_step(old, new, r):
    """one explicit step of the heat equation on a rod with fixed ends"""
    i = cuda.grid(1)
    n = old.shape[0]
    if i == 0 or i == n - 1:
        new[i] = old[i]
    elif i < n:
        new[i] = old[i] + r * (old[i - 1] - 2 * old[i] + old[i + 1])


@cuda.jit
def heat_in_one_block(rod, r, steps):
    """all the steps in one launch of one block, in shared memory"""
    u = cuda.shared.array(64, numba.float64)
    i = cuda.threadIdx.x
    n = rod.size
    if i < n:
        u[i] = rod[i]
    cuda.syncthreads()
    for _ in range(steps):
        new = 0.0
        inner = 0 < i < n - 1
        if inner:
            new = u[i] + r * (u[i - 1] - 2 * u[i] + u[i + 1])
        cuda.syncthreads()
        if inner:
            u[i] = new
        cuda.syncthreads()
    if i < n:
        rod[i] = u[i]


@cuda.jit
def wave_step(before, now, after, c):
    """one step of the wave equation on a string with fixed ends"""
    i = cuda.grid(1)
    if i > 0 and i < now.size - 1:
        after[i] = 2 * now[i] - before[i] + c * (now[i + 1] - 2 * now[i] + now[i - 1])


@cuda.jit(device=True)
def slope(t, y):
    return -2.0 * y + math.sin(t)


@cuda.jit
def runge_kutta(starts, step, steps, ends):
    """each thread solves y' = -2 y + sin t from a start of its own"""
    i = cuda.grid(1)
    if i < starts.size:
        y = starts[i]
        t = 0.0
        for _ in range(steps):
            k1 = slope(t, y)
            k2 = slope(t + step / 2, y + step / 2 * k1)
            k3 = slope(t + step / 2, y + step / 2 * k2)
            k4 = slope(t + step, y + step * k3)
            y += step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            t += step
        ends[i] = y


@cuda.jit
def pair_energy(x, y, energy):
    """energy of all pairs within reach, added up by atomics"""
    i, j = cuda.grid(2)
    if i < j and j < x.size:
        dx = x[i] - x[j]
        dy = y[i] - y[j]
        squared = dx * dx + dy * dy
        if squared < 1.0:
            inverse = 1.0 / (squared + 0.1)
            cuda.atomic.add(energy, 0, inverse**3 - inverse)


@cuda.jit
def bounce(position, velocity, steps, width):
    """particles in a box, with whole numbers"""
    i = cuda.grid(1)
    if i < position.size:
        x = position[i]
        v = velocity[i]
        for _ in range(steps):
            x += v
            if x < 0:
                x = -x
                v = -v
            elif x > width:
                x = 2 * width - x
                v = -v
        position[i] = x
        velocity[i] = v


@cuda.jit
def ising_half_sweep(spins, uniform, parity, beta):
    """flip spins of one colour of the checkerboard by Metropolis' rule"""
    row, col = cuda.grid(2)
    rows, cols = spins.shape
    if row < rows and col < cols and (row + col) % 2 == parity:
        up = spins[(row + rows - 1) % rows, col]
        down = spins[(row + 1) % rows, col]
        left = spins[row, (col + cols - 1) % cols]
        right = spins[row, (col + 1) % cols]
        cost = 2 * spins[row, col] * (up + down + left + right)
        if cost <= 0 or uniform[row, col] < math.exp(-beta * cost):
            spins[row, col] = -spins[row, col]


N = 90
HEIGHT, WIDTH = 21, 34


def expected_gravity(given):
    positions = given["positions"].astype(float)
    between = positions[None] - positions[:, None]
    squared = (between**2).sum(axis=2) + SOFTENING
    pull = given["masses"].astype(float)[None, :, None] * between / squared[..., None] ** 1.5
    return {"accelerations": pull.sum(axis=1).astype(np.float32)}


def expected_tiled_gravity(given):
    x, y, mass = (given[name].astype(float) for name in ("x", "y", "mass"))
    dx, dy = x[None] - x[:, None], y[None] - y[:, None]
    strength = mass / (dx**2 + dy**2 + SOFTENING) ** 1.5
    sums = {"ax": (strength * dx).sum(axis=1), "ay": (strength * dy).sum(axis=1)}
    return {name: value.astype(np.float32) for name, value in sums.items()}


def expected_hits(given):
    generators = Generators(given["states"])
    hits = np.zeros(given["hits"].size, np.int32)
    for _ in range(given["throws"]):
        x = generators.uniform().astype(np.float32)
        y = generators.uniform().astype(np.float32)
        hits += x * x + y * y <= 1
    return {"hits": hits}


def expected_pi(given):
    generators = Generators(given["states"])
    total = 0
    for _ in range(given["throws"]):
        x, y = generators.uniform(), generators.uniform()
        total += int((x * x + y * y <= 1).sum())
    return {"total": np.array([total], np.int32)}


def expected_walk(given):
    generators = Generators(given["states"])
    places = np.zeros(N, np.int32)
    for _ in range(given["steps"]):
        places += np.where(generators.uniform().astype(np.float32) < 0.5, -1, 1)
    return {"places": places}


def expected_brownian(given):
    generators = Generators(given["states"])
    paths = np.zeros(given["paths"].shape)
    for t in range(1, paths.shape[1]):
        u1 = generators.uniform().astype(np.float32)
        u2 = generators.uniform().astype(np.float32)
        normal = np.sqrt(-2 * np.log(u1.astype(float))) * np.cos(2 * np.pi * u2.astype(float))
        paths[:, t] = paths[:, t - 1] + given["drift"] + given["volatility"] * normal
    return {"paths": paths.astype(np.float32)}


def expected_mandelbrot(given):
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    a, b = given["left"] + x * given["step"], given["bottom"] + y * given["step"]
    re, im = np.zeros_like(a), np.zeros_like(a)
    counts = np.zeros((HEIGHT, WIDTH), np.int32)
    for _ in range(given["limit"]):
        inside = re * re + im * im <= 4
        new = re * re - im * im + a, 2 * re * im + b
        re, im = np.where(inside, new[0], re), np.where(inside, new[1], im)
        counts += inside
    return {"counts": counts}


def expected_julia(given):
    counts = np.full(given["points"].size, given["limit"], np.int32)
    for i, z in enumerate(given["points"].tolist()):
        for n in range(given["limit"]):
            if z.real**2 + z.imag**2 > 4:
                counts[i] = n
                break
            z = z * z + given["c"]
    return {"counts": counts}


def after_heat(u, r, steps):
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = u[1:-1] + r * (u[:-2] - 2 * u[1:-1] + u[2:])
        u = new
    return u


def expected_wave(given):
    before, now = given["u0"], given["u1"]
    for _ in range(3):
        after = np.zeros_like(now)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + given["c"] * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return {"u1": now, "u0": before}


def expected_runge_kutta(given):
    y, t, h = given["starts"].copy(), 0.0, given["step"]
    for _ in range(given["steps"]):
        k1 = -2 * y + np.sin(t)
        k2 = -2 * (y + h / 2 * k1) + np.sin(t + h / 2)
        k3 = -2 * (y + h / 2 * k2) + np.sin(t + h / 2)
        k4 = -2 * (y + h * k3) + np.sin(t + h)
        y, t = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + h
    return {"ends": y}


def expected_energy(given):
    dx = given["x"][:, None] - given["x"]
    dy = given["y"][:, None] - given["y"]
    squared = dx * dx + dy * dy
    inverse = 1 / (squared + 0.1)
    counted = np.triu(squared < 1, 1)
    return {"energy": np.array([(inverse**3 - inverse)[counted].sum()])}


def expected_bounce(given):
    x, v, width = given["position"].copy(), given["velocity"].copy(), given["width"]
    for _ in range(given["steps"]):
        x += v
        low, high = x < 0, x > width
        x = np.where(low, -x, np.where(high, 2 * width - x, x))
        v = np.where(low | high, -v, v)
    return {"position": x.astype(np.int32), "velocity": v.astype(np.int32)}


def expected_ising(given):
    spins = given["spins"].copy()
    row, col = np.indices(spins.shape)
    for parity in (0, 1):
        around = sum(np.roll(spins, shift, axis) for shift in (1, -1) for axis in (0, 1))
        cost = 2 * spins * around
        flip = (cost <= 0) | (given["uniform"] < np.exp(-given["beta"] * cost))
        spins[flip & ((row + col) % 2 == parity)] *= -1
    return {"spins": spins}


CASES = [
    Case(
        name="gravity",
        inputs=lambda rng: {
            "positions": real(rng, (N, 3)),
            "masses": np.abs(real(rng, N)),
            "accelerations": blank((N, 3)),
        },
        launches=[Launch(gravity, 2, 64, ("positions", "masses", "accelerations"))],
        expected=expected_gravity,
        rtol=1e-5,
        kinds=("n-body", "loop", "math"),
    ),
    Case(
        name="gravity with tiles",
        inputs=lambda rng: {
            "x": real(rng, N),
            "y": real(rng, N),
            "mass": np.abs(real(rng, N)),
            "ax": blank(N),
            "ay": blank(N),
        },
        launches=[Launch(gravity_tiled, blocks(N, TILE), TILE, ("x", "y", "mass", "ax", "ay"))],
        expected=expected_tiled_gravity,
        rtol=1e-5,
        kinds=("n-body", "shared", "barrier", "math", "fastmath"),
    ),
    Case(
        name="Monte Carlo hits",
        inputs=lambda rng: {"states": RandomStates(64, 3), "throws": 20, "hits": blank(50, np.int32)},
        launches=[Launch(count_hits, 2, 32, ("states", "throws", "hits"))],
        expected=lambda given: {
            "hits": expected_hits({**given, "hits": np.zeros(64)})["hits"][:50],
        },
        kinds=("random", "loop"),
    ),
    Case(
        name="Monte Carlo pi",
        inputs=lambda rng: {"states": RandomStates(64, 1), "throws": 30, "total": np.zeros(1, np.int32)},
        launches=[Launch(estimate_pi, 2, 32, ("states", "throws", "total"))],
        expected=expected_pi,
        kinds=("random", "atomic", "loop"),
    ),
    Case(
        name="random walk",
        inputs=lambda rng: {"states": RandomStates(N, 42), "steps": 25, "places": blank(N, np.int32)},
        launches=[Launch(random_walk, 3, 32, ("states", "steps", "places"))],
        expected=expected_walk,
        kinds=("random", "loop", "early return"),
    ),
    Case(
        name="Brownian motion",
        inputs=lambda rng: {
            "states": RandomStates(20, 7),
            "paths": blank((20, 11)),
            "drift": np.float32(0.1),
            "volatility": np.float32(0.4),
        },
        launches=[Launch(brownian_motion, 1, 32, ("states", "paths", "drift", "volatility"))],
        expected=expected_brownian,
        rtol=1e-5,
        kinds=("random", "math", "loop"),
    ),
    Case(
        name="Mandelbrot's set",
        inputs=lambda rng: {
            "left": -2.123,
            "bottom": -1.071,
            "step": 0.0917,
            "limit": 20,
            "counts": blank((HEIGHT, WIDTH), np.int32),
        },
        launches=[Launch(mandelbrot, (3, 3), (16, 8), ("left", "bottom", "step", "limit", "counts"))],
        expected=expected_mandelbrot,
        kinds=("2d", "while", "tuple", "float64"),
    ),
    Case(
        name="Julia's set",
        inputs=lambda rng: {
            "points": real(rng, 200, np.float64) + 1j * real(rng, 200, np.float64),
            "c": -0.8 + 0.156j,
            "limit": 30,
            "counts": blank(200, np.int32),
        },
        launches=[Launch(julia, 4, 64, ("points", "c", "limit", "counts"))],
        expected=expected_julia,
        kinds=("complex", "loop"),
    ),
    Case(
        name="heat in a rod",
        inputs=lambda rng: {
            "a": real(rng, 100, np.float64),
            "b": blank(100, np.float64),
            "r": 0.3,
        },
        launches=[Launch(heat_step, 4, 32, names) for names in 2 * [("a", "b", "r"), ("b", "a", "r")]],
        expected=lambda given: {"a": after_heat(given["a"], 0.3, 4)},
        rtol=1e-14,
        kinds=("stencil", "float64", "several launches"),
    ),
    Case(
        name="heat in one block",
        inputs=lambda rng: {"rod": real(rng, 53, np.float64), "r": 0.2, "steps": 5},
        launches=[Launch(heat_in_one_block, 1, 64, ("rod", "r", "steps"))],
        expected=lambda given: {"rod": after_heat(given["rod"], 0.2, 5)},
        rtol=1e-14,
        kinds=("stencil", "shared", "barrier", "float64"),
    ),
    Case(
        name="wave on a string",
        inputs=lambda rng: {
            "u0": np.zeros(N),
            "u1": np.append(np.append(0, real(rng, N - 2, np.float64)), 0),
            "u2": np.zeros(N),
            "c": 0.25,
        },
        launches=[
            Launch(wave_step, 3, 32, ("u0", "u1", "u2", "c")),
            Launch(wave_step, 3, 32, ("u1", "u2", "u0", "c")),
            Launch(wave_step, 3, 32, ("u2", "u0", "u1", "c")),
        ],
        expected=expected_wave,
        rtol=1e-14,
        kinds=("stencil", "float64", "several launches"),
    ),
    Case(
        name="Runge and Kutta",
        inputs=lambda rng: {
            "starts": real(rng, N, np.float64),
            "step": 0.1,
            "steps": 6,
            "ends": blank(N, np.float64),
        },
        launches=[Launch(runge_kutta, 3, 32, ("starts", "step", "steps", "ends"))],
        expected=expected_runge_kutta,
        rtol=1e-13,
        kinds=("device function", "float64", "math"),
    ),
    Case(
        name="energy of pairs",
        inputs=lambda rng: {
            "x": real(rng, 30, np.float64),
            "y": real(rng, 30, np.float64),
            "energy": np.zeros(1),
        },
        launches=[Launch(pair_energy, (4, 4), (8, 8), ("x", "y", "energy"))],
        expected=expected_energy,
        rtol=1e-12,
        kinds=("2d", "atomic", "float64", "any order"),
    ),
    Case(
        name="bouncing particles",
        inputs=lambda rng: {
            "position": whole(rng, N, 0, 101, np.int32),
            "velocity": whole(rng, N, dtype=np.int32),
            "steps": 20,
            "width": 100,
        },
        launches=[Launch(bounce, 3, 32, ("position", "velocity", "steps", "width"))],
        expected=expected_bounce,
        kinds=("loop",),
    ),
    Case(
        name="Ising on a checkerboard",
        inputs=lambda rng: {
            "spins": rng.choice([-1, 1], (12, 18)).astype(np.int32),
            "uniform": rng.random((12, 18)),
            "even": 0,
            "odd": 1,
            "beta": 0.4,
        },
        launches=[
            Launch(ising_half_sweep, (2, 3), (8, 8), ("spins", "uniform", parity, "beta"))
            for parity in ("even", "odd")
        ],
        expected=expected_ising,
        kinds=("2d", "math", "several launches"),
    ),
]
