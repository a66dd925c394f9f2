// The primary context, which is the only one, and which context a host thread uses.
#include <unistd.h>
#include "driver.hpp"

namespace rehearsal {

static int object, holders;
static thread_local std::vector<void*> stack;
int initialised_by;
void* primary_context() { return &object; }

API(cuInit, (unsigned flags)) {
    if (flags) return INVALID_VALUE;
    initialised_by = getpid();
    return SUCCESS;
}
API(cuDevicePrimaryCtxRetain, (void** c, int device)) {
    if (device) return INVALID_DEVICE;
    holders++;
    *c = primary_context();
    return SUCCESS;
}
API(cuDevicePrimaryCtxRelease, (int)) { if (holders) holders--; return SUCCESS; }
API(cuDevicePrimaryCtxReset, (int)) {
    finish();
    release_everything();
    return SUCCESS;
}
API(cuDevicePrimaryCtxGetState, (int, unsigned* flags, int* active)) { *flags = 0; *active = holders > 0; return SUCCESS; }
API(cuDevicePrimaryCtxSetFlags, (int, unsigned)) { return SUCCESS; }
API(cuCtxGetCurrent, (void** c)) { *c = stack.empty() ? nullptr : stack.back(); return SUCCESS; }
API(cuCtxSetCurrent, (void* c)) {
    if (c && c != primary_context()) return INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (c) stack.push_back(c);
    return SUCCESS;
}
API(cuCtxPushCurrent, (void* c)) {
    if (c != primary_context()) return INVALID_CONTEXT;
    stack.push_back(c);
    return SUCCESS;
}
API(cuCtxPopCurrent, (void** c)) {
    if (stack.empty()) return INVALID_CONTEXT;
    if (c) *c = stack.back();
    stack.pop_back();
    return SUCCESS;
}
API(cuCtxGetDevice, (int* device)) { *device = 0; return stack.empty() ? INVALID_CONTEXT : SUCCESS; }
API(cuCtxSynchronize, ()) { return finish(); }
API(cuCtxGetApiVersion, (void*, unsigned* version)) { *version = 3020; return SUCCESS; }
API(cuCtxGetFlags, (unsigned* flags)) { *flags = 0; return SUCCESS; }
API(cuCtxGetId, (void*, unsigned long long* id)) { *id = 1; return SUCCESS; }
API(cuCtxGetLimit, (size_t* value, int)) { *value = 1 << 20; return SUCCESS; }
API(cuCtxSetLimit, (int, size_t)) { return SUCCESS; }
API(cuCtxGetStreamPriorityRange, (int* least, int* greatest)) { *least = 0; *greatest = -5; return SUCCESS; }
ALSO(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2) ALSO(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2) ALSO(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2)
ALSO(cuCtxPushCurrent, cuCtxPushCurrent_v2) ALSO(cuCtxPopCurrent, cuCtxPopCurrent_v2)
API(cuCtxCreate, (void**, unsigned, int)) {
    complain("the rehearsal has one context, the primary one");
    return NOT_SUPPORTED;
}
API(cuCtxDestroy, (void*)) { return INVALID_CONTEXT; }
ALSO(cuCtxCreate, cuCtxCreate_v2) ALSO(cuCtxDestroy, cuCtxDestroy_v2)

}  // namespace rehearsal
