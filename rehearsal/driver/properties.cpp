// The device: one Tesla T4, which says by its name that it is none.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "driver.hpp"

namespace rehearsal {

std::string setting(const char* name, const char* fallback) {
    const char* value = getenv(name);
    return value && *value ? value : fallback;
}
uint64_t number(const char* name, uint64_t fallback) {
    const char* value = getenv(name);
    return value && *value ? strtoull(value, nullptr, 0) : fallback;
}

const char* device_name() { return "rehearsal, not a GPU (T4, 40 multiprocessors)"; }
int driver_version() { return int(number("REHEARSAL_DRIVER_VERSION", 13000)); }

// Attributes of a Tesla T4, by CUdevice_attribute. What it has and this driver has not (memory pools, cooperative
// launches, managed memory that both sides use at once) is 0.
int device_attribute(int attribute) {
    static const std::map<int, int> values = {
        {1, 1024},         // threads in a block
        {2, 1024}, {3, 1024}, {4, 64},                          // ... in x, y, z
        {5, 2147483647}, {6, 65535}, {7, 65535},                // blocks in x, y, z
        {8, 49152},        // shared memory of a block, bytes
        {9, 65536},        // constant memory, bytes
        {10, 32},          // warp
        {11, 2147483647},  // pitch
        {12, 65536},       // registers of a block
        {13, 1590000},     // clock, kHz
        {14, 512},         // alignment of textures
        {15, 1},           // copies beside kernels
        {16, 40},          // multiprocessors
        {19, 1},           // host memory can be mapped
        {31, 1},           // kernels at once
        {32, 1},           // ECC
        {33, 0}, {34, 4}, {50, 0},                              // PCI bus, device, domain
        {36, 5001000},     // memory clock, kHz
        {37, 256},         // memory bus, bits
        {38, 4194304},     // second-level cache, bytes
        {39, 1024},        // threads of a multiprocessor
        {40, 3},           // copy engines
        {41, 1},           // one address space
        {75, 7}, {76, 5},  // compute capability
        {78, 1},           // priorities of streams
        {79, 1}, {80, 1},  // caches
        {81, 65536},       // shared memory of a multiprocessor, bytes
        {82, 65536},       // registers of a multiprocessor
        {83, 1},           // managed memory
        {87, 32},          // speed of single to double precision
        {97, 65536},       // shared memory of a block that asks for more, bytes
        {106, 16},         // blocks of a multiprocessor
    };
    const auto found = values.find(attribute);
    return found == values.end() ? 0 : found->second;
}
static bool is_device(int device) { return device == 0; }

API(cuDriverGetVersion, (int* version)) { *version = driver_version(); return SUCCESS; }
API(cuDeviceGetCount, (int* n)) { *n = 1; return SUCCESS; }
API(cuDeviceGet, (int* device, int ordinal)) { *device = 0; return is_device(ordinal) ? SUCCESS : INVALID_DEVICE; }
API(cuDeviceGetName, (char* name, int n, int device)) {
    if (!is_device(device)) return INVALID_DEVICE;
    snprintf(name, n, "%s", device_name());
    return SUCCESS;
}
struct Uuid { char bytes[16]; };
API(cuDeviceGetUuid, (Uuid* uuid, int device)) { memcpy(uuid->bytes, "rehearsal-no-gpu", 16); return is_device(device) ? SUCCESS : INVALID_DEVICE; }
API(cuDeviceTotalMem, (size_t* n, int device)) { *n = memory_size(); return is_device(device) ? SUCCESS : INVALID_DEVICE; }
API(cuDeviceGetAttribute, (int* value, int attribute, int device)) { *value = device_attribute(attribute); return is_device(device) ? SUCCESS : INVALID_DEVICE; }
API(cuDeviceComputeCapability, (int* major, int* minor, int)) { *major = device_attribute(75); *minor = device_attribute(76); return SUCCESS; }
API(cuDeviceGetPCIBusId, (char* id, int n, int)) { snprintf(id, n, "0000:00:04.0"); return SUCCESS; }
API(cuDeviceGetByPCIBusId, (int* device, const char*)) { *device = 0; return SUCCESS; }
API(cuDeviceCanAccessPeer, (int* can, int, int)) { *can = 0; return SUCCESS; }
API(cuProfilerStart, ()) { return SUCCESS; }
API(cuProfilerStop, ()) { return SUCCESS; }
ALSO(cuDeviceTotalMem, cuDeviceTotalMem_v2) ALSO(cuDeviceGetUuid, cuDeviceGetUuid_v2)

}  // namespace rehearsal
