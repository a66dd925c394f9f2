// The stacks of waiting threads, and the switch from one stack to another.
#pragma once

namespace {

struct Fiber { void *stack_pointer; bool fresh; ucontext_t *context; };
Fiber fibers[MOST_THREADS], *fiber, home;
Fiber *idle[MOST_THREADS];
unsigned idle_count;

void fiber_main();

#if defined(H2D_UCONTEXT)  // for the benchmark: what the faster switch below gains
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
    top[-1] = nullptr;  // the address to which fiber_main would return
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

}  // namespace
