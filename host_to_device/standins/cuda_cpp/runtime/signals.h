// The timer that stops a kernel, the handlers of crashes, and the set-up of both before a launch.
#pragma once

namespace {

uint64_t pc_of(void *context) {  // the callers add one, because lines are looked up for return addresses
    ucontext_t *c = (ucontext_t *)context;
#if defined(__linux__) && defined(__x86_64__)
    return c->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
    return c->uc_mcontext.pc;
#elif defined(__APPLE__) && defined(__x86_64__)
    return c->uc_mcontext->__ss.__rip;
#elif defined(__APPLE__) && defined(__aarch64__)
    return c->uc_mcontext->__ss.__pc;
#else
    return (void)c, 0;
#endif
}

const double TICK = 0.02;

double processor_time() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// Whether nothing changes any more although threads work: for QUIET seconds of the processor's time no thread has ended,
// no process has taken a block, and at the ticks of that time the threads used a few addresses whose contents stayed, as
// a loop does that waits. Threads that use no memory at all may compute: they get twice that time.
bool stuck() {
    bool changed = ended + control[0] != progress;
    for (unsigned i = 0; i < sampled && i < MOST_SAMPLED && !changed; i++)
        changed = *(volatile uint32_t *)samples[i] != contents[i];
    if (changed) {
        progress = ended + control[0], quiet_since = processor_time(), last_progress = now(), sampled = 0;
        return false;
    }
    double worked = processor_time() - quiet_since;  // on a busy machine the clock on the wall counts as well
    double most = sampled ? QUIET : 2 * QUIET;
    return sampled <= MOST_SAMPLED && (worked > most || (worked > most / 4 && now() - last_progress > 2 * most));
}

void on_tick(int, siginfo_t *, void *context) {
    if (!running || broken) return;
    if (attention != STOP && strict && stuck()) ends = 0, fault.address = 1;
    if (attention == STOP) {  // no access since the last tick: a loop without accesses
        fault.kind = STOPPED, fault.pc = pc_of(context) + 1;
        broken = true;
        if (in_kernel) give_up();
        return;
    }
    attention = now() > ends ? STOP : YIELD;
    // Whether the launch got on until the end: some thread has ended lately, or the threads read ever other addresses.
    if (attention == STOP && !fault.address)
        fault.size = strict && (now() - last_progress < (now() - began) / 4 || sampled > MOST_SAMPLED);
    sizes = Ranges();
}

void on_crash(int signal, siginfo_t *info, void *context) {
    if (!in_kernel || broken) {
        ::signal(signal, SIG_DFL);
        raise(signal);
        return;
    }
    uintptr_t a = (uintptr_t)info->si_addr;
    fault.pc = pc_of(context) + 1, fault.address = a;
    fault.kind = signal == SIGFPE ? DIVISION : CRASH;
    if (a - (uintptr_t)stacks < MOST_THREADS * (uint64_t)(STACK + GUARD) && (a - (uintptr_t)stacks) % (STACK + GUARD) < GUARD)
        fault.kind = STACK_OVERFLOW;
    snprintf(fault.text, sizeof fault.text, "%s", signal == SIGILL ? "illegal instruction" : "");
    give_up();
}

bool set_up(void **memory) {
    static bool ready;
    if (ready) return true;
    const size_t each = STACK + GUARD;
    if (!memory[0]) {
        const int how = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE;
        void *all = mmap(nullptr, MOST_THREADS * each + HEAP, PROT_READ | PROT_WRITE, how, -1, 0);
        if (all == MAP_FAILED) return false;
        memory[0] = all, memory[1] = (char *)all + MOST_THREADS * each;
        for (unsigned i = 0; i < MOST_THREADS; i++) mprotect((char *)all + i * each, GUARD, PROT_NONE);
        *(Piece *)memory[1] = {HEAP - 16, false};
    }
    stacks = (char *)memory[0], heap = (char *)memory[1];
    real_sizes.stacks = MOST_THREADS * each;
    fill_in_variables();
    return ready = true;
}

void take_signals() {  // each module has its own runtime, so every launch sets the handlers
    static char own_stack[64 << 10];
    stack_t stack = {};
    stack.ss_sp = own_stack, stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    action.sa_sigaction = on_crash;
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (int signal : signals) sigaction(signal, &action, nullptr);
    action.sa_flags |= SA_RESTART;
    action.sa_sigaction = on_tick;
    sigaction(SIGALRM, &action, nullptr);
}

void set_timer(double seconds) {
    itimerval timer = {};
    timer.it_value.tv_usec = timer.it_interval.tv_usec = (int)(seconds * 1e6);
    setitimer(ITIMER_REAL, &timer, nullptr);
}

void shuffle(unsigned *list, unsigned count) {
    for (unsigned i = count; i > 1; i--) {
        unsigned j = random_number() % i, t = list[i - 1];
        list[i - 1] = list[j], list[j] = t;
    }
}

void lay_out(const Request &r) {
    uint64_t bx = r.block[0], by = r.block[1];
    thread_count = (unsigned)(bx * by * r.block[2]);
    warp_count = (thread_count + h2d_warp - 1) / h2d_warp;
    unsigned warps[MOST_THREADS];
    for (unsigned w = 0; w < warp_count; w++) warps[w] = w;
    if (shaking) shuffle(warps, warp_count);
    unsigned at = 0;
    for (unsigned w = 0; w < warp_count; w++) {
        warp_start[w] = at;
        for (unsigned t = warps[w] * h2d_warp; t < thread_count && t < (warps[w] + 1) * h2d_warp; t++) order[at++] = t;
        if (shaking) shuffle(order + warp_start[w], at - warp_start[w]);
    }
    warp_start[warp_count] = at;
    for (unsigned t = 0; t < thread_count; t++)
        places[t] = {(unsigned)(t % bx), (unsigned)(t / bx % by), (unsigned)(t / (bx * by))};
}

uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

}  // namespace
