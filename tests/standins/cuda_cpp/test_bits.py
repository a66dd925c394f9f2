"""The functions that count and turn bits give what Python's integers give, for words of 32 and of 64 bits."""

import numpy as np

from host_to_device.standins import cuda_cpp

BITS = r"""
extern "C" __global__ void bits(const unsigned* x, const unsigned long long* y, int* narrow, int* wide,
                                unsigned* turned, unsigned long long* turned_wide) {
    int i = threadIdx.x;
    narrow[3 * i] = __popc(x[i]), narrow[3 * i + 1] = __clz(x[i]), narrow[3 * i + 2] = __ffs(x[i]);
    wide[3 * i] = __popcll(y[i]), wide[3 * i + 1] = __clzll(y[i]), wide[3 * i + 2] = __ffsll(y[i]);
    turned[i] = __brev(x[i]), turned_wide[i] = __brevll(y[i]);
}
"""


def test_bits_are_counted_and_turned(device):
    words = [0, 1, 2**31, 2**32, 2**32 - 1, 2**63, 2**64 - 1, 0xF0F0_1234_8000_0001]
    words += [int(each) for each in np.random.default_rng(5).integers(0, 2**64, 56, np.uint64)]
    wide = np.array(words, np.uint64)
    narrow = (wide >> np.uint64(16)).astype(np.uint32)
    narrow[:3] = 0, 1, 2**32 - 1
    counts = device(np.zeros(3 * 64, np.int32)), device(np.zeros(3 * 64, np.int32))
    turned = device(np.zeros(64, np.uint32)), device(np.zeros(64, np.uint64))
    cuda_cpp.compile(BITS).function("bits")(
        (1, 1, 1), (64, 1, 1), [device(narrow), device(wide), *counts, *turned]
    )
    for values, bits, found, other in zip((narrow, wide), (32, 64), counts, turned, strict=True):
        for place, value in enumerate(map(int, values)):
            lowest = (value & -value).bit_length()
            assert found[3 * place : 3 * place + 3].tolist() == [
                value.bit_count(),
                bits - value.bit_length(),
                lowest,
            ]
            assert int(other[place]) == int(f"{value:0{bits}b}"[::-1], 2)
