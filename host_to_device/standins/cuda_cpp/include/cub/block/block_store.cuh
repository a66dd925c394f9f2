// cub::BlockStore: each thread's items to global memory (CUB documentation, "BlockStore").
#pragma once
#include "../h2d_cub.h"
#ifndef H2D_EXPAND

namespace cub {

enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE,
                           BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };

template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1>
class BlockStore {
    static constexpr unsigned THREADS = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;

public:
    struct TempStorage { char unused; };
    BlockStore() {}
    explicit BlockStore(TempStorage &) {}
    template <class Pointer> void Store(Pointer to, T (&items)[ITEMS_PER_THREAD], H2D_CALLER) {
        Store(to, items, (int)THREADS * ITEMS_PER_THREAD, line);
    }
    template <class Pointer> void Store(Pointer to, T (&items)[ITEMS_PER_THREAD], int valid, H2D_CALLER) {
        h2d_parts::check_block(THREADS, line);
        for (int i = 0; i < ITEMS_PER_THREAD; i++) {
            int rank = (int)h2d::rank_in_block();
            int place = ALGORITHM == BLOCK_STORE_STRIPED ? rank + i * (int)THREADS : rank * ITEMS_PER_THREAD + i;
            if (place < valid) h2d::store(&to[place], items[i], line);
        }
    }
};

}  // namespace cub
#endif
