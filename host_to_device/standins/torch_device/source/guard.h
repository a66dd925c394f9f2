// The devices, streams and events that PyTorch requests. All work is done during the call that requests it.
#pragma once

#include "counters.h"
#include "pool.h"

#include <ATen/core/TensorBody.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <pthread.h>

#include <atomic>
#include <chrono>

namespace standin {

constexpr auto TYPE = c10::DeviceType::PrivateUse1;

struct Forks {
  std::atomic<bool> used{false}, bad{false};
};

inline Forks& forks() {
  static auto* one = new Forks;
  return *one;
}

// As with CUDA, a child process cannot use the device if the parent has used it before the fork.
inline void refuse_fork() {
  TORCH_CHECK(
      !forks().bad.load(std::memory_order_relaxed),
      "Cannot re-initialize the stand-in device in forked subprocess. To use it with multiprocessing, you must use "
      "the 'spawn' start method");
}

[[noreturn]] inline void invalid_ordinal() {
#if H2D_ACCELERATOR_ERROR
  constexpr int32_t CODE = 101; // cudaErrorInvalidDevice
  throw c10::AcceleratorError({__func__, __FILE__, uint32_t(__LINE__)}, CODE, "STANDIN error: invalid device ordinal");
#else
  TORCH_CHECK(false, "STANDIN error: invalid device ordinal");
  throw 0;
#endif
}

inline void check_ordinal(int device) {
  if (device < 0 || device >= DEVICES) {
    invalid_ordinal();
  }
}

inline thread_local c10::DeviceIndex current = 0;
inline thread_local c10::StreamId current_streams[DEVICES] = {0, 0};

struct OnDevice { // for the length of a block
  explicit OnDevice(c10::DeviceIndex device) : before(current) {
    current = device;
  }
  ~OnDevice() {
    current = before;
  }
  c10::DeviceIndex before;
};

inline c10::DeviceIndex index_of(std::optional<c10::Device> device) {
  if (!device || !device->has_index()) {
    return current;
  }
  check_ordinal(device->index());
  return device->index();
}

// Functions without `override` do not exist in every PyTorch that this may be compiled for.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  using Clock = std::chrono::steady_clock;

  c10::DeviceType type() const override {
    return TYPE;
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    auto before = current;
    setDevice(device);
    return c10::Device(TYPE, before);
  }
  c10::Device getDevice() const override {
    return c10::Device(TYPE, current);
  }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) {
      check_ordinal(device.index());
      current = device.index();
    }
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < DEVICES) {
      current = device.index();
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return DEVICES;
  }

  c10::Stream stream(c10::Device device, c10::StreamId id) const {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(TYPE, index_of(device)), id);
  }
  c10::Stream getStream(c10::Device device) const override {
    return stream(device, current_streams[index_of(device)]);
  }
  c10::Stream getDefaultStream(c10::Device device) const {
    return stream(device, 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    static std::atomic<c10::StreamId> next{1};
    return stream(device, next++);
  }
  c10::Stream exchangeStream(c10::Stream asked) const override {
    auto device = index_of(asked.device());
    auto before = current_streams[device];
    current_streams[device] = asked.id();
    return stream(asked.device(), before);
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream&) const override {
    wait("synchronize");
  }
  void synchronizeDevice(const c10::DeviceIndex device) const {
    if (device >= 0) {
      check_ordinal(device);
    }
    wait("synchronize");
  }

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new Clock::time_point;
    }
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  void synchronizeEvent(void*) const {
    wait("event.synchronize");
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const {
    auto passed = *static_cast<Clock::time_point*>(second) - *static_cast<Clock::time_point*>(first);
    return std::chrono::duration<double, std::milli>(passed).count();
  }
};

} // namespace standin
