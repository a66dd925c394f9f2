// Random numbers: one generator for each device, with the CPU's algorithm and its own state.
//
// As on CUDA, a seed gives other numbers than on the CPU: the generator inside is seeded with another number.
#pragma once

#include "memory.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace standin {

constexpr uint64_t OTHER = 0x5eed5eed5eed5eed;

struct Generator final : c10::GeneratorImpl {
  explicit Generator(c10::DeviceIndex device)
      : c10::GeneratorImpl(c10::Device(TYPE, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        inner(at::detail::createCPUGenerator()) {
    set_current_seed(c10::default_rng_seed_val);
  }

  void set_current_seed(uint64_t seed) override {
    inner.set_current_seed(seed ^ OTHER);
  }
  void set_offset(uint64_t offset) override {
    inner.set_offset(offset);
  }
  uint64_t get_offset() const override {
    return inner.get_offset();
  }
  uint64_t current_seed() const override {
    return inner.current_seed() ^ OTHER;
  }
  uint64_t seed() override {
    return inner.seed() ^ OTHER;
  }
  void set_state(const c10::TensorImpl& state) override {
    inner.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return inner.unsafeGetGeneratorImpl()->get_state();
  }

  mutable at::Generator inner;

 private:
  Generator* clone_impl() const override {
    auto* copy = new Generator(device_.index());
    copy->inner = inner.clone();
    return copy;
  }
};

inline const at::Generator& default_generator(c10::DeviceIndex device) {
  static auto* all =
      new std::array<at::Generator, DEVICES>{at::make_generator<Generator>(0), at::make_generator<Generator>(1)};
  return (*all)[device < 0 ? current : device];
}

inline const at::Generator& inner_generator(const at::Generator& generator) {
  return static_cast<Generator*>(generator.unsafeGetGeneratorImpl())->inner;
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return forks().used.load(std::memory_order_relaxed);
  }
  c10::DeviceIndex deviceCount() const override {
    return DEVICES;
  }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    check_ordinal(device);
    current = device;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return current;
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    auto before = current;
    if (device >= 0) {
      setCurrentDevice(device);
    }
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return exchangeDevice(device);
  }
  bool isPinnedPtr(const void* data) const override {
    return PinnedAllocator::holds(data);
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return &pinned_allocator();
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    if (device >= 0) {
      check_ordinal(device);
    }
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    if (device >= 0) {
      check_ordinal(device);
    }
    return at::make_generator<Generator>(device < 0 ? current : device);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t n) const override {
    resize_storage(storage, n);
  }
};

} // namespace standin
