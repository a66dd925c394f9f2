// cub::BlockScan: the combination of the values up to each thread (CUB documentation, "BlockScan").
#pragma once
#include "../h2d_cub.h"
#ifndef H2D_EXPAND

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class BlockScan {
    static constexpr unsigned THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, WARPS = (THREADS + H2D_WARP - 1) / H2D_WARP;
    typedef h2d_parts::Sum Plus;

public:
    struct TempStorage { h2d_parts::Cell<T> of_warp[WARPS], prefix; };
    template <class U = T> BlockScan() : storage(*(TempStorage *)nullptr) {
        static_assert(sizeof(U) == 0, "the stand-in's BlockScan has no storage of its own: declare a __shared__ BlockScan::TempStorage");
    }
    explicit BlockScan(TempStorage &storage) : storage(storage) {}

    void InclusiveSum(T input, T &output, H2D_CALLER) { T all; output = scan(input, Plus(), all, line).upto; }
    void InclusiveSum(T input, T &output, T &aggregate, H2D_CALLER) { output = scan(input, Plus(), aggregate, line).upto; }
    template <int N> void InclusiveSum(T (&input)[N], T (&output)[N], H2D_CALLER) { InclusiveScan(input, output, Plus(), line); }
    template <int N> void InclusiveSum(T (&input)[N], T (&output)[N], T &aggregate, H2D_CALLER) {
        InclusiveScan(input, output, Plus(), aggregate, line);
    }
    void ExclusiveSum(T input, T &output, H2D_CALLER) { ExclusiveScan(input, output, T(), Plus(), line); }
    void ExclusiveSum(T input, T &output, T &aggregate, H2D_CALLER) { ExclusiveScan(input, output, T(), Plus(), aggregate, line); }
    template <int N> void ExclusiveSum(T (&input)[N], T (&output)[N], H2D_CALLER) { ExclusiveScan(input, output, T(), Plus(), line); }
    template <int N> void ExclusiveSum(T (&input)[N], T (&output)[N], T &aggregate, H2D_CALLER) {
        ExclusiveScan(input, output, T(), Plus(), aggregate, line);
    }

    template <class F> void InclusiveScan(T input, T &output, F combine, H2D_CALLER) { T all; output = scan(input, combine, all, line).upto; }
    template <class F> void InclusiveScan(T input, T &output, F combine, T &aggregate, H2D_CALLER) {
        output = scan(input, combine, aggregate, line).upto;
    }
    template <int N, class F> void InclusiveScan(T (&input)[N], T (&output)[N], F combine, H2D_CALLER) {
        T all;
        InclusiveScan(input, output, combine, all, line);
    }
    template <int N, class F> void InclusiveScan(T (&input)[N], T (&output)[N], F combine, T &aggregate, H2D_CALLER) {
        Scanned found = scan(folded(input, combine), combine, aggregate, line);
        for (int i = 0; i < N; i++) output[i] = i ? combine(output[i - 1], input[i]) : found.any ? combine(found.before, input[0]) : input[0];
    }
    template <class F> void ExclusiveScan(T input, T &output, T initial, F combine, H2D_CALLER) {
        T all;
        ExclusiveScan(input, output, initial, combine, all, line);
    }
    template <class F> void ExclusiveScan(T input, T &output, T initial, F combine, T &aggregate, H2D_CALLER) {
        Scanned found = scan(input, combine, aggregate, line);
        output = found.any ? combine(initial, found.before) : initial;
    }
    template <int N, class F> void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, F combine, H2D_CALLER) {
        T all;
        ExclusiveScan(input, output, initial, combine, all, line);
    }
    template <int N, class F> void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, F combine, T &aggregate, H2D_CALLER) {
        Scanned found = scan(folded(input, combine), combine, aggregate, line);
        T value = found.any ? combine(initial, found.before) : initial;
        for (int i = 0; i < N; i++) {
            T next = combine(value, input[i]);
            output[i] = value, value = next;
        }
    }
    // Without an initial value, the result of thread 0 is undefined: it stays as it is.
    template <class F> void ExclusiveScan(T input, T &output, F combine, H2D_CALLER) {
        T all;
        Scanned found = scan(input, combine, all, line);
        if (found.any) output = found.before;
    }

private:
    TempStorage &storage;
    struct Scanned { T upto, before; bool any; };  // with this thread's value, without it, and whether any is before it
    template <int N, class F> static T folded(T (&input)[N], F combine) {
        T value = input[0];
        for (int i = 1; i < N; i++) value = combine(value, input[i]);
        return value;
    }
    template <class F> Scanned scan(T input, F combine, T &aggregate, h2d::Line line) {
        h2d_parts::check_block(THREADS, line);
        const h2d::Bits mask = h2d::lanes_from(0, H2D_WARP);
        const unsigned lane = h2d::lane(), warp = h2d::rank_in_block() / H2D_WARP, here = h2d_parts::lanes_here();
        T upto = h2d::scan_lanes(mask, input, 0, here, combine, line);
        T before = h2d::value_of_lane(mask, upto, (int)(lane ? lane - 1 : 0), line);
        if (lane == here - 1) h2d_parts::write(storage.of_warp[warp], upto, line);
        h2d_parts::wait_for_block(line);
        T sum = h2d_parts::read(storage.of_warp[0], line), ahead = sum;
        for (unsigned i = 1; i < WARPS; i++) {
            if (i == warp) ahead = sum;
            sum = combine(sum, h2d_parts::read(storage.of_warp[i], line));
        }
        aggregate = sum;
        if (!warp) return {upto, before, lane != 0};
        return {combine(ahead, upto), lane ? combine(ahead, before) : ahead, true};
    }
};

}  // namespace cub
#endif
