// cub::WarpReduce: the combination of the values of a warp, or of parts of it (CUB documentation, "WarpReduce").
#pragma once
#include "../h2d_cub.h"
#ifndef H2D_EXPAND

namespace cub {

template <class T, int LOGICAL_WARP_THREADS = H2D_WARP> class WarpReduce {
    static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= H2D_WARP, "a logical warp has at most a warp's threads");

public:
    struct TempStorage { char unused; };
    explicit WarpReduce(TempStorage &) {}

    // Only the first lane of the logical warp gets the result.
    T Sum(T input, H2D_CALLER) { return fold(input, SIZE, h2d_parts::Sum(), line); }
    T Sum(T input, int valid_items, H2D_CALLER) { return fold(input, valid_items, h2d_parts::Sum(), line); }
    template <class F> T Reduce(T input, F combine, H2D_CALLER) { return fold(input, SIZE, combine, line); }
    template <class F> T Reduce(T input, F combine, int valid_items, H2D_CALLER) { return fold(input, valid_items, combine, line); }
    T Max(T input, H2D_CALLER) {
        return fold(input, SIZE, [](const T &a, const T &b) { return a < b ? b : a; }, line);
    }
    T Min(T input, H2D_CALLER) {
        return fold(input, SIZE, [](const T &a, const T &b) { return b < a ? b : a; }, line);
    }

private:
    static constexpr unsigned SIZE = LOGICAL_WARP_THREADS;
    template <class F> static T fold(T input, int valid, F combine, h2d::Line line) {
        unsigned first = h2d::lane() / SIZE * SIZE, here = h2d_parts::lanes_here() - first, count = here < SIZE ? here : SIZE;
        if (valid < (int)count) count = valid < 1 ? 1 : valid;
        return h2d::fold_lanes(h2d::lanes_from(first, SIZE), input, first, count, combine, line);
    }
};

}  // namespace cub
#endif
