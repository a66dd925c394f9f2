// Runs the threads of a block: each thread runs until it waits for its warp or its block, and continues when the
// threads that it waits for have arrived.
#pragma once

namespace {

enum State { FRESH, RUNNING, READY, AT_BLOCK, AT_WARP, DONE };
struct Thread { State state; Fiber *fiber; Operation operation; int source, line; Bits mask, value, result; };
Thread threads[MOST_THREADS];
uint3 places[MOST_THREADS];
unsigned order[MOST_THREADS];       // of all threads, warp by warp
unsigned warp_start[MOST_THREADS + 1];  // where each warp starts in that order
unsigned warp_count, thread_count, done, current, next_thread, end_thread;
bool waits;  // some thread of this kernel has waited
bool at_grid;  // all threads of the block wait for the grid
uint64_t ended;  // threads of this launch that have ended
const Kernel *kernel;
void **arguments;

void set_current(unsigned t) {
    current = t;
    h2d_thread = places[t];
}

void finish_store();

void fiber_main() {
    for (;;) {
        while (next_thread < end_thread) {
            set_current(order[next_thread++]);
            threads[current].state = RUNNING;
            unfit.waits = false;  // for a conversion whose result nothing uses
            kernel->run(arguments);
            finish_store();
            threads[current].state = DONE;
            done++, ended++;
        }
        idle[idle_count++] = fiber;
        change(fiber, &home);
    }
}

// The warp that run_warp runs: the place of its running thread in the order of all threads, and the end of its threads.
unsigned warp_at, warp_to;
bool paused;  // one of its threads has let the others run without waiting for them

// Leaves this thread for the next one of its warp that can run, or for the scheduler.
void park(State state) {
    threads[current].state = state;
    threads[current].fiber = fiber;
    paused |= state == READY;
    while (++warp_at < warp_to) {
        Thread &next = threads[order[warp_at]];
        if (next.state != READY) continue;
        set_current(order[warp_at]);
        next.state = RUNNING;
        Fiber *mine = fiber;
        fiber = next.fiber;
        return change(mine, fiber);
    }
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
    next_thread = from, end_thread = to, warp_to = 0;
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

// A store that this thread has announced is done by the thread's next event.
void finish_store() {
    if (races::watching) races::finish(h2d_warp);
}

// ---------------------------------------------------------------- what a check finds about warps

// Lanes that a warp operation lacks, or whose value a shuffle takes although they do not take part: once for each
// operation and line, with the lane that was seen first. `other` is the lane that lacks, `line_of_other` where it waits.
enum Lack { MISSING, VALUE };
struct Lacking { Lack what; Operation operation; int line, lane, other, lanes, line_of_other; Bits mask; uint64_t block, count; unsigned thread; };
const unsigned MOST_LACKING = 64;
Lacking lacking[MOST_LACKING];
unsigned lacking_count;
bool strict;    // a check: lanes take part together only at the same line, and what is missing is noted
uint64_t fill;  // what memory begins with, as in the request

Lacking lacking_of(Lack what, unsigned t, int other, int lanes) {
    Thread &me = threads[t];
    unsigned they = t / h2d_warp * h2d_warp + other;
    int elsewhere = what == MISSING && they < thread_count && threads[they].state != DONE ? threads[they].line : 0;
    uint64_t block = h2d_block.x + (uint64_t)h2d_grid_dim.x * (h2d_block.y + (uint64_t)h2d_grid_dim.y * h2d_block.z);
    return {what, me.operation, me.line, int(t % h2d_warp), other, lanes, elsewhere, me.mask, block, 1, t};
}

void note_lacking(Lack what, unsigned t, int other, int lanes) {
    Thread &me = threads[t];
    for (unsigned i = 0; i < lacking_count; i++)
        if (lacking[i].operation == me.operation && lacking[i].line == me.line) {
            uint64_t count = ++lacking[i].count;
            if (lacking[i].what == what || what == VALUE) return;
            lacking[i] = lacking_of(what, t, other, lanes);
            lacking[i].count = count;
            return;
        }
    if (lacking_count < MOST_LACKING) lacking[lacking_count++] = lacking_of(what, t, other, lanes);
}

// The value that a missing lane seems to bring: anything.
Bits garbage() { return fill == 0x200 ? 0x9E3779B97F4A7C15ull : (fill & 0xFF) * 0x0101010101010101ull; }

int number_of(Bits lanes) {
    int count = 0;
    for (; lanes; lanes &= lanes - 1) count++;
    return count;
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

// Computes the results of an operation for these lanes of a warp.
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
        // Shuffles and votes exchange values and do not order memory.
        if (races::watching && t.operation == SYNC_WARP && !(members & ((1ull << i) - 1)))
            races::pass_warp(first, members, h2d_warp);
    }
    for (int i = 0; i < h2d_warp; i++) {
        if (!(members >> i & 1)) continue;
        Thread &t = lanes[i];
        t.result = together;
        if (t.operation == SHUFFLE) {
            bool there = t.source >= 0 && t.source < h2d_warp && (members >> t.source & 1);
            t.result = there ? lanes[t.source].value : t.value;  // in CUDA the second case is undefined
            if (!there && strict) {
                note_lacking(VALUE, first + i, t.source, 1);
                t.result = garbage();
            }
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

// Releases the lanes whose whole group has arrived. The group of __activemask() is the lanes that have arrived.
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
            bool same = lanes[j].operation == t.operation && lanes[j].mask == t.mask && (!strict || lanes[j].line == t.line);
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
        paused = false, warp_to = to;
        for (warp_at = from; warp_at < to; warp_at++) {
            if (threads[order[warp_at]].state != READY) continue;
            resume(order[warp_at]);
            if (broken) return false;
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

// Notes for a check which lanes each waiting group lacks, and lets the groups continue without them.
void release_incomplete() {
    for (unsigned first = 0; first < thread_count; first += h2d_warp) {
        unsigned count = thread_count - first < (unsigned)h2d_warp ? thread_count - first : h2d_warp;
        Bits alive = 0;
        for (unsigned i = 0; i < count; i++)
            if (threads[first + i].state != DONE) alive |= 1ull << i;
        for (unsigned i = 0; i < count; i++) {
            Thread &t = threads[first + i];
            if (t.state != AT_WARP || t.operation == ACTIVE) continue;
            Bits members = 0;
            for (unsigned j = i; j < count; j++) {
                Thread &they = threads[first + j];
                if (they.state == AT_WARP && they.operation == t.operation && they.line == t.line && they.mask == t.mask)
                    members |= 1ull << j;
            }
            Bits missing = t.mask & alive & ~members;
            if (missing) note_lacking(MISSING, first + i, __builtin_ctzll(missing), number_of(missing));
            exchange(first, members);
        }
    }
}

// All threads that have not ended wait for the block: releases them, or reports why they can never continue.
void release_block() {
    for (unsigned t = 0; t < thread_count && strict; t++)
        if (threads[t].state == AT_WARP) return release_incomplete();
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
    if (operation == SYNC_GRID) {
        at_grid = true;
        return;
    }
    Bits result = operation == COUNT_BLOCK ? sum : operation == AND_BLOCK ? sum == thread_count : sum != 0;
    for (unsigned t = 0; t < thread_count; t++) threads[t].result = result, threads[t].state = READY;
    if (races::watching) races::pass_block(thread_count);
}

const uint64_t MIXED = 0x200, LEFT_OVER = 0x300;  // as in host_to_device/checking/accesses.py

// Fills shared memory before a block: with one byte, with mixed bytes, or with what an earlier block has left.
void fill_with(void *memory, size_t size, uint64_t fill) {
    if (fill < 256) memset(memory, (int)fill, size);
    for (size_t i = 0; fill == MIXED && i < size; i++) ((unsigned char *)memory)[i] = (i * 2654435761u) >> 13;
}

// Goes on until all threads of the block have ended, or wait for the grid.
void continue_block(bool by_warps) {
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
        if (broken || at_grid) return;
    }
}

void run_block(uint64_t shared, uint64_t fill) {
    fill_with(h2d_dynamic, shared, fill);
    for (int i = 0; i < variable_count; i++)
        if (variables[i].shared) fill_with((void *)variables[i].start, variables[i].size, fill);
    done = 0;
    at_grid = false;
    bool by_warps = waits || shaking;
    if (!by_warps) {
        start(0, thread_count);
        if (done == thread_count || broken) return;
        waits = true;
    } else {
        for (unsigned t = 0; t < thread_count; t++) threads[t].state = FRESH;
    }
    continue_block(by_warps);
}

}  // namespace
