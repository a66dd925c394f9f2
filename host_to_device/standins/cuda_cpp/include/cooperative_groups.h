// Cooperative groups: groups of threads as objects (CUDA C++ Programming Guide, "Cooperative Groups").
#pragma once
#ifndef H2D_EXPAND  // then only the learner's own declarations matter
#include "h2d_groups.h"

namespace cooperative_groups {

class thread_block;
class grid_group;

// Any group. A block waits at the block's barrier, a grid at the grid's, and other groups are lanes of one warp.
class thread_group {
public:
    void sync(H2D_LINE) const {
        h2d::meet(kind == LANES ? h2d::SYNC_WARP : kind == BLOCK ? h2d::SYNC_BLOCK : h2d::SYNC_GRID, mask, 0, 0, line);
    }
    unsigned long long num_threads() const {
        if (kind == LANES) return (unsigned)__popcll(mask);
        unsigned long long threads = h2d::threads_of_block();
        return kind == BLOCK ? threads : threads * gridDim.x * gridDim.y * gridDim.z;
    }
    unsigned long long size() const { return num_threads(); }
    unsigned long long thread_rank() const {
        if (kind == LANES) return (unsigned)__popcll(mask & ((1ull << h2d::lane()) - 1));
        if (kind == BLOCK) return h2d::rank_in_block();
        unsigned long long block = blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
        return block * h2d::threads_of_block() + h2d::rank_in_block();
    }
    bool is_valid() const { return kind != GRID || h2d::h2d_cooperative; }

protected:
    enum Kind { LANES, BLOCK, GRID };
    thread_group(Kind kind, h2d::Bits mask) : kind(kind), mask(mask) {}
    Kind kind;
    h2d::Bits mask;  // of the lanes in their warp

    friend thread_group tiled_partition(const thread_group &parent, unsigned size);
};

class thread_block : public thread_group {
public:
    thread_block() : thread_group(BLOCK, 0) {}
    static void sync(H2D_LINE) { h2d::meet(h2d::SYNC_BLOCK, 0, 0, 0, line); }
    static unsigned thread_rank() { return h2d::rank_in_block(); }
    static unsigned num_threads() { return h2d::threads_of_block(); }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 dim_threads() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static dim3 group_dim() { return dim_threads(); }
};
H2D_INLINE thread_block this_thread_block() { return thread_block(); }

// All threads of the grid. Only a cooperative launch has a barrier for them.
class grid_group : public thread_group {
public:
    grid_group() : thread_group(GRID, 0) {}
    void sync(H2D_LINE) const { h2d::meet(h2d::SYNC_GRID, 0, 0, 0, line); }
    static unsigned long long block_rank() {
        return blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    static dim3 dim_blocks() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static dim3 group_dim() { return dim_blocks(); }
    static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 dim_threads() {
        return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
    }
    static dim3 thread_index() {
        return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                    blockIdx.z * blockDim.z + threadIdx.z);
    }
};
H2D_INLINE grid_group this_grid() { return grid_group(); }

// Lanes of one warp, in the order of their numbers: what tiles and coalesced groups can do.
class lane_group : public thread_group {
public:
    unsigned num_threads() const { return (unsigned)thread_group::num_threads(); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return (unsigned)thread_group::thread_rank(); }
    h2d::Bits lanes() const { return mask; }  // of the stand-in
    unsigned first_lane() const { return (unsigned)h2d::nth_lane(mask, 0); }

    int any(int p, H2D_LINE) const { return vote(p, line) != 0; }
    int all(int p, H2D_LINE) const { return h2d::meet(h2d::BALLOT, mask, p == 0, 0, line) == 0; }
    unsigned ballot(int p, H2D_LINE) const { return (unsigned)packed(vote(p, line)); }
    template <class T> unsigned match_any(T v, H2D_LINE) const {
        return (unsigned)packed(h2d::meet(h2d::MATCH_ANY, mask, h2d::pack(v), 0, line));
    }
    template <class T> unsigned match_all(T v, int &all, H2D_LINE) const {
        h2d::Bits found = h2d::meet(h2d::MATCH_ALL, mask, h2d::pack(v), 0, line);
        all = found != 0;
        return (unsigned)packed(found);
    }
    // The value of the thread with a rank; the thread's own value if the group has no such rank.
    template <class T> T take(const T &v, long rank, int line) const {
        bool there = rank >= 0 && rank < (long)num_threads();
        return h2d::value_of_lane(mask, v, there ? h2d::nth_lane(mask, (unsigned)rank) : (int)h2d::lane(), line);
    }

protected:
    explicit lane_group(h2d::Bits mask) : thread_group(LANES, mask) {}
    h2d::Bits vote(int p, int line) const { return h2d::meet(h2d::BALLOT, mask, p != 0, 0, line); }
    // A mask of lanes as one of ranks.
    h2d::Bits packed(h2d::Bits lanes) const {
        h2d::Bits ranks = 0;
        for (unsigned rank = 0; rank < num_threads(); rank++)
            ranks |= (lanes >> h2d::nth_lane(mask, rank) & 1) << rank;
        return ranks;
    }
};

class coalesced_group : public lane_group {
public:
    explicit coalesced_group(h2d::Bits lanes) : lane_group(lanes) {}
    template <class T> T shfl(T v, int rank, H2D_LINE) const {
        int lane = h2d::nth_lane(mask, (unsigned)rank);
        return h2d::value_of_lane(mask, v, lane < 0 ? (int)h2d::lane() : lane, line);
    }
    template <class T> T shfl_down(T v, unsigned away, H2D_LINE) const { return take(v, (long)thread_rank() + away, line); }
    template <class T> T shfl_up(T v, unsigned away, H2D_LINE) const { return take(v, (long)thread_rank() - away, line); }
    unsigned meta_group_size() const { return groups; }
    unsigned meta_group_rank() const { return number; }

private:
    unsigned groups = 1, number = 0;
    friend class thread_group;
    friend coalesced_group partition_of(h2d::Bits lanes, unsigned groups, unsigned number);
};
H2D_INLINE coalesced_group partition_of(h2d::Bits lanes, unsigned groups, unsigned number) {
    coalesced_group made(lanes);
    made.groups = groups, made.number = number;
    return made;
}
// The lanes that are together at this line.
H2D_INLINE coalesced_group coalesced_threads(H2D_LINE) {
    return coalesced_group(h2d::meet(h2d::ACTIVE, h2d::lanes_from(0, H2D_WARP), 0, 0, line));
}

// SIZE neighbouring threads of a group, which lie in one warp.
template <unsigned SIZE, class Parent = void> class thread_block_tile : public lane_group {
    static_assert(SIZE && !(SIZE & (SIZE - 1)), "a tile has 1, 2, 4, 8, 16 or 32 threads");
    static_assert(SIZE <= H2D_WARP, "the stand-in has no tiles of more threads than a warp: use the block");

public:
    explicit thread_block_tile(unsigned groups = (h2d::threads_of_block() + SIZE - 1) / SIZE,
                               unsigned number = h2d::rank_in_block() / SIZE)
        : lane_group(h2d::lanes_from(h2d::lane() & ~(SIZE - 1), SIZE)), groups(groups), number(number) {}
    template <class Other> thread_block_tile(const thread_block_tile<SIZE, Other> &same)
        : thread_block_tile(same.meta_group_size(), same.meta_group_rank()) {}
    static constexpr unsigned num_threads() { return SIZE; }
    static constexpr unsigned size() { return SIZE; }
    static unsigned thread_rank() { return h2d::lane() & (SIZE - 1); }
    unsigned meta_group_size() const { return groups; }
    unsigned meta_group_rank() const { return number; }
    template <class T> T shfl(T v, int rank, H2D_LINE) const {
        return h2d::value_of_lane(mask, v, h2d::across(rank, SIZE, false), line);
    }
    template <class T> T shfl_down(T v, unsigned away, H2D_LINE) const { return take(v, (long)thread_rank() + away, line); }
    template <class T> T shfl_up(T v, unsigned away, H2D_LINE) const { return take(v, (long)thread_rank() - away, line); }
    template <class T> T shfl_xor(T v, unsigned lanes, H2D_LINE) const {
        return take(v, (long)(thread_rank() ^ lanes), line);
    }

private:
    unsigned groups, number;
};

template <unsigned SIZE> H2D_INLINE thread_block_tile<SIZE, thread_block> tiled_partition(const thread_block &) {
    return thread_block_tile<SIZE, thread_block>();
}
template <unsigned SIZE, unsigned WHOLE, class Parent>
H2D_INLINE thread_block_tile<SIZE, thread_block_tile<WHOLE, Parent>> tiled_partition(const thread_block_tile<WHOLE, Parent> &parent) {
    static_assert(SIZE <= WHOLE, "a tile of a tile has no more threads than it");
    return thread_block_tile<SIZE, thread_block_tile<WHOLE, Parent>>(WHOLE / SIZE, parent.thread_rank() / SIZE);
}
// Parts of a size that is known only at run time.
H2D_INLINE thread_group tiled_partition(const thread_group &parent, unsigned size) {
    if (parent.kind == thread_group::BLOCK)
        return thread_group(thread_group::LANES, h2d::lanes_from(h2d::lane() & ~(size - 1), size));
    h2d::Bits lanes = 0;
    unsigned rank = 0, mine = (unsigned)parent.thread_rank() / size;
    for (unsigned i = 0; i < H2D_WARP; i++)
        if (parent.mask >> i & 1) lanes |= (h2d::Bits)(rank++ / size == mine) << i;
    return thread_group(thread_group::LANES, lanes);
}
H2D_INLINE coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
    h2d::Bits lanes = 0;
    unsigned rank = 0, mine = parent.thread_rank() / size;
    for (unsigned i = 0; i < H2D_WARP; i++)
        if (parent.lanes() >> i & 1) lanes |= (h2d::Bits)(rank++ / size == mine) << i;
    return partition_of(lanes, (parent.num_threads() + size - 1) / size, mine);
}
H2D_INLINE thread_block_tile<1> this_thread() { return thread_block_tile<1>(); }

// The lanes of a group that bring the same label, or the same truth.
template <class Group, class T> H2D_INLINE coalesced_group labeled_partition(const Group &group, T label, H2D_LINE) {
    h2d::Bits same = h2d::meet(h2d::MATCH_ANY, group.lanes(), h2d::pack(label), 0, line), seen = 0;
    unsigned groups = 0, number = 0;
    for (unsigned rank = 0; rank < group.num_threads(); rank++) {
        int lane = h2d::nth_lane(group.lanes(), rank);
        h2d::Bits theirs = h2d::value_of_lane(group.lanes(), same, lane, line);
        if (seen & theirs) continue;
        seen |= theirs;
        if (theirs == same) number = groups;
        groups++;
    }
    return partition_of(same, groups, number);
}
template <class Group> H2D_INLINE coalesced_group binary_partition(const Group &group, bool p, H2D_LINE) {
    h2d::Bits yes = h2d::meet(h2d::BALLOT, group.lanes(), p, 0, line), no = group.lanes() & ~yes;
    return partition_of(p ? yes : no, yes && no ? 2 : 1, yes && no ? !p : 0);
}

template <class Group> H2D_INLINE void sync(const Group &group, H2D_LINE) { group.sync(line); }
template <class Group> H2D_INLINE auto thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> H2D_INLINE auto group_size(const Group &group) { return group.size(); }
template <class Group, class F, class... A> H2D_INLINE void invoke_one(const Group &group, F f, A... arguments) {
    if (group.thread_rank() == 0) f(arguments...);
}

}  // namespace cooperative_groups
#endif
