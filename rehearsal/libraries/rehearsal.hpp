// What the libraries beside the driver ask of it.
#pragma once
#include <cstddef>
#include <cstdint>

// The host bytes behind a device address (or the address itself, of host memory), after all work before it; null where
// there are none.
extern "C" uint8_t* rehearsal_bytes(const void* address, uint64_t bytes);
// Say on stderr that a function is not here. Returns `answer`; if that is 0, the context ends with "not supported".
extern "C" int rehearsal_refuse(const char* name, int answer);

template <class T> static T* host(const void* address, uint64_t count = 1) { return (T*)rehearsal_bytes(address, count * sizeof(T)); }
#define EXPORT extern "C" __attribute__((visibility("default")))
