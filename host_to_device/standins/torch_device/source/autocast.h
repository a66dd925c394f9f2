// torch.autocast: PyTorch's own list, which is part of the table of operators, says which operations get their numbers
// in lower precision and which in float32.
#pragma once

#include "operation.h"

// Of ATen/autocast_mode.h, which takes seconds to compile.
namespace at::autocast {
TORCH_API at::Tensor cached_cast(at::ScalarType to, const at::Tensor& tensor, c10::DeviceType device);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device);
} // namespace at::autocast

namespace standin {

inline void cast_and_call(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::ScalarType to) {
  c10::impl::ExcludeDispatchKeyGuard once(c10::DispatchKey::AutocastPrivateUse1);
  const Operation& known = operation(op);
  Values values = stack->data() + (stack->size() - known.count);
  for (const auto& argument : known.arguments) {
    c10::IValue& value = values[argument.index];
    if (argument.holds == Operation::TENSOR && value.isTensor() && value.toTensor().defined()) {
      value = at::autocast::cached_cast(to, value.toTensor(), TYPE);
    } else if (argument.holds == Operation::LIST && value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        list.push_back(at::autocast::cached_cast(to, tensor, TYPE));
      }
      value = std::move(list);
    }
  }
  op.callBoxed(stack);
}

inline void in_lower_precision(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  cast_and_call(op, stack, at::autocast::get_autocast_dtype(TYPE));
}

inline void in_float32(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  cast_and_call(op, stack, at::kFloat);
}

} // namespace standin
