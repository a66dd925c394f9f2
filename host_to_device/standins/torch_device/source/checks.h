// Checks the devices of an operation's tensors before it runs, with PyTorch's error messages.
#pragma once

#include "operation.h"

namespace standin {

template <typename Function>
void each_tensor(const c10::IValue& value, Function function) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined()) {
      function(tensor);
    }
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) {
        function(tensor);
      }
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor && tensor->defined()) {
        function(*tensor);
      }
    }
  }
}

// c10::impl::check_and_update_common_device, which the generated wrappers of all kernels for CUDA call.
inline void check_same(const Operation& operation, Values values) {
  std::optional<c10::Device> common;
  for (const auto& [index, name] : operation.checked) {
    each_tensor(values[index], [&, &name = name](const at::Tensor& tensor) {
      if (!common) {
        common = tensor.device();
      } else if (*common != tensor.device()) {
        c10::impl::common_device_check_failure(*common, tensor, operation.method.c_str(), name.c_str());
      }
    });
  }
}

[[noreturn]] inline void two_devices(c10::Device one, c10::Device other) {
  TORCH_CHECK(
      false,
      "Expected all tensors to be on the same device, but found at least two devices, ",
      one,
      " and ",
      other,
      "!");
  throw 0; // never reached: the check raises
}

// TensorIteratorBase::compute_types: outputs come first; an input of the CPU without dimensions is a number.
inline void check_elementwise(const Operation& operation, Values values) {
  std::optional<c10::Device> common, other;
  bool differ = false;
  for (const auto& argument : operation.arguments) {
    if (argument.holds <= Operation::OPTIONAL_LIST) {
      each_tensor(values[argument.index], [&](const at::Tensor& tensor) {
        auto device = tensor.device();
        differ |= other && *other != device;
        other = device;
        if (!common && !device.is_cpu()) {
          common = device;
        }
      });
    }
  }
  if (!differ || !common) {
    return;
  }
  bool moves_numbers = operation.name.rfind("where.", 0) == 0;
  int numbers = 0;
  for (bool outputs : {true, false}) {
    for (const auto& argument : operation.arguments) {
      if (argument.holds <= Operation::OPTIONAL_LIST && argument.written == outputs) {
        each_tensor(values[argument.index], [&](const at::Tensor& tensor) {
          if (!outputs && tensor.dim() == 0 && tensor.is_cpu()) {
            numbers++;
            TORCH_CHECK(numbers == 1 || moves_numbers, "Trying to pass too many CPU scalars to non-CPU kernel!");
          } else if (tensor.device() != *common) {
            two_devices(*common, tensor.device());
          }
        });
      }
    }
  }
}

// A list may span devices; the tensors at one position of several lists may not.
inline void check_each(const Operation& operation, Values values) {
  c10::SmallVector<c10::Device, 8> devices;
  for (const auto& argument : operation.arguments) {
    if (argument.holds > Operation::OPTIONAL_LIST) {
      continue;
    }
    bool list = argument.holds != Operation::TENSOR;
    size_t position = 0;
    each_tensor(values[argument.index], [&](const at::Tensor& tensor) {
      size_t at = list ? position++ : 0;
      if (at >= devices.size()) {
        devices.push_back(tensor.device());
      } else if (tensor.dim() != 0 && devices[at] != tensor.device()) {
        bool first = !devices[at].is_cpu(); // TensorIterator names the device that is not the CPU first
        two_devices(first ? devices[at] : tensor.device(), first ? tensor.device() : devices[at]);
      }
    });
  }
}

// aten/src/ATen/native/IndexingUtils.h and cuda/Indexing.cu
inline void check_index(Values values, int count) {
  const at::Tensor& self = values[0].toTensor();
  each_tensor(values[1], [&](const at::Tensor& index) {
    TORCH_CHECK(
        index.is_cpu() || index.device() == self.device(),
        "indices should be either on ",
        c10::Device(c10::kCPU),
        " or on the same device as the indexed tensor (",
        self.device(),
        ")");
  });
  if (count > 2 && values[2].isTensor()) {
    const at::Tensor& put = values[2].toTensor();
    if (put.defined() && put.device() != self.device() && !(put.is_cpu() && put.numel() == 1 && put.dim() == 0)) {
      two_devices(self.device(), put.device());
    }
  }
}

// masked_fill__cuda
inline void check_mask(Values values) {
  const at::Tensor &self = values[0].toTensor(), &mask = values[1].toTensor();
  TORCH_CHECK(
      self.device() == mask.device(),
      "expected self and mask to be on the same device, but got mask on ",
      mask.device(),
      " and self on ",
      self.device());
  if (values[2].isTensor()) {
    const at::Tensor& value = values[2].toTensor();
    TORCH_CHECK(
        !self.is_cpu() || value.is_cpu(), "masked_fill_: Expected inputs to be on same device");
  }
}

// CUDA's products are those of cuBLAS, which has none of whole numbers (cuda/Blas.cpp).
inline void check_product(const Operation& operation, Values values) {
  const at::Tensor& factor = values[operation.product->argument].toTensor();
  TORCH_CHECK_NOT_IMPLEMENTED(
      !c10::isIntegralType(factor.scalar_type(), /*includeBool=*/true),
      '"',
      operation.product->kernel,
      "\" not implemented for '",
      factor.scalar_type(),
      "'");
}

inline void check(const Operation& operation, Values values) {
  if (operation.product) {
    check_same(operation, values);
    return check_product(operation, values);
  }
  switch (operation.rule) {
    case Rule::SAME:
      return check_same(operation, values);
    case Rule::ELEMENTWISE:
      return check_elementwise(operation, values);
    case Rule::EACH:
      return check_each(operation, values);
    case Rule::INDEX:
      return check_index(values, operation.count);
    case Rule::MASK:
      return check_mask(values);
    case Rule::ANY:
      return;
  }
}

} // namespace standin
