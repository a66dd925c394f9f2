// The cells of LSTM and GRU: PyTorch requires them of every device as one kernel, which the CPU does not have.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <tuple>

namespace standin {

using MaybeTensor = std::optional<at::Tensor>;

inline at::Tensor with(const at::Tensor& gates, const MaybeTensor& bias) {
  return bias && bias->defined() ? gates + *bias : gates;
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
    const at::Tensor& from_input,
    const at::Tensor& from_hidden,
    const at::Tensor& cell,
    const MaybeTensor& input_bias,
    const MaybeTensor& hidden_bias) {
  auto gates = (with(from_input, input_bias) + with(from_hidden, hidden_bias)).chunk(4, 1);
  auto in = gates[0].sigmoid(), forget = gates[1].sigmoid(), change = gates[2].tanh(), out = gates[3].sigmoid();
  auto next = forget * cell + in * change;
  return {out * next.tanh(), next, at::cat({in, forget, change, out}, 1)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(
    const MaybeTensor& of_hidden,
    const MaybeTensor& of_cell,
    const at::Tensor& cell,
    const at::Tensor& next,
    const at::Tensor& workspace,
    bool has_bias) {
  auto gates = workspace.chunk(4, 1);
  const auto &in = gates[0], &forget = gates[1], &change = gates[2], &out = gates[3];
  auto curve = next.tanh();
  auto hidden = of_hidden && of_hidden->defined() ? *of_hidden : at::zeros_like(next);
  auto inner = hidden * out * (1 - curve * curve);
  if (of_cell && of_cell->defined()) {
    inner = inner + *of_cell;
  }
  auto of_gates = at::cat(
      {inner * change * in * (1 - in),
       inner * cell * forget * (1 - forget),
       inner * in * (1 - change * change),
       hidden * curve * out * (1 - out)},
      1);
  return {of_gates, inner * forget, has_bias ? of_gates.sum(0) : at::Tensor()};
}

inline std::tuple<at::Tensor, at::Tensor> gru_cell(
    const at::Tensor& from_input,
    const at::Tensor& from_hidden,
    const at::Tensor& hidden,
    const MaybeTensor& input_bias,
    const MaybeTensor& hidden_bias) {
  auto a = with(from_input, input_bias).chunk(3, 1), b = with(from_hidden, hidden_bias).chunk(3, 1);
  auto reset = (a[0] + b[0]).sigmoid(), keep = (a[1] + b[1]).sigmoid();
  auto fresh = (a[2] + reset * b[2]).tanh();
  return {fresh + keep * (hidden - fresh), at::cat({reset, keep, fresh, hidden, b[2]}, 1)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
    const at::Tensor& of_next,
    const at::Tensor& workspace,
    bool has_bias) {
  auto parts = workspace.chunk(5, 1);
  const auto &reset = parts[0], &keep = parts[1], &fresh = parts[2], &hidden = parts[3], &inner = parts[4];
  auto of_fresh = of_next * (1 - keep) * (1 - fresh * fresh);
  auto of_keep = of_next * (hidden - fresh) * keep * (1 - keep);
  auto of_reset = of_fresh * inner * reset * (1 - reset);
  auto of_input = at::cat({of_reset, of_keep, of_fresh}, 1);
  auto of_hidden = at::cat({of_reset, of_keep, of_fresh * reset}, 1);
  return {
      of_input,
      of_hidden,
      of_next * keep,
      has_bias ? of_input.sum(0) : at::Tensor(),
      has_bias ? of_hidden.sum(0) : at::Tensor()};
}

} // namespace standin
