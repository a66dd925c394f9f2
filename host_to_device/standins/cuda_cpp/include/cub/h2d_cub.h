// What CUB's block-wide and warp-wide operations share.
#pragma once
#ifndef H2D_EXPAND  // then only the learner's own declarations matter
#include "h2d_groups.h"

namespace cub {
namespace h2d_parts {

struct Sum {
    template <class T> T operator()(const T &a, const T &b) const { return a + b; }
};

// Storage of one object, which no constructor has touched: shared memory has none.
template <class T> struct Uninitialised {
    alignas(T) char bytes[sizeof(T)];
    T &alias() { return *(T *)bytes; }
};

// An element of temporary storage, read and written with the line of the caller.
template <class T> struct Cell {
    alignas(T) char bytes[sizeof(T)];
};
template <class T> H2D_INLINE T read(const Cell<T> &cell, h2d::Line line) { return h2d::load((const T *)cell.bytes, line); }
template <class T> H2D_INLINE void write(Cell<T> &cell, const T &value, h2d::Line line) { h2d::store((T *)cell.bytes, value, line); }

H2D_INLINE void wait_for_block(h2d::Line line) { h2d::meet(h2d::SYNC_BLOCK, 0, 0, 0, line); }
H2D_INLINE void check_block(unsigned threads, h2d::Line line) {
    if (h2d::threads_of_block() != threads)
        h2d::fail("wrong block size", "CUB's template arguments and the launch give different numbers of threads a block", line);
}

// The lanes of this warp that the block has.
H2D_INLINE unsigned lanes_here() {
    unsigned left = h2d::threads_of_block() - (h2d::rank_in_block() - h2d::lane());
    return left < H2D_WARP ? left : H2D_WARP;
}

}  // namespace h2d_parts
}  // namespace cub
#endif
