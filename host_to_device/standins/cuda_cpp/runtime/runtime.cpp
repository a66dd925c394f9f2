// Runs kernels on a CPU: the threads of a block one after another, on the same stack as long as no thread waits. A
// thread that waits keeps its stack, and the next thread uses another. So a kernel without barriers is a plain loop
// over its threads, and a kernel with barriers needs one stack for each waiting thread.
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

#include "races.h"

const unsigned MOST_THREADS = 1024, STACK = 128 << 10, GUARD = 16 << 10, HEAP = 8 << 20, MOST_OUTPUT = 1 << 20;
const unsigned MOST_SHARED = 227 << 10;

extern "C" {
alignas(256) H2D_HIDDEN char h2d_dynamic[MOST_SHARED];  // the memory of extern __shared__ arrays
}

namespace h2d {
bool h2d_busy, h2d_cooperative;
}

namespace {

// ---------------------------------------------------------------- messages from and to the Python process

struct Request {
    uint64_t arena, arena_size, table;
    uint64_t control;  // address of two numbers that all processes share: the next block, and whether to stop
    uint64_t kernel, shared, seed, seeded, alone, chunk, watch, fill, strict, cooperative;
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

// ---------------------------------------------------------------- memory that a kernel may access

// Every access is compared with these ranges first. Sizes of zero send all accesses to the slow path.
struct Ranges { uint64_t arena, image, dynamic, stacks; } sizes, real_sizes;
uint64_t arena, image;
char *stacks;
const uint16_t *valid;             // for each 256 bytes of the arena: how many belong to an array
const unsigned char *image_valid;  // for each 8 bytes of variables: 0 all valid, 1 to 7 that many, 255 none
char *heap;

enum { CALM, YIELD, STOP };
volatile sig_atomic_t attention;
double ends, began;
bool shaking;  // a seed is given: threads switch at random accesses
bool alone;    // no other process runs this kernel
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

// For a check: what the timer has seen of the launch's progress. Samples are the addresses in use at its ticks.
const unsigned MOST_SAMPLED = 8;
const double QUIET = 2;  // seconds of the processor's time
uintptr_t samples[MOST_SAMPLED];
uint32_t contents[MOST_SAMPLED];  // what was there
volatile unsigned sampled;
uint64_t progress;
double quiet_since, last_progress;
volatile uint64_t *control;

uint64_t random_number() {  // xorshift64*
    noise ^= noise >> 12, noise ^= noise << 25, noise ^= noise >> 27;
    return noise * 0x2545F4914F6CDD1Dull >> 16;
}

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

}  // namespace

#include "stacks.h"
#include "conversions.h"
#include "threads.h"
#include "grids.h"
#include "accesses.h"
#include "calls.h"
#include "signals.h"

// ---------------------------------------------------------------- functions that runner.py calls

// Runs a kernel. All modules of a process use the same stacks and the same heap, which the first module creates.
EXPORT int h2d_run(const Request *request, void **pointers, Fault *found, void **memory) {
    const Request &r = *request;
    if (!set_up(memory)) return -1;
    take_signals();
    memset(&fault, 0, sizeof fault);
    arena = r.arena, valid = (const uint16_t *)r.table;
    real_sizes.arena = r.arena_size, real_sizes.dynamic = r.shared;
    alone = r.alone, shaking = r.seeded;
    Dl_info own;
    base = dladdr((void *)&run_block, &own) ? (uint64_t)own.dli_fbase : 0;
    races::begin(r.watch, r.watch == 2);
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
    began = last_progress = now(), ends = began + r.seconds;
    control = (volatile uint64_t *)r.control;
    strict = r.strict, fill = r.fill, lacking_count = 0, noted_unfit_count = 0;
    ended = progress = 0, sampled = 0, quiet_since = processor_time();

    uint64_t total = r.grid[0] * r.grid[1] * r.grid[2], factor = 1, at = 0;
    if (shaking) {  // a walk over all blocks in steps that share no divisor with their number
        do factor = random_number() % total + 1;
        while (common_divisor(factor, total) != 1);
        at = random_number() % total;
    }
    running = true;
    in_kernel = h2d_busy = false;
    h2d_cooperative = r.cooperative;
    set_timer(TICK);
    if (r.cooperative) {
        control[0] = total;
        run_together(r.grid[0], r.grid[1], (unsigned)total, r.shared, r.fill);
    }
    while (!broken) {
        uint64_t from = __atomic_fetch_add(control, r.chunk, __ATOMIC_RELAXED);
        if (from >= total) break;
        uint64_t to = from + r.chunk < total ? from + r.chunk : total;
        for (uint64_t i = from; i < to && !broken && !control[1]; i++) {
            uint64_t b = shaking ? at = (at + factor) % total : i;
            h2d_block = {(unsigned)(b % r.grid[0]), (unsigned)(b / r.grid[0] % r.grid[1]),
                         (unsigned)(b / (r.grid[0] * r.grid[1]))};
            if (races::watching) races::begin_block(b);
            run_block(r.shared, r.fill);
        }
        if (control[1]) break;
    }
    set_timer(0);
    running = false;
    if (!broken) return 0;
    control[1] = 1;
    if (fault.pc) fault.pc -= base;
    *found = fault;
    return (int)fault.kind;
}

// The output of kernels since the last call.
EXPORT const char *h2d_output(size_t *size) {
    *size = output_size;
    output_size = 0;
    return output;
}

// Registers a shared variable's address in code for seeded runs, which the compiler does not register itself.
EXPORT void h2d_place(uint64_t offset, uint64_t size, const char *name) {
    Dl_info info;
    if (!dladdr((void *)&run_block, &info)) return;
    variables = (Variable *)realloc(variables, (variable_count + 1) * sizeof(Variable));
    variables[variable_count++] = {(uintptr_t)info.dli_fbase + offset, size, size, strdup(name), -1, true};
}

// How many elements of `each` bytes the last watched launch has left unwritten, and the first of them.
EXPORT uint64_t h2d_unwritten(uint64_t start, uint64_t nbytes, uint64_t each, uint64_t *first) {
    uint64_t count = 0;
    for (uint64_t at = 0; at + each <= nbytes; at += each)
        if (!races::written(start + at) && !count++) *first = at / each;
    return count;
}

// A text with a line for each finding of the last watched launch; its first line says whether all were watched.
EXPORT const char *h2d_races() {
    static char *text;
    static size_t size;
    if (!races::watching && !lacking_count) return "";
    free(text);
    FILE *file = open_memstream(&text, &size);
    fprintf(file, "%d\t%d\n", races::watching && races::partial, races::watching && races::repeated);
    for (unsigned i = 0; i < lacking_count; i++) {
        const Lacking &l = lacking[i];
        fprintf(file, "lacking\t%d\t%d\t%d\t%d\t%d\t%d\t%llu\t%llu\t%u\t%llu\n", l.what, l.line, l.lane, l.other, l.lanes,
                l.line_of_other, l.mask, (unsigned long long)l.block, l.thread, (unsigned long long)l.count);
    }
    for (size_t i = 0; races::watching && i < races::patterns.size; i++) {
        const races::Table<races::Pattern>::Row &row = races::patterns.rows[i];
        if (!row.key) continue;
        const races::Pattern &p = row.value;
        fprintf(file, "pattern\t%u\t%d\t%llu\t%llu\t%llu\t%d\t%llu\t%u\n", p.site, p.kind, (unsigned long long)p.block,
                (unsigned long long)p.hash, (unsigned long long)p.count, p.several, (unsigned long long)p.address, p.size);
    }
    if (!races::watching) return fclose(file), text;
    for (unsigned i = 0; i < noted_unfit_count; i++) {
        const NotedUnfit &u = noted_unfit[i];
        fprintf(file, "unfit\t%d\t%llu\t%d\t%d\t%lld\t%.17g\n", u.line, (unsigned long long)(u.pc - base), u.bits,
                u.is_signed, u.found, u.value);
    }
    for (unsigned i = 0; i < races::found_count; i++) {
        const races::Found &f = races::found[i];
        bool variable = f.variable >= 0, global = f.variable >= variable_count;
        uintptr_t start = !variable ? 0 : global ? (uintptr_t)h2d_globals[f.variable - variable_count].address
                                                 : variables[f.variable].start;
        if (f.variable == -2) start = (uintptr_t)h2d_dynamic;
        const char *name = !variable ? "" : global ? h2d_globals[f.variable - variable_count].name : variables[f.variable].name;
        fprintf(file, "%d\t%d\t%d\t%s\t%llu\t%llu\t%llu\t%d", f.uninitialised, f.space, f.variable == -2, name,
                (unsigned long long)(f.address - start), (unsigned long long)f.size, (unsigned long long)f.count,
                f.beyond_warp);
        const uint64_t both[] = {f.who, f.before};
        const uint32_t sites[] = {f.site, f.other};
        for (int j = 0; j < 2; j++)
            fprintf(file, "\t%u\t%llu\t%u\t%d", sites[j], both[j] ? (unsigned long long)races::block_of(both[j]) : 0ull,
                    races::thread_of(both[j]), races::kind_of(both[j]));
        fputc('\n', file);
    }
    fclose(file);
    return text;
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
