// Finds accesses of a watched launch that nothing orders. The rule is that of host_to_device/checking/accesses.py: a
// barrier orders the threads of a block, __syncwarp orders the threads of its mask, and a fence followed by an atomic
// orders the thread before every thread whose atomic reaches the same address later. All threads take turns in one
// process, so one clock that ticks at each of these events gives each access a time: that of the last tick before it.
#pragma once

namespace races {

const unsigned THREADS = 1024, MOST_FOUND = 64;
const uint32_t IN_CODE = 1u << 31;
const size_t MOST_MEMORY = 640u << 20;  // for cells; beyond it, accesses of memory without cells are not watched

enum Kind { READS, WRITES, CHANGES };  // CHANGES: an atomic

// who: the block's number plus one, the thread's number and the kind; site: a line, or an address in the code.
struct Access { uint64_t who; uint32_t time, site; };
struct Cell { uint32_t generation; bool written; Access write, read, other_thread, other_block, atomic; };

uint64_t who(uint64_t block, unsigned thread, Kind kind) { return (block + 1) << 12 | thread << 2 | kind; }
uint64_t block_of(uint64_t who) { return (who >> 12) - 1; }
unsigned thread_of(uint64_t who) { return who >> 2 & 1023; }
Kind kind_of(uint64_t who) { return (Kind)(who & 3); }

// ---------------------------------------------------------------- hash tables with numbers as keys

template <class V> struct Table {
    struct Row { uint64_t key; V value; };  // a key is never 0
    Row *rows;
    size_t size, used;
    static size_t start(uint64_t key) { return key * 0x9E3779B97F4A7C15ull >> 20; }
    V *find(uint64_t key) const {
        if (!used) return nullptr;
        for (size_t at = start(key);; at++) {
            Row &row = rows[at & (size - 1)];
            if (row.key == key) return &row.value;
            if (!row.key) return nullptr;
        }
    }
    V *put(uint64_t key) {  // the row's value, all zeros in a new row; nullptr if memory is short
        if (used * 2 >= size) {
            Table grown = {};
            grown.size = size ? size * 2 : 16;
            grown.rows = (Row *)calloc(grown.size, sizeof(Row));
            if (!grown.rows) return nullptr;
            for (size_t i = 0; i < size; i++)
                if (rows[i].key) *grown.put(rows[i].key) = rows[i].value;
            free(rows);
            *this = grown;
        }
        for (size_t at = start(key);; at++) {
            Row &row = rows[at & (size - 1)];
            if (row.key == key) return &row.value;
            if (row.key) continue;
            row.key = key, used++;
            return &row.value;
        }
    }
    void clear() {
        if (used) memset(rows, 0, size * sizeof(Row));
        used = 0;
    }
    void release() {
        free(rows);
        rows = nullptr, size = used = 0;
    }
};

// ---------------------------------------------------------------- the order between threads

// The time up to which the accesses of a thread (of a whole block for thread 1023 + 1) are ordered before a later
// access: before one of any thread, and before one of a thread in the same block.
struct Until { uint32_t device, block; };
typedef Table<Until> Known;
uint64_t about(uint64_t block, unsigned thread) { return (block + 1) << 11 | thread; }
const unsigned WHOLE = 1024;

void learn(Known &known, uint64_t key, Until until) {
    Until *mine = known.put(key);
    if (!mine) return;
    if (mine->device < until.device) mine->device = until.device;
    if (mine->block < until.block) mine->block = until.block;
}
void learn(Known &known, const Known &from) {
    for (size_t i = 0; from.used && i < from.size; i++)
        if (from.rows[i].key) learn(known, from.rows[i].key, from.rows[i].value);
}

// ---------------------------------------------------------------- the state of a launch

struct Found {
    uint64_t who, before, address, size, count;
    uint32_t site, other;
    int space, variable;  // 0 global, 1 shared; which variable, -1 for an array, -2 for dynamic shared memory
    bool uninitialised, beyond_warp;
};
struct Page { Cell *cells; bool by_bytes; };  // of 1 KiB: a cell a word, or once parts of words are used, a byte

bool watching, partial, any_fence;
bool repeated;   // some store found the value that the same thread of another block has stored at the same line
bool patterned;  // the accesses of each block at each line are summed up as well
uint32_t clock_, barrier;  // the time, and that of this block's last barrier
uint32_t grid_barrier;      // the time of the grid's last barrier, 0 before the first
uint64_t aside;            // of a cooperative launch: what tells the shared memory of this block from that of others
uint32_t generation;       // of shared memory: one a block
uint64_t block;
uint32_t lanes[THREADS][64];  // for each thread: the time up to which each lane of its warp is ordered before it
struct Fences { uint32_t device, block, barrier; } fences[THREADS];  // the last of each thread; and of the last
                                                                     // for the device, the barrier before it
Known block_known, thread_known[THREADS];
Table<Known> told;  // the order that atomics at an address have published
Table<Page> pages;
size_t memory;
// What a block does in global memory at one line: sums over its accesses that do not depend on their order.
struct Pattern { uint64_t block, hash, count, address; uint32_t site, size; Kind kind; bool several; };
Table<Pattern> patterns;
Found found[MOST_FOUND];
unsigned found_count;
struct { uintptr_t address; size_t size; uint32_t site; unsigned thread; char old[16]; } pending;  // a store to come

// The memory that an address lies in: the variable as in Found, or -3 if it is not watched.
int variable_at(uintptr_t address, int *space);

void begin(bool watch, bool sum_up) {
    watching = watch, patterned = sum_up, partial = any_fence = repeated = false;
    patterns.release();
    clock_ = 1, barrier = generation = found_count = grid_barrier = 0, aside = 0;
    pending.size = 0;
    for (size_t i = 0; i < told.size; i++)
        if (told.rows[i].key) told.rows[i].value.release();
    told.release();
    for (size_t i = 0; i < pages.size; i++) free(pages.rows[i].value.cells);
    pages.release();
    memory = 0;
}

void begin_block(uint64_t number) {
    block = number, generation++, barrier = ++clock_;
    if (h2d_cooperative) generation = (uint32_t)number + 1, aside = (number + 1) << 44;
    memset(lanes, 0, sizeof lanes);
    if (!any_fence) return;
    memset(fences, 0, sizeof fences);
    block_known.clear();
    for (Known &each : thread_known) each.clear();
}

bool ordered(const Access &before, unsigned thread, unsigned warp) {
    uint64_t other = block_of(before.who);
    unsigned of = thread_of(before.who);
    if (before.time < grid_barrier) return true;
    if (other == block) {
        if (of == thread || before.time < barrier) return true;
        if (of / warp == thread / warp && before.time < lanes[thread][of % warp]) return true;
    }
    if (!any_fence) return false;
    const Known *mine[] = {&thread_known[thread], &block_known};
    for (const Known *known : mine) {
        Until *whole = known->find(about(other, WHOLE));
        if (whole && before.time < whole->device) return true;
        Until *one = known->find(about(other, of));
        if (one && (before.time < one->device || (other == block && before.time < one->block))) return true;
    }
    return false;
}

void note(bool uninitialised, uintptr_t address, size_t size, const Access &now, const Access *before, unsigned warp) {
    int space, variable = variable_at(address, &space);
    uint32_t other = before ? before->site : 0;
    bool beyond = before && (block_of(before->who) != block || thread_of(before->who) / warp != thread_of(now.who) / warp);
    for (unsigned i = 0; i < found_count; i++) {
        Found &f = found[i];
        bool same = (f.site == now.site && f.other == other) || (before && f.site == other && f.other == now.site);
        if (!same || f.uninitialised != uninitialised || f.variable != variable) continue;
        f.count++, f.beyond_warp |= beyond;
        return;
    }
    if (found_count == MOST_FOUND) return;
    found[found_count++] = {now.who, before ? before->who : 0, address, size, 1, now.site, other, space, variable,
                            uninitialised, beyond};
}

void touch(Cell &c, uintptr_t address, size_t size, const Access &now, bool same, uint32_t of, unsigned warp) {
    if (c.generation != of) c = Cell(), c.generation = of;
    Kind kind = kind_of(now.who);
    unsigned thread = thread_of(now.who);
    if (of && kind != WRITES && !c.written) note(true, address, size, now, nullptr, warp), c.written = true;
    auto conflict = [&](const Access &before) {
        if (!before.who || ordered(before, thread, warp)) return false;
        note(false, address, size, now, &before, warp);
        return true;
    };
    if (kind == READS) {
        if (c.read.who == now.who && c.read.time == now.time && c.read.site == now.site) return;
        conflict(c.write) || conflict(c.atomic);
        if (c.read.who) {
            if (c.read.who != now.who) c.other_thread = c.read;
            if (block_of(c.read.who) != block) c.other_block = c.read;
        }
        c.read = now;
        return;
    }
    if (kind == CHANGES) {
        conflict(c.write) || conflict(c.read) || conflict(c.other_thread) || conflict(c.other_block);
        c.atomic = now;
    } else {
        if (!same)
            conflict(c.write) || conflict(c.read) || conflict(c.other_thread) || conflict(c.other_block) ||
                conflict(c.atomic);
        else if (c.write.who && (c.write.who & 0xFFF) == (now.who & 0xFFF) && c.write.who != now.who && c.write.site == now.site)
            repeated = true;
        c.write = now;
    }
    c.written = true;
}

bool split(Page &page) {
    Cell *cells = (Cell *)calloc(1024, sizeof(Cell));
    if (!cells) return false;
    for (unsigned i = 0; i < 1024; i++) cells[i] = page.cells[i / 4];
    free(page.cells);
    page.cells = cells, page.by_bytes = true, memory += 768 * sizeof(Cell);
    return true;
}

// Examines one access. `same`: a store that changes nothing.
void record(uintptr_t address, size_t size, Kind kind, uint32_t site, unsigned thread, bool same, unsigned warp) {
    int space;
    if (variable_at(address, &space) == -3) return;
    Access now = {who(block, thread, kind), clock_, site};
    if (patterned && !space) {
        Pattern *p = patterns.put((((uint64_t)site << 2 | kind) * 0x9E3779B97F4A7C15ull ^ (block + 1) * 0xC2B2AE3D27D4EB4Full) | 1);
        if (p) {
            if (!p->count) *p = {block, 0, 0, address, site, (uint32_t)size, kind, false};
            p->several |= p->address != address;
            uint64_t mixed = (address ^ (uint64_t)thread << 50) * 0x9E3779B97F4A7C15ull;
            p->hash += (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ull, p->count++;
        }
    }
    uint32_t of = space ? generation : 0;
    const uint64_t whose = space ? aside : 0;
    for (uintptr_t at = address, end = address + size; at < end;) {
        Page *page = pages.find((at >> 10) + whose);
        if (!page) {
            if (memory < MOST_MEMORY && (page = pages.put((at >> 10) + whose))) page->cells = (Cell *)calloc(256, sizeof(Cell));
            if (!page || !page->cells) {
                partial = true;
                return;
            }
            memory += 256 * sizeof(Cell);
        }
        bool whole = at % 4 == 0 && end - at >= 4;
        if (!whole && !page->by_bytes && !split(*page)) {
            partial = true;
            return;
        }
        unsigned within = at & 1023, step = page->by_bytes ? 1 : 4;
        touch(page->cells[page->by_bytes ? within : within / 4], at, size, now, same, of, warp);
        at += step;
    }
    if (kind != CHANGES || !any_fence) return;
    Known *said = told.put(address);
    if (!said) return;
    learn(thread_known[thread], *said);
    learn(*said, block_known);
    learn(*said, thread_known[thread]);
    Fences &f = fences[thread];
    if (f.device || f.block) learn(*said, about(block, thread), {f.device, f.block});
    if (f.device) learn(*said, about(block, WHOLE), {f.barrier, f.barrier});
}

bool written(uintptr_t address) {
    Page *page = pages.find(address >> 10);
    return page && page->cells[page->by_bytes ? address & 1023 : (address & 1023) / 4].written;
}

// Examines an announced store: it is done by now, and memory shows whether it changed anything.
void finish(unsigned warp) {
    if (!pending.size) return;
    size_t size = pending.size;
    pending.size = 0;
    bool same = !memcmp((void *)pending.address, pending.old, size);
    record(pending.address, size, WRITES, pending.site, pending.thread, same, warp);
}

void access(uintptr_t address, size_t size, Kind kind, uint32_t site, unsigned thread, unsigned warp) {
    if (kind != WRITES || size > sizeof pending.old) return record(address, size, kind, site, thread, false, warp);
    pending.address = address, pending.size = size, pending.site = site, pending.thread = thread;
    memcpy(pending.old, (void *)address, size);
}

void fence(unsigned thread, bool device) {
    any_fence = true;
    clock_++;
    fences[thread].block = clock_;
    if (device) fences[thread].device = clock_, fences[thread].barrier = barrier;
}

void pass_warp(unsigned first, uint64_t members, unsigned warp) {
    uint32_t together[64] = {};
    clock_++;
    for (unsigned i = 0; i < warp; i++) {
        if (!(members >> i & 1)) continue;
        for (unsigned j = 0; j < warp; j++)
            if (together[j] < lanes[first + i][j]) together[j] = lanes[first + i][j];
    }
    for (unsigned i = 0; i < warp; i++)
        if (members >> i & 1) together[i] = clock_;
    for (unsigned i = 0; i < warp; i++)
        if (members >> i & 1) memcpy(lanes[first + i], together, sizeof together);
}

void pass_block(unsigned threads) {
    if (any_fence) {
        for (unsigned t = 0; t < threads; t++) {
            learn(block_known, thread_known[t]);
            thread_known[t].clear();
            Fences &f = fences[t];
            if (f.device || f.block) learn(block_known, about(block, t), {f.device, f.block});
            if (f.device) learn(block_known, about(block, WHOLE), {f.barrier, f.barrier});
            f = Fences();
        }
    }
    barrier = ++clock_;
}

// The grid's barrier orders all accesses before it; its blocks begin anew.
void pass_grid() { grid_barrier = ++clock_; }

}  // namespace races
