// cub::WarpScan: the combination of the values up to each lane (CUB documentation, "WarpScan").
#pragma once
#include "../h2d_cub.h"
#ifndef H2D_EXPAND

namespace cub {

template <class T, int LOGICAL_WARP_THREADS = H2D_WARP> class WarpScan {
public:
    struct TempStorage { char unused; };
    explicit WarpScan(TempStorage &) {}

    void InclusiveSum(T input, T &output, H2D_CALLER) { InclusiveScan(input, output, h2d_parts::Sum(), line); }
    void InclusiveSum(T input, T &output, T &aggregate, H2D_CALLER) { InclusiveScan(input, output, h2d_parts::Sum(), aggregate, line); }
    void ExclusiveSum(T input, T &output, H2D_CALLER) { ExclusiveScan(input, output, T(), h2d_parts::Sum(), line); }
    void ExclusiveSum(T input, T &output, T &aggregate, H2D_CALLER) { ExclusiveScan(input, output, T(), h2d_parts::Sum(), aggregate, line); }
    template <class F> void InclusiveScan(T input, T &output, F combine, H2D_CALLER) {
        output = h2d::scan_lanes(mask(), input, first(), count(), combine, line);
    }
    template <class F> void InclusiveScan(T input, T &output, F combine, T &aggregate, H2D_CALLER) {
        InclusiveScan(input, output, combine, line);
        aggregate = h2d::value_of_lane(mask(), output, (int)(first() + count() - 1), line);
    }
    template <class F> void ExclusiveScan(T input, T &output, T initial, F combine, H2D_CALLER) {
        T all = h2d::scan_lanes(mask(), input, first(), count(), combine, line);
        output = shifted(all, initial, combine, line);
    }
    template <class F> void ExclusiveScan(T input, T &output, T initial, F combine, T &aggregate, H2D_CALLER) {
        T all = h2d::scan_lanes(mask(), input, first(), count(), combine, line);
        aggregate = h2d::value_of_lane(mask(), all, (int)(first() + count() - 1), line);
        output = shifted(all, initial, combine, line);
    }
    template <class F> void ExclusiveScan(T input, T &output, F combine, H2D_CALLER) {
        T all = h2d::scan_lanes(mask(), input, first(), count(), combine, line);
        bool is_first = h2d::lane() == first();
        T before = h2d::value_of_lane(mask(), all, (int)(is_first ? first() : h2d::lane() - 1), line);
        if (!is_first) output = before;  // the first lane's result is undefined
    }
    T Broadcast(T input, unsigned source, H2D_CALLER) { return h2d::value_of_lane(mask(), input, (int)(first() + source), line); }

private:
    static constexpr unsigned SIZE = LOGICAL_WARP_THREADS;
    static unsigned first() { return h2d::lane() / SIZE * SIZE; }
    static h2d::Bits mask() { return h2d::lanes_from(first(), SIZE); }
    static unsigned count() {
        unsigned here = h2d_parts::lanes_here() - first();
        return here < SIZE ? here : SIZE;
    }
    template <class F> static T shifted(T all, T initial, F combine, h2d::Line line) {
        bool is_first = h2d::lane() == first();
        T before = h2d::value_of_lane(mask(), all, (int)(is_first ? first() : h2d::lane() - 1), line);
        return is_first ? initial : combine(initial, before);
    }
};

}  // namespace cub
#endif
