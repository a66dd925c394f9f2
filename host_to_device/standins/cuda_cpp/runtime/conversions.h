// Conversions of floats to integers that cannot hold them, as a GPU makes them. C++ leaves them undefined, and an x86
// processor gives the lowest number. PTX's cvt saturates, and NVRTC converts to 8 and 16 bits by way of 32.
//
// -fsanitize=float-cast-overflow calls a hook before such a conversion, with the value and both types. The hook computes
// a GPU's result. Where the processor's differs, it waits for the conversion: conversions.py has put an indirect call
// behind each of these instructions, which does nothing as long as nothing waits. A result that cannot be put in place
// ends the kernel.
#pragma once

namespace {

struct Unfit {
    bool waits;        // for a conversion of this value
    bool plain;        // whether the processor's result is right
    double value;
    unsigned type;     // bits and sign of the integer, as the compiler writes them
    uint64_t made[2];  // what the processor makes of it, in 32 and in 64 bits
    uint64_t wanted;   // what has to stand in its place
} unfit;

void finish_store();
[[noreturn]] void give_up();

// Whether a check wants to know of floats that do not fit: the first for each place in the code.
const unsigned MOST_UNFIT = 64;
struct NotedUnfit { uint64_t pc; int line, bits, is_signed; double value; long long found; } noted_unfit[MOST_UNFIT];
unsigned noted_unfit_count;

}  // namespace

extern "C" {
#if defined(__x86_64__) && !defined(__clang__)
#define H2D_REPLACES 1
H2D_HIDDEN void h2d_no_conversion();
H2D_HIDDEN void h2d_converted_0(); H2D_HIDDEN void h2d_converted_1(); H2D_HIDDEN void h2d_converted_2();
H2D_HIDDEN void h2d_converted_3(); H2D_HIDDEN void h2d_converted_5(); H2D_HIDDEN void h2d_converted_6();
H2D_HIDDEN void h2d_converted_7(); H2D_HIDDEN void h2d_converted_8(); H2D_HIDDEN void h2d_converted_9();
H2D_HIDDEN void h2d_converted_10(); H2D_HIDDEN void h2d_converted_11(); H2D_HIDDEN void h2d_converted_12();
H2D_HIDDEN void h2d_converted_13(); H2D_HIDDEN void h2d_converted_14(); H2D_HIDDEN void h2d_converted_15();
#define NONE h2d_no_conversion
H2D_HIDDEN void (*h2d_after_conversion[16])() = {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
                                                 NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE};
#undef NONE
// Gets the result of the processor's conversion; returns what stands in its place.
__attribute__((target("general-regs-only"), used)) H2D_HIDDEN uint64_t h2d_converted(uint64_t made) {
    if (!unfit.waits || (made != unfit.made[0] && made != unfit.made[1])) return made;
    unfit.waits = false;
    for (int i = 0; i < 16; i++) h2d_after_conversion[i] = h2d_no_conversion;
    return unfit.plain ? made : unfit.wanted;
}
#define SAVED(x) x " %rax\n" x " %rcx\n" x " %rdx\n" x " %rsi\n" x " %rdi\n" x " %r8\n" x " %r9\n" x " %r10\n" x " %r11\n"
// For each register: the instruction's result is on the stack, where the called function's result replaces it.
#define STUB(number, name)                                                                                             \
    asm(".text\n.hidden h2d_converted_" #number "\nh2d_converted_" #number ":\n"                                       \
        "pushfq\npushq %" name "\npushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\n"    \
        "pushq %r10\npushq %r11\npushq %rbp\nmovq %rsp, %rbp\nandq $-16, %rsp\nmovq 80(%rbp), %rdi\n"                     \
        "call h2d_converted\nmovq %rax, 80(%rbp)\nmovq %rbp, %rsp\npopq %rbp\npopq %r11\npopq %r10\npopq %r9\npopq %r8\n" \
        "popq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rax\npopq %" name "\npopfq\nret\n");
STUB(0, "rax") STUB(1, "rcx") STUB(2, "rdx") STUB(3, "rbx") STUB(5, "rbp") STUB(6, "rsi") STUB(7, "rdi") STUB(8, "r8")
STUB(9, "r9") STUB(10, "r10") STUB(11, "r11") STUB(12, "r12") STUB(13, "r13") STUB(14, "r14") STUB(15, "r15")
asm(".text\n.hidden h2d_no_conversion\nh2d_no_conversion:\nret\n");
#undef STUB
#undef SAVED
#endif

// As the compilers lay it out: the place, and the types, of which the names follow.
struct Conversion {
    const char *file;
    uint32_t line, column;
    struct Type { uint16_t kind, info; char name[1]; } *from, *to;
};

H2D_HIDDEN void __ubsan_handle_float_cast_overflow(Conversion *of, uintptr_t given) {
    if (!running) return;
    finish_store();
    const unsigned from = of->from->info, bits = 1u << (of->to->info >> 1);
    const bool is_signed = of->to->info & 1, is_double = from == 64;
    if (of->to->kind != 0 || bits > 64 || (from != 32 && from != 64)) return;
    double value;
    float single;
    if (is_double) memcpy(&value, &given, 8);
    else memcpy(&single, &given, 4), value = single;
    const unsigned through = bits < 32 ? 32 : bits;
    const double beyond = through == 64 ? (is_signed ? 0x1p63 : 0x1p64) : (is_signed ? 0x1p31 : 0x1p32);
    uint64_t found;
    if (value != value) found = is_double || through == 64 ? 1ull << (through - 1) : 0;
    else if (value >= beyond) found = is_signed ? (1ull << (through - 1)) - 1 : through == 64 ? ~0ull : (1ull << 32) - 1;
    else if (value <= (is_signed ? -beyond : 0.0)) found = is_signed ? 0 - (1ull << (through - 1)) : 0;
    else found = is_signed ? (uint64_t)(int64_t)value : value >= 0x1p63 ? (uint64_t)(int64_t)(value - 0x1p63) ^ 1ull << 63 : (uint64_t)(int64_t)value;
    const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    // What comes of it here.
    uint64_t here = found, made32 = 0x80000000ull, made64 = 1ull << 63;
    if (value > -2147483649.0 && value < 0x1p31) made32 = (uint32_t)(int32_t)value;
    if (value >= -0x1p63 && value < 0x1p63) made64 = (uint64_t)(int64_t)value;
#if defined(__clang__)
    const double most = is_signed ? __builtin_ldexp(1, bits - 1) : __builtin_ldexp(1, bits);  // saturates in the type itself
    if (value != value) here = 0;
    else if (value >= most) here = is_signed ? mask >> 1 : mask;
    else if (value <= (is_signed ? -most : 0.0)) here = is_signed ? (mask >> 1) + 1 : 0;
#elif defined(__x86_64__)
    here = through == 64 || (bits == 32 && !is_signed) ? made64 : made32;
    if (through == 64 && !is_signed && value >= 0x1p63) here = value < 0x1p64 ? found : 0;
#else
    if (value != value) here = 0;
#endif
    const int line = strcmp(of->file, "kernel.cu") ? 0 : (int)of->line;
    const uint64_t pc = (uint64_t)__builtin_return_address(0);
    if (races::watching) {
        unsigned i = 0;
        while (i < noted_unfit_count && noted_unfit[i].pc != pc) i++;
        if (i == noted_unfit_count && i < MOST_UNFIT) {
            const int shift = 64 - bits;
            long long kept = is_signed ? (long long)(found << shift) >> shift : (long long)(found & mask);
            noted_unfit[noted_unfit_count++] = {pc, line, (int)bits, is_signed, value, kept};
        }
    }
    const bool plain = ((here ^ found) & mask) == 0;
#ifdef H2D_REPLACES
    const bool again = unfit.waits && memcmp(&unfit.value, &value, sizeof value) == 0;
    if (again && unfit.type == of->to->info) return;  // the compiler has made one conversion of two
    // One conversion may serve two types with different results.
    const bool unclear = unfit.waits && (again ? !plain || !unfit.plain : !unfit.plain);
    if (!unclear) {
        unfit.waits = true, unfit.plain = plain, unfit.value = value, unfit.type = of->to->info;
        unfit.made[0] = made32, unfit.made[1] = made64;
        unfit.wanted = bits <= 32 ? found & 0xFFFFFFFF : found;
        // Behind the conversion of a large unsigned number, the compiler turns the highest bit.
        if (through == 64 && !is_signed && value >= 0x1p63) unfit.wanted = found ^ 1ull << 63;
        void (*const stubs[16])() = {h2d_converted_0, h2d_converted_1, h2d_converted_2, h2d_converted_3, h2d_no_conversion,
                                     h2d_converted_5, h2d_converted_6, h2d_converted_7, h2d_converted_8, h2d_converted_9,
                                     h2d_converted_10, h2d_converted_11, h2d_converted_12, h2d_converted_13,
                                     h2d_converted_14, h2d_converted_15};
        for (int i = 0; i < 16; i++) h2d_after_conversion[i] = stubs[i];
        return;
    }
#else
    if (plain) return;
#endif
    snprintf(fault.text, sizeof fault.text, "unfit number\t%.9g does not fit %s, and the stand-in cannot give a GPU's result "
             "here: keep it within the type's limits", value, of->to->name);
    fault.kind = OTHER, fault.line = line, fault.pc = pc;
    give_up();
}
H2D_HIDDEN void __ubsan_handle_float_cast_overflow_abort(Conversion *of, uintptr_t given) {
    __ubsan_handle_float_cast_overflow(of, given);
}
}
