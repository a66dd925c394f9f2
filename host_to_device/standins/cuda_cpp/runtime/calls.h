// The functions that kernels call; h2d_runtime.h declares them.
#pragma once

namespace h2d {

Bits meet(Operation operation, Bits mask, Bits value, int source, int line) {
    finish_store();
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
    if (operation == SYNC_GRID && !h2d_cooperative) {
        snprintf(fault.text, sizeof fault.text, "no cooperative launch\t%s",
                 "the grid has no barrier: give RawKernel or RawModule enable_cooperative_groups=True");
        fault.kind = OTHER, fault.line = line;
        give_up();
    }
    park(operation < SYNC_WARP ? AT_BLOCK : AT_WARP);
    return t.result;
}

void *caller;

bool touch(const volatile void *address, size_t size, Touch how, int line) {
    uintptr_t a = (uintptr_t)address;
    if (!inside(a, size, sizes)) look(a, size, (races::Kind)how, line, line ? __builtin_return_address(0) : caller);
    return !alone && a - arena < real_sizes.arena;
}

void fence(bool device) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    finish_store();
    if (races::watching) races::fence(current, device);
}

void relax(int line) {
    static unsigned count;
    if (attention == STOP) {
        fault.kind = STOPPED, fault.line = line;
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

struct Piece { size_t size; bool used; };  // header of each piece of memory from a kernel's malloc

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
    return nullptr;  // as in CUDA when its heap of 8 MiB is full
}

void give(void *memory) {
    if (memory) ((Piece *)((char *)memory - 16))->used = false;
}

long long ticks() { return (long long)(now() * 1e9); }
unsigned lane() { return current % h2d_warp; }

}  // namespace h2d
