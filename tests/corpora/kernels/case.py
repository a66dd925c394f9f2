"""A case: one or more launches of ordinary kernels, their inputs, and the result that NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Launch:
    """`kernel[grid, block](*arguments)`; the arguments are names of the case's inputs."""

    kernel: Any
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: tuple[str, ...]
    shared: int = 0  # bytes of dynamic shared memory


@dataclass(frozen=True)
class RandomStates:
    """An input made on the device: the states of `numba.cuda.random`, one a thread."""

    count: int
    seed: int


@dataclass(frozen=True)
class Case:
    name: str
    inputs: Callable[[np.random.Generator], dict[str, Any]]  # arrays, scalars and `RandomStates`, by name
    launches: list[Launch] | Callable[[dict[str, Any]], list[Launch]]
    expected: Callable[[dict[str, Any]], dict[str, np.ndarray]]  # the outputs that must hold
    kinds: tuple[str, ...]
    rtol: float = 0.0  # of the largest value expected; 0: exact
    unordered: tuple[str, ...] = ()  # one-dimensional outputs whose order is free
    simulator: bool = True  # whether Numba's own simulator can run it, and rightly

    def fresh(self, seed: int = 0) -> dict[str, Any]:
        return self.inputs(np.random.default_rng(seed))

    def plan(self, given: dict[str, Any]) -> list[Launch]:
        return self.launches(given) if callable(self.launches) else self.launches


def run(case: Case, cuda, seed: int = 0) -> dict[str, np.ndarray]:
    """Run a case with this `cuda` and give every array as it is afterwards."""
    given = case.fresh(seed)
    on_device = {name: _to_device(value, cuda) for name, value in given.items()}
    for launch in case.plan(given):
        arguments = [on_device[name] for name in launch.arguments]
        if launch.shared:
            launch.kernel[launch.grid, launch.block, 0, launch.shared](*arguments)
        else:
            launch.kernel[launch.grid, launch.block](*arguments)
    cuda.synchronize()
    return {
        name: on_device[name].copy_to_host() for name, value in given.items() if isinstance(value, np.ndarray)
    }


def differences(case: Case, got: dict[str, np.ndarray], seed: int = 0) -> list[str]:
    """Say what is not as expected, one line an output; nothing if all is well."""
    found = []
    for name, right in case.expected(case.fresh(seed)).items():
        right, value = np.asarray(right), got[name]
        if (value.dtype, value.shape) != (right.dtype, right.shape):
            found.append(f"{name}: {value.dtype}{value.shape}, not {right.dtype}{right.shape}")
            continue
        if name in case.unordered:
            right, value = np.sort(right), np.sort(value)
        wrong = ~_close(value, right, case.rtol)
        if wrong.any():
            first = tuple(int(index) for index in np.argwhere(wrong)[0])
            found.append(
                f"{name}{list(first)}: {value[first]}, not {right[first]} ({wrong.sum()} of {wrong.size})"
            )
    return found


def _to_device(value, cuda):
    if isinstance(value, RandomStates):
        from numba.cuda.random import create_xoroshiro128p_states

        return create_xoroshiro128p_states(value.count, seed=value.seed)
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def _close(value: np.ndarray, right: np.ndarray, rtol: float) -> np.ndarray:
    exact = value == right
    if right.dtype.kind in "fc":
        exact |= np.isnan(value) & np.isnan(right)
        if rtol:
            scale = np.abs(right[np.isfinite(right)]).max(initial=0.0)
            with np.errstate(invalid="ignore"):
                exact |= np.abs(value - right) <= rtol * scale
    return exact
