// Chooses how many threads a kernel gets. Backward passes run in another thread, and OpenMP starts workers for each
// thread that calls it. After their work the workers of one thread spin for a while and slow down the other's. So
// outside the main thread, one thread does small work; in the main thread everything is as on the CPU, to the last bit.
#pragma once

#include <atomic>

#include <cstdint>

#include <dlfcn.h>

namespace standin {

constexpr int64_t ALONE = 1 << 16; // elements in all tensors of a call; PyTorch's own grain is half of it

inline thread_local bool at_home = false; // whether this thread started the device
inline std::atomic<bool> elsewhere{false}; // whether another thread, such as autograd's, has used it

class Threads {
 public:
  explicit Threads(int64_t elements) {
    if (!at_home) {
      elsewhere.store(true, std::memory_order_relaxed);
    }
    if (!at_home && elements < ALONE && most() && (before_ = most()()) > 1) {
      set()(1);
    }
  }
  ~Threads() {
    if (before_ > 1) {
      set()(before_);
    }
  }

 private:
  using Set = void (*)(int);
  using Most = int (*)();

  // A function of the OpenMP that PyTorch has loaded, if it has loaded one.
  static Set set() {
    static auto found = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    return found;
  }
  static Most most() {
    static auto found = reinterpret_cast<Most>(set() ? dlsym(RTLD_DEFAULT, "omp_get_max_threads") : nullptr);
    return found;
  }

  int before_ = 0;
};

} // namespace standin
