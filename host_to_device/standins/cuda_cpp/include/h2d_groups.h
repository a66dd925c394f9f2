// What cooperative groups and CUB share: where a thread is in its block, and exchanges of values of any size in a warp.
#pragma once
#ifndef H2D_EXPAND  // then only the learner's own declarations matter

namespace h2d {

// The line of a caller, as a type of its own: a number that the caller gives is never taken for it.
enum Line : int {};
#define H2D_CALLER h2d::Line line = (h2d::Line)__builtin_LINE()

// The thread's number in its block, and the threads of a block.
H2D_INLINE unsigned rank_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
H2D_INLINE unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
// The lanes of a warp from one lane on, as a mask.
H2D_INLINE Bits lanes_from(unsigned first, unsigned count) {
    return (count >= 64 ? ~0ull : (1ull << count) - 1) << first;
}
// The lane that is the n-th of a mask, counted from 0; -1 if there is none.
H2D_INLINE int nth_lane(Bits lanes, unsigned n) {
    for (int i = 0; i < 64; i++)
        if ((lanes >> i & 1) && n-- == 0) return i;
    return -1;
}

// The value that another lane brings. All lanes of the mask call it; values have any size.
template <class T> H2D_INLINE T value_of_lane(Bits mask, const T &value, int lane, int line) {
    struct alignas(T) alignas(8) { Bits words[(sizeof(T) + 7) / 8]; } piece = {};
    __builtin_memcpy(&piece, &value, sizeof(T));
    for (Bits &word : piece.words) word = meet(SHUFFLE, mask, word, lane, line);
    return *(T *)&piece;
}

// Combines the values of the lanes `first` to `first + count - 1`; the first of them gets the result, in lane order.
template <class T, class F> H2D_INLINE T fold_lanes(Bits mask, T value, unsigned first, unsigned count, F combine, int line) {
    unsigned rank = lane() - first, size = 1;
    while (size < count) size *= 2;
    for (unsigned away = 1; away < size; away *= 2) {
        bool takes = rank + away < count;
        T other = value_of_lane(mask, value, (int)(first + (takes ? rank + away : rank)), line);
        if (takes && rank % (2 * away) == 0) value = combine(value, other);
    }
    return value;
}

// Combines the values of all lanes up to and including each one.
template <class T, class F> H2D_INLINE T scan_lanes(Bits mask, T value, unsigned first, unsigned count, F combine, int line) {
    unsigned rank = lane() - first;
    for (unsigned away = 1; away < count; away *= 2) {
        bool takes = rank >= away;
        T other = value_of_lane(mask, value, (int)(first + (takes ? rank - away : rank)), line);
        if (takes) value = combine(other, value);
    }
    return value;
}

}  // namespace h2d
#endif
