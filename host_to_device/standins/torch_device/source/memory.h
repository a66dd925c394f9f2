// Device memory: bytes of the host in storages that PyTorch considers another device's.
//
// Each storage of the device has a twin: a storage of the CPU over the same bytes, which owns them. The CPU's kernels
// work on the twins. A kernel's new result gets a device storage over its bytes, without a copy.
#pragma once

#include "guard.h"

#include <ATen/Utils.h>
#include <ATen/core/TensorBody.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <cstring>
#include <map>
#include <mutex>

namespace standin {

// Tells the listener of the change that this thread caused, when the block ends: no pool is locked then, since the
// listener waits for Python.
struct Telling {
  ~Telling() {
    if (untold >= 0) {
      int64_t number = untold;
      untold = -1;
      tell_of_memory(number);
    }
  }
};

// The device for which a CPU kernel runs in this thread; -1 outside of operations.
inline thread_local int running_for = -1;

// The CPU's allocator. While a kernel runs for a device, it asks the device first, which refuses an allocation that
// does not fit before anything is written, and before the machine's own memory runs out.
struct HostAllocator final : c10::Allocator {
  c10::Allocator* inner = nullptr;

  c10::DataPtr allocate(size_t n) override {
    if (running_for >= 0 && n > 0) {
      Telling telling;
      pool(running_for).expect(n);
    }
    return inner->allocate(n);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return inner->raw_deleter();
  }
  bool is_simple_data_ptr(const c10::DataPtr& pointer) const override {
    return inner->is_simple_data_ptr(pointer);
  }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    inner->copy_data(to, from, n);
  }
};

inline HostAllocator& host_allocator() {
  static auto* one = new HostAllocator;
  return *one;
}

struct Block {
  c10::intrusive_ptr<c10::StorageImpl> twin;
  Piece* piece; // nullptr for a storage of 0 bytes
  c10::DeviceIndex device;
};

inline void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  if (block->piece) {
    pool(block->device).give(block->piece);
  }
  delete block;
}

inline Piece* take(size_t n, int device) {
  if (n == 0) {
    return nullptr;
  }
  refuse_fork();
  forks().used.store(true, std::memory_order_relaxed);
  Telling telling;
  Piece* piece = pool(device).take(n);
  add(counters().allocations);
  return piece;
}

inline c10::DataPtr pointer_to(Block* block) {
  void* data = block->twin->mutable_data_ptr().mutable_get();
  return {data, block, &free_block, c10::Device(TYPE, block->device)};
}

inline c10::DataPtr new_block(size_t n, c10::DeviceIndex device) {
  Piece* piece = take(n, device);
  try {
    auto twin = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), c10::SymInt(int64_t(n)), &host_allocator(), /*resizable=*/true);
    return pointer_to(new Block{std::move(twin), piece, device});
  } catch (...) {
    if (piece) {
      pool(device).give(piece);
    }
    throw;
  }
}

#if __has_include(<c10/core/CachingDeviceAllocator.h>)
using AllocatorBase = c10::DeviceAllocator;
#else
using AllocatorBase = c10::Allocator;
#endif

struct DeviceAllocator final : AllocatorBase {
  c10::DataPtr allocate(size_t n) override {
    return new_block(n, current);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr;
  }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    std::memcpy(to, from, n);
  }

#if __has_include(<c10/core/CachingDeviceAllocator.h>)
  using Stats = c10::CachingDeviceAllocator::DeviceStats;

  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t = {0, 0}) override {
    Telling telling;
    for (int device = 0; device < DEVICES; device++) {
      pool(device).empty_cache();
    }
  }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) { // overrides it in newer PyTorch only
    check_ordinal(device);
    return pool(device).info();
  }
  Stats getDeviceStats(c10::DeviceIndex device) override {
    check_ordinal(device);
    Stats all;
    pool(device).read([&](auto& tallies, int64_t retries, int64_t ooms, int64_t made, int64_t freed) {
      auto set = [&](auto& array, Kind kind) {
        for (int which = 0; which < POOLS; which++) {
          const Tally& tally = tallies[kind][which];
          array[which].current = tally.current;
          array[which].peak = tally.peak;
          array[which].allocated = tally.allocated;
          array[which].freed = tally.freed;
        }
      };
      set(all.allocation, ALLOCATION);
      set(all.active, ALLOCATION);
      set(all.segment, SEGMENT);
      set(all.inactive_split, INACTIVE);
      set(all.allocated_bytes, ALLOCATED);
      set(all.active_bytes, ALLOCATED);
      set(all.reserved_bytes, RESERVED);
      set(all.inactive_split_bytes, INACTIVE_BYTES);
      set(all.requested_bytes, REQUESTED);
      all.num_alloc_retries = retries;
      all.num_ooms = ooms;
      all.num_device_alloc = made;
      all.num_device_free = freed;
    });
    return all;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    check_ordinal(device);
    pool(device).reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    check_ordinal(device);
    pool(device).reset_peaks();
  }
#endif
};

inline DeviceAllocator& device_allocator() {
  static auto* one = new DeviceAllocator;
  return *one;
}

inline Block* block_of(const c10::Storage& storage) {
  const c10::DataPtr& pointer = storage.data_ptr();
  TORCH_CHECK(
      pointer.get_deleter() == &free_block, "this memory cannot be resized: it was not made by the device itself");
  return static_cast<Block*>(pointer.get_context());
}

// Whether the device made a storage. PyTorch makes some itself over device memory, for example to write files.
inline bool is_own(const c10::Storage& storage) {
  return storage.data_ptr().get_deleter() == &free_block;
}

inline c10::intrusive_ptr<c10::StorageImpl> twin_of(const c10::Storage& storage) {
  if (is_own(storage)) {
    return block_of(storage)->twin;
  }
  void* data = storage.unsafeGetStorageImpl()->mutable_data_ptr().mutable_get();
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      c10::SymInt(int64_t(storage.nbytes())),
      c10::DataPtr(data, c10::Device(c10::kCPU)),
      /*allocator=*/nullptr,
      /*resizable=*/false);
}

// Updates the device storage if its twin has got other bytes.
inline void follow_twin(const c10::Storage& storage) {
  Block* block = block_of(storage);
  size_t n = block->twin->nbytes();
  void* data = block->twin->mutable_data_ptr().mutable_get();
  if (storage.data_ptr().get() == data && storage.nbytes() == n) {
    return;
  }
  Piece* piece = take(n, block->device);
  std::swap(piece, block->piece);
  if (piece) {
    pool(block->device).give(piece);
  }
  auto* impl = storage.unsafeGetStorageImpl();
  auto before = impl->set_data_ptr(pointer_to(block));
  before.release_context(); // the block is still in use
  impl->set_nbytes(n);
}

inline void resize_storage(const c10::Storage& storage, size_t n) {
  Block* block = block_of(storage);
  Piece* piece = take(n, block->device);
  c10::DataPtr bytes = host_allocator().inner->allocate(n);
  auto& twin = *block->twin;
  if (size_t kept = std::min(n, twin.nbytes())) {
    std::memcpy(bytes.mutable_get(), twin.data_ptr().get(), kept);
  }
  twin.set_data_ptr_noswap(std::move(bytes));
  twin.set_nbytes(n);
  std::swap(piece, block->piece);
  if (piece) {
    pool(block->device).give(piece);
  }
  auto* impl = storage.unsafeGetStorageImpl();
  auto before = impl->set_data_ptr(pointer_to(block));
  before.release_context();
  impl->set_nbytes(n);
}

// Pinned memory is ordinary memory that this allocator reports to PyTorch as pinned.
class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t n) override {
    auto* bytes = new c10::DataPtr(host_allocator().inner->allocate(n));
    void* data = bytes->mutable_get();
    std::lock_guard<std::mutex> lock(mutex());
    ranges()[reinterpret_cast<uintptr_t>(data)] = n;
    return {data, bytes, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr;
  }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    std::memcpy(to, from, n);
  }
  static bool holds(const void* data) {
    std::lock_guard<std::mutex> lock(mutex());
    auto address = reinterpret_cast<uintptr_t>(data);
    auto after = ranges().upper_bound(address);
    return after != ranges().begin() && (--after, address < after->first + after->second);
  }

 private:
  static void free_pinned(void* context) {
    auto* bytes = static_cast<c10::DataPtr*>(context);
    {
      std::lock_guard<std::mutex> lock(mutex());
      ranges().erase(reinterpret_cast<uintptr_t>(bytes->get()));
    }
    delete bytes;
  }
  static std::mutex& mutex() {
    static auto* one = new std::mutex;
    return *one;
  }
  static std::map<uintptr_t, size_t>& ranges() {
    static auto* one = new std::map<uintptr_t, size_t>;
    return *one;
  }
};

inline PinnedAllocator& pinned_allocator() {
  static auto* one = new PinnedAllocator;
  return *one;
}

// Marks of a tensor: conjugated or negated when it is read, or made from a Python number.
inline void copy_marks(const c10::TensorImpl* from, c10::TensorImpl* to) {
  if (from->is_wrapped_number()) {
    to->set_wrapped_number(true);
  }
  constexpr auto BITS = c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  if (from->key_set().has_any(BITS)) {
    if (from->is_conj()) {
      to->_set_conj(true);
    }
    if (from->is_neg()) {
      to->_set_neg(true);
    }
  }
}

// A CPU tensor over the same bytes.
inline at::Tensor on_cpu(const at::Tensor& tensor) {
  auto* impl = tensor.unsafeGetTensorImpl();
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(twin_of(tensor.storage())), c10::DispatchKeySet(c10::DispatchKey::CPU), impl->dtype());
  auto* made = result.unsafeGetTensorImpl();
  made->set_sizes_and_strides(impl->sizes(), impl->strides(), impl->storage_offset());
  copy_marks(impl, made);
  return result;
}

} // namespace standin
