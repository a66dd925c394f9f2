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
            kernel->run(arguments);
            finish_store();
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

// A store that this thread has announced is done by the thread's next event.
void finish_store() {
    if (races::watching) races::finish(h2d_warp);
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

// All threads that have not ended wait for the block: releases them, or reports why they can never continue.
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
    if (races::watching) races::pass_block(thread_count);
}

const uint64_t MIXED = 0x200, LEFT_OVER = 0x300;  // as in host_to_device/checking/accesses.py

// Fills shared memory before a block: with one byte, with mixed bytes, or with what an earlier block has left.
void fill_with(void *memory, size_t size, uint64_t fill) {
    if (fill < 256) memset(memory, (int)fill, size);
    for (size_t i = 0; fill == MIXED && i < size; i++) ((unsigned char *)memory)[i] = (i * 2654435761u) >> 13;
}

void run_block(uint64_t shared, uint64_t fill) {
    fill_with(h2d_dynamic, shared, fill);
    for (int i = 0; i < variable_count; i++)
        if (variables[i].shared) fill_with((void *)variables[i].start, variables[i].size, fill);
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

}  // namespace
