// Copies by a whole group (CUDA C++ Programming Guide, "Cooperative Groups", `memcpy_async`). They are done at once, and
// only wait() orders them before the group's later accesses.
#pragma once
#include "../cooperative_groups.h"
#ifndef H2D_EXPAND

namespace cooperative_groups {

template <class Group> H2D_INLINE void copy_bytes(const Group &group, void *to, const void *from, size_t bytes, int line) {
    unsigned long long count = group.size(), at = group.thread_rank();
    bool words = ((size_t)to | (size_t)from | bytes) % 4 == 0;
    if (words) {
        for (; at < bytes / 4; at += count) h2d::store((unsigned *)to + at, h2d::load((const unsigned *)from + at, line), line);
        return;
    }
    for (; at < bytes; at += count)
        h2d::store((unsigned char *)to + at, h2d::load((const unsigned char *)from + at, line), line);
}
template <class Group, class T>
H2D_INLINE void memcpy_async(const Group &group, T *to, const T *from, size_t bytes, H2D_LINE) {
    copy_bytes(group, to, from, bytes, line);
}
template <class Group, class A, class B>
H2D_INLINE void memcpy_async(const Group &group, A *to, size_t most, const B *from, size_t given, H2D_LINE) {
    copy_bytes(group, to, from, (most < given ? most : given) * sizeof(A), line);
}
template <class Group> H2D_INLINE void wait(const Group &group, H2D_LINE) { group.sync(line); }
template <unsigned NEWER, class Group> H2D_INLINE void wait_prior(const Group &group, H2D_LINE) { group.sync(line); }

}  // namespace cooperative_groups
#endif
