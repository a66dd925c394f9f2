// Reductions over a tile or a coalesced group (CUDA C++ Programming Guide, "Cooperative Groups", `reduce`).
#pragma once
#include "../cooperative_groups.h"
#ifndef H2D_EXPAND

namespace cooperative_groups {

template <class T = void> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T = void> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T = void> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T = void> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T = void> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

// The combination of the values of all threads of a group; every thread gets it.
template <class Group, class T, class F>
H2D_INLINE T reduce(const Group &group, T value, F combine, H2D_LINE) {
    h2d::Bits mask = group.lanes();
    unsigned count = 0, rank = group.thread_rank(), size = 1;
    for (unsigned i = 0; i < H2D_WARP; i++)  // a block's last warp may have fewer lanes than a tile
        count += (mask >> i & 1) && h2d::rank_in_block() - h2d::lane() + i < h2d::threads_of_block();
    while (size < count) size *= 2;
    for (unsigned away = 1; away < size; away *= 2) {
        bool takes = rank + away < count;
        T other = group.take(value, takes ? rank + away : rank, line);
        if (takes && rank % (2 * away) == 0) value = combine(value, other);
    }
    return group.take(value, 0, line);
}

}  // namespace cooperative_groups
#endif
