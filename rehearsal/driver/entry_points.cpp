// The door: who may call, what is written down, and which functions are found by name.
//
// numba-cuda and cuda.bindings ask cuGetProcAddress for everything; CuPy, NVRTC and `h2d.start()` look for names.
#include <unistd.h>
#include <cstdio>
#include <set>
#include "driver.hpp"

namespace rehearsal {

std::recursive_mutex& lock() {
    static std::recursive_mutex one;
    return one;
}
std::map<std::string, void*>& entry_points() {
    static std::map<std::string, void*> all;
    return all;
}
// What may be asked before cuInit, and of a context that has ended.
Result admitted(const char* name) {
    static const std::set<std::string> always = {"cuInit", "cuGetErrorName", "cuGetErrorString", "cuDriverGetVersion"};
    static const std::set<std::string> about_the_device = {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceTotalMem",
        "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxGetDevice", "cuDevicePrimaryCtxGetState"};
    if (always.count(name)) return SUCCESS;
    if (initialised_by != getpid()) return NOT_INITIALIZED;
    return about_the_device.count(name) ? SUCCESS : context_error();
}
Result logged(const char* name, Result result) {
    static const std::string path = setting("REHEARSAL_LOG", "");
    static FILE* file = path.empty() ? nullptr : fopen(path.c_str(), "a");
    if (file) {
        fprintf(file, result ? "%s: %d\n" : "%s\n", name, int(result));
        fflush(file);
    }
    return result;
}

}  // namespace rehearsal

using namespace rehearsal;
#define EXPORT extern "C" __attribute__((visibility("default")))

// Names come without the suffix of their version (`_v2`), so the table has none.
EXPORT int cuGetProcAddress_v2(const char* name, void** address, int, uint64_t, int* status) {
    const auto found = entry_points().find(name);
    const bool known = found != entry_points().end();
    *address = known ? found->second : nullptr;
    if (status) *status = known ? 0 : 1;
    return known ? SUCCESS : NOT_FOUND;
}
static int without_status(const char* name, void** address, int version, uint64_t flags) { return cuGetProcAddress_v2(name, address, version, flags, nullptr); }
EXPORT int cuGetProcAddress(const char* name, void** address, int version, uint64_t flags) { return without_status(name, address, version, flags); }
static const bool itself = (entry_points()["cuGetProcAddress"] = (void*)&cuGetProcAddress_v2, true);

// NVRTC asks for NVIDIA's internal tables. There are none here; without an answer it ends the process.
EXPORT int cuGetExportTable(const void**, const void*) { return NOT_SUPPORTED; }

// For the libraries beside the driver, whose work is done on the host, in its place in the order.
EXPORT uint8_t* rehearsal_bytes(const void* address, uint64_t bytes) {
    std::lock_guard<std::recursive_mutex> hold(lock());
    if (finish()) return nullptr;
    return bytes_at(Address64(address), bytes);
}
// A function that is not ours: it says so, and where it has no way to return an error, the context ends.
EXPORT int rehearsal_refuse(const char* name, int answer) {
    complain(std::string("there is no ") + name + " here");
    if (!answer) end_context(NOT_SUPPORTED, "");
    return answer;
}
