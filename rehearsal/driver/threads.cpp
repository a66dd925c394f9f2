// One launch: every CUDA thread of every block, one after the other, on stacks of their own where they have to wait.
//
// A worker is a stack on which threads run, each to its end. A thread that has to wait (at a barrier, in a warp
// operation, or because it spins) keeps its worker, and another worker goes on with the threads that have not begun.
// So a kernel without barriers needs one stack, and one with barriers as many as a block has threads.
// Blocks run in order. Another block begins beside a block that only spins, as far as a T4 has room for blocks at once.
#include <sys/mman.h>
#include <cstdio>
#include <cstring>
#include <algorithm>
#include <memory>
#include "driver.hpp"
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace rehearsal {

static const uint64_t STACK = 256 << 10, RESERVE = 16 << 10;
static const int ROUNDS_BEFORE_ANOTHER_BLOCK = 16, SLOTS = 40 * 1024;       // threads that a T4 holds at once

// -- changing stacks -------------------------------------------------------------------------------------------------------
#if defined(__x86_64__)
typedef void* Stack;
extern "C" void rehearsal_switch(Stack* from, Stack to) __attribute__((visibility("hidden")));
asm(".text\n.hidden rehearsal_switch\n.globl rehearsal_switch\n.type rehearsal_switch,@function\nrehearsal_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
static void change(Stack* from, Stack* to) { rehearsal_switch(from, *to); }
static void prepare(Stack* stack, uint8_t* memory, void (*begin)()) {
    void** top = (void**)(memory + STACK - 64);
    *--top = nullptr;                            // `begin` never returns
    *--top = (void*)begin;
    *stack = top - 6;                            // the registers that are popped first
}
#else
typedef ucontext_t Stack;
static void change(Stack* from, Stack* to) { swapcontext(from, to); }
static void prepare(Stack* stack, uint8_t* memory, void (*begin)()) {
    getcontext(stack);
    stack->uc_stack.ss_sp = memory;
    stack->uc_stack.ss_size = STACK;
    stack->uc_link = nullptr;
    makecontext(stack, begin, 0);
}
#endif

struct Block {
    uint32_t index[3];
    std::vector<Thread> threads;
    std::vector<uint8_t> shared;
    uint32_t begun = 0, done = 0;
    std::vector<struct Worker*> waiting;
};
struct Worker {
    Stack stack;
    uint8_t *memory, *local;
    uint64_t local_used;
    Thread* thread;
    Block* block;
};

static Running running;
static Stack scheduler;
static Worker* worker;                           // the one that runs
static std::vector<Worker*> idle;
static const Launch* now;
static const Image* image;
static Result failure;
static std::string reason;
static uint64_t steps_forward;                   // threads that ended, and barriers and warp operations that were completed

// -- what a kernel asks of the driver --------------------------------------------------------------------------------------
static void to_scheduler() { change(&worker->stack, &scheduler); }
static void fault(int code, const char* what) {  // the launch is over: no thread of it goes on
    const Thread& t = *running.thread;
    const uint32_t* b = running.block_index;
    char text[400];
    snprintf(text, sizeof text, "%s, by block (%u, %u, %u), thread (%u, %u, %u)", what, b[0], b[1], b[2], t.index[0], t.index[1], t.index[2]);
    failure = Result(code);
    reason = text;
    if (t.line) reason += ", line " + std::to_string(t.line);
    for (;;) to_scheduler();
}
static void work();
static void end_thread() {                       // from within a call: the stack is used no further
    running.thread->state = State::done;
    worker->block->done++;
    steps_forward++;
    worker->thread = nullptr;
    prepare(&worker->stack, worker->memory, work);
    Stack forgotten;
    change(&forgotten, &scheduler);
}
static uint8_t* place_of(uint64_t address, uint64_t bytes, Window* window) {
    const auto within = [&](uint64_t start, uint64_t size, uint8_t* host) -> uint8_t* {
        if (address < start || bytes > size || address - start > size - bytes) return nullptr;
        *window = {start, size - bytes, uint64_t(host) - start};
        return host + (address - start);
    };
    if (uint8_t* found = within(uint64_t(running.shared), running.shared_bytes, running.shared)) return *window = NOWHERE, found;
    if (uint8_t* found = within(uint64_t(running.local), LOCAL_BYTES, running.local)) return *window = NOWHERE, found;
    if (uint8_t* found = within(uint64_t(running.parameters), now->parameters.size(), running.parameters)) return found;
    const Region* region = region_of(address, bytes);
    return region ? within(region->start, region->bytes, region->host) : nullptr;
}
// Shared and local memory are another block's or thread's the next time, so their windows are not kept.
static Window find(uint64_t address, uint64_t bytes, const char* kind) {
    Window window = NOWHERE;
    uint8_t* host = place_of(address, bytes, &window);
    if (!host) {
        char text[160];
        snprintf(text, sizeof text, "illegal %s of %d byte(s) at 0x%llx", kind, int(bytes), (unsigned long long)address);
        fault(ILLEGAL_ADDRESS, text);
    }
    if (window.first == NOWHERE.first) window.to_host = uint64_t(host) - address;
    return window;
}
static void let_others_run() { to_scheduler(); }
static uint32_t wait_at_barrier(uint32_t barrier, uint32_t threads, Reduction reduction, uint32_t value) {
    Thread& t = *running.thread;
    if (barrier > 15) fault(LAUNCH_FAILED, "a barrier of a number above 15");
    t.state = State::at_barrier;
    t.barrier = barrier;
    t.barrier_threads = threads;
    t.reduction = reduction;
    t.barrier_value = value;
    to_scheduler();
    return t.barrier_result;
}
static uint32_t warp_operation(WarpOperation operation, uint32_t mask, uint64_t a, uint64_t b, uint64_t c, uint32_t place, bool* flag) {
    Thread& t = *running.thread;
    t.state = State::at_warp_operation;
    t.operation = operation;
    t.mask = mask;
    t.place = place;
    t.a = a;
    t.b = b;
    t.c = c;
    to_scheduler();
    if (flag) *flag = t.flag;
    return t.result;
}
static void forget_windows() { std::fill(image->windows, image->windows + image->window_count, NOWHERE); }
static uint64_t allocate_in_kernel(uint64_t bytes) {
    Address64 address = 0;
    return allocate(&address, bytes) ? 0 : address;
}
static void release_in_kernel(uint64_t address) {
    if (address && release(address)) fault(ILLEGAL_ADDRESS, "free() of an address that malloc() did not give");
    forget_windows();
}
static uint8_t* readable(uint64_t address, uint64_t bytes) {
    Window window = NOWHERE;
    uint8_t* host = place_of(address, bytes, &window);
    if (!host) fault(ILLEGAL_ADDRESS, "illegal read by printf");
    return host;
}
static std::string text_at(uint64_t address) {
    std::string text;
    while (const char c = char(*readable(address++, 1))) text += c;
    return text;
}
// The arguments lie one after the other, each at its own alignment.
static int print(uint64_t format, uint64_t arguments) {
    std::string out;
    uint64_t used = 0;
    const auto take = [&](auto value) {
        used = (used + sizeof value - 1) / sizeof value * sizeof value;
        memcpy(&value, readable(arguments + used, sizeof value), sizeof value);
        used += sizeof value;
        return value;
    };
    const std::string words = text_at(format);
    for (size_t i = 0; i < words.size(); i++) {
        if (words[i] != '%') { out += words[i]; continue; }
        size_t end = words.find_first_of("diouxXcsfFeEgGaAp%", i + 1);
        if (end == std::string::npos) end = words.size() - 1;
        const std::string spec = words.substr(i, end - i + 1);
        const char kind = words[end];
        const bool wide = spec.find_first_of("lzjt") != std::string::npos;
        char text[512] = "%";
        if (kind == 's') out += text_at(take(uint64_t()));
        else if (strchr("fFeEgGaA", kind)) snprintf(text, sizeof text, spec.c_str(), take(double()));
        else if (kind == 'p' || wide) snprintf(text, sizeof text, spec.c_str(), take(uint64_t()));
        else if (kind != '%') snprintf(text, sizeof text, spec.c_str(), take(uint32_t()));
        if (kind != 's') out += text;
        i = end;
    }
    fputs(out.c_str(), stdout);
    fflush(stdout);
    return int(out.size());
}
static const Services services = {fault, end_thread, find, wait_at_barrier, warp_operation, let_others_run, allocate_in_kernel, release_in_kernel, print};

// -- threads wait for each other -------------------------------------------------------------------------------------------
static void let_go(Thread& t) {
    t.state = State::ready;
    steps_forward++;
}
static void release_barriers(Block& block) {
    uint32_t waiting[16] = {}, needed[16] = {}, count[16] = {};
    for (const Thread& t : block.threads) {
        if (t.state != State::at_barrier) continue;
        waiting[t.barrier]++;
        needed[t.barrier] = t.barrier_threads;
        count[t.barrier] += t.barrier_value != 0;
    }
    const uint32_t alive = uint32_t(block.threads.size()) - block.done;    // a thread that has returned is not waited for
    for (uint32_t number = 0; number < 16; number++) {
        if (!waiting[number] || waiting[number] < (needed[number] ? std::min(needed[number], alive) : alive)) continue;
        for (Thread& t : block.threads) {
            if (t.state != State::at_barrier || t.barrier != number) continue;
            t.barrier_result = t.reduction == Reduction::count ? count[number] : t.reduction == Reduction::all ? count[number] == waiting[number] : count[number] != 0;
            let_go(t);
        }
    }
}
static void shuffle(Thread& t, Thread* lanes, uint32_t part) {
    const int lane = int(t.lane), by = int(t.b & 31), segment = int(t.c >> 8 & 31), low = lane & segment, high = low | (int(t.c & 31) & ~segment);
    int from = lane;
    switch (t.operation) {
        case WarpOperation::shuffle_up: from = lane - by; t.flag = from >= high; break;
        case WarpOperation::shuffle_down: from = lane + by; t.flag = from <= high; break;
        case WarpOperation::shuffle_xor: from = lane ^ by; t.flag = from <= high; break;
        default: from = low | (by & ~segment); t.flag = from <= high; break;
    }
    if (!t.flag || !(part >> from & 1)) from = lane;            // CUDA leaks no other lane's value: it leaves this open
    t.result = uint32_t(lanes[from].a);
}
static void complete(Thread* lanes, uint32_t size, uint32_t part) {
    uint32_t votes = 0;
    for (uint32_t i = 0; i < size; i++) if (part >> i & 1 && lanes[i].a) votes |= 1u << i;
    for (uint32_t i = 0; i < size; i++) {
        if (!(part >> i & 1)) continue;
        Thread& t = lanes[i];
        uint32_t equal = 0;
        for (uint32_t k = 0; k < size; k++) if (part >> k & 1 && lanes[k].a == t.a) equal |= 1u << k;
        switch (t.operation) {
            case WarpOperation::sync: break;
            case WarpOperation::all: t.flag = votes == part; break;
            case WarpOperation::any: t.flag = votes != 0; break;
            case WarpOperation::uniform: t.flag = votes == part || !votes; break;
            case WarpOperation::ballot: t.result = votes; break;
            case WarpOperation::match_any: t.result = equal; break;
            case WarpOperation::match_all: t.flag = equal == part; t.result = t.flag ? part : 0; break;
            case WarpOperation::active: t.result = part; break;
            default: shuffle(t, lanes, part);
        }
    }
    for (uint32_t i = 0; i < size; i++) if (part >> i & 1) let_go(lanes[i]);
}
static void release_warps(Block& block) {
    const uint32_t n = uint32_t(block.threads.size());
    for (uint32_t first = 0; first < n; first += 32) {
        Thread* lanes = &block.threads[first];
        const uint32_t size = std::min(32u, n - first);
        for (uint32_t i = 0; i < size; i++) {
            const Thread& t = lanes[i];
            if (t.state != State::at_warp_operation) continue;
            const bool active = t.operation == WarpOperation::active;
            uint32_t part = 1u << i;
            bool all_here = true;
            for (uint32_t k = 0; k < size; k++) {
                if (k == i || lanes[k].state == State::done || !(active || t.mask >> k & 1)) continue;
                const bool same = lanes[k].state == State::at_warp_operation && lanes[k].operation == t.operation && (active ? lanes[k].place == t.place : lanes[k].mask == t.mask);
                if (same) part |= 1u << k;
                else if (!active || lanes[k].state == State::ready) all_here = false;
            }
            if (all_here) complete(lanes, size, part);
        }
    }
}

// -- the scheduler -----------------------------------------------------------------------------------------------------------
static void take_next(Block& block) {
    worker->thread = &block.threads[block.begun++];
    running.thread = worker->thread;
    running.local_used = 0;
}
static void work() {
    for (;;) {
        while (worker->block->begun < worker->block->threads.size()) {
            take_next(*worker->block);
            now->kernel->entry->run();
            worker->thread->state = State::done;
            worker->block->done++;
            steps_forward++;
        }
        worker->thread = nullptr;
        to_scheduler();
    }
}
static Worker* a_worker() {
    if (idle.empty()) {
        const auto map = [](uint64_t bytes) { return (uint8_t*)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); };
        Worker* made = new Worker{};
        made->memory = map(STACK);
        made->local = map(LOCAL_BYTES);
        prepare(&made->stack, made->memory, work);
        idle.push_back(made);
    }
    Worker* taken = idle.back();
    idle.pop_back();
    return taken;
}
static void resume(Worker* next, Block& block) {
    worker = next;
    worker->block = &block;
    memcpy(running.block_index, block.index, sizeof block.index);
    running.shared = block.shared.data();
    running.thread = worker->thread;
    running.local = worker->local;
    running.local_used = worker->local_used;
    running.stack_end = worker->memory + RESERVE;
    change(&scheduler, &worker->stack);
    worker->local_used = running.local_used;
}
static void keep_or_return(Worker* which, Block& block) {
    if (which->thread) block.waiting.push_back(which); else idle.push_back(which);
}
static bool run_round(Block& block) {            // whether any thread could run
    bool ran = false;
    std::vector<Worker*> before;
    before.swap(block.waiting);
    for (Worker* each : before) {
        if (!failure && each->thread->state == State::ready) {
            resume(each, block);
            ran = true;
        }
        keep_or_return(each, block);
    }
    while (!failure && block.begun < block.threads.size()) {
        Worker* each = a_worker();
        each->thread = nullptr;
        resume(each, block);
        keep_or_return(each, block);
        ran = true;
    }
    if (failure || block.waiting.empty()) return ran;
    release_warps(block);
    release_barriers(block);
    return ran;
}
static std::unique_ptr<Block> make_block(const Launch& launch, uint64_t number) {
    auto block = std::make_unique<Block>();
    block->index[0] = uint32_t(number % launch.grid[0]);
    block->index[1] = uint32_t(number / launch.grid[0] % launch.grid[1]);
    block->index[2] = uint32_t(number / launch.grid[0] / launch.grid[1]);
    block->threads.resize(launch.block[0] * launch.block[1] * launch.block[2]);
    for (uint32_t i = 0; i < block->threads.size(); i++) {
        Thread& t = block->threads[i];
        t = {};
        t.index[0] = i % launch.block[0];
        t.index[1] = i / launch.block[0] % launch.block[1];
        t.index[2] = i / launch.block[0] / launch.block[1];
        t.number = i;
        t.lane = i % 32;
        t.warp = i / 32;
    }
    block->shared.assign(running.shared_bytes + 16, 0xCB);      // nothing may rely on zeros
    return block;
}
static void run_blocks(const Launch& launch) {
    const uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    const size_t most = std::max(1u, SLOTS / (launch.block[0] * launch.block[1] * launch.block[2]));
    std::vector<std::unique_ptr<Block>> here;
    uint64_t next = 0;
    int idle_rounds = 0;
    while (!failure && (next < blocks || !here.empty())) {
        if (here.empty()) here.push_back(make_block(launch, next++));
        const uint64_t before = steps_forward;
        bool ran = false;
        for (auto& each : here) ran |= run_round(*each);
        here.erase(std::remove_if(here.begin(), here.end(), [](auto& each) { return each->done == each->threads.size(); }), here.end());
        idle_rounds = steps_forward == before ? idle_rounds + 1 : 0;
        const bool stuck = !ran && steps_forward == before;
        if (!stuck && idle_rounds < ROUNDS_BEFORE_ANOTHER_BLOCK) continue;
        if (next < blocks && here.size() < most) {
            here.push_back(make_block(launch, next++));
            idle_rounds = 0;
        } else if (stuck && !here.empty()) {
            failure = LAUNCH_TIMEOUT;
            reason = "every thread waits, at a barrier or in a warp operation that other threads never reach";
        }
    }
    for (auto& each : here) idle.insert(idle.end(), each->waiting.begin(), each->waiting.end());
}

Result run_launch(const Launch& launch, std::string* message) {
    static const uint64_t most_branches = number("REHEARSAL_BRANCHES", 1ull << 33);
    now = &launch;
    image = launch.kernel->module->image;
    *image->running = &running;
    *image->services = &services;
    forget_windows();
    failure = SUCCESS;
    reason.clear();
    running = {};
    running.parameters = const_cast<uint8_t*>(launch.parameters.data());
    running.variables = launch.kernel->module->variables.data();
    running.shared_bytes = launch.kernel->entry->shared_layout_bytes + launch.dynamic_bytes;
    running.dynamic_shared_bytes = launch.dynamic_bytes;
    running.branch_limit = most_branches;
    memcpy(running.block_size, launch.block, sizeof launch.block);
    memcpy(running.grid_size, launch.grid, sizeof launch.grid);
    run_blocks(launch);
    if (failure) for (Worker* each : idle) prepare(&each->stack, each->memory, work);
    *message = reason;
    return failure;
}

}  // namespace rehearsal
