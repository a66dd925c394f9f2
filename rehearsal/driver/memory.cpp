// Device memory. Its addresses are those of a range that is never mapped; the bytes lie ARENA below them.
//
// So host code that follows a device pointer ends with a segmentation fault, as with a GPU. Each allocation has pages
// of its own with an unmapped page behind them, only the bytes that were asked for are in its region, and freed
// addresses are not given out again: an access outside, or after a free, is seen.
#include <sys/mman.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include "driver.hpp"

namespace rehearsal {

static const uint64_t ARENA = 1ull << 40, PAGE = 4096, FILLED = 1 << 20;
static std::vector<Region> regions;              // sorted by address
static uint64_t used, next_offset = PAGE;
static uint8_t* arena;

uint64_t memory_size() {
    static const uint64_t size = number("REHEARSAL_MEMORY", 2ull << 30);
    return size;
}
uint64_t memory_used() { return used; }

static bool before(Address64 address, const Region& region) { return address < region.start; }
Region* region_of(Address64 address, uint64_t bytes) {
    auto after = std::upper_bound(regions.begin(), regions.end(), address, before);
    if (after == regions.begin()) return nullptr;
    Region& found = *--after;
    const uint64_t offset = address - found.start;
    return offset < found.bytes && bytes <= found.bytes - offset ? &found : nullptr;
}
static void add(Region region) { regions.insert(std::upper_bound(regions.begin(), regions.end(), region.start, before), region); }
static void drop(Region* region) { regions.erase(regions.begin() + (region - regions.data())); }
static Region* starting_at(Address64 address) {
    Region* found = region_of(address);
    return found && found->start == address ? found : nullptr;
}
static uint64_t in_pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

Result allocate(Address64* out, uint64_t bytes) {
    if (!bytes) return INVALID_VALUE;
    if (bytes > memory_size() || used + bytes > memory_size()) return OUT_OF_MEMORY;
    if (!arena) {
        void* mapped = mmap(nullptr, 2 * ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) return OUT_OF_MEMORY;
        arena = (uint8_t*)mapped;
    }
    uint8_t* host = arena + next_offset;
    if (next_offset + in_pages(bytes) > ARENA || mprotect(host, in_pages(bytes), PROT_READ | PROT_WRITE)) return OUT_OF_MEMORY;
    memset(host, 0xCD, std::min(bytes, FILLED)); // fresh device memory holds anything but zeros
    next_offset += in_pages(bytes) + PAGE;
    used += bytes;
    *out = Address64(host) + ARENA;
    add({*out, bytes, host, Kind::device});
    return SUCCESS;
}
Result release(Address64 address) {
    Region* region = starting_at(address);
    if (!region || (region->kind != Kind::device && region->kind != Kind::managed)) return INVALID_VALUE;
    if (region->kind == Kind::managed) return release_host((void*)address);
    mmap(region->host, in_pages(region->bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    used -= region->bytes;
    drop(region);
    return SUCCESS;
}
Result allocate_host(void** out, uint64_t bytes, Kind kind) {   // one address for the host and for the device
    if (!bytes && kind == Kind::managed) return INVALID_VALUE;
    if (posix_memalign(out, 512, std::max<uint64_t>(bytes, 1))) return OUT_OF_MEMORY;
    memset(*out, 0, bytes);
    add({Address64(*out), bytes, (uint8_t*)*out, kind});
    return SUCCESS;
}
Result release_host(void* pointer) {
    Region* region = starting_at(Address64(pointer));
    if (!region || (region->kind != Kind::pinned && region->kind != Kind::managed)) return INVALID_VALUE;
    drop(region);
    free(pointer);
    return SUCCESS;
}
Result register_host(void* pointer, uint64_t bytes) {
    if (!pointer || !bytes) return INVALID_VALUE;
    if (region_of(Address64(pointer))) return HOST_MEMORY_ALREADY_REGISTERED;
    add({Address64(pointer), bytes, (uint8_t*)pointer, Kind::registered});
    return SUCCESS;
}
Result unregister_host(void* pointer) {
    Region* region = starting_at(Address64(pointer));
    if (!region || region->kind != Kind::registered) return HOST_MEMORY_NOT_REGISTERED;
    drop(region);
    return SUCCESS;
}
void release_everything() {
    const std::vector<Region> all = regions;
    for (const Region& each : all) if (each.kind == Kind::device || each.kind == Kind::managed) release(each.start);
}

// -- copies -------------------------------------------------------------------------------------------------------------
static bool in_arena(Address64 address) { return arena && address - Address64(arena) < 2 * ARENA; }
static bool fits(Address64 address, uint64_t bytes, Side side) {
    if (region_of(address, bytes)) return true;
    return side != Side::device && !in_arena(address);          // ordinary host memory
}
uint8_t* bytes_at(Address64 address, uint64_t bytes) {
    Region* region = region_of(address, bytes);
    if (!region) return in_arena(address) ? nullptr : (uint8_t*)address;
    return region->host + (address - region->start);
}
Result check_copy(Address64 to, Address64 from, uint64_t bytes, Side to_side, Side from_side) {
    if (!bytes) return SUCCESS;
    return fits(to, bytes, to_side) && fits(from, bytes, from_side) ? SUCCESS : INVALID_VALUE;
}
Result copy_now(Address64 to, Address64 from, uint64_t bytes, Side to_side, Side from_side) {
    if (const Result error = finish()) return error;
    if (const Result error = check_copy(to, from, bytes, to_side, from_side)) return error;
    if (bytes) memmove(bytes_at(to, bytes), bytes_at(from, bytes), bytes);
    return SUCCESS;
}
// From ordinary host memory, the bytes are taken at once; to it, the copy is done when the call returns. Between
// pinned and device memory it happens when the stream gets there, so a program that does not wait reads old values.
Result copy_in_order(Address64 to, Address64 from, uint64_t bytes, Side to_side, Side from_side, void* stream) {
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (const Result error = check_copy(to, from, bytes, to_side, from_side)) return error;
    if (!bytes) return SUCCESS;
    if (!region_of(to, bytes)) return copy_now(to, from, bytes, to_side, from_side);
    uint8_t *target = bytes_at(to, bytes), *source = bytes_at(from, bytes);
    if (!region_of(from, bytes)) {
        std::vector<uint8_t> taken(source, source + bytes);
        in_order("copy", [=] { memcpy(target, taken.data(), bytes); return SUCCESS; });
    } else {
        in_order("copy", [=] { memmove(target, source, bytes); return SUCCESS; });
    }
    return SUCCESS;
}
Result fill_in_order(Address64 at, uint64_t value, unsigned width, uint64_t count, void* stream) {
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (!count) return SUCCESS;
    if (!region_of(at, width * count) || at % width) return INVALID_VALUE;
    uint8_t* target = bytes_at(at, width * count);
    in_order("fill", [=] {
        for (uint64_t i = 0; i < count; i++) memcpy(target + i * width, &value, width);
        return SUCCESS;
    });
    return SUCCESS;
}

// -- the API ------------------------------------------------------------------------------------------------------------
API(cuMemGetInfo, (size_t* free, size_t* total)) { *total = memory_size(); *free = memory_size() - used; return SUCCESS; }
API(cuMemAlloc, (Address64* p, size_t n)) { return allocate(p, n); }
API(cuMemAllocPitch, (Address64* p, size_t* pitch, size_t width, size_t height, unsigned)) {
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height);
}
API(cuMemFree, (Address64 p)) {
    if (!p) return SUCCESS;
    if (const Result error = finish()) return error;            // a free waits for the work that may use the memory
    return release(p);
}
API(cuMemAllocManaged, (Address64* p, size_t n, unsigned)) { return allocate_host((void**)p, n, Kind::managed); }
API(cuMemHostAlloc, (void** p, size_t n, unsigned)) { return allocate_host(p, n, Kind::pinned); }
API(cuMemAllocHost, (void** p, size_t n)) { return allocate_host(p, n, Kind::pinned); }
API(cuMemFreeHost, (void* p)) {
    if (const Result error = finish()) return error;
    return release_host(p);
}
API(cuMemHostRegister, (void* p, size_t n, unsigned)) { return register_host(p, n); }
API(cuMemHostUnregister, (void* p)) {
    if (const Result error = finish()) return error;
    return unregister_host(p);
}
API(cuMemHostGetDevicePointer, (Address64* d, void* p, unsigned)) {
    if (!region_of(Address64(p))) return INVALID_VALUE;
    *d = Address64(p);
    return SUCCESS;
}
API(cuMemHostGetFlags, (unsigned* flags, void* p)) { *flags = 0; return region_of(Address64(p)) ? SUCCESS : INVALID_VALUE; }
API(cuMemGetAddressRange, (Address64* base, size_t* n, Address64 p)) {
    Region* region = region_of(p);
    if (!region) return NOT_FOUND;
    if (base) *base = region->start;
    if (n) *n = region->bytes;
    return SUCCESS;
}
static Result pointer_attribute(void* out, int attribute, Address64 p) {
    enum { CONTEXT = 1, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, IS_MANAGED = 8, DEVICE_ORDINAL, RANGE_START = 11, RANGE_SIZE };
    Region* region = region_of(p);
    if (!region) return INVALID_VALUE;
    const bool host = region->kind != Kind::device;
    switch (attribute) {
        case CONTEXT: *(void**)out = primary_context(); return SUCCESS;
        case MEMORY_TYPE: *(unsigned*)out = host && region->kind != Kind::managed ? 1 : 2; return SUCCESS;
        case DEVICE_POINTER: *(Address64*)out = p; return SUCCESS;
        case HOST_POINTER:
            if (!host) return INVALID_VALUE;
            *(Address64*)out = p;
            return SUCCESS;
        case IS_MANAGED: *(unsigned*)out = region->kind == Kind::managed; return SUCCESS;
        case DEVICE_ORDINAL: *(int*)out = 0; return SUCCESS;
        case RANGE_START: *(Address64*)out = region->start; return SUCCESS;
        case RANGE_SIZE: *(size_t*)out = region->bytes; return SUCCESS;
    }
    return NOT_SUPPORTED;
}
API(cuPointerGetAttribute, (void* out, int attribute, Address64 p)) { return pointer_attribute(out, attribute, p); }
API(cuPointerGetAttributes, (unsigned count, int* attributes, void** out, Address64 p)) {
    for (unsigned i = 0; i < count; i++) pointer_attribute(out[i], attributes[i], p);   // of other memory: left as they are
    return SUCCESS;
}

static const Side D = Side::device, H = Side::host, E = Side::either;
API(cuMemcpy, (Address64 to, Address64 from, size_t n)) { return copy_now(to, from, n, E, E); }
API(cuMemcpyHtoD, (Address64 to, const void* from, size_t n)) { return copy_now(to, Address64(from), n, D, H); }
API(cuMemcpyDtoH, (void* to, Address64 from, size_t n)) { return copy_now(Address64(to), from, n, H, D); }
API(cuMemcpyDtoD, (Address64 to, Address64 from, size_t n)) { return copy_in_order(to, from, n, D, D, nullptr); }
API(cuMemcpyAsync, (Address64 to, Address64 from, size_t n, void* stream)) { return copy_in_order(to, from, n, E, E, stream); }
API(cuMemcpyHtoDAsync, (Address64 to, const void* from, size_t n, void* stream)) { return copy_in_order(to, Address64(from), n, D, H, stream); }
API(cuMemcpyDtoHAsync, (void* to, Address64 from, size_t n, void* stream)) { return copy_in_order(Address64(to), from, n, H, D, stream); }
API(cuMemcpyDtoDAsync, (Address64 to, Address64 from, size_t n, void* stream)) { return copy_in_order(to, from, n, D, D, stream); }
API(cuMemsetD8, (Address64 p, uint8_t v, size_t n)) { return fill_in_order(p, v, 1, n, nullptr); }
API(cuMemsetD16, (Address64 p, uint16_t v, size_t n)) { return fill_in_order(p, v, 2, n, nullptr); }
API(cuMemsetD32, (Address64 p, uint32_t v, size_t n)) { return fill_in_order(p, v, 4, n, nullptr); }
API(cuMemsetD8Async, (Address64 p, uint8_t v, size_t n, void* stream)) { return fill_in_order(p, v, 1, n, stream); }
API(cuMemsetD16Async, (Address64 p, uint16_t v, size_t n, void* stream)) { return fill_in_order(p, v, 2, n, stream); }
API(cuMemsetD32Async, (Address64 p, uint32_t v, size_t n, void* stream)) { return fill_in_order(p, v, 4, n, stream); }

ALSO(cuMemGetInfo, cuMemGetInfo_v2) ALSO(cuMemAlloc, cuMemAlloc_v2) ALSO(cuMemAllocPitch, cuMemAllocPitch_v2) ALSO(cuMemFree, cuMemFree_v2)
ALSO(cuMemAllocHost, cuMemAllocHost_v2) ALSO(cuMemHostRegister, cuMemHostRegister_v2) ALSO(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2)
ALSO(cuMemGetAddressRange, cuMemGetAddressRange_v2) ALSO(cuMemcpyHtoD, cuMemcpyHtoD_v2) ALSO(cuMemcpyDtoH, cuMemcpyDtoH_v2) ALSO(cuMemcpyDtoD, cuMemcpyDtoD_v2)
ALSO(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2) ALSO(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2) ALSO(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)
ALSO(cuMemsetD8, cuMemsetD8_v2) ALSO(cuMemsetD16, cuMemsetD16_v2) ALSO(cuMemsetD32, cuMemsetD32_v2)

}  // namespace rehearsal
