// Cooperative launches: all blocks wait for each other at the grid's barrier. One block runs at a time, until all its
// threads wait there. Then the parts of their stacks that are in use, and shared memory, are put aside for the next block.
#pragma once

namespace {

// A block that waits for the grid.
struct Aside {
    bool waits;
    int line;  // of the barrier
    unsigned done;
    Thread *threads;
    char **used;     // for each thread: what its stack holds, from the stack pointer on
    void **pointers;  // their stack pointers
    char *shared;
};

void *got(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        snprintf(fault.text, sizeof fault.text, "no memory\tfor the blocks of a cooperative launch, which wait for each other");
        fault.kind = OTHER;
        broken = true;
    }
    return memory;
}

// Copies shared memory to a buffer or back, and returns its size.
size_t copy_shared(char *buffer, bool back, uint64_t dynamic) {
    size_t at = 0;
    auto copy = [&](void *memory, size_t size) {
        if (buffer && back) memcpy(memory, buffer + at, size);
        else if (buffer) memcpy(buffer + at, memory, size);
        at += size;
    };
    copy(h2d_dynamic, dynamic);
    for (int i = 0; i < variable_count; i++)
        if (variables[i].shared) copy((void *)variables[i].start, variables[i].size);
    return at;
}

void all_fresh() {
    idle_count = 0;
    for (unsigned i = MOST_THREADS; i-- > 0;) fibers[i].fresh = true, idle[idle_count++] = &fibers[i];
}

void put_aside(Aside &a, uint64_t dynamic) {
#ifdef H2D_UCONTEXT
    snprintf(fault.text, sizeof fault.text, "not in the stand-in\tcooperative launches need an x86-64 or an AArch64 processor");
    fault.kind = OTHER, broken = true;
#else
    a.waits = true, a.done = done;
    a.threads = (Thread *)got(thread_count * sizeof(Thread));
    a.used = (char **)got(thread_count * sizeof(char *));
    a.pointers = (void **)got(thread_count * sizeof(void *));
    a.shared = (char *)got(copy_shared(nullptr, false, dynamic));
    if (broken) return;
    memcpy(a.threads, threads, thread_count * sizeof(Thread));
    copy_shared(a.shared, false, dynamic);
    for (unsigned t = 0; t < thread_count; t++) {
        a.used[t] = nullptr;
        if (threads[t].state != AT_BLOCK) continue;
        Fiber *f = threads[t].fiber;
        size_t size = stack_of(f) + STACK - (char *)f->stack_pointer;
        a.line = threads[t].line;
        a.pointers[t] = f->stack_pointer;
        a.used[t] = (char *)got(size);
        if (broken) return;
        memcpy(a.used[t], f->stack_pointer, size);
    }
#endif
}

void take_up(Aside &a, uint64_t dynamic) {
    all_fresh();
    copy_shared(a.shared, true, dynamic);
    memcpy(threads, a.threads, thread_count * sizeof(Thread));
    done = a.done, at_grid = false;
    for (unsigned t = 0; t < thread_count; t++) {
        if (!a.used[t]) continue;
        Fiber *f = threads[t].fiber;
        f->fresh = false, f->stack_pointer = a.pointers[t];
        memcpy(f->stack_pointer, a.used[t], stack_of(f) + STACK - (char *)f->stack_pointer);
        free(a.used[t]);
        threads[t].state = READY, threads[t].result = 0;
    }
    idle_count = 0;
    for (unsigned i = MOST_THREADS; i-- > 0;)
        if (fibers[i].fresh) idle[idle_count++] = &fibers[i];
    free(a.threads), free(a.used), free(a.pointers), free(a.shared);
    a.waits = false;
}

// Some blocks wait for the grid, and others have ended: those that wait can never continue.
void blame_grid(const Aside *blocks, unsigned total, unsigned waiting, uint64_t width, uint64_t height) {
    unsigned b = 0;
    while (!blocks[b].waits) b++;
    fault.kind = BARRIER, fault.line = blocks[b].line;
    fault.block[0] = b % width, fault.block[1] = b / width % height, fault.block[2] = b / (width * height);
    unsigned t = 0;
    while (!blocks[b].used[t]) t++;
    fault.thread[0] = places[t].x, fault.thread[1] = places[t].y, fault.thread[2] = places[t].z;
    snprintf(fault.text, sizeof fault.text, "%u of %u blocks wait at this barrier of the grid, and the others have left the kernel",
             waiting, total);
    broken = true;
}

// Runs all blocks of a cooperative launch: in turns, each up to the grid's next barrier.
void run_together(uint64_t width, uint64_t height, unsigned total, uint64_t dynamic, uint64_t fill) {
    Aside *blocks = (Aside *)calloc(total, sizeof(Aside));
    unsigned *turns = (unsigned *)got(total * sizeof(unsigned));
    for (unsigned i = 0; i < total && !broken; i++) turns[i] = i;
    for (unsigned waiting = total, round = 0; waiting && !broken; round++) {
        if (shaking)
            for (unsigned i = total; i > 1; i--) {
                unsigned j = random_number() % i, kept = turns[i - 1];
                turns[i - 1] = turns[j], turns[j] = kept;
            }
        waiting = 0;
        for (unsigned i = 0; i < total && !broken; i++) {
            unsigned b = turns[i];
            Aside &a = blocks[b];
            if (round && !a.waits) continue;
            h2d_block = {(unsigned)(b % width), (unsigned)(b / width % height), (unsigned)(b / (width * height))};
            if (races::watching) races::begin_block(b);
            if (!round) {
                all_fresh();
                run_block(dynamic, fill);
            } else {
                take_up(a, dynamic);
                continue_block(false);
            }
            if (!broken && at_grid) put_aside(a, dynamic), waiting++;
        }
        if (broken) break;
        if (waiting) {
            unsigned left = 0;
            for (unsigned b = 0; b < total; b++) left += !blocks[b].waits;
            if (left) blame_grid(blocks, total, waiting, width, height);
            if (races::watching) races::pass_grid();
        }
        ended++;  // the launch got on
    }
    for (unsigned b = 0; blocks && b < total; b++) {
        if (!blocks[b].waits) continue;
        for (unsigned t = 0; t < thread_count; t++) free(blocks[b].used[t]);
        free(blocks[b].threads), free(blocks[b].used), free(blocks[b].pointers), free(blocks[b].shared);
    }
    free(blocks), free(turns);
}

}  // namespace
