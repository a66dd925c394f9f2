"""The numbers that `numba.cuda.random` must give: xoroshiro128+ seeded by SplitMix64, in NumPy.

After David Blackman and Sebastiano Vigna, https://prng.di.unimi.it/xoroshiro128plus.c, with the constants of
2016 (55, 14, 36) that Numba has. The states of a row of generators lie 2**64 steps apart.
"""

import numpy as np

MASK = (1 << 64) - 1
JUMP = 0xBEAC0467EBA5FACB | 0xD86B048B86AA9922 << 64


def _following(a, b):
    b ^= a
    return ((a << 55 | a >> 9) & MASK) ^ b ^ (b << 14 & MASK), (b << 36 | b >> 28) & MASK


def _start(seed):
    z = (seed + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    return z, z


def _jumped(a, b):
    far_a = far_b = 0
    for bit in range(128):
        if JUMP >> bit & 1:
            far_a, far_b = far_a ^ a, far_b ^ b
        a, b = _following(a, b)
    return far_a, far_b


class Generators:
    """A row of generators that advance together."""

    def __init__(self, states):
        state, rows = _start(states.seed), []
        for _ in range(states.count):
            rows.append(state)
            state = _jumped(*state)
        self.states = rows

    def uniform(self):
        """Give the next number of each in [0, 1), in double precision."""
        numbers = np.array([(a + b & MASK) >> 11 for a, b in self.states]) * 2.0**-53
        self.states = [_following(a, b) for a, b in self.states]
        return numbers
