// What the driver and a kernel that was translated from PTX tell each other.
//
// The driver owns everything that has a state: memory, threads, the launch. A translated kernel is plain code that
// reads `Running` and calls `Services`, so one driver serves kernels that were compiled at any time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rehearsal {

// Where one instruction last found memory: addresses first ... first + span lie `to_host` bytes further on the host.
struct Window {
    uint64_t first, span, to_host;
};
// No PTX address is this one, so an empty window holds nothing.
constexpr Window NOWHERE = {0xFFFF123456789ABDull, 0, 0};

enum class State : int { ready, at_barrier, at_warp_operation, done };
enum class WarpOperation : int { sync, shuffle_up, shuffle_down, shuffle_xor, shuffle_index, all, any, uniform, ballot, match_any, match_all, active };
enum class Reduction : int { none, count, all, any };

struct Thread {
    uint32_t index[3], number, lane, warp;
    int line;                                    // of the source, where the PTX names it
    State state;
    uint32_t barrier, barrier_threads, barrier_value, barrier_result;
    Reduction reduction;
    WarpOperation operation;
    uint32_t mask, place, result;
    uint64_t a, b, c;
    bool flag;
};

// The thread that runs now, and its block. The driver fills it in before each switch of threads.
struct Running {
    Thread* thread;
    uint32_t block_index[3], block_size[3], grid_size[3];
    uint8_t* shared;
    uint64_t shared_bytes;
    uint32_t dynamic_shared_bytes;
    uint8_t* parameters;                         // the kernel's arguments, each at its offset
    const uint64_t* variables;                   // device addresses of the module's variables
    uint8_t* local;                              // local memory of this thread, and how much of it is in use
    uint64_t local_used;
    uint8_t* stack_end;                          // the lowest address that this thread's stack may reach
    uint64_t branches, branch_limit;
};

struct Services {
    void (*fault)(int code, const char* what);   // neither of these two comes back
    void (*end_thread)();
    Window (*find)(uint64_t address, uint64_t size, const char* kind);
    uint32_t (*wait_at_barrier)(uint32_t barrier, uint32_t threads, Reduction reduction, uint32_t value);
    uint32_t (*warp_operation)(WarpOperation operation, uint32_t mask, uint64_t a, uint64_t b, uint64_t c, uint32_t place, bool* flag);
    void (*let_others_run)();
    uint64_t (*allocate)(uint64_t bytes);        // malloc and free in a kernel
    void (*release)(uint64_t address);
    int (*print)(uint64_t format, uint64_t arguments);
};

constexpr uint64_t LOCAL_BYTES = 512 << 10;      // of a thread: as much as CUDA allows

struct Entry {
    const char* name;
    void (*run)();
    uint32_t static_shared_bytes;                // of the kernel's own variables
    uint32_t shared_layout_bytes;                // of all variables of the module, before the dynamic ones
    uint32_t local_bytes, constant_bytes, most_threads;
    uint32_t parameter_count;
    const uint32_t *parameter_sizes, *parameter_offsets;
};
struct Address {                                 // at `offset` of a variable stands the address of another, plus `more`
    uint32_t offset, variable;
    int64_t more;
};
struct Variable {
    const char* name;
    uint64_t bytes;
    const uint8_t* initial;                      // null: zeros
    uint32_t address_count;
    const Address* addresses;
};
struct Image {
    const Entry* entries;
    uint32_t entry_count;
    const Variable* variables;
    uint32_t variable_count;
    Window* windows;
    uint32_t window_count;
    Running** running;
    const Services** services;
};

}  // namespace rehearsal
