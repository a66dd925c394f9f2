// What the parts of the driver share. Each part has a .cpp file: memory, streams, threads, modules, launches, errors,
// properties, context, and entry_points, which hands the functions of CUDA's driver API to whoever asks for them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>
#include "abi.hpp"

namespace rehearsal {

typedef uint64_t Address64;                      // of device memory, as CUdeviceptr

// CUresult, as far as this driver answers with it; errors.cpp has the words.
enum Result : int {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, INVALID_PTX = 218, UNSUPPORTED_PTX_VERSION = 222,
    FILE_NOT_FOUND = 301, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, OUT_OF_RESOURCES = 701, LAUNCH_TIMEOUT = 702,
    ASSERT = 710, HOST_MEMORY_ALREADY_REGISTERED = 712, HOST_MEMORY_NOT_REGISTERED = 713, MISALIGNED_ADDRESS = 716, INVALID_PC = 718, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, UNKNOWN = 999,
};

// -- settings: the environment of the process, read once ---------------------------------------------------------------
std::string setting(const char* name, const char* fallback);
uint64_t number(const char* name, uint64_t fallback);
void complain(const std::string& what);          // a line on stderr, for what no error code can say

// -- memory.cpp ---------------------------------------------------------------------------------------------------------
enum class Kind { device, pinned, managed, registered };
struct Region {
    Address64 start;
    uint64_t bytes;
    uint8_t* host;                               // where its bytes are
    Kind kind;
};
uint64_t memory_size();
uint64_t memory_used();
uint8_t* bytes_at(Address64 address, uint64_t bytes);         // on the host; null where nothing is
Result allocate(Address64* out, uint64_t bytes);
Result release(Address64 address);
Result allocate_host(void** out, uint64_t bytes, Kind kind);
Result release_host(void* pointer);
Result register_host(void* pointer, uint64_t bytes);
Result unregister_host(void* pointer);
void release_everything();
Region* region_of(Address64 address, uint64_t bytes = 1);      // the region that holds all of the bytes, or null
enum class Side { device, host, either };
Result check_copy(Address64 to, Address64 from, uint64_t bytes, Side to_side, Side from_side);
Result copy_now(Address64 to, Address64 from, uint64_t bytes, Side to_side, Side from_side);
Result copy_in_order(Address64 to, Address64 from, uint64_t bytes, Side to_side, Side from_side, void* stream);
Result fill_in_order(Address64 at, uint64_t value, unsigned width, uint64_t count, void* stream);

// -- streams.cpp --------------------------------------------------------------------------------------------------------
bool is_stream(void* stream);                    // null, 1 (legacy), 2 (of the thread), or one that was made
void* make_stream(unsigned flags, int priority);
Result drop_stream(void* stream);
void in_order(const char* what, std::function<Result()> work);
Result finish();                                 // all that was asked for; the error that ended the context, if one did
Result do_next();                                // one piece of it
bool nothing_left();

struct Event {
    unsigned flags;
    int waiting = 0;                             // records that have not been reached
    bool recorded = false;
    double milliseconds = 0;
};
Event* make_event(unsigned flags);
bool is_event(void* event);
Result drop_event(void* event);
Result record(Event* event, void* stream);
Result query(Event* event);
Result elapsed(float* milliseconds, Event* from, Event* to);

// -- modules.cpp --------------------------------------------------------------------------------------------------------
struct Module;
struct Kernel {
    Module* module;
    const Entry* entry;
    int most_dynamic_bytes = 48 << 10;
};
struct Module {
    const Image* image;
    std::vector<uint64_t> variables;             // their addresses
    std::map<std::string, Kernel*> kernels;
};
Result load_module(Module** out, const void* image, std::string* log);
Result unload_module(Module* module);
Result find_kernel(Kernel** out, Module* module, const char* name);
Result find_variable(Address64* address, size_t* bytes, Module* module, const char* name);
bool is_module(const void* module);
bool is_kernel(const void* kernel);

// -- threads.cpp: one launch, to its end ----------------------------------------------------------------------------------
struct Launch {
    Kernel* kernel;
    uint32_t grid[3], block[3], dynamic_bytes;
    std::vector<uint8_t> parameters;
};
Result run_launch(const Launch& launch, std::string* message);

// -- launches.cpp ---------------------------------------------------------------------------------------------------------
Result launch(Kernel* kernel, const uint32_t* grid, const uint32_t* block, uint32_t dynamic_bytes, void* stream, void** parameters, void** extra);
Result kernel_attribute(int* value, int attribute, Kernel* kernel);
Result set_kernel_attribute(Kernel* kernel, int attribute, int value);
int blocks_at_once(Kernel* kernel, int threads, size_t dynamic_bytes);

// -- errors.cpp, context.cpp, properties.cpp --------------------------------------------------------------------------------
Result& context_error();                         // what ended the context, for as long as the process lives
void end_context(Result error, const std::string& message);
const char* error_name(int error);
const char* error_text(int error);
void* primary_context();
extern int initialised_by;                       // the process that called cuInit: a fork cannot go on with it
int device_attribute(int attribute);             // 0 where a T4's is not known
const char* device_name();
int driver_version();

// -- entry_points.cpp -----------------------------------------------------------------------------------------------------
// API(name, (parameters)) { body } defines a function of the driver API. Each call takes the lock, is refused before
// cuInit and after the end of the context, and is written to REHEARSAL_LOG. It is found by cuGetProcAddress and by its
// name; ALSO(name, name_v2) gives it the name of a later version.
std::recursive_mutex& lock();
std::map<std::string, void*>& entry_points();
Result admitted(const char* name);
Result logged(const char* name, Result result);

template <class F> struct Checked;
template <class... A> struct Checked<Result (*)(A...)> {
    template <Result (*body)(A...), const char* const* name> static Result call(A... arguments) {
        std::lock_guard<std::recursive_mutex> hold(lock());
        const Result refused = admitted(*name);
        return logged(*name, refused ? refused : body(arguments...));
    }
};
#define API(name, parameters)                                                                                          \
    static Result do_##name parameters;                                                                                \
    static const char* const name_##name = #name;                                                                      \
    static const bool in_table_##name =                                                                                \
        (entry_points()[#name] = (void*)&Checked<Result(*) parameters>::call<do_##name, &name_##name>, true);          \
    extern "C" void* resolve_##name() { return (void*)&Checked<Result(*) parameters>::call<do_##name, &name_##name>; } \
    extern "C" __attribute__((visibility("default"), ifunc("resolve_" #name))) void name();                            \
    static Result do_##name parameters
#define ALSO(name, other) extern "C" __attribute__((visibility("default"), ifunc("resolve_" #name))) void other();

}  // namespace rehearsal
