// Two devices for PyTorch whose memory is the host's, under the name that PyTorch reserves for other projects
// ("PrivateUse1", renamed to "standin"). Python calls the C functions at the end.

#include "autocast.h"
#include "natives.h"
#include "recurrent.h"

#include <torch/library.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

using namespace standin;

namespace {

// Registrations last as long as their library, so these are never destroyed.
torch::Library& library(const char* space, c10::DispatchKey key = c10::DispatchKey::PrivateUse1) {
  return *new torch::Library(torch::Library::IMPL, space, key, __FILE__, __LINE__);
}

template <auto* function>
torch::CppFunction unboxed() {
  return torch::CppFunction::makeFromUnboxedFunction(function);
}

void register_operators(std::istream& table) {
  library("_").fallback(torch::CppFunction::makeFromBoxedFunction<&run>());
  auto& aten = library("aten");
  aten.impl("empty.memory_format", unboxed<&empty>());
  aten.impl("empty_strided", unboxed<&empty_strided>());
  aten.impl("_efficientzerotensor", unboxed<&efficient_zeros>());
  aten.impl("resize_", unboxed<&resize_tensor>());
  aten.impl("set_.source_Storage_storage_offset", unboxed<&set_storage>());
  aten.impl("set_.source_Storage", unboxed<&set_whole_storage>());
  aten.impl("set_", unboxed<&set_nothing>());
  aten.impl("view", unboxed<static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(&at::native::view)>());
  aten.impl("as_strided", unboxed<&at::native::as_strided_tensorimpl>());
  aten.impl("_reshape_alias", unboxed<&at::native::_reshape_alias>());
  aten.impl("_copy_from", unboxed<&copy_from>());
  aten.impl("_copy_from_and_resize", unboxed<&copy_from_and_resize>());
  aten.impl("_local_scalar_dense", unboxed<&item>());
  aten.impl("_has_compatible_shallow_copy_type", unboxed<&keeps_its_identity>());
  aten.impl("record_stream", unboxed<&record_stream>());
  aten.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&convolution>());
  aten.impl("convolution_backward", torch::CppFunction::makeFromBoxedFunction<&run>());

  aten.impl("conj_physical_", torch::CppFunction::makeFromBoxedFunction<&run>());
  aten.impl("_thnn_fused_lstm_cell", unboxed<&lstm_cell>());
  aten.impl("_thnn_fused_lstm_cell_backward_impl", unboxed<&lstm_cell_backward>());
  aten.impl("_thnn_fused_gru_cell", unboxed<&gru_cell>());
  aten.impl("_thnn_fused_gru_cell_backward", unboxed<&gru_cell_backward>());

  // A copy reads conjugated and negated numbers itself; PyTorch's own way to resolve them is a copy.
  for (auto key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
    auto& marked = library("aten", key);
    marked.impl("_copy_from", torch::CppFunction::makeFallthrough());
    marked.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
  }

  // One line for each operator: its name, the rule for its devices, and PyTorch's name of its kernel.
  constexpr auto AUTOCAST = c10::DispatchKey::AutocastPrivateUse1;
  library("_", AUTOCAST).fallback(torch::CppFunction::makeFallthrough());
  auto& cast = library("aten", AUTOCAST);
  std::string name, word, method;
  while (table >> name >> word >> method) {
    auto dot = name.find('.');
    c10::OperatorName full(
        "aten::" + name.substr(0, dot), dot == std::string::npos ? std::string() : name.substr(dot + 1));
    auto known = c10::Dispatcher::singleton().findSchema(full);
    if (!known) {
      continue;
    }
    if (word == "lower") {
      cast.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&in_lower_precision>());
      continue;
    }
    if (word == "float32") {
      cast.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&in_float32>());
      continue;
    }
    listed()[name] = {word == "same" ? Rule::SAME : Rule::ELEMENTWISE, method};
#ifdef H2D_COMPOSED // for the benchmark: without own kernels, PyTorch composes operators from others
    continue;
#endif
    auto has = [&](c10::DispatchKey key) { return known->hasKernelForDispatchKey(key); };
    if (has(c10::DispatchKey::PrivateUse1) || !known->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {
      continue;
    }
    // An operator that the CPU composes from differentiable parts has no derivative of its own there.
    if (has(c10::DispatchKey::CPU) || !has(c10::DispatchKey::CompositeImplicitAutograd)) {
      aten.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&run>());
    }
  }
}

// Returns only when no thread is calling a previous listener any more, so that it may be deleted.
void let_listeners_end() {
  for (int tries = 0; listening() > own_listening() && tries < 2000; tries++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void before_fork() {
  for (int device = 0; device < DEVICES; device++) {
    pool(device).lock();
  }
}

void after_fork() {
  for (int device = DEVICES; device-- > 0;) {
    pool(device).unlock();
  }
}

void in_child() {
  after_fork();
  forks().bad = forks().used.load();
}

thread_local std::string text;

} // namespace

#pragma GCC visibility push(default)
extern "C" {

// Starts the device with the table of operators; returns an error message, or nullptr.
const char* h2d_start(const char* table, int64_t capacity) {
  try {
    at_home = true;
    host_allocator().inner = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&host_allocator());
    c10::SetAllocator(TYPE, &device_allocator());
    for (int device = 0; device < DEVICES; device++) {
      pool(device).number = device;
      pool(device).set_capacity(size_t(capacity));
    }
    static c10::impl::DeviceGuardImplRegistrar guard(TYPE, new Guard);
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    std::istringstream lines(table);
    register_operators(lines);
    pthread_atfork(&before_fork, &after_fork, &in_child);
    return nullptr;
  } catch (const std::exception& problem) {
    text = problem.what();
    return text.c_str();
  }
}

void h2d_counters(int64_t* out) {
  auto& all = counters();
  for (auto* one : {&all.h2d, &all.h2d_bytes, &all.d2h, &all.d2h_bytes, &all.d2d, &all.d2d_bytes, &all.waits,
                    &all.allocations, &all.operations}) {
    *out++ = one->load(std::memory_order_relaxed);
  }
}

void h2d_on_wait(Listener listen) {
  listener() = listen;
  let_listeners_end();
}

// Records the changes of one device's memory from now on, and calls the listener with the number of each that a line of
// the program caused. Without a listener it ends.
void h2d_record_memory(int device, MemoryListener listen) {
  memory_listener() = listen;
  pool(device).record(listen != nullptr);
  let_listeners_end();
}

// Takes out the oldest changes, five numbers each: see `Change`.
int h2d_memory_changes(int device, int64_t* out, int most) {
  static_assert(sizeof(Change) == 5 * sizeof(int64_t));
  return int(pool(device).changes(reinterpret_cast<Change*>(out), size_t(most)));
}

// Called when Python is about to end: removes the listener, and waits a moment for autograd's threads. After a backward
// pass they still have to release Python objects, and a thread that waits for Python while Python ends crashes the
// process.
void h2d_settle() {
  memory_listener() = nullptr;
  h2d_on_wait(nullptr);
  if (elsewhere) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void h2d_wait(const char* reason) {
  wait(reason);
}

void h2d_set_capacity(int device, int64_t bytes) {
  pool(device).set_capacity(size_t(bytes));
}

void h2d_set_fraction(int device, double fraction) {
  pool(device).set_fraction(fraction);
}

double h2d_fraction(int device) {
  return pool(device).fraction();
}

void h2d_memory_info(int device, int64_t* out) {
  auto [free, total] = pool(device).info();
  out[0] = int64_t(free);
  out[1] = int64_t(total);
}

void h2d_empty_cache(int device) {
  Telling telling;
  pool(device).empty_cache();
}

void h2d_reset_peaks(int device) {
  pool(device).reset_peaks();
}

void h2d_reset_accumulated(int device) {
  pool(device).reset_accumulated();
}

// Each kind for each pool, four numbers each; then retries, out-of-memory errors, segments allocated and freed.
int h2d_memory_stats(int device, int64_t* out) {
  int64_t* begin = out;
  pool(device).read([&](auto& tallies, int64_t retries, int64_t ooms, int64_t made, int64_t freed) {
    for (auto& kind : tallies) {
      for (auto& one : kind) {
        for (int64_t n : {one.current, one.peak, one.allocated, one.freed}) {
          *out++ = n;
        }
      }
    }
    for (int64_t n : {retries, ooms, made, freed}) {
      *out++ = n;
    }
  });
  return int(out - begin);
}

const char* h2d_memory_snapshot(int device) {
  text = pool(device).snapshot(device);
  return text.c_str();
}

int h2d_device() {
  return current;
}

void h2d_set_device(int device) {
  current = c10::DeviceIndex(device);
}

int h2d_devices() {
  return DEVICES;
}

int h2d_in_bad_fork() {
  return forks().bad;
}

void h2d_seed(int device, uint64_t seed) {
  at::Generator generator = default_generator(c10::DeviceIndex(device));
  std::lock_guard<std::mutex> lock(inner_generator(generator).unsafeGetGeneratorImpl()->mutex_);
  generator.set_current_seed(seed);
}

uint64_t h2d_initial_seed(int device) {
  return default_generator(c10::DeviceIndex(device)).current_seed();
}

// Copies the state of a device's generator out or in; returns its size in bytes.
int64_t h2d_random_state(int device, unsigned char* bytes, int into) {
  at::Generator generator = inner_generator(default_generator(c10::DeviceIndex(device)));
  std::lock_guard<std::mutex> lock(generator.mutex());
  at::Tensor state = generator.get_state();
  if (bytes && into) {
    std::memcpy(state.data_ptr(), bytes, state.nbytes());
    generator.set_state(state);
  } else if (bytes) {
    std::memcpy(bytes, state.data_ptr(), state.nbytes());
  }
  return int64_t(state.nbytes());
}

} // extern "C"
#pragma GCC visibility pop
