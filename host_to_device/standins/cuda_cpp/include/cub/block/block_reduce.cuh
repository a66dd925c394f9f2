// cub::BlockReduce: the combination of the values of a block (CUB documentation, "BlockReduce").
#pragma once
#include "../h2d_cub.h"
#ifndef H2D_EXPAND

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS,
                            BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC };

template <class T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1>
class BlockReduce {
    static constexpr unsigned THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z, WARPS = (THREADS + H2D_WARP - 1) / H2D_WARP;

public:
    struct TempStorage { h2d_parts::Cell<T> of_warp[WARPS]; };
    template <class U = T> BlockReduce() : storage(*(TempStorage *)nullptr) {
        static_assert(sizeof(U) == 0, "the stand-in's BlockReduce has no storage of its own: declare a __shared__ BlockReduce::TempStorage");
    }
    explicit BlockReduce(TempStorage &storage) : storage(storage) {}

    // Only thread 0 gets the result. A barrier has to follow before the block uses the storage again.
    T Sum(T input, H2D_CALLER) { return fold(input, THREADS, h2d_parts::Sum(), line); }
    T Sum(T input, int num_valid, H2D_CALLER) { return fold(input, num_valid, h2d_parts::Sum(), line); }
    template <int N> T Sum(T (&inputs)[N], H2D_CALLER) { return Reduce(inputs, h2d_parts::Sum(), line); }
    template <class F> T Reduce(T input, F combine, H2D_CALLER) { return fold(input, THREADS, combine, line); }
    template <class F> T Reduce(T input, F combine, int num_valid, H2D_CALLER) { return fold(input, num_valid, combine, line); }
    template <int N, class F> T Reduce(T (&inputs)[N], F combine, H2D_CALLER) {
        T value = inputs[0];
        for (int i = 1; i < N; i++) value = combine(value, inputs[i]);
        return fold(value, THREADS, combine, line);
    }

private:
    TempStorage &storage;
    template <class F> T fold(T value, int valid, F combine, h2d::Line line) {
        h2d_parts::check_block(THREADS, line);
        unsigned rank = h2d::rank_in_block(), warp = rank / H2D_WARP, before = warp * H2D_WARP, here = h2d_parts::lanes_here();
        int left = valid - (int)before;
        unsigned count = left < (int)here ? (left < 1 ? 1 : (unsigned)left) : here;
        value = h2d::fold_lanes(h2d::lanes_from(0, H2D_WARP), value, 0, count, combine, line);
        if (h2d::lane() == 0) h2d_parts::write(storage.of_warp[warp], value, line);
        h2d_parts::wait_for_block(line);
        for (unsigned i = 1; rank == 0 && i < WARPS && (int)(i * H2D_WARP) < valid; i++)
            value = combine(value, h2d_parts::read(storage.of_warp[i], line));
        return value;
    }
};

}  // namespace cub
#endif
