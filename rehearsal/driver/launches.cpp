// Launches: what a T4 would refuse is refused when the program asks; everything else happens later, in order.
#include <algorithm>
#include <cstring>
#include "driver.hpp"

namespace rehearsal {

static const int SHARED_OF_BLOCK = 48 << 10, SHARED_IF_ASKED = 64 << 10, SHARED_OF_MULTIPROCESSOR = 64 << 10;
static const int BLOCKS_OF_MULTIPROCESSOR = 16, THREADS_OF_MULTIPROCESSOR = 1024, REGISTERS = 32;

static Result check_sizes(const Kernel* kernel, const uint32_t* grid, const uint32_t* block, uint32_t dynamic_bytes) {
    const uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
    for (int axis = 0; axis < 3; axis++) {
        if (!grid[axis] || grid[axis] > uint32_t(device_attribute(5 + axis))) return INVALID_VALUE;
        if (!block[axis] || block[axis] > uint32_t(device_attribute(2 + axis))) return INVALID_VALUE;
    }
    if (threads > uint64_t(device_attribute(1)) || threads > kernel->entry->most_threads) return INVALID_VALUE;
    const uint64_t most = std::max(SHARED_OF_BLOCK, kernel->most_dynamic_bytes + int(kernel->entry->static_shared_bytes));
    if (kernel->entry->static_shared_bytes + uint64_t(dynamic_bytes) > std::min<uint64_t>(most, SHARED_IF_ASKED)) return INVALID_VALUE;
    return SUCCESS;
}
// The arguments, each at its offset: from one pointer for each, or from one buffer for all (`extra`).
static Result take_parameters(std::vector<uint8_t>* taken, const Entry* entry, void** parameters, void** extra) {
    enum : uintptr_t { END, BUFFER, BYTES };
    const uint32_t last = entry->parameter_count;
    const uint32_t all = last ? entry->parameter_offsets[last - 1] + entry->parameter_sizes[last - 1] : 0;
    taken->assign(std::max(all, 1u), 0);
    if (parameters) {
        for (uint32_t i = 0; i < last; i++) memcpy(taken->data() + entry->parameter_offsets[i], parameters[i], entry->parameter_sizes[i]);
        return SUCCESS;
    }
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (void** each = extra; each && uintptr_t(*each) != END; each += 2) {
        if (uintptr_t(*each) == BUFFER) buffer = each[1];
        if (uintptr_t(*each) == BYTES) bytes = *(size_t*)each[1];
    }
    if (last && (!buffer || bytes < all)) return INVALID_VALUE;
    if (last) memcpy(taken->data(), buffer, all);
    return SUCCESS;
}

Result launch(Kernel* kernel, const uint32_t* grid, const uint32_t* block, uint32_t dynamic_bytes, void* stream, void** parameters, void** extra) {
    if (!is_kernel(kernel) || !is_stream(stream)) return INVALID_HANDLE;
    if (const Result error = check_sizes(kernel, grid, block, dynamic_bytes)) return error;
    Launch asked = {kernel, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_bytes, {}};
    if (const Result error = take_parameters(&asked.parameters, kernel->entry, parameters, extra)) return error;
    in_order(kernel->entry->name, [asked] {
        std::string message;
        const Result result = run_launch(asked, &message);
        if (result) complain(std::string(asked.kernel->entry->name) + ": " + message);
        return result;
    });
    return SUCCESS;
}

Result kernel_attribute(int* value, int attribute, Kernel* kernel) {
    if (!is_kernel(kernel)) return INVALID_HANDLE;
    const Entry& entry = *kernel->entry;
    const int values[] = {int(entry.most_threads), int(entry.static_shared_bytes), int(entry.constant_bytes), int(entry.local_bytes), REGISTERS, 75, 75, 0, kernel->most_dynamic_bytes, -1};
    *value = attribute >= 0 && attribute < 10 ? values[attribute] : 0;
    return SUCCESS;
}
Result set_kernel_attribute(Kernel* kernel, int attribute, int value) {
    enum { MOST_DYNAMIC_SHARED = 8 };
    if (!is_kernel(kernel)) return INVALID_HANDLE;
    if (attribute != MOST_DYNAMIC_SHARED) return SUCCESS;
    if (value < 0 || value + int(kernel->entry->static_shared_bytes) > SHARED_IF_ASKED) return INVALID_VALUE;
    kernel->most_dynamic_bytes = value;
    return SUCCESS;
}
int blocks_at_once(Kernel* kernel, int threads, size_t dynamic_bytes) {
    const int shared = (int(kernel->entry->static_shared_bytes + dynamic_bytes) + 255) / 256 * 256;
    const int by_threads = THREADS_OF_MULTIPROCESSOR / ((threads + 31) / 32 * 32);
    return std::min({BLOCKS_OF_MULTIPROCESSOR, by_threads, shared ? SHARED_OF_MULTIPROCESSOR / shared : BLOCKS_OF_MULTIPROCESSOR});
}

// -- the API ------------------------------------------------------------------------------------------------------------
API(cuLaunchKernel, (Kernel* k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters, void** extra)) {
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    return launch(k, grid, block, shared, stream, parameters, extra);
}
struct Attribute { int id; char padding[4]; int value; char rest[60]; };     // CUlaunchAttribute
struct Configuration { unsigned grid[3], block[3], shared; void* stream; const Attribute* attributes; unsigned count; };
API(cuLaunchKernelEx, (const Configuration* c, Kernel* k, void** parameters, void** extra)) {
    enum { COOPERATIVE = 2, CLUSTER = 4 };
    for (unsigned i = 0; i < c->count; i++) {
        const int id = c->attributes[i].id;
        if ((id != COOPERATIVE && id != CLUSTER) || !c->attributes[i].value) continue;
        complain("the rehearsal has no cooperative launches and no clusters");
        return NOT_SUPPORTED;
    }
    return launch(k, c->grid, c->block, c->shared, c->stream, parameters, extra);
}
API(cuLaunchCooperativeKernel, (Kernel*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**)) {
    complain("the rehearsal has no cooperative launches");
    return NOT_SUPPORTED;
}
API(cuFuncGetAttribute, (int* value, int attribute, Kernel* k)) { return kernel_attribute(value, attribute, k); }
API(cuKernelGetAttribute, (int* value, int attribute, Kernel* k, int)) { return kernel_attribute(value, attribute, k); }
API(cuFuncSetAttribute, (Kernel* k, int attribute, int value)) { return set_kernel_attribute(k, attribute, value); }
API(cuKernelSetAttribute, (int attribute, int value, Kernel* k, int)) { return set_kernel_attribute(k, attribute, value); }
API(cuFuncSetCacheConfig, (Kernel* k, int)) { return is_kernel(k) ? SUCCESS : INVALID_HANDLE; }
API(cuKernelSetCacheConfig, (Kernel* k, int, int)) { return is_kernel(k) ? SUCCESS : INVALID_HANDLE; }
API(cuFuncGetName, (const char** name, Kernel* k)) { if (!is_kernel(k)) return INVALID_HANDLE; *name = k->entry->name; return SUCCESS; }
API(cuKernelGetName, (const char** name, Kernel* k)) { if (!is_kernel(k)) return INVALID_HANDLE; *name = k->entry->name; return SUCCESS; }
API(cuKernelGetFunction, (Kernel** f, Kernel* k)) { *f = k; return is_kernel(k) ? SUCCESS : INVALID_HANDLE; }
API(cuKernelGetLibrary, (Module** m, Kernel* k)) { if (!is_kernel(k)) return INVALID_HANDLE; *m = k->module; return SUCCESS; }
API(cuFuncGetModule, (Module** m, Kernel* k)) { if (!is_kernel(k)) return INVALID_HANDLE; *m = k->module; return SUCCESS; }
static Result parameter_info(Kernel* k, size_t i, size_t* offset, size_t* size) {
    if (!is_kernel(k)) return INVALID_HANDLE;
    if (i >= k->entry->parameter_count) return INVALID_VALUE;
    *offset = k->entry->parameter_offsets[i];
    if (size) *size = k->entry->parameter_sizes[i];
    return SUCCESS;
}
API(cuFuncGetParamInfo, (Kernel* k, size_t i, size_t* offset, size_t* size)) { return parameter_info(k, i, offset, size); }
API(cuKernelGetParamInfo, (Kernel* k, size_t i, size_t* offset, size_t* size)) { return parameter_info(k, i, offset, size); }
API(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, Kernel* k, int threads, size_t dynamic_bytes)) {
    if (!is_kernel(k)) return INVALID_HANDLE;
    if (threads < 1) return INVALID_VALUE;
    *blocks = threads > 1024 ? 0 : blocks_at_once(k, threads, dynamic_bytes);
    return SUCCESS;
}
API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int* blocks, Kernel* k, int threads, size_t dynamic_bytes, unsigned)) {
    if (!is_kernel(k)) return INVALID_HANDLE;
    if (threads < 1) return INVALID_VALUE;
    *blocks = threads > 1024 ? 0 : blocks_at_once(k, threads, dynamic_bytes);
    return SUCCESS;
}
API(cuOccupancyMaxPotentialBlockSize, (int* grid, int* block, Kernel* k, size_t (*)(int), size_t, int limit)) {
    if (!is_kernel(k)) return INVALID_HANDLE;
    *block = limit > 0 && limit < int(k->entry->most_threads) ? limit : int(k->entry->most_threads);
    *grid = device_attribute(16) * blocks_at_once(k, *block, 0);
    return SUCCESS;
}

}  // namespace rehearsal
