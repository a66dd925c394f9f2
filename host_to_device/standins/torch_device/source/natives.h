// Operations of the device itself: empty tensors, views, copies, and the call of the CPU's convolutions.
#pragma once

#include "kernels.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_local_scalar_dense_ops.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/view_native.h>

namespace standin {

using c10::IntArrayRef;

inline void check_options(std::optional<c10::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !layout || *layout == c10::kStrided, "the stand-in device has no ", layout.value_or(c10::kStrided), " tensors");
  TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
}

inline at::Tensor empty(
    IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pinned,
    std::optional<c10::MemoryFormat> format) {
  check_options(layout, pinned);
  OnDevice on(index_of(device));
  constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  return at::detail::empty_generic(size, &device_allocator(), keys, c10::dtype_or_default(dtype), format);
}

inline at::Tensor empty_strided(
    IntArrayRef size,
    IntArrayRef stride,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pinned) {
  check_options(layout, pinned);
  OnDevice on(index_of(device));
  constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  return at::detail::empty_strided_generic(size, stride, &device_allocator(), keys, c10::dtype_or_default(dtype));
}

// Allocates no memory: a tensor that is known to be zero gets memory when its zeros are needed.
struct Nowhere final : c10::Allocator {
  c10::Device device;
  explicit Nowhere(c10::Device device) : device(device) {}
  c10::DataPtr allocate(size_t) override {
    return {nullptr, nullptr, raw_deleter(), device};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void*) {};
  }
  void copy_data(void*, const void*, size_t) const override {}
};

inline at::Tensor efficient_zeros(
    IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device> device,
    std::optional<bool> pinned) {
  check_options(layout, pinned);
  Nowhere nowhere(c10::Device(TYPE, index_of(device)));
  const auto keys = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor);
  return at::detail::empty_generic(size, &nowhere, keys, c10::dtype_or_default(dtype), std::nullopt);
}

inline void fit_storage(c10::TensorImpl* impl) {
  size_t needed = impl->numel() == 0
      ? 0
      : at::detail::computeStorageNbytes(impl->sizes(), impl->strides(), impl->itemsize(), impl->storage_offset());
  if (needed > impl->storage().nbytes()) {
    resize_storage(impl->storage(), needed);
  }
}

inline const at::Tensor& resize_tensor(const at::Tensor& self, IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  auto* impl = self.unsafeGetTensorImpl();
  if (impl->sizes() != size) {
    impl->set_sizes_contiguous(size);
    fit_storage(impl);
  }
  if (format && *format != c10::MemoryFormat::Preserve) {
    impl->empty_tensor_restride(*format);
  }
  return self;
}

inline at::Tensor& set_storage(at::Tensor& self, c10::Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  TORCH_CHECK(
      source.device() == self.storage().device(),
      "Attempted to set the storage of a tensor on device \"",
      self.storage().device(),
      "\" to a storage on different device \"",
      source.device(),
      "\".  This is no longer allowed; the devices must match.");
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  if (stride.data() == nullptr || stride.size() != size.size()) {
    impl->set_storage_offset(offset);
    impl->set_sizes_contiguous(size);
  } else {
    impl->set_sizes_and_strides(size, stride, offset);
  }
  fit_storage(impl);
  return self;
}

inline at::Tensor& set_whole_storage(at::Tensor& self, c10::Storage source) {
  int64_t size = int64_t(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, size, {});
}

inline at::Tensor& set_nothing(at::Tensor& self) {
  OnDevice on(self.device().index());
  c10::Storage none(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(0), &device_allocator(), /*resizable=*/true));
  return set_storage(self, std::move(none), 0, {0}, {});
}

// ---------------------------------------------------------------- copies

// copy_device_to_device of aten/src/ATen/native/cuda/Copy.cu: copies bytes without a kernel.
inline bool plain(const at::Tensor& from, const at::Tensor& to) {
  return from.scalar_type() == to.scalar_type() && from.is_conj() == to.is_conj() && from.is_neg() == to.is_neg() &&
      ((from.is_contiguous() && to.is_contiguous()) ||
       (from.sizes() == to.sizes() && from.strides() == to.strides() && from.is_non_overlapping_and_dense()));
}

inline at::Tensor on_host(const at::Tensor& tensor) {
  return tensor.device().type() == TYPE ? on_cpu(tensor) : tensor;
}

inline void move(const at::Tensor& from, const at::Tensor& to) {
  at::AutoDispatchBelowADInplaceOrView below;
  at::Tensor target = on_host(to);
  at::_ops::copy_::call(target, on_host(from), false);
}

inline void count_copy(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  int64_t elements = to.numel();
  if (elements == 0) {
    return;
  }
  bool as_it_is = plain(from, to);
  if (from.is_cpu()) { // converted and gathered on the CPU
    copied_to_device(elements * int64_t(to.element_size()));
    if (!to.is_contiguous() && !as_it_is) {
      add(counters().operations); // scattered on the device
    }
    if (!non_blocking) {
      wait("copy to the device");
    }
  } else if (to.is_cpu()) { // gathered on the device, converted on the CPU
    if (!from.is_contiguous() && !as_it_is) {
      add(counters().operations);
    }
    copied_to_host(elements * int64_t(from.element_size()));
    if (!non_blocking) {
      wait("copy to the host");
    }
  } else if (as_it_is) {
    copied_on_devices(elements * int64_t(to.element_size()));
  } else {
    add(counters().operations);
    if (from.device() != to.device()) {
      copied_on_devices(elements * int64_t(to.element_size()));
    }
  }
}

inline at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  refuse_fork();
  move(from, to);
  count_copy(from, to, non_blocking);
  return to;
}

inline at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.device().type() == TYPE) {
    resize_tensor(to, from.sizes(), std::nullopt);
  } else {
    to.resize_(from.sizes());
  }
  return copy_from(from, to, false);
}

inline at::Scalar item(const at::Tensor& self) {
  refuse_fork();
  at::Scalar value = at::_ops::_local_scalar_dense::call(on_cpu(self));
  copied_to_host(int64_t(self.element_size()));
  wait("item");
  return value;
}

// ---------------------------------------------------------------- the rest

// Whether `module.to` may keep a Parameter and replace its data, as it does between the CPU and CUDA.
inline bool keeps_its_identity(const at::Tensor& self, const at::Tensor& from) {
  auto simple = [](const at::Tensor& tensor) {
    return (tensor.is_cpu() || tensor.device().type() == TYPE) && tensor.layout() == c10::kStrided &&
        !tensor.is_mkldnn() && !tensor.is_quantized() && !tensor.is_nested() &&
        !tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python);
  };
  return simple(self) && simple(from);
}

inline void record_stream(at::Tensor&, c10::Stream) {}

inline std::string type_name(const at::Tensor& tensor) {
  std::string device = tensor.is_cpu() ? "" : c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true) + ".";
  std::string dtype = c10::toString(tensor.scalar_type());
  return "torch." + device + dtype + "Tensor";
}

// Convolution.cpp: check_input_same_type_as_parameters, and where an image of the CPU goes to before it is refused
inline void check_convolution(Values values) {
  const at::Tensor &input = values[0].toTensor(), &weight = values[1].toTensor();
  const char* more = "";
  if (input.is_cpu() && input.device() != weight.device()) {
    bool wide = weight.dim() > 2 && weight.size(-1) > 3 && weight.size(-2) > 3;
    bool for_mkldnn = input.scalar_type() == c10::kFloat && input.dim() > 0 &&
        (values[8].toInt() > 1 || wide || input.size(0) > 1 || input.numel() > 20480);
    if (!for_mkldnn && !values[6].toBool()) {
      c10::impl::common_device_check_failure(
          input.device(), weight, "wrapper_PrivateUse1___slow_conv2d_forward", "weight");
    }
    more = " or input should be a MKLDNN tensor and weight is a dense tensor";
  }
  auto same = [&](const char* what, const at::Tensor& other) {
    TORCH_CHECK(
        input.device() == other.device() && input.scalar_type() == other.scalar_type(),
        "Input type (",
        type_name(input),
        ") and ",
        what,
        " type (",
        type_name(other),
        ") should be the same",
        more);
  };
  same("weight", weight);
  if (values[2].isTensor() && values[2].toTensor().defined()) {
    same("bias", values[2].toTensor());
  }
}

inline void convolution(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  check_convolution(stack->data() + (stack->size() - 9));
  run(op, stack);
}

} // namespace standin
