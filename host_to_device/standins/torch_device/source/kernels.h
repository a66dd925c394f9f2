// Runs every operation of the device: the CPU's kernel over the same bytes.
#pragma once

#include "checks.h"
#include "random.h"
#include "threads.h"

#include <ATen/core/stack.h>
#ifdef H2D_PLAIN_FALLBACK // for the benchmark: what the code below gains
#include <ATen/native/CPUFallback.h>
#endif

namespace standin {

// The tensors of one call, each with its twin on the CPU.
struct Call {
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 8> stood_for;
  c10::SmallVector<std::pair<c10::StorageImpl*, c10::Storage>, 2> adopted;
  std::optional<c10::DeviceIndex> device;
  int64_t elements = 0;

  at::Tensor stand_for(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.device().type() != TYPE) {
      return tensor;
    }
    if (!device) {
      device = tensor.device().index();
    }
    elements += tensor.numel();
    stood_for.emplace_back(tensor, on_cpu(tensor));
    return stood_for.back().second;
  }

  // Makes a tensor of the device from a kernel's result. A result that aliases an argument still aliases it.
  at::Tensor adopt(at::Tensor tensor, c10::DeviceIndex onto) {
    if (!tensor.defined() || !tensor.is_cpu()) {
      return tensor;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(
        tensor.layout() == c10::kStrided, "the stand-in device has no ", tensor.layout(), " tensors");
    auto* impl = tensor.unsafeGetTensorImpl();
    c10::StorageImpl* twin = impl->unsafe_storage().unsafeGetStorageImpl();
    bool shared = impl->storage().use_count() > 1;
    c10::Storage storage;
    if (shared) {
      for (auto& [original, alias] : stood_for) {
        if (alias.unsafeGetTensorImpl() == impl) {
          return original;
        }
        if (alias.storage().unsafeGetStorageImpl() == twin) {
          storage = original.storage();
        }
      }
      for (auto& [made, of] : adopted) {
        if (made == twin) {
          storage = of;
        }
      }
    }
    if (!storage) {
      storage = adopt_storage(impl->storage(), onto);
      adopted.emplace_back(twin, storage);
    }
    return turn(std::move(tensor), std::move(storage), onto);
  }

  static c10::Storage adopt_storage(const c10::Storage& twin, c10::DeviceIndex onto) {
    size_t n = twin.nbytes();
    auto owner = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(twin.unsafeGetStorageImpl());
    auto* block = new Block{std::move(owner), nullptr, onto};
    c10::DataPtr pointer = pointer_to(block); // frees the block also after an error
    block->piece = take(n, onto);
    return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(),
        c10::SymInt(int64_t(n)),
        std::move(pointer),
        &device_allocator(),
        /*resizable=*/true));
  }

  static at::Tensor turn(at::Tensor tensor, c10::Storage storage, c10::DeviceIndex onto) {
    auto* impl = tensor.unsafeGetTensorImpl();
    auto result = at::detail::make_tensor<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), impl->dtype());
    auto* made = result.unsafeGetTensorImpl();
    made->set_sizes_and_strides(impl->sizes(), impl->strides(), impl->storage_offset());
    copy_marks(impl, made);
    return result;
  }

  // An argument that a kernel resized or pointed elsewhere.
  void follow(const at::Tensor& original, const at::Tensor& alias) {
    auto *to = original.unsafeGetTensorImpl(), *from = alias.unsafeGetTensorImpl();
    if (!is_own(original.storage())) {
      return;
    }
    if (block_of(original.storage())->twin.get() != alias.storage().unsafeGetStorageImpl()) {
      to->set_storage_keep_dtype(adopt_storage(alias.storage(), original.device().index()));
    } else {
      follow_twin(original.storage());
    }
    if (to->sizes() != from->sizes() || to->strides() != from->strides() ||
        to->storage_offset() != from->storage_offset()) {
      to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
    }
  }
};

struct RunningFor {
  explicit RunningFor(int device) : before(running_for) {
    running_for = device;
  }
  ~RunningFor() {
    running_for = before;
  }
  int before;
};

inline void read_back(const Operation& operation, Values values) {
  if (operation.read_back.copies) {
    if (operation.name == "repeat_interleave.Tensor" && !values[1].isNone()) {
      return; // the size was given
    }
    int64_t bytes = operation.read_back.bytes;
    for (int i = 0; i < operation.read_back.copies; i++) {
      copied_to_host(bytes ? bytes : int64_t(values[0].toTensor().element_size()));
      wait(operation.name.c_str());
    }
  }
}

// Moves indices from the CPU first, and turns masks into positions, whose number the host has to know.
inline void read_indices(const Operation& operation, Values values) {
  const at::Tensor& self = values[0].toTensor();
  if (operation.name.rfind("index.", 0) != 0) {
    // IndexingUtils.h, canDispatchToMaskedFill: one mask and one number need no positions. For CUDA the number in
    // x[mask] = 0 stays on the CPU. For other devices PyTorch moves it to the device, so a tensor without dimensions
    // counts as a number here.
    int masks = 0, others = 0;
    each_tensor(values[1], [&](const at::Tensor& index) {
      bool mask = index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
      (mask && index.device() == self.device() ? masks : others)++;
    });
    const at::Tensor& put = values[2].toTensor();
    bool accumulate = operation.count > 3 && values[3].isBool() && values[3].toBool();
    if (masks == 1 && others == 0 && (put.dim() == 0 || (put.numel() == 1 && put.is_cpu())) && !accumulate) {
      return;
    }
  }
  each_tensor(values[1], [&](const at::Tensor& index) {
    bool mask = index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
    if (index.is_cpu()) {
      copied_to_device(mask ? index.numel() * 8 : int64_t(index.nbytes()));
      wait("index");
    } else if (mask) {
      copied_to_host(4);
      wait("index");
    }
  });
}

// Numbers without dimensions that CUDA's `where` moves to the device.
inline void move_numbers(Values values) {
  for (int i = 0; i < 3; i++) {
    const at::Tensor& tensor = values[i].toTensor();
    if (tensor.is_cpu()) {
      copied_to_device(int64_t(tensor.nbytes()));
      wait("where");
    }
  }
}

inline void run(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Operation& known = operation(op);
  size_t begin = stack->size() - known.count;
  Values values = stack->data() + begin;
  check(known, values);
  refuse_fork();
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU),
      known.name,
      " is not on the stand-in device, because PyTorch has no kernel for the CPU that does it");

#ifdef H2D_PLAIN_FALLBACK
  return at::native::cpu_fallback(op, stack);
#endif

  if (known.rule == Rule::INDEX) {
    read_indices(known, values);
  } else if (known.name.rfind("where.self", 0) == 0) {
    move_numbers(values);
  }
  read_back(known, values);

  Call call;
  std::optional<c10::DeviceIndex> asked;
  c10::SmallVector<int, 4> written; // positions in call.stood_for
  int generator = -1;
  for (const auto& argument : known.arguments) {
    c10::IValue& value = values[argument.index];
    size_t first = call.stood_for.size();
    switch (argument.holds) {
      case Operation::TENSOR:
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().device().type() == TYPE) {
          value = call.stand_for(value.toTensor());
        }
        break;
      case Operation::LIST:
        if (value.isTensorList()) {
          c10::List<at::Tensor> list;
          auto tensors = value.toTensorVector();
          list.reserve(tensors.size());
          for (const at::Tensor& tensor : tensors) {
            list.push_back(call.stand_for(tensor));
          }
          value = std::move(list);
        }
        break;
      case Operation::OPTIONAL_LIST:
        if (value.isOptionalTensorList()) {
          c10::List<std::optional<at::Tensor>> list;
          for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
            list.push_back(tensor ? std::optional<at::Tensor>(call.stand_for(*tensor)) : std::nullopt);
          }
          value = std::move(list);
        }
        break;
      case Operation::GENERATOR:
        generator = argument.index;
        break;
      case Operation::DEVICE:
        if (value.isDevice() && value.toDevice().type() == TYPE) {
          asked = index_of(value.toDevice());
          value = c10::Device(c10::kCPU);
        }
        break;
    }
    if (argument.written) {
      for (size_t i = first; i < call.stood_for.size(); i++) {
        written.push_back(int(i));
      }
    }
  }
  c10::DeviceIndex onto = asked ? *asked : call.device ? *call.device : current;
  if (generator >= 0) {
    c10::IValue& value = values[generator];
    if (value.isNone()) {
      value = inner_generator(default_generator(onto));
    } else {
      at::Generator given = value.toGenerator();
      TORCH_CHECK(
          given.device().type() == TYPE,
          "Expected a '",
          TYPE,
          "' device type for generator but found '",
          given.device().type(),
          "'");
      value = inner_generator(given);
    }
  }
  if (!known.view) {
    add(counters().operations);
  }
  {
    RunningFor device(onto);
#ifndef H2D_ALL_THREADS // for the benchmark
    Threads threads(call.elements);
#endif
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  for (int position : written) {
    call.follow(call.stood_for[position].first, call.stood_for[position].second);
  }
  size_t made = op.schema().returns().size();
  for (size_t i = stack->size() - made; i < stack->size(); i++) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = call.adopt(std::move(value).toTensor(), onto);
    } else if (value.isTensorList()) {
      auto tensors = value.toTensorVector();
      bool by_position = known.rule == Rule::EACH && call.stood_for.size() >= tensors.size();
      c10::List<at::Tensor> list;
      list.reserve(tensors.size());
      value = c10::IValue();
      for (size_t n = 0; n < tensors.size(); n++) {
        auto device = by_position ? call.stood_for[n].first.device().index() : onto;
        list.push_back(call.adopt(std::move(tensors[n]), device));
      }
      value = std::move(list);
    }
  }
}

} // namespace standin
