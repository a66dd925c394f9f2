// The counts, and the call of the listener each time the host waits. Relaxed order: no thread waits for a number.
#pragma once

#include <atomic>
#include <cstdint>

namespace standin {

struct Counters {
  std::atomic<int64_t> h2d{0}, h2d_bytes{0}, d2h{0}, d2h_bytes{0}, d2d{0}, d2d_bytes{0};
  std::atomic<int64_t> waits{0}, allocations{0}, operations{0};
};

inline Counters& counters() {
  static auto* all = new Counters; // never destroyed: tensors may outlive everything else
  return *all;
}

inline void add(std::atomic<int64_t>& counter, int64_t n = 1) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

using Listener = void (*)(const char* reason);

inline std::atomic<Listener>& listener() {
  static std::atomic<Listener> one{nullptr};
  return one;
}

// Called with the number of each change of memory that a line of the program caused, while a memory timeline is recorded.
using MemoryListener = void (*)(int64_t number);

inline std::atomic<MemoryListener>& memory_listener() {
  static std::atomic<MemoryListener> one{nullptr};
  return one;
}

// How many threads are calling a listener, and how deep this thread's calls are nested.
inline std::atomic<int>& listening() {
  static std::atomic<int> threads{0};
  return threads;
}
inline int& own_listening() {
  thread_local int times = 0;
  return times;
}

// Here the host would wait until the device is done. It is always done, so this only counts and calls the listener.
inline void wait(const char* reason) {
  add(counters().waits);
  if (!listener().load(std::memory_order_relaxed)) {
    return;
  }
  listening()++, own_listening()++;
  if (auto listen = listener().load()) {
    listen(reason);
  }
  listening()--, own_listening()--;
}

inline void tell_of_memory(int64_t number) {
  listening()++, own_listening()++;
  if (auto listen = memory_listener().load()) {
    listen(number);
  }
  listening()--, own_listening()--;
}

inline void copied_to_host(int64_t bytes) {
  add(counters().d2h);
  add(counters().d2h_bytes, bytes);
}

inline void copied_to_device(int64_t bytes) {
  add(counters().h2d);
  add(counters().h2d_bytes, bytes);
}

inline void copied_on_devices(int64_t bytes) {
  add(counters().d2d);
  add(counters().d2d_bytes, bytes);
}

} // namespace standin
