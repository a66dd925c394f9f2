// Scans over a tile or a coalesced group (CUDA C++ Programming Guide, "Cooperative Groups", `inclusive_scan`).
#pragma once
#include "reduce.h"
#ifndef H2D_EXPAND

namespace cooperative_groups {

// The combination of the values up to the thread's own rank.
template <class Group, class T, class F>
H2D_INLINE T inclusive_scan(const Group &group, T value, F combine, H2D_LINE) {
    unsigned rank = group.thread_rank();
    for (unsigned away = 1; away < group.num_threads(); away *= 2) {
        T other = group.take(value, rank >= away ? rank - away : rank, line);
        if (rank >= away) value = combine(other, value);
    }
    return value;
}
template <class Group, class T> H2D_INLINE T inclusive_scan(const Group &group, T value, H2D_LINE) {
    return inclusive_scan(group, value, plus<T>(), line);
}
// The combination of the values before the thread's own rank; the first thread gets zero.
template <class Group, class T, class F>
H2D_INLINE T exclusive_scan(const Group &group, T value, F combine, H2D_LINE) {
    T all = inclusive_scan(group, value, combine, line);
    unsigned rank = group.thread_rank();
    T before = group.take(all, rank ? rank - 1 : 0, line);
    return rank ? before : T();
}
template <class Group, class T> H2D_INLINE T exclusive_scan(const Group &group, T value, H2D_LINE) {
    return exclusive_scan(group, value, plus<T>(), line);
}

}  // namespace cooperative_groups
#endif
