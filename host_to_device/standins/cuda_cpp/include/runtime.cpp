// Runs kernels on a processor: the threads of a block one after the other, all on the same stack for as long as
// none waits. A thread that waits keeps its stack, and the next one goes on with another: a kernel without barriers
// is a plain loop over its threads, and one with barriers needs no more stacks than threads that wait.
#include "h2d_runtime.h"
#undef NULL

#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)

using namespace h2d;

const unsigned MOST_THREADS = 1024, STACK = 128 << 10, GUARD = 16 << 10, HEAP = 8 << 20, MOST_OUTPUT = 1 << 20;
const unsigned MOST_SHARED = 227 << 10;

extern "C" {
alignas(256) H2D_HIDDEN char h2d_dynamic[MOST_SHARED];  // what extern __shared__ arrays are
}

namespace h2d {
bool h2d_busy;
}

namespace {

// ---------------------------------------------------------------- what the other side sends and gets

struct Request {
    uint64_t arena, arena_size, table;
    uint64_t control;  // address of two numbers that all processes share: the next block, and whether to stop
    uint64_t kernel, shared, seed, seeded, alone, chunk;
    uint64_t grid[3], block[3];
    double seconds;
};
struct Fault {
    uint64_t kind, line, pc, address, size, write, block[3], thread[3];
    char text[160];
};
enum Kind { NONE, BOUNDS, STOPPED, BARRIER, WARP, DIVISION, STACK_OVERFLOW, CRASH, OTHER };

Fault fault;
bool running, broken, in_kernel;

// ---------------------------------------------------------------- where a kernel may read and write

// Every access compares with these first. To have all accesses take the slow way, the sizes are set to nothing.
struct Ranges { uint64_t arena, image, dynamic, stacks; } sizes, real_sizes;
uint64_t arena, image;
char *stacks;
const uint16_t *valid;             // of each 256 bytes of the arena, how many belong to an array
const unsigned char *image_valid;  // of each 8 bytes of variables: 0 all, 1 to 7 the first so many, 255 none
char *heap;

enum { CALM, YIELD, STOP };
volatile sig_atomic_t attention;
double ends;
bool shaking, alone;  // a seed was given: switch threads at random accesses; no other process runs this kernel
uint64_t noise;

struct Registered {  // as the compilers lay it out
    uintptr_t start, size, size_with_gap;
    const char *name, *module;
    uintptr_t dynamic;
    struct Place { const char *file; int line, column; } *place;
    uintptr_t alias;
};
struct Variable { uintptr_t start, size, with_gap; const char *name; int line; bool shared; };
Variable *variables;
int variable_count;

uint64_t random_number() {  // xorshift64*
    noise ^= noise >> 12, noise ^= noise << 25, noise ^= noise >> 27;
    return noise * 0x2545F4914F6CDD1Dull >> 16;
}

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// ---------------------------------------------------------------- stacks, and going from one to another

struct Fiber { void *stack_pointer; bool fresh; ucontext_t *context; };
Fiber fibers[MOST_THREADS], *fiber, home;
Fiber *idle[MOST_THREADS];
unsigned idle_count;

void fiber_main();

#if defined(H2D_UCONTEXT)  // asked for: to measure what a switch of our own gains
#elif defined(__x86_64__)
extern "C" void h2d_switch(void **save, void *to) __asm__("h2d_switch");
__asm__(".text\n.p2align 4\nh2d_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
#elif defined(__aarch64__)
extern "C" void h2d_switch(void **save, void *to) __asm__("h2d_switch");
__asm__(".text\n.p2align 4\nh2d_switch:\n"
        "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
        "stp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\n"
        "stp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\nmov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
        "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\n"
        "ldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\n"
        "ldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\nadd sp,sp,#160\nret\n");
#else
#define H2D_UCONTEXT 1
#endif

char *stack_of(Fiber *f) { return stacks + (f - fibers) * (size_t)(STACK + GUARD) + GUARD; }

void prepare(Fiber *f) {
    f->fresh = false;
#if defined(H2D_UCONTEXT)
    if (!f->context) f->context = (ucontext_t *)malloc(sizeof(ucontext_t));
    getcontext(f->context);
    f->context->uc_stack.ss_sp = stack_of(f);
    f->context->uc_stack.ss_size = STACK;
    f->context->uc_link = nullptr;
    makecontext(f->context, fiber_main, 0);
#elif defined(__x86_64__)
    void **top = (void **)(stack_of(f) + STACK);
    top[-1] = nullptr;  // where fiber_main would return to
    top[-2] = (void *)fiber_main;
    f->stack_pointer = top - 8;
#elif defined(__aarch64__)
    void **top = (void **)(stack_of(f) + STACK) - 20;
    top[10] = nullptr;
    top[11] = (void *)fiber_main;
    f->stack_pointer = top;
#endif
}

void change(Fiber *from, Fiber *to) {
#ifdef H2D_UCONTEXT
    if (!from->context) from->context = (ucontext_t *)malloc(sizeof(ucontext_t));
    swapcontext(from->context, to->context);
#else
    h2d_switch(&from->stack_pointer, to->stack_pointer);
#endif
}

// ---------------------------------------------------------------- threads

enum State { FRESH, RUNNING, READY, AT_BLOCK, AT_WARP, DONE };
struct Thread { State state; Fiber *fiber; Operation operation; int source, line; Bits mask, value, result; };
Thread threads[MOST_THREADS];
uint3 places[MOST_THREADS];
unsigned order[MOST_THREADS];       // of all threads, warp by warp
unsigned warp_start[MOST_THREADS + 1];  // where each warp starts in that order
unsigned warp_count, thread_count, done, current, next_thread, end_thread;
bool waits;  // some thread of this kernel has waited
const Kernel *kernel;
void **arguments;

void set_current(unsigned t) {
    current = t;
    h2d_thread = places[t];
}

void fiber_main() {
    for (;;) {
        while (next_thread < end_thread) {
            set_current(order[next_thread++]);
            threads[current].state = RUNNING;
            kernel->run(arguments);
            threads[current].state = DONE;
            done++;
        }
        idle[idle_count++] = fiber;
        change(fiber, &home);
    }
}

void park(State state) {
    threads[current].state = state;
    threads[current].fiber = fiber;
    change(fiber, &home);
}

[[noreturn]] void give_up() {
    broken = true;
    fault.block[0] = h2d_block.x, fault.block[1] = h2d_block.y, fault.block[2] = h2d_block.z;
    fault.thread[0] = places[current].x, fault.thread[1] = places[current].y, fault.thread[2] = places[current].z;
    Fiber dead;
    dead.context = nullptr;
    change(&dead, &home);
    __builtin_unreachable();
}

void enter() {
    in_kernel = true;
    change(&home, fiber);
    in_kernel = false;
}

void start(unsigned from, unsigned to) {
    next_thread = from, end_thread = to;
    while (next_thread < end_thread && !broken) {
        fiber = idle[--idle_count];
        if (fiber->fresh) prepare(fiber);
        enter();
    }
}

void resume(unsigned t) {
    set_current(t);
    threads[t].state = RUNNING;
    fiber = threads[t].fiber;
    enter();
}

Bits full_mask() { return h2d_warp == 64 ? ~0ull : (1ull << h2d_warp) - 1; }

Bits combine(Operation operation, Bits a, Bits b) {
    switch (operation) {
        case REDUCE_ADD: return a + b;
        case REDUCE_MIN_SIGNED: return (int)a < (int)b ? a : b;
        case REDUCE_MAX_SIGNED: return (int)a > (int)b ? a : b;
        case REDUCE_MIN: return a < b ? a : b;
        case REDUCE_MAX: return a > b ? a : b;
        case REDUCE_AND: return a & b;
        case REDUCE_OR: return a | b;
        default: return a ^ b;
    }
}

// Gives those lanes of a warp their results.
void exchange(unsigned first, Bits members) {
    Thread *lanes = threads + first;
    Bits together = 0;
    bool started = false;
    Bits leader = 0;
    bool same = true;
    for (int i = 0; i < h2d_warp; i++) {
        if (!(members >> i & 1)) continue;
        Thread &t = lanes[i];
        if (!started) leader = t.value;
        if (t.operation == BALLOT) together |= (Bits)(t.value != 0) << i;
        else if (t.operation == ACTIVE) together |= 1ull << i;
        else if (t.operation == MATCH_ALL) same = same && t.value == leader;
        else if (t.operation >= REDUCE_ADD) together = started ? combine(t.operation, together, t.value) : t.value;
        started = true;
    }
    for (int i = 0; i < h2d_warp; i++) {
        if (!(members >> i & 1)) continue;
        Thread &t = lanes[i];
        t.result = together;
        if (t.operation == SHUFFLE) {
            bool there = t.source >= 0 && t.source < h2d_warp && (members >> t.source & 1);
            t.result = there ? lanes[t.source].value : t.value;  // CUDA leaves the latter undefined
        } else if (t.operation == MATCH_ALL) {
            t.result = same ? t.mask : 0;
        } else if (t.operation == MATCH_ANY) {
            t.result = 0;
            for (int j = 0; j < h2d_warp; j++)
                if ((members >> j & 1) && lanes[j].value == t.value) t.result |= 1ull << j;
        }
        t.state = READY;
    }
}

// Lets lanes go on whose whole group has come. The group of __activemask() is whoever has come.
bool resolve(unsigned first, unsigned count, bool active) {
    Thread *lanes = threads + first;
    Bits alive = 0, here = 0;
    for (unsigned i = 0; i < count; i++) {
        if (lanes[i].state != DONE) alive |= 1ull << i;
        if (lanes[i].state == AT_WARP) here |= 1ull << i;
    }
    bool moved = false;
    for (unsigned i = 0; i < count; i++) {
        Thread &t = lanes[i];
        if (!(here >> i & 1) || (t.operation == ACTIVE) != active) continue;
        Bits members = active ? 0 : t.mask & alive;
        bool complete = active || !(members & ~here);
        for (unsigned j = 0; j < count && complete; j++) {
            if (active ? !(here >> j & 1) : !(members >> j & 1)) continue;
            bool same = lanes[j].operation == t.operation && lanes[j].mask == t.mask;
            if (!active) complete = same;
            else if (same && lanes[j].line == t.line) members |= 1ull << j;
        }
        if (!complete) continue;
        exchange(first, members);
        here &= ~members;
        moved = true;
    }
    return moved;
}

// Runs the threads of a warp until each waits or has ended; returns whether one only paused.
bool run_warp(unsigned w) {
    unsigned from = warp_start[w], to = warp_start[w + 1], first = order[from] / h2d_warp * h2d_warp;
    for (;;) {
        bool paused = false;
        for (unsigned i = from; i < to; i++) {
            if (threads[order[i]].state != READY) continue;
            resume(order[i]);
            if (broken) return false;
            paused |= threads[order[i]].state == READY;
        }
        if (resolve(first, to - from, false)) continue;
        if (paused) return true;
        if (!resolve(first, to - from, true)) return false;
    }
}

void blame(Kind kind, unsigned t) {
    fault.kind = kind, fault.line = threads[t].line;
    fault.block[0] = h2d_block.x, fault.block[1] = h2d_block.y, fault.block[2] = h2d_block.z;
    fault.thread[0] = places[t].x, fault.thread[1] = places[t].y, fault.thread[2] = places[t].z;
    broken = true;
}

void blame_warp() {
    for (unsigned t = 0; t < thread_count; t++) {
        Thread &me = threads[t];
        if (me.state != AT_WARP) continue;
        for (unsigned lane = 0; lane < (unsigned)h2d_warp; lane++) {
            unsigned other = t / h2d_warp * h2d_warp + lane;
            if (!(me.mask >> lane & 1) || other >= thread_count) continue;
            Thread &they = threads[other];
            if (they.state == DONE || (they.state == AT_WARP && they.mask == me.mask && they.operation == me.operation))
                continue;
            snprintf(fault.text, sizeof fault.text,
                     "lane %u waits here for lane %u of its mask %#llx, which waits at line %d instead", t % h2d_warp,
                     lane, me.mask, they.line);
            return blame(WARP, t);
        }
    }
}

// All that are left wait for the block: lets them go on, or says why they never will.
void release_block() {
    unsigned first = MOST_THREADS, count = 0, last = 0;
    for (unsigned t = 0; t < thread_count; t++) {
        if (threads[t].state == AT_WARP) return blame_warp();
        if (threads[t].state != AT_BLOCK) continue;
        if (first == MOST_THREADS) first = t;
        last = threads[t].line == threads[first].line && threads[t].operation == threads[first].operation ? last : t;
        count++;
    }
    if (last) {
        snprintf(fault.text, sizeof fault.text, "thread (%u, %u, %u) waits at the barrier in line %d instead",
                 places[last].x, places[last].y, places[last].z, threads[last].line);
        return blame(BARRIER, first);
    }
    if (count < thread_count) {
        snprintf(fault.text, sizeof fault.text,
                 "%u of %u threads wait at this barrier, and the others have left the kernel", count, thread_count);
        return blame(BARRIER, first);
    }
    Bits sum = 0;
    for (unsigned t = 0; t < thread_count; t++) sum += threads[t].value != 0;
    Operation operation = threads[first].operation;
    Bits result = operation == COUNT_BLOCK ? sum : operation == AND_BLOCK ? sum == thread_count : sum != 0;
    for (unsigned t = 0; t < thread_count; t++) threads[t].result = result, threads[t].state = READY;
}

void run_block(uint64_t shared) {
    // What shared memory holds at first is anything: something that no sum or maximum survives.
    memset(h2d_dynamic, 0xff, shared);
    for (int i = 0; i < variable_count; i++)
        if (variables[i].shared) memset((void *)variables[i].start, 0xff, variables[i].size);
    done = 0;
    bool by_warps = waits || shaking;
    if (!by_warps) {
        start(0, thread_count);
        if (done == thread_count || broken) return;
        waits = true;
    } else {
        for (unsigned t = 0; t < thread_count; t++) threads[t].state = FRESH;
    }
    for (;;) {
        bool again = false;
        for (unsigned w = 0; w < warp_count; w++) {
            if (by_warps) start(warp_start[w], warp_start[w + 1]);
            if (broken) return;
            again |= run_warp(w);
            if (broken) return;
        }
        by_warps = false;
        if (done == thread_count) return;
        if (!again) release_block();
        if (broken) return;
    }
}

// ---------------------------------------------------------------- accesses

bool inside(uintptr_t a, size_t n, const Ranges &size) {
    uint64_t at = a - arena;
    if (LIKELY(at < size.arena)) return (at & 255) + n <= valid[at >> 8];
    at = a - (uintptr_t)h2d_dynamic;
    if (at < MOST_SHARED) return at + n <= size.dynamic;
    at = a - image;
    if (at < size.image) {
        unsigned char v = image_valid[at >> 3];
        return (v == 0 || (v != 255 && (at & 7) + n <= v)) && image_valid[(at + n - 1) >> 3] != 255;
    }
    return a - (uintptr_t)stacks < size.stacks;
}

__attribute__((noinline, cold)) void look(uintptr_t a, size_t n, bool write, int line, void *pc) {
    if (!running || n == 0) return;
    if (attention == STOP) {
        fault.kind = STOPPED, fault.line = line, fault.pc = (uint64_t)pc;
        give_up();
    }
    if (h2d_busy) return;
    if (attention == YIELD) {
        attention = CALM;
        if (!shaking) sizes = real_sizes;
        park(READY);
    } else if (shaking && random_number() % 16 == 0) {
        park(READY);
    }
    // Two ends: one access may span two numbers of the table.
    if (inside(a, 1, real_sizes) && inside(a + n - 1, 1, real_sizes)) {
        bool split = false;
        for (size_t i = 256; i < n && !split; i += 256) split = !inside(a + i, 1, real_sizes);
        if (!split) return;
    }
    if (a - (uintptr_t)h2d_dynamic >= MOST_SHARED) {
        static Dl_info own;
        Dl_info info;
        if (!own.dli_fbase) dladdr((void *)&run_block, &own);
        bool known = a - image < real_sizes.image;
        if (!known && dladdr((void *)a, &info) && info.dli_fbase == own.dli_fbase) return;
        if (a - (uintptr_t)heap < HEAP) return;
    }
    fault.kind = BOUNDS, fault.line = line, fault.pc = (uint64_t)pc;
    fault.address = a, fault.size = n, fault.write = write;
    // The variable that it belongs to or follows most closely.
    uintptr_t best = 0;
    for (int i = 0; i < variable_count; i++) {
        Variable &v = variables[i];
        if (a < v.start || a >= v.start + v.with_gap || v.start < best) continue;
        best = v.start;
        snprintf(fault.text, sizeof fault.text, "%s\t%d\t%llu\t%llu", v.name, v.shared, (unsigned long long)v.size,
                 (unsigned long long)(a - v.start));
    }
    uint64_t at = a - (uintptr_t)h2d_dynamic;
    if (at < MOST_SHARED)
        snprintf(fault.text, sizeof fault.text, "\t2\t%llu\t%llu", (unsigned long long)real_sizes.dynamic,
                 (unsigned long long)at);
    give_up();
}

#ifdef __linux__
// Finds where this module's variables lie.
int find_variables(dl_phdr_info *info, size_t, void *range) {
    uint64_t *r = (uint64_t *)range, here = (uint64_t)&h2d_dynamic;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &p = info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + p.p_vaddr, to = from + p.p_memsz;
        if (p.p_type == PT_LOAD && from <= here && here < to) return r[0] = from & ~7ull, r[1] = to, 1;
    }
    return 0;
}
#endif

void fill_in_variables() {
    uint64_t range[2] = {~0ull, 0};
#ifdef __linux__
    dl_iterate_phdr(find_variables, range);
#endif
    uint64_t low = range[0], high = range[1];
    for (int i = 0; i < variable_count; i++) {
        Variable &v = variables[i];
        if (v.start < low) low = v.start & ~7ull;
        if (v.start + v.with_gap > high) high = v.start + v.with_gap;
        for (int j = 0; j < h2d_shared_count && !v.shared; j++) {
            const Shared &s = h2d_shared[j];
            if (!v.line) {  // clang gives a name only
                char wanted[200];
                snprintf(wanted, sizeof wanted, " %s ", v.name);
                v.shared = strstr(s.names, wanted) != nullptr;
                if (v.shared) v.line = s.first;
            } else {
                v.shared = s.first <= v.line && v.line <= s.last;
            }
        }
    }
    if (high <= low) return;
    unsigned char *numbers = (unsigned char *)calloc((high - low) / 8 + 16, 1);
    for (int i = 0; i < variable_count; i++) {
        Variable &v = variables[i];
        uint64_t at = v.start + v.size - low, end = v.start + v.with_gap - low;
        if (at & 7) numbers[at >> 3] = at & 7, at = (at | 7) + 1;
        for (; at < end; at += 8) numbers[at >> 3] = 255;
    }
    image = low, real_sizes.image = high - low, image_valid = numbers;
}

}  // namespace

#define HOOK(name, n)                                                                    \
    extern "C" H2D_HIDDEN void __asan_##name##_noabort(uintptr_t a) {                    \
        if (!LIKELY(inside(a, n, sizes))) look(a, n, #name[0] == 's', 0, __builtin_return_address(0)); \
    }
#define HOOKS(n) HOOK(load##n, n) HOOK(store##n, n)
// The same from code compiled for seeded runs, which tells of every read and every write.
#define PLAIN_HOOK(name, kind, n)                                                        \
    extern "C" H2D_HIDDEN void __tsan_##name##n(uintptr_t a) {                           \
        if (!LIKELY(inside(a, n, sizes))) look(a, n, kind, 0, __builtin_return_address(0)); \
    }
#define PLAIN_HOOKS(n)                                                                   \
    PLAIN_HOOK(read, false, n) PLAIN_HOOK(write, true, n)                                \
    PLAIN_HOOK(unaligned_read, false, n) PLAIN_HOOK(unaligned_write, true, n)            \
    PLAIN_HOOK(volatile_read, false, n) PLAIN_HOOK(volatile_write, true, n)
PLAIN_HOOKS(1) PLAIN_HOOKS(2) PLAIN_HOOKS(4) PLAIN_HOOKS(8) PLAIN_HOOKS(16)
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
extern "C" {
H2D_HIDDEN void __asan_loadN_noabort(uintptr_t a, size_t n) { look(a, n, false, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __asan_storeN_noabort(uintptr_t a, size_t n) { look(a, n, true, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __tsan_read_range(uintptr_t a, size_t n) { look(a, n, false, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __tsan_write_range(uintptr_t a, size_t n) { look(a, n, true, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __tsan_init() {}
H2D_HIDDEN void __tsan_func_entry(void *) {}
H2D_HIDDEN void __tsan_func_exit() {}
H2D_HIDDEN void __tsan_vptr_update(void **, void *) {}
H2D_HIDDEN void __tsan_vptr_read(void **) {}
H2D_HIDDEN void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
H2D_HIDDEN void __asan_handle_no_return() {}
H2D_HIDDEN void __asan_unregister_globals(Registered *, size_t) {}
H2D_HIDDEN void __asan_before_dynamic_init(const char *) {}
H2D_HIDDEN void __asan_after_dynamic_init() {}
H2D_HIDDEN void *__asan_memcpy(void *to, const void *from, size_t n) {
    look((uintptr_t)from, n, false, 0, __builtin_return_address(0));
    look((uintptr_t)to, n, true, 0, __builtin_return_address(0));
    return memcpy(to, from, n);
}
H2D_HIDDEN void *__asan_memmove(void *to, const void *from, size_t n) {
    look((uintptr_t)from, n, false, 0, __builtin_return_address(0));
    look((uintptr_t)to, n, true, 0, __builtin_return_address(0));
    return memmove(to, from, n);
}
H2D_HIDDEN void *__asan_memset(void *to, int value, size_t n) {
    look((uintptr_t)to, n, true, 0, __builtin_return_address(0));
    return memset(to, value, n);
}
// A variable's name without the function that clang puts before it.
static const char *own_name(const char *name) {
    const char *found = name;
    for (const char *at = name; (at = strstr(at, "::")); found = at += 2) {
    }
    return found;
}
H2D_HIDDEN void __asan_register_globals(Registered *found, size_t count) {
    variables = (Variable *)realloc(variables, (variable_count + count) * sizeof(Variable));
    for (size_t i = 0; i < count; i++) {
        const Registered::Place *place = found[i].place;
        variables[variable_count++] = {found[i].start, found[i].size, found[i].size_with_gap, own_name(found[i].name),
                                       !place ? 0 : strcmp(place->file, "kernel.cu") ? -1 : place->line, false};
    }
}
}

// ---------------------------------------------------------------- what kernels call

namespace h2d {

Bits meet(Operation operation, Bits mask, Bits value, int source, int line) {
    Thread &t = threads[current];
    if (operation >= SYNC_WARP && operation != ACTIVE && !(mask >> lane() & 1)) {
        snprintf(fault.text, sizeof fault.text, "lane %u is not in the mask %#llx that it gives", lane(), mask);
        fault.kind = WARP, fault.line = line;
        give_up();
    }
    if (attention == STOP) {
        fault.kind = STOPPED, fault.line = line;
        give_up();
    }
    t.operation = operation, t.mask = operation >= SYNC_WARP ? mask & full_mask() : 0;
    t.value = value, t.source = source, t.line = line;
    park(operation < SYNC_WARP ? AT_BLOCK : AT_WARP);
    return t.result;
}

bool touch(const volatile void *address, size_t size, bool write, int line) {
    uintptr_t a = (uintptr_t)address;
    if (!inside(a, size, sizes)) look(a, size, write, line, __builtin_return_address(0));
    return !alone && a - arena < real_sizes.arena;
}

void relax() {
    static unsigned count;
    if (attention == STOP) {
        fault.kind = STOPPED;
        give_up();
    }
    if (++count % 64 == 0) park(READY);
}

void fail(const char *kind, const char *text, int line) {
    snprintf(fault.text, sizeof fault.text, "%s\t%s", kind, text);
    fault.kind = OTHER, fault.line = line;
    give_up();
}

static char output[MOST_OUTPUT];
static size_t output_size;

int print(const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (output_size < MOST_OUTPUT) {
        int n = vsnprintf(output + output_size, MOST_OUTPUT - output_size, format, list);
        if (n > 0) output_size += n;
        if (output_size > MOST_OUTPUT) output_size = MOST_OUTPUT;
    }
    va_end(list);
    int count = 0;  // CUDA's returns the number of arguments
    for (const char *c = format; *c; c++)
        if (*c == '%' && *++c != '%') count++;
    return count;
}

struct Piece { size_t size; bool used; };  // lies before the memory of kernels' malloc

void *take(size_t size) {
    size = (size + 15) & ~(size_t)15;
    for (char *at = heap; at < heap + HEAP;) {
        Piece *p = (Piece *)at;
        for (Piece *after; !p->used && (char *)(after = (Piece *)(at + 16 + p->size)) < heap + HEAP && !after->used;)
            p->size += 16 + after->size;
        if (!p->used && p->size >= size) {
            if (p->size >= size + 32) {
                *(Piece *)(at + 16 + size) = {p->size - size - 16, false};
                p->size = size;
            }
            p->used = true;
            return at + 16;
        }
        at += 16 + p->size;
    }
    return nullptr;  // as CUDA's, when its heap of 8 MiB is full
}

void give(void *memory) {
    if (memory) ((Piece *)((char *)memory - 16))->used = false;
}

long long ticks() { return (long long)(now() * 1e9); }
unsigned lane() { return current % h2d_warp; }

}  // namespace h2d

// ---------------------------------------------------------------- signals

namespace {

uint64_t pc_of(void *context) {  // one is added by those who ask: lines are looked up for return addresses
    ucontext_t *c = (ucontext_t *)context;
#if defined(__linux__) && defined(__x86_64__)
    return c->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
    return c->uc_mcontext.pc;
#elif defined(__APPLE__) && defined(__x86_64__)
    return c->uc_mcontext->__ss.__rip;
#elif defined(__APPLE__) && defined(__aarch64__)
    return c->uc_mcontext->__ss.__pc;
#else
    return (void)c, 0;
#endif
}

const double TICK = 0.02;

void on_tick(int, siginfo_t *, void *context) {
    if (!running || broken) return;
    if (attention == STOP) {  // no access since the last tick: a loop without any
        fault.kind = STOPPED, fault.pc = pc_of(context) + 1;
        broken = true;
        if (in_kernel) give_up();
        return;
    }
    attention = now() > ends ? STOP : YIELD;
    sizes = Ranges();
}

void on_crash(int signal, siginfo_t *info, void *context) {
    if (!in_kernel || broken) {
        ::signal(signal, SIG_DFL);
        raise(signal);
        return;
    }
    uintptr_t a = (uintptr_t)info->si_addr;
    fault.pc = pc_of(context) + 1, fault.address = a;
    fault.kind = signal == SIGFPE ? DIVISION : CRASH;
    if (a - (uintptr_t)stacks < MOST_THREADS * (uint64_t)(STACK + GUARD) && (a - (uintptr_t)stacks) % (STACK + GUARD) < GUARD)
        fault.kind = STACK_OVERFLOW;
    snprintf(fault.text, sizeof fault.text, "%s", signal == SIGILL ? "illegal instruction" : "");
    give_up();
}

bool set_up(void **memory) {
    static bool ready;
    if (ready) return true;
    const size_t each = STACK + GUARD;
    if (!memory[0]) {
        const int how = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE;
        void *all = mmap(nullptr, MOST_THREADS * each + HEAP, PROT_READ | PROT_WRITE, how, -1, 0);
        if (all == MAP_FAILED) return false;
        memory[0] = all, memory[1] = (char *)all + MOST_THREADS * each;
        for (unsigned i = 0; i < MOST_THREADS; i++) mprotect((char *)all + i * each, GUARD, PROT_NONE);
        *(Piece *)memory[1] = {HEAP - 16, false};
    }
    stacks = (char *)memory[0], heap = (char *)memory[1];
    real_sizes.stacks = MOST_THREADS * each;
    fill_in_variables();
    return ready = true;
}

void take_signals() {  // each module has its own runtime, so these are set at every launch
    static char own_stack[64 << 10];
    stack_t stack = {};
    stack.ss_sp = own_stack, stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    action.sa_sigaction = on_crash;
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (int signal : signals) sigaction(signal, &action, nullptr);
    action.sa_flags |= SA_RESTART;
    action.sa_sigaction = on_tick;
    sigaction(SIGALRM, &action, nullptr);
}

void set_timer(double seconds) {
    itimerval timer = {};
    timer.it_value.tv_usec = timer.it_interval.tv_usec = (int)(seconds * 1e6);
    setitimer(ITIMER_REAL, &timer, nullptr);
}

void shuffle(unsigned *list, unsigned count) {
    for (unsigned i = count; i > 1; i--) {
        unsigned j = random_number() % i, t = list[i - 1];
        list[i - 1] = list[j], list[j] = t;
    }
}

void lay_out(const Request &r) {
    uint64_t bx = r.block[0], by = r.block[1];
    thread_count = (unsigned)(bx * by * r.block[2]);
    warp_count = (thread_count + h2d_warp - 1) / h2d_warp;
    unsigned warps[MOST_THREADS];
    for (unsigned w = 0; w < warp_count; w++) warps[w] = w;
    if (shaking) shuffle(warps, warp_count);
    unsigned at = 0;
    for (unsigned w = 0; w < warp_count; w++) {
        warp_start[w] = at;
        for (unsigned t = warps[w] * h2d_warp; t < thread_count && t < (warps[w] + 1) * h2d_warp; t++) order[at++] = t;
        if (shaking) shuffle(order + warp_start[w], at - warp_start[w]);
    }
    warp_start[warp_count] = at;
    for (unsigned t = 0; t < thread_count; t++)
        places[t] = {(unsigned)(t % bx), (unsigned)(t / bx % by), (unsigned)(t / (bx * by))};
}

uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

}  // namespace

// ---------------------------------------------------------------- the doors

// Runs a kernel. All modules of a process use the same stacks and the same heap: the first makes them.
EXPORT int h2d_run(const Request *request, void **pointers, Fault *found, void **memory) {
    const Request &r = *request;
    if (!set_up(memory)) return -1;
    take_signals();
    memset(&fault, 0, sizeof fault);
    arena = r.arena, valid = (const uint16_t *)r.table;
    real_sizes.arena = r.arena_size, real_sizes.dynamic = r.shared;
    alone = r.alone, shaking = r.seeded;
    noise = (r.seed + 1) * 0x9E3779B97F4A7C15ull | 1;
    for (int i = 0; i < 8; i++) random_number();
    kernel = h2d_kernels + r.kernel, arguments = pointers;
    h2d_block_dim = dim3(r.block[0], r.block[1], r.block[2]);
    h2d_grid_dim = dim3(r.grid[0], r.grid[1], r.grid[2]);
    lay_out(r);
    idle_count = 0;
    for (unsigned i = MOST_THREADS; i-- > 0;) fibers[i].fresh = true, idle[idle_count++] = &fibers[i];
    waits = broken = false, attention = CALM;
    sizes = shaking ? Ranges() : real_sizes;
    ends = now() + r.seconds;

    uint64_t total = r.grid[0] * r.grid[1] * r.grid[2], factor = 1, at = 0;
    if (shaking) {  // a walk over all blocks in steps that share no divisor with their number
        do factor = random_number() % total + 1;
        while (common_divisor(factor, total) != 1);
        at = random_number() % total;
    }
    volatile uint64_t *control = (volatile uint64_t *)r.control;
    running = true;
    in_kernel = h2d_busy = false;
    set_timer(TICK);
    while (!broken) {
        uint64_t from = __atomic_fetch_add(control, r.chunk, __ATOMIC_RELAXED);
        if (from >= total) break;
        uint64_t to = from + r.chunk < total ? from + r.chunk : total;
        for (uint64_t i = from; i < to && !broken && !control[1]; i++) {
            uint64_t b = shaking ? at = (at + factor) % total : i;
            h2d_block = {(unsigned)(b % r.grid[0]), (unsigned)(b / r.grid[0] % r.grid[1]),
                         (unsigned)(b / (r.grid[0] * r.grid[1]))};
            run_block(r.shared);
        }
        if (control[1]) break;
    }
    set_timer(0);
    running = false;
    if (!broken) return 0;
    control[1] = 1;
    if (fault.pc) {
        Dl_info info;
        if (dladdr((void *)fault.pc, &info)) fault.pc -= (uint64_t)info.dli_fbase;
    }
    *found = fault;
    return (int)fault.kind;
}

// What kernels have printed since the last call.
EXPORT const char *h2d_output(size_t *size) {
    *size = output_size;
    output_size = 0;
    return output;
}

// A text with a line for each kernel, parameter, global and variable.
EXPORT char *h2d_describe() {
    fill_in_variables();
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    Dl_info info;
    uint64_t base = dladdr((void *)&run_block, &info) ? (uint64_t)info.dli_fbase : 0;
    for (int i = 0; i < h2d_kernel_count; i++) {
        fprintf(file, "kernel\t%s\t%zu\n", h2d_kernels[i].name, (size_t)((uint64_t)h2d_kernels[i].start - base));
        for (int j = 0; j < h2d_kernels[i].count; j++) {
            const Parameter &p = h2d_kernels[i].parameters[j];
            fprintf(file, "parameter\t%u\t%d\t%s\n", p.size, p.pointer, p.type);
        }
    }
    for (int i = 0; i < h2d_global_count; i++) {
        const Global &g = h2d_globals[i];
        fprintf(file, "global\t%s\t%zu\t%d\t", g.name, g.size, g.constant);
        const unsigned char *bytes = (const unsigned char *)g.address;
        bool zero = true;
        for (size_t j = 0; j < g.size && zero; j++) zero = !bytes[j];
        for (size_t j = 0; j < g.size && !zero; j++) fprintf(file, "%02x", bytes[j]);
        fputc('\n', file);
    }
    for (int i = 0; i < variable_count; i++)
        if (variables[i].shared)
            fprintf(file, "shared\t%s\t%d\t%zu\t%zu\n", variables[i].name, variables[i].line,
                    (size_t)variables[i].size, (size_t)(variables[i].start - base));
    fclose(file);
    return text;
}

EXPORT void *h2d_address(int global) { return h2d_globals[global].address; }
