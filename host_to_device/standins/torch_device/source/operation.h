// Describes an operator: which arguments hold tensors, on which devices they must be, whether the host waits.
#pragma once

#include "memory.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/adaption.h>
#include <c10/util/SmallVector.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace standin {

using Values = c10::IValue*; // the arguments on the stack

enum class Rule {
  SAME, // all on one device, as PyTorch's generated code requires of every CUDA kernel
  ELEMENTWISE, // as TensorIterator requires: CPU tensors without dimensions are allowed
  EACH, // as TensorIterator requires, for each position of lists
  INDEX,
  MASK,
  ANY,
};

// The values that a CUDA kernel's host code must read back before it can continue.
struct ReadBack {
  int copies = 0;
  int bytes = 0; // of each copy; 0: one element of the first tensor
};

struct Product {
  const char* kernel;
  int argument; // the argument that is multiplied
};

struct Operation {
  enum Holds { TENSOR, LIST, OPTIONAL_LIST, GENERATOR, DEVICE };
  struct Argument {
    Holds holds;
    int index;
    bool written;
  };

  std::string name; // with its overload: "add.Tensor"
  std::string method; // PyTorch's name of the kernel in its errors
  Rule rule = Rule::SAME;
  bool view = false;
  const Product* product = nullptr;
  ReadBack read_back;
  int count = 0; // number of arguments
  std::vector<Argument> arguments; // those that hold tensors or other values of interest
  std::vector<std::pair<int, std::string>> checked; // index and name, in the order of the check
};

// From PyTorch's own list of operators (host_to_device/standins/torch_device/operators.py).
struct Listed {
  Rule rule;
  std::string method;
};

inline std::unordered_map<std::string, Listed>& listed() {
  static auto* all = new std::unordered_map<std::string, Listed>;
  return *all;
}

inline const std::unordered_map<std::string, ReadBack>& read_backs() {
  // aten/src/ATen/native/cuda: Nonzero.cu, Indexing.cu, Unique.cu, SummaryOps.cu, Repeat.cu, Equal.cpp
  static auto* all = new std::unordered_map<std::string, ReadBack>{
      {"nonzero", {1, 4}},       {"nonzero.out", {1, 4}},          {"masked_select", {1, 4}},
      {"masked_select.out", {1, 4}}, {"_unique", {1, 8}},         {"_unique2", {1, 8}},
      {"unique_dim", {1, 8}},    {"unique_consecutive", {1, 8}},   {"unique_dim_consecutive", {1, 8}},
      {"bincount", {2, 0}},      {"equal", {1, 1}},                {"repeat_interleave.Tensor", {1, 8}},
  };
  return *all;
}

inline const Product* product_of(const std::string& plain) {
  static auto* all = new std::unordered_map<std::string, Product>{
      {"mm", {"addmm_standin", 0}}, {"addmm", {"addmm_standin", 1}}, {"addmm_", {"addmm_standin", 1}},
      {"bmm", {"baddbmm_standin", 0}}, {"baddbmm", {"baddbmm_standin", 1}}, {"baddbmm_", {"baddbmm_standin", 1}},
      {"addmv", {"addmv_impl_standin", 1}}, {"addmv_", {"addmv_impl_standin", 1}}, {"dot", {"dot", 0}}, {"vdot", {"vdot", 0}},
  };
  auto found = all->find(plain);
  return found == all->end() ? nullptr : &found->second;
}

inline Operation describe(const c10::OperatorHandle& op) {
  const auto& schema = op.schema();
  Operation result;
  const auto& name = schema.operator_name();
  bool aten = name.name.rfind("aten::", 0) == 0;
  std::string plain = aten ? name.name.substr(6) : name.name;
  result.name = name.overload_name.empty() ? plain : plain + "." + name.overload_name;
  if (auto known = listed().find(result.name); aten && known != listed().end()) {
    result.rule = known->second.rule;
    result.method = known->second.method;
  } else {
    result.method = result.name;
  }
  if (aten) {
    result.product = product_of(plain);
    auto starts = [&](const char* with) { return plain.rfind(with, 0) == 0; };
    if (starts("_foreach_") || starts("_fused_") || starts("_amp_foreach")) {
      result.rule = Rule::EACH;
    } else if (plain == "index" || starts("index_put") || starts("_index_put_impl") || starts("_unsafe_index")) {
      result.rule = Rule::INDEX;
    } else if (starts("masked_fill")) {
      result.rule = Rule::MASK;
    }
    if (auto known = read_backs().find(result.name); known != read_backs().end()) {
      result.read_back = known->second;
    }
  }
  result.count = int(schema.arguments().size());
  std::vector<std::pair<int, std::string>> out, positional;
  for (int i = 0; i < result.count; i++) {
    const auto& argument = schema.arguments()[i];
    const std::string type = argument.type()->str();
    bool written = argument.alias_info() && argument.alias_info()->isWrite();
    auto has = [&](Operation::Holds holds) { result.arguments.push_back({holds, i, written}); };
    if (type == "Generator?" || type == "Generator") {
      has(Operation::GENERATOR);
    } else if (type == "Device?" || type == "Device") {
      has(Operation::DEVICE);
    } else if (type.find("Tensor") != std::string::npos) {
      bool list = type.find("[]") != std::string::npos || type.rfind("List[", 0) == 0;
      bool optional = type.find("Optional[Tensor]") != std::string::npos || type.find("Tensor?") != std::string::npos;
      has(!list ? Operation::TENSOR : optional ? Operation::OPTIONAL_LIST : Operation::LIST);
      if (argument.is_out()) {
        out.emplace_back(i, argument.name());
      } else if (!argument.kwarg_only()) {
        positional.emplace_back(i, argument.name());
      }
    }
  }
  result.checked = std::move(out);
  result.checked.insert(result.checked.end(), positional.begin(), positional.end());
  for (const auto& returned : schema.returns()) {
    result.view |= returned.alias_info() && !returned.alias_info()->isWrite();
  }
  return result;
}

inline const Operation& operation(const c10::OperatorHandle& op) {
  static thread_local std::unordered_map<const void*, const Operation*> seen;
  const void* key = &op.schema();
  if (auto found = seen.find(key); found != seen.end()) {
    return *found->second;
  }
  static auto* mutex = new std::mutex;
  static auto* all = new std::unordered_map<const void*, const Operation*>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto& made = (*all)[key];
  if (made == nullptr) {
    made = new Operation(describe(op));
  }
  return *(seen[key] = made);
}

} // namespace standin
