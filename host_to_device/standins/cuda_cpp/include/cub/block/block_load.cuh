// cub::BlockLoad: each thread's items from global memory (CUB documentation, "BlockLoad").
#pragma once
#include "../h2d_cub.h"
#ifndef H2D_EXPAND

namespace cub {

enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE,
                          BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1>
class BlockLoad {
    static constexpr unsigned THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

public:
    struct TempStorage { char unused; };
    BlockLoad() {}
    explicit BlockLoad(TempStorage &) {}
    // Thread t gets the items t * ITEMS to t * ITEMS + ITEMS - 1; with STRIPED the items t, t + THREADS, and so on.
    template <class Pointer> void Load(Pointer from, T (&items)[ITEMS_PER_THREAD], H2D_CALLER) {
        h2d_parts::check_block(THREADS, line);
        for (int i = 0; i < ITEMS_PER_THREAD; i++) items[i] = h2d::load(&from[place(i)], line);
    }
    template <class Pointer> void Load(Pointer from, T (&items)[ITEMS_PER_THREAD], int valid, H2D_CALLER) {
        h2d_parts::check_block(THREADS, line);
        for (int i = 0; i < ITEMS_PER_THREAD; i++)
            if (place(i) < valid) items[i] = h2d::load(&from[place(i)], line);
    }
    template <class Pointer, class U> void Load(Pointer from, T (&items)[ITEMS_PER_THREAD], int valid, U otherwise, H2D_CALLER) {
        for (T &item : items) item = otherwise;
        Load(from, items, valid, line);
    }

private:
    static int place(int item) {
        int rank = (int)h2d::rank_in_block();
        return ALGORITHM == BLOCK_LOAD_STRIPED ? rank + item * (int)THREADS : rank * ITEMS_PER_THREAD + item;
    }
};

}  // namespace cub
#endif
