// Checks that every memory access of a kernel lies in an array or a variable; the compiler's hooks call these.
#pragma once

namespace {

// Part of every hook: a call of its own would take longer than what it does.
__attribute__((always_inline)) inline bool inside(uintptr_t a, size_t n, const Ranges &size) {
    uint64_t at = a - arena;
    if (LIKELY(at < size.arena)) return (at & 255) + n <= valid[at >> 8];
    at = a - (uintptr_t)h2d_dynamic;
    if (at < MOST_SHARED) return at + n <= size.dynamic;
    at = a - image;
    if (at < size.image) {
        unsigned char v = image_valid[at >> 3];
        if (LIKELY((at & 7) + n <= 8)) return v == 0 || (v != 255 && (at & 7) + n <= v);
        return v == 0 && image_valid[(at + n - 1) >> 3] != 255;
    }
    return a - (uintptr_t)stacks < size.stacks;
}

using races::READS;
using races::WRITES;
uint64_t base;  // the address at which this module is loaded

// Remembers an address that is in use at a tick of the timer, if it is none of those seen since a thread ended last.
void sample(uintptr_t a) {
    if (!inside(a, 1, real_sizes)) return;
    a &= ~(uintptr_t)3;
    for (unsigned i = 0; i < sampled && i < MOST_SAMPLED; i++)
        if (samples[i] == a) return;
    if (sampled < MOST_SAMPLED) samples[sampled] = a, contents[sampled] = *(volatile uint32_t *)a;
    sampled++;
}

__attribute__((noinline, cold)) void look(uintptr_t a, size_t n, races::Kind kind, int line, void *pc) {
    if (!running || n == 0) return;
    finish_store();
    if (attention == STOP) {
        fault.kind = STOPPED, fault.line = line, fault.pc = (uint64_t)pc;
        fault.write = a - arena < real_sizes.arena ? 1 : 2;  // in global or in shared memory
        give_up();
    }
    if (h2d_busy) return;
    const bool converts = unfit.waits;  // no other thread may run between a value and its conversion
    if (attention == YIELD && !converts) {
        attention = CALM;
        sample(a);
        if (!shaking) sizes = real_sizes;
        park(READY);
    } else if (shaking && !converts && random_number() % 16 == 0) {
        park(READY);
    }
    // Both ends: an access may span two numbers of the table.
    if (inside(a, 1, real_sizes) && inside(a + n - 1, 1, real_sizes)) {
        bool split = false;
        for (size_t i = 256; i < n && !split; i += 256) split = !inside(a + i, 1, real_sizes);
        if (!split) {
            uint32_t site = line ? (uint32_t)line : (uint32_t)((uint64_t)pc - base) | races::IN_CODE;
            if (races::watching) races::access(a, n, kind, site, current, h2d_warp);
            return;
        }
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
    fault.address = a, fault.size = n, fault.write = kind != READS;
    // The variable that the address belongs to, or the last one before it.
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

}  // namespace

int races::variable_at(uintptr_t a, int *space) {
    *space = 0;
    if (a - arena < real_sizes.arena) return -1;
    *space = 1;
    if (a - (uintptr_t)h2d_dynamic < MOST_SHARED) return -2;
    for (int i = 0; i < variable_count; i++)
        if (variables[i].shared && a - variables[i].start < variables[i].size) return i;
    *space = 0;
    for (int i = 0; i < h2d_global_count; i++)
        if (a - (uintptr_t)h2d_globals[i].address < h2d_globals[i].size) return variable_count + i;
    return -3;
}

namespace {

#ifdef __linux__
// Finds the addresses of this module's variables.
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
            if (!v.line) {  // clang gives only a name
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
        if (at == end) continue;  // code for seeded runs has no gaps
        if (at & 7) numbers[at >> 3] = at & 7, at = (at | 7) + 1;
        for (; at < end; at += 8) numbers[at >> 3] = 255;
    }
    image = low, real_sizes.image = high - low, image_valid = numbers;
}

}  // namespace

#define HOOK(name, n)                                                                    \
    extern "C" H2D_HIDDEN void __asan_##name##_noabort(uintptr_t a) {                    \
        if (!LIKELY(inside(a, n, sizes))) look(a, n, #name[0] == 's' ? WRITES : READS, 0, __builtin_return_address(0)); \
    }
#define HOOKS(n) HOOK(load##n, n) HOOK(store##n, n)
// The hooks of code compiled for seeded runs, which reports every read and every write.
#define PLAIN_HOOK(name, kind, n)                                                        \
    extern "C" H2D_HIDDEN void __tsan_##name##n(uintptr_t a) {                           \
        if (!LIKELY(inside(a, n, sizes))) look(a, n, kind, 0, __builtin_return_address(0)); \
    }
#define PLAIN_HOOKS(n)                                                                   \
    PLAIN_HOOK(read, READS, n) PLAIN_HOOK(write, WRITES, n)                                \
    PLAIN_HOOK(unaligned_read, READS, n) PLAIN_HOOK(unaligned_write, WRITES, n)            \
    PLAIN_HOOK(volatile_read, READS, n) PLAIN_HOOK(volatile_write, WRITES, n)
PLAIN_HOOKS(1) PLAIN_HOOKS(2) PLAIN_HOOKS(4) PLAIN_HOOKS(8) PLAIN_HOOKS(16)
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
extern "C" {
H2D_HIDDEN void __asan_loadN_noabort(uintptr_t a, size_t n) { look(a, n, READS, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __asan_storeN_noabort(uintptr_t a, size_t n) { look(a, n, WRITES, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __tsan_read_range(uintptr_t a, size_t n) { look(a, n, READS, 0, __builtin_return_address(0)); }
H2D_HIDDEN void __tsan_write_range(uintptr_t a, size_t n) { look(a, n, WRITES, 0, __builtin_return_address(0)); }
// An index beyond an array whose length its type says: a local array, a row of a table, a member of a struct.
struct Indexed {
    const char *file;
    uint32_t line, column;
    struct Type { uint16_t kind, info; char name[1]; } *array, *index;
};
H2D_HIDDEN void __ubsan_handle_out_of_bounds(Indexed *of, uintptr_t value) {
    if (!running) return;
    finish_store();
    unsigned bits = 1u << (of->index->info >> 1);
    bool negative = (of->index->info & 1) && bits < 128 && (value >> (bits - 1) & 1);
    long long index = negative && bits < 64 ? (long long)(value | ~0ull << bits) : (long long)value;
    fault.kind = BOUNDS, fault.line = strcmp(of->file, "kernel.cu") ? 0 : of->line;
    fault.pc = (uint64_t)__builtin_return_address(0);
    snprintf(fault.text, sizeof fault.text, "%s\t3\t%lld\t%u", of->array->name, index, of->column);
    give_up();
}
H2D_HIDDEN void __ubsan_handle_out_of_bounds_abort(Indexed *of, uintptr_t value) { __ubsan_handle_out_of_bounds(of, value); }
H2D_HIDDEN void __tsan_init() {}
H2D_HIDDEN void __tsan_func_entry(void *) {}
H2D_HIDDEN void __tsan_func_exit() {}
H2D_HIDDEN void __tsan_vptr_update(void **, void *) {}
H2D_HIDDEN void __tsan_vptr_read(void **) {}
H2D_HIDDEN void __asan_handle_no_return() {}
H2D_HIDDEN void __asan_unregister_globals(Registered *, size_t) {}
H2D_HIDDEN void __asan_before_dynamic_init(const char *) {}
H2D_HIDDEN void __asan_after_dynamic_init() {}
H2D_HIDDEN void *__asan_memcpy(void *to, const void *from, size_t n) {
    look((uintptr_t)from, n, READS, 0, __builtin_return_address(0));
    look((uintptr_t)to, n, WRITES, 0, __builtin_return_address(0));
    return memcpy(to, from, n);
}
H2D_HIDDEN void *__asan_memmove(void *to, const void *from, size_t n) {
    look((uintptr_t)from, n, READS, 0, __builtin_return_address(0));
    look((uintptr_t)to, n, WRITES, 0, __builtin_return_address(0));
    return memmove(to, from, n);
}
H2D_HIDDEN void *__asan_memset(void *to, int value, size_t n) {
    look((uintptr_t)to, n, WRITES, 0, __builtin_return_address(0));
    return memset(to, value, n);
}
H2D_HIDDEN void *__tsan_memcpy(void *to, const void *from, size_t n) { return __asan_memcpy(to, from, n); }
H2D_HIDDEN void *__tsan_memmove(void *to, const void *from, size_t n) { return __asan_memmove(to, from, n); }
H2D_HIDDEN void *__tsan_memset(void *to, int value, size_t n) { return __asan_memset(to, value, n); }
// A variable's name without the function's name that clang puts before it.
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
