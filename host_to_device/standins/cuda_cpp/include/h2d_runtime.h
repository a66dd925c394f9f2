// The interface between kernels and the runtime. Kernels include no header of the system, so that a learner may use
// every name that NVRTC leaves free.
#pragma once

#ifndef H2D_WARP
#define H2D_WARP 32
#endif
#define H2D_HIDDEN __attribute__((visibility("hidden")))
// Functions that check their own accesses, with the line of their caller.
#ifdef __clang__
#define H2D_UNCHECKED __attribute__((disable_sanitizer_instrumentation))
#else
#define H2D_UNCHECKED __attribute__((no_sanitize("kernel-address"), no_sanitize("thread")))
#endif

typedef decltype(sizeof(0)) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
#define NULL 0
struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

namespace h2d {

struct Parameter { const char *type; unsigned size; bool pointer; };
struct Kernel { const char *name; const void *start; void (*run)(void **); const Parameter *parameters; int count; };
struct Global { const char *name; void *address; size_t size; bool constant; };
struct Shared { int first, last; const char *names; };  // a declaration: its lines, " name name "

enum Operation { SYNC_BLOCK, COUNT_BLOCK, AND_BLOCK, OR_BLOCK,  // wait for the block
                 SYNC_GRID,                                     // waits for all blocks of a cooperative launch
                 SYNC_WARP, SHUFFLE, BALLOT, MATCH_ANY, MATCH_ALL, ACTIVE, REDUCE_ADD,
                 REDUCE_MIN_SIGNED, REDUCE_MAX_SIGNED, REDUCE_MIN, REDUCE_MAX, REDUCE_AND, REDUCE_OR, REDUCE_XOR };
typedef unsigned long long Bits;

// Waits until all threads of the block, or of the mask, have arrived, and returns the operation's result for their
// values; source is the lane that a shuffle reads from.
H2D_HIDDEN Bits meet(Operation operation, Bits mask, Bits value, int source, int line);
enum Touch { READ, WRITE, CHANGE };  // CHANGE: by an atomic
// Checks an access of size bytes, and returns whether other processes may use this memory at the same time.
H2D_HIDDEN bool touch(const volatile void *address, size_t size, Touch how, int line);
extern H2D_HIDDEN void *caller;  // what stands for the line of a touch that gives none: an address in the code
H2D_HIDDEN void fence(bool device);  // for the device, or for the block only
H2D_HIDDEN void relax(int line);  // lets other threads run now and then: called where a thread may wait for another
[[noreturn]] H2D_HIDDEN void fail(const char *kind, const char *text, int line);
H2D_HIDDEN int print(const char *format, ...) __attribute__((format(printf, 1, 2)));
H2D_HIDDEN void *take(size_t size);
H2D_HIDDEN void give(void *memory);
H2D_HIDDEN long long ticks();
H2D_HIDDEN unsigned lane();

// A process runs one block at a time, and one thread of it, so plain variables suffice.
extern "C" H2D_HIDDEN bool h2d_busy;
extern "C" H2D_HIDDEN bool h2d_cooperative;  // whether all blocks of the launch wait for each other at the grid's barrier
extern "C" H2D_HIDDEN uint3 h2d_thread, h2d_block;
extern "C" H2D_HIDDEN dim3 h2d_block_dim, h2d_grid_dim;

}  // namespace h2d

// Defined by the text that is added after the learner's source.
extern "C" H2D_HIDDEN const h2d::Kernel h2d_kernels[];
extern "C" H2D_HIDDEN const h2d::Global h2d_globals[];
extern "C" H2D_HIDDEN const h2d::Shared h2d_shared[];
extern "C" H2D_HIDDEN const int h2d_kernel_count, h2d_global_count, h2d_shared_count, h2d_warp;
